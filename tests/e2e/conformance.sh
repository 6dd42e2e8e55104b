#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite once more, captured: every case passes as before, and the trace of the
# shared device, and those of the devices that single cases opened, replay without a difference.
# Then what buffers are about, where freed ones come back.
. "$(dirname "$0")/lib.sh"
sanitizer=${3:-}

# capture_suite NAME URI FILTER
capture_suite()
{
    # libunwind takes a lock in each thread's last moments, when the thread sanitizer is gone
    # already.
    echo "+ hal-capture $1.pb.zst"
    status=0
    "$bin/hal-capture" --stacks=none -o "$1.pb.zst" -- "$bin/hal-conformance" "--driver=$2" \
        "--filter=$3" --expect="$root/tests/conformance/expect/cpu.txt" >stdout 2>stderr || status=$?
    if [ "$status" != 0 ]; then
        grep -vE '^(ok|skipped) ' stdout || :
        grep -vE '^hal-capture: .* submissions, ' stderr || :
        fail "exit status $status"
    fi
    says stdout ' 0 failed'
    # Sanitizers keep a kernel's faults to themselves.
    [ "$sanitizer" ] && sed -i '/^skipped faults\..* does not catch faults of kernels$/d' stdout
    grep -q '^skipped' stdout && fail "cases were skipped"
    tail -n 1 stdout
}

# replay_suite NAME LEAST: that many read-backs, at least, are compared
replay_suite()
{
    run 0 "$bin/hal-replay" --trusted "$1.pb.zst" # compiles less than the sandbox does
    [ "$(compared)" -gt "$2" ] || fail "only $(compared) read-backs were compared"
    cat stdout
    for trace in "$1"-*.pb.zst; do
        [ -e "$trace" ] || continue
        echo "+ hal-replay $trace"
        status=0
        "$bin/hal-replay" --trusted "$trace" >stdout 2>stderr || status=$?
        case $status in
        0) ;;
        5) says stdout 'nothing could be compared' ;;
        *) fail "exit status $status: $trace" ;;
        esac
    done
}

# Devices that were told to be lost are not lost again when they are replayed: what ran then ends
# here, which is told and proves nothing, and what waited for it does not hang.
replay_losses()
{
    unmet=0
    for trace in losses.pb.zst losses-*.pb.zst; do
        echo "+ hal-replay $trace"
        status=0
        timeout 60 "$bin/hal-replay" --trusted "$trace" >stdout 2>stderr || status=$?
        case $status in
        0) ;;
        5)
            if grep -q 'failed because the recorded device was lost' stdout; then
                says stdout 'the recorded device was lost'
                unmet=$((unmet + 1))
            fi ;;
        *) fail "exit status $status: $trace" ;;
        esac
    done
    [ "$unmet" -ge 3 ] || fail "only $unmet of the lost devices were missed"
}

# `losses` stands alone.
capture_suite suite 'cpu?threads=4&queues=3' '[!l]*'
replay_suite suite 1000
capture_suite layouts 'cpu?threads=4&queues=3' 'la*'
replay_suite layouts 5
capture_suite losses 'cpu?threads=4&queues=3' 'lo*'
# What a lost device would have put in order is not in order any more, which the thread sanitizer
# takes for races.
[ "$sanitizer" = thread ] || replay_losses
capture_suite caching 'cpu?threads=4&queues=3&caching=16M' '[bt]*'
replay_suite caching 300
