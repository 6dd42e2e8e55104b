/* SPDX-License-Identifier: Apache-2.0 */
/* What capturing costs the program decode, which waits for each token: from its start to its end,
 * plain and with the environment that hal-capture sets; and of that, the loop over the tokens. */
#ifndef TESTS_BENCH_BENCH_DECODE_H
#define TESTS_BENCH_BENCH_DECODE_H

#include "tests/bench/bench.h"

/* Captures into `path`, anew each time. */
void bench_decode(struct bench *bench, const char *path);

#endif
