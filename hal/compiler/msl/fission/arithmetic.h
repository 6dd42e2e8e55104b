/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic that C++ leaves undefined and the language does not. */
#ifndef HAL_MSL_FISSION_ARITHMETIC_H
#define HAL_MSL_FISSION_ARITHMETIC_H

#include <llvm-c/Types.h>

/* A shift takes the lowest bits of its distance, as many as tell the positions of the shifted
 * number; a division by zero, and of the least number by -1, divides by 1 instead. To be called
 * before any pass has looked at the module: passes may draw conclusions from what is undefined. */
void msl_arithmetic_define(LLVMModuleRef module);

#endif
