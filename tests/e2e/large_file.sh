#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace of more than 4 GiB: every program finds what lies behind the reach of 32 bits, damage there
# is found and its place named, what is cut off there is read up to the cut, and a copy that Ctrl-C
# stops is gone. The trace is nearly all holes, and takes some 40 MiB of the disk.
. "$(dirname "$0")/lib.sh"
maker=$3

truncate -s 5G holes
[ "$(du -k holes | cut -f1)" -lt 1024 ] || { echo "this file system has no holes"; exit 77; }
rm holes

run 0 "$maker" large.pb.zst
bytes=$(wc -c <large.pb.zst)
[ "$bytes" -gt 4294967296 ] || fail "the trace has only $bytes bytes"
[ "$(du -k large.pb.zst | cut -f1)" -lt 200000 ] || fail "the trace has no holes"
trace() { run 0 "$bin/hal-trace" "$@"; }

trace info --json large.pb.zst
says stdout '"contents":1031,"content_bytes":4320133142'
trace dump large.pb.zst
same "$(tail -n 3 stdout | grep -o '#10[0-9]*.*size=22')" "#1032 main: buffer_create buffer=2 size=22
#1033 main: host_write buffer=2 'behind' offset=0 size=22
#1034 main: host_read buffer=2 'behind' offset=0 size=22" "the last events"
trace extract --content=1031 large.pb.zst
same "$(tr -d '\0' <stdout)" "beyond four gibibytes" "the last content"
trace stats --json large.pb.zst
run 0 "$bin/hal-view" --print large.pb.zst
says stdout '4.02 GiB up in 1 031, 22 B down in 1'
trace verify large.pb.zst
says stdout 'good: 1034 events in 2 chunks, 1031 contents of 4320133142 bytes'

# Ctrl-C in the midst of writing gigabytes leaves nothing, and what was there as it was.
cat >interrupt.py <<'PYTHON'
import os, signal, subprocess, sys, time
before = sorted(os.listdir("."))
signal.signal(signal.SIGINT, signal.SIG_DFL)
tool = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def written(): # to files that are nobody's yet
    folder, total = f"/proc/{tool.pid}/fd", 0
    try:
        names = os.listdir(folder)
    except OSError: # it is ending
        return 0
    for name in names:
        try:
            path = os.readlink(os.path.join(folder, name))
            if path.startswith(os.getcwd()) and not path.endswith("large.pb.zst"):
                total += os.stat(os.path.join(folder, name)).st_size
        except OSError: # closed meanwhile
            pass
    return total
while tool.poll() is None and written() < 1 << 20:
    time.sleep(0.001)
tool.send_signal(signal.SIGINT)
assert tool.wait() == -signal.SIGINT, tool.returncode
assert sorted(os.listdir(".")) == before, (before, os.listdir("."))
PYTHON
echo old >old.pb.zst
if python3 -c 'import os; os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY))' 2>stderr; then
    for output in new.pb.zst old.pb.zst; do
        run 0 python3 interrupt.py "$bin/hal-trace" recompress -f -o $output large.pb.zst
        [ "$(cat old.pb.zst)" = old ] || fail "what was there was replaced"
    done
else
    left_out "Ctrl-C: this file system makes no files without a name"
fi

# A zero of the last large content.
place=$((bytes - 2500000))
[ "$place" -gt 4294967296 ] || fail "there is too little behind 4 GiB"
# shellcheck disable=SC2059 # an octal escape
put() { printf "$1" | dd of=large.pb.zst bs=1 seek="$place" conv=notrunc 2>/dev/null; }
put '\377'
run 3 "$bin/hal-trace" extract --content=1030 -o damaged large.pb.zst
says stderr damaged
trace extract --content=1031 large.pb.zst

put '\000' # as it was
run 0 "$bin/hal-trace" extract --content=1030 -o fixed large.pb.zst

# Without its end the file is walked from its start.
truncate -s $((bytes - 100)) large.pb.zst
trace info large.pb.zst
cut=$(sed -n 's/.*cut off at byte \([0-9]*\).*/\1/p' stdout)
[ "${cut:-0}" -gt 4294967296 ] || fail "the cut is at byte '$cut'"
trace dump large.pb.zst
says stdout '#1034 main: host_read buffer=2'
