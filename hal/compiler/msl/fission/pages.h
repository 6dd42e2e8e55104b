/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetching of pages in loops over large memory. */
#ifndef HAL_MSL_FISSION_PAGES_H
#define HAL_MSL_FISSION_PAGES_H

#include <llvm-c/Types.h>

/* Loops of one block with vectors that access more than MSL_PAGES_FAR_BYTES, as determined at run
 * time, prefetch pages. All others are unchanged. */
enum { MSL_PAGES_FAR_BYTES = 1 << 20 };
void msl_pages_ask(LLVMModuleRef module, LLVMValueRef function);

#endif
