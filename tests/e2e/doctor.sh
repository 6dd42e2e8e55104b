#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hal-capture doctor finds that all works here, and what does not when something is taken away.
. "$(dirname "$0")/lib.sh"

# A line of the report begins so.
reports() { grep -qE "^$1 +$2 " stdout || fail "the report does not call '$2' $1"; }

run 0 "$bin/hal-capture" doctor
for subject in system cpu compiler capture replay memory; do
    reports 'fine' "$subject"
done
for subject in mappings clock cache; do
    reports '(fine|note)' "$subject"
done
[ -z "$(ls "$work" | grep -v -e stdout -e stderr)" ] || fail "the doctor left files"
run 0 "$bin/hal-capture" doctor --help
run 2 "$bin/hal-capture" doctor too much
one_line
run 2 "$bin/hal-capture" doctor --unknown

# For machines. Nothing that the environment asks for is captured.
mkdir temporary
TMPDIR=$work/temporary HAL_DEVICE_PROFILING_FILE=$work/mine.pb.zst HAL_DEVICE_PROFILING_LAST=5s \
    run 0 "$bin/hal-capture" doctor --json
[ ! -e mine.pb.zst ] || fail "a capture was made"
rmdir temporary || fail "temporary files were left"
python3 - stdout <<'PYTHON' || fail "not the JSON that is documented"
import json, sys
subjects = set()
for line in open(sys.argv[1], encoding="utf-8"):
    finding = json.loads(line)
    assert list(finding) == ["subject", "verdict", "text", "fix"], finding
    assert finding["verdict"] in ("fine", "note", "broken") and finding["text"], finding
    subjects.add(finding["subject"])
assert {"system", "cpu", "compiler", "capture", "replay"} <= subjects, subjects
PYTHON

# No compiler: and so nothing to capture.
HAL_MSL_CLANG=/nonexistent/clang run 1 "$bin/hal-capture" doctor
reports broken compiler
reports broken replay
says stdout 'HAL_MSL_CLANG'

# No folder for temporary files, none for the cache.
TMPDIR=/nonexistent run 1 "$bin/hal-capture" doctor
says stdout 'to fix it: set TMPDIR'
HAL_CACHE_DIR=/dev/null/cache run 0 "$bin/hal-capture" doctor
reports note cache

# No replayer beside the program.
mkdir alone
cp "$bin/hal-capture" alone
LD_LIBRARY_PATH=$bin/../lib run 1 alone/hal-capture doctor
reports fine capture
reports broken replay

# After "--", it is the name of a program.
printf '#!/bin/sh\necho I am a program\n' >doctor
chmod +x doctor
PATH=$work:$PATH run 0 "$bin/hal-capture" -- doctor
says stdout 'I am a program'
