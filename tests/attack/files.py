# SPDX-License-Identifier: Apache-2.0
"""Damaged trace files, with and without checksums that fit, against every verb that reads one."""
import os
import re

import frames

KIND = "damaged files"
PRINTS = ("summary", "timeline", "submissions", "gaps", "findings", "kernels", "memory", "iterations")
NUMBERS = (0, 1, 2, 127, 128, 255, 65535, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 62,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
SHORT = (b"\x1b[", b"\x1bc", b"\xc2\x9b", b"\r\n", b"\x08\x7f")
ESCAPES = (b"\x1b]0;owned\x07", b"\x1b[31m", b"\xc2\x9b2J", b"\r\nfake: line", b"\x08\x08\x7f")


# ---- Damage -------------------------------------------------------------------------------------


def change_message(random, data, depth=0):
    """One field somewhere inside is another one; all lengths fit."""
    fields = frames.parse(data)
    if not fields or depth > 8:
        return change_bytes(random, data)
    at = random.randrange(len(fields))
    number, wire, value = fields[at]
    what = random.random()
    if what < 0.05:
        fields.append(fields[at])
    elif what < 0.1:
        del fields[at]
    elif wire == 0:
        fields[at] = (number, wire, random.choice(NUMBERS + (max(value - 1, 0), value + 1 & (1 << 64) - 1)))
    elif wire == 2 and what < 0.85:
        fields[at] = (number, wire, change_message(random, value, depth + 1))
    elif wire == 2:
        fields[at] = (number, wire, value[: random.randrange(len(value) + 1)])
    else:
        fields[at] = (number, wire, random.randbytes(len(value)))
    return frames.build(fields)


def change_bytes(random, data):
    """Text becomes escapes; of a column, values become other ones."""
    if not data:
        return random.choice(ESCAPES)
    if len(data) > 2 and all(0x20 <= byte < 0x7F for byte in data):
        at = random.randrange(len(data))
        return data[:at] + random.choice(ESCAPES) + data[at:]
    at = random.randrange(len(data))
    new = random.choice((frames.varint(random.choice(NUMBERS)), random.randbytes(1), b"", b"\xff" * 9 + b"\1"))
    return data[:at] + new + data[at + random.randrange(2) :]


def poison(random, data, depth=0):
    """Words have escapes in them; lengths stay."""
    if all(0x20 <= byte < 0x7F for byte in data) and re.search(rb"[a-z]{2}", data):
        return re.sub(rb"\w{3,}", lambda word: random.choice(SHORT) + word[0][2:], data)
    fields = frames.parse(data) if depth < 8 else None
    if not fields:
        return data
    return frames.build([(n, w, poison(random, v, depth + 1) if w == 2 else v) for n, w, v in fields])


def texts(random, data, parts):
    """Escapes wherever a file has text, and all checksums fit."""
    parts = [frames.compress(poison(random, frames.decompress(part))) if frames.kind_of(part) == 0 else part
             for part in parts]
    return frames.join(parts)


def raw(random, data, parts):
    """Bits and bytes, as a disk might."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def cut(random, data, parts):
    """At a boundary of frames, or beside one."""
    end = sum(len(part) for part in parts[: random.randrange(len(parts) + 1)])
    return data[: max(0, end + random.choice((0, 0, 0, 1, -1, 9, random.randrange(-200, 200))))]


def shuffle(random, data, parts):
    parts = list(parts)
    for _ in range(random.randrange(1, 4)):
        i, k = random.randrange(len(parts)), random.randrange(len(parts))
        what = random.randrange(3)
        if what == 0:
            parts[i], parts[k] = parts[k], parts[i]
        elif what == 1:
            parts.insert(i, parts[k])
        elif len(parts) > 1:
            del parts[i]
    return frames.join(parts) if random.random() < 0.5 else b"".join(parts)


def deep(random, data, parts):
    """Messages and contents change, and all checksums fit."""
    parts = list(parts)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        i = random.randrange(len(parts))
        kind = frames.kind_of(parts[i])
        if kind == 0:
            parts[i] = frames.compress(change_message(random, frames.decompress(parts[i])))
        elif kind != frames.SEEK:
            meta, inner = frames.open_ours(parts[i])
            if random.random() < 0.5 and meta:
                meta = change_message(random, meta)
            elif inner:
                inner = change_bytes(random, inner)
            parts[i] = frames.make_ours(kind, meta, inner)
    if random.random() < 0.3:  # as one that was cut off: the frames are walked
        parts = [part for part in parts if frames.kind_of(part) not in (frames.INDEX, frames.SEEK)]
    return frames.join(parts) if random.random() < 0.9 else b"".join(parts)


DAMAGES = (raw, cut, shuffle, deep, deep, deep, texts)


# ---- Verbs --------------------------------------------------------------------------------------


def verbs(attack, random, path, other):
    """Commands, and the exit statuses that they may have."""
    trace, view, replay = attack.tool("hal-trace"), attack.tool("hal-view"), attack.tool("hal-replay")
    made = attack.path("made.pb.zst")
    out = ["-f", "-o", made]
    for verb in ("info", "dump", "stats", "verify", "symbolize"):
        yield [trace, verb, path], (0, 3)
    yield [trace, "diff", path, other], (0, 1, 3)
    yield [trace, "diff", other, path], (0, 1, 3)
    yield [trace, "trim", *out, f"--submissions=#s{random.randrange(20)}..#s{random.randrange(20, 60)}", path], (0, 2, 3)
    for verb in ("strip", "recompress", "recover"):
        yield [trace, verb, *out, path], (0, 3)
    yield [trace, "merge", *out, path, other], (0, 3)
    yield [trace, "extract", f"--executables={attack.path('kernels')}", "--force", path], (0, 3)
    for form in ("perfetto", "chrome", "csv", "jsonl"):
        yield [trace, "export", f"--format={form}", "-f", "-o", attack.path("made.export"), path], (0, 3)
    for what in PRINTS:
        yield [view, f"--print={what}", path], (0, 3)
    yield [view, "--print=" + ",".join(PRINTS), "--json", path], (0, 3)
    yield [view, f"--diff={other}", path], (0, 3)
    yield [view, "--fail-on=races>0,failures>0", path], (0, 1, 3)
    yield [replay, "--timeout=2", "--time-limit=6", "--memory-limit=512M", path], (0, 1, 3, 4, 5)


def prepare(attack, random):
    """Sound traces to damage."""
    bases = []
    seed = str(random.randrange(1 << 30))
    for i, (options, arguments) in enumerate(((["-s", "command", "-m", "dispatch"], ["random", seed, "any"]),
                                              (["--outputs=all"], ["random", seed, "small"]),
                                              ([], ["random", seed, "import"]),
                                              (["-s", "none"], ["writes", "200000"]))):
        path = attack.path(f"base{i}.pb.zst")
        attack.run([attack.tool("hal-capture"), "-q", "-f", *options, "-o", path, "--", attack.program, *arguments],
                   limit=60)
        with open(path, "rb") as file:
            data = file.read()
        bases.append((path, data, frames.split(data)))
    return bases


def step(attack, random, state):
    if not state:
        state += prepare(attack, random)
    _, data, parts = random.choices(state, (6, 6, 6, 1))[0]  # the last one is large
    other = random.choice(state[:3])[0]
    damage = random.choice(DAMAGES)
    path = attack.path("damaged.pb.zst")
    with open(path, "wb") as file:
        file.write(damage(random, data, parts))
    for command, statuses in verbs(attack, random, path, other):
        result = attack.run(command, limit=20)
        attack.judge(KIND, result, command, statuses, path)
        is_replay = command[0].endswith("hal-replay")
        if is_replay and result.status == 1 and b", 0 different" in result.out and b"outcome" not in result.out:
            attack.count(KIND, "wrong", f"exit status 1 where nothing differs: {result.err[-200:]}", path)
        if os.path.exists(attack.path("made.pb.zst")):
            os.unlink(attack.path("made.pb.zst"))
