#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where a limit of the system is too small, the programs say which call failed, and end with a status
# for it: no replay calls a trace different that it could not replay, and no signal ends them.
. "$(dirname "$0")/lib.sh"
run 0 "$bin/hal-capture" -q -o trace.pb.zst -- "$bin/decode" --tokens=2

# limited RESOURCE BYTES COMMAND...: with that limit, which root has only as nobody; 77: nobody cannot
# start it.
cat >limited.py <<'PYTHON'
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_DFL) # Python ignores it
os.closerange(3, 256) # what the test's caller left open
name, most, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
if name == "NPROC" and os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    if not os.access(command[0], os.X_OK):
        sys.exit(77)
resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
os.execv(command[0], command)
PYTHON
limited() { python3 limited.py "$@"; }

# is_error JSON STATUS
cat >is_error.py <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert (report["exit_code"], report["result"]) == (int(sys.argv[2]), "error"), report
PYTHON

# ---- Processes and descriptors ----

chmod 755 .
mkdir temporary cache
chmod 777 temporary cache
for option in --json --isolate --verify=uninitialised; do
    said=
    for most in 6 7 8 9 10 16; do
        actual=0
        limited NOFILE $most "$bin/hal-replay" "$option" trace.pb.zst >stdout 2>stderr || actual=$?
        case $actual in
        0) continue ;;
        3 | 4) says stderr 'Too many open files' ;;
        *) fail "$option with $most descriptors: exit status $actual" ;;
        esac
        [ "$option" != --json ] || python3 is_error.py stdout "$actual" || fail "the JSON of $option"
        ! grep -q 'cannot create a process for the replay' stderr || said=yes
        [ -z "$said" ] || [ "$actual" = 4 ] || fail "$option with $most descriptors: exit status $actual"
    done
    [ "$said" ] || fail "$option says of no process"
done
for most in 4 5 6; do # without a sandbox, what is left for the compiler
    rm -rf fresh
    actual=0
    HAL_CACHE_DIR="$work/fresh" limited NOFILE $most "$bin/hal-replay" --trusted trace.pb.zst >stdout 2>stderr ||
        actual=$?
    case $actual in
    0) break ;;
    3 | 4) says stderr 'Too many open files' ;;
    *) fail "--trusted with $most descriptors: exit status $actual" ;;
    esac
done
for option in --json --isolate --verify=uninitialised; do
    actual=0
    TMPDIR="$work/temporary" HAL_CACHE_DIR="$work/cache" \
        limited NPROC 1 "$bin/hal-replay" "$option" trace.pb.zst >stdout 2>stderr || actual=$?
    [ "$actual" != 77 ] || {
        left_out "the limit of processes: root has none, and nobody cannot start the programs"
        break
    }
    [ "$actual" = 4 ] || fail "$option without processes: exit status $actual"
    says stderr 'cannot create a process for the replay: '
    [ "$option" != --json ] || python3 is_error.py stdout 4 || fail "the JSON of $option"
done
[ -z "$(ls temporary)" ] || fail "without a process, temporary files stay"

# ---- The size of files ----

# too_large COMMAND...: cannot write more than 1 KiB, says so, and leaves nothing.
too_large()
{
    run 3 limited FSIZE 1024 "$@"
    one_line
    says stderr ': File too large'
    [ -z "$(find . -name 'out*')" ] || fail "something is left: $*"
}
for command in 'trim --submissions=#s1..#s2' strip recompress 'export --format=perfetto' \
    'export --format=chrome' 'export --format=csv' 'export --format=jsonl'; do
    # shellcheck disable=SC2086 # a command with its options
    too_large "$bin/hal-trace" $command -o out trace.pb.zst
    says stderr "cannot write 'out'"
done
too_large "$bin/hal-view" --svg=out.svg trace.pb.zst
says stderr "cannot write 'out.svg'"
run 3 limited FSIZE 1024 "$bin/hal-trace" export --format=sqlite -o database trace.pb.zst
says stderr "'database': disk I/O error"
run 3 limited FSIZE 1024 "$bin/hal-trace" dump trace.pb.zst
says stderr 'cannot write the output: File too large'
run 3 limited FSIZE 1024 "$bin/hal-replay" --json trace.pb.zst
says stderr 'cannot write the output: File too large'
run 4 limited FSIZE 0 "$bin/hal-replay" --record=out.pb.zst trace.pb.zst
[ ! -e out.pb.zst ] || fail "a recording that did not begin is there"

# What hal-capture starts finds the signal as hal-capture did.
run 153 "$bin/hal-capture" -o out.pb.zst -- sh -c 'kill -XFSZ $$'
trap '' XFSZ
run 0 "$bin/hal-capture" -o out.pb.zst -- sh -c 'kill -XFSZ $$'
trap - XFSZ

# ---- The stack ----

# A sandboxed replay needs hardly more than one without a sandbox.
for most in 64 80 96 112 128 160 192 256 512; do
    actual=0
    limited STACK $((most << 10)) "$bin/hal-replay" --trusted trace.pb.zst >stdout 2>stderr || actual=$?
    [ "$actual" != 0 ] || break
done
run 0 limited STACK $(((most + 16) << 10)) "$bin/hal-replay" trace.pb.zst
