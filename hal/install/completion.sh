#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# completion.sh SHELL PROGRAM FILE: writes what completes the program's command line in bash, zsh or fish, made
# from what the program itself says with --help (and each command, where it has some).
set -eu
shell=$1
program=$2
file=$3
trap '[ $? = 0 ] || rm -f "$file"' EXIT
name=${program##*/}
here=$(cd "$(dirname "$0")" && pwd)

help=$("$program" --help)
# "command<TAB>its description" for each command, or nothing.
commands=$(echo "$help" | sed -n 's/^  \([a-z][a-z]*\)  *\([a-z].*\)$/\1\t\2/p')
{
    echo "$commands" | sed '/^$/d; s/^/command\t/'
    echo "$help" | sed 's/^/option\t\t/'
    echo "$commands" | cut -f1 | while read -r command; do
        [ -z "$command" ] || "$program" "$command" --help | sed "s/^/option\t$command\t/"
    done
} | LC_ALL=C awk -v shell="$shell" -v program="$name" -f "$here/completion.awk" >"$file"
