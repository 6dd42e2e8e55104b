/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for the nearest event of a kind, in all tracks or in one: at a screen in steps that a
 * frame has time for, so that keys are answered meanwhile. */
#include "viewer/ui/panes.h"

#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 2048 }; /* events that are looked at between two frames */

static struct view_seek *seek_of(const struct view *view)
{
    return view_state(view, VIEW_PART_SEEK);
}

const struct view_seek *view_seek_of(const struct view *view)
{
    return seek_of(view);
}

bool view_has_steps(const struct view *view)
{
    return seek_of(view)->want != NULL;
}

/* ---- Where to look ------------------------------------------------------------------------ */

static bool is_looked_at(const struct view *view, uint32_t track)
{
    const struct view_seek *seek = view_seek_of(view);
    const struct view_track *l = &view->model->tracks[track];
    if (seek->only != VIEW_NO_TRACK)
        return track == seek->only;
    return !view_track_iterations(view->model, l) &&
           (!seek->in_hosts || l->kind == VIEW_TRACK_HOST) &&
           (!seek->in_devices || l->kind == VIEW_TRACK_DEVICE);
}

/* How many of the track's events are before the start. At one moment, lower tracks come later. */
static size_t first_place(const struct view *view, uint32_t index)
{
    const struct view_seek *seek = view_seek_of(view);
    const struct view_track *track = &view->model->tracks[index];
    const bool current = index == seek->track;
    if (seek->has_wrapped)
        return seek->forward ? 0 : track->events.count;
    if (current && seek->event != VIEW_NO_REF)
        return seek->forward ? (size_t)seek->event + 1 : seek->event;
    const bool include_moment = current ? seek->forward : index < seek->track;
    return view_spans_before(&track->events, seek->cursor_ns + include_moment);
}

static uint64_t events_ahead(const struct view *view)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < view->model->tracks_count; i++) {
        if (!is_looked_at(view, i))
            continue;
        const size_t at = first_place(view, i);
        count += seek_of(view)->forward ? view->model->tracks[i].events.count - at : at;
    }
    return count;
}

/* ---- Looking ------------------------------------------------------------------------------ */

/* Until one is found, or none there is better than the best; false: more is to be done. */
static bool look_in(struct view *view, uint32_t index, size_t *budget)
{
    struct view_seek *seek = seek_of(view);
    const struct view_track *track = &view->model->tracks[index];
    while (seek->forward ? seek->at < track->events.count : seek->at > 0) {
        if (*budget == 0)
            return false;
        --*budget;
        seek->looked_at++;
        const size_t place = seek->forward ? seek->at++ : --seek->at;
        const struct view_span event = view_spans_at(&track->events, place);
        if (seek->best != VIEW_NO_REF &&
            (seek->forward ? event.begin_ns >= seek->best_ns : event.begin_ns <= seek->best_ns))
            return true;
        if (view_shows(view, track, &event) && seek->want(view, track, &event)) {
            seek->best_track = index;
            seek->best = (uint32_t)place;
            seek->best_ns = event.begin_ns;
            return true;
        }
    }
    return true;
}

static bool look(struct view *view, size_t budget)
{
    struct view_seek *seek = seek_of(view);
    const uint32_t tracks = (uint32_t)view->model->tracks_count;
    for (; seek->tracks_done < tracks; seek->tracks_done++, seek->has_place = false) {
        const uint32_t track = seek->forward ? seek->tracks_done : tracks - 1 - seek->tracks_done;
        if (!is_looked_at(view, track))
            continue;
        if (!seek->has_place)
            seek->at = first_place(view, track);
        seek->has_place = true;
        if (!look_in(view, track, &budget))
            return false;
    }
    return true;
}

static void finish(struct view *view)
{
    const struct view_seek seek = *seek_of(view);
    view_seek_stop(view);
    if (seek.best == VIEW_NO_REF) {
        if (seek.wraps)
            view_say(view, "nothing matches '%s'", seek.noun);
        else
            view_say(view, "no %s %s", seek.forward ? "later" : "earlier", seek.noun);
        return;
    }
    const bool same = seek.best_track == seek.track && seek.best == seek.event;
    view->message[0] = '\0';
    view_select(view, seek.best_track, seek.best);
    if (seek.says_noun)
        view_say(view, "%s", seek.noun);
    if (seek.has_wrapped)
        view_say(view, same           ? "the only match"
                       : seek.forward ? "continued from the start: no later match"
                                      : "continued from the end: no earlier match");
}

/* Behind the last match comes the first one. */
static void go_on(struct view *view, size_t budget)
{
    struct view_seek *seek = seek_of(view);
    while (look(view, budget)) {
        if (seek->best != VIEW_NO_REF || !seek->wraps || seek->has_wrapped) {
            finish(view);
            return;
        }
        seek->has_wrapped = true;
        seek->tracks_done = 0;
    }
}

void view_seek_start(struct view *view, const struct view_seek *seek)
{
    view_seek_stop(view);
    *seek_of(view) = *seek;
    if (!seek->has_start) {
        seek_of(view)->track = view->track;
        seek_of(view)->event = view->event;
        seek_of(view)->cursor_ns = view->cursor_ns;
    }
    seek_of(view)->best = VIEW_NO_REF;
    seek_of(view)->of = events_ahead(view);
    for (uint32_t i = 0; seek->wraps && i < view->model->tracks_count; i++)
        seek_of(view)->of += is_looked_at(view, i) ? view->model->tracks[i].events.count : 0;
    go_on(view, view->is_live ? STEP : SIZE_MAX);
}

bool view_seek_step(struct view *view)
{
    if (view_has_steps(view))
        go_on(view, STEP);
    return view_has_steps(view);
}

void view_seek_stop(struct view *view)
{
    *seek_of(view) = (struct view_seek){.only = VIEW_NO_TRACK};
}

unsigned view_seek_percent(const struct view *view)
{
    const struct view_seek *seek = view_seek_of(view);
    return seek->of ? (unsigned)(seek->looked_at * 100 / seek->of) : 0;
}

const struct view_pane view_seek_part = {
    .name = "Looking", .state_bytes = sizeof(struct view_seek), .init = view_seek_stop};
