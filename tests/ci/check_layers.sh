#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# .ci/check-layers accepts this repository and names every planted violation, one at a time.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

"$root/.ci/check-layers" "$root" || { echo "the repository itself has violations"; exit 1; }

# plant PATH LINE TEXT: a tree with just this file must be refused with a message that has TEXT.
plant()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    printf '/* planted */\n%s\n' "$2" >"$work/tree/$1"
    if "$root/.ci/check-layers" "$work/tree" >"$work/out"; then
        echo "$1 with '$2' was accepted"
        exit 1
    fi
    grep -qF -- "$3" "$work/out" || { echo "$1 with '$2': wrong message:"; cat "$work/out"; exit 1; }
}

# allow PATH LINE: must be accepted.
allow()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$work/tree/$1"
    "$root/.ci/check-layers" "$work/tree" || { echo "$1 with '$2' was refused"; exit 1; }
}

plant viewer/model/tracks.c '#include "hal/hal.h"' 'viewer/model/tracks.c:2: "hal/hal.h" may not be included'
plant format/file/reader.c '#include "hal/driver.h"' 'format/file/reader.c:2: '
plant replay/plan/plan.c '#include "hal/driver.h"' 'replay/plan/plan.c:2: '
plant replay/plan/plan.c '#include "format/writer_private.h"' 'replay/plan/plan.c:2: '
plant replay/plan/plan.c '#  include "capture/stream/ring.h"' 'replay/plan/plan.c:2: '
plant capture/layer/layer.c '#include "viewer/model/model.h"' 'capture/layer/layer.c:2: '
plant hal/core/device.c '#include "hal/drivers/cpu/queue.h"' 'hal/core/device.c:2: '
plant hal/base/os.c '#include "hal/hal.h"' 'hal/base/os.c:2: '
plant hal/compiler/msl/lexer.c '#include "hal/hal.h"' 'hal/compiler/msl/lexer.c:2: '
plant hal/drivers/cpu/queue.c '#include "hal/drivers/metal/queue.h"' 'hal/drivers/cpu/queue.c:2: '
plant tests/workloads/decode/decode.c '#include "hal/base/mem.h"' 'decode.c:2: '
plant viewer/model/model.c '#include <curses.h>' 'viewer/model/model.c:2: <curses.h> may be included only by'
plant viewer/model/model.c '#include <ncursesw/curses.h>' 'viewer/model/model.c:2: '
plant capture/stream/writer.c '#include <zstd.h>' 'capture/stream/writer.c:2: <zstd.h>'
plant replay/cli/main.c '#include <protobuf-c/protobuf-c.h>' 'replay/cli/main.c:2: '
plant hal/core/device.c '#include "driver.h"' 'hal/core/device.c:2: "driver.h" is not written from the root'
plant hal/core/device.c '#include HEADER' 'hal/core/device.c:2: '
plant hal/compiler/msl/include/msl/vector.h '#include "hal/base/mem.h"' 'vector.h:2: '
plant hal/compiler/msl/lexer.c '#include "msl/vector.h"' 'lexer.c:2: "msl/vector.h" is not written from the root'
plant hal/core/queue.c '#include <cmocka.h>' 'hal/core/queue.c:2: '
plant tests/workloads/decode/model.c '#include <zstd.h>' 'model.c:2: '
plant utils/list.c '#include <stdio.h>' 'utils/list.c: its folder is not in .ci/layers'
plant stray.c '#include <stdio.h>' 'stray.c: its folder is not in .ci/layers'
plant hal/metal_like/deep/x.m '#import "replay/plan/plan.h"' 'x.m:2: '
mkdir -p "$work/empty"
if "$root/.ci/check-layers" "$work/empty" >"$work/out"; then
    echo "a folder without sources was accepted"
    exit 1
fi

allow hal/compiler/msl/include/msl/vector.h '#include "msl/traits.h"'
allow viewer/terminal/term.c '#include <curses.h>'
allow format/container/frames.c '#include <zstd.h>'
allow format/encode.c '#include "format/trace.pb-c.h"'
allow tests/unit/format/test_frames.c '#include <zstd.h>'
allow tests/unit/capture/test_ring.c '#include "capture/stream/ring.h"'
echo "check-layers: every planted violation was found"
