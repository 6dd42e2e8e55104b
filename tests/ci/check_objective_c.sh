#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-objective-c accepts a source that is right, and names what is wrong with one that leaks,
# one that gives back too often, one that warns, and one that means another runtime.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# source NAME STATEMENTS
source()
{
    {
        echo '#import <Metal/Metal.h>'
        echo 'void try_it(id<MTLDevice> device);'
        echo 'void try_it(id<MTLDevice> device)'
        echo "{ $2 }"
    } >"$work/$1.m"
}

refused()
{
    source "$1" "$2"
    if "$root/.ci/check-objective-c" "$work/$1.m" >"$work/out"; then
        echo "accepted: $1"
        exit 1
    fi
    grep -q "$3" "$work/out" || { echo "$1 is not told by '$3', but:"; cat "$work/out"; exit 1; }
}

source right 'id<MTLBuffer> b = [device newBufferWithLength:4 options:0]; [b release];'
status=0
"$root/.ci/check-objective-c" "$work/right.m" >"$work/out" || status=$?
[ "$status" -ne 77 ] || { cat "$work/out"; exit 77; }
[ "$status" -eq 0 ] || { echo "refused: right"; cat "$work/out"; exit 1; }

refused leak '[device newBufferWithLength:4 options:0].label = @"b";' 'leak'
refused leaked_path 'id<MTLFence> f = [device newFence]; if (f.label) return; [f release];' 'leak'
refused released_twice 'id<MTLFence> f = [device newFence]; [f release]; [f release];' 'released'
refused borrowed_and_released '[device.name release];' 'not owned'
refused selector '[device newBufferOfLength:4];' 'newBufferOfLength'
refused conversion 'int bytes = device.maxBufferLength; (void)bytes;' 'precision'
refused unused 'int nobody = 0;' 'unused'
