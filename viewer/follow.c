/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/follow.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "viewer/filter.h"
#include "viewer/job.h"
#include "viewer/text.h"

#include <string.h>
#include <sys/stat.h>

/* ---- The same part of a longer trace ------------------------------------------------------ */

/* Rows are numbered as the file mentions them first: a longer file gives the same numbers. */
static uint32_t same_lane(const struct view_model *m, const struct view_lane *lane)
{
    for (uint32_t i = 0; i < m->lanes_count; i++) {
        const struct view_lane *other = &m->lanes[i];
        if (other->kind == lane->kind && other->object == lane->object &&
            other->depth == lane->depth)
            return i;
    }
    return VIEW_NO_LANE;
}

static uint32_t same_event(const struct view_lane *lane, const struct view_span *event,
                           int64_t by_ns)
{
    const int64_t begin_ns = event->begin_ns + by_ns;
    uint32_t found = VIEW_NO_REF;
    for (size_t i = view_spans_before(&lane->events, begin_ns);
         i < lane->events.count && view_spans_at(&lane->events, i).begin_ns == begin_ns; i++) {
        if (view_spans_at(&lane->events, i).class != event->class)
            continue;
        if (view_spans_at(&lane->events, i).ref == event->ref)
            return (uint32_t)i;
        found = found == VIEW_NO_REF ? (uint32_t)i : found;
    }
    return found;
}

static int64_t moved(int64_t ns, int64_t by_ns)
{
    return ns == VIEW_NO_TIME ? ns : ns + by_ns;
}

static void carry_window(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_window w = old->window;
    const bool at_end = w.begin_ns + w.span_ns >= old->model->last_ns;
    for (int i = 0; i < old->past_count; i++) {
        view->past[i] = old->past[i];
        view->past[i].begin_ns += by_ns;
    }
    for (int i = 0; i < old->future_count; i++) {
        view->future[i] = old->future[i];
        view->future[i].begin_ns += by_ns;
    }
    view->past_count = old->past_count;
    view->future_count = old->future_count;
    view->moved_by = old->moved_by;
    view->layout = old->layout;
    if (at_end && !old->past_count) /* never moved: everything, as at the start */
        return;
    view->window = w;
    view->window.begin_ns += by_ns;
    if (at_end && w.begin_ns <= old->model->first_ns)
        view->window = (struct view_window){view->model->first_ns,
                                            view->model->last_ns - view->model->first_ns};
    else if (at_end)
        view->window.begin_ns = view->model->last_ns - w.span_ns;
}

/* Lanes that are new stand behind those that were there, children behind their parents. */
static void carry_places(struct view *view, const struct view *old)
{
    const struct view_model *m = view->model, *before = old->model;
    size_t at = 0;
    bool *placed = hal_alloc(m->lanes_count, sizeof *placed);
    for (size_t i = 0; placed && i < before->lanes_count; i++) {
        const uint32_t lane = same_lane(m, &before->lanes[old->places[i]]);
        if (lane == VIEW_NO_LANE || placed[lane] || m->lanes[lane].parent != VIEW_NO_LANE)
            continue;
        placed[lane] = true;
        view->places[at++] = lane;
        for (uint32_t k = 0; k < m->lanes_count; k++) {
            if (m->lanes[k].parent != lane)
                continue;
            placed[k] = true;
            view->places[at++] = k;
        }
    }
    for (uint32_t i = 0; placed && i < m->lanes_count; i++) {
        if (!placed[i])
            view->places[at++] = i;
    }
    free(placed);
}

static void carry_lanes(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_model *m = view->model, *before = old->model;
    for (uint32_t i = 0; i < before->lanes_count; i++) {
        const uint32_t lane = same_lane(m, &before->lanes[i]);
        if (lane == VIEW_NO_LANE)
            continue;
        view->open[lane] = old->open[i];
        view->hidden[lane] = old->hidden[i];
        view->pinned[lane] = old->pinned[i];
    }
    carry_places(view, old);
    if (old->lane == VIEW_NO_LANE)
        return;
    const uint32_t lane = same_lane(m, &before->lanes[old->lane]);
    view->lane = lane == VIEW_NO_LANE ? view->lane : lane;
    view->event = VIEW_NO_REF;
    if (lane != VIEW_NO_LANE && old->event != VIEW_NO_REF) {
        const struct view_span event = view_spans_at(&before->lanes[old->lane].events, old->event);
        view->event = same_event(&m->lanes[lane], &event, by_ns);
    }
}

/* Lists are sorted as they were; those that are not there yet, once they are. */
static void carry_orders(struct view *view, const struct view *old)
{
    view->submissions.by = old->submissions.by;
    view->gaps.by = old->gaps.by;
    view->buffers.by = old->buffers.by;
    if (view->submissions.by)
        view_submissions_sort(view);
    if (view->gaps.by)
        view_gaps_sort(view);
    if (view->buffers.by)
        view_buffers_sort(view);
    view->repeats.by = old->repeats.by;
    view->kernels_by = old->kernels_by;
    view->findings_by = old->findings_by;
}

