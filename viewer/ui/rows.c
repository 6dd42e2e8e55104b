/* SPDX-License-Identifier: Apache-2.0 */
/* Which lane stands on which row: their order, what is hidden, what is pinned to the top. */
#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <string.h>

/* ---- Rows --------------------------------------------------------------------------------- */

bool view_lane_shown(const struct view *view, uint32_t lane)
{
    const uint32_t parent = view->model->lanes[lane].parent;
    if (view->hidden[lane])
        return false;
    return parent == VIEW_NO_LANE || (view->open[parent] && !view->hidden[parent]);
}

/* Shown lanes that stand before `end`, VIEW_NO_LANE: all, and are pinned, or are not. */
static uint32_t count_rows(const struct view *view, uint32_t end, bool pinned)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < view->model->lanes_count && view->places[i] != end; i++)
        rows += view_lane_shown(view, view->places[i]) && view->pinned[view->places[i]] == pinned;
    return rows;
}

uint32_t view_row_of(const struct view *view, uint32_t lane)
{
    if (lane < view->model->lanes_count && view->pinned[lane])
        return count_rows(view, lane, true);
    return count_rows(view, VIEW_NO_LANE, true) + count_rows(view, lane, false);
}

uint32_t view_row_count(const struct view *view)
{
    return view_row_of(view, VIEW_NO_LANE);
}

uint32_t view_lane_of_row(const struct view *view, uint32_t row)
{
    for (int pinned = 1; pinned >= 0; pinned--) {
        for (uint32_t i = 0; i < view->model->lanes_count; i++) {
            const uint32_t lane = view->places[i];
            if (view_lane_shown(view, lane) && view->pinned[lane] == (pinned == 1) && row-- == 0)
                return lane;
        }
    }
    return VIEW_NO_LANE;
}

int view_drawn_row(const struct view *view, uint32_t lane, int rows)
{
    const int64_t pinned = count_rows(view, VIEW_NO_LANE, true);
    const int height = view->lane_height;
    int64_t row = view_row_of(view, lane);
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
    const uint32_t pinned = count_rows(view, VIEW_NO_LANE, true);
    row /= view->lane_height;
    return (uint32_t)row < pinned ? (uint32_t)row : (uint32_t)row + view->first_row;
}

void view_go_to_row(struct view *view, int64_t row)
{
    const int64_t last = (int64_t)view_row_count(view) - 1;
    if (last < 0)
        return;
    view->lane = view_lane_of_row(view, (uint32_t)view_clamp(row, 0, last));
    view_set_cursor(view, view->cursor_ns);
}

/* ---- Order -------------------------------------------------------------------------------- */

struct placed {
    char name[64];
    int64_t busy_ns;
    uint32_t lane;
};

static int by_name(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order ? order : a->lane < b->lane ? -1 : a->lane > b->lane;
}

static int by_work(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->busy_ns != b->busy_ns)
        return a->busy_ns > b->busy_ns ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

/* Lanes without a parent, in that order, each with its children behind it. */
static void place(struct view *view, const struct placed *tops, size_t count)
{
    const struct view_model *m = view->model;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        view->places[at++] = tops[i].lane;
        for (uint32_t k = 0; m->lanes[tops[i].lane].has_children && k < m->lanes_count; k++) {
            if (m->lanes[k].parent == tops[i].lane)
                view->places[at++] = k;
        }
    }
}

static void sort_lanes(struct view *view, int (*compare)(const void *, const void *))
{
    const struct view_model *m = view->model;
    struct view_measure measure;
    size_t count = 0;
    struct placed *tops = hal_alloc(m->lanes_count, sizeof *tops);
    if (!tops) {
        view_say(view, "no memory to sort the lanes");
        return;
    }
    for (uint32_t i = 0; i < m->lanes_count; i++) {
        if (m->lanes[i].parent != VIEW_NO_LANE)
            continue;
        view_series_measure(&m->lanes[i].series, m->first_ns, m->last_ns, &measure);
        tops[count] = (struct placed){.lane = i, .busy_ns = view_measure_busy(&measure)};
        view_lane_name(m, &m->lanes[i], tops[count].name, sizeof tops[count].name);
        count++;
    }
    if (compare && count)
        qsort(tops, count, sizeof *tops, compare);
    place(view, tops, count);
    free(tops);
}

/* The current lane, with its children, changes places with the one before or behind it. */
static void move_lane(struct view *view, int by)
{
    const struct view_model *m = view->model;
    size_t count = 0, at = SIZE_MAX;
    struct placed *tops = hal_alloc(m->lanes_count, sizeof *tops);
    const uint32_t parent = view->lane == VIEW_NO_LANE ? VIEW_NO_LANE : m->lanes[view->lane].parent;
    const uint32_t moved = parent == VIEW_NO_LANE ? view->lane : parent;
    for (size_t i = 0; tops && i < m->lanes_count; i++) {
        if (m->lanes[view->places[i]].parent != VIEW_NO_LANE)
            continue;
        at = view->places[i] == moved ? count : at;
        tops[count++].lane = view->places[i];
    }
    size_t other = at; /* hidden ones in between are passed */
    do
        other += (size_t)(ptrdiff_t)by;
    while (at != SIZE_MAX && other < count && view->hidden[tops[other].lane]);
    if (at != SIZE_MAX && other < count) {
        const struct placed lane = tops[at];
        for (; at != other; at += (size_t)(ptrdiff_t)by)
            tops[at] = tops[at + (size_t)(ptrdiff_t)by];
        tops[other] = lane;
        place(view, tops, count);
    }
    free(tops);
}

