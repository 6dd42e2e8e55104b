#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hal-trace export --format=sqlite: the rows are those of what --format=jsonl gives, joined by another
# program; traces are replaced, not doubled; files of strangers are left alone, damaged traces out.
. "$(dirname "$0")/lib.sh"

add() { status=$1; shift; run "$status" "$bin/hal-trace" export --format=sqlite -o fleet.db "$@"; }
ask() { sqlite3 fleet.db "$1"; }

run 0 "$bin/hal-capture" -o op.pb.zst -- "$bin/decode" --sync=op --tokens=3
run 0 "$bin/hal-capture" --mode=dispatch -o timed.pb.zst -- "$bin/decode" --sync=layer --tokens=3
add 0 op.pb.zst
add 0 timed.pb.zst
for trace in op timed; do
    run 0 "$bin/hal-trace" export --format=jsonl -o $trace.jsonl $trace.pb.zst
    run 0 python3 - fleet.db $trace <<'PYTHON'
import json, sqlite3, sys
database, name = sys.argv[1:]
rows = sqlite3.connect(database)
trace, length = rows.execute("SELECT trace, length_ns FROM traces WHERE path LIKE ?", (f"%/{name}.pb.zst",)).fetchone()
events = [json.loads(line) for line in open(name + ".jsonl")]
get = lambda sql: sorted(rows.execute(sql, (trace,)).fetchall())
of = lambda *kinds: [e for e in events if e.get("event") in kinds]
def same(what, got, wanted):
    wanted = sorted(wanted)
    if got != wanted:
        sys.exit(f"{name}, {what}: {len(got)} rows, {len(wanted)} wanted: {got[:2]} {wanted[:2]}")
done = {e["submission"]: e for e in of("submission_done")}
same("submissions", get("SELECT submission, queue, thread, submit_ns, ready_ns, begin_ns, end_ns, status FROM submissions WHERE trace = ?"),
     [(e["submission"], e["queue"], e["thread"], e["begin_ns"], d["ready_ns"], d["begin_ns"], d["end_ns"], d["status"])
      for e in of("submit") for d in [done[e["submission"]]]])
same("waits", get("SELECT thread, begin_ns, end_ns, status FROM waits WHERE trace = ?"),
     [(e["thread"], e["begin_ns"], e["end_ns"], e["status"]) for e in of("semaphore_wait", "wait_idle")])
same("transfers", get("SELECT direction, buffer, bytes, begin_ns FROM transfers WHERE trace = ?"),
     [(e["event"][5:], e["buffer"], e["size"], e["begin_ns"]) for e in of("host_write", "host_read")])
commands = {}
for e in events:
    if e.get("segment") == "dispatch":
        commands.setdefault(e["command_buffer"], []).append((e["executable"], e["entry"], e["workgroup_count_x"]))
times = {(e["submission"], t["command_buffer"], t["dispatch"]): (t["begin_ns"], t["end_ns"])
         for e in of("dispatch_times") for t in e["times"]}
wanted = []
for e in of("submit"):
    number = 0
    for position, buffer in enumerate(e["command_buffers"]):
        for inside, dispatch in enumerate(commands.get(buffer, [])):
            wanted.append((e["submission"], number, *dispatch, *times.get((e["submission"], position, inside), (None, None))))
            number += 1
assert len(wanted) == 48 and (name == "op" or len(times) == 48), (len(wanted), len(times))
key = lambda row: row[:2]
got = rows.execute("SELECT submission, dispatch, executable, entry, x, begin_ns, end_ns FROM dispatches WHERE trace = ?", (trace,)).fetchall()
assert sorted(got, key=key) == sorted(wanted, key=key), "dispatches"
scopes = [s for (s,) in rows.execute("SELECT scope FROM submissions WHERE trace = ? ORDER BY submission", (trace,))]
assert scopes.count("token 0") > 3 and [s for s in scopes if s] == [f"token {t}" for t in range(3) for _ in range(scopes.count("token 0"))], scopes
PYTHON
done
[ "$(ask "SELECT count(*) FROM kernels JOIN traces USING (trace) WHERE path LIKE '%/op.pb.zst' AND name = 'silu'")" = 1 ] ||
    fail "the kernels are not there"

# Again: replaced. One that is damaged is left out, the others are added.
before=$(ask 'SELECT (SELECT count(*) FROM dispatches), (SELECT count(*) FROM waits), (SELECT count(*) FROM submissions)')
head -c 5000 op.pb.zst | tail -c 4000 >damaged.pb.zst
add 3 ./op.pb.zst damaged.pb.zst none.pb.zst timed.pb.zst
says stderr "damaged.pb.zst"
says stderr "none.pb.zst"
same "$(ask 'SELECT (SELECT count(*) FROM dispatches), (SELECT count(*) FROM waits), (SELECT count(*) FROM submissions)')" \
    "$before" "after the same traces again"
same "$(ask 'SELECT count(*) FROM traces')" 2 "the traces that are there"

# What is not such a database is left as it is.
echo "no database" >text.db
cp text.db text.before
sqlite3 other.db 'CREATE TABLE mine(x)'
cp other.db other.before
run 3 "$bin/hal-trace" export --format=sqlite -o text.db op.pb.zst
one_line
run 3 "$bin/hal-trace" export --format=sqlite -o other.db op.pb.zst
says stderr "'other.db' is another program's database"
cmp text.db text.before && cmp other.db other.before || fail "a file of somebody else was changed"
sqlite3 fleet.db 'PRAGMA user_version=99'
add 3 op.pb.zst
says stderr "version 99"
run 3 "$bin/hal-trace" export --format=sqlite -o no/such/folder.db op.pb.zst
run 2 "$bin/hal-trace" export --format=sqlite op.pb.zst
run 2 "$bin/hal-trace" export --format=sqlite -o new.db
run 2 "$bin/hal-trace" export --format=sqlite -f -o new.db op.pb.zst
run 2 "$bin/hal-trace" export --format=sqlite -o op.pb.zst op.pb.zst

run 3 "$bin/hal-trace" stats --json op.pb.zst none.pb.zst timed.pb.zst
same "$(grep -c '^{"file":"[a-z]*.pb.zst"' stdout)" 2 "lines of JSON"
run 2 "$bin/hal-trace" stats op.pb.zst timed.pb.zst
