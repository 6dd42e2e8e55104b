/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what submissions had written when recorded: checked, kept, put into order. */
#include "replay/plan/decode.h"

#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>

enum hal_status replay_decode_written(struct replay_decoder *decoder,
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
    if (!HAL_GROW(plan->written, &plan->written_capacity, plan->written_count + 1))
        return replay_decode_no_memory("digests");
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

void replay_order_written(struct replay_plan *plan)
{
    if (plan->written_count)
        qsort(plan->written, plan->written_count, sizeof(struct trace_submission_outputs *),
              compare_records);
}
