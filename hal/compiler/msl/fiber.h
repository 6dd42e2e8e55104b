/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: threads of execution that one operating-system thread switches between explicitly.
 * Private to hal/compiler/msl. A fiber stays on the thread that first ran it, because compilers
 * keep addresses of thread-local variables across calls. */
#ifndef HAL_MSL_FIBER_H
#define HAL_MSL_FIBER_H

#include "hal/base/status.h"

#include <stddef.h>

enum { MSL_FIBER_STACK_BYTES = 128 << 10 };

/* The saved state of a fiber, or of the thread that started them. Initialise to zero. */
struct msl_fiber {
    void *stack_pointer;
    void *fake_stack;         /* address sanitizer */
    const void *stack_bottom; /* lowest address of its stack */
    size_t stack_bytes;
    void *shadow; /* thread sanitizer */
};

/* Address space for the stacks of `count` fibers, each above a guard page; committed on touch. */
struct msl_stacks {
    char *memory;
    size_t count;
};
enum hal_status msl_stacks_create(size_t count, struct msl_stacks *out_stacks) HAL_CHECKED;
void msl_stacks_destroy(struct msl_stacks *stacks);

/* Makes `fiber` start at `run`, on stack `index`, when it is next switched to. `run` must not
 * return: it ends with msl_fiber_leave. */
void msl_fiber_prepare(struct msl_fiber *fiber, const struct msl_stacks *stacks, size_t index,
                       void (*run)(void));
/* Call first in `run`. */
void msl_fiber_entered(struct msl_fiber *previous);
/* Suspends `from` and continues `to`; returns when switched back to. */
void msl_fiber_switch(struct msl_fiber *from, struct msl_fiber *to);
/* The same for a fiber that is never continued. */
void msl_fiber_leave(struct msl_fiber *from, struct msl_fiber *to);
void msl_fiber_finish(struct msl_fiber *fiber);

#endif
