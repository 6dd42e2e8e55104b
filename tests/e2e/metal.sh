#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces go from Metal to the CPU and back: what one device has captured, the other replays with the
# same results, and the decoder comes to the same on both.
. "$(dirname "$0")/lib.sh"

verifies()
{
    run 0 "$bin/hal-replay" "--device=$2" "$1"
    [ "$(compared)" -gt 0 ] || fail "$1 on $2: nothing was compared"
}

# Kernels round as on the CPU unless math=fast: the same bytes.
small='--tokens=3 --layers=2 --width=64'
for sync in op layer token; do
    for device in metal cpu; do
        # shellcheck disable=SC2086
        run 0 env "HAL_DEVICE=$device" "$bin/hal-capture" -o "$device-$sync.pb.zst" -- \
            "$bin/decode" $small --sync=$sync
        says stdout ': right'
    done
    for device in cpu metal 'metal?queues=2' 'metal?isolate=1'; do
        verifies "metal-$sync.pb.zst" "$device"
        verifies "cpu-$sync.pb.zst" "$device"
    done
done

# As Metal rounds when nobody says otherwise, within a tolerance.
# shellcheck disable=SC2086
run 0 "$bin/hal-capture" -o fast.pb.zst -- "$bin/decode" $small '--device=metal?math=fast'
run 0 "$bin/hal-replay" '--device=metal?math=fast' fast.pb.zst
run 0 "$bin/hal-replay" --device=cpu --type=f32 --tolerance=abs:1e-5,rel:1e-4 fast.pb.zst

# Word for word: what is checked depends on the results alone.
for device in cpu metal; do
    # shellcheck disable=SC2086
    run 0 "$bin/decode" $small "--device=$device"
    grep 'values checked' stdout >"decode-$device"
done
cmp decode-cpu decode-metal || fail "the decoder's results differ"

# The trace says which device it was, and when the device worked.
run 0 "$bin/hal-trace" info metal-token.pb.zst
says stdout 'metal://'
run 0 "$bin/hal-view" --print=submissions metal-token.pb.zst
grep -cE '^#s[0-9]+ .* [0-9.]+ (ns|us|ms|s) +[0-9]+  token [0-9]+$' stdout >tokens || true
[ "$(cat tokens)" -eq 3 ] || fail "$(cat tokens) of 3 tokens have a device time"

# Where host and device have copies of their own, and nothing is in order by chance.
modes=shuffle,managed,useresource,nolisteners,dirty
# shellcheck disable=SC2086
run 0 env "HOST_METAL=$modes" "$bin/hal-capture" -o strict.pb.zst -- "$bin/decode" $small --device=metal
says stdout ': right'
verifies strict.pb.zst cpu
run 0 env "HOST_METAL=$modes" "$bin/hal-replay" '--device=metal?queues=2' cpu-token.pb.zst
[ "$(compared)" -gt 0 ] || fail "nothing was compared"

# What Metal captures by itself is asked for by the file's name.
run 0 env METAL_CAPTURE_ENABLED=1 "$bin/decode" $small --device=metal \
    --device_profiling_mode=queue --device_profiling_file=t.gputrace
[ -e t.gputrace ] || fail "there is no t.gputrace"
run 0 "$bin/decode" $small --device=cpu --device_profiling_mode=queue \
    --device_profiling_file=u.gputrace
says stderr "is not captured: 'u.gputrace'"
[ ! -e u.gputrace ] || fail "there is a u.gputrace"
