#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What docs/benchmarks.md says of a GPU, measured on this machine's: `vulkan_figures.sh BIN [RUNS]`,
# BIN being a build's folder of programs. Prints the device, the table beside GFXReconstruct (where
# that is installed), the decoder's table, times of dispatches, a replay on the CPU, what the
# conformance suite says below the validation layer, and bench-capture's rows. RUNS (3) of each.
# BENCH_TOKENS, BENCH_LAYERS, BENCH_WIDTH: the decoder's size; BENCH_ONLY: these parts alone.
set -eu
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
runs=${2:-3}
model="--layers=${BENCH_LAYERS:-8} --width=${BENCH_WIDTH:-512}"
tokens=${BENCH_TOKENS:-64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export BENCH_UPLOADS="${BENCH_UPLOADS:-32}"

wants()
{
    case " ${BENCH_ONLY:-device recorders decoder dispatches cpu conformance capture} " in
    *" $1 "*) printf '\n== %s\n\n' "$1" ;;
    *) return 1 ;;
    esac
}

# quietly COMMAND...: what it prints only if it fails.
quietly()
{
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
}

# is_there WHAT TEXT...: a figure that was not found fails, as the program now says it in other words.
is_there()
{
    what=$1
    shift
    for text in "$@"; do
        [ -n "$text" ] || { echo "vulkan_figures.sh: no figure of $what" >&2; exit 1; }
    done
}

# run_decoder OPTIONS...: its seconds and tokens per second, on one line of the file "times".
run_decoder()
{
    quietly "$@"
    figures=$(sed -nE 's/^decode: .*: ([0-9.]+) s, ([0-9.]+) tokens\/s$/\1 \2/p' "$work/log")
    is_there "the decoder" "$figures"
    echo "$figures" >>"$work/times"
}

# The range of what run_decoder has measured, which it forgets.
range()
{
    sort -n "$work/times" | awk '{ s[NR] = $1; t[NR] = $2 }
        END { printf "%.0f to %.0f tokens/s (%.3f to %.3f s)", t[NR], t[1], s[1], s[NR] }'
    rm "$work/times"
}

decoder_row()
{
    sync=$1
    # shellcheck disable=SC2086 # options
    set -- "$bin/decode" --device=vulkan --tokens="$tokens" $model --sync="$sync"
    for _ in $(seq "$runs"); do
        run_decoder "$@"
    done
    plain=$(range)
    for _ in $(seq "$runs"); do
        run_decoder "$bin/hal-capture" -f -o "$work/$sync.pb.zst" -- "$@"
    done
    captured=$(range)
    quietly "$bin/hal-replay" --trusted --repeat=5 "$work/$sync.pb.zst"
    submissions=$(sed -nE 's/^([0-9]+) submissions .*/\1/p' "$work/log")
    replayed=$(sed -nE 's/^time of .*: min [^,]+, median ([^,]+), .* device: min [^,]+, median ([^,]+),.*/\1 | \2/p' "$work/log")
    is_there "a replay with --sync=$sync" "$submissions" "$replayed"
    echo "| $sync | $submissions | $plain | $captured | $replayed |"
    compared=$(sed -n 's/^same: /    /p' "$work/log")
    is_there "what was compared" "$compared"
    echo "$compared" >>"$work/compared"
}

decoder()
{
    echo "| \`--sync=\` | submissions | plain, $runs runs | captured, $runs runs | replayed, median of 5 | of that, waiting for the device |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for sync in op layer token; do
        decoder_row $sync
    done
    sort -u "$work/compared"
}

# Each dispatch alone, as the device says; in us.
dispatches()
{
    quietly "$bin/hal-capture" -f -m dispatch -o "$work/times.pb.zst" -- \
        "$bin/decode" --device=vulkan --tokens=8 $model
    "$bin/hal-trace" dump --json --kind=dispatch_times "$work/times.pb.zst" |
        grep -oE '"begin_ns":[0-9]+,"end_ns":[0-9]+}' | tr ':,}' '   ' |
        awk '{ printf "%.0f\n", $4 - $2 }' | sort -n >"$work/lasted"
    is_there "a dispatch" "$(head -n 1 "$work/lasted")"
    awk '{ v[NR] = $1 / 1000 } END { printf "%d dispatches: min %.1f, median %.1f, 90 %% below %.1f, max %.1f us\n",
        NR, v[1], v[int((NR + 1) / 2)], v[int(NR * 0.9) + 1], v[NR] }' "$work/lasted"
}

on_the_cpu()
{
    quietly "$bin/hal-capture" -f -o "$work/cpu.pb.zst" -- "$bin/decode" --device=vulkan --tokens=8 $model
    "$bin/hal-replay" --device=cpu --type=f32 --tolerance=abs:1e-5,rel:1e-4 "$work/cpu.pb.zst"
}

conformance()
{
    for device in 'vulkan' 'vulkan?queues=3' 'vulkan?descriptors=pool'; do
        printf '%s: ' "$device"
        HAL_VULKAN_VALIDATION=1 "$bin/hal-conformance" --driver="$device" >"$work/log" 2>&1 ||
            grep -E '^FAILED|^failed' "$work/log" || true
        tail -1 "$work/log"
        echo "    messages of the validation layer: $(grep -c 'vulkan validation' "$work/log" || true)"
    done
}

if wants device; then
    quietly "$bin/hal-capture" -f -o "$work/one.pb.zst" -- "$bin/decode" --device=vulkan --tokens=1 --layers=1 --width=32
    facts=$("$bin/hal-trace" info "$work/one.pb.zst" | grep -E '^(process|captured|device)' || :)
    is_there "the device" "$facts"
    echo "$facts"
fi
! wants recorders || sh "$here/vulkan_recorders.sh" "$bin" "$runs" || [ $? = 77 ]
! wants decoder || decoder
! wants dispatches || dispatches
! wants cpu || on_the_cpu
! wants conformance || conformance
! wants capture || HAL_DEVICE=vulkan "$bin/bench-capture"
