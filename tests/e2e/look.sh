#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Looking inside a replay, measuring it, recording it again, comparing it.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" -o t.pb.zst -- "$bin/decode" --tokens=2 --layers=2 --width=64

# What the program read last is what is in the buffer in the end; through the sandbox.
run 0 "$bin/hal-replay" --type=f32 --dump=result@#s5=end.npy --dump=result@#s5=end.bin t.pb.zst
same "$(wc -c <end.bin)" 256 "a dump's length"
tail -c 256 end.npy | cmp - end.bin || fail "two forms of one dump"
run 0 "$bin/hal-replay" --trusted --type=f32 --dump=result@5=short.npy t.pb.zst
cmp short.npy end.npy || fail "two ways to name one place"
run 0 "$bin/hal-replay" --trusted --stop-at=#s4.d3 t.pb.zst
says stdout "stopped after #s4.d3"
same "$(compared)" 0 "read-backs before the first"
run 0 "$bin/hal-replay" --trusted --stop-at=#s4.d3 --json t.pb.zst
says stdout '"exit_code":0,"result":"replayed"'
run 0 "$bin/hal-replay" --trusted --range=#s2..#s5 --json t.pb.zst
says stdout '"look":{"stopped_at":"#s5"'
says stdout '"exit_code":0,"result":"same"'
# Who asks for a part to be compared learns that there is none, or nothing in it to compare.
run 5 "$bin/hal-replay" --trusted --range=#s2..#s4.d3 t.pb.zst
says stdout "stopped after #s4.d3"
says stdout "nothing could be compared"
run 5 "$bin/hal-replay" --trusted --range=#s4.d1 --json t.pb.zst
says stdout '"look":{"stopped_at":"#s4.d1"'
says stdout '"exit_code":5,"result":"incomparable"'
for range in '#s6..' '..#s6' '#s5..#s6' 6; do
    run 4 "$bin/hal-replay" --trusted --range="$range" t.pb.zst
    says stderr "the trace executes no submission #s6: it executes #s0 to #s5"
done
# All programs count times from the first event.
run 0 "$bin/hal-trace" dump --kind=submit --submission=#s4 t.pb.zst
at=$(sed 's/^ *\(@[0-9.]*ms\) .*/\1/' stdout)
at_ns=$(echo "$at" | tr -d '@.ms' | sed 's/^0*//')
run 0 "$bin/hal-view" --json --print=submissions t.pb.zst
says stdout "\"number\":4,\"queue\":0,\"rank\":null,\"submit_ns\":$at_ns,"
run 0 "$bin/hal-view" --print=submissions t.pb.zst
grep -q "^#s4 .* $at " stdout || fail "hal-view has another time than $at"
run 0 "$bin/hal-trace" export --format=sqlite -o t.db t.pb.zst
same "$(sqlite3 t.db 'SELECT submit_ns FROM submissions WHERE submission = 4')" "$at_ns" "the database's time"
run 0 "$bin/hal-trace" dump --json --kind=submit --submission=#s4 t.pb.zst
says stdout ",\"begin_ns\":$at_ns,"
run 0 "$bin/hal-trace" export --format=csv t.pb.zst
grep -q "^$at_ns,[0-9]*,[0-9]*,[0-9]*,.*,submit," stdout || fail "the CSV has not the time $at_ns"
# What makes them absolute is the same, too.
run 0 "$bin/hal-trace" info --json t.pb.zst
origin=$(grep -o '"origin_ns":[0-9]*' stdout)
start_ns=$(sed 's/.*"start_ns":\(-[0-9]*\),.*/\1/' stdout)
wall_ns=$(sed 's/.*"start_wall_ns":\([0-9]*\),.*/\1/' stdout)
same "$(sqlite3 t.db 'SELECT captured_ns FROM traces')" "$((wall_ns - start_ns))" "the first event's time of day"
for command in "dump --json" "export --format=jsonl"; do
    # shellcheck disable=SC2086 # several words
    run 0 "$bin/hal-trace" $command t.pb.zst
    same "$(head -n 1 stdout)" "{$origin}" "the first line of $command"
