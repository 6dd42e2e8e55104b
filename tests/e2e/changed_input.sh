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

# A kernel that rounds in another way differs at many places; the tolerance that the report names is
# one that all of them keep.
sed 's/    const float x = projected\[i\];/    const float x = projected[i] * 1.0000004f;/' \
    "$root/tests/workloads/decode/decode.metal" >rounds.metal
cmp -s "$root/tests/workloads/decode/decode.metal" rounds.metal && fail "nothing rounds in another way"
run 1 "$bin/hal-replay" --substitute=silu=rounds.metal good.pb.zst
hint=$(sed -n 's/^if all of it is f32: .*: \(--type=f32 --tolerance=[a-z]*:[0-9.e-]*\) accepts .*/\1/p' stdout)
[ -n "$hint" ] || fail "there is no hint"
# shellcheck disable=SC2086 # two options
run 0 "$bin/hal-replay" --substitute=silu=rounds.metal $hint good.pb.zst
