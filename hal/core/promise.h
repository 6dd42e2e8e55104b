/* SPDX-License-Identifier: Apache-2.0 */
/* Promises: the semaphore values that submitted work will signal, and what it waits for before. The
 * pool asks before it lets an alloca wait for a dealloca that the application did not name: will
 * that dealloca finish, whatever the application does next?
 *
 * A value *comes by itself* when it has been reached, or when a submission that was accepted
 * signals it and all values that this one waits for come by themselves. A failed semaphore counts
 * as reached: it delays nobody. Other values depend on what the application does later, be it a
 * signal from the host or a submission, and that may wait for the alloca. An alloca may still wait
 * for them where it waits for the same values anyway: it cannot run before they come.
 *
 * Promises are kept from the first limit of the process on, of all devices: semaphores may belong
 * to others. Of work submitted before, they know nothing: its signals count when they are reached.
 *
 * Threads: any; promises_lock is a leaf. */
#ifndef HAL_PROMISE_H
#define HAL_PROMISE_H

#include "hal/core/completion.h"

struct hal_promise;

/* From now on, for good. */
void hal_promises_keep(void);
bool hal_promises_are_kept(void);

/* Before the submission is handed to the chain: takes its `retired` and `user` over. NULL: no
 * memory, nothing was changed and nothing is promised. */
struct hal_promise *hal_promise_begin(struct hal_submission *submission);

/* Afterwards; accepts NULL. */
void hal_promise_end(struct hal_promise *promise, bool accepted);

/* One or several questions of somebody who waits for `waits`; holds promises_lock in between. */
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

/* The semaphore goes: frees what promises know of it. */
void hal_promises_forget(struct hal_semaphore *semaphore);

#endif
