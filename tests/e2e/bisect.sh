#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One kernel is wrong: the first dispatch that goes wrong is found, and reproduced alone.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" -o good.pb.zst -- "$bin/decode" --tokens=2 --layers=2 --width=64
kernels=$root/tests/workloads/decode/decode.metal
sed 's/1.0f + exp(-x)/1.0f + exp(-x * 1.01f)/' "$kernels" >wrong.metal
cmp -s "$kernels" wrong.metal && fail "nothing was made wrong"

# As it is, nothing differs.
run 0 "$bin/hal-replay" --trusted --bisect --against=cpu?threads=1 good.pb.zst
says stdout "no difference from cpu?threads=1: "
run 0 "$bin/hal-replay" --trusted --bisect good.pb.zst
says stdout "no difference from recorded: "
run 0 "$bin/hal-replay" --trusted --verify=submissions --against=cpu --json good.pb.zst
says stdout '"bisect":{"against":"cpu","found":false'

# The third dispatch of the first layer is the first silu.
run 1 "$bin/hal-replay" --bisect --against=cpu --substitute=silu=wrong.metal --type=f32 \
    --minimal=minimal.pb.zst good.pb.zst
says stdout "first difference from cpu: #s"
says stdout "dispatch of 'silu'"
says stdout "  input buffer 'projected'"
says stdout "  output buffer 'projected'"
says stdout "  that command alone: minimal.pb.zst"
where=$(sed -n 's/^first difference from cpu: \(#s[0-9.d]*\): .*/\1/p' stdout)
run 1 "$bin/hal-replay" --trusted --bisect --against=cpu --substitute=silu=wrong.metal --json good.pb.zst
says stdout "\"locator\":\"$where\""

# Functions of the program have names, where its file may be read.
# The caller that comes first depends on what the compiler put into what.
grep -qE '"stack":\["(hand_in|hal_queue_hand_in|hal_queue_submit)\+0x' stdout ||
    fail "the stack has no names: $(grep -oE '"stack":\["[^"]*"' stdout)"
run 1 "$bin/hal-replay" --trusted --bisect --against=cpu --substitute=silu=wrong.metal good.pb.zst
grep -q '^  at session_decode+0x[0-9a-f]*$' stdout || fail "no name of a function"

# That trace has one dispatch, and fails by itself; a tolerance lets it pass.
run 1 "$bin/hal-replay" minimal.pb.zst
says stdout "1 of them dispatches"
says stdout "buffer 'projected'"
run 0 "$bin/hal-replay" --tolerance=rel:0.1 --type=f32 minimal.pb.zst
run 0 "$bin/hal-trace" verify minimal.pb.zst

# The read-backs alone do not tell which one it was; the one that it was is among those whose
# results came there.
run 1 "$bin/hal-replay" --trusted --bisect --substitute=silu=wrong.metal good.pb.zst
says stdout "first difference from recorded: written by #s"
says stdout ": copy, segment "
says stdout "only another device can tell"
ancestor=$(sed -n 's/.*the first #s\([0-9]*\).*/\1/p' stdout)
wrong=${where#\#s}
[ "$ancestor" -le "${wrong%%.*}" ] || fail "#s$ancestor is behind $where"

# A whole submission, without looking further.
run 1 "$bin/hal-replay" --trusted --verify=submissions --against=cpu --substitute=silu=wrong.metal good.pb.zst
says stdout ": submission"

# Nobody reads what nobody wrote, until a kernel does: one that adds to its result.
run 0 "$bin/hal-replay" --trusted --verify=uninitialised good.pb.zst
says stdout "no difference from a run with other bytes where nobody wrote: "
run 0 "$bin/hal-replay" --verify=uninitialised --device=cpu good.pb.zst
sed 's/float sum = bias.row.;/float sum = bias[row] + projected[row];/' "$kernels" >adds.metal
cmp -s "$kernels" adds.metal && fail "nothing is added"
run 1 "$bin/hal-replay" --verify=uninitialised --substitute=matrix_vector=adds.metal good.pb.zst
says stdout "first difference from a run with other bytes where nobody wrote: #s"
says stdout "dispatch of 'matrix_vector'"
says stdout "  output buffer 'projected'"

# What does not fit.
echo 'kernel void nothing() {}' >nothing.metal
run 4 "$bin/hal-replay" --trusted --substitute=absent=wrong.metal good.pb.zst
says stderr "the trace has no kernel or executable 'absent'"
run 4 "$bin/hal-replay" --trusted --substitute=silu=nothing.metal good.pb.zst
sed 's/\*bias \[\[buffer(2)/*bias [[buffer(7)/' "$kernels" >elsewhere.metal
run 4 "$bin/hal-replay" --trusted --substitute=silu=elsewhere.metal good.pb.zst
says stderr "and its substitute does not"
run 2 "$bin/hal-replay" --trusted --substitute=silu=missing.metal good.pb.zst
one_line
run 2 "$bin/hal-replay" --trusted --minimal=m good.pb.zst
run 2 "$bin/hal-replay" --trusted --against=cpu good.pb.zst
run 2 "$bin/hal-replay" --trusted --bisect --minimal=m good.pb.zst
