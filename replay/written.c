/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/written.h"

#include "hal/base/digest.h"
#include "hal/base/mem.h"

#include <inttypes.h>

/* ---- Loading ------------------------------------------------------------------------------- */

enum hal_status replay_written_take(struct replay_decoder *decoder,
                                    struct trace_submission_outputs *event)
{
    struct replay_plan *plan = decoder->plan;
    struct replay_object *unused_buffer;
    uint32_t unused;
    if (!hal_idmap_find(&decoder->submissions, event->submission, &unused))
        return hal_fail(HAL_CORRUPT, "there is no submission #s%" PRIu64, event->submission);
    for (uint32_t i = 0; i < event->output_count; i++) {
        struct trace_written *written = &event->outputs[i];
        HAL_TRY(replay_decode_range(decoder, &written->buffer, written->offset, written->size,
                                    &unused_buffer));
        plan->info.written_ranges++;
        plan->info.written_digests += written->state == TRACE_WRITTEN_KNOWN;
    }
    void *list = plan->written;
    if (!hal_grow(&list, &plan->written_capacity, plan->written_count + 1, sizeof *plan->written))
        return replay_decode_no_memory("digests");
    plan->written = list;
    plan->written[plan->written_count++] = event;
    return HAL_OK;
}

static int compare_records(const void *a, const void *b)
{
    const struct trace_submission_outputs *x = *(struct trace_submission_outputs *const *)a;
    const struct trace_submission_outputs *y = *(struct trace_submission_outputs *const *)b;
    if (x->submission != y->submission)
        return x->submission < y->submission ? -1 : 1;
    return x->head.ticket < y->head.ticket ? -1 : x->head.ticket > y->head.ticket;
}

void replay_written_settle(struct replay_plan *plan)
{
    if (plan->written_count)
        qsort(plan->written, plan->written_count, sizeof(struct trace_submission_outputs *),
              compare_records);
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static size_t first_of(const struct replay_plan *plan, uint64_t submission)
{
    size_t low = 0, high = plan->written_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (plan->written[middle]->submission < submission)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of all of the range: a player reads what it cannot map by one copy. */
static enum hal_status compare_range(struct replay_player *player,
                                     const struct trace_written *written, bool *out_same)
{
    uint8_t digest[TRACE_DIGEST_BYTES];
    const uint8_t *data;
    HAL_TRY(replay_memory_read(player, (uint32_t)written->buffer, written->offset, written->size,
                               &data));
    const enum hal_status status = hal_sha256(data, (size_t)written->size, digest);
    *out_same = status == HAL_OK && memcmp(digest, written->digest, sizeof digest) == 0;
    const enum hal_status ended = replay_memory_read_end(player);
    return status != HAL_OK ? status : ended;
}

/* A player's own bytes in place of the zeros that a buffer began with would differ everywhere. */
static bool is_comparable(const struct replay_player *player, const struct trace_written *written)
{
    return written->state == TRACE_WRITTEN_KNOWN && written->size && player->fill == 0 &&
           player->live[written->buffer].buffer;
}

enum hal_status replay_written_compare(struct replay_player *player, uint64_t submission,
                                       struct replay_written *written)
{
    const struct replay_plan *plan = player->plan;
    const bool exact = replay_tolerance_is_exact(&player->options.tolerance);
    for (size_t i = first_of(plan, submission);
         i < plan->written_count && plan->written[i]->submission == submission; i++) {
        for (uint32_t k = 0; k < plan->written[i]->output_count && !written->differs; k++) {
            const struct trace_written *range = &plan->written[i]->outputs[k];
            bool same;
            if (!is_comparable(player, range)) {
                written->unknown++;
                continue;
            }
            HAL_TRY(compare_range(player, range, &same));
            written->ranges++;
            written->bytes += range->size;
            written->unjudged += !same && !exact;
            if (same || !exact)
                continue;
            written->differs = true;
            written->first = (struct replay_touch){.buffer = range->buffer,
                                                   .begin = range->offset,
                                                   .end = range->offset + range->size};
        }
    }
    return HAL_OK;
}
