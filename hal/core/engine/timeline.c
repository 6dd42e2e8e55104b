/* SPDX-License-Identifier: Apache-2.0 */
/* What a semaphore is by itself: a value that rises, a failure; and the ends of threads' waits. */
#include "hal/base/mem.h"
#include "hal/core/engine/parts.h"

#include <inttypes.h>

pthread_mutex_t hal_engine_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Values ------------------------------------------------------------------------------- */

void hal_timeline_init(struct hal_semaphore *semaphore, uint64_t initial_value)
{
    hal_object_init(&semaphore->object, HAL_OBJECT_SEMAPHORE);
    semaphore->initial_value = initial_value;
    atomic_init(&semaphore->value, initial_value);
}

void hal_timeline_finish(struct hal_semaphore *semaphore)
{
    free(semaphore->message);
}

/* Locked: of one that has failed, its status and message. */
static enum hal_status failure_of(const struct hal_semaphore *semaphore)
{
    return hal_fail(semaphore->failure, "%s", semaphore->message ? semaphore->message : "");
}

enum hal_status hal_timeline_query(const struct hal_semaphore *semaphore, uint64_t *out_value)
{
    const uint64_t value = hal_timeline_value(semaphore);
    if (value != UINT64_MAX) {
        *out_value = value;
        return HAL_OK;
    }
    pthread_mutex_lock(&hal_engine_lock);
    const enum hal_status status = failure_of(semaphore);
    pthread_mutex_unlock(&hal_engine_lock);
    return status;
}

bool hal_timeline_fail(struct hal_semaphore *semaphore, enum hal_status status, const char *message)
{
    const uint64_t before = hal_timeline_value(semaphore);
    if (before == UINT64_MAX)
        return false;
    semaphore->reached = before;
    semaphore->failure = status;
    semaphore->message = hal_copy_string(message);
    atomic_store_explicit(&semaphore->value, UINT64_MAX, memory_order_release);
    return true;
}

/* A value only increases. `what` continues "it has reached 7 and". */
static enum hal_status check_rise(const struct hal_semaphore *semaphore, const char *what,
                                  uint64_t value)
{
    const uint64_t now = hal_timeline_value(semaphore);
    if (now == UINT64_MAX || value > now)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID, "%s has reached %" PRIu64 " and %s %" PRIu64,
                    hal_object_name(&semaphore->object, name), now, what, value);
}

enum hal_status hal_timeline_check_signal(const struct hal_semaphore *semaphore, uint64_t value)
{
    if (hal_timeline_value(semaphore) == UINT64_MAX)
        return failure_of(semaphore);
    return check_rise(semaphore, "cannot be set to", value);
}

enum hal_status hal_timeline_check_submission(const struct hal_submission *submission)
{
    for (size_t i = 0; i < submission->signal_count; i++)
        HAL_TRY(check_rise(submission->signals[i].semaphore, "no submission can set it to",
                           submission->signals[i].value));
    return HAL_OK;
}

enum hal_status hal_timeline_raise(struct hal_semaphore *semaphore, uint64_t value)
{
    const uint64_t now = hal_timeline_value(semaphore);
    char name[HAL_OBJECT_NAME_BYTES];
    if (now == UINT64_MAX)
        return HAL_OK;
    if (value <= now) /* submitted when it was lower */
        return hal_fail(HAL_INVALID,
                        "a submission signalled %s with %" PRIu64 " when it had reached %" PRIu64,
                        hal_object_name(&semaphore->object, name), value, now);
    atomic_store_explicit(&semaphore->value, value, memory_order_release);
    return HAL_OK;
}

enum hal_status hal_timeline_fail_busy(uint64_t submission, const struct hal_semaphore *semaphore,
                                       uint64_t value)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (!semaphore)
        return hal_fail(HAL_TIMEOUT, "submission %" PRIu64 " is still running", submission);
    return hal_fail(HAL_TIMEOUT,
                    "submission %" PRIu64 " waits for %s to reach %" PRIu64 ", it is at %" PRIu64,
                    submission, hal_object_name(&semaphore->object, name), value,
                    hal_timeline_value(semaphore));
}

/* ---- Waiting threads ---------------------------------------------------------------------- */

bool hal_wait_set_is_fulfilled(const struct hal_wait_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const uint64_t now = hal_timeline_value(set->values[i].semaphore);
        const bool reached = now != UINT64_MAX && now >= set->values[i].value;
        if (reached != (set->mode == HAL_WAIT_ALL))
            return reached;
    }
    return set->mode == HAL_WAIT_ALL;
}

bool hal_wait_set_is_resolved(const struct hal_wait_set *set, enum hal_status *out_status)
{
    const struct hal_semaphore *failed = NULL;
    size_t failures = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct hal_semaphore *semaphore = set->values[i].semaphore;
        if (hal_timeline_value(semaphore) != UINT64_MAX)
            continue;
        failed = failed ? failed : semaphore;
        failures++;
    }
    if (failed && (set->mode == HAL_WAIT_ALL || failures == set->count)) {
        *out_status = failure_of(failed);
        return true;
    }
    *out_status = HAL_OK;
    return hal_wait_set_is_fulfilled(set);
}

/* A wait for any value continues for the others after a semaphore has failed, perhaps in vain: its
 * timeout names the failure. */
static enum hal_status add_failure(enum hal_status status, const struct hal_wait_set *set)
{
    char name[HAL_OBJECT_NAME_BYTES];
    for (size_t i = 0; i < set->count; i++) {
        const struct hal_semaphore *const semaphore = set->values[i].semaphore;
        if (hal_timeline_value(semaphore) == UINT64_MAX)
            return hal_add_context(status, "%s has failed (%s)",
                                   hal_object_name(&semaphore->object, name),
                                   semaphore->message ? semaphore->message : "");
    }
    return status;
}

/* The message names the first value that is not reached. */
enum hal_status hal_wait_set_fail_timeout(const struct hal_wait_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct hal_semaphore_value *wanted = &set->values[i];
        const uint64_t now = hal_timeline_value(wanted->semaphore);
        char name[HAL_OBJECT_NAME_BYTES];
        if (now < wanted->value)
            return add_failure(
                hal_fail(HAL_TIMEOUT, "%s did not reach %" PRIu64 " in time, it is at %" PRIu64,
                         hal_object_name(&wanted->semaphore->object, name), wanted->value, now),
                set);
    }
    return hal_fail(HAL_TIMEOUT, "the semaphores did not reach their values in time");
}
