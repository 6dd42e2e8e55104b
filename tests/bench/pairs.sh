#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether `hal-view --diff` says of two captures of one program that they differ, and of two programs
# that they do not: `pairs.sh BIN [PAIRS]`, BIN being a build's folder of programs. PAIRS (20) pairs
# of captures of the decoder (BENCH_TOKENS=256 tokens, all dispatches timed), each with one of a
# decoder with 6 layers in place of 4, whose tokens take half as long again. Prints every change that
# is called significant, and at last in how many of the pairs of one program there was one, and in
# how many of the others the tokens were said to take longer. The three of a round are captured in
# turn; other programs on the machine disturb all of them.
set -eu
bin=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >pairs.py <<'PYTHON'
import json, subprocess, sys
programs, pairs, tokens = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def run(*command):
    return subprocess.run([programs + "/" + command[0], *command[1:]], check=True, capture_output=True, text=True).stdout
def capture(name, layers):
    run("hal-capture", "-q", "-f", "-m", "dispatch", "-o", name, "--", programs + "/decode", "--check=false", "--tokens=" + tokens, f"--layers={layers}")
    return name
def changes(first, second):
    diff = json.loads(run("hal-view", "--json", "--diff=" + second, first))
    return {row["name"]: row for row in diff["scopes"] + diff["kernels"]}
def text(row):
    us = [row[side]["median_ns"] / 1e3 for side in ("first", "second")]
    return f"{row['name']} {row['change']}, {us[0]:.2f} us -> {us[1]:.2f} us"
different = longer = 0
for i in range(pairs):
    first, second, more = capture("a", 4), capture("b", 4), capture("c", 6)
    wrong = [text(row) for row in changes(first, second).values() if row["change"] in ("longer", "shorter")]
    right = changes(first, more)["token #"]
    different += bool(wrong)
    longer += right["change"] == "longer"
    print(f"pair {i:2}: {'; '.join(wrong) or 'no significant difference'} | 6 layers: {text(right)}", flush=True)
print(f"{different} of {pairs} pairs of one program were said to differ; {longer} of {pairs} with half as many layers again were said to take longer")
PYTHON
python3 pairs.py "$bin" "${2:-20}" "${BENCH_TOKENS:-256}"
