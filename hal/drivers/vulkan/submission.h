/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by submission.c, which starts submissions, and queue.c, which tracks those in flight. */
#ifndef HAL_VULKAN_SUBMISSION_H
#define HAL_VULKAN_SUBMISSION_H

#include "hal/drivers/vulkan/vulkan.h"

struct vulkan_submission {
    struct hal_work work;
    struct vulkan_queue *queue;
    uint64_t
        number; /* value to which it raises its queue's timeline; 0: not passed to the device */
    bool has_count_checks; /* only its completion shows whether it succeeded */
    bool is_exclusive;     /* one of its programs can run only once at a time */
    bool holds_programs;   /* and holds those programs exclusively */
    struct vulkan_slot *slot;
    int64_t start_ns;
    struct vulkan_submission *next_abandoned;
};

static inline struct vulkan_submission *to_vulkan_submission(struct hal_work *work)
{
    return (struct vulkan_submission *)work;
}

static inline struct vulkan_device *vulkan_device_of(const struct vulkan_submission *submission)
{
    return (struct vulkan_device *)submission->work.engine;
}

/* By command buffer: its program, or one created for timing. */
static inline struct vulkan_program **vulkan_programs_of(const struct vulkan_submission *submission)
{
    return submission->work.extra;
}

/* Passes it to the device (queue.c), whose thread ends it. On failure it was not passed. */
enum hal_status vulkan_queue_commit(struct vulkan_submission *submission,
                                    struct hal_changes *changes) HAL_CHECKED;

#endif
