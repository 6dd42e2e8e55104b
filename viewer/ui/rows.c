/* SPDX-License-Identifier: Apache-2.0 */
/* Which track is on which row: their order, hidden tracks, tracks pinned to the top. */
#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <string.h>

/* ---- Rows --------------------------------------------------------------------------------- */

bool view_track_shown(const struct view *view, uint32_t track)
{
    const uint32_t parent = view->model->tracks[track].parent;
    if (view->hidden[track])
        return false;
    return parent == VIEW_NO_TRACK || (view->open[parent] && !view->hidden[parent]);
}

/* The number of shown tracks before `end` (VIEW_NO_TRACK: all) that are pinned, or not pinned. */
static uint32_t count_rows(const struct view *view, uint32_t end, bool pinned)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < view->model->tracks_count && view->places[i] != end; i++)
        rows += view_track_shown(view, view->places[i]) && view->pinned[view->places[i]] == pinned;
    return rows;
}

uint32_t view_row_of(const struct view *view, uint32_t track)
{
    if (track < view->model->tracks_count && view->pinned[track])
        return count_rows(view, track, true);
    return count_rows(view, VIEW_NO_TRACK, true) + count_rows(view, track, false);
}

uint32_t view_row_count(const struct view *view)
{
    return view_row_of(view, VIEW_NO_TRACK);
}

uint32_t view_track_of_row(const struct view *view, uint32_t row)
{
    for (int pinned = 1; pinned >= 0; pinned--) {
        for (uint32_t i = 0; i < view->model->tracks_count; i++) {
            const uint32_t track = view->places[i];
            if (view_track_shown(view, track) && view->pinned[track] == (pinned == 1) && row-- == 0)
                return track;
        }
    }
    return VIEW_NO_TRACK;
}

int view_drawn_row(const struct view *view, uint32_t track, int rows)
{
    const int64_t pinned = count_rows(view, VIEW_NO_TRACK, true);
    const int height = view->track_height;
    int64_t row = view_row_of(view, track);
    rows /= height;
    if (row >= pinned) {
        row -= view->first_row;
        if (row < pinned)
            return -1;
    }
    return row < rows ? (int)row * height : -1;
}

uint32_t view_row_drawn(const struct view *view, int row)
{
    const uint32_t pinned = count_rows(view, VIEW_NO_TRACK, true);
    row /= view->track_height;
    return (uint32_t)row < pinned ? (uint32_t)row : (uint32_t)row + view->first_row;
}

void view_go_to_row(struct view *view, int64_t row)
{
    const int64_t last = (int64_t)view_row_count(view) - 1;
    if (last < 0)
        return;
    view->track = view_track_of_row(view, (uint32_t)view_clamp(row, 0, last));
    view_set_cursor(view, view->cursor_ns);
}

/* ---- Order -------------------------------------------------------------------------------- */

struct placed {
    char name[64];
    int64_t busy_ns;
    uint32_t track;
};

static int by_name(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order ? order : a->track < b->track ? -1 : a->track > b->track;
}

static int by_work(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->busy_ns != b->busy_ns)
        return a->busy_ns > b->busy_ns ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

/* Tracks without a parent, in that order, each followed by its children. */
static void place(struct view *view, const struct placed *tops, size_t count)
{
    const struct view_model *m = view->model;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        view->places[at++] = tops[i].track;
        for (uint32_t k = 0; m->tracks[tops[i].track].has_children && k < m->tracks_count; k++) {
            if (m->tracks[k].parent == tops[i].track)
                view->places[at++] = k;
        }
    }
}

static void sort_tracks(struct view *view, int (*compare)(const void *, const void *))
{
    const struct view_model *m = view->model;
    struct view_measure measure;
    size_t count = 0;
    struct placed *tops = hal_alloc(m->tracks_count, sizeof *tops);
    if (!tops) {
        view_say(view, "no memory to sort the tracks");
        return;
    }
    for (uint32_t i = 0; i < m->tracks_count; i++) {
        if (m->tracks[i].parent != VIEW_NO_TRACK)
            continue;
        view_series_measure(&m->tracks[i].series, m->first_ns, m->last_ns, &measure);
        tops[count] = (struct placed){.track = i, .busy_ns = view_measure_busy(&measure)};
        view_track_name(m, &m->tracks[i], tops[count].name, sizeof tops[count].name);
        count++;
    }
    if (compare && count)
        qsort(tops, count, sizeof *tops, compare);
    place(view, tops, count);
    free(tops);
}

