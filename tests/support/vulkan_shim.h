/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan loader before the system's: it hands all calls on, counts some, and makes some fail on
 * demand. A test loads it before the driver looks for libvulkan.so.1, which it says to be. */
#ifndef TESTS_SUPPORT_VULKAN_SHIM_H
#define TESTS_SUPPORT_VULKAN_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { VULKAN_SHIM_BARRIERS = 64, VULKAN_SHIM_TEXTS = 64, VULKAN_SHIM_TEXT_BYTES = 64 };

struct vulkan_shim_barrier {
    uint32_t source_stages, target_stages;
    uint32_t memory_count, buffer_count;
    uint32_t source_access, target_access; /* of the first of them */
    uint64_t offset, bytes;                /* of a buffer */
};

/* The last of its kind. */
struct vulkan_shim_range {
    uint64_t offset, bytes;
};

/* What the device says of itself, in place of the truth. Set while no device is open. */
struct vulkan_shim_facts {
    const char *hidden_extension; /* that it does not have */
    uint32_t version;             /* of Vulkan */
    uint32_t driver_version;
    uint32_t uuid; /* of what it keeps, the first four bytes of that */
    bool has_no_timelines, has_no_int64;
    bool has_no_local; /* no memory that is its own and that the host sees */
    /* Two more types before its own, which the host sees: VULKAN_SHIM_LOOSE, VULKAN_SHIM_FAR. */
    bool has_more_memory;
    /* In place of its own: one queue that computes, VULKAN_SHIM_QUEUES that do, 16 that do not. */
    bool has_more_families;
    bool computes_nowhere;
    uint32_t storage_range, group_count, group_memory, pushed_bytes; /* limits */
    uint64_t allocation_bytes;                                       /* limit of one allocation */
    bool calibrates_poorly; /* ten milliseconds off, and says so, but for the third time */
    uint64_t late_ticks;    /* the first two timestamps that are read are so much older */
    uint64_t ticks_ahead;   /* of its clock */
};

enum {
    VULKAN_SHIM_LOOSE, /* not coherent, cached */
    VULKAN_SHIM_FAR,   /* coherent, not the device's own */
    VULKAN_SHIM_MORE_TYPES,
    VULKAN_SHIM_QUEUES = 4,
};

struct vulkan_shim {
    struct vulkan_shim_facts facts;
    /* What was asked for. */
    atomic_uint allocations, last_type; /* of device memory */
    bool has_local;                     /* memory of its own that the host sees, as facts has it */
    atomic_uint flushes, invalidations;
    struct vulkan_shim_range last_flush, last_invalidation;
    atomic_uint submitted[VULKAN_SHIM_QUEUES]; /* to each of the queues that there seem to be */
    uint32_t family, queues;                   /* of the last device */
    atomic_uint calibrations;
    bool can_calibrate;
    uint64_t least_deviation_ns; /* of those calibrations; what was said then: */
    uint64_t calibrated_ticks;   /* as the device has them */
    int64_t calibrated_ns;
    atomic_uint reads; /* of timestamps */
    uint64_t ticks[2]; /* the last two timestamps that were read, as the device has them */
    atomic_uint constants_pushed;          /* calls */
    atomic_uint names, labels, label_ends; /* of objects; of groups of commands */
    char name[VULKAN_SHIM_TEXTS][VULKAN_SHIM_TEXT_BYTES];
    char label[VULKAN_SHIM_TEXTS][VULKAN_SHIM_TEXT_BYTES];
    float last_color[4]; /* of a group */

    /* Counted. */
    atomic_uint barriers, signals, waits, resets, timestamps, submissions, dispatches;
    atomic_uint last_command_buffers, last_waits;          /* of the last vkQueueSubmit */
    struct vulkan_shim_barrier list[VULKAN_SHIM_BARRIERS]; /* the first ones since barriers was 0 */

    /* What calls return, instead of going on; 0: they do. */
    atomic_int allocate_result, submit_result, wait_result;
    atomic_bool holds_ends;   /* nobody learns that work has ended */
    atomic_int fills_wrongly; /* vkCmdFillBuffer at an offset that is not allowed */
};

/* The one symbol besides Vulkan's. */
typedef struct vulkan_shim *vulkan_shim_get(void);

#endif
