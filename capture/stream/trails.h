/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks that a thread has walked before, known again by the memory in which they lie.
 *
 * A walk costs a few hundred nanoseconds, and programs submit from the same place again and again.
 * A trail is what a walk depended on: where each frame keeps its return address and its caller's
 * frame pointer, and what is there. While all of that is as it was, so is the stack. It is compared
 * from the inner end to the outer one, so that each place is only read when it is known that it is
 * still part of a frame.
 *
 * Trails belong to one thread. Where it is not known how frames lie nothing is ever found. */
#ifndef CAPTURE_TRAILS_H
#define CAPTURE_TRAILS_H

#include <stdint.h>

struct capture_trails;

/* The number that belongs to the stack which `frame` (__builtin_frame_address(0) of the caller)
 * ends, or 0. NULL: no trails. */
uint32_t capture_trails_find(struct capture_trails *trails, const void *frame);

/* A walk from the function with that frame found the return addresses `frames` (its own callers are
 * among the last of them) and the number `id`. Now and then it is kept. Without memory it is not.
 */
void capture_trails_add(struct capture_trails **trails, const void *frame, void *const *frames,
                        int count, uint32_t id);

void capture_trails_free(struct capture_trails *trails); /* accepts NULL */

#endif
