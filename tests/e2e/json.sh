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
