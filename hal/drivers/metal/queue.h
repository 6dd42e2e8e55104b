/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores and submissions: what waits for what, and how it becomes command buffers of Metal.
 * Private to the Metal driver. */
#ifndef HAL_METAL_QUEUE_H
#define HAL_METAL_QUEUE_H

#import "hal/drivers/metal/program.h"

/* Of all devices: a semaphore may be waited for and signalled by any of them. */
struct metal_shared {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a value rose, a semaphore failed, a submission left its device */
    struct metal_submission *retiring;
    struct metal_submission *first_watched, *last_watched; /* mark.m */
    uint64_t last_watch;
};
extern struct metal_shared metal_shared;

/* ---- Semaphores (semaphore.m) ------------------------------------------------------------- */

/* The host's value is what everybody asks; it rises when a submission has retired. The device waits
 * for marks of submissions instead. */
struct metal_semaphore {
    struct hal_semaphore base;
    struct metal_wait *waits;       /* shared lock; of submissions, for values not reached */
    struct metal_promise *promises; /* shared lock; of committed submissions */
};

/* A submission that waits for a value; shared lock. */
struct metal_wait {
    struct metal_semaphore *semaphore;
    uint64_t value;
    struct metal_submission *submission;
    struct metal_wait *next, *previous; /* the semaphore's, while `linked` */
    bool linked;                        /* the host has not seen the value yet */
    bool promised;                      /* committed work will signal it */
};

/* A submission that will signal a value; shared lock. */
struct metal_promise {
    struct metal_semaphore *semaphore;
    uint64_t value;
    struct metal_submission *submission;
    struct metal_promise *next, *previous; /* the semaphore's, while `linked` */
    bool linked;                           /* the submission is committed */
};

static inline struct metal_semaphore *to_metal_semaphore(struct hal_semaphore *semaphore)
{
    return (struct metal_semaphore *)semaphore;
}

enum hal_status metal_semaphore_create(struct hal_driver_device *self, const char *label,
                                       uint64_t initial_value, struct hal_semaphore **out);
void metal_semaphore_destroy(struct metal_semaphore *semaphore);
enum hal_status metal_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                      uint64_t *out_value);
enum hal_status metal_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t value);
void metal_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                          enum hal_status status, const char *message);
enum hal_status metal_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                      const struct hal_semaphore_value *values, size_t count,
                                      int64_t timeout_ns);

/* Under the shared lock. What they make ready is handed to the submitting thread; what they end
 * is added to the device's list of retiring submissions: unlock by metal_queue_unlock. */
void metal_semaphore_raise_locked(struct metal_semaphore *semaphore, uint64_t value);
void metal_semaphore_fail_locked(struct metal_semaphore *semaphore, enum hal_status status,
                                 const char *message);
void metal_promise_link_locked(struct metal_promise *promise);
void metal_promise_unlink_locked(struct metal_promise *promise);
void metal_wait_link_locked(struct metal_wait *wait);
void metal_wait_unlink_locked(struct metal_wait *wait);

/* The first of the values that is enough and that the device's own work promises; NULL: there is
 * none. What other devices promise is waited for on the host. */
const struct metal_promise *metal_promise_find_locked(const struct metal_device *device,
                                                      const struct metal_semaphore *semaphore,
                                                      uint64_t value);

/* ---- Marks (mark.m) ------------------------------------------------------------------------ */

/* How the device tells that a submission has run: the event reaches the value. Each is used by one
 * submission at a time, so that host and device can never disagree about its value. */
struct metal_mark {
    id<MTLSharedEvent> event;
    uint64_t value;
    struct metal_mark *next;      /* shared lock: free ones */
    struct metal_mark *next_made; /* all of the device; the submitting thread's */
};

/* Commits the command buffer that signals the submission's mark, and resolves the submission once
 * when that is done. False: there is no mark, and nothing was committed. */
bool metal_mark_commit(struct metal_submission *submission, id<MTLCommandBuffer> part) HAL_CHECKED;

/* What listens to marks. False: Metal has nothing that could. */
bool metal_marks_start(struct metal_device *device) HAL_CHECKED;
void metal_marks_stop(struct metal_device *device);

/* ---- Submissions (queue.m, commit.m) ------------------------------------------------------- */

