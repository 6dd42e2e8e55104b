/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores: a value that rises, the waits on it in order of their values, and threads
 * that wait for several. */
#include "hal/base/mem.h"
#include "hal/cpu/cpu.h"

#include <inttypes.h>
#include <stdio.h>

pthread_mutex_t cpu_timeline_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_before_fork(void)
{
    pthread_mutex_lock(&cpu_timeline_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&cpu_timeline_lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

void cpu_timeline_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

static uint64_t value_of(const struct cpu_semaphore *semaphore)
{
    return atomic_load_explicit(&semaphore->value, memory_order_acquire);
}

static bool has_failed(const struct cpu_semaphore *semaphore)
{
    return value_of(semaphore) == UINT64_MAX;
}

/* ---- Waits -------------------------------------------------------------------------------- */

/* Values mostly come in rising order: the search begins at the end. */
void cpu_wait_link_locked(struct cpu_wait *wait)
{
    struct cpu_semaphore *semaphore = wait->semaphore;
    struct cpu_wait *after = semaphore->last;
    while (after && after->value > wait->value)
        after = after->previous;
    wait->previous = after;
    wait->next = after ? after->next : semaphore->first;
    if (wait->next)
        wait->next->previous = wait;
    else
        semaphore->last = wait;
    if (after)
        after->next = wait;
    else
        semaphore->first = wait;
}

void cpu_wait_unlink_locked(struct cpu_wait *wait)
{
    struct cpu_semaphore *semaphore = wait->semaphore;
    if (!semaphore)
        return;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        semaphore->first = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    else
        semaphore->last = wait->previous;
    wait->semaphore = NULL;
}

/* ---- Waking ------------------------------------------------------------------------------- */

/* The thread may be gone when it is woken without the lock: then nobody sleeps on the word. */
static void wake_thread_locked(struct cpu_waiter *waiter, struct cpu_wakes *wakes)
{
    if (atomic_exchange(&waiter->word, 1) == 1)
        return;
    if (wakes->word_count == CPU_MAX_WAKES)
        hal_word_wake(&waiter->word, 1);
    else
        wakes->words[wakes->word_count++] = &waiter->word;
}

void cpu_wake_threads(const struct cpu_wakes *wakes)
{
    for (size_t i = 0; i < wakes->word_count; i++)
        hal_word_wake(wakes->words[i], 1);
}

static void reached_locked(struct cpu_wait *wait, struct cpu_wakes *wakes)
{
    struct cpu_waiter *waiter = wait->waiter;
    cpu_wait_unlink_locked(wait);
    if (waiter->missing == 0 || --waiter->missing > 0)
        return;
    if (waiter->submission)
        cpu_submission_ready_locked(waiter->submission, wakes);
    else
        wake_thread_locked(waiter, wakes);
}

static void never_reached_locked(struct cpu_wait *wait, struct cpu_wakes *wakes)
{
    struct cpu_waiter *waiter = wait->waiter;
    const struct cpu_semaphore *semaphore = wait->semaphore;
    cpu_wait_unlink_locked(wait);
    if (!waiter->submission) {
        wake_thread_locked(waiter, wakes);
    } else if (waiter->missing > 0) {
        waiter->missing = 0;
        cpu_submission_fail_locked(waiter->submission, semaphore);
        cpu_submission_ready_locked(waiter->submission, wakes);
    }
}

/* ---- Changes ------------------------------------------------------------------------------ */

void cpu_semaphore_fail_locked(struct cpu_semaphore *semaphore, enum hal_status status,
                               const char *message, struct cpu_wakes *wakes)
{
    if (has_failed(semaphore))
        return;
    semaphore->failure = status;
    semaphore->message = hal_copy_string(message);
    semaphore->last_value = value_of(semaphore);
    atomic_store_explicit(&semaphore->value, UINT64_MAX, memory_order_release);
    while (semaphore->first)
        never_reached_locked(semaphore->first, wakes);
}

void cpu_semaphore_raise_locked(struct cpu_semaphore *semaphore, uint64_t value,
                                struct cpu_wakes *wakes)
{
    const uint64_t before = value_of(semaphore);
    if (before == UINT64_MAX)
        return;
    if (value <= before) {
        char name[HAL_OBJECT_NAME_BYTES], message[256];
        snprintf(message, sizeof message,
                 "a submission signalled %s with %" PRIu64 " when it had reached %" PRIu64,
                 hal_object_name(&semaphore->base.object, name), value, before);
        cpu_semaphore_fail_locked(semaphore, HAL_INVALID, message, wakes);
        return;
    }
    atomic_store_explicit(&semaphore->value, value, memory_order_release);
    while (semaphore->first && semaphore->first->value <= value)
        reached_locked(semaphore->first, wakes);
}

/* The stored message is the failure's; under the timeline lock. */
static enum hal_status failure_locked(const struct cpu_semaphore *semaphore)
{
    return hal_fail(semaphore->failure, "%s", semaphore->message ? semaphore->message : "");
}

/* ---- Table entries ------------------------------------------------------------------------ */

enum hal_status cpu_semaphore_create(struct hal_driver_device *self, const char *label,
                                     uint64_t initial_value, struct hal_semaphore **out)
{
    HAL_TRY(hal_add_context(cpu_device_check(to_cpu_device(self)), "semaphore '%s'",
                            label ? label : ""));
    struct cpu_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    hal_object_init(&semaphore->base.object, HAL_OBJECT_SEMAPHORE);
    semaphore->base.initial_value = initial_value;
    atomic_init(&semaphore->value, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void cpu_semaphore_destroy(struct cpu_semaphore *semaphore)
{
    free(semaphore->message);
    free(semaphore);
}

enum hal_status cpu_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                    uint64_t *out_value)
{
    (void)self;
    struct cpu_semaphore *semaphore = to_cpu_semaphore(base);
    const uint64_t value = value_of(semaphore);
    if (value != UINT64_MAX) {
        *out_value = value;
        return HAL_OK;
    }
    pthread_mutex_lock(&cpu_timeline_lock);
    const enum hal_status status = failure_locked(semaphore);
    pthread_mutex_unlock(&cpu_timeline_lock);
    return status;
}

enum hal_status cpu_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                     uint64_t value)
{
    (void)self;
    struct cpu_semaphore *semaphore = to_cpu_semaphore(base);
    struct cpu_wakes wakes = {0};
    char name[HAL_OBJECT_NAME_BYTES];
    enum hal_status status = HAL_OK;
    pthread_mutex_lock(&cpu_timeline_lock);
    const uint64_t before = value_of(semaphore);
    if (before == UINT64_MAX)
        status = failure_locked(semaphore);
    else if (value <= before)
        status = hal_fail(HAL_INVALID, "%s has reached %" PRIu64 " and cannot be set to %" PRIu64,
                          hal_object_name(&base->object, name), before, value);
    else
        cpu_semaphore_raise_locked(semaphore, value, &wakes);
    pthread_mutex_unlock(&cpu_timeline_lock);
    cpu_queue_go_on(&wakes);
    return status;
}

void cpu_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                        enum hal_status status, const char *message)
{
    (void)self;
    struct cpu_wakes wakes = {0};
    pthread_mutex_lock(&cpu_timeline_lock);
    cpu_semaphore_fail_locked(to_cpu_semaphore(base), status, message, &wakes);
    pthread_mutex_unlock(&cpu_timeline_lock);
    cpu_queue_go_on(&wakes);
}

/* ---- Waiting threads ----------------------------------------------------------------------- */

struct wish {
    enum hal_wait_mode mode;
    const struct hal_semaphore_value *values;
    size_t count;
};

/* Without the lock: true when the wish is fulfilled for sure. */
static bool is_fulfilled(const struct wish *wish)
{
    for (size_t i = 0; i < wish->count; i++) {
        const uint64_t now = value_of(to_cpu_semaphore(wish->values[i].semaphore));
        const bool reached = now != UINT64_MAX && now >= wish->values[i].value;
        if (reached != (wish->mode == HAL_WAIT_ALL))
            return reached;
    }
    return wish->mode == HAL_WAIT_ALL;
}

/* True when waiting is over; *out_status is then what to return. */
static bool is_decided_locked(const struct wish *wish, enum hal_status *out_status)
{
    const struct cpu_semaphore *failed = NULL;
    size_t failures = 0;
    for (size_t i = 0; i < wish->count; i++) {
        const struct cpu_semaphore *semaphore = to_cpu_semaphore(wish->values[i].semaphore);
        if (!has_failed(semaphore))
            continue;
        failed = failed ? failed : semaphore;
        failures++;
    }
    if (failed && (wish->mode == HAL_WAIT_ALL || failures == wish->count)) {
        *out_status = failure_locked(failed);
        return true;
    }
    *out_status = HAL_OK;
    return is_fulfilled(wish);
}

/* The message names the first value that is not reached. */
static enum hal_status fail_timeout(const struct wish *wish)
{
    for (size_t i = 0; i < wish->count; i++) {
        const struct hal_semaphore_value *wanted = &wish->values[i];
        const uint64_t now = value_of(to_cpu_semaphore(wanted->semaphore));
        char name[HAL_OBJECT_NAME_BYTES];
        if (now < wanted->value)
            return hal_fail(HAL_TIMEOUT, "%s did not reach %" PRIu64 " in time, it is at %" PRIu64,
                            hal_object_name(&wanted->semaphore->object, name), wanted->value, now);
    }
    return hal_fail(HAL_TIMEOUT, "the semaphores did not reach their values in time");
}

static void register_locked(struct cpu_device *device, const struct wish *wish,
                            struct cpu_waiter *waiter, struct cpu_wait *waits)
{
    waiter->missing = 0;
    for (size_t i = 0; i < wish->count; i++) {
        struct cpu_semaphore *semaphore = to_cpu_semaphore(wish->values[i].semaphore);
        waits[i] = (struct cpu_wait){.value = wish->values[i].value, .waiter = waiter};
        const uint64_t now = value_of(semaphore);
        if (now == UINT64_MAX || now >= wish->values[i].value)
            continue;
        waits[i].semaphore = semaphore;
        cpu_wait_link_locked(&waits[i]);
        waiter->missing++;
    }
    if (wish->mode == HAL_WAIT_ANY)
        waiter->missing = 1;
    waiter->previous = NULL;
    waiter->next = device->first_thread;
    if (waiter->next)
        waiter->next->previous = waiter;
    device->first_thread = waiter;
}

static void unregister_locked(struct cpu_device *device, const struct wish *wish,
                              struct cpu_waiter *waiter, struct cpu_wait *waits)
{
    for (size_t i = 0; i < wish->count; i++)
        cpu_wait_unlink_locked(&waits[i]);
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        device->first_thread = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
}

static void poll_until(const struct cpu_waiter *waiter, int64_t deadline_ns)
{
    do {
        for (int i = 0; i < 16 && atomic_load(&waiter->word) == 0; i++)
            cpu_relax();
    } while (atomic_load(&waiter->word) == 0 && hal_clock_ns() < deadline_ns);
}

static void sleep_until(struct cpu_waiter *waiter, int64_t deadline_ns)
{
    while (atomic_load(&waiter->word) == 0) {
        const int64_t left_ns =
            deadline_ns == HAL_FOREVER ? HAL_FOREVER : deadline_ns - hal_clock_ns();
        if (left_ns <= 0)
            return;
        hal_word_wait(&waiter->word, 0, left_ns);
    }
}

/* Short work ends sooner than a thread falls asleep and wakes again: while the device works, a
 * thread polls first. Without that, another thread of the host has to come first, perhaps one that
 * was just woken on the processor that polling would hold. */
static enum hal_status wait_slowly(struct cpu_device *device, const struct wish *wish,
                                   struct cpu_wait *waits, int64_t deadline_ns)
{
    static const int64_t patience_ns = 10000;
    enum hal_status status;
    bool late = false;
    pthread_mutex_lock(&cpu_timeline_lock);
    while (!is_decided_locked(wish, &status)) {
        if (late || device->interrupted) {
            status = HAL_TIMEOUT;
            break;
        }
        struct cpu_waiter waiter = {0};
        const bool at_work = device->first_in_flight != NULL;
        register_locked(device, wish, &waiter, waits);
        pthread_mutex_unlock(&cpu_timeline_lock);
        if (at_work) {
            const int64_t patient_ns = hal_clock_ns() + patience_ns;
            poll_until(&waiter, patient_ns < deadline_ns ? patient_ns : deadline_ns);
        }
        sleep_until(&waiter, deadline_ns);
        late = deadline_ns != HAL_FOREVER && hal_clock_ns() >= deadline_ns;
        pthread_mutex_lock(&cpu_timeline_lock);
        unregister_locked(device, wish, &waiter, waits);
    }
    pthread_mutex_unlock(&cpu_timeline_lock);
    return status == HAL_TIMEOUT ? fail_timeout(wish) : status;
}

enum hal_status cpu_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                    const struct hal_semaphore_value *values, size_t count,
                                    int64_t timeout_ns)
{
    enum { FEW = 8 };
    const struct wish wish = {mode, values, count};
    if (is_fulfilled(&wish))
        return HAL_OK;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    struct cpu_wait few[FEW], *waits = few;
    if (count > FEW)
        waits = hal_alloc(count, sizeof *waits);
    if (!waits)
        return hal_fail(HAL_NO_MEMORY, "no memory to wait for %zu semaphores", count);
    const enum hal_status status = wait_slowly(to_cpu_device(self), &wish, waits, deadline_ns);
    if (waits != few)
        free(waits);
    return status;
}

void cpu_waits_interrupt(struct hal_driver_device *self, bool on)
{
    struct cpu_device *device = to_cpu_device(self);
    struct cpu_wakes wakes = {0};
    pthread_mutex_lock(&cpu_timeline_lock);
    device->interrupted = on;
    for (struct cpu_waiter *waiter = device->first_thread; on && waiter; waiter = waiter->next)
        wake_thread_locked(waiter, &wakes);
    pthread_cond_broadcast(&device->retired);
    pthread_mutex_unlock(&cpu_timeline_lock);
    cpu_wake_threads(&wakes);
}
