#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces that other versions wrote, kept in tests/traces: what a version has written once, every
# later one reads, and gives out the same. Traces are added with a release, and never changed.
#
#   NAME.pb.zst   the trace; NAME.jsonl: what `hal-trace export --format=jsonl` gives of it
#   newer-*       made up: fields and events that a later version has added and that may be skipped
#   refused-*     made up: what a reader must know and does not
. "$(dirname "$0")/lib.sh"
traces=$root/tests/traces
checked=0

# intact TRACE: nothing is damaged. What is made up, or of random events, has contradictions.
intact()
{
    "$bin/hal-trace" verify --json "$1" >stdout 2>/dev/null || :
    says stdout '"damaged_chunks":0,"damaged_contents":0,'
    says stdout '"truncated":""'
}

for trace in "$traces"/*.pb.zst; do
    name=$(basename "$trace" .pb.zst)
    checked=$((checked + 1))
    case $name in
    refused-*)
        run 3 "$bin/hal-trace" verify "$trace"
        says stderr 'newer version'
        continue
        ;;
    esac
    intact "$trace"
    run 0 "$bin/hal-trace" export --format=jsonl "$trace"
    cmp stdout "$traces/$name.jsonl" || fail "$name: other events than were written"
    run 0 "$bin/hal-trace" recompress -f -o again.pb.zst "$trace"
    run 0 "$bin/hal-trace" export --format=jsonl again.pb.zst
    cmp stdout "$traces/$name.jsonl" || fail "$name: other events after hal-trace recompress"
    run 0 "$bin/hal-trace" strip --reads-only -f -o again.pb.zst "$trace"
    intact again.pb.zst
done
[ "$checked" -ge 10 ] || fail "only $checked traces in $traces"
