#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every way to capture a program gives a file that replays and verifies.
. "$(dirname "$0")/lib.sh"

verifies()
{
    run 0 "$bin/hal-replay" "$1"
    [ "$(compared)" -gt 0 ] || fail "$1: nothing was compared"
}

small='--tokens=3 --layers=2 --width=64'
# shellcheck disable=SC2086
run 0 "$bin/decode" $small --device_profiling_mode=queue --device_profiling_file=flags.pb.zst
says stdout ': right'
verifies flags.pb.zst

# A program that does not know: by hal-capture, and by the environment alone.
for sync in op layer token; do
    # shellcheck disable=SC2086
    run 0 "$bin/hal-capture" -o "$sync.pb.zst" -- "$bin/decode" $small --sync=$sync
    says stdout ': right'
    verifies "$sync.pb.zst"
done
# Compressed more it is smaller; unless it is told otherwise, recompress compresses much.
for level in 1 15; do
    run 0 "$bin/hal-trace" recompress --level=$level -o "level-$level.pb.zst" op.pb.zst
done
run 0 "$bin/hal-trace" recompress -o much.pb.zst op.pb.zst
verifies much.pb.zst
same "$(wc -c <much.pb.zst)" "$(wc -c <level-15.pb.zst)" "bytes of a trace compressed again"
[ "$(wc -c <much.pb.zst)" -lt "$(wc -c <level-1.pb.zst)" ] || fail "level 15 is no smaller than 1"
run 0 env HAL_DEVICE_PROFILING_MODE=queue HAL_DEVICE_PROFILING_FILE=environment.pb.zst \
    "$bin/minimal"
verifies environment.pb.zst

# Names that would command a terminal are shown and not obeyed.
escape=$(printf '\033')
run 0 "$bin/hal-capture" -o "a${escape}[31m.pb.zst" -- "$bin/minimal"
says stderr ': 1 submission'
! grep -q "$escape" "$work/stderr" || fail "hal-capture prints an escape"
run 2 "$bin/hal-capture" --mode="$escape[31m" -- "$bin/minimal"
! grep -q "$escape" "$work/stderr" || fail "hal-capture prints an escape"

# From C, in the middle of a run: the objects and their contents are part of the trace.
run 0 "$bin/e2e-app" api api.pb.zst
verifies api.pb.zst

# Without a file name: PROGRAM.PID.pb.zst in the working folder.
mkdir default
cd default
run 0 "$bin/hal-capture" -- "$bin/minimal"
set -- *
same "$#" 1 "files in the working folder"
case $1 in
minimal.*.pb.zst) ;;
*) fail "the default file is '$1'" ;;
esac
verifies "$1"
cd ..

# A part of a run, by submissions and by scope; parts replay by themselves.
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -o part.pb.zst --window=#s1..#s2 -- "$bin/decode" $small --sync=token
says stdout ': right'
run 0 "$bin/hal-trace" info part.pb.zst
says stdout '2 submissions'
run 5 "$bin/hal-replay" part.pb.zst
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -o scope.pb.zst '--scope=token 1' -- "$bin/decode" $small
run 0 "$bin/hal-view" --print=summary scope.pb.zst
says stdout 'token #: once'
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -o never.pb.zst --window=#s1000000.. -- "$bin/decode" $small
says stderr 'did not reach the window'
one_line
[ ! -e never.pb.zst ] || fail "a file was made for a window that was not reached"
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -o never.pb.zst --scope=nosuch -- "$bin/decode" --tokens=8
says stderr "did not reach the window; its scopes: 'token 0', 'token 1', 'token 2', 'token 3', 'token 4', 'token 5', and others"
one_line
run 0 "$bin/hal-capture" -o never.pb.zst --scope=nosuch -- "$bin/minimal"
says stderr 'did not reach the window, no scope'
one_line

# The program's exit status is hal-capture's; a program without a device is told so.
run 7 "$bin/hal-capture" -o none.pb.zst -- sh -c 'exit 7'
[ ! -e none.pb.zst ] || fail "a file was made for a program that opened no device"
says stderr 'opened no device'

# A program that leaves main without releasing anything keeps its status, and its trace is whole.
export ASAN_OPTIONS=detect_leaks=0
run 3 "$bin/hal-capture" -o left.pb.zst -- "$bin/e2e-app" leave
says stdout 'all right'
run 3 "$bin/hal-capture" -o left-bad.pb.zst -- "$bin/e2e-app" leave-bad
says stderr 'undeclared_name'
for trace in left.pb.zst left-bad.pb.zst; do
    run 0 "$bin/hal-trace" info "$trace"
    says stdout 'health     complete'
done
verifies left.pb.zst

# What the user's environment asks for holds where no option says otherwise.
export HAL_DEVICE_PROFILING_MODE=dispatch HAL_DEVICE_PROFILING_FILE=asked.pb.zst
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -- "$bin/decode" $small
run 0 "$bin/hal-trace" info asked.pb.zst
says stdout 'mode dispatch'
run 2 "$bin/hal-capture" -- "$bin/minimal"
says stderr "asked.pb.zst' exists already"
run 0 env HAL_DEVICE_PROFILING_FORCE=1 "$bin/hal-capture" --mode=queue -- "$bin/minimal"
run 0 "$bin/hal-trace" info asked.pb.zst
says stdout 'mode queue'
run 0 "$bin/hal-capture" -o option.pb.zst -- "$bin/minimal"
verifies option.pb.zst
HAL_DEVICE_PROFILING_MODE=nonsense run 2 "$bin/hal-capture" -- "$bin/minimal"
says stderr 'HAL_DEVICE_PROFILING_MODE must be queue'
HAL_DEVICE_PROFILING_FORCE=maybe run 2 "$bin/hal-capture" -- "$bin/minimal"
says stderr "HAL_DEVICE_PROFILING_FORCE must be true or false, not 'maybe'"
unset HAL_DEVICE_PROFILING_MODE HAL_DEVICE_PROFILING_FILE

# No device has counters: said before the program runs.
run 2 "$bin/hal-capture" -o counters.pb.zst --mode=executable -- touch ran
says stderr "--mode 'executable' asks for device counters"
one_line
[ ! -e ran ] || fail "the program ran"

# Several processes, a trace each, which merged have one clock: what the first one did lies before
# what the second did.
# shellcheck disable=SC2086 # a list of options
run 0 "$bin/hal-capture" -q -o many.pb.zst -- sh -c '"$@" && "$@"' sh "$bin/decode" $small
verifies many.pb.zst
verifies many-2.pb.zst
run 0 "$bin/hal-trace" merge -o merged.pb.zst many.pb.zst many-2.pb.zst
run 0 "$bin/hal-trace" info --json merged.pb.zst
mv stdout info.json
run 0 "$bin/hal-trace" dump --json merged.pb.zst
mv stdout events
run 0 python3 - <<'PYTHON'
import json
captures = json.load(open("info.json"))["captures"]
events = [json.loads(line) for line in open("events")]
events = [e for e in events if e.get("event") in ("submit", "semaphore_wait", "host_read")]
assert captures[0]["process_id"] != captures[1]["process_id"], captures
second = captures[1]["thread_base"]
ends = max(e["end_ns"] for e in events if e["thread"] <= second)
begins = min(e["begin_ns"] for e in events if e["thread"] > second)
assert ends < begins, (ends, begins)
PYTHON
