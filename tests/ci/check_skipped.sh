#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-skipped accepts reports in which everything ran, and names what was skipped or missing.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# report PRESET NAME STATUS...: a report as ctest writes it.
report()
{
    mkdir -p "$work/build/$1"
    out=$work/build/$1/tests.xml
    shift
    echo '<testsuite>' >"$out"
    while [ $# -gt 0 ]; do
        printf '\t<testcase name="%s" classname="%s" time="0.1" status="%s">\n' "$1" "$1" "$2" >>"$out"
        shift 2
    done
}

all_reports()
{
    for preset in dev asan tsan release; do
        report $preset check-layers run conformance-cpu run conformance-vulkan run capture-cost run \
            e2e-capture run test_status run viewer_tmux run soak_day notrun
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
report tsan check-layers run conformance-cpu run e2e-capture notrun test_status run viewer_tmux run
refused 'tsan: e2e-capture did not run' "a skipped test"
report tsan check-layers run conformance-cpu run test_status run viewer_tmux run
refused 'tsan: there is no test e2e-.*' "a missing suite"
all_reports
rm "$work/build/asan/tests.xml"
refused 'asan: was not tested: there is no build/asan/tests.xml' "a missing report"
