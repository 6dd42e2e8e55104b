#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What programs read and print does not depend on the locale: the same under C, under German with its
# decimal comma, and under Turkish, for which I and i are two letters. The locales are made here.
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

# ---- All of a language ----

for language in de_DE tr_TR; do
    localedef -c -i "$language" -f UTF-8 "./$language.UTF-8" >>localedef.log 2>&1 || :
    [ -e "$language.UTF-8/LC_CTYPE" ] || fail "no $language was made: $(cat localedef.log)"
done
in_language() { language=$1 && shift && env LC_ALL="$language" LOCPATH="$work" "$@"; }
same "$(in_language de_DE.UTF-8 printf %.1f 1,5)" 1,5 "a number in German"
# shellcheck disable=SC2016
same "$(in_language tr_TR.UTF-8 locale -k LC_CTYPE | sed -n 's/^charmap=//p')" '"UTF-8"' "the character set of Turkish"

app=$bin/e2e-app
for language in C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
    # The application speaks the language too, and its kernel is compiled in it.
    run 0 in_language "$language" env HAL_CACHE_DIR="$work/cache $language" \
        "$bin/hal-capture" -f -o app.pb.zst -- "$app" read
    for key in format.spir-v format.SPIR-V FORMAT.MSL; do
        run 0 in_language "$language" "$app" query $key
        says stdout "$key: 1"
    done
    run 0 in_language "$language" "$bin/hal-replay" app.pb.zst
    says stdout 'same: 1 read-back'
    for command in 'hal-trace info' 'hal-trace dump' 'hal-trace dump --json' 'hal-trace stats' \
        'hal-view --print' 'hal-view --print --json' 'hal-view --dump-frame' 'hal-view --svg=-' \
        'hal-view --plain'; do
        # shellcheck disable=SC2086 # the subcommand
        printf 'FIND SCOPE\nNEXT GAP\nITERATIONS\nCRITICAL PATH\nWHERE\nfilter dur>0.5us\nQUIT\n' |
            run 0 in_language "$language" "$bin"/$command decode.pb.zst
        mv stdout "$(echo "$command $language" | tr ' ' _)"
        [ "$language" = C.UTF-8 ] || cmp "$(echo "$command C.UTF-8" | tr ' ' _)" \
            "$(echo "$command $language" | tr ' ' _)" || fail "$command is another one in $language"
    done
    run 1 in_language "$language" "$bin/hal-view" --print=findings --fail-on='gaps>0.5us' decode.pb.zst
    says stderr 'gaps>0.5us is a failure'
    run 0 in_language "$language" "$bin/hal-replay" --type=f32 --tolerance=abs:1e-5,rel:0.5 decode.pb.zst
done
