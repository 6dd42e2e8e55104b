/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the addresses of call stacks, from the trace's modules as found on this machine; a
 * module that is missing or of another build has none. One thread at a time. */
#ifndef VIEWER_STACKS_H
#define VIEWER_STACKS_H

#include "viewer/model/model.h"

struct view_stacks;

/* Opens each module when one of its addresses is first requested. HAL_NO_MEMORY. */
enum hal_status view_stacks_create(const struct view_model *model,
                                   struct view_stacks **out_stacks) HAL_CHECKED;
void view_stacks_destroy(struct view_stacks *stacks);

/* "function+0x12  libx.so", "libx.so+0x1234" or "0x7f0012345678"; `stacks` NULL: one of the latter
 * two. `address` is a return address, which follows its call. */
void view_stacks_name(struct view_stacks *stacks, const struct view_model *model, uint64_t address,
                      char *out, size_t bytes);

#endif
