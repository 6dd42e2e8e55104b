#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What hal-replay prints, and in which order: on a terminal the progress is gone in the end and
# messages are where they belong, every time; machines read one object, whatever goes wrong.
. "$(dirname "$0")/lib.sh"
export HAL_DEVICE=cpu
run 0 "$bin/hal-capture" -o t.pb.zst -- "$bin/decode" --tokens=4 --layers=2 --width=64
run 0 "$bin/hal-capture" -o s.pb.zst -- "$bin/decode" --tokens=2 --layers=2 --width=64 --sync=op

cat >prints.py <<'PYTHON'
import os, signal, sys
from terminal import on_terminal

# Stopped as soon as there is progress.
def stop(process, text):
    running = b"\rrun " in text
    if running:
        os.kill(process, signal.SIGTERM)
    return running

# What is to be seen there: returns go to the line's begin, characters replace what was there.
def shown(text):
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        cells, at = [], 0
        for character in line:
            if character == "\r":
                at = 0
                continue
            cells[at:at + 1] = character
            at += 1
        lines.append("".join(cells).rstrip())
    return lines

# times status begins... -- command...: every time, lines that begin so, and no others.
times, status = int(sys.argv[1]), int(sys.argv[2])
begins, command = sys.argv[3:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
wrong = 0
for i in range(times):
    ended, sent = on_terminal(command, watch=stop if status < 0 else None)
    text = sent.decode()
    lines = shown(text)
    good = ended == status and len(lines) == len(begins) + 1 and not lines[-1] and \
        all(line.startswith(begin) for line, begin in zip(lines, begins))
    good &= "--repeat=50" not in command or "\rrun 1 of 50 " in text
    if not good and not wrong:
        print(ended, "\n".join(lines), sep="\n")
    wrong += not good
print(f"{wrong} of {times} times wrong")
sys.exit(wrong != 0)
PYTHON

terminal() { run 0 python3 prints.py "$@"; }
terminal 40 0 t.pb.zst: "8 submissions of" "same: " "time of 50 runs" -- \
    "$bin/hal-replay" --repeat=50 t.pb.zst
terminal 20 0 s.pb.zst: "24 submissions of" "same: " "what if coalesce-submissions" "hazards: " \
    "verified: " "time: " -- "$bin/hal-replay" --what-if=coalesce-submissions --runs=6 s.pb.zst
terminal 10 0 t.pb.zst: "8 submissions of" "same: " "time of " "  scope " "  scope " "  scope " "  scope " \
    "44 commands one by one" "  kernel " "  " "  " "  " "  " "  " -- \
    "$bin/hal-replay" --benchmark=0.01 --isolate --repeat=3 t.pb.zst
# Who asks for nothing that is there learns what it is that was asked.
terminal 30 4 t.pb.zst: "hal-replay: no buffer 'nothing' is alive at #s1" -- \
    "$bin/hal-replay" --dump=nothing@#s1=x t.pb.zst
# Also where standard output takes long: then it is waited for.
run 0 python3 -c '
import fcntl, os, select, subprocess, sys
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
full = 0
try:
    while True:
        full += os.write(writer, b"\\0")
except BlockingIOError:
    pass
fcntl.fcntl(writer, fcntl.F_SETFL, 0)
with subprocess.Popen(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE) as program:
    os.close(writer)
    early = select.select([program.stderr], [], [], 1)[0]
    printed = b"".join(iter(lambda: os.read(reader, 65536), b""))
    said = program.stderr.read()
assert not early, said
assert printed[full:].startswith(b"t.pb.zst: "), printed[full:]
assert said.startswith(b"hal-replay: no buffer "), said' "$bin/hal-replay" --dump=nothing@#s1=x t.pb.zst
# Nothing is left of a replay that is stopped.
terminal 5 -15 t.pb.zst: -- "$bin/hal-replay" --repeat=1000000 t.pb.zst

# Results that cannot be written are known before anything runs, and when they come out; then there
# is no report of them.
mkdir folder
for output in --dump=result@#s5= --record=; do
    for path in /nonexistent/x.npy folder; do
        run 3 "$bin/hal-replay" --json $output$path t.pb.zst
        one_line stdout
        says stdout "\"exit_code\":3,\"result\":\"error\",\"message\":\"cannot write '$path': "
        one_line
        run 3 "$bin/hal-replay" $output$path t.pb.zst
        says stderr "hal-replay: cannot write '$path': "
        if grep -q "bytes as\|same: " stdout; then fail "a report of what was not written"; fi
    done
done
run 0 "$bin/hal-replay" --json --dump=result@#s5=good.bin t.pb.zst
one_line stdout
says stdout '"file":"good.bin"'
same "$(wc -c <good.bin)" 256 "a dump's length"

# Who reads no report leaves nothing behind either.
mkdir temporary
run 0 env TMPDIR="$work/temporary" python3 -c '
import os, signal, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
restore = lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)
done = subprocess.run(sys.argv[1:], stdout=writer, preexec_fn=restore)
sys.exit(0 if done.returncode == -signal.SIGPIPE and not os.listdir(os.environ["TMPDIR"]) else 1)' \
    "$bin/hal-replay" --json t.pb.zst

