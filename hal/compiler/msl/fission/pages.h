/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that walk through more memory than is near. */
#ifndef HAL_MSL_FISSION_PAGES_H
#define HAL_MSL_FISSION_PAGES_H

#include <llvm-c/Types.h>

/* Loops of one block with vectors that touch more than MSL_PAGES_FAR_BYTES, which is known when
 * they run, then ask for pages ahead. All others stay as they are. */
enum { MSL_PAGES_FAR_BYTES = 1 << 20 };
void msl_pages_ask(LLVMModuleRef module, LLVMValueRef function);

#endif
