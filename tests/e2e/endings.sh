#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However a program ends, hal-capture completes its trace and leaves no sidecar; when it ended itself,
# nothing that was published is lost, and what is left of traces that are gone goes at the next start.
. "$(dirname "$0")/lib.sh"
busy=$3
mkdir sidecars
export HAL_DEVICE_PROFILING_SIDECAR="$work/sidecars"
completed='its process ended before the capture did; completed with'

left() { same "$(find sidecars -type f | wc -l)" "$1" "how many sidecars there are"; }

# ended STATUS COMMAND...: as run, quietly; descriptor 3 is what the program tells through.
ended()
{
    expected=$1
    shift
    actual=0
    "$@" >stdout 2>stderr || actual=$?
    [ "$actual" = "$expected" ] || fail "exit status $actual, not $expected: $*"
}

# whole TRACE TOLD: all rounds are there of which the program told, and a replay finds nothing else: it
# ends where a call is missing that the process was in.
whole()
{
    run 0 "$bin/hal-trace" info "$1"
    grep -q '^health.*recovered' stdout || fail "$1 is not recovered"
    reads=$("$bin/hal-trace" dump --kind=host_read "$1" | wc -l)
    [ "$reads" -ge "$2" ] || fail "$1 has $reads read-backs, $2 were made"
    actual=0
    "$bin/hal-replay" "$1" >stdout 2>stderr || actual=$?
    [ "$actual" = 0 ] || { [ "$actual" = 5 ] && grep -q 'during calls' stdout; } || fail "replaying $1: $actual"
    says stdout ' 0 different'
}
rounds() { echo $(($(wc -c <"$1") / 8)); }

# ---- The program ends by itself ----

ends='abort:134 _exit:0 exec:0 leave-child:137'
[ -n "${4-}" ] || ends="$ends segv:139" # the address sanitizer ends it in its own way
for end in $ends; do
    for threads in 1 4; do
        rm -f told
        ended "${end#*:}" "$bin/hal-capture" -f -o by_itself.pb.zst -- "$busy" $threads "${end%:*}" 20 \
            3>told </dev/null
        says stderr "by_itself.pb.zst: $completed"
        same "$(grep -c "$completed" stderr)" 1 "how often it says so"
        ! grep -q 'hal-trace recover' stderr || fail "what is done is proposed"
        whole by_itself.pb.zst "$(rounds told)"
        left 0
    done
done
ended 134 "$bin/hal-capture" -q -f -o by_itself.pb.zst -- "$busy" 1 abort 20 3>/dev/null
! grep "$completed" stderr || fail "it is not quiet"
left 0

# Whatever it is called.
long=$(printf '%0248d' 0).pb.zst
ended 134 "$bin/hal-capture" -o "$long" -- "$busy" 1 abort 20 3>/dev/null
says stderr "$completed"
left 0

# A flight recorder's, whose file was made anew several times.
ended 134 "$bin/hal-capture" --last=20ms -o last.pb.zst -- "$busy" 2 abort 1000 3>/dev/null
says stderr "last.pb.zst: $completed"
whole last.pb.zst 1
left 0

# Each process's own trace.
# shellcheck disable=SC2016 # of the other shell
ended 0 "$bin/hal-capture" -o several.pb.zst -- sh -c '"$1" 1 abort 5; "$1" 2 exit 5; "$1" 1 _exit 5' sh "$busy" \
    3>/dev/null
says stderr "several.pb.zst: $completed"
says stderr "several-3.pb.zst: $completed"
same "$(grep -c "$completed" stderr)" 2 "how many were completed"
whole several.pb.zst 5
whole several-3.pb.zst 5
left 0

# When nobody reads any more what it says: Ctrl-C ends those behind a pipe, too.
# shellcheck disable=SC2016 # of the other shell
{
    "$bin/hal-capture" -o pipe.pb.zst -- sh -c '"$1" 1 _exit 5; "$1" 1 _exit 5; exit 7' sh "$busy" 3>/dev/null 2>&1 || echo $? >status
} | true
same "$(cat status)" 7 "the exit status"
whole pipe.pb.zst 5
whole pipe-2.pb.zst 5
left 0

