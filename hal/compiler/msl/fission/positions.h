/* SPDX-License-Identifier: Apache-2.0 */
/* For threads that run side by side: reports each thread's program position to the scheduler, so
 * that threads that have diverged, or iterated more often, meet in the same operations again.
 *
 * A program position is a list of words that grows along a thread's way, compared word by word: the
 * place in the function, in an order in which nothing follows what comes after it; inside a loop,
 * the loop's place, the number of the iteration, and so on inwards. Threads are at the same
 * operation when their positions are equal, and a thread with a greater position never comes to one
 * that is less: when all wait, the least may go on. Calls stand in the code as clang's front end
 * left it, and before it is optimised, which may copy and move it then as it likes. */
#ifndef HAL_MSL_FISSION_POSITIONS_H
#define HAL_MSL_FISSION_POSITIONS_H

#include "hal/compiler/msl/fission/ir.h"

/* Before each simd operation of `function`, into which everything was inlined, a call of
 * __msl_position(words, count), which the module defines. */
void msl_positions_add(LLVMModuleRef module, ir_value function);

/* Whether some function of the module has such operations. */
bool msl_positions_are_needed(LLVMModuleRef module);

#endif
