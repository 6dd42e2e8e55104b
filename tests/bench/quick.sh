#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A benchmark still works: `quick.sh PROGRAM`. It runs once and small, and every row that it prints
# has a name of its own, a unit and a number; what the numbers are depends on the machine.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --quick --json >"$work/out"
python3 -c '
import json, math, sys
rows = json.load(open(sys.argv[1]), parse_constant=lambda word: None)["rows"]
assert rows, "no rows"
names = [row["name"] for row in rows]
assert len(set(names)) == len(names), "two rows of one name: " + repr(names)
for row in rows:
    assert isinstance(row["value"], (int, float)) and math.isfinite(row["value"]), row
    assert isinstance(row["unit"], str) and row["better"] in ("lower", "higher"), row
print(len(rows), "rows")
' "$work/out" || { cat "$work/out"; exit 1; }
