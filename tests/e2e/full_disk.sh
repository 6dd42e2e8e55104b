#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk fills up while a program is captured: the program's own results are unharmed, the loss
# is reported, and what was written is readable.
. "$(dirname "$0")/lib.sh"
preload=$3

# Weights that do not compress well: 16 layers of 512 x 512 bytes.
decode="$bin/decode --tokens=4 --layers=16 --width=512"

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
    bytes=$(wc -c <"$file")
    [ "$bytes" -le 1048576 ] || fail "$bytes bytes are in a file that has room for 1048576"
}

# By a disk that says so.
check preload.pb.zst env FULL_DISK_BYTES=1000000 LD_PRELOAD="$preload" \
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0

# So full that nothing can begin: the old file stays.
printf precious >old.pb.zst
run 1 env FULL_DISK_BYTES=10 LD_PRELOAD="$preload" \
    ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 \
    "$bin/hal-capture" -f -o old.pb.zst -- $decode
says stderr 'No space left on device'
[ "$(cat old.pb.zst)" = precious ] || fail "the old file was replaced by nothing"

# By a file system that is really full, where one may be mounted.
mkdir small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    trap 'umount "$work/small" 2>/dev/null; clean_up' EXIT
    check small/full.pb.zst
else
    echo "no file system may be mounted here: only the preloaded one was tested"
fi
