/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of hal/compiler/msl/fission: small functions in LLVM's own notation. */
#ifndef TESTS_UNIT_FISSION_FIXTURE_H
#define TESTS_UNIT_FISSION_FIXTURE_H

#include "hal/compiler/msl/fission/fission.h"

/* The parameters of a thread function, by name. */
#define THREAD                                                                                     \
    "(ptr %l, i32 %gx, i32 %gy, i32 %gz, i32 %nx, i32 %ny, i32 %nz, i32 %x, i32 %y, i32 %z, "      \
    "i32 %index, i32 %lane, i32 %simd)"

/* The group's: a context for all of its tests. */
int fission_set_up(void **state);
int fission_tear_down(void **state);

/* Fails the test, with the message, when that is no module. */
LLVMModuleRef fission_parse(const char *text);

/* The whole pass over the function "k", for groups of `threads`; 0: any size. */
struct msl_fission_result fission_run_on(LLVMModuleRef module, uint32_t threads,
                                         enum hal_status expected);

#endif
