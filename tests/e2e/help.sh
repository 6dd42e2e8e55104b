#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --help: in groups, with examples that work as they stand; and the manual pages name the same
# options, mention the same examples' programs, and are what mdoc should be.
. "$(dirname "$0")/lib.sh"
export PATH="$bin:$PATH" HAL_DEVICE=cpu
run 0 hal-capture -o trace.pb.zst -- decode --tokens=4

# options_of TEXT: long options, but the two that each program has.
options_of() { grep -oE -e '--[a-z][a-z0-9-]*' | grep -vxE -e '--(help|version)' | sort -u; }

for program in hal-capture hal-replay hal-trace hal-view; do
    run 0 "$program" --help
    cp stdout help
    [ "$(grep -cE '^[A-Z][a-z].*:$' help)" -ge 3 ] || fail "$program --help has no groups"
    [ "$(awk 'length > 97' help | wc -l)" = 0 ] || fail "$program --help has long lines"
    sed -n '/^Examples:$/,/^$/s/^  //p' help >examples
    [ "$(grep -c '' examples)" -ge 3 ] || fail "$program --help has no examples"
    mkdir folder
    while IFS= read -r example; do
        case $example in "$program "*) ;; *) fail "no example of $program: $example" ;; esac
        (cd folder && cp ../trace.pb.zst . && run 0 sh -c "$example" </dev/null)
    done <examples
    rm -r folder

    # It names the exit statuses that the manual page lists.
    sed -n '/^\.Sh EXIT STATUS/,/^\.Sh [^E]/s/^\.It \([0-9]*\).*/\1/p' "$root/docs/man/$program.1" >statuses
    [ "$(grep -c '' statuses)" -ge 4 ] || fail "the page of $program lists no exit statuses"
    sed -n '/[Ee]xit status/,/Of doctor/p' help | sed 's/Of doctor.*//' >end
    while IFS= read -r number; do
        grep -qw "$number" end || fail "$program --help does not mention exit status $number"
    done <statuses

    # Of hal-trace, each command has options of its own.
    for command in $([ "$program" != hal-trace ] || sed -n 's/^  \([a-z]*\)  .*/\1/p' help); do
        run 0 "$program" "$command" --help
        says stdout "usage: $program $command "
        cat stdout >>help
    done
    mandoc -T ascii "$root/docs/man/$program.1" | col -b >page
    options_of <help >wanted
    options_of <page >found
    # What a page says of other programs' options.
    case $program in
    hal-capture) sed -i -E '/^--(bisect|verify)$/d' found ;;
    hal-replay) sed -i -E '/^--(files|outputs)$/d' found ;;
    hal-view) sed -i '/^--mode$/d' found ;;
    esac
    cmp -s wanted found || fail "--help of $program (<) and its page (>): $(diff wanted found)"
    # The synopsis has all of them, by their letter where there is one; flags of a program that is
    # captured are none.
    sed -n '/^SYNOPSIS$/,/^DESCRIPTION$/p' page >synopsis
    sed -e '/^EXAMPLES$/,$d' -e 's/--[a-z]*_[a-z_]*//g' page | options_of | comm -12 - found >own
    while read -r option; do
        letter=$(grep -oE -e "-[a-z][a-zA-Z ]*, $option([ =,]|\$)" page | head -n 1 | cut -c1-2)
        grep -qE -e "(^|[^a-z-])($option${letter:+|$letter})([^a-z-]|\$)" synopsis ||
            fail "the synopsis of $program.1 has no $option"
    done <own
    # Quotes go around all that the macro has, up to the last comma.
    ! grep -nE 'Ql .* , .' "$root/docs/man/$program.1" || fail "$program.1 quotes several things at once"
    grep -qx '\.Os' "$root/docs/man/$program.1" || fail "$program.1 has another .Os than the others"
    run 0 mandoc -T lint -W warning "$root/docs/man/$program.1"
    for section in SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -q "^$section\$" page || fail "$program.1 has no section $section"
    done
done
