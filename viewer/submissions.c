/* SPDX-License-Identifier: Apache-2.0 */
/* The third panel: all submissions, in order of number or of what took longest. */
#include "hal/base/mem.h"
#include "viewer/text.h"
#include "viewer/view.h"

#include <inttypes.h>

enum { BY_NUMBER, BY_EXECUTION, BY_QUEUEING, ORDERS };

static size_t count(struct view *view)
{
    return view->model->submissions_count;
}

/* The submission of the selection, if it is on a lane of submissions. */
static uint32_t selected_submission(struct view *view)
{
    const struct view_span *event = view_selected(view);
    if (!event)
        return VIEW_NO_REF;
    const struct view_lane *lane = &view->model->lanes[view->lane];
    if (lane->kind == VIEW_LANE_QUEUE || lane->kind == VIEW_LANE_DEVICE ||
        lane->kind == VIEW_LANE_COMMANDS)
        return event->ref;
    if (lane->kind == VIEW_LANE_HOST && event->class == VIEW_SUBMIT)
        return view->model->calls[event->ref].object;
    return VIEW_NO_REF;
}

static size_t current(struct view *view)
{
    const uint32_t submission = selected_submission(view);
    for (size_t i = 0; submission != VIEW_NO_REF && i < count(view); i++) {
        if (view->order[i] == submission)
            return i;
    }
    return SIZE_MAX;
}

static struct view_word between(int64_t from_ns, int64_t to_ns)
{
    const bool known = from_ns != VIEW_NO_TIME && to_ns != VIEW_NO_TIME;
    return view_right(known ? view_time(to_ns - from_ns).text : "-", 9);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_model *m = view->model;
    const struct view_submission *s = &m->submissions[view->order[index]];
    char number[32], label[160];
    view_work_label(m, view->order[index], label, sizeof label);
    snprintf(number, sizeof number, "#s%" PRIu64, s->number);
    snprintf(out, bytes, "%-9s %5u  %-21s %s %s %10s  %s%s", number, s->queue,
             s->submit_ns != VIEW_NO_TIME ? view_moment(s->submit_ns).text : "-",
             between(s->submit_ns, s->begin_ns).text, between(s->begin_ns, s->end_ns).text,
             view_count(s->dispatch_count).text,
             s->status  ? "FAILED "
             : !s->done ? "not finished "
                        : "",
             label);
}

static void choose(struct view *view, size_t index)
{
    uint32_t lane;
    const uint32_t event = view_model_queue_event(view->model, view->order[index], &lane);
    if (event != VIEW_NO_REF)
        view_select(view, lane, event);
}

static const struct view_list list = {
    .header = "number    queue  submitted                queued  executed dispatches  work",
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
};

/* ---- Order -------------------------------------------------------------------------------- */

struct sortable {
    int64_t key;
    uint32_t submission;
};

static int compare(const void *left, const void *right)
{
    const struct sortable *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    return a->submission < b->submission ? -1 : a->submission > b->submission;
}

static void sort(struct view *view, int key)
{
    (void)key;
    static const char *const names[ORDERS] = {"number", "execution, longest first",
                                              "queueing, longest first"};
    const struct view_model *m = view->model;
    struct sortable *sorted = calloc(count(view) + 1, sizeof *sorted);
    if (!sorted) {
        view_say(view, "no memory to sort");
        return;
    }
    view->order_by = (view->order_by + 1) % ORDERS;
    for (uint32_t i = 0; i < count(view); i++) {
        const struct view_submission *s = &m->submissions[i];
        sorted[i].submission = i;
        if (s->begin_ns != VIEW_NO_TIME && view->order_by == BY_EXECUTION)
            sorted[i].key = s->end_ns - s->begin_ns;
        else if (s->begin_ns != VIEW_NO_TIME && s->submit_ns != VIEW_NO_TIME &&
                 view->order_by == BY_QUEUEING)
            sorted[i].key = s->begin_ns - s->submit_ns;
    }
    qsort(sorted, count(view), sizeof *sorted, compare);
    for (size_t i = 0; i < count(view); i++)
        view->order[i] = sorted[i].submission;
    free(sorted);
    view_say(view, "submissions by %s", names[view->order_by]);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by number, execution, queueing", sort},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_submissions_pane = {
    .name = "Submissions", .list = &list, .bindings = bindings};
