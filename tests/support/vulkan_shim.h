/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan loader before the system's: it hands all calls on, counts some, and makes some fail on
 * demand. A test loads it before the driver looks for libvulkan.so.1, which it says to be. */
#ifndef TESTS_SUPPORT_VULKAN_SHIM_H
#define TESTS_SUPPORT_VULKAN_SHIM_H

#include <stdatomic.h>
#include <stdint.h>

enum { VULKAN_SHIM_BARRIERS = 64 };

struct vulkan_shim_barrier {
    uint32_t source_stages, target_stages;
    uint32_t memory_count, buffer_count;
    uint32_t source_access, target_access; /* of the first of them */
    uint64_t offset, bytes;                /* of a buffer */
};

struct vulkan_shim {
    /* Counted. */
    atomic_uint barriers, signals, waits, resets, timestamps, submissions, dispatches;
    atomic_uint last_command_buffers;                      /* of the last vkQueueSubmit */
    struct vulkan_shim_barrier list[VULKAN_SHIM_BARRIERS]; /* the first ones since barriers was 0 */

    /* What calls return, instead of going on; 0: they do. */
    atomic_int allocate_result, submit_result, wait_result;
    atomic_int fills_wrongly; /* vkCmdFillBuffer at an offset that is not allowed */
};

/* The one symbol besides Vulkan's. */
typedef struct vulkan_shim *vulkan_shim_get(void);

#endif
