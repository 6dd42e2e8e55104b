/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises call stacks that a thread has walked before by the memory that contains them.
 *
 * A walk costs a few hundred nanoseconds, and programs submit from the same places repeatedly. An
 * entry is what a walk depended on: the location of each frame's return address and caller's frame
 * pointer, and the values there. While all of them are unchanged, so is the stack. They are
 * compared from the innermost frame outwards, so that a location is read only once it is known to
 * be part of a frame still.
 *
 * A cache belongs to one thread. On platforms with unknown frame layout nothing is ever found. */
#ifndef CAPTURE_UNWIND_CACHE_H
#define CAPTURE_UNWIND_CACHE_H

#include <stdint.h>

struct capture_unwind_cache;

/* The number of the stack that ends at `frame` (the caller's own); 0: not found. NULL: no cache. */
uint32_t capture_unwind_cache_find(struct capture_unwind_cache *cache, const void *frame);

/* Call after a walk from the function with that frame, which found the return addresses `frames`
 * (the function's own callers among the last) and the number `id`. Keeps some of them. */
void capture_unwind_cache_add(struct capture_unwind_cache **cache, const void *frame,
                              void *const *frames, int count, uint32_t id);

void capture_unwind_cache_free(struct capture_unwind_cache *cache); /* accepts NULL */

#endif
