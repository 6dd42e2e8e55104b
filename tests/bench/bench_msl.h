/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of bench-msl. */
#ifndef TESTS_BENCH_BENCH_MSL_H
#define TESTS_BENCH_BENCH_MSL_H

#include "hal/compiler/msl/msl.h"
#include "tests/bench/bench.h"

void bench_msl_compile(struct bench *bench);

/* `matmul` takes a, b, c and the side as buffers 0 to 3, in groups of 16 x 16. */
void bench_msl_workers(struct bench *bench, const struct msl_function *matmul);

#endif
