/* SPDX-License-Identifier: Apache-2.0 */
/* The seventh panel: the buffers, largest first, and a report on memory over time. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/restore.h"

#include <string.h>

enum { BY_SIZE, BY_TIME, BY_LIFE, ORDERS };

struct panel {
    struct view_order order;
    uint32_t buffer; /* the chosen one, or VIEW_NO_REF */
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_MEMORY);
}

static struct view_order *order_of(const struct view *view)
{
    return &panel_of(view)->order;
}

uint32_t view_chosen_buffer(const struct view *view)
{
    return panel_of(view)->buffer;
}

static size_t count(struct view *view)
{
    return view->model->buffers_count;
}

static size_t current(struct view *view)
{
    return view_order_find(order_of(view), panel_of(view)->buffer);
}

static int64_t life_ns(const struct view_model *m, const struct view_buffer *buffer)
{
    const int64_t from_ns = buffer->create_ns != VIEW_NO_TIME ? buffer->create_ns : m->first_ns;
    const int64_t to_ns = buffer->destroy_ns != VIEW_NO_TIME ? buffer->destroy_ns : m->last_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_model *m = view->model;
    const uint32_t buffer = view_order_row(order_of(view), index);
    const struct view_buffer *b = &m->buffers[buffer];
    char name[128], from[64], to[64];
    view_buffer_name(m, buffer, name, sizeof name);
    snprintf(from, sizeof from, "%s",
             b->create_ns != VIEW_NO_TIME ? hal_moment_text(b->create_ns).text : "from the start");
    snprintf(to, sizeof to, "%s",
             b->destroy_ns != VIEW_NO_TIME ? hal_moment_text(b->destroy_ns).text : "to the end");
    snprintf(out, bytes, "%s %s  %s %s  %s", view_right(view_bytes(b->bytes).text, 9).text,
             view_right(hal_duration_text(life_ns(m, b)).text, 10).text, view_right(from, 16).text,
             view_right(to, 16).text, name);
}

/* The level at which it came; from the start: the first. */
static void choose(struct view *view, size_t index)
{
    const struct view_model *m = view->model;
    const uint32_t buffer = view_order_row(order_of(view), index);
    panel_of(view)->buffer = buffer;
    if (m->memory_track == VIEW_NO_TRACK)
        return;
    const struct view_track *track = &m->tracks[m->memory_track];
    const int64_t ns = m->buffers[buffer].create_ns;
    const size_t at = ns == VIEW_NO_TIME ? 0 : view_spans_before(&track->events, ns);
    view_select(view, m->memory_track, (uint32_t)(at < track->events.count ? at : 0));
}

static const struct view_column columns[] = {
    {"size", 10}, {"life", 22}, {"created", 39}, {"destroyed", 57}, {"buffer", 0}};

static const struct view_list list = {
    .header = "     size       life           created        destroyed  buffer",
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .order = order_of,
};

/* ---- Order -------------------------------------------------------------------------------- */

static int64_t sort_key(const void *of, uint32_t buffer, int by)
{
    const struct view_model *m = of;
    const struct view_buffer *b = &m->buffers[buffer];
    if (by == BY_SIZE)
        return (int64_t)(b->bytes < INT64_MAX ? b->bytes : INT64_MAX);
    if (by == BY_LIFE)
        return life_ns(m, b);
    return b->create_ns == VIEW_NO_TIME ? INT64_MAX : INT64_MAX - 1 - b->create_ns;
}

static void init(struct view *view)
{
    static const char *const names[ORDERS] = {"size, largest first", "creation",
                                              "life, longest first"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT_BUFFERS, "buffers", names, ORDERS,
                                                  sort_key};
    struct panel *p = panel_of(view);
    p->buffer = VIEW_NO_REF;
    p->order = (struct view_order){
        .ordering = &ordering, .of = view->model, .count = view->model->buffers_count};
    view_order_sort(view, &p->order, BY_SIZE);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by size, creation, life", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

static void restore(struct view *view, const struct view *old)
{
    panel_of(view)->buffer = view_same_buffer(view, old, panel_of(old)->buffer);
}

const struct view_pane view_memory_pane = {.name = "Memory",
                                           .state_bytes = sizeof(struct panel),
                                           .init = init,
                                           .restore = restore,
                                           .list = &list,
                                           .bindings = bindings};

/* ---- Memory over time --------------------------------------------------------------------- */

void view_memory_peaks(const struct view_model *model, struct view_lines *lines)
{
    if (model->peak_level == VIEW_NO_REF) {
        view_lines_add(lines, "memory", "no buffers");
        return;
    }
    const struct view_level *peak = &model->levels[model->peak_level];
    view_lines_add(lines, "memory", "peak %s in %s at %s", view_bytes(peak->bytes).text,
                   view_things(peak->buffers, "buffer").text, hal_moment_text(peak->time_ns).text);
    if (model->transient_peak_level == VIEW_NO_REF)
        return;
    const struct view_level *transient = &model->levels[model->transient_peak_level];
    view_lines_add(lines, "transient", "peak %s between alloca and dealloca, at %s",
                   view_bytes(transient->transient_bytes).text,
                   hal_moment_text(transient->time_ns).text);
}

/* The most that was alive in each of equal parts of the trace. */
void view_memory_over_time(const struct view_model *model, struct view_lines *lines)
{
    enum { PARTS = 16, BAR = 32 };
    if (model->peak_level == VIEW_NO_REF)
        return;
    const struct view_window w = {.begin_ns = model->first_ns,
                                  .span_ns = model->last_ns - model->first_ns};
    const struct view_track *track = &model->tracks[model->memory_track];
    const double peak = (double)model->levels[model->peak_level].bytes;
    for (int part = 0; part < PARTS; part++) {
        const int64_t begin_ns = view_column_begin(w, PARTS, part);
        const size_t first = view_spans_before(&track->events, begin_ns + 1);
        const size_t last =
            view_spans_before(&track->events, view_column_begin(w, PARTS, part + 1));
        const uint32_t highest = view_model_highest(model, first ? first - 1 : 0, last);
        const struct view_level none = {0};
        const struct view_level *level = highest == VIEW_NO_REF ? &none : &model->levels[highest];
        char bar[3 * BAR + 1] = "";
        const int blocks = peak > 0 ? (int)((double)level->bytes / peak * (double)BAR + 0.5) : 0;
        for (int i = 0; i < blocks && i < BAR; i++)
            memcpy(bar + 3 * i, "█", 4);
        view_lines_add(lines, hal_moment_text(begin_ns).text, "%s in %s %s",
                       view_right(view_bytes(level->bytes).text, 9).text,
                       view_right(view_count(level->buffers).text, 6).text, bar);
    }
}