done
run 0 "$bin/hal-view" --json t.pb.zst
says stdout "$origin,"
# What one program prints, another takes.
run 0 "$bin/hal-trace" dump --from="$at" --to="${at_ns}ns" --kind=submit t.pb.zst
says stdout "submit submission=4 "
one_line stdout
# All programs take the same places, and refuse others with the same words.
run 0 "$bin/hal-trace" dump --submission=#s4.d1 t.pb.zst
says stdout "submit submission=4 "
run 0 "$bin/hal-trace" trim -o places.pb.zst --submissions=#s1.d0..#s2,#s4.d1 t.pb.zst
run 0 "$bin/hal-trace" dump --kind=submit places.pb.zst
says stdout "submit submission=4 "
for program in "hal-replay --stop-at=#x" "hal-trace dump --submission=#x"; do
    run 2 "$bin/"$program t.pb.zst
    says stderr "'#x' is not a locator: #s12 is submission 12, #s12.d40 its dispatch 40, both counted from 0"
done
for program in "hal-replay --range=#x" "hal-trace trim -o x --submissions=#x"; do
    run 2 "$bin/"$program t.pb.zst
    says stderr "'#x' is not a range of locators: #s3, #s3..#s7, #s3.. or ..#s7"
done
run 0 "$bin/hal-replay" --trusted --loop=#s4.d1 --repeat=10 t.pb.zst
says stdout "#s4.d1, dispatch of 'matrix_vector', segment 8, alone, 10 times:"
run 0 "$bin/hal-replay" --trusted --loop=#s4.d1 --json t.pb.zst
says stdout '"loop":"#s4.d1","loop_runs":100,"loop_ns":{'
run 4 "$bin/hal-replay" --trusted --stop-at=#s99 t.pb.zst
says stderr "no submission #s99"
run 4 "$bin/hal-replay" --trusted --dump=nothing@#s5=x t.pb.zst
says stderr "no buffer 'nothing' is alive at #s5"
[ ! -e x ] || fail "a dump of nothing"

# A replay's own capture replays, in the sandbox as well. What the first trace has is not in it: it
# needs that one, says so, and tools hand the references on.
run 0 "$bin/hal-replay" --record=again.pb.zst t.pb.zst
run 4 "$bin/hal-replay" again.pb.zst
one_line
says stderr "are not in the file, but in 't.pb.zst', which --base=TRACE gives"
run 0 "$bin/hal-replay" --base=t.pb.zst again.pb.zst
same "$(compared)" 2 "read-backs of what was recorded again"
run 4 "$bin/hal-replay" --trusted --base=again.pb.zst again.pb.zst
says stderr "and not in the traces that --base gave"
run 0 "$bin/hal-trace" info again.pb.zst
says stdout "that are not in this file, but in t.pb.zst"
run 0 "$bin/hal-trace" verify again.pb.zst
says stdout "not checked: "
run 0 "$bin/hal-trace" verify --base=t.pb.zst again.pb.zst
grep -q "not checked" stdout && fail "contents of the other trace were not looked at"
run 0 "$bin/hal-trace" recompress -o smaller.pb.zst again.pb.zst
run 0 "$bin/hal-replay" --trusted --base=t.pb.zst smaller.pb.zst
run 0 "$bin/hal-trace" trim --submissions=0-999999 -o part.pb.zst again.pb.zst
run 4 "$bin/hal-replay" --trusted part.pb.zst
run 0 "$bin/hal-replay" --trusted --base=t.pb.zst part.pb.zst
run 0 "$bin/hal-trace" trim --submissions=0-999999 --base=t.pb.zst -o whole.pb.zst again.pb.zst
run 0 "$bin/hal-replay" --trusted whole.pb.zst
same "$(compared)" 2 "read-backs of what was made whole"

