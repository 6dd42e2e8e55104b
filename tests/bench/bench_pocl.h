/* SPDX-License-Identifier: Apache-2.0 */
/* The same kernels in OpenCL C on PoCL, one thread, for comparison. One thread. */
#ifndef TESTS_BENCH_BENCH_POCL_H
#define TESTS_BENCH_BENCH_POCL_H

#include <stddef.h>
#include <stdint.h>

struct bench_pocl;

/* NULL: there is none; *out_reason says why. */
struct bench_pocl *bench_pocl_open(const char **out_reason);
void bench_pocl_close(struct bench_pocl *pocl);

struct bench_pocl_launch {
    const char *kernel;
    void *const *buffers; /* its arguments, as many as it has; ordinary memory */
    uint32_t groups[3], workgroup_size[3];
};

/* Runs it once and returns the processor time of it, in ns; ends the program when that fails. */
double bench_pocl_run(struct bench_pocl *pocl, const struct bench_pocl_launch *launch);

#endif
