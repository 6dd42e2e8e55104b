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

# What Metal captures by itself is asked for by the file's name.
run 0 env METAL_CAPTURE_ENABLED=1 "$bin/decode" $small --device=metal \
    --device_profiling_mode=queue --device_profiling_file=t.gputrace
[ -e t.gputrace ] || fail "there is no t.gputrace"
run 1 "$bin/decode" $small --device=cpu --device_profiling_mode=queue \
    --device_profiling_file=u.gputrace
says stderr 'u.gputrace'
