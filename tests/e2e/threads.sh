#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two threads that record and submit to two queues, and wait for each other on the device.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" -o threads.pb.zst -- "$bin/e2e-app" threads
says stdout 'all right'
for repetition in 1 2 3; do
    run 0 "$bin/hal-replay" threads.pb.zst
    same "$(compared)" 2 "compared read-backs, time $repetition"
done
# A device that is named has the queues that the trace needs, unless it is said how many it has.
run 0 "$bin/hal-replay" --device=cpu threads.pb.zst
same "$(compared)" 2 "compared read-backs on cpu"
run 0 "$bin/hal-replay" --bisect --against='cpu?threads=1' threads.pb.zst
run 4 "$bin/hal-replay" --device='cpu?queues=1' threads.pb.zst
says stderr 'uses 2 queues'
run 0 "$bin/hal-trace" dump threads.pb.zst
same "$(grep -c 'submit ' stdout)" 100 "submissions in the dump"
