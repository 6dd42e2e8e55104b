/* SPDX-License-Identifier: Apache-2.0 */
/* What panels share: lines of keys and values, and lists whose current row is the selection. */
#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* The value from that row on, as many rows as it needs; returns the row after it. */
static int draw_value(struct view_area area, int row, int column, const char *value)
{
    char part[1200];
    do {
        const size_t bytes = view_fitting(value, area.columns - column - 1);
        snprintf(part, sizeof part, "%.*s", (int)bytes, value);
        view_write(area, row++, column, VIEW_STYLE_TEXT, part);
        value += bytes;
    } while (*value && area.columns - column - 1 > 0);
    return row;
}

/* Returns how many rows the first `count` occupy if the first one is at `row`. */
static int draw_all(struct view_area area, int row, int widest, const struct view_lines *lines,
                    size_t count)
{
    const int first = row;
    char text[1200];
    for (const char *at = lines->text; at && *at && count > 0; count--) {
        const char *tab = strchr(at, '\t'), *end = strchr(tab, '\n');
        snprintf(text, sizeof text, "%.*s", (int)(tab - at), at);
        const bool heading = end == tab + 1 && tab > at;
        view_write(area, row, 1, heading ? VIEW_STYLE_TITLE | VIEW_BOLD : VIEW_STYLE_KEY, text);
        snprintf(text, sizeof text, "%.*s", (int)(end - tab - 1), tab + 1);
        row = draw_value(area, row, widest + 3, text);
        at = end + 1;
    }
    return row - first;
}

static int widest_key(const struct view_lines *lines)
{
    enum { MAX_KEY = 24 };
    int widest = 0;
    char key[1200];
    for (const char *at = lines->text; at && *at; at = strchr(at, '\n') + 1) {
        snprintf(key, sizeof key, "%.*s", (int)(strchr(at, '\t') - at), at);
        const int columns = view_text_columns(key);
        widest = columns > widest && columns <= MAX_KEY ? columns : widest;
    }
    return widest;
}

void view_draw_lines(struct view *view, struct view_area area, const struct view_lines *lines)
{
    enum { MORE = 9 }; /* columns that indicate that there is more */
    const int widest = widest_key(lines);
    const int rows = draw_all(area, area.rows, widest, lines, SIZE_MAX); /* below: only counts */
    view->scroll = clamp(view->scroll, 0, rows > area.rows ? rows - area.rows : 0);
    draw_all(area, -view->scroll, widest, lines, SIZE_MAX);
    if (rows - view->scroll > area.rows) {
        const int row = area.rows - 1, column = area.columns - MORE;
        const bool cuts =
            !view_is_blank(area, row, column) || !view_is_blank(area, row, column + 1);
        view_write(area, row, column, VIEW_STYLE_DIM, cuts ? "… J more " : "  J more ");
    }
}

void view_scroll_to_line(struct view *view, struct view_area area, const struct view_lines *lines,
                         size_t line)
{
    view->scroll = draw_all(area, area.rows, widest_key(lines), lines, line);
}

/* ---- Lists -------------------------------------------------------------------------------- */

/* A job. */
struct sorting {
    struct view_order *order;
    struct view_sorting how;
    uint32_t *rows; /* in order, at the end */
};

static enum hal_status sort_rows(const struct view_model *model, void *work, struct view_task *task)
{
    struct sorting *s = work;
    (void)model;
    return view_rows_sort(&s->how, task, &s->rows);
}

static void destroy_sorting(void *work)
{
    struct sorting *s = work;
    free(s->rows);
    free(s);
}

static void take_rows(struct view *view, void *work)
{
    struct sorting *s = work;
    uint32_t *const before = s->order->rows;
    (void)view;
    s->order->rows = s->rows;
    s->order->shown_by = s->how.by;
    s->rows = before;
    destroy_sorting(s);
}

/* The order stays what it is. */
static void give_up_sorting(struct view *view, const void *work)
{
    const struct sorting *s = work;
    (void)view;
    s->order->by = s->order->shown_by;
}