# Times are those that were measured; the others are null, and in no text.
cat >times.py <<'PYTHON'
import json, subprocess, sys
program, trace = sys.argv[1:3]
kinds = {"prepare_ns": lambda t: t["prepare_ns"], "total_ns": lambda t: t["total_ns"]["median"],
         "device_wait_ns": lambda t: t["device_wait_ns"]["median"]}
for line in sys.stdin:
    options, *measured = line.split(":")
    printed = subprocess.run([program, "--json", *options.split(), trace], stdout=subprocess.PIPE).stdout
    report = json.loads(printed)
    assert report["load_ns"] > 0, line
    # What ends early is of the same trace.
    assert report["submissions"] == 24, line
    if "--stop-at" in options:
        assert report["look"]["steps"] == 8 and report["replayed_events"] > 24, report
    with open("printed", "ab") as kept:
        kept.write(printed)
    for kind, value in kinds.items():
        if kind in measured[0].split():
            assert value(report) > 0, (line, kind, report[kind])
        else:
            assert report[kind] is None, (line, kind, report[kind])
PYTHON
cat >modes <<MODES
--repeat=2: prepare_ns total_ns device_wait_ns
--range=#s3..#s7: prepare_ns total_ns device_wait_ns
--stop-at=#s7: prepare_ns total_ns device_wait_ns
--dump=result@#s7=x: prepare_ns total_ns device_wait_ns
--loop=#s9.d0: prepare_ns total_ns device_wait_ns
--what-if=coalesce-submissions --runs=6: prepare_ns total_ns device_wait_ns
--benchmark=0.01: prepare_ns total_ns
--benchmark=0.01 --isolate: prepare_ns total_ns
--isolate: prepare_ns
--bisect: prepare_ns
--bisect --against=cpu: prepare_ns
--verify=uninitialised: prepare_ns
--compare=t.pb.zst --runs=6: prepare_ns
MODES
run 0 python3 times.py "$bin/hal-replay" s.pb.zst <modes

# What the manual page says of JSON is all that is printed, here and of what is found and what fails.
kernels=$root/tests/workloads/decode/decode.metal
sed 's/1.0f + exp(-x)/1.0f + exp(-x * 1.01f)/' "$kernels" >wrong.metal
for more in "--bisect --against=cpu" "--bisect" "--what-if=drop-barriers=all --runs=6" "--tolerance=abs:1e-9"; do
    # shellcheck disable=SC2086 # the options
    "$bin/hal-replay" --json --substitute=silu=wrong.metal $more s.pb.zst >>printed && fail "no difference with $more"
done
run 3 "$bin/hal-replay" --json --bisect --against=cpu --substitute=silu=wrong.metal --minimal=folder s.pb.zst
one_line stdout
says stdout '"exit_code":3,"result":"error"'
"$bin/hal-replay" --json --selftest >>printed
"$bin/hal-replay" --json nothing.pb.zst 2>stderr >>printed && fail "a replay of nothing"
run 0 python3 -c '
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
section = re.search(r"\n\.Sh JSON\n(.*?)\n\.Sh ", page, re.S).group(1)
named = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"^\.(?:Va|It Va|Pq Va) .*", section, re.M))))
def keys(value):
    if isinstance(value, dict):
        return set(value) | {key for inside in value.values() for key in keys(inside)}
    return {key for inside in value for key in keys(inside)} if isinstance(value, list) else set()
printed = {key for line in open("printed", encoding="utf-8") for key in keys(json.loads(line))}
assert {"wrote_repro", "nan_map", "unjudged", "first_lost", "passed", "speed", "kernels", "dumps"} <= printed
missing = sorted(key for key in printed if key not in named)
assert not missing, missing' "$root/docs/man/hal-replay.1"
