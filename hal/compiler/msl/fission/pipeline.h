/* SPDX-License-Identifier: Apache-2.0 */
/* LLVM's own passes in the order that splitting requires, and code generation. */
#ifndef HAL_MSL_FISSION_PIPELINE_H
#define HAL_MSL_FISSION_PIPELINE_H

#include "hal/compiler/msl/fission/fission.h"

#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>

/* For this processor. The caller disposes of it. */
enum hal_status msl_pipeline_machine(LLVMTargetMachineRef *out_machine) HAL_CHECKED;

/* Inlines every function into its callers, except the thread functions and "__msl_...". */
enum hal_status msl_pipeline_inline(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                    const struct msl_fission_kernel *kernels,
                                    size_t kernel_count) HAL_CHECKED;
/* Registers instead of memory, loops in LLVM's simple form. */
enum hal_status msl_pipeline_simplify(LLVMModuleRef module,
                                      LLVMTargetMachineRef machine) HAL_CHECKED;
/* Unrolls short loops unless their metadata forbid it. */
enum hal_status msl_pipeline_unroll(LLVMModuleRef module, LLVMTargetMachineRef machine) HAL_CHECKED;
enum hal_status msl_pipeline_clean(LLVMModuleRef module, LLVMTargetMachineRef machine) HAL_CHECKED;
/* Between the two stages of a split. */
enum hal_status msl_pipeline_promote(LLVMModuleRef module,
                                     LLVMTargetMachineRef machine) HAL_CHECKED;
/* After the split: vectorises thread loops first, before -O3 can choose other loops. */
enum hal_status msl_pipeline_optimise(LLVMModuleRef module,
                                      LLVMTargetMachineRef machine) HAL_CHECKED;
/* For checked kernels, which are slow anyway: only fast passes. */
enum hal_status msl_pipeline_optimise_little(LLVMModuleRef module,
                                             LLVMTargetMachineRef machine) HAL_CHECKED;

/* For kernels that are not split: clang's own passes, and no passes. */
enum hal_status msl_pipeline_optimise_as_clang(LLVMModuleRef module,
                                               LLVMTargetMachineRef machine) HAL_CHECKED;
enum hal_status msl_pipeline_keep(LLVMModuleRef module, LLVMTargetMachineRef machine) HAL_CHECKED;

enum hal_status msl_pipeline_write_object(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                          const char *path) HAL_CHECKED;

#endif
