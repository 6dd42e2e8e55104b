/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that changes the phase from FREE owns the copier until it is FREE again. While it is
 * OPEN the copier's threads may enter: a thread that increments the count and then still sees the
 * same OPEN state may access the content, which stays until the count is zero. */
#include "capture/stream/copier.h"

#include "capture/stream/threads.h"
#include "hal/base/message.h"

#include <signal.h>

enum phase {
    FREE,
    FILLING,
    OPEN,
    PHASES = 4,
};

static bool change(struct capture_copier *copier, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&copier->state, &from, to);
}

static void copy_parts(struct capture_stream *stream, bool beside)
{
    struct capture_copier *copier = &stream->copier;
    uint64_t at;
    while ((at = atomic_fetch_add(&copier->next, CAPTURE_COPIER_PART_BYTES)) < copier->bytes) {
        const uint64_t left = copier->bytes - at;
        const uint64_t bytes = left < CAPTURE_COPIER_PART_BYTES ? left : CAPTURE_COPIER_PART_BYTES;
        if (!capture_stage_at(stream, copier->position + at, copier->data + at, bytes, beside))
            atomic_store(&copier->failed, true);
    }
}

/* Takes part in the content that was seen open. */
static void help(struct capture_stream *stream, uint32_t seen)
{
    struct capture_copier *copier = &stream->copier;
    atomic_fetch_add(&copier->inside, 1);
    if (atomic_load(&copier->state) == seen)
        copy_parts(stream, true);
    if (atomic_fetch_sub(&copier->inside, 1) == 1)
        hal_word_wake(&copier->inside, 1);
}

/* What it reads is the application's, which may fill it when it is touched. */
static void let_faults_through(void)
{
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
}

/* Takes one part of what is expected; false: none left. */
static bool prepare_part(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    const uint64_t expected = atomic_load(&copier->expected);
    uint64_t at = atomic_load(&copier->prepared);
    do {
        if (at >= expected)
            return false;
    } while (
        !atomic_compare_exchange_weak(&copier->prepared, &at, at + CAPTURE_COPIER_READY_BYTES));
    capture_staging_prepare(&stream->staging, at, CAPTURE_COPIER_READY_BYTES);
    return true;
}

static void *run(void *argument)
{
    struct capture_stream *stream = argument;
    struct capture_copier *copier = &stream->copier;
    let_faults_through();
    while (!atomic_load(&copier->ending)) {
        const uint32_t seen = atomic_load(&copier->state);
        if (seen % PHASES == OPEN)
            help(stream, seen);
        else if (prepare_part(stream))
            continue;
        if (!atomic_load(&copier->ending))
            hal_word_wait(&copier->state, seen, HAL_FOREVER);
    }
    return NULL;
}

/* Called by the owner: another thread, maybe bound to fewer processors, may start them. */
static bool start(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    if (copier->started || hal_processor_count() < copier->processors)
        return copier->thread_count > 0;
    const struct hal_kept_message kept = hal_keep_message();
    while (copier->thread_count < copier->thread_limit &&
           hal_thread_start("hal-copies", run, stream, &copier->threads[copier->thread_count]) ==
               HAL_OK)
        copier->thread_count++;
    hal_restore_message(&kept, HAL_FAILED);
    copier->started = true;
    return copier->thread_count > 0;
}

/* Adds to what is expected, which is never more than all of the staging. */
static bool expect(struct capture_stream *stream, uint64_t bytes)
{
    struct capture_copier *copier = &stream->copier;
    const uint64_t budget = stream->policy.budget_bytes;
    const uint64_t most = budget && budget < stream->staging.bytes ? budget : stream->staging.bytes;
    uint64_t expected = atomic_load(&copier->expected), sum;
    do {
        if (expected >= most)
            return false;
        sum = bytes < most - expected ? expected + bytes : most;
    } while (!atomic_compare_exchange_weak(&copier->expected, &expected, sum));
    return true;
}

/* While another thread has the copier, its threads are at work, or about to be. */
void capture_copier_expect(struct capture_stream *stream, uint64_t bytes)
{
    struct capture_copier *copier = &stream->copier;
    if (!copier->thread_limit || stream->policy.contents != CAPTURE_BYTES ||
        bytes < CAPTURE_COPIER_LEAST_BYTES || !expect(stream, bytes))
        return;
    const uint32_t seen = atomic_load(&copier->state);
    if (seen % PHASES != FREE || !change(copier, seen, seen + FILLING))
        return;
    start(stream);
    atomic_store(&copier->state, seen + PHASES);
    hal_word_wake(&copier->state, INT32_MAX);
}

bool capture_copier_begin(struct capture_stream *stream, const void *data, uint64_t bytes,
                          uint64_t *out_position)
{
    struct capture_copier *copier = &stream->copier;
    const uint32_t seen = atomic_load(&copier->state);
    if (!copier->thread_limit || bytes < CAPTURE_COPIER_LEAST_BYTES || seen % PHASES != FREE ||
        !change(copier, seen, seen + FILLING))
        return false;
    if (!start(stream)) {
        atomic_store(&copier->state, seen);
        return false;
    }
    copier->position = *out_position = capture_staging_claim(&stream->staging, bytes);
    copier->data = data;
    copier->bytes = bytes;
    atomic_store(&copier->next, 0);
    atomic_store(&copier->failed, false);
    atomic_store(&copier->state, seen + OPEN);
    hal_word_wake(&copier->state, INT32_MAX);
    return true;
}

/* Waits until no thread accesses the content. If the threads are waiting for room, so is it. */
static void await_others(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    const bool has_room = capture_staging_ready(&stream->staging, copier->position, copier->bytes);
    const int64_t begin_ns = hal_clock_ns();
    uint32_t inside;
    while ((inside = atomic_load(&copier->inside)) > 0)
        hal_word_wait(&copier->inside, inside, HAL_FOREVER);
    if (!has_room)
        capture_count_stall(stream, begin_ns);
}

bool capture_copier_finish(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    copy_parts(stream, false);
    const uint32_t closed = atomic_fetch_sub(&copier->state, OPEN - FILLING) - (OPEN - FILLING);
    await_others(stream);
    const bool failed = atomic_load(&copier->failed);
    atomic_store(&copier->state, closed - FILLING + PHASES);
    return !failed;
}

void capture_copier_end(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    atomic_store(&copier->ending, true);
    atomic_fetch_add(&copier->state, PHASES); /* else one might go to sleep on what it saw */
    hal_word_wake(&copier->state, INT32_MAX);
    for (uint32_t i = 0; i < copier->thread_count; i++)
        hal_thread_join(copier->threads[i]);
    copier->thread_count = 0;
}
