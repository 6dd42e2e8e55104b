#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The unit tests of the HAL once more under capture: they pass as before, and every trace that they
# leave replays without a difference (those without a read-back have nothing to compare).
. "$(dirname "$0")/lib.sh"

# libunwind takes a lock in each thread's last moments, when the thread sanitizer is gone already.
export HAL_DEVICE_PROFILING_STACKS=none
total=0
for test in test_commands test_cpu_memory test_cpu_program test_cpu_queue test_cpu_semaphore; do
    run 0 env HAL_DEVICE_PROFILING_MODE=queue "$bin/../tests/$test"
    for trace in "$test".*.pb.zst; do
        [ -e "$trace" ] || continue
        echo "+ hal-replay $trace"
        status=0
        "$bin/hal-replay" "$trace" >stdout 2>stderr || status=$?
        case $status in
        0) total=$((total + $(compared))) ;;
        5) says stdout 'nothing could be compared' ;;
        *) fail "exit status $status: $trace" ;;
        esac
        rm "$trace"
    done
done
[ "$total" -ge 1000 ] || fail "only $total read-backs were compared"
echo "$total read-backs compared"
