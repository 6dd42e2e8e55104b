#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What becomes of contents: digests, nothing, a budget, files by reference. The program never notices.
. "$(dirname "$0")/lib.sh"

# capture FILE OPTION...: of `e2e-app read`.
capture()
{
    file=$1
    shift
    run 0 "$bin/hal-capture" -o "$file" "$@" -- "$bin/e2e-app" read
    says stdout 'all right'
}

# Read-backs by digest are compared; a wrong result is found, too.
capture outputs.pb.zst --outputs=digest
run 0 "$bin/hal-replay" outputs.pb.zst
says stdout '1 by digest, 0 not recorded'
[ "$(compared)" = 1 ] || fail "the digest was not compared"
run 0 "$bin/hal-trace" info outputs.pb.zst
says stdout '1 read as digests only'
run 0 "$bin/hal-view" --print=summary outputs.pb.zst
says stdout '1 read as digests only'
run 0 "$bin/change-trace" outputs.pb.zst changed.pb.zst change-byte "values 0"
run 1 "$bin/hal-replay" changed.pb.zst
says stdout 'have another SHA-256'
says stdout 'last written by #s2.d0'
run 1 "$bin/hal-replay" --json changed.pb.zst
says stdout '"by_digest":true'

capture outputs-none.pb.zst --outputs=none
run 5 "$bin/hal-replay" outputs-none.pb.zst
says stdout '1 not recorded'

# Without what the host wrote there is something to look at, and nothing to replay.
capture digest.pb.zst --contents=digest
one_line
says stderr ', cannot be replayed: 3.9 KiB as digests only'
run 4 "$bin/hal-replay" digest.pb.zst
one_line
says stderr "the 4000 bytes that the host wrote to buffer 'values 0', only their digest"
run 0 "$bin/hal-view" --print=summary digest.pb.zst
run 0 "$bin/hal-trace" verify digest.pb.zst
capture none.pb.zst --contents=none
says stderr ', cannot be replayed: 3.9 KiB not recorded'
run 4 "$bin/hal-replay" none.pb.zst
one_line
says stderr 'it can be viewed, but not replayed'

# The write fits into the budget, the read does not.
capture budget.pb.zst --budget=4000
! grep -q 'cannot be replayed' stderr || fail "what can be replayed is said not to be"
run 0 "$bin/hal-replay" budget.pb.zst
says stdout '1 by digest'
run 0 "$bin/hal-trace" info budget.pb.zst
says stdout 'digests only, over the budget: 3.9 KiB'
run 0 "$bin/hal-view" --print=summary budget.pb.zst
says stdout 'over the budget, as digests only'

# The other way round: nothing that was written fits.
capture least.pb.zst --budget=1K
says stderr ', cannot be replayed: 7.8 KiB as digests only'
run 4 "$bin/hal-replay" least.pb.zst

# What was asked for is in the file.
capture asked.pb.zst --mode=dispatch-events,queue-events --stacks=command --budget=1M
run 0 "$bin/hal-replay" asked.pb.zst
run 0 "$bin/hal-trace" info asked.pb.zst
says stdout 'mode dispatch'
says stdout 'policy     contents all, outputs contents, files ranges, stacks command, at most 1.0 M'
run 0 "$bin/hal-trace" info --json asked.pb.zst
says stdout '"stacks":"command"'
run 0 "$bin/hal-trace" dump asked.pb.zst
says stdout 'command_stacks'
run 0 "$bin/hal-view" --print=summary asked.pb.zst

# The modes' words that IREE has, and the largest one of several.
while read -r words mode; do
    capture words.pb.zst -f "--mode=$words"
    run 0 "$bin/hal-trace" info --json words.pb.zst
    says stdout "\"mode\":\"$mode\""
done <<END
queue-events queue
device-queue-events queue
memory-events queue
dispatch-events dispatch
memory-events,dispatch-events,device-queue-events dispatch
END

# Times of a flight recorder, in nanoseconds.
while read -r last ns; do
    capture units.pb.zst -f "--last=$last"
    run 0 "$bin/hal-trace" info --json units.pb.zst
    says stdout "\"last_ns\":$ns,"
done <<END
1500ms 1500000000
90s 90000000000
90 90000000000
2m 120000000000
1h 3600000000000
END

