/* SPDX-License-Identifier: Apache-2.0 */
/* Bookmarks, and a measured range: its length, how busy the device was, why idle, which kernels. */
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/restore.h"

#include "hal/base/mem.h"

#include <ctype.h>
#include <string.h>

struct measuring {
    int64_t bookmarks[VIEW_BOOKMARKS]; /* VIEW_NO_TIME: not set */
    struct range_kernels *kernels;     /* of a range; NULL: not asked for yet */
};

static struct measuring *measuring_of(const struct view *view)
{
    return view_state(view, VIEW_PART_RANGE);
}

int64_t *view_bookmarks(const struct view *view)
{
    return measuring_of(view)->bookmarks;
}

/* ---- Bookmarks ---------------------------------------------------------------------------- */

static bool is_letter(struct view *view, int key)
{
    const bool is = key >= 'a' && key <= 'z';
    if (!is && key != VIEW_KEY_ESCAPE)
        view_say(view, "bookmarks are letters from a to z");
    return is;
}

static void set_bookmark(struct view *view, int key)
{
    if (key == VIEW_KEY_ENTER) {
        view_bookmarks_save(view);
    } else if (is_letter(view, key)) {
        view_bookmarks(view)[key - 'a'] = view->cursor_ns;
        view_say(view, "bookmark %c at %s", key, hal_moment_text(view->cursor_ns).text);
    }
}

static void go_to_bookmark(struct view *view, int key)
{
    if (!is_letter(view, key))
        return;
    const int64_t bookmark_ns = view_bookmarks(view)[key - 'a'];
    if (bookmark_ns == VIEW_NO_TIME) {
        view_say(view, "there is no bookmark %c: m%c sets it", key, key);
        return;
    }
    const int64_t by_ns = bookmark_ns - view->cursor_ns;
    view_reveal(view, bookmark_ns, VIEW_KEY_NONE);
    view_set_cursor(view, bookmark_ns);
    view_say(view, "bookmark %c, %s %s", key, hal_duration_text(by_ns < 0 ? -by_ns : by_ns).text,
             by_ns < 0 ? "before" : "behind");
}

static void await_letter(struct view *view, int key)
{
    view->next_key = key == 'm' ? set_bookmark : go_to_bookmark;
    view_say(view, "%s: a to z",
             key == 'm' ? "Enter saves all bookmarks; bookmark this moment as" : "go to bookmark");
}

/* ---- The range ---------------------------------------------------------------------------- */

bool view_range(const struct view *view, int64_t *out_begin_ns, int64_t *out_end_ns)
{
    const int64_t other_ns = view->range == VIEW_RANGE_OPEN ? view->cursor_ns : view->range_end_ns;
    *out_begin_ns = view->range_begin_ns < other_ns ? view->range_begin_ns : other_ns;
    *out_end_ns = view->range_begin_ns < other_ns ? other_ns : view->range_begin_ns;
    return view->range != VIEW_RANGE_NONE;
}

static void start_or_stop(struct view *view, int key)
{
    int64_t begin_ns, end_ns;
    (void)key;
    switch (view->range) {
    case VIEW_RANGE_NONE:
        view->range = VIEW_RANGE_OPEN;
        view->range_begin_ns = view->cursor_ns;
        view->panel = VIEW_PANEL_DETAILS;
        view_say(view, "a range begins here: move, then v ends it");
        return;
    case VIEW_RANGE_OPEN:
        view->range_end_ns = view->cursor_ns;
        view->range = VIEW_RANGE_SET;
        memset(view->given_up, 0, sizeof view->given_up);
        view_range(view, &begin_ns, &end_ns);
        view_say(view, "%s: z zooms to it, v clears it", hal_duration_text(end_ns - begin_ns).text);
        return;
    case VIEW_RANGE_SET:
        view->range = VIEW_RANGE_NONE;
        view_say(view, "the range is cleared");
        return;
    }
}

static void zoom_to_range(struct view *view, int key)
{
    int64_t begin_ns, end_ns;
    (void)key;
    if (!view_range(view, &begin_ns, &end_ns) || end_ns <= begin_ns)
        view_say(view, "there is no range: v begins one");
    else
        view_set_window(view, begin_ns, end_ns - begin_ns, VIEW_KEY_NONE);
}

/* Begun in the range, on all threads. */
static void count_calls(const struct view_model *m, int64_t begin_ns, int64_t end_ns,
                        uint64_t *out_submissions, uint64_t *out_waits, int64_t *out_wait_ns)
{
    struct view_measure measure;
    *out_submissions = *out_waits = 0;
    *out_wait_ns = 0;
    for (size_t i = 0; i < m->tracks_count; i++) {
        if (m->tracks[i].kind != VIEW_TRACK_HOST)
            continue;
        view_series_measure(&m->tracks[i].series, begin_ns, end_ns, &measure);
        *out_submissions += measure.begun[VIEW_SUBMIT];
        *out_waits += measure.begun[VIEW_WAIT];
        *out_wait_ns += measure.busy_ns[VIEW_WAIT];
    }
}

