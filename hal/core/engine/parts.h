/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the submission engine share: timeline.c has the rules of a value, semaphore.c
 * knows who waits for one, wait.c the threads that do, work.c the submissions, loss.c lost devices,
 * call.c the threads for host calls. */
#ifndef HAL_ENGINE_PARTS_H
#define HAL_ENGINE_PARTS_H

#include "hal/core/engine/engine.h"

/* ---- Timelines (timeline.c) --------------------------------------------------------------- */

/* Prepares a zeroed struct, hal_object_init included; frees what the struct refers to. */
void hal_timeline_init(struct hal_semaphore *semaphore, uint64_t initial_value);
void hal_timeline_finish(struct hal_semaphore *semaphore);

/* semaphore_query as a whole; takes the lock of one that has failed. */
enum hal_status hal_timeline_query(const struct hal_semaphore *semaphore,
                                   uint64_t *out_value) HAL_CHECKED;

/* Locked: false when it had failed before, which stays as it was. */
bool hal_timeline_fail(struct hal_semaphore *semaphore, enum hal_status status,
                       const char *message);

/* Locked: the rules for values that the host sets, and for those of a new submission:
 * a value only rises. HAL_INVALID: the message names the semaphore, its value and the other one; or
 * the host's semaphore's failure. What the submission finds failed stays so. */
enum hal_status hal_timeline_check_signal(const struct hal_semaphore *semaphore,
                                          uint64_t value) HAL_CHECKED;
enum hal_status hal_timeline_check_submission(const struct hal_submission *submission) HAL_CHECKED;

/* Locked: sets the value, which one that has failed does not take. HAL_INVALID: it is not higher;
 * the caller fails the semaphore with hal_message(), for nobody is there to be told. */
enum hal_status hal_timeline_raise(struct hal_semaphore *semaphore, uint64_t value) HAL_CHECKED;

/* Locked, for wait_idle: HAL_TIMEOUT, since the submission waits for the value; NULL: it runs. */
enum hal_status hal_timeline_fail_busy(uint64_t submission, const struct hal_semaphore *semaphore,
                                       uint64_t value) HAL_CHECKED;

/* The values that a thread waits for. */
struct hal_wait_set {
    enum hal_wait_mode mode;
    const struct hal_semaphore_value *values;
    size_t count;
};

/* Without the lock; false negatives are possible. */
bool hal_wait_set_is_fulfilled(const struct hal_wait_set *set);

/* Locked: true when the wait is over; *out_status is then its result. */
bool hal_wait_set_is_resolved(const struct hal_wait_set *set, enum hal_status *out_status);

/* HAL_TIMEOUT; the message names the first value that is not reached. */
enum hal_status hal_wait_set_fail_timeout(const struct hal_wait_set *set) HAL_CHECKED;

/* ---- Semaphores (semaphore.c); locked ----------------------------------------------------- */

void hal_wait_link_locked(struct hal_wait *wait);
void hal_wait_unlink_locked(struct hal_wait *wait); /* nothing, if it is not linked */

/* Looks whether work that was committed promises the value, for a submission that waits on the
 * device. */
bool hal_wait_is_promised_locked(const struct hal_wait *wait);

void hal_signal_link_locked(struct hal_signal *signal, struct hal_changes *changes);
void hal_signal_unlink_locked(struct hal_signal *signal);

/* A value that is not above the present one fails the semaphore. */
void hal_semaphore_raise_locked(struct hal_semaphore *semaphore, uint64_t value,
                                struct hal_changes *changes);
void hal_semaphore_break_locked(struct hal_semaphore *semaphore, enum hal_status status,
                                const char *message, struct hal_changes *changes);

/* ---- Waiting threads (wait.c) ------------------------------------------------------------- */

struct hal_waiter {
    _Atomic uint32_t word; /* 1: look again; slept on */
    size_t missing;        /* locked, as what follows: values before it is woken */
    struct hal_waiter *next, *previous;
};

void hal_waiter_reached_locked(struct hal_waiter *waiter, struct hal_changes *changes);
void hal_waiter_wake_locked(struct hal_waiter *waiter, struct hal_changes *changes);
void hal_changes_wake(struct hal_changes *changes);

/* ---- Submissions (work.c) ----------------------------------------------------------------- */

/* Locked; the wait is unlinked already, except by the promise. */
void hal_work_reached_locked(struct hal_wait *wait, struct hal_changes *changes);
void hal_work_promised_locked(struct hal_wait *wait, struct hal_changes *changes);
void hal_work_refused_locked(struct hal_wait *wait, struct hal_changes *changes);

/* Locked: all in flight on the device that was lost. */
void hal_work_lose_all_locked(struct hal_engine *engine, struct hal_changes *changes);

/* ---- Host calls (call.c) ------------------------------------------------------------------ */

void hal_callers_init(struct hal_callers *callers);
void hal_callers_finish(struct hal_callers *callers);

/* ---- Loss (loss.c) ------------------------------------------------------------------------ */

/* A submission is to begin; true: the device is to be lost. */
bool hal_injection_submission(struct hal_injection *injection);

static inline struct hal_engine *to_engine(struct hal_driver_device *device)
{
    return (struct hal_engine *)device;
}

#endif