static void carry_search(struct view *view, const struct view *old)
{
    const struct view_filter *next = view_job_work(old, VIEW_JOB_FILTER);
    const uint32_t event = view->event;
    if (next || old->filter)
        view_filter_by(view, next ? next->text : old->filter->text);
    view->event = event; /* which a filter chooses anew */
    if (old->has_search)
        (void)view_search_begin(view, old->searched);
}

void view_carry(struct view *view, const struct view *old)
{
    const int64_t by_ns = old->model->offset_ns - view->model->offset_ns;
    carry_window(view, old, by_ns);
    view->cursor_ns = old->cursor_ns + by_ns;
    carry_lanes(view, old, by_ns);
    for (size_t i = 0; i < VIEW_MARKS; i++)
        view->marks[i] = moved(old->marks[i], by_ns);
    view->range = old->range;
    view->range_begin_ns = old->range_begin_ns + by_ns;
    view->range_end_ns = old->range_end_ns + by_ns;
    view->first_row = old->first_row;
    carry_orders(view, old);
    carry_search(view, old);
    view->panel = old->panel == VIEW_PANEL_DIFFERENCE ? VIEW_PANEL_SUMMARY : old->panel;
    view->flow = old->flow;
    view->shows_path = old->shows_path;
    memcpy(view->hidden_columns, old->hidden_columns, sizeof view->hidden_columns);
    view->panel_full = old->panel_full;
    view->help = old->help;
    view->scroll = old->scroll;
    view->awaited = old->awaited;
    view->prompt = old->prompt;
    memcpy(view->typed, old->typed, sizeof view->typed);
    view->mouse = old->mouse;
    view->quit = old->quit;
    view->is_live = old->is_live;
    view->following = old->following;
    view->frames = old->frames;
    view->show_frames = old->show_frames;
}

/* ---- The file ----------------------------------------------------------------------------- */

enum { LEAST_PAUSE_MS = 300, PAUSE_PER_READING = 4 };

/* A file that takes long to read is read less often: most of the time is the user's. */
static void pause_for(struct view_follow *follow, int64_t took_ns)
{
    const int64_t least_ns = (int64_t)LEAST_PAUSE_MS * 1000000;
    const int64_t pause_ns = PAUSE_PER_READING * took_ns;
    follow->next_ns = hal_clock_ns() + (pause_ns > least_ns ? pause_ns : least_ns);
}

static bool file_changed(struct view_follow *follow)
{
    struct stat now;
    if (stat(follow->path, &now) != 0)
        return false; /* between two names: later */
    const int64_t changed_s = now.st_mtime;
    const bool changed = now.st_size != follow->bytes || changed_s != follow->changed_s;
    follow->bytes = now.st_size;
    follow->changed_s = changed_s;
    return changed;
}

void view_follow_begin(struct view_follow *follow, const char *path, const struct view_model *model,
                       int64_t took_ns)
{
    *follow = (struct view_follow){.path = path, .ended = model->health != NULL};
    pause_for(follow, took_ns); /* its size is not known: what came meanwhile is seen then */
}

int64_t view_follow_pause_ns(const struct view_follow *follow)
{
    if (follow->ended)
        return -1;
    const int64_t pause_ns = follow->next_ns - hal_clock_ns();
    return pause_ns > 0 ? pause_ns : 0;
}

static enum hal_status replace(struct view_follow *follow, struct view_model *fresh,
                               struct view_model **model, struct view **view)
{
    struct view *next;
    HAL_TRY(view_create(fresh, &next));
    view_carry(next, *view);
    follow->ended = fresh->health != NULL;
    next->following = !follow->ended;
    if (follow->ended)
        view_say(next, "the capture has ended");
    view_destroy(*view);
    view_model_close(*model);
    *view = next;
    *model = fresh;
    return HAL_OK;
}

enum hal_status view_follow_look(struct view_follow *follow, struct view_model **model,
                                 struct view **view)
{
    struct view_model *fresh;
    const int64_t begin_ns = hal_clock_ns();
    if (follow->ended || begin_ns < follow->next_ns)
        return HAL_OK;
    enum hal_status status = HAL_OK;
    if (file_changed(follow)) {
        status = view_model_open(follow->path, &fresh);
        if (status == HAL_OK && (status = replace(follow, fresh, model, view)) != HAL_OK)
            view_model_close(fresh);
        else if (status != HAL_OK)
            view_say(*view, "%s", hal_message());
    }
    pause_for(follow, hal_clock_ns() - begin_ns);
    return status == HAL_NO_MEMORY ? status : HAL_OK;
}
