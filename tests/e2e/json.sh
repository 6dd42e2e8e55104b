#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever prints JSON prints JSON, one object per line: another program's parser reads it.
. "$(dirname "$0")/lib.sh"

# A label with everything that needs care: its bytes are the program's name in the trace.
awkward=$(printf 'a"b\\c\td\303\251\377')
cp "$bin/decode" "$awkward"
run 0 env LD_LIBRARY_PATH="$bin/../lib" "$bin/hal-capture" -o trace.pb.zst -- "./$awkward" --tokens=2
for command in 'hal-replay --json' 'hal-replay --json --repeat=2' 'hal-trace info --json' \
    'hal-trace dump --json' 'hal-view --json' 'hal-view --json --print=timeline,gaps,submissions'; do
    # shellcheck disable=SC2086 # the subcommand
    run 0 "$bin"/$command trace.pb.zst
    python3 -c '
import json, sys
lines = open(sys.argv[1], "rb").read().decode("utf-8").splitlines()
assert lines, "nothing was printed"
for line in lines:
    assert isinstance(json.loads(line), dict), line
' stdout || fail "$command: not one JSON object per line"
done

# A path may have any bytes but 0: every program reads such a trace, and writes one.
path=$(printf -- '-%s\r\n "\342\202' "$awkward").pb.zst
cp trace.pb.zst "./$path"
for command in 'hal-replay --json' 'hal-trace info --json' 'hal-trace verify --json' 'hal-trace stats --json' \
    'hal-trace dump --json' 'hal-view --json'; do
    # shellcheck disable=SC2086 # the subcommand
    run 0 "$bin"/$command -- "$path"
    run 0 python3 -c 'import json, sys; [json.loads(line) for line in open("stdout", encoding="utf-8")]'
done
run 0 "$bin/hal-capture" -f -o "./2$path" -- "$bin/decode" --tokens=2
run 0 "$bin/hal-trace" recompress -o "./3$path" -- "./2$path"
run 0 "$bin/hal-replay" "./3$path"
says stdout 'same: '
# In text it is cleaned: it makes no lines of its own.
head -n 1 stdout | grep -q "^\./3-.*\.pb\.zst: '.*recorded on" || fail "the path is not on one line"
mkdir "./5$path"
run 0 "$bin/hal-trace" recover --list "./5$path"
one_line stdout
run 0 "$bin/hal-view" --dump-frame "./3$path"
run 3 "$bin/hal-trace" info "./4$path"
says stderr "No such file"

# What docs/scripting.md says of JSON is what is printed, no more and no less.
cat >documented.py <<'PYTHON'
import json, re, sys
page, command, printed = sys.argv[1:]
section = re.search(rf"### {re.escape(command)}\n(.*?)(\n#|\Z)", open(page, encoding="utf-8").read(), re.S).group(1)
rows = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
documented = dict(re.findall(r"`([a-z_. \[\]]+)`(†?)", rows))
def paths(value, at=""):
    if isinstance(value, dict) and value:
        return {p for key, inside in value.items() for p in paths(inside, at + "." + key if at else key)}
    if isinstance(value, list):
        return {p for inside in value for p in paths(inside, at + "[]")} or {at + "[]"}
    return {at}
there = {p for line in open(printed, encoding="utf-8") for p in paths(json.loads(line))}
# An empty list says nothing of its elements.
empty = {p for p in there if any(d.startswith(p + ".") for d in documented)}
wrong = [f"{p} is printed, and not documented" for p in sorted(there - empty - set(documented))]
wrong += [f"{p} is documented, and not printed" for p, rare in documented.items()
          if not rare and p not in there and not any(p.startswith(e + ".") for e in empty)]
assert len(documented) >= 5 and not wrong, (len(documented), wrong)
PYTHON
run 0 "$bin/hal-capture" --mode=dispatch -o timed.pb.zst -- "$bin/decode" --tokens=3
says_so()
{
    mv stdout printed
    run 0 python3 documented.py "$root/docs/scripting.md" "$1" printed
}
for command in info stats verify diff; do
    # shellcheck disable=SC2046 # another trace, or nothing
    run 0 "$bin/hal-trace" $command --json $([ $command != diff ] || echo timed.pb.zst) timed.pb.zst
    says_so "hal-trace $command --json"
done
run 0 "$bin/hal-view" --diff=trace.pb.zst --json timed.pb.zst
says_so "hal-view --diff --json"
for part in summary timeline submissions gaps findings kernels memory iterations; do
    run 0 "$bin/hal-view" --print=$part --json timed.pb.zst
    says_so "hal-view --print=$part --json"
done
# Members are snake_case, whatever prints them.
cat >snake_case.py <<'PYTHON'
import json, re, sys
members = set()
def walk(value):
    if isinstance(value, dict):
        members.update(value)
    for inside in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        walk(inside)
for line in open(sys.argv[1], encoding="utf-8"):
    walk(json.loads(line))
wrong = [name for name in sorted(members) if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)]
assert members and not wrong, wrong
PYTHON
run 0 "$bin/hal-trace" stats --json timed.pb.zst
last=$(($(sed 's/.*"submissions":\([0-9]*\),.*/\1/' stdout) - 1))
while read -r status command; do
    # shellcheck disable=SC2086 # several words
    run "$status" "$bin/"$command
    mv stdout printed
    python3 snake_case.py printed || fail "$command"
done <<END
0 hal-capture doctor --json
0 hal-replay --json timed.pb.zst
0 hal-replay --json --repeat=2 timed.pb.zst
0 hal-replay --json --benchmark=10ms --isolate timed.pb.zst
0 hal-replay --json --what-if=coalesce-submissions --runs=6 timed.pb.zst
0 hal-replay --json --stop-at=#s1 timed.pb.zst
0 hal-replay --json --loop=#s$last.d0 timed.pb.zst
0 hal-trace info --json timed.pb.zst
0 hal-trace dump --json timed.pb.zst
0 hal-trace dump --json $root/tests/traces/1.0-all-kinds.pb.zst
0 hal-trace dump --json $root/tests/traces/1.0-failures.pb.zst
0 hal-trace stats --json timed.pb.zst
0 hal-trace stats --json $root/tests/traces/1.0-collectives.pb.zst
0 hal-trace stats --json $root/tests/traces/1.0-failures.pb.zst
0 hal-trace verify --json timed.pb.zst
1 hal-trace diff --json trace.pb.zst timed.pb.zst
0 hal-trace export --format=jsonl timed.pb.zst
0 hal-view --json --print=summary,timeline,submissions,gaps,findings,kernels,memory,iterations timed.pb.zst
0 hal-view --json --print=summary,submissions $root/tests/traces/1.0-collectives.pb.zst
0 hal-view --json --diff trace.pb.zst timed.pb.zst
END
# A cause of gaps has one name and one time, in text and in JSON.
run 0 "$bin/hal-view" --print=summary timed.pb.zst
mv stdout text
run 0 "$bin/hal-view" --print=summary --json timed.pb.zst
python3 - text stdout <<'END'
import json, re, sys
idle = json.load(open(sys.argv[2]))["idle"]
units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
found = re.findall(r"^(?:idle)? +([HUL?S]) ([a-z ]+?) +[0-9.]+ % +([0-9.]+) (ns|us|ms|s)  ",
                   open(sys.argv[1], encoding="utf-8").read(), re.M)
assert found, "no causes in the text"
for _, name, number, unit in found:
    ns = idle[name.replace(" ", "_")]["ns"]
    assert abs(ns - float(number) * units[unit]) <= 0.02 * ns, (name, number, unit, ns)
END
