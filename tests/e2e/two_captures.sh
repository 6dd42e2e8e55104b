#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hal-trace diff of two captures of one program that stores into mapped memory: the same, however
# the captures were cut; and different, where the program stores something else that matters.
. "$(dirname "$0")/lib.sh"
program=$3
export HAL_DEVICE='cpu?threads=4&queues=2'

# capture FILE ARGUMENTS...: its output is in the file output.
capture()
{
    file=$1
    shift
    run 0 "$bin/hal-capture" -q -f -o "$file" -- "$program" random "$@"
    cp stdout output
}

found=0
for seed in 1 2 3 4 5; do
    for memory in any small large import; do
        capture a.pb.zst $seed $memory
        cp output first
        capture b.pb.zst $seed $memory
        cmp first output || fail "the program is another one each time"
        run 0 "$bin/hal-trace" diff a.pb.zst b.pb.zst
        says stdout 'same: '
        says stdout 'mapped memory: '
        says stdout ' 0 different'
        # Where the other store is overwritten, or never read, nobody can tell.
        capture b.pb.zst $seed $memory 1
        if ! cmp -s first output; then
            run 1 "$bin/hal-trace" diff a.pb.zst b.pb.zst
            found=$((found + 1))
        fi
    done
done
[ $found -ge 8 ] || fail "only $found of 20 programs read the other store"