static void add_device(const struct view_model *m, int64_t begin_ns, int64_t end_ns,
                       struct view_lines *lines)
{
    struct view_measure measure;
    char idle[256] = "";
    size_t length = 0;
    if (m->device_track == VIEW_NO_TRACK)
        return;
    view_series_measure(&m->tracks[m->device_track].series, begin_ns, end_ns, &measure);
    const int64_t busy_ns = measure.busy_ns[VIEW_EXECUTE];
    if (m->gap_track != VIEW_NO_TRACK) {
        view_series_measure(&m->tracks[m->gap_track].series, begin_ns, end_ns, &measure);
        for (int c = VIEW_GAP_HOST; c <= VIEW_GAP_LAUNCH && length + 64 < sizeof idle; c++) {
            const struct view_class_info *info = view_class_info((enum view_class)c);
            if (measure.busy_ns[c])
                length += (size_t)snprintf(idle + length, sizeof idle - length, "; %c %s %s",
                                           info->letter, info->name,
                                           view_share(measure.busy_ns[c], end_ns - begin_ns).text);
        }
    }
    view_lines_add(lines, "device", "busy %s, %s%s", view_share(busy_ns, end_ns - begin_ns).text,
                   hal_duration_text(busy_ns).text, idle);
}

/* ---- Kernels of a range ------------------------------------------------------------------- */

/* A job, and what it made. */
struct range_kernels {
    const struct view_work *work;
    int64_t begin_ns, end_ns;
    struct view_kernel_time *times;
    struct view_work_total total;
};

static enum hal_status find(const struct view_model *model, void *work, struct view_task *task)
{
    struct range_kernels *r = work;
    (void)model;
    r->times = hal_alloc(r->work->kernels_count, sizeof *r->times);
    if (!r->times)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", r->work->kernels_count);
    return view_work_times(r->work, task, r->begin_ns, r->end_ns, r->times, &r->total);
}

static void destroy(void *work)
{
    struct range_kernels *r = work;
    if (r)
        free(r->times);
    free(r);
}

static void take(struct view *view, void *work)
{
    destroy(measuring_of(view)->kernels);
    measuring_of(view)->kernels = work;
}

static const struct view_job_type type = {.kind = VIEW_JOB_RANGE,
                                          .name = "range's kernels",
                                          .run = find,
                                          .take = take,
                                          .destroy = destroy};

static bool is_of(const struct range_kernels *r, int64_t begin_ns, int64_t end_ns)
{
    return r && r->begin_ns == begin_ns && r->end_ns == end_ns;
}

/* NULL: they are not there yet, were given up, or memory is out, which is said. */
static const struct range_kernels *kernels_of(struct view *view, int64_t begin_ns, int64_t end_ns)
{
    struct measuring *m = measuring_of(view);
    if (is_of(m->kernels, begin_ns, end_ns))
        return m->kernels;
    const struct view_work *work = view_kernels_work(view); /* first */
    if (!work || view->given_up[VIEW_JOB_RANGE] ||
        is_of(view_job_work(view, VIEW_JOB_RANGE), begin_ns, end_ns))
        return NULL;
    struct range_kernels *r = hal_alloc(1, sizeof *r);
    if (!r) {
        view_say(view, "no memory for the range's kernels");
        return NULL;
    }
    *r = (struct range_kernels){.work = work, .begin_ns = begin_ns, .end_ns = end_ns};
    view_job_start(view, &type, r, view_job_whole(view));
    return is_of(m->kernels, begin_ns, end_ns) ? m->kernels : NULL;
}

/* The most time first, then the most dispatches. */
static bool stands_before(const struct view_kernel_time *a, const struct view_kernel_time *b)
{
    if (a->alone_ns != b->alone_ns)
        return a->alone_ns > b->alone_ns;
    return a->dispatches != b->dispatches ? a->dispatches > b->dispatches : a->kernel < b->kernel;
}

/* The first one after `last`, or with NULL the first one of all; NULL: none. */
static const struct view_kernel_time *next_kernel(const struct range_kernels *r,
                                                  const struct view_kernel_time *last)
{
    const struct view_kernel_time *next = NULL;
    for (size_t i = 0; i < r->work->kernels_count; i++) {
        const struct view_kernel_time *time = &r->times[i];
        const bool ran = time->dispatches || time->alone_dispatches;
        if (ran && (!last || stands_before(last, time)) && (!next || stands_before(time, next)))
            next = time;
    }
    return next;
}

