#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-commits accepts commits that follow the rules, and names each kind of those that do not.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"
git init -q
git config user.name tester
git config user.email tester@example.com

# commit LINES SUBJECT [BODY]: adds a file of so many lines.
commit()
{
    number=$((${number:-0} + 1))
    seq "$1" >"file$number"
    git add -A
    git commit -q -m "$2" ${3:+-m "$3"}
}

# check WANTED: what is said of the last commit; nothing: it is accepted.
check()
{
    "$root/.ci/check-commits" HEAD~1..HEAD >"$work/.git/out" && accepted=1 || accepted=
    case "$accepted:$(cat "$work/.git/out")" in
    1:) [ -z "$1" ] && return ;;
    :*"$1"*) [ -n "$1" ] && return ;;
    esac
    echo "'$(git show -s --format=%s)': wanted '$1', accepted '$accepted':"
    cat "$work/.git/out"
    exit 1
}

subject=$(printf '%072d' 0)
commit 1 'hal: the first'
commit 50 "$subject"
check ''
commit 1 "${subject}0"
check 'its subject has 73 characters, the limit is 72'
commit 1 "$(printf '%071d' 0)ä"
check ''
commit 51 'hal: fifty-one lines'
check 'changes 51 lines and has no body that says why'
commit 51 'hal: fifty-one lines' 'They were missing.'
check ''
mkdir moved
git mv file5 moved/file5
git commit -q -m 'hal: a file is moved'
check ''
echo "check-commits: every kind was found"
