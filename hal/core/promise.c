/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of the submissions in flight whose waits do not all come by themselves. The unconditional
 * promises of accepted submissions are one number per semaphore. */
#include "hal/core/promise.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

enum verdict { OPEN, COMES, NEVER };

struct hal_promise {
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
    bool is_accepted, has_retired; /* whichever is second frees the struct */
    bool is_linked;
    bool needs_others; /* other ranks, whose submissions are not known here */
    size_t wait_count, signal_count;

    /* For the question with this number. */
    uint64_t question;
    enum verdict verdict;
    size_t next;                /* next wait to examine */
    struct hal_promise *parent; /* on the way to it, or in a list */

    struct hal_semaphore_value values[]; /* waits, then signals; alive until it has retired */
};

/* Of a semaphore. */
struct hal_outlook {
    uint64_t promised; /* comes by itself */
    struct {
        uint64_t value;
        struct hal_promise *by;
    } * promises; /* in flight, by rising value, from `first` on */
    size_t first, count, capacity;
    uint64_t question, implied; /* what the asker waits for */
};

static pthread_mutex_t promises_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool are_kept;
static uint64_t question_count;

/* ---- A fork finds the lock free ------------------------------------------------------------- */

static void lock_before_fork(void)
{
    pthread_mutex_lock(&promises_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&promises_lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

void hal_promises_keep(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    atomic_store(&are_kept, true);
}

bool hal_promises_are_kept(void)
{
    return atomic_load_explicit(&are_kept, memory_order_relaxed);
}

/* ---- Outlooks ------------------------------------------------------------------------------- */

static struct hal_outlook *outlook_of_locked(struct hal_semaphore *semaphore)
{
    if (!semaphore->outlook)
        semaphore->outlook = hal_alloc(1, sizeof *semaphore->outlook);
    return semaphore->outlook;
}

void hal_promises_forget(struct hal_semaphore *semaphore)
{
    if (semaphore->outlook)
        free(semaphore->outlook->promises);
    free(semaphore->outlook);
    semaphore->outlook = NULL;
}

/* Index of the first promise of at least `value`. */
static size_t find_locked(const struct hal_outlook *outlook, uint64_t value)
{
    size_t low = outlook->first, high = outlook->first + outlook->count;
    HAL_BISECT(low, high, middle, outlook->promises[middle].value < value)
    return low;
}

static bool insert_locked(struct hal_outlook *outlook, uint64_t value, struct hal_promise *by)
{
    if (outlook->first > outlook->count) {
        memmove(outlook->promises, outlook->promises + outlook->first,
                outlook->count * sizeof *outlook->promises);
        outlook->first = 0;
    }
    const size_t end = outlook->first + outlook->count;
    if (!HAL_GROW(outlook->promises, &outlook->capacity, end + 1))
        return false;
    const size_t at = find_locked(outlook, value);
    memmove(outlook->promises + at + 1, outlook->promises + at,
            (end - at) * sizeof *outlook->promises);
    outlook->promises[at].value = value;
    outlook->promises[at].by = by;
    outlook->count++;
    return true;
}

static void remove_locked(struct hal_outlook *outlook, uint64_t value, const struct hal_promise *by)
{
    const size_t end = outlook->first + outlook->count;
    size_t at = find_locked(outlook, value);
    while (at < end && outlook->promises[at].by != by)
        at++;
    if (at == end)
        return;
    if (at == outlook->first)
        outlook->first++;
    else
        memmove(outlook->promises + at, outlook->promises + at + 1,
                (end - at - 1) * sizeof *outlook->promises);
    outlook->count--;
}

/* ---- Promises ------------------------------------------------------------------------------- */

static struct hal_semaphore_value *signals_of(struct hal_promise *promise)
{
    return promise->values + promise->wait_count;
}

static bool comes_by_itself_locked(const struct hal_semaphore_value *wanted)
{
    const struct hal_outlook *outlook = wanted->semaphore->outlook;
    return hal_timeline_value(wanted->semaphore) >= wanted->value ||
           (outlook && outlook->promised >= wanted->value);
}

static bool is_certain_locked(const struct hal_promise *promise)
{
    for (size_t i = 0; i < promise->wait_count; i++) {
        if (!comes_by_itself_locked(&promise->values[i]))
            return false;
    }
    return !promise->needs_others;
}

static void make_certain_locked(struct hal_promise *promise)
{
    const struct hal_semaphore_value *signals = signals_of(promise);
    for (size_t i = 0; i < promise->signal_count; i++) {
        struct hal_outlook *outlook = outlook_of_locked(signals[i].semaphore);
        if (outlook && outlook->promised < signals[i].value)
            outlook->promised = signals[i].value;
    }
}

static void unlink_locked(struct hal_promise *promise)
{
    const struct hal_semaphore_value *signals = signals_of(promise);
    for (size_t i = 0; i < promise->signal_count; i++) {
        if (signals[i].semaphore->outlook)
            remove_locked(signals[i].semaphore->outlook, signals[i].value, promise);
    }
    promise->is_linked = false;
}

/* Out of memory: no promise is made. */
static void link_locked(struct hal_promise *promise)
{
    const struct hal_semaphore_value *signals = signals_of(promise);
    promise->is_linked = true;
    for (size_t i = 0; i < promise->signal_count; i++) {
        struct hal_outlook *outlook = outlook_of_locked(signals[i].semaphore);
        if (outlook)
            (void)insert_locked(outlook, signals[i].value, promise);
    }
}

/* Its signals come next, or their failure. */
static void retired(void *user, const struct hal_submission_result *result)
{
    struct hal_promise *promise = user;
    void (*const next)(void *, const struct hal_submission_result *) = promise->retired;
    void *const next_user = promise->user;
    pthread_mutex_lock(&promises_lock);
    make_certain_locked(promise);
    if (promise->is_linked)
        unlink_locked(promise);
    promise->has_retired = true;
    const bool is_last = promise->is_accepted;
    pthread_mutex_unlock(&promises_lock);
    if (is_last)
        free(promise);
    next(next_user, result);
}

struct hal_promise *hal_promise_begin(struct hal_submission *submission)
{
    const size_t count = submission->wait_count + submission->signal_count;
    struct hal_promise *promise;
    promise = hal_alloc(1, sizeof *promise + count * sizeof promise->values[0]);
    if (!promise)
        return NULL;
    promise->retired = submission->retired;
    promise->user = submission->user;
    promise->needs_others = submission->operation == HAL_OPERATION_COLLECTIVE;
    promise->wait_count = submission->wait_count;
    promise->signal_count = submission->signal_count;
    if (submission->wait_count)
        memcpy(promise->values, submission->waits,
               submission->wait_count * sizeof promise->values[0]);
    if (submission->signal_count)
        memcpy(signals_of(promise), submission->signals,
               submission->signal_count * sizeof promise->values[0]);
    submission->retired = retired;
    submission->user = promise;
    return promise;
}

void hal_promise_end(struct hal_promise *promise, bool accepted)
{
    if (!promise)
        return;
    pthread_mutex_lock(&promises_lock);
    promise->is_accepted = true;
    const bool is_last = promise->has_retired || !accepted;
    if (!is_last && is_certain_locked(promise))
        make_certain_locked(promise);
    else if (!is_last)
        link_locked(promise);
    pthread_mutex_unlock(&promises_lock);
    if (is_last)
        free(promise);
}

/* ---- Questions ------------------------------------------------------------------------------ */

/* A promise of exactly the value, and not just of a higher one, is what brings it: only the host
 * or later work could come before. */
static struct hal_promise *find_exact_locked(const struct hal_outlook *outlook, uint64_t value)
{
    const size_t at = find_locked(outlook, value);
    const bool is_there =
        at < outlook->first + outlook->count && outlook->promises[at].value == value;
    return is_there ? outlook->promises[at].by : NULL;
}

/* Waiting for this implies waiting for everything before it. */
static void imply_locked(const struct hal_question *question,
                         const struct hal_semaphore_value *waited, struct hal_promise **list)
{
    struct hal_outlook *outlook = outlook_of_locked(waited->semaphore);
    if (!outlook)
        return;
    if (outlook->question != question->number)
        outlook->implied = 0;
    outlook->question = question->number;
    if (outlook->implied < waited->value)
        outlook->implied = waited->value;
    struct hal_promise *by = find_exact_locked(outlook, waited->value);
    if (!by || by->question == question->number)
        return;
    by->question = question->number;
    by->verdict = COMES;
    by->parent = *list;
    *list = by;
}

void hal_question_begin(struct hal_question *question, const struct hal_semaphore_value *waits,
                        size_t wait_count)
{
    struct hal_promise *list = NULL;
    pthread_mutex_lock(&promises_lock);
    *question = (struct hal_question){.number = ++question_count};
    for (size_t i = 0; i < wait_count; i++)
        imply_locked(question, &waits[i], &list);
    while (list) {
        const struct hal_promise *promise = list;
        list = promise->parent;
        for (size_t i = 0; i < promise->wait_count; i++)
            imply_locked(question, &promise->values[i], &list);
    }
}

static enum verdict never(struct hal_question *question, const struct hal_semaphore_value *wanted)
{
    hal_object_name(&wanted->semaphore->object, question->missing);
    question->missing_value = wanted->value;
    return NEVER;
}

/* OPEN: depends on *out_by. A promise that waits for itself does not come by itself. */
static enum verdict look_locked(struct hal_question *question,
                                const struct hal_semaphore_value *wanted,
                                struct hal_promise **out_by)
{
    const struct hal_outlook *outlook = wanted->semaphore->outlook;
    if (comes_by_itself_locked(wanted))
        return COMES;
    if (!outlook)
        return never(question, wanted);
    if (outlook->question == question->number && outlook->implied >= wanted->value)
        return COMES;
    const size_t at = find_locked(outlook, wanted->value);
    if (at == outlook->first + outlook->count)
        return never(question, wanted);
    struct hal_promise *by = outlook->promises[at].by;
    if (by->question == question->number && by->verdict != OPEN)
        return by->verdict;
    if (by->question == question->number || by->needs_others)
        return never(question, wanted);
    by->question = question->number;
    by->verdict = OPEN;
    by->next = 0;
    *out_by = by;
    return OPEN;
}

bool hal_question_ask(struct hal_question *question, struct hal_semaphore *semaphore,
                      uint64_t value)
{
    const struct hal_semaphore_value wanted = {semaphore, value};
    struct hal_promise *top = NULL, *by;
    enum verdict verdict = look_locked(question, &wanted, &top);
    if (top)
        top->parent = NULL;
    while (top) {
        verdict = top->next == top->wait_count
                      ? COMES
                      : look_locked(question, &top->values[top->next], &by);
        if (verdict == OPEN) {
            by->parent = top;
            top = by;
        } else if (verdict == COMES && top->next < top->wait_count) {
            top->next++;
        } else {
            top->verdict = verdict;
            top = top->parent;
        }
    }
    return verdict == COMES;
}

void hal_question_end(void)
{
    pthread_mutex_unlock(&promises_lock);
}
