# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests share. A test is started as `test.sh SOURCE_ROOT BIN_FOLDER`, begins
# with `. lib.sh`, and runs in a temporary folder of its own, which is removed in the end.
set -eu
root=$1
bin=$2
work=$(mktemp -d)
cd "$work"

clean_up()
{
    cd /
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# Nothing of the caller's environment may change what is tested.
unset HAL_DEVICE HAL_DEVICE_PROFILING_MODE HAL_DEVICE_PROFILING_FILE HAL_DEVICE_PROFILING_FORCE \
    HAL_DEVICE_PROFILING_STACKS HAL_DEVICE_PROFILING_RUN HAL_DEVICE_PROFILING_CONTENTS \
    HAL_DEVICE_PROFILING_OUTPUTS HAL_DEVICE_PROFILING_FILES HAL_DEVICE_PROFILING_BUDGET \
    HAL_DEVICE_PROFILING_WINDOW HAL_DEVICE_PROFILING_SCOPE HAL_DEVICE_PROFILING_GROUP \
    HAL_DEVICE_PROFILING_LAST HAL_DEVICE_PROFILING_WAIT HAL_DEVICE_PROFILING_QUIET HAL_LOG || :
export LC_ALL=C
# Python finds tests/e2e/terminal.py, and leaves nothing beside it.
export PYTHONPATH="$root/tests/e2e" PYTHONDONTWRITEBYTECODE=1

fail()
{
    echo "FAILED: $*"
    for stream in stdout stderr; do
        [ ! -s "$work/$stream" ] || { echo "--- $stream:"; tail -n 30 "$work/$stream"; }
    done
    exit 1
}

# left_out WHAT: the rest of the test can run, this cannot. Where nothing may be left out
# .ci/check-skipped refuses it.
left_out() { echo "[  SKIPPED ] $*"; }

# run STATUS COMMAND...: the command must end with that exit status. Its output is left in the
# files stdout and stderr.
run()
{
    expected=$1
    shift
    echo "+ $*"
    actual=0
    "$@" >"$work/stdout" 2>"$work/stderr" || actual=$?
    [ "$actual" = "$expected" ] || fail "exit status $actual, not $expected: $*"
}

# says FILE TEXT: the file has a line with that text. one_line [FILE]: that is all that the file has;
# the last command's message, if not told.
says() { grep -qF -e "$2" "$work/$1" || fail "'$2' is not in the $1"; }
one_line() { [ "$(grep -c '' "$work/${1:-stderr}")" = 1 ] || fail "not one line in ${1:-stderr}"; }

# same A B WHY
same() { [ "$1" = "$2" ] || fail "$3: '$1' is not '$2'"; }

# How many read-backs the last hal-replay compared.
compared() { sed -n 's/.*[: ]\([0-9][0-9]*\) read-backs* compared.*/\1/p' "$work/stdout"; }
