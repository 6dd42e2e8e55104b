/* SPDX-License-Identifier: Apache-2.0 */
/* bench-replay's second part: whether a what-if says what the program then gains. */
#ifndef TESTS_BENCH_WHAT_IF_H
#define TESTS_BENCH_WHAT_IF_H

#include "tests/bench/bench.h"

/* `path`: a file for traces. Ends the program when the decoder cannot be run. */
void bench_what_if(struct bench *bench, const char *path);

#endif
