#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Collectives of several devices: each rank's trace replays alone, and so does what is trimmed from
# one; all of them merged can be looked at, and a replay says why not replayed; a rank that sends
# something else than it did is told. Every tool names what was done, and knows how much was moved.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" --stacks=none -o rank.pb.zst -- "$bin/hal-conformance" \
    '--driver=cpu?threads=1' '--filter=channels.reduce_scatter'
for trace in rank.pb.zst rank-2.pb.zst rank-3.pb.zst; do
    run 0 "$bin/hal-replay" --trusted "$trace"
    # what each of seven collectives sends, but for the empty one, and the case's own read-backs
    [ "$(compared)" -ge 12 ] || fail "$trace: only $(compared) read-backs were compared"
    run 0 "$bin/hal-trace" dump "$trace"
    same "$(grep -c ' collective submission=' stdout)" 7 "collectives in $trace"
    says stdout 'collective=reduce_scatter type=u32 reduction=sum'
done
run 0 "$bin/hal-trace" dump --kind=channel_create rank-3.pb.zst
says stdout 'rank=2 count=3 label="ring"'

run 0 "$bin/hal-trace" merge -o merged.pb.zst rank.pb.zst rank-2.pb.zst rank-3.pb.zst
run 0 "$bin/hal-trace" dump merged.pb.zst
same "$(grep -c ' collective submission=' stdout)" 21 "collectives of all ranks"
run 0 "$bin/hal-view" --print=timeline --width=160 merged.pb.zst
for rank in 0 1 2; do
    says stdout "rank $rank of 3: cpu?threads=1"
done
run 0 "$bin/hal-view" --json --print=submissions merged.pb.zst
same "$(grep -o '"met":\[[0-9]*,[0-9]*\]' stdout | wc -l)" 21 "collectives of which both others are known"
run 4 "$bin/hal-replay" --trusted merged.pb.zst
says stderr "it was merged from several captures (each of them can be replayed"

# A group's number stands for one group: that of another process is another one.
run 0 "$bin/hal-capture" --stacks=none -o other.pb.zst -- "$bin/hal-conformance" \
    '--driver=cpu?threads=1' '--filter=channels.reduce_scatter'
run 0 "$bin/hal-trace" merge -o both.pb.zst other.pb.zst rank-2.pb.zst other-2.pb.zst rank.pb.zst
run 0 "$bin/hal-trace" dump --kind=channel_create both.pb.zst
same "$(sed -n 's/.* group=\([0-9]*\) rank=\([0-9]\).*/\1:\2/p' stdout | sort | tr '\n' ' ')" \
    "1:0 1:1 2:0 2:1 " "groups of two processes"

