#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite once more, captured: every case passes as before, and the trace of the
# shared device, and those of the devices that single cases opened, replay without a difference.
. "$(dirname "$0")/lib.sh"

# libunwind takes a lock in each thread's last moments, when the thread sanitizer is gone already.
run 0 "$bin/hal-capture" --stacks=none -o suite.pb.zst -- "$bin/hal-conformance" \
    '--driver=cpu?threads=4&queues=3' --expect="$root/tests/conformance/expect/cpu.txt"
says stdout ' 0 failed'
grep -q '^skipped' stdout && fail "cases were skipped"
tail -n 1 stdout

run 0 "$bin/hal-replay" suite.pb.zst
[ "$(compared)" -gt 1000 ] || fail "only $(compared) read-backs were compared"
cat stdout
for trace in suite-*.pb.zst; do
    [ -e "$trace" ] || continue
    echo "+ hal-replay $trace"
    status=0
    "$bin/hal-replay" "$trace" >stdout 2>stderr || status=$?
    case $status in
    0) ;;
    5) says stdout 'nothing could be compared' ;;
    *) fail "exit status $status: $trace" ;;
    esac
done
