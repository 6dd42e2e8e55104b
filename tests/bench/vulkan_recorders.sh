#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What recording costs a program on a device with Vulkan: `vulkan_recorders.sh BIN [RUNS]`, BIN being a
# build's folder of programs. The same program with the same commands runs plainly, below hal-capture
# and below GFXReconstruct's layer (Debian's package gfxreconstruct), uncompressed and with LZ4, by
# turns; then each recording is replayed. Prints a table; medians of RUNS (5). Replays are compared as
# processes, each less one that has nothing to do: with the program's, and with its rounds alone, all
# as quick as the quickest, which knows neither the GPU's waking up nor the program's end.
set -eu
bin=$1
runs=${2:-5}
pairs=50000 # fills and barriers: 100,000 commands of Vulkan in a list
rounds=4
uploads=${BENCH_UPLOADS:-8}
layer=VK_LAYER_LUNARG_gfxreconstruct

command -v gfxrecon-replay >/dev/null || { echo "skipped: needs gfxreconstruct"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# below WAY FILE COMMAND...: the command's own figure, recorded into FILE. Functions here share their
# variables with whoever calls them: these are nobody else's.
below()
{
    recorder=$1 record=$2
    shift 2
    case $recorder in
    plain) "$@" ;;
    haltrace) HAL_DEVICE_PROFILING_MODE=queue HAL_DEVICE_PROFILING_FILE="$record" \
        HAL_DEVICE_PROFILING_FORCE=1 "$@" ;;
    gfxr-*) VK_INSTANCE_LAYERS=$layer GFXRECON_CAPTURE_FILE="$record" \
        GFXRECON_CAPTURE_FILE_TIMESTAMP=false GFXRECON_LOG_LEVEL=error \
        GFXRECON_CAPTURE_COMPRESSION_TYPE="${recorder#gfxr-}" "$@" ;;
    esac
}

name_of()
{
    case $1 in
    haltrace) echo "$work/$2.pb.zst" ;;
    *) echo "$work/$2-$1.gfxr" ;;
    esac
}

median()
{
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# Wall time of a whole command, in ns; what it printed is in $work/log.
wall()
{
    begin=$(date +%s%N)
    "$@" >"$work/log" 2>"$work/errors" || { cat "$work/log" "$work/errors" >&2; exit 1; }
    echo $(($(date +%s%N) - begin))
}

# replay WAY FILE: wall time.
replay()
{
    case $1 in
    haltrace) wall "$bin/hal-replay" --trusted "$2" ;;
    *) wall gfxrecon-replay --log-level error "$2" ;;
    esac
}

ways="plain haltrace gfxr-NONE gfxr-LZ4"
for i in $(seq "$runs"); do
    for way in $ways; do
        wall below $way "$(name_of $way commands)" "$bin/bench-vulkan" commands $pairs $rounds >>"$work/whole.$way"
        cat "$work/log" >>"$work/commands.$way"
        wall below $way "$(name_of $way few)" "$bin/bench-vulkan" commands 0 1 >>"$work/empty.$way"
        sync # else the disk still takes what the recorder before has written
        below $way "$(name_of $way uploads)" "$bin/bench-vulkan" uploads "$uploads" >>"$work/uploads.$way"
        [ $way = plain ] && continue
        replay $way "$(name_of $way commands)" >>"$work/replay.$way"
        replay $way "$(name_of $way few)" >>"$work/start.$way"
    done
done

commands=$((2 * pairs * rounds))
plain=$(median <"$work/commands.plain")
plain_uploads=$(median <"$work/uploads.plain")
plain_whole=$(($(median <"$work/whole.plain") - $(median <"$work/empty.plain")))
echo "plain: $(awk -v a="$plain" -v n=$((2 * pairs)) 'BEGIN { printf "%.0f", a / n }') ns per command," \
    "$(awk -v a="$plain_uploads" -v n="$uploads" 'BEGIN { printf "%.0f", n * 16 / (a / 1e9) }') MiB/s of uploads;" \
    "$((plain_whole / 1000)) us the process less an empty one; medians of $runs runs"
echo "| recorder | ns per command | bytes per command | uploads, times plain | replay, times plain | replay, times plain rounds | bytes of uploads |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for way in haltrace gfxr-NONE gfxr-LZ4; do
    bytes=$(stat -c %s "$(name_of $way commands)")
    few=$(stat -c %s "$(name_of $way few)")
    awk -v way=$way -v a="$(median <"$work/commands.$way")" -v plain="$plain" -v each=$((2 * pairs)) \
        -v bytes=$((bytes - few)) -v commands=$commands -v rounds=$rounds \
        -v up="$(median <"$work/uploads.$way")" -v plain_up="$plain_uploads" \
        -v replay="$(median <"$work/replay.$way")" -v start="$(median <"$work/start.$way")" \
        -v whole="$plain_whole" -v file="$(stat -c %s "$(name_of $way uploads)")" \
        'BEGIN { printf "| %s | %+.0f | %.2f | %.2f | %.2f | %.2f | %.0f MiB |\n", way, (a - plain) / each,
            bytes / commands, up / plain_up, (replay - start) / whole,
            (replay - start) / (plain * rounds), file / 1048576 }'
done
