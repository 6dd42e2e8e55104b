/* SPDX-License-Identifier: Apache-2.0 */
/* A list of choices in the place of the panel, while one is asked for. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

void view_menu_open(struct view *view, const struct view_menu *menu)
{
    view->menu = menu;
    view->menu_row = 0;
}

size_t view_menu_count(const struct view *view)
{
    return view->menu->count ? view->menu->count(view) : view->menu->rows;
}

void view_menu_text(const struct view *view, size_t row, char *out, size_t bytes)
{
    if (view->menu->text)
        view->menu->text(view, row, out, bytes);
    else
        snprintf(out, bytes, "%s", view->menu->texts[row]);
}

void view_menu_choose(struct view *view, size_t row)
{
    const struct view_menu *menu = view->menu;
    if (!menu || row >= view_menu_count(view))
        return;
    view->menu = NULL; /* what is chosen may open another one */
    if (menu->choose(view, row) && !view->menu) {
        view->menu = menu;
        const size_t count = view_menu_count(view);
        view->menu_row = view->menu_row < count ? view->menu_row : count - 1;
    }
}

void view_menu_key(struct view *view, int key)
{
    const size_t count = view_menu_count(view);
    if (key == VIEW_KEY_ESCAPE || key == 'q' || !count)
        view->menu = NULL;
    else if ((key == 'j' || key == 'J' || key == VIEW_KEY_DOWN) && view->menu_row + 1 < count)
        view->menu_row++;
    else if ((key == 'k' || key == 'K' || key == VIEW_KEY_UP) && view->menu_row > 0)
        view->menu_row--;
    else if (key == VIEW_KEY_ENTER || key == ' ')
        view_menu_choose(view, view->menu_row);
    else if (key >= '1' && key <= '9')
        view_menu_choose(view, (size_t)(key - '1'));
}

/* The first visible row of `rows`. */
static size_t first_row(const struct view *view, int rows)
{
    const size_t shown = rows > 1 ? (size_t)rows - 1 : 1;
    return view->menu_row < shown ? 0 : view->menu_row - shown + 1;
}

static void draw(struct view *view, struct view_area area)
{
    const struct view_menu *menu = view->menu;
    const size_t count = view_menu_count(view), first = first_row(view, area.rows);
    char text[160];
    if (view->menu_row >= count) /* of a panel that another one took the place of */
        return;
    if (area.rows < 2) { /* a screen that is too small for lists */
        view_menu_text(view, view->menu_row, text, sizeof text);
        view_print(area, 0, 1, VIEW_STYLE_TITLE | VIEW_BOLD, "%s: %s  j k Enter Esc", menu->title,
                   text);
        return;
    }
    view_print(area, 0, 1, VIEW_STYLE_TITLE | VIEW_BOLD, "%s", menu->title);
    view_write(area, 0, view_text_columns(menu->title) + 4, VIEW_STYLE_DIM,
               "j k or a digit, Enter, Esc");
    for (int row = 1; row < area.rows && first + (size_t)row - 1 < count; row++) {
        const size_t index = first + (size_t)row - 1;
        const bool here = index == view->menu_row;
        view_menu_text(view, index, text, sizeof text);
        if (here)
            view_fill(area, row, 0, area.columns, ' ', VIEW_STYLE_SELECT | VIEW_REVERSE);
        view_print(area, row, 1, VIEW_STYLE_KEY, "%c", index < 9 ? (char)('1' + index) : ' ');
        view_write_cut(area, row, 3, area.columns - 4,
                       here ? VIEW_STYLE_SELECT | VIEW_REVERSE | VIEW_BOLD : VIEW_STYLE_TEXT, text);
        if (here)
            view_place_cursor(area, row, 1);
    }
}

static int point(struct view *view, struct view_area area, struct view_pointer pointer)
{
    if (pointer.kind == VIEW_POINTER_IN || pointer.kind == VIEW_POINTER_OUT)
        view_menu_key(view, pointer.kind == VIEW_POINTER_IN ? 'k' : 'j');
    else if (pointer.row > 0 && area.rows > 1)
        view_menu_choose(view, first_row(view, area.rows) + (size_t)pointer.row - 1);
    return VIEW_KEY_NONE;
}

const struct view_pane view_menu_pane = {.name = "Menu", .draw = draw, .point = point};