enum { ORDER_AS_OPENED, ORDER_BUSIEST, ORDER_NAME, ORDER_UP, ORDER_DOWN, ORDER_COUNT };

static bool order_choose(struct view *view, size_t row)
{
    if (row == ORDER_UP || row == ORDER_DOWN)
        move_lane(view, row == ORDER_UP ? -1 : 1);
    else
        sort_lanes(view, row == ORDER_BUSIEST ? by_work : row == ORDER_NAME ? by_name : NULL);
    return row == ORDER_UP || row == ORDER_DOWN;
}

static const char *const order_texts[ORDER_COUNT] = {"as at the start", "most work first",
                                                     "by name", "this lane up", "this lane down"};
static const struct view_menu order_menu = {.title = "order of the lanes",
                                            .rows = ORDER_COUNT,
                                            .texts = order_texts,
                                            .choose = order_choose};

/* ---- Hidden lanes ------------------------------------------------------------------------- */

/* The n-th hidden lane; VIEW_NO_LANE: there are not so many. */
static uint32_t hidden_lane(const struct view *view, size_t n)
{
    for (uint32_t i = 0; i < view->model->lanes_count; i++) {
        if (view->hidden[i] && n-- == 0)
            return i;
    }
    return VIEW_NO_LANE;
}

/* The first row is all of them. */
static size_t hidden_count(const struct view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->model->lanes_count; i++)
        count += view->hidden[i];
    return count ? count + 1 : 0;
}

static void hidden_text(const struct view *view, size_t row, char *out, size_t bytes)
{
    const uint32_t lane = row ? hidden_lane(view, row - 1) : VIEW_NO_LANE;
    if (lane == VIEW_NO_LANE)
        snprintf(out, bytes, "all of them");
    else
        view_lane_name(view->model, &view->model->lanes[lane], out, bytes);
}

static bool hidden_choose(struct view *view, size_t row)
{
    const uint32_t lane = row ? hidden_lane(view, row - 1) : VIEW_NO_LANE;
    if (row && lane != VIEW_NO_LANE)
        view->hidden[lane] = false;
    else
        memset(view->hidden, 0, view->model->lanes_count * sizeof *view->hidden);
    return hidden_count(view) > 0;
}

static const struct view_menu hidden_menu = {.title = "show again, of what is hidden",
                                             .count = hidden_count,
                                             .text = hidden_text,
                                             .choose = hidden_choose};

static void list_hidden(struct view *view, int key)
{
    (void)key;
    if (hidden_count(view))
        view_menu_open(view, &hidden_menu);
    else
        view_say(view, "no lane is hidden");
}

static void hide(struct view *view, int key)
{
    (void)key;
    char name[64];
    if (view->lane == VIEW_NO_LANE || view_row_count(view) < 2) {
        view_say(view, "the last lane stays");
        return;
    }
    const uint32_t row = view_row_of(view, view->lane), hidden = view->lane;
    view->hidden[hidden] = true;
    if (!view_row_count(view)) { /* its children were all that was left */
        view->hidden[hidden] = false;
        view_say(view, "the last lane stays");
        return;
    }
    view_lane_name(view->model, &view->model->lanes[hidden], name, sizeof name);
    view_go_to_row(view, row);
    view_say(view, "%s is hidden: X lists what is hidden", name);
}

/* To the top, where it stays; or back to its place. */
static void pin(struct view *view, int key)
{
    char name[64];
    (void)key;
    if (view->lane == VIEW_NO_LANE)
        return;
    bool *pinned = &view->pinned[view->lane];
    if (!*pinned && count_rows(view, VIEW_NO_LANE, true) + 1 >= (uint32_t)view->layout.lanes.rows) {
        view_say(view, "no more lanes can be pinned here: the others need room");
        return;
    }
    *pinned = !*pinned;
    view_lane_name(view->model, &view->model->lanes[view->lane], name, sizeof name);
    view_say(view, "%s %s", name,
             *pinned ? "stays at the top: * lets it go" : "is back in its place");
}

static const struct view_binding bindings[] = {
    {'x', VIEW_KEY_NONE, "x", "hide the lane", hide},
    {'X', VIEW_KEY_NONE, "X", "list hidden lanes, to show one or all again", list_hidden},
    {'o', VIEW_KEY_NONE, "o", "order of the lanes: most work, name, or one by one",
     .menu = &order_menu},
    {'*', VIEW_KEY_NONE, "*", "pin the lane to the top, and back", pin},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_rows_part = {.name = "Lanes", .bindings = bindings};
