#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands that the documents show are run, and what the documents say that they print is
# printed. In a page's indented blocks a line `$ COMMAND` is run, in a folder of the page's own, and
# each line below it must be in what the command printed: the same words, other numbers (a line that
# is a sentence about an exit status: the same number; sizes: not twice as much, nor half); `...` is
# anything.
. "$(dirname "$0")/lib.sh"
export PATH="$bin:$PATH" LC_ALL=C.UTF-8
cd "$root"

# A page's folder has trace.pb.zst, of decode. Lines of other pages that look like commands are in
# this list, with what runs them.
pages="README.md docs/contributing.md docs/fleet.md docs/tutorial.md"
elsewhere()
{
    cat <<'END'
README.md|./bootstrap demo|.ci/run
README.md|./bootstrap test|.ci/run
README.md|cmake --preset install && cmake --build --preset install|tests/e2e/install.sh
README.md|cmake --install build/install --prefix "$HOME/.local"|tests/e2e/install.sh
README.md|cc my.c $(PKG_CONFIG_PATH=|tests/e2e/install.sh
docs/benchmarks.md|tests/bench/vulkan_figures.sh|tests/bench/vulkan_figures.sh
docs/benchmarks.md|tests/bench/vulkan_recorders.sh|tests/bench/vulkan_recorders.sh
docs/benchmarks.md|decode --device=vulkan|tests/e2e/vulkan.sh
docs/benchmarks.md|hal-capture -o SYNC.pb.zst|tests/e2e/vulkan.sh
docs/benchmarks.md|hal-replay --trusted --repeat=5|tests/e2e/vulkan.sh
docs/benchmarks.md|hal-replay --device=cpu --type=f32|tests/bench/vulkan_figures.sh
docs/benchmarks.md|HAL_DEVICE=vulkan build/release/bin/bench-capture|tests/bench/vulkan_figures.sh
docs/format.md|zstd -dc trace.pb.zst|tests/e2e/protoc.sh
docs/metal.md|HAL_DEVICE=metal ./program|tests/e2e/metal.sh
docs/metal.md|hal-replay --device='metal://4294968421'|tests/e2e/metal.sh
docs/metal.md|cmake --preset mac|docs/metal.md
END
}

# pattern LINE: what the line must match. Numbers with what they count in, runs of spaces (columns
# move with the numbers) and `...`; and what a measurement says on a busy machine.
pattern()
{
    case $1 in
    *'|'* | [0-9]*[0-9] | "exit status "*) printf '^%s$\n' "$1" ;;
    *)
        printf '%s\n' "$1" | sed -E -e 's/[][\.^$*+?(){}|]/\\&/g' -e 's/\\\.\\\.\\\./@ANY@/g' \
            -e 's/[0-9]+(\\?[.,][0-9]+)*(e\\?[-+]?[0-9]+)?( (ns|us|ms|s|B|KiB|MiB))?/@NUMBER@/g' \
            -e 's/ *-?@NUMBER@/ *-?@NUMBER@/g' -e 's/  +/ +/g' -e 's/^ \*//' \
            -e 's/@NUMBER@/[0-9][0-9.,]*(e[-+]?[0-9]+)?( (ns|us|ms|s|B|KiB|MiB))?/g' \
            -e 's/ pairs\\\)$/&(: not a significant difference)?/' \
            -e 's/@ANY@/.*/g' -e 's/^/^ */' -e 's/$/ *$/'
        ;;
    esac
}

# near LINE: one of the lines on standard input has sizes like those of LINE.
near()
{
    SHOWN=$1 awk '
        function sizes(text, out,    n, part) {
            while (match(text, /[0-9][0-9.]* (B|KiB|MiB)/)) {
                split(substr(text, RSTART, RLENGTH), part, " ")
                out[++n] = part[1] * (part[2] == "B" ? 1 : part[2] == "KiB" ? 1024 : 1048576)
                text = substr(text, RSTART + RLENGTH)
            }
            return n + 0
        }
        BEGIN { count = sizes(ENVIRON["SHOWN"], shown) }
        {
            good = sizes($0, got) >= count
            for (i = 1; i <= count; i++)
                good = good && got[i] < 2 * shown[i] && shown[i] < 2 * got[i]
            found = found || good
        }
        END { exit !found }'
}

# Splits a page into files NN.command and NN.printed of the folder.
split_page()
{
    awk -v folder="$2" '
        /^    \$ / {
            name = sprintf("%s/%02d", folder, ++count)
            print substr($0, 7) >(name ".command")
            printf "" >(name ".printed")
            next
        }
        /^[^ ]/ { name = "" }
        /^    / && name { print substr($0, 5) >(name ".printed") }' "$1"
}

check_command()
{
    command=$(cat "$1.command")
    echo "+ $command"
    sh -c "$command" >output 2>&1 </dev/null || fail_command "ends with the exit status $?"
    while IFS= read -r line; do
        case $line in '' | ...) continue ;; esac
        grep -E -e "$(pattern "$line")" output >matching || fail_command "does not print: $line"
        near "$line" <matching || fail_command "prints other sizes than: $line"
    done <"$1.printed"
}

fail_command()
{
    tail -n 30 output
    fail "$page: '$command' $1"
}

# What pages point to is there, and docs/api.md is made of these headers.
run 0 "$root/.ci/check-docs"

# Nothing that looks like a command is only shown.
for page in README.md docs/*.md; do
    grep -E '^    (\./bootstrap|cc|cmake|decode|hal-[a-z]+|tests/[a-z_/]+\.sh|zstd|HAL_[A-Z_]+=)[ =]' "$page" |
        while read -r line; do
            elsewhere | while IFS='|' read -r where command runner; do
                case $where:$line in "$page:$command"*) [ -e "$runner" ] && echo known && break ;; esac
            done | grep -q known || echo "$page: nothing runs: $line"
        done
done >"$work/shown"
[ ! -s "$work/shown" ] || fail "$(cat "$work/shown")"

# What the tutorial says of the viewer's keys, `KEY` (words), is what its help says.
HAL_DEVICE=cpu run 0 hal-capture -o "$work/keys.pb.zst" -- decode --tokens=1
run 0 hal-view --dump-frame --size=118x120 --keys='?' "$work/keys.pb.zst"
tr '\n' ' ' <docs/tutorial.md | grep -oE '`[^`]+` \([^`)]+\)' | sed 's/[`()]//g' >"$work/keys"
[ "$(grep -c '' "$work/keys")" -ge 5 ] || fail "the tutorial has lost its keys"
while read -r key words; do
    awk -v key="$key" -v words="$words" '
        { at = index(" " $0, " " key " ") }
        at && index(substr($0, at + length(key)), words) { found = 1 }
        END { exit !found }' "$work/stdout" || fail "the key $key is not: $words"
done <"$work/keys"

HAL_DEVICE=cpu run 0 hal-capture -o "$work/trace.pb.zst" -- decode
for page in $pages; do
    mkdir -p "$work/commands" "$work/folder"
    split_page "$root/$page" "$work/commands"
    cd "$work/folder"
    cp "$work/trace.pb.zst" .
    [ -e "$work/commands/02.command" ] || fail "$page: has lost its commands"
    for name in "$work"/commands/*.command; do
        check_command "${name%.command}"
    done
    cd "$work"
    rm -rf "$work/commands" "$work/folder"
done
