#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How many instructions the program's thread spends per captured command, counted by valgrind above a
# driver that does nothing: `capture_cost.sh PROGRAM OPTIMISED`. Two runs of different length; their
# difference is free of what happens once. Nothing here depends on time.
set -eu
program=$1
most=70 # what is aimed at and measured (docs/decisions/capture-cost.md)
few=4000
many=24000

skip()
{
    echo "skipped: $1"
    exit 77
}
[ "$2" = yes ] || skip 'counts only in an optimised build without sanitizers'
command -v valgrind >/dev/null || skip 'needs valgrind'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# count COMMANDS: instructions inside the layer's entry for ended command buffers.
count()
{
    valgrind --tool=callgrind --collect-atstart=no --toggle-collect=command_buffer_prepare \
        --callgrind-out-file=/dev/null "$program" "$work/$1.pb.zst" "$1" >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$work/log"
}

short=$(count $few)
long=$(count $many)
[ "$short" -gt 0 ] || { echo "nothing was counted"; exit 1; }
each=$(((long - short + (many - few) / 2) / (many - few)))
echo "$each instructions per captured command, at most $most ($short for $few, $long for $many)"
[ "$each" -gt 5 ] || { echo "that is too few to be true"; exit 1; }
[ "$each" -le $most ]
