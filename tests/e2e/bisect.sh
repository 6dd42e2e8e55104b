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
# The library's function that was called comes first, not what is inside it.
grep -q '"stack":\["hal_queue_submit+0x' stdout ||
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

# Digests behind each submission tell which one it was, and without a second device.
run 0 "$bin/hal-capture" -o digests.pb.zst --outputs=all -- "$bin/decode" --tokens=2 --layers=2 --width=64 --sync=op
run 0 "$bin/hal-trace" verify digests.pb.zst
run 0 "$bin/hal-trace" dump digests.pb.zst
says stdout ': submission_outputs submission=3 '
run 0 "$bin/hal-view" --print=summary digests.pb.zst
says stdout '24 written ranges after submissions, 24 of them known'
run 0 "$bin/hal-replay" --trusted digests.pb.zst
says stdout "the trace has digests of 24 written ranges"
run 0 "$bin/hal-replay" --trusted --verify=submissions digests.pb.zst
says stdout "24 written ranges compared by digest, 0 without one"
run 1 "$bin/hal-replay" --trusted --bisect --against=cpu --substitute=silu=wrong.metal --json digests.pb.zst
where=$(sed -n 's/.*"locator":"\([^"]*\)".*/\1/p' stdout)
run 1 "$bin/hal-replay" --bisect --substitute=silu=wrong.metal digests.pb.zst
says stdout "first difference from recorded: written by $where: dispatch of 'silu'"
says stdout "buffer 'projected' [0, +256): its digest differs from the recorded one"
# In the sandbox the program's own file is out of reach, unless it is given.
grep -q '^  at session_decode' stdout && fail "the sandbox read a program that was not given"
run 1 "$bin/hal-replay" --bisect --symbols="$bin/decode" --substitute=silu=wrong.metal digests.pb.zst
grep -q '^  at session_decode+0x[0-9a-f]*$' stdout || fail "no name of a function"
cp "$bin/decode" moved
run 1 "$bin/hal-replay" --bisect --symbols="$bin/e2e-app" --symbols=moved --substitute=silu=wrong.metal digests.pb.zst
grep -q '^  at session_decode+0x[0-9a-f]*$' stdout || fail "no name of a function"
run 2 "$bin/hal-replay" --bisect --symbols=absent digests.pb.zst
one_line
run 1 "$bin/hal-replay" --trusted --verify=submissions --substitute=silu=wrong.metal --json digests.pb.zst
says stdout "\"locator\":\"${where%.*}\""
says stdout '"by_digest":true'
# A tolerance cannot be applied to a digest, and buffers that began with other bytes have others.
run 0 "$bin/hal-replay" --trusted --verify=submissions --tolerance=rel:1 --type=f32 --substitute=silu=wrong.metal \
    digests.pb.zst
says stdout "have another digest, to which no tolerance can be applied"
run 0 "$bin/hal-replay" --trusted --verify=submissions --fill=7 digests.pb.zst
says stdout "0 written ranges compared by digest, 24 without one"
# A part of the trace keeps the digests of what it keeps.
run 0 "$bin/hal-trace" trim --submissions=#s5..#s8 -o part.pb.zst digests.pb.zst
run 0 "$bin/hal-replay" --trusted --verify=submissions part.pb.zst

# Threads, queues, transient memory, semaphores that the host overtakes: nothing differs by itself.
run 0 "$bin/hal-capture" -q --force -o all.pb.zst --outputs=all -- "$bin/e2e-app" threads
run 0 "$bin/hal-replay" --trusted --verify=submissions all.pb.zst
says stdout "100 written ranges compared by digest, 0 without one"
for cases in 'transients.*' 'semaphores.overtaken*'; do
    run 0 "$bin/hal-capture" -q --force -o all.pb.zst --outputs=all -- "$bin/hal-conformance" --filter="$cases"
    run 0 "$bin/hal-replay" --trusted --verify=submissions all.pb.zst
    says stdout "no difference from recorded: "
done

# A whole submission, without looking further.
run 1 "$bin/hal-replay" --trusted --verify=submissions --against=cpu --substitute=silu=wrong.metal good.pb.zst
says stdout ": submission"

# Nobody reads what nobody wrote, until a kernel does: one that adds to its result.
run 0 "$bin/hal-replay" --trusted --verify=uninitialised good.pb.zst
says stdout "no difference from a run with other bytes in unwritten memory: "
run 0 "$bin/hal-replay" --verify=uninitialised --device=cpu good.pb.zst
sed 's/float sum = bias.row.;/float sum = bias[row] + projected[row];/' "$kernels" >adds.metal
cmp -s "$kernels" adds.metal && fail "nothing is added"
run 1 "$bin/hal-replay" --verify=uninitialised --substitute=matrix_vector=adds.metal good.pb.zst
says stdout "first difference from a run with other bytes in unwritten memory: #s"
says stdout "dispatch of 'matrix_vector'"
says stdout "  output buffer 'projected'"

# What does not fit.
echo 'kernel void nothing() {}' >nothing.metal
run 4 "$bin/hal-replay" --trusted --substitute=absent=wrong.metal good.pb.zst
says stderr "the trace has no kernel or executable 'absent'"
run 4 "$bin/hal-replay" --trusted --substitute=silu=nothing.metal good.pb.zst
sed 's/\*bias \[\[buffer(2)/*bias [[buffer(7)/' "$kernels" >elsewhere.metal
run 4 "$bin/hal-replay" --trusted --substitute=silu=elsewhere.metal good.pb.zst
says stderr "but its substitute does not"
run 2 "$bin/hal-replay" --trusted --substitute=silu=missing.metal good.pb.zst
one_line
run 2 "$bin/hal-replay" --trusted --minimal=m good.pb.zst
run 2 "$bin/hal-replay" --trusted --against=cpu good.pb.zst
run 2 "$bin/hal-replay" --trusted --bisect --minimal=m good.pb.zst
