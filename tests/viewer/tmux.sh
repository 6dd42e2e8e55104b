#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real program in a real terminal: keys, sizes, suspension, leaving. Waits for text to appear,
# never for time to pass.
# usage: tmux.sh HAL_VIEW MAKE_TRACE
set -u
view=$1 make_trace=$2
command -v tmux >/dev/null || { echo "no tmux here"; exit 77; }
folder=$(mktemp -d) || exit 1
socket=$folder/tmux
tm() { tmux -S "$socket" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null; rm -rf "$folder"' EXIT
export LC_ALL=C.UTF-8 TERM=xterm-256color
unset TMUX NO_COLOR

# see PATTERN [-e]: polls the pane until a line matches, with its sequences
see()
{
    for _ in $(seq 200); do
        tm capture-pane ${2-} -p -t v >"$folder/pane"
        grep -qE -e "$1" "$folder/pane" && return 0
        read -rt 0.05 <>"$folder/never" # between two looks
    done
    echo "nothing like '$1' appeared in:"
    cat "$folder/pane"
    exit 1
}
keys() { tm send-keys -t v "$@"; }

mkfifo "$folder/never"
"$make_trace" "$folder/t.pb.zst" 5 2 token || exit 1
tm new-session -d -s v -x 80 -y 24 'PS1=ready\> sh' || exit 1
see 'ready>'
keys "'$view' --frame-count '$folder/t.pb.zst'; echo left with \$?" Enter
see 'frame 1$'
see '^ health +complete'
keys ')'
see 'wait #s2'
keys 'w' 'w' ']'
see '^ call '

# What is copied gets to the terminal's clipboard: tmux keeps it as a buffer.
tm set-option -s set-clipboard on
keys 'g' '#s2' Enter
see '^ submission +#s2'
keys 'y'
for _ in $(seq 200); do
    copied=$(tm show-buffer 2>/dev/null) && break
    read -rt 0.05 <>"$folder/never"
done
[ "${copied-}" = '#s2' ] || { echo "the clipboard has '${copied-nothing}'"; exit 1; }

# Whether the terminal reports the mouse.
mouse_becomes()
{
    see "mouse $1"
    for _ in $(seq 200); do
        [ "$(tm display-message -p -t v '#{mouse_any_flag}')" = "$2" ] && return 0
        read -rt 0.05 <>"$folder/never"
    done
    echo "the mouse is said to be $1, and is not"
    exit 1
}
keys 'M'
mouse_becomes off 0
keys 'M'
mouse_becomes on 1

keys '/' 'token 3' Enter
see '^ scope +token 3'
keys '?'
see 'zoom in and out at the cursor'
keys 'q'
see '2 Details'

# A larger terminal shows more, a tiny one still something.
tm resize-window -t v -x 120 -y 40
see 'q quit +@[0-9]'
tm resize-window -t v -x 40 -y 10
see '^ token 3 '
tm resize-window -t v -x 80 -y 24
see '2 Details'

# Suspended and continued.
keys C-z
see 'Stopped'
keys 'fg; echo left with $?' Enter
see '^ scope +token 3'

# The wheel zooms: SGR mouse report at column 40, row 6. Stray characters of it would be keys.
frames=$(grep -oE 'frame [0-9 ]+' "$folder/pane")
keys -l "$(printf '\033[<64;40;6M')"
for _ in $(seq 200); do
    see 'frame [0-9]'
    [ "$(grep -oE 'frame [0-9 ]+' "$folder/pane")" != "$frames" ] && break
done
[ "$(grep -oE 'frame [0-9 ]+' "$folder/pane")" != "$frames" ] || { echo "the wheel did nothing"; exit 1; }

# A drag over the tracks marks a range; one without a click before it does nothing.
keys -l "$(printf '\033[<0;30;6M\033[<32;40;6M\033[<32;60;6M\033[<0;60;6m')"
see '^ range +'

# A line is edited: neither the terminal nor curses keeps those keys for itself.
keys '/' 'xtokem 3' Left Left Left DC 'n' C-a DC
see '^ /token 3  regular'
keys C-e C-w
see '^ /token   regular'
keys 'q' Home C-k
see '^ /  regular'
keys 'token 4'
see '^ /token 4  regular'
keys C-u
see '^ /  regular'
keys Escape
see 'w s zoom'

# A command by name, completed.
keys ':' 'next gap' Enter
see '^›gaps'
keys ':' 'sum' Tab Enter
see '^ health +complete'

# A report of the pointer that comes in pieces, as over a slow line, is one: its numbers are no keys.
keys '3'
see '^ number +queue +submitted'
scale=$(grep -oE '[0-9.]+ .?s/col' "$folder/pane")
keys -l $'\033[<0;3'
read -rt 0.2 <>"$folder/never"
keys -l '0;6'
read -rt 0.2 <>"$folder/never"
keys -l $'M\033[<64;40;8M'
for _ in $(seq 200); do
    see 's/col'
    grep -qF -e "$scale" "$folder/pane" || break
done
grep -qF -e "$scale" "$folder/pane" && { echo "the wheel behind the pieces did nothing"; exit 1; }
see '^ number +queue +submitted'

keys 'q'
see 'left with 0'
keys 'clear; stty -a' Enter
see '[^-]icanon'
see '[^-]echo '

# A signal leaves a sane terminal too.
keys 'clear' Enter
keys "'$view' '$folder/t.pb.zst'" Enter
see '1 Summary'
keys C-c
see 'ready>$'
keys 'echo left with $?' Enter
see 'left with 130'
keys 'clear; stty -a' Enter
see '[^-]icanon'

# So does a crash.
start_again()
{
    keys 'clear' Enter
    keys "'$view' '$folder/t.pb.zst'" Enter
    see '1 Summary'
    pid=$(pgrep -P "$(tm list-panes -t v -F '#{pane_pid}')" -f hal-view)
    [ -n "$pid" ] || { echo "no hal-view runs"; exit 1; }
}
start_again
kill -SEGV "$pid"
see 'ready>$'
keys 'clear; stty -a' Enter
see '[^-]icanon'
see '[^-]echo '

# A file that grows is followed: what was selected stays, what comes is shown.
keys 'q'
"$make_trace" "$folder/first" 3 2 token || exit 1
head -c -450 "$folder/first" >"$folder/grows" # without its index, and into its end
keys "clear; '$view' -f '$folder/grows'" Enter
see 'recording *$'
keys ')'
see '^ call +wait #s2'
cat "$folder/t.pb.zst" >"$folder/grows"
see 'the capture has ended'
see 'healthy *$'
see '^ call +wait #s2'
keys 'q'
see 'ready>$'

# A terminal that cannot do it.
keys "clear; TERM=dumb '$view' '$folder/t.pb.zst' | head -3; TERM=nonsense '$view' '$folder/t.pb.zst'; echo left with \$?" Enter
see "hal-view: the terminal 'nonsense' is unknown"
see 'left with 2'

# Without colours and in a simple terminal there is still everything to see.
for terminal in vt100 xterm screen linux; do
    keys "clear; NO_COLOR=1 TERM=$terminal '$view' --keys='))' '$folder/t.pb.zst'" Enter
    see '^ call +wait #s4'
    keys 'q'
    see 'ready>$'
done

# All colours, where the terminal says that it has them and there is a description of it with them.
cat >"$folder/terminals" <<'END'
probe-256color|like xterm, use=xterm-256color,
probe-direct|with all colours, RGB, colors#0x1000000, pairs#0x7FFF,
	setab=\E[%?%p1%{8}%<%t4%p1%d%e48\:2\:\:%p1%{65536}%/%d\:%p1%{256}%/%{255}%&%d\:%p1%{255}%&%d%;m,
	setaf=\E[%?%p1%{8}%<%t3%p1%d%e38\:2\:\:%p1%{65536}%/%d\:%p1%{256}%/%{255}%&%d\:%p1%{255}%&%d%;m,
	use=xterm-256color,
END
tic -x -o "$folder/terminfo" "$folder/terminals" || exit 1
for says in truecolor no; do
    keys "clear; TERMINFO='$folder/terminfo' COLORTERM=$says TERM=probe-256color '$view' '$folder/t.pb.zst'" Enter
    see '1 Summary'
    if [ $says = truecolor ]; then see $'\033\\[38;2;0;168;120m' -e; else see $'\033\\[38;5;36m' -e; fi
    keys 'q'
    see 'ready>$'
done

# When the terminal goes away, so does the program. Leaks are looked for above: what looks for them may
# wait for ever for a thread that ends while it does.
keys "export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0" Enter
start_again
tm kill-session -t v
for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || exit 0
    read -rt 0.05 <>"$folder/never"
done
echo "the program outlives its terminal"
exit 1
