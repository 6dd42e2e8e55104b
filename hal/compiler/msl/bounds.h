/* SPDX-License-Identifier: Apache-2.0 */
/* Checked memory of one launch: every buffer, every threadgroup argument, the threadgroup variables
 * and every member are known to the kernel by addresses whose upper bits say which of them it is. A
 * pointer thus keeps what it was made from, whatever is computed with it. Private to
 * hal/compiler/msl; of one worker. */
#ifndef HAL_MSL_BOUNDS_H
#define HAL_MSL_BOUNDS_H

#include "hal/compiler/msl/include/msl/abi.h"
#include "hal/compiler/msl/msl.h"

enum { MSL_BOUNDS_MEMORIES = MSL_MAX_BUFFERS + MSL_MAX_THREADGROUP_ARGUMENTS + 1 };

struct msl_bounds {
    uint64_t base[MSL_BOUNDS_MEMORIES], bytes[MSL_BOUNDS_MEMORIES];
    /* What the kernel gets. */
    void *buffers[MSL_MAX_BUFFERS];
    void *group_memory[MSL_MAX_THREADGROUP_ARGUMENTS];
    void *variables;
    /* Borrowed from the launch. */
    const struct msl_member *members;
    uint32_t member_count;
};

/* As the launch has them; those in the masks are looked at. */
struct msl_bounds_memory {
    void *const *buffers;
    const uint64_t *buffer_bytes; /* NULL: buffers are not checked */
    uint32_t buffer_mask;
    void *const *group_memory;
    const uint32_t *group_bytes;
    uint32_t group_mask;
    void *variables;
    uint32_t variable_bytes;
    const struct msl_member *members;
    uint32_t member_count;
};
void msl_bounds_set(struct msl_bounds *bounds, const struct msl_bounds_memory *memory);

/* The address itself, without its tag. NULL: not all of it is inside, which the thread's message
 * then says. */
void *msl_bounds_check(const struct msl_bounds *bounds, const void *address, uint64_t bytes,
                       bool is_write);

#endif
