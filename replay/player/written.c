/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/player/written.h"

#include "hal/base/digest.h"
#include "hal/base/order.h"

#include <string.h>

static size_t first_of(const struct replay_plan *plan, uint64_t submission)
{
    size_t low = 0, high = plan->written_count;
    HAL_BISECT(low, high, middle, plan->written[middle]->submission < submission)
    return low;
}

/* Reads the whole range: a player reads what it cannot map with one copy. */
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