# What the conformance case does: 0, 1, 7, 511, 512, 513 and 5000 words for each of three ranks.
received=$((4 * (0 + 1 + 7 + 511 + 512 + 513 + 5000)))
sent=$((3 * received))
run 0 "$bin/hal-trace" stats rank-3.pb.zst
says stdout "reduce_scatter on ring (rank 2 of 3)"
says stdout "uploads      6 in"
run 0 "$bin/hal-trace" stats --json rank.pb.zst rank-2.pb.zst rank-3.pb.zst merged.pb.zst
mv stdout stats.json
run 0 python3 - stats.json $sent $received <<'PYTHON'
import json, sys
sent, received = int(sys.argv[2]), int(sys.argv[3])
*ranks, merged = [json.loads(line) for line in open(sys.argv[1])]
seen = []
for line in ranks:
    (one,) = line["collectives"]
    del one["channel"]
    took = one.pop("device_ns")
    assert took == line["device_ns"] > 0, (took, line["device_ns"])
    seen.append(one.pop("rank"))
    assert one == {"operation": "reduce_scatter", "label": "ring", "group": 1, "ranks": 3, "count": 7,
                   "failed": 0, "elements": received // 4, "sent_bytes": sent, "received_bytes": received}, one
    # What the host wrote is what is sent; what was received is no upload.
    assert line["uploads"]["bytes"] == sent and line["uploads"]["count"] == 6, line["uploads"]
    assert line["readbacks"]["bytes"] == received and line["readbacks"]["count"] == 6, line["readbacks"]
assert sorted(seen) == [0, 1, 2], seen
assert sorted(one["rank"] for one in merged["collectives"]) == [0, 1, 2], merged
assert len({one["channel"] for one in merged["collectives"]}) == 3, merged
PYTHON

# Rows of a database: also of one that an older version made, which had no tables of channels.
run 0 "$bin/hal-trace" export --format=sqlite -o fleet.db rank.pb.zst
run 0 sqlite3 fleet.db 'DROP TABLE channels; DROP TABLE collectives; PRAGMA user_version=1'
run 0 "$bin/hal-trace" export --format=sqlite -o fleet.db rank-2.pb.zst rank-3.pb.zst
run 0 sqlite3 fleet.db "SELECT c.rank, c.ranks, c.label, count(*), sum(elements), sum(sent_bytes),
    sum(received_bytes), min(s.operation), min(operation_), min(type), min(reduction), sum(peer)
    FROM (SELECT trace, submission, channel, operation AS operation_, type, reduction, peer, elements,
    sent_bytes, received_bytes FROM collectives WHERE status = 'ok') JOIN channels c USING (trace, channel)
    JOIN submissions s USING (trace, submission) GROUP BY rank ORDER BY rank"
printf '%s\n' "1|3|ring|7|$((received / 4))|$sent|$received|collective|reduce_scatter|u32|sum|" \
    "2|3|ring|7|$((received / 4))|$sent|$received|collective|reduce_scatter|u32|sum|" >expected
cmp -s stdout expected || fail "not these rows: $(cat expected)"
run 0 sqlite3 fleet.db "SELECT direction, sum(bytes) FROM transfers JOIN traces USING (trace)
    WHERE path LIKE '%rank-2%' GROUP BY direction; PRAGMA user_version"
printf 'read|%s\nwrite|%s\n2\n' $received $sent >expected
cmp -s stdout expected || fail "not these transfers: $(cat expected)"

# Other tools see the names: the packets of the trace itself, and what is exported.
run 0 "$bin/hal-trace" export --format=chrome -o chrome.json rank-2.pb.zst
run 0 python3 - chrome.json <<'PYTHON'
import json, sys
events = json.load(open(sys.argv[1]))
events = events["traceEvents"] if isinstance(events, dict) else events
names = [e.get("name") for e in events]
assert sum(n == "reduce_scatter sum u32" for n in names) == 7, names
assert [n for n in names if n and n.startswith("#s")] == [f"#s{i} reduce_scatter" for i in range(7)], names
PYTHON

run 0 "$bin/hal-trace" trim -o trimmed.pb.zst '--submissions=#s4' rank-2.pb.zst
run 0 "$bin/hal-replay" --trusted trimmed.pb.zst
[ "$(compared)" -ge 1 ] || fail "nothing of the trimmed trace was compared"
run 0 "$bin/hal-trace" dump trimmed.pb.zst
same "$(grep -c ' collective submission=' stdout)" 1 "collectives that are kept"

# Other bytes in place of what rank 1 sends. Many of its buffers are called 'data': the message lists
# them, and one of them is chosen by its number, the largest.
head -c 60000 /dev/zero >zeros
run 4 "$bin/hal-replay" --trusted --substitute-buffer=data=zeros rank-2.pb.zst
largest=$(sed -n "s/.*\(#[0-9]*\) 'data' (60000 bytes).*/\1/p" stderr)
[ -n "$largest" ] || fail "the message lists no buffer of 60000 bytes"
run 1 "$bin/hal-replay" --trusted "--substitute-buffer=$largest=zeros" rank-2.pb.zst
says stdout 'different'