# A flight recorder's file is a trace like others; a debug group that never comes leaves none.
capture last.pb.zst --last=24h
run 0 "$bin/hal-replay" last.pb.zst
[ "$(compared)" = 1 ] || fail "nothing was compared"
run 0 "$bin/hal-trace" info last.pb.zst
says stdout 'the last 86400'
run 0 "$bin/hal-capture" -o group.pb.zst --group=nobody -- "$bin/e2e-app" read
says stderr ' did not reach the window'
one_line
[ ! -e group.pb.zst ] || fail "a window that never opened left a file"

# The same by the environment and by flags.
run 0 env HAL_DEVICE_PROFILING_FILE=variable.pb.zst HAL_DEVICE_PROFILING_OUTPUTS=digest \
    "$bin/e2e-app" read
run 0 "$bin/hal-replay" variable.pb.zst
says stdout '1 by digest'
run 0 "$bin/e2e-app" read --device_profiling_file=flag.pb.zst --device_profiling_outputs=digest
says stderr " into 'flag.pb.zst' ("
one_line
run 0 "$bin/hal-replay" flag.pb.zst
says stdout '1 by digest'

# It says where a capture went that was asked for by flag or variable; unless that is not wanted.
run 0 "$bin/e2e-app" read --device_profiling_mode=queue
[ "$(sed -n "s/^haltrace: captured '.*' into '\(.*\)' ([1-9][0-9]* bytes)\$/\1/p" stderr)" = "$(echo e2e-app.*.pb.zst)" ] ||
    fail "nothing tells of the trace"
run 0 "$bin/e2e-app" read --device_profiling_file=quiet.pb.zst --device_profiling_quiet
[ ! -s stderr ] || fail "not quiet"
HAL_DEVICE_PROFILING_QUIET=1 run 0 "$bin/e2e-app" read --device_profiling_file=quieter.pb.zst
[ ! -s stderr ] || fail "not quiet"
[ -s quiet.pb.zst ] && [ -s quieter.pb.zst ] || fail "no traces"

# Wrong values are found before the program starts.
for wrong in --contents=some --outputs=some --files=x --budget=0 --budget= --last=1ms; do
    run 2 "$bin/hal-capture" -o wrong.pb.zst "$wrong" -- touch started
    one_line
    says stderr "hal-capture: ${wrong%%=*} "
    [ ! -e started ] || fail "$wrong: the program was started"
done

HAL_DEVICE_PROFILING_GROUP=layer run 2 "$bin/hal-capture" -o wrong.pb.zst --last=5s -- touch started
says stderr 'one window: HAL_DEVICE_PROFILING_GROUP or --last'

# ---- Files: 4000 bytes that a queue reads.
mkdir data
head -c 4000 /dev/urandom >data/numbers
cp data/numbers kept
for files in ranges reference fail; do
    run 0 "$bin/hal-capture" -o "$files.pb.zst" "--files=$files" -- "$bin/e2e-app" file data/numbers
    says stdout 'all right'
    ! grep -q 'cannot be replayed' stderr || fail "$files: what can be replayed is said not to be"
done
says stderr "reads file 'data/numbers', which device_profiling_files=fail forbids"
run 0 "$bin/hal-trace" dump --json reference.pb.zst
says stdout '"file":"data/numbers","file_bytes":4000'
run 0 "$bin/hal-capture" -o digests.pb.zst --files=reference --contents=digest -- "$bin/e2e-app" file data/numbers
! grep -q 'cannot be replayed' stderr || fail "what a file has is said to be missing"
# The whole of a larger file, with the part that was read, as it was then; what is left out of the trace
# takes the file along.
cat data/numbers >data/whole
head -c 9000000 /dev/urandom >>data/whole
cp data/whole whole
run 0 "$bin/hal-capture" -o all.pb.zst --files=all -- "$bin/e2e-app" file data/whole
says stdout 'all right'
rm data/whole
run 0 "$bin/hal-replay" all.pb.zst
[ "$(compared)" = 1 ] || fail "nothing was compared"
run 0 "$bin/hal-trace" verify all.pb.zst
run 0 "$bin/hal-trace" recompress -o again.pb.zst all.pb.zst
run 0 "$bin/hal-trace" trim --submissions=0-9 -o trimmed.pb.zst again.pb.zst
for trace in all again trimmed; do
    run 0 "$bin/hal-trace" extract --file=data/whole -f -o extracted "$trace.pb.zst"
    cmp extracted whole || fail "$trace: another file was extracted"