static void add_kernels(struct view *view, int64_t begin_ns, int64_t end_ns,
                        struct view_lines *lines)
{
    enum { MOST = 16 };
    const struct range_kernels *r = kernels_of(view, begin_ns, end_ns);
    char text[512] = "";
    if (!r) {
        view_job_missing(view, view_kernels_work(view) ? VIEW_JOB_RANGE : VIEW_JOB_KERNELS, text,
                         sizeof text);
        view_lines_add(lines, "kernels", "%s", text);
        return;
    }
    const struct view_kernel_time *time = next_kernel(r, NULL);
    for (int shown = 0; time && shown < MOST; shown++, time = next_kernel(r, time)) {
        if (!shown)
            view_lines_add(lines, "kernels", VIEW_KERNEL_HEADER);
        view_kernel_text(r->work, time, &r->total, text, sizeof text);
        view_lines_add(lines, "", "%s", text);
    }
}

/* ---- All of a range ----------------------------------------------------------------------- */

void view_describe_range(struct view *view, struct view_lines *lines)
{
    const struct view_model *m = view->model;
    int64_t begin_ns, end_ns, wait_ns;
    uint64_t submissions, waits;
    if (!view_range(view, &begin_ns, &end_ns))
        return;
    view_lines_add(lines, "range", "%s, from %s to %s", hal_duration_text(end_ns - begin_ns).text,
                   hal_moment_text(begin_ns).text, hal_moment_text(end_ns).text);
    if (end_ns <= begin_ns)
        return;
    count_calls(m, begin_ns, end_ns, &submissions, &waits, &wait_ns);
    add_device(m, begin_ns, end_ns, lines);
    view_lines_add(lines, "begun", "%s, %s (blocked for %s)",
                   view_things(submissions, "submission").text,
                   view_things(waits, "host wait").text, hal_duration_text(wait_ns).text);
    if (view->range == VIEW_RANGE_SET) /* while it grows, a frame must stay cheap */
        add_kernels(view, begin_ns, end_ns, lines);
}

/* On the ruler: the range's ends and the bookmarks' letters. */
void view_draw_bookmarks(struct view *view, struct view_area axis)
{
    int64_t begin_ns, end_ns;
    const struct view_window w = view->window;
    if (view_range(view, &begin_ns, &end_ns)) {
        int from = view_column_of(w, axis.columns, begin_ns);
        int to = view_column_of(w, axis.columns, end_ns);
        from = from < 0 ? 0 : from;
        to = to >= axis.columns ? axis.columns - 1 : to;
        if (to >= from)
            view_highlight(axis, 0, from, to - from + 1, VIEW_STYLE_SELECT);
        if (begin_ns >= w.begin_ns)
            view_put(axis, 0, from, '[', VIEW_STYLE_SELECT | VIEW_BOLD);
        if (end_ns - w.begin_ns < w.span_ns)
            view_put(axis, 0, to, ']', VIEW_STYLE_SELECT | VIEW_BOLD);
    }
    for (int i = 0; i < VIEW_BOOKMARKS; i++) {
        const int64_t bookmark_ns = view_bookmarks(view)[i];
        if (bookmark_ns != VIEW_NO_TIME)
            view_put(axis, 0, view_column_of(w, axis.columns, bookmark_ns), (uint32_t)('a' + i),
                     VIEW_STYLE_KEY | VIEW_BOLD | VIEW_REVERSE);
    }
}

static const struct view_binding bindings[] = {
    {'v', VIEW_KEY_NONE, "v", "begin a range, end it, clear it: its numbers are in panel 2",
     start_or_stop},
    {'z', VIEW_KEY_NONE, "z", "zoom to the range", zoom_to_range},
    {'m', VIEW_KEY_NONE, "m '",
     "bookmark this moment with a letter (Enter saves all beside the trace); go to one",
     await_letter},
    {'\'', VIEW_KEY_NONE, "", NULL, await_letter},
    {0, 0, NULL, NULL, NULL},
};

static void init(struct view *view)
{
    for (size_t i = 0; i < VIEW_BOOKMARKS; i++)
        view_bookmarks(view)[i] = VIEW_NO_TIME;
}

static void finish(struct view *view)
{
    destroy(measuring_of(view)->kernels);
}

static void restore(struct view *view, const struct view *old)
{
    int64_t begin_ns, end_ns;
    for (size_t i = 0; i < VIEW_BOOKMARKS; i++)
        view_bookmarks(view)[i] = view_same_moment(view, old, view_bookmarks(old)[i]);
    view->range = old->range;
    view->range_begin_ns = view_same_moment(view, old, old->range_begin_ns);
    view->range_end_ns = view_same_moment(view, old, old->range_end_ns);
    (void)view_range(old, &begin_ns, &end_ns);
    if (view->range == VIEW_RANGE_SET && is_of(measuring_of(old)->kernels, begin_ns, end_ns) &&
        view_range(view, &begin_ns, &end_ns))
        (void)kernels_of(view, begin_ns, end_ns);
}

const struct view_pane view_range_part = {.name = "Measuring",
                                          .state_bytes = sizeof(struct measuring),
                                          .init = init,
                                          .finish = finish,
                                          .restore = restore,
                                          .bindings = bindings};
