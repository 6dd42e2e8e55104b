/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses that are checked while kernels run. */
#ifndef HAL_MSL_FISSION_BOUNDS_H
#define HAL_MSL_FISSION_BOUNDS_H

#include "hal/base/status.h"

#include <llvm-c/Types.h>

/* Every address that the module reads or writes goes through its function __msl_checked first, but
 * for variables of a thread and of the module, whose arrays clang watches. HAL_FAILED: there is no
 * such function. */
enum hal_status msl_bounds_add_checks(LLVMModuleRef module) HAL_CHECKED;

#endif