done
run 3 "$bin/hal-trace" extract --file=data/whole -o extracted all.pb.zst
says stderr '--force replaces it'
run 3 "$bin/hal-trace" extract --file=data/whole ranges.pb.zst
says stderr '--device_profiling_files=all'
run 0 "$bin/hal-trace" strip -o stripped.pb.zst all.pb.zst
run 3 "$bin/hal-trace" extract --file=data/whole stripped.pb.zst
run 4 "$bin/hal-replay" stripped.pb.zst
one_line
says stderr 'hal-trace strip removed its contents'
run 0 "$bin/hal-view" --print=summary stripped.pb.zst
cp whole data/whole
run 0 "$bin/hal-capture" -o small.pb.zst --files=all --budget=1M -- "$bin/e2e-app" file data/whole
run 3 "$bin/hal-trace" extract --file=data/whole small.pb.zst
rm data/whole
run 0 "$bin/hal-replay" ranges.pb.zst
run 4 "$bin/hal-replay" reference.pb.zst # the sandbox has what it was given, and no more
says stderr "file 'data/numbers', which the sandbox hides: '--map=data/=data/' lets"
option=$(sed -n "s/.*'\(--map=[^']*\)'.*/\1/p" stderr)
run 0 "$bin/hal-replay" "$option" reference.pb.zst # what the message says helps
[ "$(compared)" = 1 ] || fail "nothing was compared"
run 0 "$bin/hal-replay" --trusted reference.pb.zst
run 0 "$bin/hal-replay" --map=data/=data/ reference.pb.zst
[ "$(compared)" = 1 ] || fail "nothing was compared"
# What a trace's author wrote does not end the quotes of what one is told to type.
mkdir "it's"
cp kept "it's/numbers"
run 0 "$bin/hal-capture" -o quote.pb.zst --files=reference -- "$bin/e2e-app" file "it's/numbers"
run 4 "$bin/hal-replay" quote.pb.zst
says stderr "which the sandbox hides: --map=OLD=NEW lets"
# Elsewhere, changed, shorter, gone, no file.
mv data moved
run 0 "$bin/hal-replay" ranges.pb.zst
run 4 "$bin/hal-replay" reference.pb.zst
says stderr "file 'data/numbers', which cannot be opened"
run 0 "$bin/hal-replay" --map=data/=moved/ reference.pb.zst
run 0 "$bin/hal-replay" --map=other=x --map=data/numbers=kept reference.pb.zst
printf x | dd of=moved/numbers bs=1 seek=1234 conv=notrunc 2>"$work/stderr"
if cmp -s moved/numbers kept; then
    printf y | dd of=moved/numbers bs=1 seek=1234 conv=notrunc 2>"$work/stderr"
fi
run 4 "$bin/hal-replay" --map=data/=moved/ reference.pb.zst
says stderr "file 'moved/numbers' has changed: its 4000 bytes from 0 have another SHA-256"
head -c 3999 kept >moved/numbers
run 4 "$bin/hal-replay" --map=data/=moved/ reference.pb.zst
says stderr "file 'moved/numbers' has changed: it ends at 3999"
rm moved/numbers
mkfifo moved/numbers
run 4 "$bin/hal-replay" --map=data/=moved/ reference.pb.zst
says stderr 'neither a regular file nor a block device'
run 2 "$bin/hal-replay" --map=data reference.pb.zst
says stderr 'not OLD=NEW'

# ---- A call that the trace cannot hold: a kernel larger than the memory for contents.
run 0 env HAL_DEVICE_PROFILING_STAGING_MIB=1 "$bin/hal-capture" -o long.pb.zst -- \
    "$bin/e2e-app" long-kernel
says stdout 'all right'
says stderr 'hal_executable_create is not in the trace: an executable of 1 variant'
run 0 "$bin/hal-trace" verify long.pb.zst
run 0 "$bin/hal-trace" info long.pb.zst
says stdout '1 call that cannot be replayed'
run 0 "$bin/hal-trace" dump --json long.pb.zst
says stdout '"call":"hal_executable_create","message":"an executable of 1 variant'
run 0 "$bin/hal-view" --print=summary long.pb.zst
run 4 "$bin/hal-replay" long.pb.zst
one_line
says stderr 'no replay can repeat a call of hal_executable_create: an executable of 1 variant'
run 1 "$bin/hal-replay" --allow-unsupported long.pb.zst
says stdout '1 call that no replay can repeat was skipped'
says stdout 'commands that depend on those calls were skipped'
[ "$(compared)" = 1 ] || fail "the result that nobody computed was not compared"
run 0 "$bin/hal-capture" -o long.pb.zst -f -- "$bin/e2e-app" long-kernel
run 0 "$bin/hal-replay" long.pb.zst
