/* SPDX-License-Identifier: Apache-2.0 */
/* Tunes memory-bound kernels on processors with 512-bit registers. */
#ifndef HAL_MSL_FISSION_STREAM_H
#define HAL_MSL_FISSION_STREAM_H

#include <llvm-c/Types.h>
#include <stdbool.h>

/* The last step before code generation: narrows vectors of the optimised `function` to 256 bits, if
 * it has no more vector operations than memory accesses, and prefetches pages where it accesses
 * large memory (pages.h). False: another kind of function, unchanged. */
bool msl_stream_tune(LLVMModuleRef module, LLVMValueRef function);

#endif
