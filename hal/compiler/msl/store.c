/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of compiled kernels as a store that is bounded: what counts are the kernels. */
#include "hal/base/store.h"
#include "hal/compiler/msl/cache.h"
#include "hal/compiler/msl/msl.h"

static const char kernel_suffix[] = ".so";

enum hal_status msl_directory_open(const char *wanted, char *out_path, size_t bytes)
{
    return wanted ? hal_store_open(wanted, "msl", out_path, bytes)
                  : msl_cache_directory(out_path, bytes);
}

enum hal_status msl_directory_measure(const char *directory, uint64_t *out_bytes,
                                      uint64_t *out_entries)
{
    return hal_store_measure(directory, kernel_suffix, out_bytes, out_entries);
}

uint64_t msl_directory_limit_bytes(void)
{
    return hal_store_limit_bytes();
}

void msl_directory_trim(const char *directory, uint64_t limit_bytes)
{
    hal_store_trim(directory, kernel_suffix, limit_bytes);
}
