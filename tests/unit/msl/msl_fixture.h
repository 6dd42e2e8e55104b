/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of hal/compiler/msl: compile and run in one call, a cache of its own, random numbers.
 */
#ifndef TESTS_UNIT_MSL_FIXTURE_H
#define TESTS_UNIT_MSL_FIXTURE_H

#include "hal/compiler/msl/msl.h"

#include <stdint.h>

struct fixture_kernel {
    struct msl_library *library;
    const struct msl_function *function;
    struct msl_worker *worker;
};

/* Fails the test, with the message, when the source does not compile. */
struct fixture_kernel fixture_compile(const char *source, const char *name);
struct fixture_kernel fixture_compile_with(const struct msl_source *source, const char *name);
void fixture_release(struct fixture_kernel *kernel);

/* Runs all groups; `buffers` by index, `group_bytes` may be NULL. Sizes are x, y, z. */
void fixture_run(const struct fixture_kernel *kernel, void *const *buffers, size_t buffer_count,
                 const uint32_t *group_bytes, const uint32_t workgroup_count[3],
                 const uint32_t workgroup_size[3]);

/* Compiles, runs one row of groups over up to four buffers, releases. */
void fixture_run_source(const char *source, const char *name, void *const *buffers,
                        size_t buffer_count, uint32_t groups, uint32_t threads);

/* What msl_compile says about the source, without a library. */
enum hal_status fixture_status(const char *source);

/* Random numbers whose seed is printed once; HALTRACE_SEED sets it. */
uint32_t fixture_random(void);
float fixture_random_float(void); /* in [-1, 1), a multiple of 2^-10 */

/* IEEE half precision as bits; to nearest, ties to even. */
uint16_t fixture_to_half(float value);
float fixture_from_half(uint16_t bits);

/* A directory of the calling test; removed with all that is in it. */
const char *fixture_directory(void);
void fixture_remove_directory(void);

/* Around all cases: compiled kernels are kept there. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

#endif
