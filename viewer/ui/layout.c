/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the panes on a screen of any size, and drawing them. */
#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/panes.h"

enum { LEAST_PANEL_ROWS = 5, SMALL_PANEL_ROWS = 3, SIDE_PANEL_FROM = 200, SIDE_PANEL_COLUMNS = 76 };

/* ---- Layout ------------------------------------------------------------------------------- */

/* Names get what the longest of them needs, at most a fifth of the screen, but ten columns. */
static int gutter_for(const struct view *view, int columns)
{
    int widest = view_text_columns("overview");
    char name[64];
    for (size_t i = 0; i < view->model->tracks_count; i++) {
        view_track_name(view->model, &view->model->tracks[i], name, sizeof name);
        const int needed =
            view_text_columns(name) +
            (view->model->tracks[i].has_children || view->model->tracks[i].parent != VIEW_NO_TRACK);
        widest = needed > widest ? needed : widest;
    }
    return (int)hal_min_i64(widest + 2, columns / 5 > 10 ? columns / 5 : 10);
}

static void lay_out(struct view *view, struct view_screen *screen)
{
    struct view_layout *l = &view->layout;
    struct view_area all = view_area_all(screen);
    const int middle = all.rows - 4; /* between the ruler and the status */
    int tracks = (int)view_row_count(view) * view->track_height + (view->track_height > 1) +
                 view_meter_rows(view),
        panel, columns = all.columns;
    l->side = all.columns > SIDE_PANEL_FROM;
    tracks = tracks < 1 ? 1 : tracks;
    /* On a small screen a panel of one line, unless the tracks leave room. */
    const bool small =
        (all.rows < 24 || all.columns < 80) && middle < tracks + 1 + SMALL_PANEL_ROWS;
    l->title = view_area_part(all, 0, 0, 1, all.columns);
    l->status = view_area_part(all, all.rows - 1, 0, all.rows > 1, all.columns);
    if (l->side) {
        columns = all.columns - SIDE_PANEL_COLUMNS;
        tracks = middle;
        l->bar = view_area_part(all, 1, columns + 1, 1, SIDE_PANEL_COLUMNS);
        l->panel = view_area_part(all, 2, columns + 1, all.rows - 3, SIDE_PANEL_COLUMNS);
    } else {
        panel = small                             ? (middle > 1)
                : all.rows / 4 > LEAST_PANEL_ROWS ? all.rows / 4
                : all.rows < 24                   ? SMALL_PANEL_ROWS
                                                  : LEAST_PANEL_ROWS;
        const int bar = !small;
        tracks = (int)hal_min_i64(tracks, middle - panel - bar);
        if (!small)
            panel = middle - tracks - bar;
        l->bar = view_area_part(all, 3 + tracks, 0, bar, all.columns);
        l->panel = view_area_part(all, all.rows - 1 - panel, 0, panel, all.columns);
        if (small)
            tracks = middle - panel;
    }
    l->overview = view_area_part(all, 1, 0, 1, columns);
    l->ruler = view_area_part(all, 2, 0, 1, columns);
    l->tracks = view_area_part(all, 3, 0, tracks, columns);
    if (view_panel_covers(view)) {
        l->bar = view_area_part(all, 1, 0, 1, all.columns);
        l->panel = view_area_part(all, 2, 0, all.rows - 3, all.columns);
    }
    l->gutter = gutter_for(view, columns);
    l->axis = columns > l->gutter ? columns - l->gutter : 1;
    const struct view_window w = view->window;
    if (w.span_ns < l->axis) /* a column is a nanosecond or more */
        view_set_window(view, w.begin_ns, w.span_ns, view->moved_by);
}

/* ---- Drawing ------------------------------------------------------------------------------ */

int view_tab_columns(const struct view *view, unsigned panel)
{
    enum { SHORT = 3 };
    const bool shortened = view->layout.short_tabs && panel != (unsigned)view->panel;
    return 4 + (shortened ? SHORT
                          : view_text_columns(view_panel_pane(view, (enum view_panel)panel)->name));
}

/* On a narrow screen those before it are left out until the current one fits. */
unsigned view_first_tab(const struct view *view)
{
    const unsigned current = view->help ? 0 : (unsigned)view->panel;
    unsigned first = current;
    int needed = 1 + view_tab_columns(view, current);
    while (first > 0 && (needed += view_tab_columns(view, first - 1)) <= view->layout.bar.columns)
        first--;
    return first;
}

