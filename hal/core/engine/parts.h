/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the submission engine share: semaphore.c knows who waits for a value, wait.c
 * the threads that do, work.c the submissions, loss.c lost devices, call.c host calls. */
#ifndef HAL_ENGINE_PARTS_H
#define HAL_ENGINE_PARTS_H

#include "hal/core/engine/engine.h"

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

enum hal_status hal_work_call(struct hal_work *work) HAL_CHECKED;
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
