/* SPDX-License-Identifier: Apache-2.0 */
/* Names of traces: one pattern ("run.pb.zst", or none) may ask for many captures, of several
 * devices and of all the processes of a run. Each gets its own file, later ones with a number. */
#include "hal/base/run.h"
#include "hal/core/core.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hal_status default_file(char *out_path, size_t bytes)
{
    char program[PATH_MAX];
    if (hal_program_path(program, sizeof program) != HAL_OK)
        snprintf(program, sizeof program, "program");
    const char *slash = strrchr(program, '/');
    const int length =
        snprintf(out_path, bytes, "%s.%ld.pb.zst", slash ? slash + 1 : program, (long)getpid());
    if (length < 0 || (size_t)length >= bytes)
        return hal_fail(HAL_INVALID, "the program's name is too long for a file name");
    return HAL_OK;
}

static enum hal_status too_long(const char *file)
{
    return hal_fail(HAL_INVALID, "the file name '%s' is too long", file);
}

/* "run.pb.zst" as "run-2.pb.zst". */
static enum hal_status number_file(const char *file, uint32_t number, char *out_path, size_t bytes)
{
    static const char extension[] = ".pb.zst";
    const size_t all = strlen(file), end = sizeof extension - 1;
    const size_t stem = all >= end && strcmp(file + all - end, extension) == 0 ? all - end : all;
    const int length =
        number < 2 ? snprintf(out_path, bytes, "%s", file)
                   : snprintf(out_path, bytes, "%.*s-%u%s", (int)stem, file, number, file + stem);
    return length < 0 || (size_t)length >= bytes ? too_long(file) : HAL_OK;
}

/* As the list has it: its readers are in other folders. */
static enum hal_status absolute_path(const char *file, char *out_path, size_t bytes)
{
    char folder[PATH_MAX];
    const bool needs_folder = file[0] != '/' && getcwd(folder, sizeof folder);
    const int length = needs_folder ? snprintf(out_path, bytes, "%s/%s", folder, file)
                                    : snprintf(out_path, bytes, "%s", file);
    return length < 0 || (size_t)length >= bytes ? too_long(file) : HAL_OK;
}

/* Within a run all processes count together, else each one for itself. */
static enum hal_status claim(const struct hal_run *run, const struct hal_profiling_options *options,
                             char *out_file, size_t bytes)
{
    static _Atomic uint32_t captures;
    char pattern[PATH_MAX], path[PATH_MAX];
    struct stat info;
    if (options->file)
        HAL_TRY(number_file(options->file, 1, pattern, sizeof pattern));
    else
        HAL_TRY(default_file(pattern, sizeof pattern));
    for (uint32_t i = 1;; i++) {
        const uint32_t number = run->descriptor >= 0 ? i : atomic_fetch_add(&captures, 1) + 1;
        HAL_TRY(number_file(pattern, number, out_file, bytes));
        HAL_TRY(absolute_path(out_file, path, sizeof path));
        if (hal_run_has(run, HAL_RUN_CLAIMED, path))
            continue;
        if (options->force || lstat(out_file, &info) != 0)
            break;
        /* hal-capture has already asked about its destination; a user who names a file directly
         * gets the error. */
        if (options->file && run->descriptor < 0)
            return hal_fail(HAL_EXISTS,
                            "'%s' exists (HAL_DEVICE_PROFILING_FORCE=true, or "
                            "--device_profiling_force, replaces it)",
                            out_file);
    }
    (void)hal_run_add(run, HAL_RUN_CLAIMED, path);
    return HAL_OK;
}

enum hal_status hal_name_claim(const struct hal_profiling_options *options, char *out_file,
                               size_t bytes)
{
    struct hal_run run;
    hal_run_open(getenv(HAL_RUN_VARIABLE), &run);
    const enum hal_status status = claim(&run, options, out_file, bytes);
    hal_run_close(&run);
    return status;
}

static enum hal_status claim_next(const struct hal_run *run, const char *file, char *out_file,
                                  size_t bytes)
{
    struct stat info;
    char path[PATH_MAX];
    for (uint32_t i = 2;; i++) {
        HAL_TRY(number_file(file, i, out_file, bytes));
        HAL_TRY(absolute_path(out_file, path, sizeof path));
        if (!hal_run_has(run, HAL_RUN_CLAIMED, path) && lstat(out_file, &info) != 0)
            break;
    }
    (void)hal_run_add(run, HAL_RUN_CLAIMED, path);
    return HAL_OK;
}

enum hal_status hal_name_next(const char *file, char *out_file, size_t bytes)
{
    struct hal_run run;
    hal_run_open(getenv(HAL_RUN_VARIABLE), &run);
    const enum hal_status status = claim_next(&run, file, out_file, bytes);
    hal_run_close(&run);
    return status;
}

void hal_name_unused(const char *file)
{
    char path[PATH_MAX];
    if (absolute_path(file, path, sizeof path) == HAL_OK)
        (void)hal_run_report(HAL_RUN_UNUSED, path);
}
