#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real program in GNU screen, which has terminals of its own kind: keys, sizes, suspension,
# leaving. Waits for text to appear, never for time to pass.
# usage: gnu_screen.sh HAL_VIEW MAKE_TRACE
set -u
view=$1 make_trace=$2
command -v screen >/dev/null || { echo "no screen here"; exit 77; }
folder=$(mktemp -d) || exit 1
export SCREENDIR=$folder/sockets LC_ALL=C.UTF-8 TERM=xterm-256color
unset TMUX STY NO_COLOR
mkdir -m 700 "$SCREENDIR"
in_screen() { screen -S v -p 0 -X "$@"; }
trap 'in_screen quit >/dev/null 2>&1; rm -rf "$folder"' EXIT

# see PATTERN: polls what the window shows until a line matches.
see()
{
    for _ in $(seq 200); do
        rm -f "$folder/pane"
        in_screen hardcopy "$folder/pane" >/dev/null
        grep -qE -e "$1" "$folder/pane" 2>/dev/null && return 0
        read -rt 0.05 <>"$folder/never" # between two looks
    done
    echo "nothing like '$1' appeared in:"
    cat "$folder/pane"
    exit 1
}
# keys TEXT...: what screen gives the program, with its \015 and ^Z.
keys() { for text; do in_screen stuff "$text"; done; }

mkfifo "$folder/never"
"$make_trace" "$folder/t.pb.zst" 5 2 token || exit 1
cat >"$folder/rc" <<'END'
startup_message off
vbell off
altscreen on
defutf8 on
END
PS1='ready> ' screen -c "$folder/rc" -U -dmS v sh || exit 1
see '^ready>'

# With 256 colours, with those of every terminal, and without any.
for terminal in screen-256color screen; do
    keys "clear; TERM=$terminal '$view' --frame-count '$folder/t.pb.zst'; echo left with \$?\015"
    see 'frame 1 *$'
    see '^ health +complete'
    keys ')'
    see 'wait #s2'
    keys ']' '/' 'token 3\015'
    see '^ scope +token 3'
    keys '?'
    see 'zoom in and out at the cursor'
    keys 'q' '5'
    see '5 Findings'
    keys 'q'
    see '^left with 0'
    keys 'clear; stty -a\015'
    see '[^-]icanon'
    see '[^-]echo '
done
keys "clear; NO_COLOR=1 '$view' --ascii --keys='))' '$folder/t.pb.zst'\015"
see '^ call +wait #s4'

# Shown on terminals of other sizes, the smallest among them; the program hears of it.
attach()
{
    script -qfec "stty cols $1 rows $2; screen -r v" /dev/null <>"$folder/never" >/dev/null 2>&1 &
}
attach 132 30
see '3 Submissions +4 Gaps'
screen -d v >/dev/null
attach 40 10
see '^ wait #s4 .{0,25}$'
screen -d v >/dev/null
attach 80 24
see '2 Details  3 Sub'
screen -d v >/dev/null

# Suspended and continued.
keys '^Z'
see 'Stopped'
keys 'fg; echo left with $?\015'
see '^ call +wait #s4'
keys 'q'
see '^left with 0'

# What the program covered is there again.
keys "clear; echo covered; '$view' '$folder/t.pb.zst'\015"
see '1 Summary'
keys 'q'
see '^covered'

# When screen ends, so does the program. Leaks are looked for above: what looks for them may wait for
# ever for a thread that ends while it does.
keys "export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0\015"
keys "clear; '$view' '$folder/t.pb.zst'\015"
see '1 Summary'
pid=$(pgrep -f -x "$view $folder/t.pb.zst")
[ -n "$pid" ] || { echo "no hal-view runs"; exit 1; }
in_screen quit >/dev/null
for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || exit 0
    read -rt 0.05 <>"$folder/never"
done
echo "the program outlives its terminal"
exit 1
