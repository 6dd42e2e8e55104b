/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions, between submission.c, which starts them, and queue.c, which has those that are with
 * the device. */
#ifndef HAL_VULKAN_SUBMISSION_H
#define HAL_VULKAN_SUBMISSION_H

#include "hal/drivers/vulkan/vulkan.h"

struct vulkan_submission {
    struct hal_work work;
    struct vulkan_queue *queue;
    uint64_t number; /* that it raises its queue's timeline to; 0: it is not with the device */
    bool has_count_checks; /* only its end shows whether it succeeds */
    bool is_exclusive;     /* one of its programs runs once at a time */
    bool holds_programs;   /* nobody else runs those */
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

/* By command buffer: its program, or one that was made to be timed. */
static inline struct vulkan_program **vulkan_programs_of(const struct vulkan_submission *submission)
{
    return submission->work.extra;
}

/* Hands it to the device (queue.c), whose thread ends it. On failure it is not there. */
enum hal_status vulkan_queue_commit(struct vulkan_submission *submission,
                                    struct hal_changes *changes) HAL_CHECKED;

#endif