# ---- Somebody ends it ----

# begin TRACE ARGUMENTS...: hal-capture in a process group of its own, with the signals of a terminal;
# it has worked when this returns. `capture` is its number.
begin()
{
    trace=$1
    shift
    setsid env --default-signal=INT,QUIT "$bin/hal-capture" -f -o "$trace" -- "$@" 3>told >out 2>err &
    capture=$!
    exec 4<told
    head -c 800 <&4 >rounds_told
}
# finish STATUS: hal-capture ends so.
finish()
{
    cat <&4 >>rounds_told
    exec 4<&-
    actual=0
    wait "$capture" || actual=$?
    cp out stdout
    cp err stderr
    [ "$actual" = "$1" ] || fail "exit status $actual, not $1"
}
program() { find sidecars -type f | sed 's/.*-\([0-9]*\)-[0-9]*$/\1/'; }

rm told
mkfifo told
if ! env --default-signal=INT,QUIT true 2>/dev/null; then
    left_out "signals from outside: no 'env --default-signal'"
    exit 0
fi
for signal in INT:130 QUIT:131 TERM:143 HUP:129 KILL:137; do
    begin "by_${signal%:*}.pb.zst" "$busy" 3 forever 0
    kill -s "${signal%:*}" "$(program)"
    finish "${signal#*:}"
    says stderr "by_${signal%:*}.pb.zst: $completed"
    whole "by_${signal%:*}.pb.zst" "$(rounds rounds_told)"
    left 0
done
# Ctrl-C and Ctrl-\ reach all of them; a supervisor's signals too, or hal-capture alone.
for signal in INT:130 QUIT:131 TERM:143 HUP:129; do
    begin "all_${signal%:*}.pb.zst" "$busy" 3 forever 0
    kill -s "${signal%:*}" -- "-$capture"
    finish "${signal#*:}"
    says stderr "all_${signal%:*}.pb.zst: $completed"
    whole "all_${signal%:*}.pb.zst" "$(rounds rounds_told)"
    left 0
done
begin passed_on.pb.zst "$busy" 1 forever 0
kill -s TERM "$capture"
finish 143
whole passed_on.pb.zst "$(rounds rounds_told)"
left 0

# Those that take their time to end, which others do not wait for, are waited for.
for round in 1 2 3 4 5 6 7 8 9 10; do
    # shellcheck disable=SC2016 # of the other shell
    begin "behind$round.pb.zst" sh -c '"$1" 4 forever 0 & exec sleep 1000' sh "$busy"
    kill -s TERM -- "-$capture"
    finish 143
    says stderr "behind$round.pb.zst: $completed"
    left 0
done

# ---- hal-capture ends, too ----

# until_recovered TRACE: the signal takes its time.
until_recovered()
{
    until "$bin/hal-trace" recover "$1" >stdout 2>stderr; do
        grep -q 'is still capturing' stderr || fail "$1 cannot be recovered"
    done
}

begin alone.pb.zst "$busy" 2 forever 0
victim=$(program)
kill -s KILL "$capture"
wait "$capture" 2>/dev/null || :
head -c 800 <&4 >>rounds_told # it works on
kill -s KILL "$victim"
cat <&4 >>rounds_told
exec 4<&-
left 1
until_recovered alone.pb.zst
whole alone.pb.zst "$(rounds rounds_told)"
left 0

# kill_both TRACE
kill_both()
{
    begin "$1" "$busy" 1 forever 0
    kill -s KILL -- "-$capture"
    wait "$capture" 2>/dev/null || :
    cat <&4 >/dev/null
    exec 4<&-
}
sweep() { "$bin/hal-capture" "$@" -f -o none.pb.zst -- true >stdout 2>stderr || fail "hal-capture fails"; }
for number in 1 2 3 4 5; do
    kill_both "gone$number.pb.zst"
done
left 5
sweep
! grep 'removed' stderr || fail "a sidecar was removed whose trace is there"
mv gone5.pb.zst renamed.pb.zst
sweep
left 5
rm gone1.pb.zst
sweep
says stderr 'hal-capture: removed 1 sidecar of '
says stderr "in $work/sidecars, left by killed captures whose traces are complete or no longer exist"
left 4

