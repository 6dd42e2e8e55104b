/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/ui/restore.h"

#include "hal/base/mem.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

#include <stdlib.h>
#include <string.h>

/* ---- The same part of a longer trace ------------------------------------------------------ */

/* Rows are numbered by first mention in the file: a longer file has the same numbers. */
static uint32_t same_track(const struct view_model *m, const struct view_track *track)
{
    for (uint32_t i = 0; i < m->tracks_count; i++) {
        const struct view_track *other = &m->tracks[i];
        if (other->kind == track->kind && other->object == track->object &&
            other->depth == track->depth)
            return i;
    }
    return VIEW_NO_TRACK;
}

static uint32_t same_event(const struct view_track *track, const struct view_span *event,
                           int64_t by_ns)
{
    const int64_t begin_ns = event->begin_ns + by_ns;
    uint32_t found = VIEW_NO_REF;
    for (size_t i = view_spans_before(&track->events, begin_ns);
         i < track->events.count && view_spans_at(&track->events, i).begin_ns == begin_ns; i++) {
        if (view_spans_at(&track->events, i).class != event->class)
            continue;
        if (view_spans_at(&track->events, i).ref == event->ref)
            return (uint32_t)i;
        found = found == VIEW_NO_REF ? (uint32_t)i : found;
    }
    return found;
}

int64_t view_same_moment(const struct view *view, const struct view *old, int64_t ns)
{
    return ns == VIEW_NO_TIME ? ns : ns + old->model->origin_ns - view->model->origin_ns;
}

uint32_t view_same_buffer(const struct view *view, const struct view *old, uint32_t buffer)
{
    const struct view_model *m = view->model, *before = old->model;
    const bool is_same = buffer < before->buffers_count && buffer < m->buffers_count &&
                         before->buffers[buffer].id == m->buffers[buffer].id;
    return is_same ? buffer : VIEW_NO_REF;
}

static void restore_history(struct view_history *history, const struct view_history *old,
                            int64_t by_ns)
{
    *history = *old;
    for (int i = 0; i < old->count; i++)
        history->list[i].begin_ns += by_ns;
}

static void restore_window(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_window w = old->window;
    const bool at_end = w.begin_ns + w.span_ns >= old->model->last_ns;
    restore_history(&view->past, &old->past, by_ns);
    restore_history(&view->future, &old->future, by_ns);
    view->moved_by = old->moved_by;
    view->layout = old->layout;
    if (at_end && !old->past.count) /* never moved: everything, as at the start */
        return;
    view->window = w;
    view->window.begin_ns += by_ns;
    if (at_end && w.begin_ns <= old->model->first_ns)
        view->window = (struct view_window){view->model->first_ns,
                                            view->model->last_ns - view->model->first_ns};
    else if (at_end)
        view->window.begin_ns = view->model->last_ns - w.span_ns;
}

/* New tracks come after existing ones, children after their parents. */
static void restore_places(struct view *view, const struct view *old)
{
    const struct view_model *m = view->model, *before = old->model;
    size_t at = 0;
    bool *placed = hal_alloc(m->tracks_count, sizeof *placed);
    for (size_t i = 0; placed && i < before->tracks_count; i++) {
        const uint32_t track = same_track(m, &before->tracks[old->places[i]]);
        if (track == VIEW_NO_TRACK || placed[track] || m->tracks[track].parent != VIEW_NO_TRACK)
            continue;
        placed[track] = true;
        view->places[at++] = track;
        for (uint32_t k = 0; k < m->tracks_count; k++) {
            if (m->tracks[k].parent != track)
                continue;
            placed[k] = true;
            view->places[at++] = k;
        }
    }
    for (uint32_t i = 0; placed && i < m->tracks_count; i++) {
        if (!placed[i])
            view->places[at++] = i;
    }
    free(placed);
}

static void restore_tracks(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_model *m = view->model, *before = old->model;
    for (uint32_t i = 0; i < before->tracks_count; i++) {
        const uint32_t track = same_track(m, &before->tracks[i]);
        if (track == VIEW_NO_TRACK)
            continue;
        view->open[track] = old->open[i];
        view->hidden[track] = old->hidden[i];
        view->pinned[track] = old->pinned[i];
    }
    restore_places(view, old);
    if (old->track == VIEW_NO_TRACK)
        return;
    const uint32_t track = same_track(m, &before->tracks[old->track]);
    view->track = track == VIEW_NO_TRACK ? view->track : track;
    view->event = VIEW_NO_REF;
    if (track != VIEW_NO_TRACK && old->event != VIEW_NO_REF) {
        const struct view_span event =
            view_spans_at(&before->tracks[old->track].events, old->event);
        view->event = same_event(&m->tracks[track], &event, by_ns);
    }
}

/* What was visited and is there still. */
static void restore_visited(struct view *view, const struct view *old, int64_t by_ns)
{
    view->visited_count = 0;
    for (int i = 0; i < old->visited_count; i++) {
        const struct view_track *track = &old->model->tracks[old->visited[i].track];
        const struct view_span event = view_spans_at(&track->events, old->visited[i].event);
        const uint32_t now = same_track(view->model, track);
        const uint32_t at = now == VIEW_NO_TRACK
                                ? VIEW_NO_REF
                                : same_event(&view->model->tracks[now], &event, by_ns);
        if (at != VIEW_NO_REF)
            view->visited[view->visited_count++] = (struct view_visited){now, at};
    }
}

/* Actions in progress. */
static void restore_dialogue(struct view *view, const struct view *old, int64_t by_ns)
{
    view->help = old->help;
    view->scroll = old->scroll;
    view->next_key = old->next_key;
    view->menu = old->menu;
    view->menu_row = old->menu_row;
    view->prompt = old->prompt;
    memcpy(view->typed, old->typed, sizeof view->typed);
    view->typed_at = old->typed_at;
    memcpy(view->message, old->message, sizeof view->message);
    for (size_t i = 0; i < VIEW_JOB_COUNT; i++)
        view->given_up[i] |= old->given_up[i];
    view->drag = old->drag;
    view->drag_ns = old->drag_ns + by_ns;
    view->mouse = old->mouse;
    view->quit = old->quit;
}

/* ---- All ------------------------------------------------------------------------------------ */

static void restore_shared(struct view *view, const struct view *old)
{
    const int64_t by_ns = old->model->origin_ns - view->model->origin_ns;
    restore_window(view, old, by_ns);
    /* time began elsewhere where nothing had happened yet */
    view->cursor_ns =
        view_clamp(old->cursor_ns + by_ns, view->model->first_ns, view->model->last_ns - 1);
    restore_tracks(view, old, by_ns);
    restore_visited(view, old, by_ns);
    view->first_row = old->first_row;
    view->panel = old->panel;
    view->panel_full = old->panel_full;
    view->following = old->following;
    view->frames = old->frames;
    view->show_frames = old->show_frames;
    restore_dialogue(view, old, by_ns);
}

bool view_restore(struct view *view, const struct view *old)
{
    view_jobs_poll(view);
    view->is_live = old->is_live;
    view->jobs_from = old->jobs_from;
    for (unsigned i = 0; i < VIEW_PART_COUNT; i++) {
        const struct view_pane *part = view->parts[i];
        if (view_pane_order(view, part))
            view_order_restore(view, view_pane_order(view, part), view_pane_order(old, part)->by);
        if (part->restore)
            part->restore(view, old);
    }
    restore_shared(view, old);
    return !view_jobs_awaited(view);
}
