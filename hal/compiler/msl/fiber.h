/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: threads of execution that one operating-system thread switches between by hand. Private
 * to hal/compiler/msl. A fiber stays on the thread that first ran it: compilers keep addresses of
 * thread-local variables across calls. */
#ifndef HAL_MSL_FIBER_H
#define HAL_MSL_FIBER_H

#include "hal/base/status.h"

#include <stddef.h>

enum { MSL_FIBER_STACK_BYTES = 128 << 10 };

/* Where a fiber, or the thread that started them, was left. All zero before first use. */
struct msl_fiber {
    void *stack_pointer;
    void *fake_stack;         /* address sanitizer */
    const void *stack_bottom; /* lowest address of its stack */
    size_t stack_bytes;
    void *shadow; /* thread sanitizer */
};

/* Address space for the stacks of `count` fibers, each with a guard page below; committed as it
 * is touched. */
struct msl_stacks {
    char *memory;
    size_t count;
};
enum hal_status msl_stacks_create(size_t count, struct msl_stacks *out_stacks) HAL_CHECKED;
void msl_stacks_destroy(struct msl_stacks *stacks);

/* Makes `fiber` begin at `run` when it is switched to next, on stack `index`. `run` never
 * returns: it ends with msl_fiber_leave. */
void msl_fiber_prepare(struct msl_fiber *fiber, const struct msl_stacks *stacks, size_t index,
                       void (*run)(void));
/* To be called first in `run`. */
void msl_fiber_entered(struct msl_fiber *previous);
/* Leaves `from` where it is and continues `to`; returns when somebody switches back. */
void msl_fiber_switch(struct msl_fiber *from, struct msl_fiber *to);
/* The same for a fiber that will not be continued. */
void msl_fiber_leave(struct msl_fiber *from, struct msl_fiber *to);
void msl_fiber_finish(struct msl_fiber *fiber);

#endif
