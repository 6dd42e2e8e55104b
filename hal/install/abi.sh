#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi.sh LIBHAL: prints what programs that were built against the library rely on: its public
# functions, and the layout of the types that these take, as XML of libabigail. The library must
# have debugging information. What stands in libhal.abi beside this file is what was promised;
# tests/e2e/abi.sh compares.
set -eu
library=$1
root=$(dirname "$0")/../..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/include/hal/base"
cp "$root/hal/hal.h" "$root/hal/channels.h" "$root/hal/executables.h" "$root/hal/flags.h" "$root/hal/profiling.h" "$folder/include/hal"
cp "$root/hal/base/status.h" "$folder/include/hal/base"
{
    echo "[abi_whitelist]"
    nm -D --defined-only "$library" | awk '$3 ~ /@@HAL_[0-9]+$/ { sub(/@@.*/, "", $3); print $3 }'
} >"$folder/public"
# Only what is exported: else a function that one file calls and a later one defines loses its symbol,
# and with it the comparison of its parameters. Where the sources lay is nobody's affair.
abidw --kmi-whitelist "$folder/public" --headers-dir "$folder/include" --drop-private-types \
    --exported-interfaces-only --no-show-locs --no-corpus-path --no-comp-dir-path "$library" |
    sed -e '/<elf-needed>/,/<\/elf-needed>/d' -e "s|^\(  <abi-instr .*path='\)[^']*/hal/|\1hal/|"
