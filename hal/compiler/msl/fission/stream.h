/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that do little with what they fetch, on processors with registers of 512 bits. */
#ifndef HAL_MSL_FISSION_STREAM_H
#define HAL_MSL_FISSION_STREAM_H

#include <llvm-c/Types.h>
#include <stdbool.h>

/* The last step before code is made: `function`, optimised, gets vectors of 256 bits where it has
 * wider ones, but no more operations on them than accesses of memory, and asks for pages ahead
 * where it goes far (pages.h). False: it does something else, and stays as it is. */
bool msl_stream_tune(LLVMModuleRef module, LLVMValueRef function);

#endif
