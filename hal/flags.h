/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line and the environment say to the HAL. Part of hal/hal.h, whose rules hold. */
#ifndef HAL_FLAGS_H
#define HAL_FLAGS_H

#include "hal/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the flags that belong to the HAL out of the command line and remembers them:
 *
 *   --device=URI                         HAL_DEVICE
 *     what hal_device_open(NULL) opens
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
 *     recorder, as last_ns in struct hal_profiling_options; SIGUSR1, unless the program handles it
 *     itself, writes it out at the next submission
 *   --device_profiling_wait=TIME         HAL_DEVICE_PROFILING_WAIT    60s (default), 10ms to 24h,
 *     or "forever": how long hal_device_profiling_end and _flush wait for work in flight
 *   --device_profiling_quiet[=true]      HAL_DEVICE_PROFILING_QUIET   do not say on standard error
 *     where a capture went that flags or variables asked for
 *   --device_profiling_window=PART       HAL_DEVICE_PROFILING_WINDOW  #s100..#s200 (of submissions,
 *     from 0), #s100, #s100.., or signal: SIGUSR1 begins and ends captures, at a submission
 *   --device_profiling_group=NAME        HAL_DEVICE_PROFILING_GROUP   submissions whose command
 *     buffers have a debug group of that name; those that follow each other are one capture
 *   --device_profiling_scope=NAME        HAL_DEVICE_PROFILING_SCOPE   what happens from
 *     hal_scope_begin(NAME) to its end, each time a capture
 *     (a window alone asks for a capture, too; it opens and closes as hal_device_profiling_begin
 *     and _end do, in the thread that reaches it: a submission may wait half a second for the work
 *     in flight, and when that is not done by then, the window opens or closes at a later one)
 *   --check-bounds[=true]                HAL_CHECK_BOUNDS             on the CPU driver, a kernel
 *     that leaves a buffer or its threadgroup memory fails its submission; read when an executable
 *     is created; slow
 *
 * A flag beats its environment variable, which programs that never call this obey too. Argument
 * values may also follow as the next argument ("--device cpu"). "--" ends the search. Call it
 * before opening a device, from one thread. HAL_INVALID: a flag of ours has a wrong value; the
 * command line is unchanged then. */
HAL_API enum hal_status hal_flags_parse(int *argc, char **argv) HAL_CHECKED;

/* For programs with options of their own that stand for flags: whether `value` would do for the
 * flag of that name ("device_profiling_budget"). Nothing is remembered. HAL_INVALID: it would not,
 * and the message names `source`, the option as the user wrote it; HAL_NOT_FOUND: there is no such
 * flag. */
HAL_API enum hal_status hal_flags_check(const char *flag, const char *value,
                                        const char *source) HAL_CHECKED;

/* Makes this process, and those that it starts, deaf to what the environment says about captures:
 * removes every variable that a --device_profiling flag stands for. For programs which are not to
 * be captured because their caller is. Before any other thread is there. */
HAL_API void hal_flags_ignore_profiling(void);

/* The flags as text for a program's --help, one line each. */
HAL_API const char *hal_flags_help(void);

/* For a program that locks itself in before it opens a device: the programs that compiling kernels
 * on the CPU may start, as paths, each with an end, one behind the other, and an empty one last.
 * HAL_NOT_FOUND: there is no usable compiler. Any thread; blocks while a compiler that is new is
 * asked who it is. */
HAL_API enum hal_status hal_kernel_programs(char *out_paths, size_t bytes) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
