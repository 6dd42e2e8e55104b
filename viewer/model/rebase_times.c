/* SPDX-License-Identifier: Apache-2.0 */
/* Times count from the first event: a capture may have begun long before the program did anything
 * with a device, and nobody wants to read that offset off every axis. */
#include "viewer/model/build.h"

static void shift(int64_t *ns, int64_t by_ns)
{
    if (*ns != VIEW_NO_TIME)
        *ns -= by_ns;
}

static void shift_submission(struct view_submission *s, int64_t by_ns)
{
    shift(&s->ready_ns, by_ns);
    shift(&s->begin_ns, by_ns);
    shift(&s->end_ns, by_ns);
}

void view_build_rebase_times(struct view_model *model)
{
    const int64_t by_ns = model->first_ns;
    for (size_t i = 0; i < model->calls_count; i++) {
        model->calls[i].begin_ns -= by_ns;
        model->calls[i].end_ns -= by_ns;
    }
    for (size_t i = 0; i < model->failures_count; i++)
        shift(&model->failures[i].begin_ns, by_ns);
    for (size_t i = 0; i < model->submissions_count; i++)
        shift_submission(&model->submissions[i], by_ns);
    for (size_t i = 0; i < model->dispatches_count; i++) {
        model->dispatches[i].begin_ns -= by_ns;
        model->dispatches[i].end_ns -= by_ns;
    }
    for (size_t i = 0; i < model->command_buffers_count; i++) {
        shift(&model->command_buffers[i].create_ns, by_ns);
        shift(&model->command_buffers[i].end_ns, by_ns);
    }
    for (size_t i = 0; i < model->steps_count; i++)
        shift(&model->steps[i].time_ns, by_ns);
    for (size_t i = 0; i < model->transfers_count; i++) {
        model->transfers[i].begin_ns -= by_ns;
        model->transfers[i].end_ns -= by_ns;
    }
    for (size_t i = 0; i < model->pieces_count; i++)
        shift(&model->pieces[i].time_ns, by_ns);
    for (size_t i = 0; i < model->scopes_count; i++) {
        shift(&model->scopes[i].begin_ns, by_ns);
        shift(&model->scopes[i].end_ns, by_ns);
    }
    model->offset_ns = by_ns;
    model->last_ns -= by_ns;
    model->first_ns = 0;
}
