/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions from the moment when they are passed to the driver until the host has observed their
 * completion.
 *
 * The host observes a submission when it sees a semaphore value that the submission signals, or one
 * that could only be reached after it. From then on the host may read what the submission wrote;
 * this module returns those ranges once per submission. Queues imply no order (hal.h), so only
 * semaphores count.
 *
 * A submission is *open* while it waits for a value that nothing has promised: the host may still
 * write what the submission reads, and release it later by a signal or another submission.
 *
 * Submitting takes no lock; observing takes one, only if the value is new. */
#ifndef CAPTURE_INFLIGHT_H
#define CAPTURE_INFLIGHT_H

#include "capture/encode/access_ranges.h"
#include "capture/stream/pool.h"
#include "capture/track/external.h"

/* The capture's state of a semaphore: its layer_data. */
struct capture_semaphore {
    _Atomic uint32_t references;
    /* The host knows that this value was reached. Written under the list's lock. */
    _Atomic uint64_t reached;
    /* The trace records the cause up to this value, and that it failed (external.c). */
    _Atomic uint64_t recorded;
    /* Submitted work raises it to this value without waiting for anything else. */
    _Atomic uint64_t promised;
    _Atomic bool has_failed;
    uint64_t external_id; /* of another device's semaphore */
};

struct capture_semaphore *capture_semaphore_create(uint64_t value);
void capture_semaphore_release(struct capture_semaphore *semaphore); /* accepts NULL */

enum capture_submission_state {
    CAPTURE_SUBMISSION_COMES, /* the driver has not received it */
    CAPTURE_SUBMISSION_RUNS,
    CAPTURE_SUBMISSION_DONE,
    CAPTURE_SUBMISSION_FAILED,
    CAPTURE_SUBMISSION_REFUSED, /* the driver refused it */
};

struct capture_signal {
    struct capture_semaphore *semaphore; /* retained */
    struct hal_semaphore *object;        /* alive until the submission has retired */
    uint64_t value;
};

/* One submission. The layer fills in its members after adding the submission; those for host calls
 * only for host calls. */
struct capture_submission {
    void *capture;
    uint64_t id;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
    uint32_t queue;

    struct capture_copies *copies; /* outputs.h; NULL: none, or the work has ended */
    struct capture_submission *next_watched, **watched_link; /* submissions that have copies */

    _Atomic uint32_t state; /* enum capture_submission_state */
    uint64_t number;        /* index of the submission in the capture */
    struct capture_submission *list;
    uint32_t wait_count, signal_count, access_count;
    bool observed;
    bool is_open;
    bool is_preceded; /* under tracked_lock: the trace has the host's preceding stores */
    void *more;       /* allocated if the arrays do not fit below */
    struct capture_signal *waits, *signals;
    struct capture_access_ranges **accesses; /* retained, or copies below */
    _Alignas(8) uint8_t own[160];            /* the arrays, and short lists of ranges */

    struct hal_host_call host; /* the application's */
    bool met;                  /* of a collective: its host call has begun */
    uint64_t buffer, offset;   /* of the host call */
    const char *path;          /* valid until the call returns */
    uint64_t file_offset;
    uint32_t file; /* the same as a string number */
};

struct capture_inflight {
    struct capture_external *external; /* NULL: all semaphores are the device's own */
    struct capture_pool pool;
    _Atomic(struct capture_submission *) incoming;
    _Atomic uint64_t count; /* submissions known here */
    _Atomic uint32_t open_count;
    _Atomic bool forgot; /* finished work that was never observed was dropped from the list */
    bool (*others_may_signal)(void); /* other devices may raise semaphores; NULL: none does */
    bool starts_ahead; /* the driver may start work before the host sees its waits end */
    _Atomic uint64_t next_number;
    pthread_mutex_t list_lock;
    struct capture_submission *list;    /* newest first */
    struct capture_submission *watched; /* submissions with copies: their work has not ended */
};

void capture_inflight_init(struct capture_inflight *inflight);
void capture_inflight_finish(struct capture_inflight *inflight);

/* Call before the driver receives it. NULL: out of memory. */
struct capture_submission *capture_inflight_add(struct capture_inflight *inflight,
                                                const struct hal_submission *submission);

/* Call right before the driver receives it. */
static inline void capture_inflight_hand_over(struct capture_submission *submission)
{
    atomic_store_explicit(&submission->state, CAPTURE_SUBMISSION_RUNS, memory_order_release);
}

/* The driver has accepted one that is not open; its entry may already be gone. */
void capture_inflight_promise(struct capture_inflight *inflight,
                              const struct hal_submission *submission);

/* The work has ended, or never began. The entry may be gone after this call. */
static inline void capture_inflight_retire(struct capture_inflight *inflight,
                                           struct capture_submission *submission,
                                           enum capture_submission_state state)
{
    if (submission->is_open)
        atomic_fetch_sub(&inflight->open_count, 1);
    atomic_store_explicit(&submission->state, state, memory_order_release);
}

/* The host has seen `value`, or that everything numbered below `number` is done. Returns the
 * submissions thereby observed, linked by `list`, or NULL, for capture_inflight_free. */
struct capture_submission *capture_inflight_see_value(struct capture_inflight *inflight,
                                                      struct capture_semaphore *semaphore,
                                                      uint64_t value);
struct capture_submission *capture_inflight_see_all(struct capture_inflight *inflight,
                                                    uint64_t number);
void capture_inflight_free(struct capture_inflight *inflight, struct capture_submission *list);

/* The number of the next submission: all earlier ones are "everything so far". */
uint64_t capture_inflight_number(struct capture_inflight *inflight);

/* Call before the driver receives it: `copies` are the entry's until capture_inflight_end. */
void capture_inflight_watch(struct capture_inflight *inflight, struct capture_submission *entry,
                            struct capture_copies *copies);

/* The work has ended, and nothing has observed it yet: takes `copies` out of the entry and calls
 * `visit`, with the list locked, for every other submission that the driver has and that still has
 * its own; `visit` NULL: no call. Unobserved finished work does not slow it down. */
void capture_inflight_end(struct capture_inflight *inflight, struct capture_submission *entry,
                          void (*visit)(void *user, struct capture_submission *other), void *user);

/* Whether a submission may have written already. */
enum capture_progress {
    /* The host's preceding stores are not recorded yet, or it waits for a value that nothing has
     * promised. It starts after what the caller records now, in a replay too. */
    CAPTURE_HELD,
    CAPTURE_NOT_STARTED, /* its waits cannot be satisfied yet, or the driver has not received it */
    CAPTURE_MAY_HAVE_STARTED,
};

/* Calls `visit` for every range that a submission other than `except` may write and of which the
 * host has observed nothing. False: there may be more, since old work was dropped. */
bool capture_inflight_each_write(struct capture_inflight *inflight,
                                 const struct capture_submission *except,
                                 void (*visit)(void *user, const struct capture_access_range *use,
                                               enum capture_progress progress),
                                 void *user);

/* Calls `visit` for every range that an open submission uses. False: that would take too long. */
bool capture_inflight_each_open_use(struct capture_inflight *inflight,
                                    void (*visit)(void *user,
                                                  const struct capture_access_range *use),
                                    void *user);

#endif