# Two runs on one clock: what is called the same is told apart.
run 0 "$bin/hal-trace" merge -o both.pb.zst t.pb.zst again.pb.zst
run 0 "$bin/hal-view" --dump-frame --size=120x40 both.pb.zst
same "$(grep -cE '^ +progress \([0-9]+\) ' stdout)" 2 "semaphores with a name of their own"

# Who watches sees how far it is, through the sandbox; a file does not.
if command -v python3 >/dev/null; then
    python3 "$root/tests/e2e/terminal.py" "$bin/hal-replay" --repeat=50 t.pb.zst >watched || fail "nobody may watch"
    grep -q "run 1 of 50" watched || fail "no progress on a terminal"
fi
run 0 "$bin/hal-replay" --repeat=50 t.pb.zst
grep -q "run 1 of 50" stdout stderr && fail "progress, and nobody watches"

run 0 "$bin/hal-replay" --trusted --benchmark=0.3 --json t.pb.zst
says stdout '"benchmark":{"runs":'
says stdout '"name":"token 1"'
run 0 "$bin/hal-replay" --trusted --isolate --repeat=2 t.pb.zst
says stdout "x (best of 2 runs)"
says stdout "  matrix_vector"
run 0 "$bin/hal-replay" --trusted --pace=1000x t.pb.zst

# The other way does a thousand times the work in one kernel: slower, whatever the machine does.
kernels=$root/tests/workloads/decode/decode.metal
sed 's/    const float x = projected\[i\];/    float x = projected[i], y = 0; for (int k = 0; k < 30000; k++) y += sin(x + k); x += y * 1e-30f;/' \
    "$kernels" >slow.metal
cmp -s "$kernels" slow.metal && fail "nothing was made slow"
run 1 "$bin/hal-replay" --trusted --compare=silu=slow.metal --runs=6 --tolerance=abs:1e-3 --type=f32 t.pb.zst
says stdout "SLOWER"
# And from the other side, by its own trace.
run 0 "$bin/hal-replay" --trusted --substitute=silu=slow.metal --record=slow.pb.zst --tolerance=abs:1e-3 --type=f32 t.pb.zst
run 1 "$bin/hal-replay" --trusted --base=t.pb.zst --compare=slow.pb.zst --runs=6 --tolerance=abs:1e-3 --type=f32 t.pb.zst
says stdout "SLOWER: 2 read-backs compared (512 bytes), 0 different"
run 1 "$bin/hal-replay" --base=t.pb.zst --compare=slow.pb.zst --runs=6 --tolerance=abs:1e-3 --type=f32 --json t.pb.zst
says stdout '"exit_code":1,"result":"slower"'
says stdout '"slower":true'
run 0 "$bin/hal-replay" --trusted --base=t.pb.zst --compare=t.pb.zst --runs=6 slow.pb.zst
grep -qE 'SLOWER|no difference' stdout && fail "what is faster is not"
run 0 "$bin/hal-replay" --base=t.pb.zst --compare=again.pb.zst --threshold=1000 --runs=6 t.pb.zst
says stdout "s with again.pb.zst"
run 0 "$bin/hal-replay" --base=t.pb.zst --compare=again.pb.zst --threshold=1000 --runs=6 --json t.pb.zst
says stdout '"threshold_percent":1000,"slower":false'

for wrong in --stop-at=s12 --range=#s5..#s3 --range=.. --range=#s1.d --dump=a --dump=a@#s1 \
    --dump=@#s1=x --loop=#s1 --pace=0x --pace=-1x --pace=fast --threshold=-1 --benchmark=0 \
    --compare=nothing --record= --type=f8 --type=:f32 --tolerance=abs:-1 --verify=all; do
    run 2 "$bin/hal-replay" "$wrong" t.pb.zst
    one_line
done
run 2 "$bin/hal-replay" --bisect --benchmark t.pb.zst
run 2 "$bin/hal-replay" --loop=#s1.d0 --record=x t.pb.zst
