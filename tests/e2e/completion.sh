#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every option that --help names is completed by bash, zsh and fish, and nothing else; so are the
# commands of hal-trace, with the options of each.
. "$(dirname "$0")/lib.sh"
made=$3
export HOME="$work"

# What --help of the rest of the line names.
options() { "$bin/$@" --help | grep -E '^(  |      )-' | grep -oE '(^ +|, )(-[A-Za-z], )?--[a-z][a-z0-9-]*' | grep -oE -e '--[a-z].*' | sort -u; }

# What bash offers for the last word.
bash_offers()
{
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "_$(echo "$1" | tr - _)" || :
    printf '%s\n' "${COMPREPLY[@]}"
}

for program in hal-capture hal-replay hal-trace hal-view; do
    # shellcheck disable=SC1090 # made by the build
    . "$made/bash/$program"
    options "$program" >expected
    [ "$(grep -c '' expected)" -ge 2 ] || fail "$program --help names no options"
    bash_offers "$program" -- | sed 's/=$//' | sort -u | cmp -s - expected ||
        fail "bash completes other options of $program than its --help names"
    fish -c "set fish_complete_path '$made/fish'; source '$made/fish/$program'; complete -C '$program --'" |
        cut -f1 | sed 's/=$//' | sort -u | cmp -s - expected ||
        fail "fish completes other options of $program than its --help names"
    zsh -n "$made/zsh/$program" || fail "zsh cannot read the completion of $program"
    # The completion, with a _arguments that only says what it was told.
    zsh -fc "_arguments() { print -rl -- \"\$@\" }; CURRENT=2; words=($program --); complete() { source '$made/zsh/$program' }; complete" |
        grep -oE -e '^--[a-z][a-z0-9-]*' | sort -u | cmp -s - expected ||
        fail "zsh completes other options of $program than its --help names"
done

commands=$("$bin/hal-trace" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "$(echo "$commands" | grep -c '')" -ge 10 ] || fail "hal-trace --help names no commands"
for command in $commands; do
    same "$(bash_offers hal-trace "$command")" "$command" "bash, 'hal-trace $command'"
    options hal-trace "$command" >expected || : # there may be none
    bash_offers hal-trace "$command" -- | sed 's/=$//; /^$/d' | sort -u | cmp -s - expected ||
        fail "bash completes other options of hal-trace $command than its --help names"
done

same "$(bash_offers hal-trace dump --ki)" --kind= "bash, hal-trace dump --ki"
same "$(bash_offers hal-capture --mo)" --mode= "bash, hal-capture --mo"
same "$(bash_offers hal-capture -o file.pb.zst doct)" doctor "bash, hal-capture ... doct"
same "$(bash_offers hal-capture --mode=queue -- decode --mo)" "" "bash, a program's own options"
same "$(fish -c "source '$made/fish/hal-trace'; complete -C 'hal-trace symb'" | cut -f1)" symbolize \
    "fish, hal-trace symb"
