/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever changes the state from FREE has the copier until it is FREE again; from OFFERED on its
 * thread may look at the content, and has left it for good when it is LEFT. */
#include "capture/copier.h"

#include "capture/stream.h"

enum state {
    FREE,
    FILLING,
    OFFERED,
    TAKEN,
    LEFT,
};

static bool change(struct capture_copier *copier, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong(&copier->state, &from, to);
}

static void copy_parts(struct capture_stream *stream, bool waits)
{
    struct capture_copier *copier = &stream->copier;
    uint64_t at;
    while ((at = atomic_fetch_add(&copier->next, CAPTURE_COPIER_PART_BYTES)) < copier->bytes) {
        const uint64_t left = copier->bytes - at;
        const uint64_t bytes = left < CAPTURE_COPIER_PART_BYTES ? left : CAPTURE_COPIER_PART_BYTES;
        if (!capture_stage_at(stream, copier->position + at, copier->data + at, bytes, waits))
            atomic_store(&copier->failed, true);
    }
}

static void *run(void *argument)
{
    struct capture_stream *stream = argument;
    struct capture_copier *copier = &stream->copier;
    while (!atomic_load(&copier->ending)) {
        const uint32_t seen = atomic_load(&copier->state);
        if (seen == OFFERED && change(copier, OFFERED, TAKEN)) {
            copy_parts(stream, false);
            atomic_store(&copier->state, LEFT);
            hal_word_wake(&copier->state, INT32_MAX);
        } else if (!atomic_load(&copier->ending)) {
            hal_word_wait(&copier->state, seen, HAL_FOREVER);
        }
    }
    return NULL;
}

/* By who has the copier. */
static bool start(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    if (copier->runs || copier->failed_to_start)
        return copier->runs;
    copier->runs = hal_thread_start("hal-copies", run, stream, &copier->thread) == HAL_OK;
    copier->failed_to_start = !copier->runs;
    return copier->runs;
}

bool capture_copier_begin(struct capture_stream *stream, const void *data, uint64_t bytes,
                          uint64_t *out_position)
{
    struct capture_copier *copier = &stream->copier;
    if (!copier->wanted || bytes < CAPTURE_COPIER_LEAST_BYTES || !change(copier, FREE, FILLING))
        return false;
    if (!start(stream)) {
        atomic_store(&copier->state, FREE);
        return false;
    }
    copier->position = *out_position = capture_staging_claim(&stream->staging, bytes);
    copier->data = data;
    copier->bytes = bytes;
    atomic_store(&copier->next, 0);
    atomic_store(&copier->failed, false);
    atomic_store(&copier->state, OFFERED);
    hal_word_wake(&copier->state, INT32_MAX);
    return true;
}

bool capture_copier_finish(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    copy_parts(stream, true);
    if (!change(copier, OFFERED, FILLING)) {
        while (atomic_load(&copier->state) == TAKEN)
            hal_word_wait(&copier->state, TAKEN, HAL_FOREVER);
    }
    const bool failed = atomic_load(&copier->failed);
    atomic_store(&copier->state, FREE);
    return !failed;
}

void capture_copier_end(struct capture_stream *stream)
{
    struct capture_copier *copier = &stream->copier;
    if (!copier->runs)
        return;
    atomic_store(&copier->ending, true);
    /* The word must change as well: the thread may be about to sleep on what it saw. */
    atomic_store(&copier->state, FILLING);
    hal_word_wake(&copier->state, INT32_MAX);
    hal_thread_join(copier->thread);
    copier->runs = false;
}
