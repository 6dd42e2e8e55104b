#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The disk fills up while a program is captured: the program's own results are unharmed, the loss
# is reported, and what was written is readable.
. "$(dirname "$0")/lib.sh"

# check FILE COMMAND...: runs the captured command, whose program must succeed.
check()
{
    file=$1
    shift
    run 0 "$@"
    says stdout 'right'
    [ -s stderr ] || fail "nothing reports the loss"
    grep -qiE 'incomplete|lost|not recorded' stderr || fail "nothing reports the loss"
    run 0 "$bin/hal-trace" info "$file"
    cat stdout stderr >both
    grep -qiE 'incomplete|lost|cut|missing' both || fail "the file does not say that it is incomplete"
}

# Weights that do not compress well: 16 layers of 512 x 512 bytes.
decode="$bin/decode --tokens=4 --layers=16 --width=512"
# shellcheck disable=SC2086 # a command with its arguments
run 0 $decode # compiles the kernels while there is room

# By a limit on the size of files (the signal that comes with it is the capture's affair).
# shellcheck disable=SC2086
check limited.pb.zst sh -c 'ulimit -f 2048; exec "$@"' sh \
    "$bin/hal-capture" -o limited.pb.zst -- $decode

# By a file system that is really full, where we may mount one.
mkdir small
if mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    trap 'umount "$work/small" 2>/dev/null; clean_up' EXIT
    # shellcheck disable=SC2086
    check small/full.pb.zst "$bin/hal-capture" -o small/full.pb.zst -- $decode
else
    echo "no file system may be mounted here: only the limit was tested"
fi
