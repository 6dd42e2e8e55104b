/* SPDX-License-Identifier: Apache-2.0 */
/* Defines arithmetic that is undefined in C++ but not in MSL. */
#ifndef HAL_MSL_FISSION_ARITHMETIC_H
#define HAL_MSL_FISSION_ARITHMETIC_H

#include <llvm-c/Types.h>

/* A shift uses only the lowest bits of its distance, enough to address the shifted number's bits; a
 * division by zero, or of the minimum by -1, divides by 1 instead. Call it before any pass has run
 * on the module, since passes exploit undefined behaviour. */
void msl_arithmetic_define(LLVMModuleRef module);

#endif
