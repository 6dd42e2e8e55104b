/* SPDX-License-Identifier: Apache-2.0 */
/* When each dispatch ran, if the device measured it. The file identifies a dispatch by its index in
 * a command buffer, which can be resolved only when everything was read. */
#include "hal/base/order.h"
#include "viewer/model/ingest.h"

enum hal_status view_ingest_dispatch_times(struct ingest *in,
                                           const struct trace_dispatch_times *event)
{
    HAL_TRY(VIEW_ROOM(in, times, event->time_count));
    for (uint32_t i = 0; i < event->time_count; i++) {
        struct dispatch_time time = {.submission = event->submission,
                                     .command_buffer = event->times[i].command_buffer,
                                     .dispatch = event->times[i].dispatch};
        if (view_ingest_times(in, event->times[i].begin_ns, event->times[i].end_ns, &time.begin_ns,
                              &time.end_ns))
            in->times[in->times_count++] = time;
    }
    in->model->isolated = in->model->isolated || (event->flags & TRACE_TIMES_ISOLATED);
    return HAL_OK;
}

/* Where the last dispatch was found: the next one most often follows it. */
struct place {
    uint32_t body, op; /* the position of dispatch number `dispatch` in the body */
    uint32_t dispatch;
};

/* Index into `ops` of a body's dispatch; VIEW_NO_REF: out of range. */
static uint32_t find_dispatch(const struct view_model *m, uint32_t body, uint32_t dispatch,
                              struct place *place)
{
    const struct view_body *b = &m->bodies[body];
    if (dispatch >= b->dispatch_count)
        return VIEW_NO_REF;
    if (place->body != body || place->dispatch > dispatch)
        *place = (struct place){.body = body, .dispatch = UINT32_MAX, .op = UINT32_MAX};
    while (place->dispatch != dispatch) {
        place->op++;
        place->dispatch += trace_is_dispatch(m->ops[m->segments[b->first_op + place->op]].kind);
    }
    return m->segments[b->first_op + place->op];
}

HAL_COMPARE_3(compare_dispatches, struct view_dispatch, begin_ns, submission, index)

HAL_COMPARE_3(compare_places, struct dispatch_time, submission, command_buffer, dispatch)

/* Sorted, so that every submission and every body is walked through once, in any file. */
enum hal_status view_ingest_finish_times(struct ingest *in)
{
    struct view_model *m = in->model;
    struct place place = {.body = UINT32_MAX};
    uint64_t before = 0; /* dispatches of the submission's earlier command buffers */
    uint32_t summed = 0; /* their number */
    if (!in->times_count)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(m, dispatches, in->times_count));
    qsort(in->times, in->times_count, sizeof *in->times, compare_places);
    for (size_t i = 0; i < in->times_count; i++) {
        const struct dispatch_time *time = &in->times[i];
        const uint32_t submission = view_model_submission(m, time->submission);
        const struct view_submission *s =
            submission == VIEW_NO_REF ? NULL : &m->submissions[submission];
        uint32_t op = VIEW_NO_REF;
        if (i == 0 || time->submission != in->times[i - 1].submission)
            before = summed = 0;
        if (s && time->command_buffer < s->commands_count) {
            const uint32_t *commands = m->submitted + s->first_commands;
            for (; summed < time->command_buffer; summed++)
                before += view_body(m, commands[summed])->dispatch_count;
            op = find_dispatch(m, m->command_buffers[commands[time->command_buffer]].body,
                               time->dispatch, &place);
        }
        if (op == VIEW_NO_REF || before + time->dispatch > UINT32_MAX) {
            m->summary.implausible++; /* of a command buffer that the file does not have */
            continue;
        }
        m->dispatches[m->dispatches_count++] =
            (struct view_dispatch){.begin_ns = time->begin_ns,
                                   .end_ns = time->end_ns,
                                   .submission = submission,
                                   .index = (uint32_t)before + time->dispatch,
                                   .op = op};
    }
    if (m->dispatches_count > 1)
        qsort(m->dispatches, m->dispatches_count, sizeof *m->dispatches, compare_dispatches);
    return HAL_OK;
}
