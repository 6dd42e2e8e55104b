#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Missing, empty, foreign, truncated and damaged files: one clear line and the right exit status
# from every program that reads a trace.
. "$(dirname "$0")/lib.sh"

# refused FILE TEXT: unreadable for everybody, with a line that has the text.
refused()
{
    for program in hal-replay 'hal-trace info' 'hal-trace dump' 'hal-view --print'; do
        name=${program%% *}
        # shellcheck disable=SC2086 # the subcommand
        run 3 "$bin"/$program "$1"
        one_line
        says stderr "$name: "
        says stderr "$2"
    done
}

run 0 "$bin/hal-capture" -o good.pb.zst -- "$bin/decode" --tokens=3 --layers=2 --width=64

refused missing.pb.zst 'missing.pb.zst'
: >empty.pb.zst
refused empty.pb.zst 'empty.pb.zst'
echo 'This is a letter, and not a trace of anything at all.' >foreign.pb.zst
refused foreign.pb.zst 'foreign.pb.zst'
echo 'A compressed letter' | zstd -q >compressed.pb.zst
refused compressed.pb.zst 'compressed.pb.zst'
mkdir folder.pb.zst
refused folder.pb.zst 'folder.pb.zst'

# Cut off in the middle: readable to the last whole frame, and said so.
bytes=$(wc -c <good.pb.zst)
head -c $((bytes * 3 / 4)) good.pb.zst >cut.pb.zst
run 0 "$bin/hal-trace" info cut.pb.zst
cat stdout stderr >both
grep -qiE 'cut|truncated|incomplete|missing' both || fail "nothing says that the file was cut off"

# One bit flipped, all over the file: never a crash, never accepted as if nothing was wrong.
step=$((bytes / 23 + 1))
offset=3
while [ "$offset" -lt "$bytes" ]; do
    cp good.pb.zst flipped.pb.zst
    byte=$(od -An -tu1 -j "$offset" -N 1 good.pb.zst | tr -d ' ')
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf '%03o' $((byte ^ 16)))" |
        dd of=flipped.pb.zst bs=1 seek="$offset" conv=notrunc 2>/dev/null
    status=0
    "$bin/hal-replay" flipped.pb.zst >stdout 2>stderr || status=$?
    [ "$status" = 3 ] || { [ "$status" = 0 ] && grep -q 'the seek table at byte' stdout; } ||
        fail "bit flipped in byte $offset: exit status $status"
    offset=$((offset + step))
done

# A damaged seek table hides nothing: all is read, with a warning, and written anew on demand.
cp good.pb.zst table.pb.zst
printf '\125' | dd of=table.pb.zst bs=1 seek=$((bytes - 20)) conv=notrunc 2>/dev/null
run 0 "$bin/hal-replay" table.pb.zst
says stdout 'is damaged, nothing else: all events are present'
run 3 "$bin/hal-trace" verify table.pb.zst
says stderr 'is damaged, nothing else'
run 0 "$bin/hal-trace" recompress -o fixed.pb.zst table.pb.zst
run 0 "$bin/hal-trace" verify fixed.pb.zst
run 0 "$bin/hal-replay" fixed.pb.zst

# A report that nobody gets is not a good report, from no program.
for program in hal-replay 'hal-trace info' 'hal-trace dump' 'hal-view --print'; do
    status=0
    # shellcheck disable=SC2086 # the subcommand
    "$bin"/$program good.pb.zst >/dev/full 2>stderr || status=$?
    [ "$status" != 0 ] || fail "$program: exit status 0 though its report could not be written"
    one_line
done
