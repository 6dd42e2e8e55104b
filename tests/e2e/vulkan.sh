#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The decoder on Vulkan: captured there, replayed there to the same bytes, and on the CPU, from the
# kernels in MSL that the trace has beside those in SPIR-V, to nearly the same numbers; and the other
# way around.
. "$(dirname "$0")/lib.sh"
near='abs:1e-5,rel:1e-4'

if ! "$bin/decode" --device=vulkan --tokens=1 --layers=1 --width=32 >stdout 2>stderr; then
    grep -qE 'has no device on this system|no Vulkan loader|finds no driver' stderr ||
        fail "the decoder does not run on Vulkan"
    cat stderr
    exit 77
fi

run 0 "$bin/hal-capture" -o gpu.pb.zst -- "$bin/decode" --device=vulkan --tokens=3 --layers=2 --width=64
says stdout 'is tolerated: right'
run 0 "$bin/hal-replay" gpu.pb.zst
same "$(compared)" 3 "read-backs on Vulkan"
run 0 "$bin/hal-replay" --device=cpu --type=f32 --tolerance="$near" gpu.pb.zst
same "$(compared)" 3 "read-backs on the CPU"

run 0 "$bin/hal-capture" -o cpu.pb.zst -- "$bin/decode" --device=cpu --tokens=3 --layers=2 --width=64
run 0 "$bin/hal-replay" --device=vulkan --type=f32 --tolerance="$near" cpu.pb.zst
same "$(compared)" 3 "read-backs on Vulkan of what the CPU recorded"
