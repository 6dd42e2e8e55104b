/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line flags and environment variables of the HAL. Part of hal/hal.h, whose rules apply. */
#ifndef HAL_FLAGS_H
#define HAL_FLAGS_H

#include "hal/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Removes the HAL's flags from the command line and remembers them:
 *
 *   --device=URI                         HAL_DEVICE
 *     the device that hal_device_open(NULL) opens
 *   --device_profiling_mode=MODE         HAL_DEVICE_PROFILING_MODE    queue | dispatch | executable
 *     (as in struct hal_profiling_options; or a list of IREE's words: queue-events,
 *     device-queue-events, memory-events; dispatch-events; counters)
 *   --device_profiling_file=FILE         HAL_DEVICE_PROFILING_FILE    default PROGRAM.PID.pb.zst
 *     (alias: --device_profiling_output=)
 *   --device_profiling_force[=true]      HAL_DEVICE_PROFILING_FORCE   replace an existing file
 *   --device_profiling_stacks=WHAT       HAL_DEVICE_PROFILING_STACKS  none | submission (default)
 *     | command
 *   --device_profiling_contents=WHAT     HAL_DEVICE_PROFILING_CONTENTS
 *   --device_profiling_outputs=WHAT      HAL_DEVICE_PROFILING_OUTPUTS
 *   --device_profiling_files=WHAT        HAL_DEVICE_PROFILING_FILES
 *   --device_profiling_budget=BYTES      HAL_DEVICE_PROFILING_BUDGET  4096, 64M, 2G
 *     (these as in struct hal_profiling_options)
 *   --device_profiling_last=TIME         HAL_DEVICE_PROFILING_LAST    5s, 500ms, 2m: a flight
 *     recorder, as last_ns in struct hal_profiling_options; SIGUSR1 writes it out at the next
 *     submission, unless the program handles the signal itself
 *   --device_profiling_wait=TIME         HAL_DEVICE_PROFILING_WAIT    60s (default), 10ms to 24h,
 *     or "forever": how long hal_device_profiling_end and _flush wait for work in flight
 *   --device_profiling_quiet[=true]      HAL_DEVICE_PROFILING_QUIET   do not print the name
 *     of the file of a capture that flags or variables asked for on standard error
 *   --device_profiling_window=PART       HAL_DEVICE_PROFILING_WINDOW  #s100..#s200 (submissions,
 *     from 0), #s100, #s100.., or signal: SIGUSR1 starts and ends captures at a submission
 *   --device_profiling_group=NAME        HAL_DEVICE_PROFILING_GROUP   submissions whose command
 *     buffers have a debug group of that name; consecutive ones form one capture
 *   --device_profiling_scope=NAME        HAL_DEVICE_PROFILING_SCOPE   each range from
 *     hal_scope_begin(NAME) to its end is one capture
 *     (a window alone also requests a capture; it opens and closes like hal_device_profiling_begin
 *     and _end, on the thread that reaches it: a submission may wait half a second for the work
 *     in flight, and if that is not done by then, the window opens or closes at a later one)
 *   --check-bounds[=true]                HAL_CHECK_BOUNDS             on the CPU driver, a kernel
 *     that leaves a buffer or its workgroup memory fails its submission; read when an executable
 *     is created; slow
 *
 * A flag overrides its environment variable; the variables also apply to programs that never call
 * this function. A value may also be the next argument ("--device cpu"). "--" ends the search. Call
 * it before opening a device, from one thread. HAL_INVALID: one of these flags has a wrong value;
 * the command line is then unchanged. */
HAL_API enum hal_status hal_flags_parse(int *argc, char **argv) HAL_CHECKED;

/* For programs whose own options map to flags: checks whether `value` is valid for the flag of that
 * name ("device_profiling_budget") without storing it. HAL_INVALID: it is not valid, and the
 * message names `source`, the option as the user wrote it. HAL_NOT_FOUND: there is no such flag. */
HAL_API enum hal_status hal_flags_check(const char *flag, const char *value,
                                        const char *source) HAL_CHECKED;

/* Makes this process and its children ignore the environment's capture settings: removes every
 * variable that corresponds to a --device_profiling flag. For programs that must not be captured
 * just because their caller is. Call it before any other thread exists. */
HAL_API void hal_flags_ignore_profiling(void);

/* Returns the flags as text for a program's --help, one line each. */
HAL_API const char *hal_flags_help(void);

/* For a program that enters a sandbox before it opens a device: writes the paths of the programs
 * that CPU kernel compilation may start, as consecutive terminated strings followed by an empty
 * one. HAL_NOT_FOUND: there is no usable compiler. May be called from any thread; blocks while it
 * queries the version of a new compiler. */
HAL_API enum hal_status hal_kernel_programs(char *out_paths, size_t bytes) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
