#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All programs, and all verbs of theirs, go through the same rows: they understand the same forms of options, and
# say the same of wrong ones. The expected texts stand here.
. "$(dirname "$0")/lib.sh"
run 0 "$bin/hal-capture" -o trace.pb.zst -- "$bin/minimal"
escape=$(printf 'x\033[31my')

# refuses MESSAGE ARGUMENTS...: of $program and $verb, with the exit status of wrong usage and one line.
refuses()
{
    message=$1
    shift
    # shellcheck disable=SC2086 # the verb may be none
    run 2 "$bin/$program" $verb "$@"
    one_line
    same "$(cat stderr)" "$program: ${verb:+$verb: }$message" "$program $verb $*"
    [ ! -s stdout ] || fail "$program $verb $* prints"
}

# every_one PROGRAM VERB FLAG: FLAG is one that takes no value, or none when there is none but --help.
every_one()
{
    program=$1 verb=$2
    see="(see $program${verb:+ $verb} --help)"
    # shellcheck disable=SC2086
    for help in -h --help; do
        run 0 "$bin/$program" $verb $help
        [ "$(head -n 1 stdout | cut -d' ' -f 1-2)" = "usage: $program" ] || fail "$program $verb $help"
        says stdout '  -h, --help '
        says stdout '  -V, --version '
        [ ! -s stderr ] || fail "$program $verb $help prints errors"
        mv stdout "help$help"
    done
    cmp -s help-h help--help || fail "$program $verb: -h and --help differ"
    for version in -V --version --vers; do
        # shellcheck disable=SC2086
        run 0 "$bin/$program" $verb $version
        says stdout "$program 0."
        says stdout 'trace format 1.'
    done
    refuses "unknown option '--no-such-option' $see" --no-such-option
    refuses "unknown option '--hlep' (nearest: '--help')" --hlep
    refuses "unknown option '--verison' (nearest: '--version')" --verison trace.pb.zst
    refuses "unknown option '-Z' $see" -Z
    refuses "unknown option '-Z' in '-Zh' $see" -Zh
    refuses "option '--help' takes no value, not 'me'" --help=me
    refuses "option '-V' takes no value, not '2'" -V=2
    refuses "unknown option '--x?[31my' $see" "--$escape"
    refuses "option '--$3' takes no value, not 'x?[31my'" "--$3=$escape"
}

while read -r program verb flag; do
    [ "$verb" != - ] || verb=
    every_one "$program" "$verb" "$flag"
done <<END
hal-capture - force
hal-capture doctor json
hal-replay - bisect
hal-view - json
hal-trace info json
hal-trace dump no-segments
hal-trace stats json
hal-trace verify json
hal-trace races help
hal-trace diff quiet
hal-trace trim force
hal-trace strip executables
hal-trace merge force
hal-trace recompress force
hal-trace recover list
hal-trace extract force
hal-trace export force
hal-trace symbolize help
hal-trace - version
END

# One that needs a value, wherever there is one; the nearest of it.
while read -r program verb option argument wrong; do
    [ "$verb" != - ] || verb=
    refuses "option '--$option' needs a value: --$option=$argument" "--$option"
    refuses "option '--$option' needs a value: --$option=$argument" "--$option" -- trace.pb.zst
    refuses "unknown option '--$wrong' (nearest: '--$option')" "--$wrong=1" trace.pb.zst
done <<END
hal-capture - output FILE ouptut
hal-replay - verify WHAT verfiy
hal-view - width N wdith
hal-trace dump from TIME form
hal-trace verify base TRACE bsae
hal-trace diff limit N limt
hal-trace trim scope NAME scoep
hal-trace strip level N levle
hal-trace merge clock CLOCK clcok
hal-trace recompress output OUTPUT outptu
hal-trace recover sidecar FILE sidcar
hal-trace extract content N contnet
hal-trace export format FORMAT fromat
END

# A value comes behind '=' or a space, of letters, too, which may have it right behind them; flags share a word.
for output in --output=a.pb.zst '--output a.pb.zst' '-o a.pb.zst' '-o=a.pb.zst' -oa.pb.zst '-fo a.pb.zst' '-fo=a.pb.zst'; do
    for command in "hal-capture $output -- $bin/minimal" "hal-capture $output $bin/minimal --force" \
        "hal-trace recompress $output trace.pb.zst" "hal-trace recompress trace.pb.zst $output" \
        "hal-trace strip $output -- trace.pb.zst"; do
        # shellcheck disable=SC2086 # several words
        run 0 "$bin/"$command
        [ -s a.pb.zst ] || fail "no file of $command"
        rm a.pb.zst
    done
done
for limit in --limit=0 '--limit 0' '--lim 0'; do
    # shellcheck disable=SC2086
    run 0 "$bin/hal-trace" diff $limit -q trace.pb.zst trace.pb.zst
done

# An optional value comes behind '=' alone.
run 0 "$bin/hal-view" --print trace.pb.zst
run 0 "$bin/hal-view" --print=kernels trace.pb.zst
run 2 "$bin/hal-view" --print kernels trace.pb.zst

# A name cut short is unambiguous or refused.
program=hal-capture verb=
refuses "option '--s' may be '--stacks' or '--scope'" --s
program=hal-trace verb=recover
refuses "only one of --list, --discard and --discard-gone (see hal-trace recover --help)" --list --discard x
run 0 "$bin/hal-trace" dump --sub=#s0 trace.pb.zst

# "--" ends the options.
run 3 "$bin/hal-trace" info -- --json
says stderr "'--json'"
run 3 "$bin/hal-view" -- --json
says stderr "--json"

# Commands: the nearest is named, and they are clean of control characters.
program=hal-trace verb=
refuses "unknown command 'dmup' (nearest: 'dump')" dmup trace.pb.zst
refuses "unknown command 'stat' (nearest: 'stats')" stat
refuses "unknown command 'paint' (see hal-trace --help)" paint
refuses "unknown command 'x?[31my' (see hal-trace --help)" "$escape"

# Two traces come in one order.
run 0 "$bin/hal-trace" trim -o part.pb.zst --submissions=#s0 trace.pb.zst
run 0 "$bin/hal-view" --diff trace.pb.zst part.pb.zst
mv stdout new
run 0 "$bin/hal-view" --diff=part.pb.zst trace.pb.zst
cmp -s stdout new || fail "--diff=B A is not --diff A B"
run 0 "$bin/hal-trace" diff trace.pb.zst part.pb.zst
[ "$(sed -n 1,2p stdout)" = "--- A trace.pb.zst
+++ B part.pb.zst" ] || fail "hal-trace diff has another order"
run 0 "$bin/hal-view" --json --diff trace.pb.zst part.pb.zst
says stdout '{"first":"trace.pb.zst","second":"part.pb.zst",'