# Of two that start at once, one removes each.
rm gone2.pb.zst gone3.pb.zst
"$bin/hal-capture" -f -o none1.pb.zst -- true >out1 2>err1 &
first=$!
"$bin/hal-capture" -f -o none2.pb.zst -- true >out2 2>err2 &
wait $! && wait "$first"
same "$(sed -n 's/.*removed \([0-9]*\) sidecar.*/\1/p' err1 err2 | awk '{ sum += $1 } END { print sum }')" 2 \
    "how many were removed"
left 2
sweep -q
! grep . stderr | grep -v 'opened no device' || fail "it is not quiet"
until_recovered gone4.pb.zst
until_recovered renamed.pb.zst
left 0

# A trace that was replaced is gone, too.
kill_both again.pb.zst
kill_both again.pb.zst
left 2
sweep
says stderr 'removed 1 sidecar'
until_recovered again.pb.zst
left 0

# That of a capture that goes on stays, though its trace was removed.
begin live.pb.zst "$busy" 1 forever 0
rm live.pb.zst
sweep
left 1
kill -s KILL "$(program)"
finish 137
says stderr 'the trace is not readable'
says stderr 'removed 1 sidecar'
left 0

# ---- SIGUSR1 ----

# It controls the capture of the program behind a script, and ends neither.
export HAL_DEVICE_PROFILING_LAST=20ms
# shellcheck disable=SC2016 # of the other shell
begin usr1.pb.zst sh -c '"$1" 1 forever 0; exit 7' sh "$busy"
kill -s USR1 "$capture"
until [ -e usr1-2.pb.zst ]; do
    head -c 8 <&4 >>rounds_told
done
kill -s KILL "$(program | head -n 1)"
finish 7
says stderr 'usr1-2.pb.zst'
left 0

# Before there is one, it has no effect.
# shellcheck disable=SC2016 # of the other shell
"$bin/hal-capture" -o none.pb.zst -- \
    sh -c 'kill -s USR1 $PPID; until grep -q "SIGUSR1 has no effect" err; do :; done; exit 7' 2>err || actual=$?
[ "$actual" = 7 ] || fail "exit status $actual, not 7"
unset HAL_DEVICE_PROFILING_LAST

# ---- A container that is gone, with its /dev/shm ----

if ! unshare -m true 2>/dev/null; then
    left_out "a container's end: no mounts of one's own"
    exit 0
fi
unset HAL_DEVICE_PROFILING_SIDECAR
mkdir volume
# shellcheck disable=SC2016 # of the other shell
in_container() { exec setsid unshare -m sh -c 'mount -t tmpfs -o size=1m none /dev/shm && exec "$@"' sh "$@"; }
for trace in kept removed; do
    in_container "$bin/hal-capture" -o volume/$trace.pb.zst -- "$busy" 1 forever 0 3>told >out 2>err &
    capture=$!
    exec 4<told
    head -c 800 <&4 >rounds_told
    kill -s KILL -- "-$capture"
    wait "$capture" 2>/dev/null || :
    cat <&4 >>rounds_told
    exec 4<&-
done
same "$(find volume -name '.haltrace-sidecar-*' | wc -l)" 2 "how many sidecars are beside their traces"
rm volume/removed.pb.zst
"$bin/hal-capture" -o volume/none.pb.zst -- true >stdout 2>stderr
says stderr "removed 1 sidecar of"
until_recovered volume/kept.pb.zst
same "$(find volume -type f | tr '\n' ' ')" "volume/kept.pb.zst " "what is left"
# In one whose hal-capture survives nothing is to be done.
in_container "$bin/hal-capture" -o volume/completed.pb.zst -- "$busy" 1 abort 20 3>/dev/null >stdout 2>stderr &
actual=0
wait $! || actual=$?
same $actual 134 "the exit status"
says stderr "completed.pb.zst: $completed"
same "$(find volume -type f | wc -l)" 2 "how many files are left"
