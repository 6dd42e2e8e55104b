#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk fills up while a program is captured: the program's own results are unharmed, the loss
# is reported, and what was written is readable.
. "$(dirname "$0")/lib.sh"
preload=$3

# Weights that do not compress well: 16 layers of 512 x 512 bytes.
decode="$bin/decode --tokens=4 --layers=16 --width=512"

mkdir sidecars
export HAL_DEVICE_PROFILING_SIDECAR="$work/sidecars"

# check FILE COMMAND...: captures decode into FILE with hal-capture, started through the command.
check()
{
    file=$1
    shift
    # shellcheck disable=SC2086 # a command with its arguments
    run 0 "$@" "$bin/hal-capture" -o "$file" -- $decode
    says stdout ': right'
    says stderr 'the trace is incomplete'
    says stderr 'No space left on device'
    run 0 "$bin/hal-trace" info "$file"
    says stdout 'incomplete'
    # Where there is room, the rest comes from the sidecar; the file stays as it is.
    says stdout "'hal-trace recover' has the rest"
    run 0 "$bin/hal-view" --print=summary "$file"
    says stdout "'hal-trace recover' has the rest"
    actual=0
    "$bin/hal-replay" "$file" >stdout 2>stderr || actual=$?
    cat stdout stderr | grep -qF "'hal-trace recover' has the rest" ||
        fail "hal-replay (status $actual) does not say what to run"
    run 0 "$bin/hal-trace" recover -o whole.pb.zst "$file"
    run 0 "$bin/hal-trace" info whole.pb.zst
    # What the program did after the disk was full is nowhere; when it had done everything by
    # then, nothing is missing.
    if grep -q 'records lost' stdout; then
        says stdout 'No space left on device'
    else
        run 0 "$bin/hal-replay" whole.pb.zst
    fi
    sidecar=$("$bin/hal-trace" recover --list sidecars | sed 's/:.*//')
    run 0 "$bin/hal-trace" recover --discard "$sidecar"
    rm whole.pb.zst
    bytes=$(wc -c <"$file")
    [ "$bytes" -le 1048576 ] || fail "$bytes bytes are in a file that has room for 1048576"
}

# By a disk that says so.
check preload.pb.zst env FULL_DISK_BYTES=1000000 LD_PRELOAD="$preload" \
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

# So full that nothing can begin, or that the beginning is cut off behind the header: the old file
# stays, and the program has its results.
printf precious >old.pb.zst
for bytes in 10 900; do
    # shellcheck disable=SC2086 # a command with its arguments
    run 3 env FULL_DISK_BYTES=$bytes LD_PRELOAD="$preload" \
        ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
        "$bin/hal-capture" -f -o old.pb.zst -- $decode
    says stdout ': right'
    says stderr 'No space left on device'
    [ "$(cat old.pb.zst)" = precious ] || fail "the old file was replaced by nothing"
    [ -z "$(find sidecars -type f)" ] || fail "a capture that did not begin left a sidecar"
done
grep -q 'at byte [1-9]' stderr || fail "the header did not fit either"

# By a file system that is really full, where one may be mounted.
mkdir small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    trap 'umount "$work/small" 2>/dev/null; clean_up' EXIT
    check small/full.pb.zst

    # The sidecar's: what there is room for is taken; where it is too little, nothing is recorded.
    umount small
    mount -t tmpfs -o size=12m tmpfs small
    export HAL_DEVICE_PROFILING_SIDECAR="$work/small"
    # shellcheck disable=SC2086 # a command with its arguments
    run 0 "$bin/hal-capture" -o fits.pb.zst -- $decode
    says stdout ': right'
    run 0 "$bin/hal-replay" fits.pb.zst
    dd if=/dev/zero of=small/fill bs=1M count=11 2>/dev/null
    # shellcheck disable=SC2086 # a command with its arguments
    run 3 "$bin/hal-capture" -o no.pb.zst -- $decode
    says stdout ': right'
    says stderr 'has room for'
else
    left_out "a full file system: none may be mounted here"
fi
