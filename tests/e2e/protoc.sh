#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Standard tools read the file: zstd decompresses it, protoc decodes it, and what happened is there
# by name.
. "$(dirname "$0")/lib.sh"

# decoded PROGRAM... -- WORD...: the words are in the decoded trace of the program.
decoded()
{
    # shellcheck disable=SC2086 # a list of arguments
    run 0 "$bin/hal-capture" --force -o trace.pb.zst -- "$bin/$1" $2
    shift 2
    zstd -q -t trace.pb.zst || fail "zstd finds the trace damaged"
    zstd -q -dc trace.pb.zst >trace.pb
    protoc --proto_path="$root" --decode=haltrace.Trace "$root/format/trace.proto" \
        <trace.pb >trace.txt || fail "protoc cannot decode the trace"
    for word in "$@"; do
        grep -q "$word" trace.txt || fail "'$word' is not in the decoded trace"
    done
}

decoded decode '--tokens=3 --layers=2 --width=64' \
    'submit {' 'DISPATCH' 'BARRIER' 'PUSH_CONSTANTS' 'PUSH_DESCRIPTOR_SET' 'COPY' 'DEBUG_BEGIN' \
    'semaphore_create {' 'semaphore_wait {' 'buffer_create {' 'executable_create {' \
    'host_write {' 'host_read {' 'submission_done {' '"token 2"' matrix_vector
decoded e2e-app threads 'semaphore_signal {' 'semaphore_query {' 'wait_semaphore: '