/* The list's own, so that sorting one leaves another's sorting alone. */
static const struct view_job_type *type_of(const struct view_order *order)
{
#define SORTING(of, noun)                                                                          \
    [of - VIEW_JOB_SORT] = {                                                                       \
        .kind = (of),                                                                              \
        .name = (noun),                                                                            \
        .run = sort_rows,                                                                          \
        .take = take_rows,                                                                         \
        .give_up = give_up_sorting,                                                                \
        .destroy = destroy_sorting                                                                 \
    }
    static const struct view_job_type types[] = {
        SORTING(VIEW_JOB_SORT, "sorting"),
        SORTING(VIEW_JOB_SORT_GAPS, "sorting gaps"),
        SORTING(VIEW_JOB_SORT_BUFFERS, "sorting buffers"),
        SORTING(VIEW_JOB_SORT_ITERATIONS, "sorting repeats"),
        SORTING(VIEW_JOB_SORT_KERNELS, "sorting kernels"),
        SORTING(VIEW_JOB_SORT_FINDINGS, "sort findings")};
#undef SORTING
    return &types[order->ordering->kind - VIEW_JOB_SORT];
}

void view_order_sort(struct view *view, struct view_order *order, int by)
{
    struct sorting *s = hal_alloc(1, sizeof *s);
    if (!s) {
        view_say(view, "no memory to sort");
        return;
    }
    order->by = by;
    *s = (struct sorting){
        .order = order,
        .how = {.key = order->ordering->key, .of = order->of, .by = by, .count = order->count}};
    view_job_start(view, type_of(order), s, order->count);
}

void view_order_restore(struct view *view, struct view_order *order, int by)
{
    if (!order->of)
        order->by = by;
    else if (by >= 0 && order->by != by && !view->given_up[order->ordering->kind])
        view_order_sort(view, order, by);
}

uint32_t view_order_row(const struct view_order *order, size_t index)
{
    return order->rows ? order->rows[index] : (uint32_t)index;
}

size_t view_order_find(const struct view_order *order, uint32_t row)
{
    if (row == VIEW_NO_REF || row >= order->count)
        return SIZE_MAX;
    size_t i = view_order_row(order, row) == row ? row : 0; /* not sorted */
    while (view_order_row(order, i) != row)
        i++;
    return i;
}

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
    view_list_text(view, list, SIZE_MAX, text, sizeof text);
    view_write_cut(area, 0, 1, area.columns - 2, VIEW_STYLE_DIM | VIEW_UNDERLINE, text);
    for (size_t i = 0; i < rows && first + i < count; i++) {
        const bool here = first + i == current;
        const unsigned style =
            here ? VIEW_STYLE_SELECT | VIEW_REVERSE | VIEW_BOLD : VIEW_STYLE_TEXT;
        view_list_text(view, list, first + i, text, sizeof text);
        if (here) {
            view_fill(area, (int)i + 1, 0, area.columns, ' ', style);
            view_put(area, (int)i + 1, 0, 0x203A, style);
        }
        view_write_cut(area, (int)i + 1, 1, area.columns - 2, style, text);
    }
    if (count)
        return;
    snprintf(text, sizeof text, "none");
    if (list->missing)
        list->missing(view, text, sizeof text);
    view_write_cut(area, 1, 1, area.columns - 2, VIEW_STYLE_DIM, text);
}

void view_list_sort(struct view *view, int key)
{
    const struct view_list *list = view_panel_pane(view, view->panel)->list;
    struct view_order *order = list->order(view);
    const struct view_ordering *o = order->ordering;
    char why[160];
    (void)key;
    snprintf(why, sizeof why, "there are no %s to sort", o->noun);
    if (list->missing && !list->count(view)) {
        list->missing(view, why, sizeof why);
        view_say(view, "%s", why);
        return;
    }
    const int by = (order->by + 1) % o->count;
    view_say(view, "%s by %s", o->noun, o->names[by]);
    view_order_sort(view, order, by);
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

/* The list leaves the full screen, and the window shows the event as more than a mark. */
bool view_list_enter(struct view *view)
{
    enum { PART = 8 }; /* of a column: what is shorter would fill the screen with nothing else */
    const struct view_list *list = view_panel_pane(view, view->panel)->list;
    size_t current = list ? list->current(view) : SIZE_MAX;
    const bool first = view->panel == VIEW_PANEL_FINDINGS || view_panel_covers(view);
    if (current == SIZE_MAX && list && first && list->count(view))
        current = 0; /* no choice is needed if there is a default */
    if (current == SIZE_MAX)
        return false;
    list->select(view, current);
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_window w = view->window;
    if (event && event->end_ns - event->begin_ns < w.span_ns / view->layout.axis / PART)
        view_show_neighbours(view);
    else if (event && (event->end_ns - event->begin_ns < w.span_ns / 16 ||
                       event->end_ns > w.begin_ns + w.span_ns))
        view_fit(view);
    view->panel_full = false;
    return true;
}
