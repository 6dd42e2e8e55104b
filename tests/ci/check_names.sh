#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hal/host_metal/check-names accepts the headers as they are, and names what is invented in them,
# changed, or missing: each kind of name that it says it compares.
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

fresh()
{
    rm -rf "$work/host_metal"
    mkdir "$work/host_metal"
    cp -R "$root/hal/host_metal/check-names" "$root/hal/host_metal/names.txt" \
        "$root/hal/host_metal/include" "$work/host_metal"
}

# refused HEADER SED_EXPRESSION TEXT: with the header changed so, TEXT is told.
refused()
{
    fresh
    header=$work/host_metal/include/$1
    sed "$2" "$header" >"$work/changed"
    ! cmp -s "$work/changed" "$header" || { echo "$1 has nothing that '$2' changes"; exit 1; }
    mv "$work/changed" "$header"
    if "$work/host_metal/check-names" >"$work/out"; then
        echo "accepted: $1 with '$2'"
        exit 1
    fi
    grep -qF "$3" "$work/out" || { echo "'$3' is not told, but:"; cat "$work/out"; exit 1; }
}

fresh
"$work/host_metal/check-names" || { echo "refused: the headers as they are"; exit 1; }
refused Metal/MTLFence.h '/^@protocol MTLFence </a - (void)inventHere:(id)a;' 'MTLFence inventHere:: compared with nothing'
refused Metal/MTLBuffer.h 's/(readonly) NSUInteger length/(readonly) uint32_t length/' 'MTLBuffer length -> uint32_t'
refused Metal/MTLBuffer.h 's/(void \*)contents/(const char *)contents/' 'MTLBuffer contents'
refused Metal/MTLCommandBuffer.h 's/ErrorTimeout = 2/ErrorTimeout = 5/' 'MTLCommandBufferErrorTimeout = 5'
refused Metal/MTLCommandBuffer.h 's/ErrorTimeout = 2,/& MTLCommandBufferErrorBoredom = 6,/' 'MTLCommandBufferErrorBoredom'
refused Metal/MTLTypes.h 's/NSUInteger width, height, depth/NSUInteger width, height/' 'MTLSize'
refused Metal/MTLDevice.h 's/MTLCopyAllDevices/MTLCopyEveryDevice/' 'MTLCopyEveryDevice'
refused Metal/MTLCaptureManager.h 's/MTLCaptureErrorDomain;/MTLCaptureDomain;/' 'MTLCaptureDomain'
refused Foundation/Foundation.h 's/^FOUNDATION_EXPORT void NSLog/FOUNDATION_EXPORT void host_log(void);&/' 'host_log'
