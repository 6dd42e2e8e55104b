/* SPDX-License-Identifier: Apache-2.0 */
/* Checked memory of one launch: the kernel accesses every buffer, threadgroup argument, threadgroup
 * variable and member through addresses whose upper bits identify it. A pointer thus keeps its
 * origin through any arithmetic. Private to hal/compiler/msl; one per worker. */
#ifndef HAL_MSL_BOUNDS_H
#define HAL_MSL_BOUNDS_H

#include "hal/compiler/msl/include/msl/abi.h"
#include "hal/compiler/msl/msl.h"

enum { MSL_BOUNDS_MEMORIES = MSL_MAX_BUFFERS + MSL_MAX_THREADGROUP_ARGUMENTS + 1 };

struct msl_bounds {
    uint64_t base[MSL_BOUNDS_MEMORIES], bytes[MSL_BOUNDS_MEMORIES];
    /* Passed to the kernel. */
    void *buffers[MSL_MAX_BUFFERS];
    void *group_memory[MSL_MAX_THREADGROUP_ARGUMENTS];
    void *variables;
    /* Borrowed from the launch. */
    const struct msl_member *members;
    uint32_t member_count;
};

/* As in the launch; only entries in the masks are read. */
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

/* The address without its tag. NULL: part of it is out of bounds; the thread's message says so. */
void *msl_bounds_check(const struct msl_bounds *bounds, const void *address, uint64_t bytes,
                       bool is_write);

#endif
