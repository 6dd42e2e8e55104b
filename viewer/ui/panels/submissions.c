/* SPDX-License-Identifier: Apache-2.0 */
/* The third panel: all submissions, in order of number or of what took longest. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <inttypes.h>
#include <string.h>

enum { BY_NUMBER, BY_EXECUTION, BY_QUEUEING, ORDERS };

/* The panel's state. */
static struct view_order *order_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_SUBMISSIONS);
}

static size_t count(struct view *view)
{
    return view->model->submissions_count;
}

static size_t current(struct view *view)
{
    return view_order_find(order_of(view), view_selected_submission(view));
}

static struct view_word between(int64_t from_ns, int64_t to_ns)
{
    const bool known = from_ns != VIEW_NO_TIME && to_ns != VIEW_NO_TIME;
    return view_right(known ? hal_duration_text(to_ns - from_ns).text : "-", 10);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_model *m = view->model;
    const uint32_t submission = view_order_row(order_of(view), index);
    const struct view_submission *s = &m->submissions[submission];
    const int64_t submit_ns = view_submit_ns(m, s);
    char number[32], label[160], rank[64] = "";
    view_work_label(m, submission, label, sizeof label);
    if (m->devices_count > 1) {
        view_rank_name(m, view_model_device(m, s->queue), rank, sizeof rank - 2);
        strcat(rank, ": ");
    }
    snprintf(number, sizeof number, "#s%" PRIu64, s->number);
    snprintf(out, bytes, "%-9s %5u  %s %s %s  %10s  %s%s%s", number, s->queue,
             view_right(submit_ns != VIEW_NO_TIME ? hal_moment_text(submit_ns).text : "-", 16).text,
             between(submit_ns, s->begin_ns).text, between(s->begin_ns, s->end_ns).text,
             view_count(s->dispatch_count).text,
             s->status  ? "FAILED "
             : !s->done ? "not finished "
                        : "",
             rank, label);
}

static void choose(struct view *view, size_t index)
{
    uint32_t track;
    const uint32_t event =
        view_model_queue_event(view->model, view_order_row(order_of(view), index), &track);
    if (event != VIEW_NO_REF)
        view_select(view, track, event);
}

static const struct view_column columns[] = {{"number", 10}, {"queue", 17},    {"submitted", 34},
                                             {"queued", 45}, {"executed", 57}, {"dispatches", 69},
                                             {"work", 0}};

static const struct view_list list = {
    .header = "number    queue         submitted     queued   executed  dispatches  work",
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .order = order_of,
};

/* ---- Order -------------------------------------------------------------------------------- */

static int64_t sort_key(const void *of, uint32_t row, int by)
{
    const struct view_model *m = of;
    const struct view_submission *s = &m->submissions[row];
    if (by == BY_NUMBER || s->begin_ns == VIEW_NO_TIME)
        return 0;
    if (by == BY_EXECUTION)
        return s->end_ns - s->begin_ns;
    const int64_t submit_ns = view_submit_ns(m, s);
    return submit_ns != VIEW_NO_TIME ? s->begin_ns - submit_ns : 0;
}

static void init(struct view *view)
{
    static const char *const names[ORDERS] = {"number", "execution, longest first",
                                              "queueing, longest first"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT, "submissions", names, ORDERS,
                                                  sort_key};
    *order_of(view) = (struct view_order){
        .ordering = &ordering, .of = view->model, .count = view->model->submissions_count};
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by number, execution, queueing", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_submissions_pane = {.name = "Submissions",
                                                .state_bytes = sizeof(struct view_order),
                                                .init = init,
                                                .list = &list,
                                                .bindings = bindings};
