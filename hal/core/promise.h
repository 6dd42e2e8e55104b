/* SPDX-License-Identifier: Apache-2.0 */
/* Promises: the semaphore values that submitted work will signal, and what it waits for first. The
 * pool asks before it lets an alloca wait for a dealloca that the application did not name: will
 * that dealloca finish, whatever the application does next?
 *
 * A value *comes by itself* if it has been reached, or if an accepted submission signals it and all
 * values that this submission waits for come by themselves. A failed semaphore counts as reached,
 * since it delays nothing. Other values depend on what the application does later, a host signal or
 * a submission, which may wait for the alloca. An alloca may still wait for them if it waits for
 * the same values anyway: it cannot run before they are reached.
 *
 * Promises are tracked for all devices, since semaphores may belong to others, from the process's
 * first limit on. Work submitted before is unknown: its signals count once they are reached.
 *
 * Threads: any; promises_lock is a leaf. */
#ifndef HAL_PROMISE_H
#define HAL_PROMISE_H

#include "hal/core/completion.h"

struct hal_promise;

/* Starts tracking, permanently. */
void hal_promises_keep(void);
bool hal_promises_are_kept(void);

/* Call before passing the submission to the chain: takes over its `retired` and `user`. NULL: out
 * of memory; nothing was changed or promised. */
struct hal_promise *hal_promise_begin(struct hal_submission *submission);

/* Call afterwards; accepts NULL. */
void hal_promise_end(struct hal_promise *promise, bool accepted);

/* One or more queries for work that waits for `waits`; holds promises_lock from begin to end. */
struct hal_question {
    uint64_t number;
    char missing[HAL_OBJECT_NAME_BYTES]; /* a semaphore whose value does not come; "": none */
    uint64_t missing_value;
};

void hal_question_begin(struct hal_question *question, const struct hal_semaphore_value *waits,
                        size_t wait_count);
bool hal_question_ask(struct hal_question *question, struct hal_semaphore *semaphore,
                      uint64_t value);
void hal_question_end(void);

/* Call when the semaphore is destroyed: frees what promises know of it. */
void hal_promises_forget(struct hal_semaphore *semaphore);

#endif
