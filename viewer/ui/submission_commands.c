/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of submissions, drawn over their execution: commands and the barriers between them.
 * If the device did not measure single dispatches, equal shares show only their order. */
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

enum { MAX_LOOKED_AT = 65536, MIN_SHARE = 3 };

/* A submission's commands while they are drawn. */
struct inside {
    const struct view_axis *axis;
    const struct view_submission *submission;
    uint64_t work, barriers, looked_at;
    int64_t share_ns; /* of a work command */
};

static bool look_at(struct inside *in)
{
    const struct view_model *m = in->axis->model;
    const struct view_submission *s = in->submission;
    const int64_t column_ns = in->axis->window.span_ns / in->axis->area.columns;
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const struct view_body *c = view_body(m, m->submitted[s->first_commands + k]);
        in->work += (uint64_t)c->dispatch_count + c->transfer_count;
        in->barriers += c->barrier_count;
        in->looked_at += c->op_count;
    }
    in->share_ns = in->work ? (s->end_ns - s->begin_ns) / (int64_t)in->work : 0;
    return in->share_ns >= MIN_SHARE * column_ns && in->share_ns > 0 &&
           in->looked_at <= MAX_LOOKED_AT;
}

static void write_if_it_fits(const struct inside *in, int column, int count, const char *text)
{
    if (count >= view_text_columns(text))
        view_write(in->axis->area, 0, column, VIEW_STYLE_DIM, text);
}

/* ---- Commands ----------------------------------------------------------------------------- */

/* One command's share of its submission's time, as far as it is in the window. */
static void draw_share(const struct inside *in, const struct view_op *op, uint64_t index)
{
    const struct view_window w = in->axis->window;
    const int axis = in->axis->area.columns;
    const int64_t begin_ns = in->submission->begin_ns + in->share_ns * (int64_t)index;
    const int from = view_column_of(w, axis, begin_ns);
    const int to = view_column_of(w, axis, begin_ns + in->share_ns);
    char label[128];
    if (to < 0 || from >= axis)
        return;
    view_op_label(in->axis->model, op, label, sizeof label);
    view_put(in->axis->area, 0, from, 0x250A, VIEW_STYLE_DIM);
    view_write_cut(in->axis->area, 0, from + 1, to - from - 1, VIEW_STYLE_DIM, label);
}

void view_draw_commands(const struct view_axis *axis, uint32_t submission, int column, int count)
{
    const struct view_model *m = axis->model;
    const struct view_submission *s = &m->submissions[submission];
    struct inside in = {.axis = axis, .submission = s};
    uint64_t index = 0;
    if (!look_at(&in)) {
        char label[64];
        snprintf(label, sizeof label, "%s", view_things(in.work, "command").text);
        if (in.work)
            write_if_it_fits(&in, column, count, label);
        return;
    }
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const struct view_body *c = view_body(m, m->submitted[s->first_commands + k]);
        for (uint32_t i = 0; i < c->op_count; i++) {
            const struct view_op *op = &m->ops[m->segments[c->first_op + i]];
            if (trace_is_work(op->kind))
                draw_share(&in, op, index++);
        }
    }
}

/* ---- Barriers ----------------------------------------------------------------------------- */

/* When the submission's dispatches began, by index; NULL: some are unknown, or out of memory. */
static int64_t *dispatch_begins(const struct inside *in)
{
    const struct view_model *m = in->axis->model;
    const struct view_submission *s = in->submission;
    size_t low = 0, high = m->dispatches_count, found = 0;
    if (!m->dispatches_count || s->dispatch_count != in->work || in->looked_at > MAX_LOOKED_AT)
        return NULL;
    HAL_BISECT(low, high, middle, m->dispatches[middle].begin_ns < s->begin_ns)
    int64_t *begins = hal_alloc(in->work + 1, sizeof *begins);
    for (; begins && low < m->dispatches_count && m->dispatches[low].begin_ns <= s->end_ns; low++) {
        const struct view_dispatch *d = &m->dispatches[low];
        if (&m->submissions[d->submission] != s || d->index >= in->work)
            continue;
        begins[d->index] = d->begin_ns;
        found++;
    }
    if (begins && found == in->work) {
        begins[in->work] = s->end_ns;
        return begins;
    }
    free(begins);
    return NULL;
}

static void draw_tick(const struct inside *in, enum trace_barrier_need need, int64_t ns)
{
    static const struct {
        uint32_t character;
        unsigned style;
    } looks[] = {[TRACE_BARRIER_NEEDED] = {0x2502, VIEW_STYLE_TEXT},
                 [TRACE_BARRIER_REDUNDANT] = {'x', VIEW_STYLE_BAD | VIEW_BOLD},
                 [TRACE_BARRIER_UNKNOWN] = {'?', VIEW_STYLE_DIM}};
    const int column = view_column_of(in->axis->window, in->axis->area.columns, ns);
    if (column >= 0 && column < in->axis->area.columns)
        view_put(in->axis->area, 0, column, looks[need].character, looks[need].style);
}

void view_draw_barriers(const struct view_axis *axis, uint32_t submission, int column, int count)
{
    const struct view_model *m = axis->model;
    const struct view_submission *s = &m->submissions[submission];
    struct inside in = {.axis = axis, .submission = s};
    const bool shares = look_at(&in);
    if (!in.barriers)
        return;
    const bool wide = (uint64_t)count >= 2 * in.barriers;
    int64_t *begins = wide ? dispatch_begins(&in) : NULL;
    uint64_t index = 0;
    if (!shares && !begins) {
        char label[64];
        snprintf(label, sizeof label, "%s", view_things(in.barriers, "barrier").text);
        write_if_it_fits(&in, column, count, label);
        return;
    }
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const uint32_t commands = m->submitted[s->first_commands + k];
        const struct view_body *c = view_body(m, commands);
        for (uint32_t i = 0; i < c->op_count; i++) {
            const struct view_op *op = &m->ops[m->segments[c->first_op + i]];
            index += trace_is_work(op->kind);
            if (op->kind == TRACE_BARRIER)
                draw_tick(&in,
                          axis->view ? view_barrier_need(axis->view, commands, i)
                                     : TRACE_BARRIER_NEEDED,
                          begins ? begins[index] : s->begin_ns + in.share_ns * (int64_t)index);
        }
    }
    free(begins);
}
