/* SPDX-License-Identifier: Apache-2.0 */
/* The time axis: ticks at round moments, labels with as many digits as distinguish them. */
#include "viewer/ui/panes.h"

#include "hal/base/moment.h"

#include <string.h>

/* 1, 2 or 5 times a power of ten. */
static int64_t next_round(int64_t step)
{
    int64_t power = 1;
    while (power <= step / 10)
        power *= 10;
    return step < 2 * power ? 2 * power : step < 5 * power ? 5 * power : 10 * power;
}

/* A moment with as many decimals as the step needs: "12 ms", "12.345 ms". */
static void label_of(int64_t ns, int64_t step_ns, char *out, size_t bytes)
{
    const struct hal_time_text moment = hal_moment_text(ns);
    const size_t cut = step_ns % 1000000 == 0 ? 7 : step_ns % 1000 == 0 ? 3 : 0;
    const size_t digits = strlen(moment.text) - strlen("@ms") - cut;
    snprintf(out, bytes, "%.*s ms", (int)digits, moment.text + 1);
}

static int64_t choose_step(struct view_window window, int columns)
{
    char label[64];
    int64_t step_ns = 1;
    for (int i = 0; i < 60; i++) {
        label_of(window.begin_ns + window.span_ns, step_ns, label, sizeof label);
        const int64_t needed_ns = (window.span_ns / columns + 1) * (view_text_columns(label) + 3);
        if (step_ns >= needed_ns)
            break;
        step_ns = next_round(step_ns);
    }
    return step_ns;
}

static void draw(struct view *view, struct view_area area)
{
    const int gutter = view->layout.gutter;
    const struct view_area axis = view_area_part(area, 0, gutter, 1, area.columns - gutter);
    const struct view_window w = view->window;
    if (axis.columns < 1)
        return;
    const int64_t step_ns = choose_step(w, axis.columns);
    int64_t tick = w.begin_ns / step_ns * step_ns;
    if (tick < w.begin_ns)
        tick += step_ns;
    for (; tick < w.begin_ns + w.span_ns; tick += step_ns) {
        char label[64];
        const int column = view_column_of(w, axis.columns, tick);
        label_of(tick, step_ns, label, sizeof label);
        view_put(axis, 0, column, 0x2502, VIEW_STYLE_DIM);
        if (column + 1 + view_text_columns(label) <= axis.columns)
            view_write(axis, 0, column + 1, VIEW_STYLE_DIM, label);
    }
    view_draw_bookmarks(view, axis);
    const int cursor = view_column_of(w, axis.columns, view->cursor_ns);
    const uint32_t covered = view_character(axis, 0, cursor);
    if (covered == ' ' || covered == 0x2502) /* a digit stays legible */
        view_put(axis, 0, cursor, 0x25BC, VIEW_STYLE_TITLE | VIEW_BOLD);
    else
        view_highlight(axis, 0, cursor, 1, VIEW_STYLE_TITLE);
}

static int point(struct view *view, struct view_area area, struct view_pointer pointer)
{
    const int axis = area.columns - view->layout.gutter;
    const int column = pointer.column - view->layout.gutter;
    if (column >= 0 && column < axis)
        view_set_cursor(view, view_column_begin(view->window, axis, column));
    return VIEW_KEY_NONE;
}

const struct view_pane view_ruler_pane = {.name = "Ruler", .draw = draw, .point = point};
