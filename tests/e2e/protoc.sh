#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Standard tools read the file: zstd decompresses it, protoc decodes it, and what happened is there
# by name.
. "$(dirname "$0")/lib.sh"

run 0 "$bin/hal-capture" -o decode.pb.zst -- "$bin/decode" --tokens=3 --layers=2 --width=64
zstd -q -t decode.pb.zst || fail "zstd finds it damaged"
zstd -q -dc decode.pb.zst >decode.pb
protoc --proto_path="$root" --decode=haltrace.Trace "$root/format/trace.proto" <decode.pb >decode.txt
for word in submit dispatch barrier push_constants push_descriptor_set copy semaphore_signal \
    semaphore_wait buffer_create executable_create host_write host_read 'token 2' matrix_vector; do
    grep -q "$word" decode.txt || fail "'$word' is not in the decoded trace"
done
