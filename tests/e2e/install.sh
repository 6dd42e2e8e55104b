#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The installed headers and libraries suffice: the minimal application is compiled against them
# alone, runs, and is captured by the installed programs.
. "$(dirname "$0")/lib.sh"
build=$3 compiler=$4 flags=$5

run 0 cmake --install "$build" --prefix "$work/prefix"
cp "$root/tests/workloads/minimal/minimal.c" .
# shellcheck disable=SC2086 # a list of flags
run 0 "$compiler" -std=c11 -Wall -Wextra -Werror $flags -I"$work/prefix/include" minimal.c \
    -L"$work/prefix/lib" -Wl,-rpath,"$work/prefix/lib" -lhal -lhalbase -o minimal
run 0 ./minimal
says stdout 'all right'
run 0 "$work/prefix/bin/hal-capture" -o minimal.pb.zst -- ./minimal
run 0 "$work/prefix/bin/hal-replay" minimal.pb.zst
[ -z "$(find "$work/prefix" -name '*.h' | grep -v /include/hal/)" ] || fail "a private header was installed"
