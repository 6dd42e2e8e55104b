#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Captures that were killed leave their sidecars: the doctor says so, and they go together.
. "$(dirname "$0")/lib.sh"
busy=$3
killed_unlink=$4
mkdir sidecars
export HAL_DEVICE_PROFILING_SIDECAR="$work/sidecars"

# captured TRACE COMMAND...: without hal-capture, which would complete the trace.
captured()
{
    trace=$1
    shift
    HAL_DEVICE_PROFILING_MODE=queue HAL_DEVICE_PROFILING_FILE="$trace" "$@" >stdout 2>stderr || :
}

# left COUNT: so many sidecars there are.
left() { same "$(find sidecars -type f | wc -l)" "$1" "how many sidecars there are"; }

run 0 "$bin/hal-capture" doctor
grep -qE '^fine +sidecars +none' stdout || fail "the doctor sees sidecars where none are"

for trace in one two three four; do
    captured $trace.pb.zst "$busy" 1 _exit 5 3>/dev/null
done
left 4
run 0 "$bin/hal-capture" doctor
grep -qE '^note +sidecars +4 using [0-9.]+ MiB in .*/sidecars, left by captures that have ended' stdout ||
    fail "the doctor does not count four sidecars"
says stdout "to fix it: hal-trace recover --list FOLDER"

# A trace's name that is there keeps its sidecar, whatever is behind it.
rm two.pb.zst three.pb.zst
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 2 sidecars of'
left 2
run 0 "$bin/hal-trace" recover --list sidecars
says stdout one.pb.zst
says stdout four.pb.zst
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 0 sidecars'
# So does one that was renamed, also with its folder, and it can be recovered.
mkdir made
captured made/five.pb.zst "$busy" 1 _exit 5 3>/dev/null
mv made/five.pb.zst made/six.pb.zst
mv made moved
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 0 sidecars'
run 0 "$bin/hal-trace" recover moved/six.pb.zst
left 2
run 3 "$bin/hal-trace" recover --discard-gone nowhere
one_line

# A kill between the end of a trace, or of its recovery, and the removal of the sidecar leaves the
# sidecar beside a complete trace, which needs it no more.
killed() { env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$killed_unlink" "$@"; }
captured whole.pb.zst killed "$busy" 1 exit 5 3>/dev/null
left 3
run 0 "$bin/hal-trace" recover whole.pb.zst
says stdout 'already complete; removed its sidecar'
left 2
run 3 "$bin/hal-trace" recover whole.pb.zst
captured recovered.pb.zst "$busy" 1 _exit 5 3>/dev/null
run 137 killed "$bin/hal-trace" recover recovered.pb.zst
left 3
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 1 sidecar of'
left 2
run 137 "$bin/hal-capture" -o alive.pb.zst -- env \
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD="$killed_unlink" "$busy" 1 exit 5 3>/dev/null
left 2

# Several at once; one that cannot be discarded keeps none of the others.
set -- sidecars/*
run 3 "$bin/hal-trace" recover --discard "$1" sidecars/no-such "$2"
one_line
says stderr no-such
left 0
run 2 "$bin/hal-trace" recover --discard
one_line

# What somebody still holds stays, though the captured process has ended: it may be one of another
# container, which nobody here sees.
mkfifo input
captured held.pb.zst "$busy" 1 leave-child 5 3>/dev/null <input &
exec 5>input
wait $! || :
rm -f held.pb.zst
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 0 sidecars'
left 1
exec 5>&-
until "$bin/hal-trace" recover --discard-gone sidecars | grep -q 'removed 1 sidecar '; do :; done
left 0

# What a program leaves running is not said to need a recovery.
mkfifo told
exec 4<>told
# shellcheck disable=SC2016 # of the other shell
run 0 "$bin/hal-capture" -o on.pb.zst -- \
    sh -c '"$1" 1 forever 0 3>told & head -c 8 told >round' sh "$busy" 4<&-
says stderr 'the trace is incomplete: still being recorded by process'
! grep -q 'hal-trace recover' stderr || fail "a recovery is proposed of a capture that goes on"
"$bin/hal-replay" on.pb.zst >stdout 2>stderr || : # in its sandbox it does not see that
cat stdout stderr | grep -q "being recorded by\|has the rest, unless it is still being recorded" ||
    fail "hal-replay takes a capture that goes on for one that ended"
exec 4<&-
rm told
until "$bin/hal-trace" recover on.pb.zst >stdout 2>stderr; do
    grep -q 'is still capturing' stderr || fail "what was left running cannot be recovered"
done
left 0
run 0 "$bin/hal-view" --print=summary on.pb.zst
says stdout 'complete, recovered: the process ended before the capture did'
! grep -q 'recording took' stdout || fail "a time of recording that nobody knows"

# That of a capture that goes on stays.
mkfifo told
"$bin/hal-capture" -o running.pb.zst -- "$busy" 1 forever 0 3>told >stdout 2>stderr &
exec 4<told
head -c 8 <&4 >round
rm -f running.pb.zst
run 0 "$bin/hal-trace" recover --discard-gone sidecars
says stdout 'removed 0 sidecars'
run 0 "$bin/hal-capture" doctor
grep -qE '^fine +sidecars' stdout || fail "the doctor counts the sidecar of a running capture"
left 1
exec 4<&-
wait
