/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores: a value that rises, the waits on it in order of their values, and threads
 * that wait for several. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

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
    if (!hal_timeline_fail(&semaphore->base, status, message))
        return;
    while (semaphore->first)
        never_reached_locked(semaphore->first, wakes);
}

void cpu_semaphore_raise_locked(struct cpu_semaphore *semaphore, uint64_t value,
                                struct cpu_wakes *wakes)
{
    if (hal_timeline_value(&semaphore->base) == UINT64_MAX)
        return;
    if (hal_timeline_raise(&semaphore->base, value) != HAL_OK) {
        cpu_semaphore_fail_locked(semaphore, HAL_INVALID, hal_message(), wakes);
        return;
    }
    while (semaphore->first && semaphore->first->value <= value)
        reached_locked(semaphore->first, wakes);
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
    hal_timeline_init(&semaphore->base, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void cpu_semaphore_destroy(struct cpu_semaphore *semaphore)
{
    hal_timeline_finish(&semaphore->base);
    free(semaphore);
}

enum hal_status cpu_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                    uint64_t *out_value)
{
    (void)self;
    return hal_timeline_query(base, &cpu_timeline_lock, out_value);
}

enum hal_status cpu_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                     uint64_t value)
{
    (void)self;
    struct cpu_semaphore *semaphore = to_cpu_semaphore(base);
    struct cpu_wakes wakes = {0};
    enum hal_status status;
    pthread_mutex_lock(&cpu_timeline_lock);
    status = hal_timeline_check_signal(base, value);
    if (status == HAL_OK)
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

static void register_locked(struct cpu_device *device, const struct hal_wish *wish,
                            struct cpu_waiter *waiter, struct cpu_wait *waits)
{
    waiter->missing = 0;
    for (size_t i = 0; i < wish->count; i++) {
        struct cpu_semaphore *semaphore = to_cpu_semaphore(wish->values[i].semaphore);
        waits[i] = (struct cpu_wait){.value = wish->values[i].value, .waiter = waiter};
        const uint64_t now = hal_timeline_value(&semaphore->base);
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

static void unregister_locked(struct cpu_device *device, const struct hal_wish *wish,
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
static enum hal_status wait_slowly(struct cpu_device *device, const struct hal_wish *wish,
                                   struct cpu_wait *waits, int64_t deadline_ns)
{
    static const int64_t patience_ns = 10000;
    enum hal_status status;
    bool late = false;
    pthread_mutex_lock(&cpu_timeline_lock);
    while (!hal_wish_is_decided(wish, &status)) {
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
    return status == HAL_TIMEOUT ? hal_wish_fail_timeout(wish) : status;
}

enum hal_status cpu_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                    const struct hal_semaphore_value *values, size_t count,
                                    int64_t timeout_ns)
{
    enum { FEW = 8 };
    const struct hal_wish wish = {mode, values, count};
    if (hal_wish_is_fulfilled(&wish))
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
