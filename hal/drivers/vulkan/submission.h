/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions, between submission.c, which knows what they wait for and what they owe, and queue.c,
 * which has those that are with the device. */
#ifndef HAL_VULKAN_SUBMISSION_H
#define HAL_VULKAN_SUBMISSION_H

#include "hal/drivers/vulkan/vulkan.h"

struct vulkan_submission {
    struct vulkan_device *device;
    uint64_t id, sequence;
    struct hal_link ready, on_queue;
    struct vulkan_submission *next_blocked;
    struct vulkan_submission *next_in_flight, *previous_in_flight, *next_abandoned;
    struct vulkan_queue *queue;
    uint64_t number;     /* that it raises its queue's timeline to; 0: it is not with the device */
    size_t missing;      /* waits that are neither reached nor promised */
    bool is_work;        /* there are commands */
    bool is_guarded;     /* nobody knows beforehand whether it will do well */
    bool is_exclusive;   /* one of its programs runs once at a time */
    bool holds_programs; /* nobody else runs those */
    bool is_abandoned;   /* the device still has what it holds */
    struct vulkan_slot *slot;
    struct vulkan_host_call host;
    struct hal_buffer *buffer; /* of the host call; retained */
    enum hal_status status;
    char *message;
    int64_t ready_ns, begin_ns, end_ns;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    size_t wait_count, signal_count, command_count;
    struct vulkan_wait *waits;
    struct vulkan_promise *signals;
    struct hal_command_buffer **commands;
    struct vulkan_program **programs; /* of the command buffers, or made to be timed */
    struct hal_dispatch_time *times;
    size_t time_count;
    uint64_t *after; /* per queue: the number that it waits for on the device */
};

/* Takes the status, unless it has failed already; the message is copied. */
void vulkan_submission_fail(struct vulkan_submission *submission, enum hal_status status,
                            const char *message);

/* It has ended, or will never begin. What is ready by that is added to the list, for
 * vulkan_go_on. */
void vulkan_submission_retire(struct vulkan_submission *submission, struct hal_line *ready);

/* Hands it to the device (queue.c), whose thread retires it. On failure it is not there. */
enum hal_status vulkan_queue_commit(struct vulkan_submission *submission,
                                    struct hal_line *ready) HAL_CHECKED;

#endif
