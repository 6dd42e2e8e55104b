/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of the lists are shown. Rows are formatted whole, and what is hidden cut out. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

#include <string.h>

enum { MOST_COLUMNS = 16 };

/* For each panel's list, a bit per hidden column. */
static uint32_t *hidden_of(const struct view *view)
{
    return view_state(view, VIEW_PART_COLUMNS);
}

static size_t column_count(const struct view_column *columns)
{
    size_t count = columns ? 1 : 0;
    while (columns && columns[count - 1].end && count < MOST_COLUMNS)
        count++;
    return count;
}

/* Whether that position belongs to a visible column. */
static bool is_shown(const struct view_column *columns, uint32_t hidden, int at)
{
    size_t i = 0;
    while (columns[i].end && at >= columns[i].end)
        i++;
    return !(hidden >> i & 1);
}

static void cut(const struct view_column *columns, uint32_t hidden, char *text)
{
    char *to = text;
    int at = 0;
    for (const char *from = text; *from;) {
        const char *begin = from;
        const int width = view_width(view_utf8_next(&from));
        const size_t bytes = (size_t)(from - begin);
        if (is_shown(columns, hidden, at)) {
            memmove(to, begin, bytes);
            to += bytes;
        }
        at += width > 0 ? width : 0;
    }
    *to = '\0';
}

void view_list_text(struct view *view, const struct view_list *list, size_t row, char *out,
                    size_t bytes)
{
    const uint32_t hidden = hidden_of(view)[view->panel];
    if (row == SIZE_MAX)
        snprintf(out, bytes, "%s", list->header);
    else
        list->row(view, row, out, bytes);
    if (hidden && list->columns && list == view_panel_pane(view, view->panel)->list)
        cut(list->columns, hidden, out);
}

/* ---- Choosing ----------------------------------------------------------------------------- */

static const struct view_column *columns_of(const struct view *view)
{
    const struct view_list *list = view_panel_pane(view, view->panel)->list;
    return list ? list->columns : NULL;
}

static size_t count(const struct view *view)
{
    return column_count(columns_of(view));
}

static void text(const struct view *view, size_t row, char *out, size_t bytes)
{
    snprintf(out, bytes, "[%c] %s", hidden_of(view)[view->panel] >> row & 1 ? ' ' : 'x',
             columns_of(view)[row].name);
}

/* One column stays: empty rows would be indistinguishable. */
static bool choose(struct view *view, size_t row)
{
    uint32_t *hidden = &hidden_of(view)[view->panel];
    const uint32_t changed = *hidden ^ (uint32_t)1 << row;
    if (changed == ((uint32_t)1 << count(view)) - 1)
        view_say(view, "the last column stays");
    else
        *hidden = changed;
    return true;
}

static const struct view_menu menu = {
    .title = "columns", .count = count, .text = text, .choose = choose};

static void choose_columns(struct view *view, int key)
{
    (void)key;
    if (count(view))
        view_menu_open(view, &menu);
    else
        view_say(view, "this panel has no columns to choose from");
}

static const struct view_binding bindings[] = {
    {'C', VIEW_KEY_NONE, "C", "columns of the list", choose_columns},
    {0, 0, NULL, NULL, NULL},
};

static void restore(struct view *view, const struct view *old)
{
    memcpy(hidden_of(view), hidden_of(old), VIEW_PANEL_COUNT * sizeof(uint32_t));
}

const struct view_pane view_columns_part = {.name = "Lists",
                                            .state_bytes = VIEW_PANEL_COUNT * sizeof(uint32_t),
                                            .restore = restore,
                                            .bindings = bindings};