struct metal_submission {
    struct metal_device *device;
    uint64_t id, sequence;
    uint32_t queue;
    struct hal_link ready, in_line; /* to be committed, or called; on its queue */
    struct metal_submission *next_retiring;
    struct metal_submission *next_in_flight, *previous_in_flight;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    /* Shared lock. */
    size_t unpromised; /* waits that nobody has promised to end: it cannot be committed */
    size_t unresolved; /* what keeps it from retiring: waits, command buffers, the commit itself */
    bool is_ready;     /* was handed to the submitting thread */
    bool is_retiring;  /* nothing can change how it ends */
    bool is_in_line;   /* was committed: its queue's line knows it, or did */
    enum hal_status status;
    char *message;
    int64_t ready_ns, begin_ns, end_ns, busy_ns;

    size_t wait_count, signal_count, command_count;
    struct metal_wait *waits;      /* their semaphores are retained */
    struct metal_promise *signals; /* their semaphores are retained */
    struct hal_host_call host;     /* instead of commands */
    struct hal_buffer *buffer;     /* of the host call; retained */
    uint64_t offset, bytes;
    struct metal_mark *mark; /* NULL: nothing is signalled, or it is not committed */
    uint64_t watch;          /* its number while its mark is not seen */
    struct metal_submission *next_watched, *previous_watched;
    struct hal_command_buffer **commands;
    id<MTLBuffer> *counts; /* by command buffer: of its indirect dispatches, or nil */

    /* Of a submission whose dispatches are to be timed, by command buffer; NULL: of another. Each
     * is filled by the thread that commits, then by the one that completes. */
    struct metal_part_times *times;
};

/* What was learnt of one command buffer's dispatches. */
struct metal_part_times {
    struct metal_samples samples;
    struct hal_dispatch_time *dispatches;
    size_t count;
};

enum hal_status metal_queue_submit(struct hal_driver_device *self,
                                   const struct hal_submission *source);
enum hal_status metal_wait_idle(struct hal_driver_device *self, int64_t timeout_ns);
void metal_waits_interrupt(struct hal_driver_device *self, bool on);

/* The steps of a submission, each in command buffers of its own. */
enum metal_part { METAL_PART_WAIT, METAL_PART_COMMANDS, METAL_PART_SIGNAL };

/* How a completed command buffer went; `index` is that of the commands in the batch (errors.m). */
enum hal_status metal_part_judge(const struct metal_submission *submission, enum metal_part which,
                                 size_t index, id<MTLCommandBuffer> part) HAL_CHECKED;

/* The thread that commits. */
enum hal_status metal_queue_start(struct metal_device *device) HAL_CHECKED;
void metal_queue_stop(struct metal_device *device);

/* Gives up the shared lock after a change, wakes the waiting threads and retires what has ended,
 * and what ends by that. The device may be gone afterwards, unless the caller keeps it. */
void metal_queue_unlock(void);

/* Under the shared lock: it is committed from now on, and retires after what was committed on its
 * queue before. */
void metal_submission_enter_line_locked(struct metal_submission *submission);

/* Under the shared lock. One thing less keeps the submission from retiring; it will end with this
 * failure, unless another one came first. */
void metal_submission_resolve_locked(struct metal_submission *submission);
void metal_submission_fail_locked(struct metal_submission *submission, enum hal_status status,
                                  const char *message);

/* Under the shared lock. It fails as soon as nothing of it runs, unless it has ended; what it still
 * waits for does not matter any more. */
void metal_submission_abandon_locked(struct metal_submission *submission, enum hal_status status,
                                     const char *message);

/* Under the shared lock: the wait is over for the host, or committed work promises it, or its
 * semaphore has failed. */
void metal_submission_reached_locked(struct metal_wait *wait);
void metal_submission_promised_locked(struct metal_wait *wait);
void metal_submission_refused_locked(struct metal_wait *wait);

/* ---- Lost devices (errors.m) --------------------------------------------------------------- */

/* Under the shared lock. HAL_DEVICE_LOST: nothing begins on the device any more, and what is in
 * flight fails. */
void metal_device_judge_locked(struct metal_device *device, enum hal_status status,
                               const char *why);

/* The same without the lock, for what is no submission; returns the status, with its message. */
enum hal_status metal_device_judge(struct metal_device *device, enum hal_status status) HAL_CHECKED;

/* Under the shared lock. HAL_DEVICE_LOST, with the cause. */
enum hal_status metal_device_check_locked(const struct metal_device *device) HAL_CHECKED;

/* On a lost device nobody shall wait for what the submission would signal. */
enum hal_status metal_queue_refuse_lost(struct metal_device *device,
                                        const struct hal_submission *source) HAL_CHECKED;

/* ---- Host calls (host.m) ------------------------------------------------------------------- */

/* Under the shared lock: its waits are over. Resolves the submission once. */
void metal_host_call_locked(struct metal_submission *submission);

#endif
