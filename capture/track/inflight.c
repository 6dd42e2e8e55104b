/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which finished work the host can know of. */
#include "capture/track/inflight.h"

#include "hal/base/mem.h"

/* A program that never looks at a semaphore keeps no more than so many finished submissions here:
 * the oldest are forgotten, which only loses read-backs to verify. */
enum { MAX_KEPT = 65536 };

/* More are not looked through at each submission. */
enum { MAX_SEARCHED = 256, MAX_PASSES = 64 };

/* ---- Semaphores ---- */

struct capture_semaphore *capture_semaphore_create(uint64_t value)
{
    struct capture_semaphore *semaphore = malloc(sizeof *semaphore);
    if (semaphore) {
        atomic_init(&semaphore->references, 1);
        atomic_init(&semaphore->reached, value);
        atomic_init(&semaphore->recorded, value);
        atomic_init(&semaphore->promised, value);
        atomic_init(&semaphore->has_failed, false);
        semaphore->external_id = 0;
    }
    return semaphore;
}

void capture_semaphore_release(struct capture_semaphore *semaphore)
{
    if (semaphore &&
        atomic_fetch_sub_explicit(&semaphore->references, 1, memory_order_acq_rel) == 1)
        free(semaphore);
}

static struct capture_signal retain_signal(const struct capture_inflight *inflight,
                                           const struct hal_semaphore_value *value)
{
    struct capture_semaphore *semaphore =
        capture_external_find(inflight->external, value->semaphore);
    if (semaphore)
        atomic_fetch_add_explicit(&semaphore->references, 1, memory_order_relaxed);
    return (struct capture_signal){semaphore, value->semaphore, value->value};
}

/* ---- Entries ---- */

void capture_inflight_init(struct capture_inflight *inflight)
{
    memset(inflight, 0, sizeof *inflight);
    capture_pool_init(&inflight->pool, sizeof(struct capture_submission));
    pthread_mutex_init(&inflight->list_lock, NULL);
}

/* *out_used: bytes of the entry's own memory. */
static bool reserve_arrays(struct capture_submission *entry,
                           const struct hal_submission *submission, size_t *out_used)
{
    const size_t signals = submission->wait_count + submission->signal_count;
    const size_t bytes = signals * sizeof *entry->signals +
                         (submission->command_count + 2) * sizeof *entry->accesses;
    uint8_t *memory = entry->own;
    *out_used = bytes;
    if (bytes > sizeof entry->own) {
        memory = entry->more = malloc(bytes);
        *out_used = 0;
    }
    entry->waits = (struct capture_signal *)(void *)memory;
    entry->signals = entry->waits + submission->wait_count;
    entry->accesses = (struct capture_access_ranges **)(void *)(entry->waits + signals);
    return memory != NULL;
}

static bool is_own(const struct capture_submission *entry,
                   const struct capture_access_ranges *accesses)
{
    const uintptr_t begin = (uintptr_t)entry->own;
    return (uintptr_t)accesses >= begin && (uintptr_t)accesses < begin + sizeof entry->own;
}

/* A short list is copied: the command buffer's own, often freed soon, need not outlive it. */
static struct capture_access_ranges *keep_accesses(struct capture_submission *entry,
                                                   struct capture_access_ranges *accesses,
                                                   size_t *used)
{
    const size_t bytes = sizeof *accesses + accesses->count * sizeof accesses->ranges[0];
    if (bytes > sizeof entry->own - *used)
        return capture_access_ranges_retain(accesses);
    struct capture_access_ranges *copy =
        (struct capture_access_ranges *)(void *)(entry->own + *used);
    atomic_init(&copy->references, 0);
    copy->count = accesses->count;
    memcpy(copy->ranges, accesses->ranges, accesses->count * sizeof accesses->ranges[0]);
    *used += bytes;
    return copy;
}

