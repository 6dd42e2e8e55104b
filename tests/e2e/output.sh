#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs print, and where to: who reads no further ends them quietly, a full disk is said with
# the same exit status by all, sequences and progress are for terminals alone. (What Ctrl-C
# leaves: large_file.sh.)
. "$(dirname "$0")/lib.sh"
export HAL_DEVICE=cpu
run 0 "$bin/hal-capture" -o t.pb.zst -- "$bin/decode" --tokens=4

cat >programs <<'END'
hal-trace info t.pb.zst
hal-trace dump t.pb.zst
hal-trace dump --json t.pb.zst
hal-trace stats t.pb.zst
hal-trace stats --json t.pb.zst
hal-trace verify t.pb.zst
hal-trace diff t.pb.zst t.pb.zst
hal-trace symbolize t.pb.zst
hal-trace export --format=perfetto t.pb.zst
hal-trace export --format=chrome t.pb.zst
hal-trace export --format=csv t.pb.zst
hal-trace export --format=jsonl t.pb.zst
hal-trace extract --force --executables=kernels t.pb.zst
hal-trace --help
hal-trace stats --help
hal-trace --version
hal-view --print=summary,timeline,submissions,gaps,findings,kernels,memory,iterations t.pb.zst
hal-view --json t.pb.zst
hal-view --dump-frame t.pb.zst
hal-view --svg=- t.pb.zst
hal-view --help
hal-replay t.pb.zst
hal-replay --trusted t.pb.zst
hal-replay --json t.pb.zst
hal-replay --selftest
hal-replay --selftest --json
hal-replay --help
hal-capture doctor
hal-capture doctor --json
hal-capture --help
END

cat >check.py <<'PYTHON'
import errno, os, re, signal, subprocess, sys
from terminal import on_terminal
bin = sys.argv[1]
failures = []

def command(line):
    name, *arguments = line.split()
    return [os.path.join(bin, name), *arguments]

def report(line, what):
    failures.append(f"{line}: {what}")

# A pipe that nobody reads: the end by SIGPIPE, as of every other program, or its number.
def broken_pipe(line):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command(line), stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(writer)
    if done.returncode not in (-signal.SIGPIPE, 128 + signal.SIGPIPE) or done.stderr:
        report(line, f"on a pipe that nobody reads: {done.returncode}, {done.stderr!r}")

# A full disk is an error with a message that says so, and status 3 everywhere.
def full_disk(line):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command(line), stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
    text = done.stderr.decode()
    if done.returncode != 3 or os.strerror(errno.ENOSPC) not in text or text.count("\n") != 1:
        report(line, f"on a full disk: {done.returncode}, {text!r}")

# No sequences and no progress but on terminals.
def plain(line):
    done = subprocess.run(command(line), stdin=subprocess.DEVNULL, capture_output=True)
    if "=perfetto" in line: # bytes of any value
        return
    text = done.stdout.replace(b"\r\n", b"\n") if "=csv" in line else done.stdout
    if done.returncode or done.stderr or b"\x1b" in text or b"\r" in text:
        report(line, f"in a file: {done.returncode}, {done.stderr!r}, sequences: {b'%c' % 27 in done.stdout}")

lines = [line.strip() for line in open("programs")]
for line in lines:
    broken_pipe(line)
    full_disk(line)
    plain(line)

# A bar on a terminal, which is gone in the end.
for line, name in (("hal-trace verify t.pb.zst", b"verifying"), ("hal-trace stats t.pb.zst", b"counting"),
                   ("hal-trace merge -f -o both.pb.zst t.pb.zst t.pb.zst", b"merging"),
                   ("hal-trace recompress -f -o small.pb.zst t.pb.zst", b"recompressing")):
    status, text = on_terminal(command(line), {"TERM": "dumb"})
    bars = re.findall(rb"\r(\w+) *\[(#*)( *)\] (\d+) %", text)
    if status or not bars or b"\x1b" in text:
        report(line, f"no bar on a terminal: {status}, {text[:300]!r}")
    if any(len(done) != int(percent) * 20 // 100 or len(done) + len(rest) != 20 or what != name
           for what, done, rest, percent in bars):
        report(line, f"no such bar: {bars}")
    if not re.search(rb"\r {40,}\r", text):
        report(line, "the bar stays")

# Colours on a terminal, but not with NO_COLOR.
for environment, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
    status, text = on_terminal(command("hal-view --dump-frame t.pb.zst"),
                               {"TERM": "xterm-256color", "CLICOLOR_FORCE": "1", **environment})
    if status or (b"\x1b[" in text) != wanted:
        report(str(environment), f"colours: {b'%c' % 27 in text}, wanted: {wanted}, status {status}")

print("\n".join(failures))
sys.exit(bool(failures))
PYTHON
run 0 python3 check.py "$bin"
