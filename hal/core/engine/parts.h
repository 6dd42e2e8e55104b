/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the submission engine: timeline.c has the rules for values, semaphore.c
 * tracks waits per semaphore, wait.c handles waiting threads, work.c submissions, loss.c device
 * loss, call.c threads for host calls. */
#ifndef HAL_ENGINE_PARTS_H
#define HAL_ENGINE_PARTS_H

#include "hal/core/engine/engine.h"

/* ---- Timelines (timeline.c) --------------------------------------------------------------- */

/* Initialises a zeroed struct, including hal_object_init; frees what the struct refers to. */
void hal_timeline_init(struct hal_semaphore *semaphore, uint64_t initial_value);
void hal_timeline_finish(struct hal_semaphore *semaphore);

/* Implements semaphore_query; takes the lock of a failed semaphore. */
enum hal_status hal_timeline_query(const struct hal_semaphore *semaphore,
                                   uint64_t *out_value) HAL_CHECKED;

/* Locked: false if it had failed before, in which case it is unchanged. */
bool hal_timeline_fail(struct hal_semaphore *semaphore, enum hal_status status,
                       const char *message);

/* Locked: the rules for values set by the host and for those of a new submission: values only
 * increase. HAL_INVALID: the message names the semaphore, its value and the other one; for the
 * host, also the semaphore's failure. Submitting to a failed semaphore is no error. */
enum hal_status hal_timeline_check_signal(const struct hal_semaphore *semaphore,
                                          uint64_t value) HAL_CHECKED;
enum hal_status hal_timeline_check_submission(const struct hal_submission *submission) HAL_CHECKED;

/* Locked: sets the value, which has no effect on a failed semaphore. HAL_INVALID: it is not higher;
 * the caller fails the semaphore with hal_message(), since there is no call to return it from. */
enum hal_status hal_timeline_raise(struct hal_semaphore *semaphore, uint64_t value) HAL_CHECKED;

/* Locked, for wait_idle: HAL_TIMEOUT because the submission waits for the value; NULL: it runs. */
enum hal_status hal_timeline_fail_busy(uint64_t submission, const struct hal_semaphore *semaphore,
                                       uint64_t value) HAL_CHECKED;

/* The values that a thread waits for. */
struct hal_wait_set {
    enum hal_wait_mode mode;
    const struct hal_semaphore_value *values;
    size_t count;
};

/* Does not take the lock; false negatives are possible. */
bool hal_wait_set_is_fulfilled(const struct hal_wait_set *set);

/* Locked: true if the wait is over; *out_status is then its result. */
bool hal_wait_set_is_resolved(const struct hal_wait_set *set, enum hal_status *out_status);

/* HAL_TIMEOUT; the message names the first unreached value. */
enum hal_status hal_wait_set_fail_timeout(const struct hal_wait_set *set) HAL_CHECKED;

/* ---- Semaphores (semaphore.c); locked ----------------------------------------------------- */

void hal_wait_link_locked(struct hal_wait *wait);
void hal_wait_unlink_locked(struct hal_wait *wait); /* does nothing if it is not linked */

/* Whether committed work promises the value, for a submission that waits on the device. */
bool hal_wait_is_promised_locked(const struct hal_wait *wait);

void hal_signal_link_locked(struct hal_signal *signal, struct hal_changes *changes);
void hal_signal_unlink_locked(struct hal_signal *signal);

/* A value that is not above the current one fails the semaphore. */
void hal_semaphore_raise_locked(struct hal_semaphore *semaphore, uint64_t value,
                                struct hal_changes *changes);
void hal_semaphore_break_locked(struct hal_semaphore *semaphore, enum hal_status status,
                                const char *message, struct hal_changes *changes);

/* ---- Waiting threads (wait.c) ------------------------------------------------------------- */

struct hal_waiter {
    _Atomic uint32_t word; /* 1: check again; the thread sleeps on it */
    size_t missing;        /* locked, like the members below: values before it is woken */
    struct hal_waiter *next, *previous;
};

void hal_waiter_reached_locked(struct hal_waiter *waiter, struct hal_changes *changes);
void hal_waiter_wake_locked(struct hal_waiter *waiter, struct hal_changes *changes);
void hal_changes_wake(struct hal_changes *changes);

/* ---- Submissions (work.c) ----------------------------------------------------------------- */

/* Locked; the wait is already unlinked, except by the promise. */
void hal_work_reached_locked(struct hal_wait *wait, struct hal_changes *changes);
void hal_work_promised_locked(struct hal_wait *wait, struct hal_changes *changes);
void hal_work_refused_locked(struct hal_wait *wait, struct hal_changes *changes);

/* Locked: fails everything in flight on the lost device. */
void hal_work_lose_all_locked(struct hal_engine *engine, struct hal_changes *changes);

/* ---- Host calls (call.c) ------------------------------------------------------------------ */

void hal_callers_init(struct hal_callers *callers);
void hal_callers_finish(struct hal_callers *callers);

/* ---- Loss (loss.c) ------------------------------------------------------------------------ */

/* Call before a submission begins; true: lose the device. */
bool hal_injection_submission(struct hal_injection *injection);

static inline struct hal_engine *to_engine(struct hal_driver_device *device)
{
    return (struct hal_engine *)device;
}

#endif