static void draw_bar(struct view *view, struct view_area area)
{
    view_fill(area, 0, 0, area.columns, 0x2500, VIEW_STYLE_DIM);
    int column = 1, needed = 1;
    view->layout.short_tabs = false;
    for (unsigned p = 0; p < view_panel_count(view); p++)
        needed += view_tab_columns(view, p);
    view->layout.short_tabs = needed > area.columns;
    for (unsigned p = view_first_tab(view); p < view_panel_count(view); p++) {
        const bool here = p == (unsigned)view->panel && !view->help;
        const unsigned style = here ? VIEW_STYLE_TITLE | VIEW_BOLD | VIEW_REVERSE : VIEW_STYLE_DIM;
        view_print(area, 0, column, style, " %c %.*s ", p < 9 ? (char)('1' + p) : 'D',
                   view_tab_columns(view, p) - 4, view_panel_pane(view, (enum view_panel)p)->name);
        column += view_tab_columns(view, p);
    }
    const struct view_pane *pane = view_panel_pane(view, view->panel);
    const char *hint = view->help                          ? " J K scroll  Esc close "
                       : pane->list && pane->list->columns ? " J K move  S sort  C columns  _ full "
                       : pane->bindings                    ? " Tab next  J K move  S sort  _ full "
                                                           : " Tab next  J K move  _ full ";
    const int at = area.columns - view_text_columns(hint) - 1;
    if (at > column)
        view_write(area, 0, at, VIEW_STYLE_DIM, hint);
}

static void draw_pane(struct view *view, const struct view_pane *pane, struct view_area area)
{
    if (area.rows < 1 || area.columns < 1)
        return;
    if (pane->draw)
        pane->draw(view, area);
    else
        view_list_draw(view, pane->list, area);
}

/* A panel of one row: what is selected, in a line. */
static void draw_brief(struct view *view, struct view_area area)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    char label[160];
    if (!event) {
        view_health(view->model, label, sizeof label);
        view_write_cut(area, 0, 1, area.columns - 1, VIEW_STYLE_DIM, label);
        return;
    }
    view_span_label(view->model, &view->model->tracks[view->track], event, label, sizeof label);
    const int column =
        view_write_cut(area, 0, 1, area.columns - 12, VIEW_STYLE_TEXT | VIEW_BOLD, label);
    view_write(area, 0, column + 2, VIEW_STYLE_TEXT,
               hal_duration_text(event->end_ns - event->begin_ns).text);
}

void view_draw(struct view *view, struct view_screen *screen)
{
    view_screen_clear(screen);
    lay_out(view, screen);
    const struct view_layout *l = &view->layout;
    const struct view_pane *panel = view_panel_pane(view, view->panel);
    view->frames++;
    draw_pane(view, &view_title_pane, l->title);
    const struct view_area under_title =
        view_area_part(view_area_all(screen), 1, 0, screen->rows - 2, screen->columns);
    if (view->help) {
        draw_bar(view, view_area_part(under_title, 0, 0, 1, under_title.columns));
        draw_pane(view, &view_help_pane,
                  view_area_part(under_title, 1, 0, under_title.rows - 1, under_title.columns));
    } else {
        if (!view_panel_covers(view)) {
            draw_pane(view, &view_overview_pane, l->overview);
            draw_pane(view, &view_ruler_pane, l->ruler);
            draw_pane(view, &view_timeline_pane, l->tracks);
        }
        if (view->prompt && view->prompt->pane && l->panel.rows > 1)
            panel = view->prompt->pane;
        if (view->menu)
            panel = &view_menu_pane;
        if (l->bar.rows > 0)
            draw_bar(view, l->bar);
        if (l->panel.rows == 1 && !view->menu)
            draw_brief(view, l->panel);
        else
            draw_pane(view, panel, l->panel);
    }
    draw_pane(view, &view_status_pane, l->status);
}

void view_draw_timeline(struct view *view, struct view_screen *screen)
{
    const struct view_area all = view_area_all(screen);
    view_screen_clear(screen);
    view->layout.gutter = gutter_for(view, all.columns);
    view->layout.axis = all.columns - view->layout.gutter;
    view->first_row = 0;
    view->track = VIEW_NO_TRACK;
    view->event = VIEW_NO_REF;
    draw_pane(view, &view_overview_pane, view_area_part(all, 0, 0, 1, all.columns));
    draw_pane(view, &view_ruler_pane, view_area_part(all, 1, 0, 1, all.columns));
    draw_pane(view, &view_timeline_pane, view_area_part(all, 2, 0, all.rows - 2, all.columns));
}
