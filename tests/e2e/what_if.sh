#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the decoder's author would do, submit and wait once per token and not for every operation, is
# what coalesce-submissions does to its trace: as many submissions, waits and read-backs, and the
# same bytes. How much faster that is, is bench-replay's to say (--only=what-if).
. "$(dirname "$0")/lib.sh"
size="--tokens=3 --layers=2 --width=64"

run 0 "$bin/hal-capture" -o op.pb.zst -- "$bin/decode" $size --sync=op
run 0 "$bin/hal-capture" -o token.pb.zst -- "$bin/decode" $size --sync=token
number() { sed -n "s/.*\"$2\":{[^}]*\"$3\":\([0-9]*\).*/\1/p" "$1"; }
run 0 "$bin/hal-replay" --trusted --json --runs=6 --what-if=coalesce-submissions token.pb.zst
cp stdout token.json
run 0 "$bin/hal-replay" --json --runs=6 --what-if=coalesce-submissions op.pb.zst
cp stdout op.json
says stdout '"lost":0,"lost_for_certain":0,'
says stdout '"incomplete":false,"first_lost":null}'
says stdout '"pairs":6,"shuffled_runs":6,"different_runs":0,"different_recorded_runs":0'
[ "$(number op.json before submissions)" -gt $((3 * $(number token.json before submissions))) ] ||
    fail "an operation is no submission"
for what in submissions host_waits; do
    same "$(number op.json after $what)" "$(number token.json before $what)" "coalesced $what"
done

# Where there is nothing to change, nothing is tried.
run 0 "$bin/hal-replay" --trusted --what-if=coalesce-submissions token.pb.zst
says stdout "what if coalesce-submissions: nothing to change"
grep -qE 'verified|interval' stdout && fail "it was tried all the same"
run 0 "$bin/hal-replay" --trusted --json --what-if=coalesce-submissions token.pb.zst
says stdout '"what_if":{"change":"coalesce-submissions","changed":false,'
says stdout '"pairs":0,'
# All that is done is named, however many options asked for it.
run 0 "$bin/hal-replay" --trusted --what-if=coalesce-submissions --what-if=queues=1 token.pb.zst
says stdout "what if coalesce-submissions,queues=1: nothing to change"
run 0 "$bin/hal-replay" --json --what-if=queues=1 --what-if=coalesce-submissions token.pb.zst
says stdout '"what_if":{"change":"queues=1,coalesce-submissions","changed":false,'

# More queues than the trace's device had: it is opened with so many, unless one is chosen.
run 0 "$bin/hal-replay" --trusted --runs=6 --what-if=queues=2 token.pb.zst
says stdout "1 queue becomes 2"
says stdout "verified: 12 of 12 runs"
run 4 "$bin/hal-replay" --trusted '--device=cpu?queues=1' --what-if=queues=3 token.pb.zst
says stderr "device 'cpu?"
says stderr "has 1; --device=URI selects one with more, such as cpu?queues=3"
one_line
# All that a device lacks is said before anything runs.
run 0 "$bin/hal-replay" --trusted --json token.pb.zst
says stdout '"compatibility":{"limits":[],"notes":[]}'

# The words of the report, and what the hazards say of barriers; never that something is safe. (What
# runs without needed barriers gives depends on time: same or different, or, with the thread
# sanitizer, the races that these barriers prevent.)
run 0 "$bin/hal-replay" --trusted --runs=6 --what-if=coalesce-submissions op.pb.zst
says stdout "verified: 12 of 12 runs gave the recorded bytes (6 of them at random moments)"
says stdout "95 % interval"
says stdout "pairs of accesses to the same bytes, 0 lose their order, "
"$bin/hal-replay" --trusted --runs=6 --what-if=drop-barriers=all,merge-dispatches token.pb.zst \
    >stdout 2>stderr || status=$?
case ${status:-0}:${3:-} in
0:* | 1:* | 66:*thread*) ;;
*) fail "it was not tried" ;;
esac
grep -q "0 order nothing, [0-9]* may order something, [1-9][0-9]* are needed" stdout || fail "nothing is needed"
grep -qi safe stdout && fail "nobody can say that"
exit 0
