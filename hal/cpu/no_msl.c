/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for hal/msl in a build without it: everything but executables works. */
#include "hal/base/mem.h"
#include "hal/msl/msl.h"

static const char reason[] = "this build has no MSL compiler";

enum hal_status msl_compile(const struct msl_source *source, struct msl_library **out_library)
{
    *out_library = NULL;
    return hal_fail(HAL_UNSUPPORTED, "%s: %s", source->name ? source->name : "kernel.metal",
                    reason);
}

void msl_library_destroy(struct msl_library *library)
{
    free(library);
}

enum hal_status msl_library_find(const struct msl_library *library, const char *name,
                                 const struct msl_function **out_function)
{
    (void)library;
    *out_function = NULL;
    return hal_fail(HAL_NOT_FOUND, "%s: %s", name, reason);
}

const struct msl_function_info *msl_function_get_info(const struct msl_function *function)
{
    (void)function;
    return NULL;
}

enum hal_status msl_worker_create(struct msl_worker **out_worker)
{
    *out_worker = NULL;
    return HAL_OK;
}

void msl_worker_destroy(struct msl_worker *worker)
{
    free(worker);
}

void msl_function_run(const struct msl_function *function, struct msl_worker *worker,
                      const struct msl_launch *launch, uint64_t first, uint64_t last)
{
    (void)function;
    (void)worker;
    (void)launch;
    (void)first;
    (void)last;
}
