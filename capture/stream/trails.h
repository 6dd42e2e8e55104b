/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises call stacks that a thread has walked before by the memory that contains them.
 *
 * A walk costs a few hundred nanoseconds, and programs submit from the same places repeatedly. A
 * trail is what a walk depended on: the location of each frame's return address and caller's frame
 * pointer, and the values there. While all of them are unchanged, so is the stack. They are
 * compared from the innermost frame outwards, so that a location is read only once it is known to
 * be part of a frame still.
 *
 * Trails belong to one thread. On platforms with unknown frame layout nothing is ever found. */
#ifndef CAPTURE_TRAILS_H
#define CAPTURE_TRAILS_H

#include <stdint.h>

struct capture_trails;

/* The number of the stack that ends at `frame` (the caller's __builtin_frame_address(0)); 0: not
 * found. NULL: no trails. */
uint32_t capture_trails_find(struct capture_trails *trails, const void *frame);

/* Call after a walk from the function with that frame, which found the return addresses `frames`
 * (the function's own callers among the last) and the number `id`. Keeps some of them; none if out
 * of memory. */
void capture_trails_add(struct capture_trails **trails, const void *frame, void *const *frames,
                        int count, uint32_t id);

void capture_trails_free(struct capture_trails *trails); /* accepts NULL */

#endif