static void add_uses(struct capture_submission *entry, const struct hal_buffer *buffer,
                     uint64_t offset, uint64_t bytes, bool reads)
{
    struct capture_access_ranges *accesses =
        buffer ? capture_access_ranges_of(buffer, offset, bytes, reads) : NULL;
    if (accesses)
        entry->accesses[entry->access_count++] = accesses;
}

static void retain_parts(const struct capture_inflight *inflight, struct capture_submission *entry,
                         const struct hal_submission *submission, size_t used)
{
    for (size_t i = 0; i < submission->wait_count; i++)
        entry->waits[entry->wait_count++] = retain_signal(inflight, &submission->waits[i]);
    for (size_t i = 0; i < submission->signal_count; i++)
        entry->signals[entry->signal_count++] = retain_signal(inflight, &submission->signals[i]);
    if (submission->host.run)
        add_uses(entry, submission->buffer, submission->offset, submission->bytes,
                 !submission->host.writes);
    const struct hal_collective_work *work = submission->collective;
    if (work) {
        add_uses(entry, work->send, work->send_offset, work->send_bytes, true);
        add_uses(entry, work->receive, work->receive_offset, work->receive_bytes, false);
    }
    for (size_t i = 0; i < submission->command_count; i++) {
        struct capture_access_ranges *accesses = submission->commands[i]->object.layer_data;
        if (accesses)
            entry->accesses[entry->access_count++] = keep_accesses(entry, accesses, &used);
    }
}

static void free_entry(struct capture_inflight *inflight, struct capture_submission *entry)
{
    for (uint32_t i = 0; i < entry->wait_count; i++)
        capture_semaphore_release(entry->waits[i].semaphore);
    for (uint32_t i = 0; i < entry->signal_count; i++)
        capture_semaphore_release(entry->signals[i].semaphore);
    for (uint32_t i = 0; i < entry->access_count; i++) {
        if (!is_own(entry, entry->accesses[i]))
            capture_access_ranges_release(entry->accesses[i]);
    }
    free(entry->more);
    capture_pool_give(&inflight->pool, entry);
}

void capture_inflight_free(struct capture_inflight *inflight, struct capture_submission *list)
{
    while (list) {
        struct capture_submission *next = list->list;
        free_entry(inflight, list);
        list = next;
    }
}

/* ---- The list ---- */

/* Puts what came in since the last look in front of the list, newest first. */
static void take_incoming_locked(struct capture_inflight *inflight)
{
    struct capture_submission *chain =
        atomic_exchange_explicit(&inflight->incoming, NULL, memory_order_acquire);
    if (!chain)
        return;
    struct capture_submission *last = chain;
    while (last->list)
        last = last->list;
    last->list = inflight->list;
    inflight->list = chain;
}

static enum capture_submission_state state_of(const struct capture_submission *entry)
{
    return atomic_load_explicit(&entry->state, memory_order_acquire);
}

static bool has_ended(const struct capture_submission *entry)
{
    return state_of(entry) > CAPTURE_SUBMISSION_RUNS;
}

/* Takes the observed entries out of the list. */
static struct capture_submission *unlink_observed_locked(struct capture_inflight *inflight)
{
    struct capture_submission **link = &inflight->list, *taken = NULL;
    uint64_t count = 0;
    while (*link) {
        struct capture_submission *entry = *link;
        if (!entry->observed) {
            link = &entry->list;
            continue;
        }
        *link = entry->list;
        entry->list = taken;
        taken = entry;
        count++;
    }
    atomic_fetch_sub_explicit(&inflight->count, count, memory_order_relaxed);
    return taken;
}

static void forget_oldest(struct capture_inflight *inflight)
{
    pthread_mutex_lock(&inflight->list_lock);
    take_incoming_locked(inflight);
    uint64_t kept = 0;
    for (struct capture_submission *entry = inflight->list; entry; entry = entry->list)
        entry->observed = ++kept > MAX_KEPT / 2 && has_ended(entry);
    struct capture_submission *old = unlink_observed_locked(inflight);
    if (old)
        atomic_store(&inflight->forgot, true);
    pthread_mutex_unlock(&inflight->list_lock);
    capture_inflight_free(inflight, old);
}

