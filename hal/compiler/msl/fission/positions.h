/* SPDX-License-Identifier: Apache-2.0 */
/* For threads that run concurrently: reports each thread's program position to the scheduler, so
 * that threads that diverged, or iterated more often, meet again in the same operations.
 *
 * A program position is a list of words that grows along a thread's path and is compared word by
 * word: the position in the function, in topological order; inside a loop, the loop's position, the
 * iteration number, and so on inwards. Threads are at the same operation if their positions are
 * equal, and a thread never reaches a position lower than its own: when all wait, the lowest may
 * continue. Calls are inserted into the code as clang's front end left it, before optimisation,
 * which may then copy and move it freely. */
#ifndef HAL_MSL_FISSION_POSITIONS_H
#define HAL_MSL_FISSION_POSITIONS_H

#include "hal/compiler/msl/fission/ir.h"

/* Inserts a call of __msl_position(words, count), which the module defines, before each simd
 * operation of `function`, into which everything was inlined. */
void msl_positions_add(LLVMModuleRef module, ir_value function);

/* Whether any function of the module has such operations. */
bool msl_positions_are_needed(LLVMModuleRef module);

#endif
