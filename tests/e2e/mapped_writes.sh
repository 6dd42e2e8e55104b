#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random programs without races on mapped memory, captured in every way in which the host's writes are
# found: each replay gives the same, but for a few that say that they cannot compare everything; and
# none with a wrong kernel in place of the right one says that it does. Arguments behind those of all
# tests: the program, and the one that hides userfaultfd (or nothing). HALTRACE_PROGRAMS: how many
# programs (40); HALTRACE_SEED: the first one's seed (1); HALTRACE_WAYS: in which ways.
. "$(dirname "$0")/lib.sh"
app=$3
hide=${4:-}
programs=${HALTRACE_PROGRAMS:-40}
first=${HALTRACE_SEED:-1}
unset HAL_DEVICE_PROFILING_DIRTY || :
echo "$programs programs, the first with the seed $first"

# wrong KIND: kernels that compute another value, nothing at all, or all but one element; and the same
# of slots in whole buffers.
wrong()
{
    case $1 in
    0) last='out[to + i] = x ^ 0x5a5a5a5au;' ;;
    1) last='' ;;
    *) last='if (i != 3) out[to + i] = x;' ;;
    esac
    case $2 in
    whole) at=', device const uint *at [[buffer(2)]]' slots='const uint from = at[0], to = at[1];' ;;
    *) at='' slots='const uint from = 0, to = 0;' ;;
    esac
    cat <<KERNEL
#include <metal_stdlib>
using namespace metal;
kernel void mix(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]]$at,
                uint i [[thread_position_in_grid]])
{
    $slots
    uint x = out[to + i];
    for (int k = 0; k < 3000; k++) x = x * 1664525u + in[from + i] + 1013904223u;
    $last
}
KERNEL
}
for kind in 0 1 2; do
    wrong $kind range >"wrong$kind.metal"
    wrong $kind whole >"wrong${kind}whole.metal"
done

capture() { "$bin/hal-capture" -f -o trace.pb.zst -- "$@" >/dev/null 2>stderr; }

# status COMMAND...: its exit status, in $status.
status()
{
    status=0
    "$@" >stdout 2>stderr || status=$?
}

# look WAY: three replays of $trace, and one with a wrong kernel.
look()
{
    for run in 1 2 3; do
        runs=$((runs + 1))
        status "$bin/hal-replay" $base "$trace"
        case $status in
        0) ;;
        5) unsure=$((unsure + 1)) ;;
        *)
            different=$((different + 1))
            echo "seed $seed, $1, replay $run ends with $status"
            [ -z "${KEEP:-}" ] || cp "$trace" "$KEEP/$1-$seed.pb.zst"
            tail -n 12 stdout stderr
            ;;
        esac
    done
    status "$bin/hal-replay" --substitute="mix=wrong$((seed % 3))$form.metal" $base "$trace"
    case $status in
    1) found=$((found + 1)) ;;
    5) unsure_wrong=$((unsure_wrong + 1)) ;;
    *)
        passed=$((passed + 1))
        echo "seed $seed, $1: with a wrong kernel a replay ends with $status"
        [ -z "${KEEP:-}" ] || cp "$trace" "$KEEP/$1-$seed-wrong.pb.zst"
        ;;
    esac
}

# try WAY SEED
try()
{
    seed=$2
    trace=trace.pb.zst base= form=
    case $1 in
    pages) capture "$app" large "$seed" ;;
    enosys) capture "$hide" "$app" large "$seed" ;;
    compare) HAL_DEVICE_PROFILING_DIRTY=compare capture "$app" large "$seed" ;;
    imported) capture "$app" imported "$seed" ;;
    whole) form=whole && capture "$app" roomy "$seed" whole ;;
    whole_compared) form=whole && HAL_DEVICE_PROFILING_DIRTY=compare capture "$app" large "$seed" whole ;;
    small | huge) capture "$app" "$1" "$seed" ;;
    huge_whole) form=whole && capture "$app" huge "$seed" whole ;;
    record)
        rm -f again.pb.zst
        capture "$app" large "$seed" &&
            status "$bin/hal-replay" --record=again.pb.zst trace.pb.zst && [ -s again.pb.zst ]
        trace=again.pb.zst base=--base=trace.pb.zst
        ;;
    esac || fail "seed $seed, $1: nothing was captured"
    look "$1"
}

ways='pages compare imported small record huge whole whole_compared huge_whole'
[ -z "$hide" ] || ways="$ways enosys"
ways=${HALTRACE_WAYS:-$ways}
all=0 all_unsure=0 bad=0
for way in $ways; do
    runs=0 different=0 unsure=0 found=0 unsure_wrong=0 passed=0
    for i in $(seq "$first" $((first + programs - 1))); do
        try "$way" "$i"
    done
    echo "$way: $runs replays, $different different, $unsure not comparable;" \
        "of $programs wrong kernels $found found, $unsure_wrong not comparable, $passed passed"
    bad=$((bad + different + passed))
    all=$((all + runs)) all_unsure=$((all_unsure + unsure))
done

# A search finds the kernel behind changes that may be anybody's.
HAL_DEVICE_PROFILING_DIRTY=compare capture "$app" large "$first" || fail "nothing was captured"
run 1 "$bin/hal-replay" --bisect --substitute=mix=wrong0.metal trace.pb.zst
says stdout "dispatch of 'mix'"

# Nor does a search call the same what cannot be compared.
for wrong in wrong0 wrong1 wrong2; do
    for option in --bisect --verify=submissions; do
        status "$bin/hal-replay" "$option" --substitute=mix="$wrong.metal" trace.pb.zst
        [ "$status" != 0 ] || fail "$option calls the same what $wrong.metal leaves"
    done
done

[ "$bad" = 0 ] || fail "$bad replays say what is not so"
[ $((all_unsure * 50)) -le "$all" ] || fail "$all_unsure of $all replays cannot compare"