/* Swaps the current track, with its children, with the previous or next one. */
static void move_track(struct view *view, int by)
{
    const struct view_model *m = view->model;
    size_t count = 0, at = SIZE_MAX;
    struct placed *tops = hal_alloc(m->tracks_count, sizeof *tops);
    const uint32_t parent =
        view->track == VIEW_NO_TRACK ? VIEW_NO_TRACK : m->tracks[view->track].parent;
    const uint32_t moved = parent == VIEW_NO_TRACK ? view->track : parent;
    for (size_t i = 0; tops && i < m->tracks_count; i++) {
        if (m->tracks[view->places[i]].parent != VIEW_NO_TRACK)
            continue;
        at = view->places[i] == moved ? count : at;
        tops[count++].track = view->places[i];
    }
    size_t other = at; /* hidden ones in between are passed */
    do
        other += (size_t)(ptrdiff_t)by;
    while (at != SIZE_MAX && other < count && view->hidden[tops[other].track]);
    if (at != SIZE_MAX && other < count) {
        const struct placed track = tops[at];
        for (; at != other; at += (size_t)(ptrdiff_t)by)
            tops[at] = tops[at + (size_t)(ptrdiff_t)by];
        tops[other] = track;
        place(view, tops, count);
    }
    free(tops);
}

enum { ORDER_AS_OPENED, ORDER_BUSIEST, ORDER_NAME, ORDER_UP, ORDER_DOWN, ORDER_COUNT };

static bool order_choose(struct view *view, size_t row)
{
    if (row == ORDER_UP || row == ORDER_DOWN)
        move_track(view, row == ORDER_UP ? -1 : 1);
    else
        sort_tracks(view, row == ORDER_BUSIEST ? by_work : row == ORDER_NAME ? by_name : NULL);
    return row == ORDER_UP || row == ORDER_DOWN;
}

static const char *const order_texts[ORDER_COUNT] = {"initial order", "most work first", "by name",
                                                     "this track up", "this track down"};
static const struct view_menu order_menu = {.title = "order of the tracks",
                                            .rows = ORDER_COUNT,
                                            .texts = order_texts,
                                            .choose = order_choose};

/* ---- Hidden tracks ------------------------------------------------------------------------- */

/* The n-th hidden track; VIEW_NO_TRACK: out of range. */
static uint32_t hidden_track(const struct view *view, size_t n)
{
    for (uint32_t i = 0; i < view->model->tracks_count; i++) {
        if (view->hidden[i] && n-- == 0)
            return i;
    }
    return VIEW_NO_TRACK;
}

/* The first row is all of them. */
static size_t hidden_count(const struct view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->model->tracks_count; i++)
        count += view->hidden[i];
    return count ? count + 1 : 0;
}

static void hidden_text(const struct view *view, size_t row, char *out, size_t bytes)
{
    const uint32_t track = row ? hidden_track(view, row - 1) : VIEW_NO_TRACK;
    if (track == VIEW_NO_TRACK)
        snprintf(out, bytes, "all of them");
    else
        view_track_name(view->model, &view->model->tracks[track], out, bytes);
}

static bool hidden_choose(struct view *view, size_t row)
{
    const uint32_t track = row ? hidden_track(view, row - 1) : VIEW_NO_TRACK;
    if (row && track != VIEW_NO_TRACK)
        view->hidden[track] = false;
    else
        memset(view->hidden, 0, view->model->tracks_count * sizeof *view->hidden);
    return hidden_count(view) > 0;
}

static const struct view_menu hidden_menu = {.title = "show hidden tracks again",
                                             .count = hidden_count,
                                             .text = hidden_text,
                                             .choose = hidden_choose};

static void list_hidden(struct view *view, int key)
{
    (void)key;
    if (hidden_count(view))
        view_menu_open(view, &hidden_menu);
    else
        view_say(view, "no track is hidden");
}

static void hide(struct view *view, int key)
{
    (void)key;
    char name[64];
    if (view->track == VIEW_NO_TRACK || view_row_count(view) < 2) {
        view_say(view, "the last track stays");
        return;
    }
    const uint32_t row = view_row_of(view, view->track), hidden = view->track;
    view->hidden[hidden] = true;
    if (!view_row_count(view)) { /* its children were all that was left */
        view->hidden[hidden] = false;
        view_say(view, "the last track stays");
        return;
    }
    view_track_name(view->model, &view->model->tracks[hidden], name, sizeof name);
    view_go_to_row(view, row);
    view_say(view, "%s is hidden: X lists what is hidden", name);
}

/* To the top, where it stays; or back to its place. */
static void pin(struct view *view, int key)
{
    char name[64];
    (void)key;
    if (view->track == VIEW_NO_TRACK)
        return;
    bool *pinned = &view->pinned[view->track];
    if (!*pinned &&
        count_rows(view, VIEW_NO_TRACK, true) + 1 >= (uint32_t)view->layout.tracks.rows) {
        view_say(view, "no more tracks can be pinned: the others need the space");
        return;
    }
    *pinned = !*pinned;
    view_track_name(view->model, &view->model->tracks[view->track], name, sizeof name);
    view_say(view, "%s %s", name, *pinned ? "pinned to the top: * unpins it" : "unpinned");
}

static const struct view_binding bindings[] = {
    {'x', VIEW_KEY_NONE, "x", "hide the track", hide},
    {'X', VIEW_KEY_NONE, "X", "list hidden tracks, to show one or all again", list_hidden},
    {'o', VIEW_KEY_NONE, "o", "order of the tracks: most work, name, or one by one",
     .menu = &order_menu},
    {'*', VIEW_KEY_NONE, "*", "pin the track to the top, and back", pin},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_rows_part = {.name = "Tracks", .bindings = bindings};
