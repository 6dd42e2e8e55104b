#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of one thing, no program says that there are several: a run that does everything once goes through all that
# prints for people.
. "$(dirname "$0")/lib.sh"
run 0 "$bin/hal-capture" -o one.pb.zst -- "$bin/minimal"
mv stderr summary
run 0 "$bin/hal-trace" trim -o part.pb.zst --submissions=#s0 one.pb.zst
says stdout '1 submission'
cp stdout trim

# Words that end in s and may follow a 1, and units.
singular='access|process|is|was|has|as|bytes of|times|[mun]s'
while read -r status command; do
    # shellcheck disable=SC2086 # several words
    run "$status" "$bin/"$command
    cat stdout stderr >printed
    found=$(grep -oE '(^|[^0-9.,x#] ?)\b1 [a-z][a-z-]*s\b' printed | grep -vE "1 ($singular)\$" || :)
    [ ! "$found" ] || fail "$command: $found"
    ! grep -E '\((s|es)\)' printed || fail "$command does not know how many"
done <<END
0 hal-trace info one.pb.zst
0 hal-trace dump one.pb.zst
0 hal-trace stats one.pb.zst
0 hal-trace verify one.pb.zst
0 hal-trace races one.pb.zst
0 hal-trace diff one.pb.zst one.pb.zst
0 hal-trace info part.pb.zst
0 hal-replay one.pb.zst
0 hal-replay --benchmark=10ms --isolate one.pb.zst
0 hal-replay --what-if=coalesce-submissions --runs=6 one.pb.zst
0 hal-view --print=summary,timeline,submissions,gaps,findings,kernels,memory,iterations one.pb.zst
0 hal-view --diff one.pb.zst one.pb.zst
0 hal-capture -f -o again.pb.zst -- $bin/minimal
0 hal-capture doctor
END
for file in summary trim; do
    ! grep -oE '\b1 [a-z-]*s\b' "$file" | grep -vE "1 ($singular)\$" || fail "$file"
done
