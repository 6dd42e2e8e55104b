#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the finding about host waits promises, beside what a replay without them saves:
# `savings.sh BIN [CAPTURES]`, BIN being a build's folder of programs. The decoder that waits for
# every operation, and for every layer, is captured CAPTURES (20) times each; of every trace stand
# there what was promised, how much of the time from first to last work that is, and what
# `--what-if=drop-host-waits` and `coalesce-submissions` saved, by the best of 20 runs of either way:
# what other programs on the machine take only adds. In the end: how many promises lie within 25 % of
# the median of what was saved in all of the captures.
set -eu
bin=$(cd "$1" && pwd)
captures=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >savings.py <<'PYTHON'
import json, subprocess, sys
from statistics import median
programs, captures = sys.argv[1], int(sys.argv[2])
def run(*command):
    return subprocess.run([programs + "/" + command[0], *command[1:]], check=True, capture_output=True, text=True).stdout
def saved(trace, change):
    trial = json.loads(run("hal-replay", "--json", "--what-if=" + change, trace))["what_if"]
    return (trial["recorded_ns"]["min"] - trial["changed_ns"]["min"]) / 1e3
for sync in "op", "layer":
    promised, savings = [], {"drop-host-waits": [], "coalesce-submissions": []}
    for i in range(captures):
        trace = f"{sync}{i}.pb.zst"
        run("hal-capture", "-q", "-o", trace, "--", programs + "/decode", "--check=false", "--sync=" + sync)
        findings = json.loads(run("hal-view", "--print=findings", "--json", trace))["findings"]
        for finding in findings:
            assert finding["cost_ns"] is None or finding["cost_ns"] <= finding["possible_ns"], finding
            assert finding["share"] <= 1, finding
        waits = [f for f in findings if f["kind"] == "host-syncs"]
        promised.append(waits[0]["cost_ns"] / 1e3 if waits else 0)
        line = f"--sync={sync} {i:2}: promised {promised[-1]:7.0f} us, {100 * waits[0]['share'] if waits else 0:5.1f} %; saved"
        for change, all_of_it in savings.items():
            all_of_it.append(saved(trace, change))
            line += f"  {change} {all_of_it[-1]:7.0f} us"
        print(line, flush=True)
    for change, all_of_it in savings.items():
        right = median(all_of_it)
        near = sum(abs(each / right - 1) <= 0.25 for each in promised)
        print(f"--sync={sync}: {near} of {captures} within 25 % of {right:.0f} us ({change});"
              f" promised over saved: {min(promised) / right:.2f} to {max(promised) / right:.2f}, median {median(promised) / right:.2f}")
PYTHON
python3 savings.py "$bin" "$captures"
