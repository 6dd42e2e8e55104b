#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The program without a terminal: exit statuses, messages, damaged and cut files, the manual page.
# usage: program.sh HAL_VIEW MAKE_TRACE MANUAL_PAGE
set -u
view=$1 make_trace=$2 page=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C.UTF-8
failures=0

# expect STATUS PATTERN ARGUMENTS...: the status, and a line of output or errors that matches
expect()
{
    local status=$1 pattern=$2 got
    shift 2
    "$view" "$@" >"$folder/out" 2>&1 </dev/null
    got=$?
    if [ $got != "$status" ] || ! grep -qE -e "$pattern" "$folder/out"; then
        echo "hal-view $*: status $got instead of $status, or nothing like '$pattern' in:"
        head -5 "$folder/out"
        failures=$((failures + 1))
    fi
}

"$make_trace" "$folder/t.pb.zst" 4 2 layer || exit 1
expect 0 '^health +complete' "$folder/t.pb.zst"
expect 0 '^gaps +H host late: nothing was submitted' --print=timeline "$folder/t.pb.zst"
expect 0 'device ' --print=timeline "$folder/t.pb.zst"
expect 0 '^#s1 ' --print=submissions "$folder/t.pb.zst"
expect 0 'host late' --print=gaps "$folder/t.pb.zst"
expect 0 '"dispatches":48' --json "$folder/t.pb.zst"
expect 0 '1 Summary' --dump-frame --size=80x24 "$folder/t.pb.zst"
escape=$(printf '\033')
colored="$escape\\[0;(1;)?38;5;"
expect 0 "$colored" --dump-frame --color=always "$folder/t.pb.zst"
expect 0 "$colored" --print=timeline --color=256 "$folder/t.pb.zst"
expect 0 "$escape\\[0;(1;)?38;2;" --dump-frame --color=truecolor "$folder/t.pb.zst"
export CLICOLOR_FORCE=1
expect 0 "$colored" --dump-frame "$folder/t.pb.zst"
NO_COLOR=1 "$view" --dump-frame "$folder/t.pb.zst" | grep -q "$escape" && { echo "colours with NO_COLOR"; failures=$((failures + 1)); }
"$view" --dump-frame --color=never "$folder/t.pb.zst" | grep -q "$escape" && { echo "colours in spite of --color=never"; failures=$((failures + 1)); }
unset CLICOLOR_FORCE
"$view" --dump-frame "$folder/t.pb.zst" | grep -q "$escape" && { echo "colours that nobody wanted"; failures=$((failures + 1)); }
expect 0 '1 Summary' --dump-frame --size=79x23 "$folder/t.pb.zst"
expect 0 '2 Details' --dump-frame --keys='}w' "$folder/t.pb.zst"
for size in 40x10 80x24 400x100; do # as many rows and at most as many columns as there are
    "$view" --dump-frame --ascii --size=$size "$folder/t.pb.zst" >"$folder/out"
    awk -v columns=${size%x*} -v rows=${size#*x} 'length > columns { wide++ }
        length > columns / 2 { filled++ }
        END { exit NR != rows || wide || !filled }' "$folder/out" ||
        { echo "a frame of $size is of another size"; failures=$((failures + 1)); }
done
expect 0 '^usage: hal-view' --help
expect 0 '^hal-view [0-9]+\.[0-9]+\.[0-9]+$' --version

expect 0 '^syncs +8 host waits' --print --fail-on='gaps>99.9%,syncs>1000' "$folder/t.pb.zst"
expect 1 'gaps: [0-9.]+ % of .*, and gaps>1% is a failure' --fail-on='gaps>1%' "$folder/t.pb.zst"
expect 1 'syncs: 8, and syncs>7 is a failure' --json --fail-on='failures>0,syncs>7' "$folder/t.pb.zst"
expect 1 'findings:host-syncs: ' --fail-on='findings:host-syncs>0' "$folder/t.pb.zst"
expect 2 "^hal-view: --fail-on=gasp>1: 'gasp' is not one of gaps" --fail-on='gasp>1' "$folder/t.pb.zst"
head -c 3000 "$folder/t.pb.zst" >"$folder/cut"
expect 3 'conditions cannot be evaluated on an incomplete trace' --fail-on='gaps>99.9%' "$folder/cut"
"$view" --fail-on='races>0' "$folder/t.pb.zst" >"$folder/out" 2>&1 || { echo "races found where none are"; failures=$((failures + 1)); }
expect 2 '^hal-view: expected one file'
expect 2 '^hal-view: expected one file' a b
expect 2 "^hal-view: unknown option '--nonsense' \(see hal-view --help\)" --nonsense "$folder/t.pb.zst"
expect 2 "^hal-view: unknown option '--prnt' \(nearest: '--print'\)" --prnt "$folder/t.pb.zst"
expect 2 "^hal-view: option '--json' takes no value, not '3'" --json=3 "$folder/t.pb.zst"
expect 2 "^hal-view: option '--width' needs a value" "$folder/t.pb.zst" --width
expect 0 '^mul_mv_q8 ' --print=kernels "$folder/t.pb.zst"
expect 0 '^memory +peak 1.0[0-9] MiB in 4 buffers' --print=memory "$folder/t.pb.zst"
expect 0 '^iterations +4 of token #' --print=iterations "$folder/t.pb.zst"
expect 2 '^hal-view: --print=kernel: expected summary' --print=kernel "$folder/t.pb.zst"
expect 2 '^hal-view: --size=9: expected COLUMNSxROWS' --size=9 "$folder/t.pb.zst"
expect 2 '^hal-view: --size=5000: expected a number from 1 to 1000' --size=5000x10 "$folder/t.pb.zst"
expect 2 '^hal-view: --width=x: expected a number' --width=x "$folder/t.pb.zst"
expect 2 '^hal-view: --color=pink: expected' --color=pink "$folder/t.pb.zst"
expect 2 "^hal-view: unknown key at '<Foo>'" --dump-frame --keys='<Foo>' "$folder/t.pb.zst"

"$make_trace" "$folder/more.pb.zst" 8 2 layer || exit 1
expect 0 '^submissions +12 +-> +24 +\+100\.0 %' --diff="$folder/more.pb.zst" "$folder/t.pb.zst"
expect 0 '^dispatches +96 +-> +48 +-50\.0 %' --diff="$folder/t.pb.zst" "$folder/more.pb.zst"
expect 0 '^mul_mv_q8 +24 +-> +48 +\+100\.0 %' --diff="$folder/more.pb.zst" "$folder/t.pb.zst"
expect 0 '^host waits +8 +-> +8 +same' --diff="$folder/t.pb.zst" "$folder/t.pb.zst"
expect 0 '^submissions +12 +-> +24 +\+100\.0 %' --diff "$folder/t.pb.zst" "$folder/more.pb.zst"
expect 0 '^submissions +24 +-> +12 +-50\.0 %' "$folder/more.pb.zst" --diff "$folder/t.pb.zst"
expect 2 '^hal-view: --diff compares two files, A and B, not 1' --diff "$folder/t.pb.zst"
expect 2 '^hal-view: --diff compares two files, A and B, not 3' --diff a b c
expect 2 '^hal-view: expected one file, not .a. and .b.' --diff=c a b
expect 2 '^hal-view: --diff cannot be combined' --diff="$folder/t.pb.zst" --print "$folder/t.pb.zst"
expect 3 'missing.pb.zst.*No such file' --diff="$folder/missing.pb.zst" "$folder/t.pb.zst"
expect 2 '^hal-view: --plain cannot be combined' --plain --json "$folder/t.pb.zst"
expect 2 '^hal-view: --follow needs a terminal' -f "$folder/t.pb.zst"

# say PATTERN COMMANDS: what the line mode answers
say()
{
    printf "$2\\n" | "$view" --plain "$folder/t.pb.zst" >"$folder/out" 2>&1
    if [ $? != 0 ] || ! grep -qE -e "$1" "$folder/out"; then
        echo "hal-view --plain, '$2': nothing like '$1' in:"
        head -20 "$folder/out"
        failures=$((failures + 1))
    fi
}
say '^main, wait #s2, at @[0-9.]*ms, took ' 'next sync'
say '^main, wait #s[0-9]+, at' 'n s\nn s\np s'
say '^queue 1, #s4, at' 'go #s4'
say "^unknown command 'nonsense'" 'nonsense'
say "^'next' may be next event, next gap" 'next'
say '^go what\? to 1.5ms' 'go'
say '^21 to 40 of|^mul_mv_q8 ' 'kernels'
say '^there are no more' 'kernels\nmore'
say 'host waits that could be dropped' 'findings'
say '^ call +wait' 'next sync\ndetails'
say '^token 3|, token 3, at' 'search token 3'

expect 3 '^hal-view: .*missing.pb.zst.*No such file' "$folder/missing.pb.zst"
: >"$folder/empty"
expect 3 '^hal-view: .*empty' "$folder/empty"
expect 3 '^hal-view: ' "$view"
expect 3 '^hal-view: ' "$folder"
expect 3 "^hal-view: cannot write '/nonexistent/a.svg'" --svg=/nonexistent/a.svg "$folder/t.pb.zst"

# Cut anywhere, the file is shown up to its last whole frame and says so, or is refused.
size=$(stat -c %s "$folder/t.pb.zst")
for cut in 1 100 1000 $((size / 2)) $((size * 9 / 10)) $((size - 1)); do
    head -c "$cut" "$folder/t.pb.zst" >"$folder/cut"
    "$view" "$folder/cut" >"$folder/out" 2>&1
    status=$?
    if [ $status = 0 ] && ! grep -qE '^health *cut off (at|after) byte' "$folder/out"; then
        echo "cut to $cut of $size bytes: shown without a notice"
        failures=$((failures + 1))
    elif [ $status != 0 ] && [ $status != 3 ]; then
        echo "cut to $cut of $size bytes: status $status"
        failures=$((failures + 1))
    fi
done

# The picture is drawn, and nothing but ASCII is printed when that was asked for.
"$view" --svg="$folder/a.svg" "$folder/t.pb.zst" && grep -q '</svg>' "$folder/a.svg" || failures=$((failures + 1))
for arguments in --print=summary,timeline,submissions,gaps,findings,kernels,memory,iterations --dump-frame '--dump-frame --keys=?'; do
    # shellcheck disable=SC2086
    if "$view" --ascii $arguments "$folder/t.pb.zst" | LC_ALL=C grep -q '[^ -~]'; then
        echo "hal-view --ascii $arguments: other characters than ASCII"
        failures=$((failures + 1))
    fi
done

# Everything that --help names is in the manual page, and the other way round.
"$view" --help | grep -oE -e '--[a-z0-9-]+' | sort -u >"$folder/help"
sed 's/\\-/-/g' "$page" | grep -oE -e '^\.It Fl (Fl )?-[a-z0-9-]+' | grep -oE -e '-[a-z0-9-]+$' |
    sed 's/^-*/--/' | sort -u >"$folder/page"
if ! diff "$folder/help" "$folder/page"; then
    echo "--help (<) and the manual page (>) name different options"
    failures=$((failures + 1))
fi
# What hal-trace prints to prove a finding has the names that the finding has.
"$view" --print=findings "$folder/t.pb.zst" >"$folder/findings"
for name in $(sed -n 's/.*buffers such as \([a-z]*\),.*/\1/p; s/.* place, first in \([a-z]*\)\..*/\1/p' "$folder/findings"); do
    proof=$(sed -n "/[ ]$name[,.]/,/to prove it/s/.*to prove it: //p" "$folder/findings" | head -n 1)
    # shellcheck disable=SC2086 # several words
    "$(dirname "$view")"/$proof | grep -q "'$name'" ||
        { echo "'$proof' has nothing of '$name'"; failures=$((failures + 1)); }
    proven=yes
done
[ "${proven-}" ] || { echo "no finding names a buffer"; failures=$((failures + 1)); }
if command -v mandoc >/dev/null && ! mandoc -T lint -W warning "$page"; then
    failures=$((failures + 1))
fi

[ "$failures" = 0 ]
