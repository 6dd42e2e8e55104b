#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One changed byte of a kernel's input, in a file whose checksums are right: a difference, not a
# damaged file. And a trace that has nothing to compare.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" -o good.pb.zst -- "$bin/decode" --tokens=3 --layers=2 --width=64
run 0 "$bin/change-trace" good.pb.zst changed.pb.zst change-byte upload
run 1 "$bin/hal-replay" changed.pb.zst
cat stdout stderr >both
says both "'result'"
grep -qE '#s[0-9]+' both || fail "the first difference has no locator"
run 1 "$bin/hal-replay" --json changed.pb.zst
run 0 "$bin/hal-replay" good.pb.zst

run 0 "$bin/change-trace" good.pb.zst without.pb.zst drop-reads
run 5 "$bin/hal-replay" without.pb.zst
run 0 "$bin/hal-capture" -o no-reads.pb.zst -- "$bin/e2e-app" no-reads
run 5 "$bin/hal-replay" no-reads.pb.zst
