/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time bounds checks of memory accesses. */
#ifndef HAL_MSL_FISSION_BOUNDS_H
#define HAL_MSL_FISSION_BOUNDS_H

#include "hal/base/status.h"

#include <llvm-c/Types.h>

/* Passes every address that the module reads or writes through its function __msl_checked, except
 * variables of a thread and of the module, whose arrays clang checks. HAL_FAILED: it has none. */
enum hal_status msl_bounds_add_checks(LLVMModuleRef module) HAL_CHECKED;

#endif