void capture_inflight_finish(struct capture_inflight *inflight)
{
    take_incoming_locked(inflight);
    capture_inflight_free(inflight, inflight->list);
    capture_pool_finish(&inflight->pool);
    pthread_mutex_destroy(&inflight->list_lock);
}

static bool is_promised(const struct capture_signal *wait)
{
    const struct capture_semaphore *semaphore = wait->semaphore;
    return semaphore &&
           (atomic_load_explicit(&semaphore->promised, memory_order_acquire) >= wait->value ||
            atomic_load_explicit(&semaphore->recorded, memory_order_acquire) >= wait->value);
}

static bool waits_for_unpromised(const struct capture_submission *entry)
{
    for (uint32_t i = 0; i < entry->wait_count; i++) {
        if (!is_promised(&entry->waits[i]))
            return true;
    }
    return false;
}

/* True: that was news. */
static bool promise(struct capture_semaphore *semaphore, uint64_t value)
{
    uint64_t before = semaphore ? atomic_load(&semaphore->promised) : UINT64_MAX;
    while (before < value) {
        if (atomic_compare_exchange_weak(&semaphore->promised, &before, value))
            return true;
    }
    return false;
}

void capture_inflight_promise(struct capture_inflight *inflight,
                              const struct hal_submission *submission)
{
    for (size_t i = 0; i < submission->signal_count; i++)
        (void)promise(capture_external_find(inflight->external, submission->signals[i].semaphore),
                      submission->signals[i].value);
}

/* Its place in the trace may be before what is recorded from now on. */
static bool is_on_its_way(const struct capture_submission *entry)
{
    const enum capture_submission_state state = state_of(entry);
    return state == CAPTURE_SUBMISSION_RUNS ||
           (state == CAPTURE_SUBMISSION_COMES && entry->is_preceded);
}

/* Work promises its signals once everything that it waits for is promised. False: there are longer
 * chains than the passes resolve; the rest remains unknown for now. */
static bool promise_locked(struct capture_inflight *inflight)
{
    bool any = atomic_load(&inflight->open_count) > 0;
    for (int pass = 0; any && pass < MAX_PASSES; pass++) {
        any = false;
        for (const struct capture_submission *entry = inflight->list; entry; entry = entry->list) {
            if (!is_on_its_way(entry) || waits_for_unpromised(entry))
                continue;
            for (uint32_t i = 0; i < entry->signal_count; i++)
                any |= promise(entry->signals[i].semaphore, entry->signals[i].value);
        }
    }
    return !any;
}

struct capture_submission *capture_inflight_add(struct capture_inflight *inflight,
                                                const struct hal_submission *submission)
{
    struct capture_submission *entry = capture_pool_take(&inflight->pool);
    if (!entry)
        return NULL;
    size_t used;
    memset(entry, 0, offsetof(struct capture_submission, own));
    if (!reserve_arrays(entry, submission, &used)) {
        capture_pool_give(&inflight->pool, entry);
        return NULL;
    }
    if (atomic_fetch_add_explicit(&inflight->count, 1, memory_order_relaxed) % MAX_KEPT ==
        MAX_KEPT - 1)
        forget_oldest(inflight);
    retain_parts(inflight, entry, submission, used);
    entry->is_open = waits_for_unpromised(entry);
    if (entry->is_open)
        atomic_fetch_add(&inflight->open_count, 1);
    entry->number = atomic_fetch_add_explicit(&inflight->next_number, 1, memory_order_relaxed);
    struct capture_submission *first =
        atomic_load_explicit(&inflight->incoming, memory_order_relaxed);
    do
        entry->list = first;
    while (!atomic_compare_exchange_weak_explicit(&inflight->incoming, &first, entry,
                                                  memory_order_release, memory_order_relaxed));
    return entry;
}

