/* SPDX-License-Identifier: Apache-2.0 */
/* What panels have in common: lines of keys and values, and lists whose current row is the
 * selection. */
#include "viewer/view.h"

#include <string.h>

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

void view_draw_lines(struct view *view, struct view_area area, const struct view_lines *lines)
{
    enum { MAX_KEY = 24 };
    int widest = 0, line = 0;
    for (const char *at = lines->text; at && *at; at = strchr(at, '\n') + 1) {
        const int columns = (int)(strchr(at, '\t') - at);
        widest = columns > widest && columns <= MAX_KEY ? columns : widest;
    }
    view->scroll = clamp(view->scroll, 0, (int)lines->count - area.rows);
    if (view->scroll < 0)
        view->scroll = 0;
    for (const char *at = lines->text; at && *at; line++) {
        const char *tab = strchr(at, '\t'), *end = strchr(tab, '\n');
        const int row = line - view->scroll;
        if (row >= 0 && row < area.rows) {
            char text[1200];
            snprintf(text, sizeof text, "%.*s", (int)(tab - at), at);
            view_write(area, row, 1, VIEW_STYLE_KEY, text);
            snprintf(text, sizeof text, "%.*s", (int)(end - tab - 1), tab + 1);
            view_write_cut(area, row, widest + 3, area.columns - widest - 4, VIEW_STYLE_TEXT, text);
        }
        at = end + 1;
    }
    if ((int)lines->count - view->scroll > area.rows)
        view_write(area, area.rows - 1, area.columns - 8, VIEW_STYLE_DIM, " J more ");
}

/* ---- Lists -------------------------------------------------------------------------------- */

/* The row at the panel's top, so that the current one is in the middle when possible. */
static size_t first_row(size_t count, size_t current, size_t rows)
{
    if (current == SIZE_MAX || count <= rows || current < rows / 2)
        return 0;
    return current - rows / 2 < count - rows ? current - rows / 2 : count - rows;
}

void view_list_draw(struct view *view, const struct view_list *list, struct view_area area)
{
    const size_t count = list->count(view), current = list->current(view);
    const size_t rows = area.rows > 1 ? (size_t)area.rows - 1 : 0;
    const size_t first = first_row(count, current, rows);
    char text[512];
    view_write_cut(area, 0, 1, area.columns - 2, VIEW_STYLE_DIM | VIEW_UNDERLINE, list->header);
    for (size_t i = 0; i < rows && first + i < count; i++) {
        const bool here = first + i == current;
        const unsigned style =
            here ? VIEW_STYLE_SELECT | VIEW_REVERSE | VIEW_BOLD : VIEW_STYLE_TEXT;
        list->row(view, first + i, text, sizeof text);
        if (here) {
            view_fill(area, (int)i + 1, 0, area.columns, ' ', style);
            view_put(area, (int)i + 1, 0, 0x203A, style);
        }
        view_write_cut(area, (int)i + 1, 1, area.columns - 2, style, text);
    }
    if (!count)
        view_write(area, 1, 1, VIEW_STYLE_DIM, "none");
}

void view_list_point(struct view *view, const struct view_list *list, struct view_area area,
                     struct view_pointer pointer)
{
    const size_t count = list->count(view);
    const size_t rows = area.rows > 1 ? (size_t)area.rows - 1 : 0;
    const size_t first = first_row(count, list->current(view), rows);
    if (pointer.kind == VIEW_POINTER_IN || pointer.kind == VIEW_POINTER_OUT)
        view_list_move(view, list, pointer.kind == VIEW_POINTER_IN ? -1 : 1);
    else if (pointer.row > 0 && first + (size_t)pointer.row - 1 < count)
        list->select(view, first + (size_t)pointer.row - 1);
}

void view_list_move(struct view *view, const struct view_list *list, int64_t rows)
{
    const size_t count = list->count(view), current = list->current(view);
    if (!count)
        return;
    int64_t to = current == SIZE_MAX ? 0 : (int64_t)current + rows;
    to = to < 0 ? 0 : to >= (int64_t)count ? (int64_t)count - 1 : to;
    list->select(view, (size_t)to);
}
