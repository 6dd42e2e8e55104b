#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Wrong arguments, devices, kernels and destinations.
. "$(dirname "$0")/lib.sh"

# An unknown device, named.
run 1 "$bin/decode" --device=abacus
one_line
says stderr 'abacus'
run 1 "$bin/decode" --device='cpu?threads=none'
one_line
says stderr 'threads'
run 0 "$bin/hal-capture" -o good.pb.zst -- "$bin/minimal"
run 4 "$bin/hal-replay" --device=abacus good.pb.zst
one_line
says stderr 'abacus'

# The compiler's message, with the user's file name and line.
run 1 "$bin/e2e-app" bad-kernel
says stderr 'scale.metal:7'
says stderr 'undeclared_name'

# The trace of it tells what failed, and why; dump leaves out threadgroup arguments that are none.
run 1 "$bin/hal-capture" -o bad.pb.zst -- "$bin/e2e-app" bad-kernel
why="executable 'scale.metal': scale.metal:7: error: use of undeclared identifier 'undeclared_name'"
run 0 "$bin/hal-trace" stats bad.pb.zst
says stdout 'failed calls 1'
says stdout "  1 × hal_executable_create, first at "
says stdout "ms: invalid, $why"
run 0 "$bin/hal-trace" stats --json bad.pb.zst
says stdout '"failed_calls":[{"call":"hal_executable_create","status":"invalid","message":"executable '
run 0 "$bin/hal-view" --print=findings bad.pb.zst
says stdout '1 call failed: hal_executable_create, see @'
says stdout "hal_executable_create: invalid, $why"
run 1 "$bin/hal-view" --print=summary --fail-on='findings:failed-calls>0' bad.pb.zst
run 0 "$bin/hal-trace" dump bad.pb.zst
says stdout "message=\"$why\""
! grep -q workgroup_argument_bytes stdout || fail "arguments that are not there"
run 0 "$bin/hal-trace" strip -o all.pb.zst bad.pb.zst
run 0 "$bin/hal-trace" verify all.pb.zst

# An existing destination is refused before the program starts, unless --force.
echo precious >there.pb.zst
run 2 "$bin/hal-capture" -o there.pb.zst -- sh -c 'touch started'
one_line
says stderr 'there.pb.zst'
says stderr '--force'
[ ! -e started ] || fail "the program was started"
same "$(cat there.pb.zst)" precious "the existing file"
run 0 "$bin/decode" --tokens=1 --device_profiling_mode=queue --device_profiling_file=there.pb.zst
one_line
says stderr "' is not captured: 'there.pb.zst' exists"
same "$(cat there.pb.zst)" precious "the existing file"
run 0 "$bin/hal-capture" --force -o there.pb.zst -- "$bin/minimal"
run 0 "$bin/hal-replay" there.pb.zst

# The end of the options is no file.
for output in "-o --" --output=--; do
    # shellcheck disable=SC2086 # two words
    run 2 "$bin/hal-capture" $output -- sh -c 'touch started'
    one_line
    says stderr "needs a "
    [ ! -e started ] || fail "the program was started"
done
says stderr "--output needs a file name; for a file called '--' use ./--"
run 2 "$bin/hal-capture" -o -- sh -c 'touch started'
says stderr "option '-o' needs a value: --output=FILE"
run 0 "$bin/hal-capture" -o ./-- -- "$bin/minimal"
[ -s ./-- ] || fail "no file of that name"

# Those that write traces name their option.
run 3 "$bin/hal-trace" recompress -o there.pb.zst good.pb.zst
one_line
says stderr "'there.pb.zst' exists already: --force replaces it"

# Values of options that were not taken for such.
run 2 "$bin/hal-view" --print findings good.pb.zst
one_line
says stderr "not 'findings' and 'good.pb.zst' (use '=' for a list: --print=LIST)"
run 2 "$bin/hal-view" there.pb.zst good.pb.zst
one_line
! grep -q -e --print stderr || fail "a hint for what was not asked for"
run 2 "$bin/hal-replay" vulkan://5 good.pb.zst
one_line
says stderr "not 'vulkan://5' and 'good.pb.zst' (use '=' for a device: --device=cpu;"

# Standard input is no trace, unless there is a file of that name.
for command in "info -" "merge -o m.pb.zst - good.pb.zst"; do
    # shellcheck disable=SC2086 # several words
    run 3 "$bin/hal-trace" $command <good.pb.zst
    one_line
    says stderr 'cannot be read from standard input'
done
cp good.pb.zst -- -
run 0 "$bin/hal-trace" info -
rm -- -

# So is one that cannot be written. (Root may write anywhere, but not below a file.)
run 2 "$bin/hal-capture" -o good.pb.zst/below.pb.zst -- sh -c 'touch started'
one_line
run 2 "$bin/hal-capture" -o no/such/folder/x.pb.zst -- sh -c 'touch started'
one_line
[ ! -e started ] || fail "the program was started"

# Programs that cannot be started; wrong options.
run 127 "$bin/hal-capture" -o x.pb.zst -- ./no-such-program
one_line
for program in hal-capture hal-replay hal-view hal-trace decode; do
    run 2 "$bin/$program" --no-such-option
    says stderr 'no-such-option'
    run 0 "$bin/$program" --help
    [ -s stdout ] || fail "$program --help says nothing"
    run 0 "$bin/$program" --version
    says stdout "$program 0."
done
for program in hal-capture hal-replay hal-view hal-trace; do
    run 0 "$bin/$program" --version
    says stdout 'trace format 1.'
done
for program in hal-capture hal-replay; do
    run 0 "$bin/$program" --version
    says stdout 'drivers: cpu'
done
for program in hal-capture hal-replay hal-view hal-trace; do
    run 2 "$bin/$program"
done