/* ---- Observing ---- */

static void raise_reached_locked(struct capture_semaphore *semaphore, uint64_t value)
{
    if (semaphore && atomic_load_explicit(&semaphore->reached, memory_order_relaxed) < value)
        atomic_store_explicit(&semaphore->reached, value, memory_order_release);
}

static bool is_seen_locked(const struct capture_submission *entry)
{
    if (state_of(entry) == CAPTURE_SUBMISSION_REFUSED)
        return true;
    for (uint32_t i = 0; i < entry->signal_count; i++) {
        const struct capture_semaphore *semaphore = entry->signals[i].semaphore;
        if (semaphore && atomic_load_explicit(&semaphore->reached, memory_order_relaxed) >=
                             entry->signals[i].value)
            return true;
    }
    return false;
}

/* An observed submission implies that its waits were satisfied, which may imply older submissions.
 * One round suffices unless a wait was submitted before its signal. */
static bool spread_locked(struct capture_inflight *inflight)
{
    bool any = false;
    for (struct capture_submission *entry = inflight->list; entry; entry = entry->list) {
        if (entry->observed || !has_ended(entry) || !is_seen_locked(entry))
            continue;
        entry->observed = any = true;
        if (state_of(entry) == CAPTURE_SUBMISSION_REFUSED)
            continue;
        for (uint32_t i = 0; i < entry->wait_count; i++)
            raise_reached_locked(entry->waits[i].semaphore, entry->waits[i].value);
    }
    return any;
}

struct capture_submission *capture_inflight_see_value(struct capture_inflight *inflight,
                                                      struct capture_semaphore *semaphore,
                                                      uint64_t value)
{
    if (!semaphore || atomic_load_explicit(&semaphore->reached, memory_order_acquire) >= value)
        return NULL;
    pthread_mutex_lock(&inflight->list_lock);
    take_incoming_locked(inflight);
    raise_reached_locked(semaphore, value);
    while (spread_locked(inflight))
        continue;
    struct capture_submission *taken = unlink_observed_locked(inflight);
    pthread_mutex_unlock(&inflight->list_lock);
    return taken;
}

struct capture_submission *capture_inflight_see_all(struct capture_inflight *inflight,
                                                    uint64_t number)
{
    pthread_mutex_lock(&inflight->list_lock);
    take_incoming_locked(inflight);
    for (struct capture_submission *entry = inflight->list; entry; entry = entry->list) {
        entry->observed = entry->number < number && has_ended(entry);
        for (uint32_t i = 0; entry->observed && i < entry->signal_count; i++)
            raise_reached_locked(entry->signals[i].semaphore, entry->signals[i].value);
    }
    struct capture_submission *taken = unlink_observed_locked(inflight);
    pthread_mutex_unlock(&inflight->list_lock);
    return taken;
}

uint64_t capture_inflight_number(struct capture_inflight *inflight)
{
    return atomic_load(&inflight->next_number);
}

static void each_use(const struct capture_submission *entry,
                     void (*visit)(void *user, const struct capture_access_range *use), void *user)
{
    for (uint32_t i = 0; i < entry->access_count; i++) {
        for (uint32_t k = 0; k < entry->accesses[i]->count; k++)
            visit(user, &entry->accesses[i]->ranges[k]);
    }
}

void capture_inflight_watch(struct capture_inflight *inflight, struct capture_submission *entry,
                            struct capture_copies *copies)
{
    pthread_mutex_lock(&inflight->list_lock);
    entry->copies = copies;
    entry->next_watched = inflight->watched;
    entry->watched_link = &inflight->watched;
    if (inflight->watched)
        inflight->watched->watched_link = &entry->next_watched;
    inflight->watched = entry;
    pthread_mutex_unlock(&inflight->list_lock);
}

