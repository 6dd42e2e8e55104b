#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-skipped accepts reports in which everything ran, and names what was skipped or missing: tests,
# and cases in them.
set -eu
root=$1
skips_a_case=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# A test for each line of the list, so that the list may grow.
names=$(sed '/^#/d; /^but /d; s/ .*//; s/\.\*/one/' "$root/.ci/must-not-skip")
[ "$(echo "$names" | grep -c '')" -ge 5 ] || { echo "the list is too short"; exit 1; }

# report PRESET LEFT_OUT NOT_RUN: a report as ctest writes it.
report()
{
    mkdir -p "$work/build/$1"
    {
        echo '<testsuite>'
        for name in $names soak_day; do
            status=run
            [ "$name" != soak_day ] && [ "$name" != "$3" ] || status=notrun
            [ "$name" = "$2" ] || printf '\t<testcase name="%s" classname="%s" time="0.1" status="%s">\n' \
                "$name" "$name" "$status"
        done
    } >"$work/build/$1/tests.xml"
}

all_reports()
{
    for preset in dev asan tsan release; do
        report $preset - -
    done
}

refused()
{
    if "$root/.ci/check-skipped" "$work" >"$work/out"; then
        echo "accepted: $2"
        exit 1
    fi
    grep -qxF "$1" "$work/out" || { echo "$2: wrong message:"; cat "$work/out"; exit 1; }
}

all_reports
"$root/.ci/check-skipped" "$work" || { echo "refused, though all ran"; exit 1; }
report tsan - e2e-one
refused 'tsan: e2e-one: did not run' "a skipped test"
report tsan e2e-one -
refused 'tsan: there is no test e2e-.*' "a missing suite"
all_reports
rm "$work/build/asan/tests.xml"
refused 'asan: was not tested: there is no build/asan/tests.xml' "a missing report"

# What only some systems have may be left out, and no other case of that test, nor the test.
left_out()
{
    all_reports
    printf '\t<testcase name="%s" status="run">\n<system-out>[  SKIPPED ] %s\n' "$1" "$2" \
        >>"$work/build/dev/tests.xml"
}
left_out test_staging memory_in_large_pages_is_all_there
"$root/.ci/check-skipped" "$work" || { echo "refused what only some systems have"; exit 1; }
left_out test_staging threads_do_not_disturb_each_other
refused 'dev: test_staging: threads_do_not_disturb_each_other: did not run' "another case of that test"
left_out test_other memory_in_large_pages_is_all_there
refused 'dev: test_other: memory_in_large_pages_is_all_there: did not run' "that case of another test"

# As ctest and cmocka write it: a program with a case that skips.
reported() # OPTIONS...
{
    all_reports
    (cd "$work/one" && ctest "$@" --output-junit tests.xml >../ctest.log) ||
        { cat "$work/ctest.log"; exit 1; }
    sed 1,/\<testsuite/d "$work/one/tests.xml" >>"$work/build/release/tests.xml"
}
mkdir "$work/one"
echo "add_test(test_skips \"$skips_a_case\")" >"$work/one/CTestTestfile.cmake"
reported --test-output-size-passed 100000
refused 'release: test_skips: left_out_here: did not run' "a skipped case"
[ "$(grep -c test_skips "$work/out")" = 1 ] || { cat "$work/out"; exit 1; }
reported --test-output-size-passed 20
refused 'release: test_skips: unknown, its output is too long: did not run' "a report that was cut"
