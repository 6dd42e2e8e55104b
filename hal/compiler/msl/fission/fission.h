/* SPDX-License-Identifier: Apache-2.0 */
/* Turns kernels whose threads wait for each other into loops: a function that runs one thread
 * becomes a function that runs a whole threadgroup, with its thread loop split at every barrier.
 *
 * The module comes from clang's front end without its passes (-Xclang -disable-llvm-passes). A
 * *thread function* returns void, takes the parameters of enum msl_fission_parameter (a pointer,
 * then 32-bit integers), and waits only through the convergent functions below, in which all live
 * threads of the group (barrier) or simdgroup (the others) take part:
 *
 *   void        __msl_group_barrier(void)
 *   void        __msl_simdgroup_barrier(void)
 *   const void *__msl_exchange(const void *value, uint32_t bytes, uint32_t *out_active)
 *               all lanes' values, `bytes` apart (1, 2, 4, 8 or 16), and who took part
 *   void        __msl_spread(const void *tile, void *pair, uint32_t element_bytes)
 *               this lane's two elements of an 8x8 tile that all lanes hold; waits for nobody
 *   void        __msl_collect(const void *pair, void *tile, uint32_t element_bytes)
 *               the tile of all lanes' elements; element_bytes is 2 or 4
 *   uint32_t    __msl_lane(void)
 *
 * Threadgroup variables are found as address arithmetic with an offset loaded from a global of
 * section "msl_variables", a structure of integers (enum msl_fission_variables).
 *
 * Afterwards the same function runs all threads: its caller passes the group's position and size,
 * and zeros for the rest. It keeps its name and is external. Requires race-free kernels, as the
 * language does.
 *
 * Threads: a module (and its context) is used by one thread at a time. Running out of memory ends
 * the process, as in LLVM itself: this code runs in a helper program. */
#ifndef HAL_MSL_FISSION_FISSION_H
#define HAL_MSL_FISSION_FISSION_H

#include "hal/base/status.h"

#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msl_fission_parameter {
    MSL_FISSION_LAUNCH,
    MSL_FISSION_GROUP_X, /* position of the group in the grid */
    MSL_FISSION_GROUP_Y,
    MSL_FISSION_GROUP_Z,
    MSL_FISSION_SIZE_X, /* threads of this group */
    MSL_FISSION_SIZE_Y,
    MSL_FISSION_SIZE_Z,
    MSL_FISSION_LOCAL_X, /* position of the thread in the group */
    MSL_FISSION_LOCAL_Y,
    MSL_FISSION_LOCAL_Z,
    MSL_FISSION_INDEX, /* the same as an index, with x fastest */
    MSL_FISSION_LANE,
    MSL_FISSION_SIMDGROUP,
    MSL_FISSION_PARAMETERS
};

enum msl_fission_variables { MSL_FISSION_VARIABLES_BYTES = 1, MSL_FISSION_VARIABLES_ALIGNMENT = 2 };

struct msl_fission_kernel {
    const char *function;       /* the thread function's name in the module */
    uint32_t workgroup_size[3]; /* the only size it will run with; zeros: any size */
};

enum { MSL_FISSION_REASON_BYTES = 256 };

struct msl_fission_result {
    bool split;
    char reason[MSL_FISSION_REASON_BYTES]; /* why it was not split, for people */
};

/* Splits each kernel or gives the reason why not, one result per kernel. A function that was not
 * split must not be called (its module is valid all the same). Inlines everything inside the
 * module. HAL_NOT_FOUND: no such function. HAL_INVALID: other parameters, or a broken module. */
enum hal_status msl_fission_run(LLVMModuleRef module, LLVMTargetMachineRef machine,
                                const struct msl_fission_kernel *kernels, size_t kernel_count,
                                struct msl_fission_result *out_results) HAL_CHECKED;

#endif