void capture_inflight_end(struct capture_inflight *inflight, struct capture_submission *entry,
                          void (*visit)(void *user, struct capture_submission *other), void *user)
{
    pthread_mutex_lock(&inflight->list_lock);
    *entry->watched_link = entry->next_watched;
    if (entry->next_watched)
        entry->next_watched->watched_link = entry->watched_link;
    entry->copies = NULL;
    for (struct capture_submission *other = inflight->watched; visit && other;
         other = other->next_watched) {
        if (state_of(other) == CAPTURE_SUBMISSION_RUNS)
            visit(user, other);
    }
    pthread_mutex_unlock(&inflight->list_lock);
}

/* The trace learns of a value before the driver's semaphore has it (submissions.c, semaphores.c),
 * unless another device raises it. */
static bool may_be_met(const struct capture_inflight *inflight, const struct capture_signal *wait)
{
    const struct capture_semaphore *semaphore = wait->semaphore;
    if (!semaphore || semaphore->external_id || atomic_load(&semaphore->has_failed))
        return true;
    return atomic_load_explicit(&semaphore->recorded, memory_order_acquire) >= wait->value ||
           (inflight->others_may_signal && inflight->others_may_signal());
}

/* `knows_promises`: what is not promised now is not. */
static enum capture_progress progress_of(const struct capture_inflight *inflight,
                                         const struct capture_submission *entry,
                                         bool knows_promises)
{
    const enum capture_submission_state state = state_of(entry);
    const bool comes = state == CAPTURE_SUBMISSION_COMES;
    enum capture_progress progress = comes ? CAPTURE_NOT_STARTED : CAPTURE_MAY_HAVE_STARTED;
    if (comes && !entry->is_preceded)
        return CAPTURE_HELD;
    for (uint32_t i = 0; state <= CAPTURE_SUBMISSION_RUNS && i < entry->wait_count; i++) {
        const struct capture_signal *wait = &entry->waits[i];
        if (may_be_met(inflight, wait))
            continue;
        if (knows_promises && !is_promised(wait))
            return CAPTURE_HELD;
        if (!inflight->starts_ahead)
            progress = CAPTURE_NOT_STARTED;
    }
    return progress;
}

bool capture_inflight_each_write(struct capture_inflight *inflight,
                                 const struct capture_submission *except,
                                 void (*visit)(void *user, const struct capture_access_range *use,
                                               enum capture_progress progress),
                                 void *user)
{
    pthread_mutex_lock(&inflight->list_lock);
    take_incoming_locked(inflight);
    const bool knows_promises = promise_locked(inflight);
    for (const struct capture_submission *entry = inflight->list; entry; entry = entry->list) {
        if (entry == except || state_of(entry) == CAPTURE_SUBMISSION_REFUSED)
            continue;
        const enum capture_progress progress = progress_of(inflight, entry, knows_promises);
        for (uint32_t i = 0; i < entry->access_count; i++) {
            const struct capture_access_ranges *accesses = entry->accesses[i];
            for (uint32_t k = 0; k < accesses->count; k++) {
                if (capture_access_range_writes(&accesses->ranges[k]))
                    visit(user, &accesses->ranges[k], progress);
            }
        }
    }
    pthread_mutex_unlock(&inflight->list_lock);
    return !atomic_load(&inflight->forgot);
}

bool capture_inflight_each_open_use(struct capture_inflight *inflight,
                                    void (*visit)(void *user,
                                                  const struct capture_access_range *use),
                                    void *user)
{
    /* What the host wrote before is seen by the thread that opens later: each searches after it has
     * registered. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&inflight->open_count) == 0)
        return true;
    if (atomic_load_explicit(&inflight->count, memory_order_relaxed) > MAX_SEARCHED)
        return false;
    pthread_mutex_lock(&inflight->list_lock);
    take_incoming_locked(inflight);
    for (const struct capture_submission *entry = inflight->list; entry; entry = entry->list) {
        if (entry->is_open && !has_ended(entry))
            each_use(entry, visit, user);
    }
    pthread_mutex_unlock(&inflight->list_lock);
    return true;
}
