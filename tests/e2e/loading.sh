#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that load libhal locally, by themselves or with plugins, are captured like those that are
# linked with it, however often and on however many threads they load and unload it.
. "$(dirname "$0")/lib.sh"
app=$3 libhal=$4 plugin=$5 other=$6

# traced NAME COUNT: NAME.pb.zst, NAME-2.pb.zst and so on, COUNT of them; each is whole, and replays.
traced()
{
    same "$(find . -name "$1*.pb.zst" | wc -l)" "$2" "how many traces of '$1' there are"
    for trace in "$1"*.pb.zst; do
        run 0 "$bin/hal-trace" info "$trace"
        grep -q '^health *complete;' stdout || fail "$trace is not whole"
        run 0 "$bin/hal-replay" "$trace"
        same "$(compared)" 1 "how many read-backs of $trace were compared"
    done
}

run 0 "$bin/hal-capture" -o direct.pb.zst -- "$app" 1 1 release "$libhal"
traced direct 1
run 0 "$bin/hal-capture" -o plugin.pb.zst -- "$app" 1 1 release "$plugin"
traced plugin 1

# Again and again, by each of several threads.
run 0 "$bin/hal-capture" -o often.pb.zst -- "$app" 1 4 release "$libhal" "$plugin" "$other"
traced often 12
# The thread sanitizer does not know the lock under which the loader names what it has loaded.
[ "${7-}" = thread ] || {
    run 0 "$bin/hal-capture" -o threads.pb.zst -- "$app" 3 2 release "$libhal" "$plugin"
    traced threads 12
}
run 0 "$bin/hal-capture" -o call.pb.zst -s command -- "$app" 1 2 release "$plugin" "$other"
for trace in call*.pb.zst; do
    run 0 "$bin/hal-trace" symbolize "$trace"
    same "$(grep -c 'plugin_call' stdout)" 2 "how many stacks of $trace go through the plugin"
done

# Unloaded while it captures, it goes on to the end.
run 0 "$bin/hal-capture" -o kept.pb.zst -- "$app" 1 4 keep "$libhal" "$plugin"
traced kept 8

# What it has left with the system is there: without a capture too.
run 0 "$bin/hal-capture" --window=signal -o signal.pb.zst -- "$app" 1 1 signal "$libhal"
says stderr 'did not reach the window'
run 0 "$app" 1 8 keep "$libhal"

# Nothing grows with how often it is loaded.
for times in 1 9; do
    run 0 "$bin/hal-capture" -q -o "mapped$times.pb.zst" -- "$app" 1 $times release "$libhal" "$plugin"
    cp stdout mapped$times
done
cmp mapped1 mapped9 || fail "more is mapped the more often libhal is loaded"

# The modules of drivers.
for driver in metal vulkan; do
    HAL_DEVICE=$driver "$app" 1 1 release "$libhal" >stdout 2>stderr || {
        left_out "$driver: $(cat stderr)"
        continue
    }
    HAL_DEVICE=$driver run 0 "$bin/hal-capture" -o $driver.pb.zst -- "$app" 1 2 release "$libhal" "$plugin"
    same "$(find . -name "$driver*.pb.zst" | wc -l)" 4 "how many traces of $driver there are"
done

# As Python does it. No program of others runs with sanitizers.
[ -z "${7-}" ] || exit 0
python3 -c 'import ctypes' 2>/dev/null || {
    left_out "Python"
    exit 0
}
cat >local.py <<'TEXT'
import ctypes, sys
hal = ctypes.CDLL(sys.argv[1])
device = ctypes.c_void_p()
assert hal.hal_device_open(b'cpu', ctypes.byref(device)) == 0
hal.hal_device_release(device)
TEXT
run 0 "$bin/hal-capture" -o python.pb.zst -- python3 local.py "$libhal"
says stderr 'python.pb.zst: 0 submissions'
