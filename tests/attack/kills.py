# SPDX-License-Identifier: Apache-2.0
"""Captures that are killed at random moments: what the program had seen the end of is in the trace,
which is whole or can be completed, and nothing is left in shared memory."""
import os
import signal
import time

WAYS = ("kill program", "kill hal-capture", "interrupt group", "terminate program")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def is_alive(pid):
    """Also while its first thread has ended and others still do."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(") ", 1)[1].split()
            return fields[0] not in "ZX" or int(fields[17]) > 1
    except OSError:
        return False


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return condition()


def steps_of(process):
    """How many the program has said it has seen the end of."""
    return os.pread(process.files[0].fileno(), 1 << 24, 0).count(b"\n")


def sidecars(attack):
    return attack.run([attack.tool("hal-trace"), "recover", "--list"]).out.decode(errors="replace")


def step(attack, random, state):
    way = random.choice(WAYS)
    kind, path = f"kills: {way}", attack.path("killed.pb.zst")
    command = [attack.tool("hal-capture"), "-q", "-f", "-o", path, "--", attack.program, "steady", "1000000"]
    process = attack.start(command)
    wanted = random.choice((1, 5, 50, 500, 3000))
    if not wait_until(lambda: steps_of(process) >= wanted or not is_alive(process.pid)):
        attack.count(kind, "hangs", f"fewer than {wanted} steps in 10 s")
    time.sleep(random.random() * 0.02)
    programs = children(process.pid)
    if way == "kill hal-capture":
        os.kill(process.pid, signal.SIGKILL)
        time.sleep(random.random() * 0.05)
    if way == "interrupt group":
        os.killpg(process.pid, signal.SIGINT)
    for program in programs if way != "interrupt group" else ():
        os.kill(program, signal.SIGTERM if way == "terminate program" else signal.SIGKILL)
    wait_until(lambda: not any(is_alive(program) for program in programs))
    published = steps_of(process)
    result = attack.finish(process)
    attack.counts[kind]["runs"] += 1
    if result.hung:
        attack.count(kind, "hangs", "hal-capture does not end")
    check(attack, kind, path, published, way)
    if os.path.exists(path):
        os.unlink(path)


def check(attack, kind, path, published, way):
    """hal-capture completes the trace where it survives; else `recover` does."""
    trace = attack.tool("hal-trace")
    if path in sidecars(attack):
        if way != "kill hal-capture":
            attack.count(kind, "losses", "a sidecar is left, though hal-capture survived", path)
        attack.judge(kind, attack.run([trace, "recover", path]), [trace, "recover", path], (0,), path)
    command = [trace, "verify", path]
    attack.judge(kind, attack.run(command), command, (0,), path)
    done = attack.run([trace, "dump", "--kind=submit", path], limit=60).out.count(b"\n")
    if done < published:
        attack.count(kind, "losses", f"{published} steps were published, {done} are in the trace", path)
    left = sidecars(attack)
    if path in left:
        attack.count(kind, "losses", f"left behind: {left}", path)
        attack.run([trace, "recover", "--discard-gone"])
