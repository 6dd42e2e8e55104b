#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-circles finds planted circles of calls and of includes, and lets small ones within a room pass.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# file PATH FUNCTION CALLED...: a file that defines FUNCTION, which calls the others.
file()
{
    path=$1
    name=$2
    shift 2
    mkdir -p "$work/tree/$(dirname "$path")" "$work/tree/build"
    {
        for called; do echo "void $called(void);"; done
        echo "void $name(void) {"
        for called; do echo "    $called();"; done
        echo "}"
    } >"$work/tree/$path"
    cc -c -o "$work/tree/build/$name.o" "$work/tree/$path"
    printf '%s{"file": "%s", "command": "cc -c -o %s.o %s"}' "$comma" "$work/tree/$path" "$name" "$path" >>"$work/commands"
    comma=,
}

begin()
{
    rm -rf "$work/tree" "$work/commands"
    comma=
}

check()
{
    echo "[$(cat "$work/commands")]" >"$work/tree/build/compile_commands.json"
    "$root/.ci/check-circles" "$work/tree/build" "$work/tree" >"$work/out" 2>&1
}

passes() { check || { echo "$1: was refused:"; cat "$work/out"; exit 1; }; }

# refused WHAT TEXT
refused()
{
    if check; then
        echo "$1: was accepted"
        exit 1
    fi
    grep -qxF -- "$2" "$work/out" || { echo "$1: wrong message:"; cat "$work/out"; exit 1; }
}

begin
file hal/core/a.c a b c
file hal/core/b.c b c
file hal/pool/c.c c
passes "no circle"
file hal/core/d.c d e
file hal/core/e.c e f
file hal/core/f.c f g
file hal/core/g.c g d
passes "four files of a room"
file hal/core/h.c h d i
file hal/core/i.c i h
passes "two circles that share no file"
file hal/core/g.c g d h
refused "six files of a room" "    hal/core: d.c e.c f.c g.c h.c i.c"

begin
file hal/core/a.c a b
file hal/core/b.c b c
file hal/pool/c.c c a
refused "two rooms" "    closed by hal/pool/c.c -> hal/core/a.c: a"

begin
file hal/core/a.c a
mkdir -p "$work/tree/hal/pool"
echo '#include "hal/pool/y.h"' >"$work/tree/hal/core/x.h"
echo ' # include "hal/core/x.h"' >"$work/tree/hal/pool/y.h"
refused "headers of two rooms" "    hal/pool: y.h"
rm "$work/tree/hal/core/x.h"
passes "a header that includes what is not there"
rm "$work/tree/build/a.o"
refused "what is not built" "check-circles: 1 of 1 files are not built in '$work/tree/build'"
echo "check-circles: every planted circle was found"
