#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Numbers in files, JSON and reports do not depend on the locale: the same under C and under one
# with a decimal comma, which is made here.
. "$(dirname "$0")/lib.sh"

cat >comma.source <<'TEXT'
LC_NUMERIC
decimal_point ","
thousands_sep "."
grouping 3;3
END LC_NUMERIC
TEXT
localedef -c -i comma.source ./comma >localedef.log 2>&1 || : # warns of what it does not define
with_comma() { env -u LC_ALL LANG=C LC_CTYPE=C LOCPATH="$work" LC_NUMERIC=comma "$@"; }
same "$(with_comma env printf %.1f 1,5)" 1,5 "a number in the locale that was made"

run 0 with_comma "$bin/hal-capture" -o decode.pb.zst -- "$bin/decode" --tokens=2 --layers=1
for command in 'hal-trace info --json' 'hal-trace dump --json' 'hal-trace dump' 'hal-view --print'; do
    # shellcheck disable=SC2086 # the subcommand
    run 0 "$bin"/$command decode.pb.zst
    mv stdout plain
    # shellcheck disable=SC2086
    run 0 with_comma "$bin"/$command decode.pb.zst
    cmp plain stdout || fail "$command depends on the locale"
done
run 0 with_comma "$bin/hal-replay" --json decode.pb.zst
if grep -E '[0-9],[0-9]' stdout; then fail "a decimal comma in JSON"; fi
