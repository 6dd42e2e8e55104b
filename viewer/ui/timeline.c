/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks. A column that one event fills shows its bar; one short event shows its letter, never
 * nothing; several show how much of the column they fill. */
#include "viewer/text/text.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/panes.h"

#include <string.h>

/* One track's row while it is drawn. */
struct track_row {
    struct view_axis axis;
    const struct view_track *track;
    const struct view_series *series; /* of the track, or what the filter leaves of it */
};

static unsigned style_of(const struct track_row *row, const struct view_span *span)
{
    const struct view_model *m = row->axis.model;
    if (span->flags & VIEW_SPAN_FAILED)
        return VIEW_STYLE_BAD;
    if (row->track->kind == VIEW_TRACK_DISPATCHES && span->ref != VIEW_NO_REF)
        return (unsigned)view_op_style(m, &m->ops[m->dispatches[span->ref].op]);
    return (unsigned)view_class_info((enum view_class)span->class)->style;
}

/* How the body of a long event looks: the more it does, the denser. */
static uint32_t texture(const struct view_span *span)
{
    switch (span->class) {
    case VIEW_WAIT:
    case VIEW_QUEUED_WAITING:
    case VIEW_QUEUED_UNKNOWN: return 0x2591; /* light shade */
    case VIEW_RECORD:
    case VIEW_QUEUED_READY: return 0x2592; /* medium shade */
    case VIEW_SCOPE: return 0x2500;        /* line */
    case VIEW_UPLOAD: return 0x2191;       /* arrow up */
    case VIEW_READBACK: return 0x2193;     /* arrow down */
    case VIEW_OBSERVED: return 0x00B7;     /* dot */
    case VIEW_GAP_HOST:
    case VIEW_GAP_UPLOAD:
    case VIEW_GAP_UNKNOWN:
    case VIEW_GAP_SEMAPHORE:
    case VIEW_GAP_LAUNCH:
        return (unsigned char)view_class_info((enum view_class)span->class)->letter;
    default: return 0x2588; /* full block */
    }
}

static uint32_t letter(const struct view_span *span)
{
    if (span->flags & VIEW_SPAN_FAILED)
        return '!';
    if (span->class == VIEW_UPLOAD || span->class == VIEW_READBACK)
        return texture(span);
    if (span->class == VIEW_SCOPE)
        return 0x258F; /* thin bar */
    return (unsigned char)view_class_info((enum view_class)span->class)->letter;
}

/* ---- Bars --------------------------------------------------------------------------------- */

/* Keeps the part that distinguishes "token 7" from "token 8" when the rest is cut. */
static void write_numbered(struct view_area area, int column, int columns, unsigned style,
                           const char *label)
{
    const char *number = label + strlen(label);
    while (number > label && number[-1] >= '0' && number[-1] <= '9')
        number--;
    const int kept = view_text_columns(number);
    if (view_text_columns(label) > columns && kept > 0 && kept <= columns) {
        view_write_cut(area, 0, column, columns - kept, style, label);
        view_write(area, 0, column + columns - kept, style, number);
    } else if (columns > 2) {
        view_write_cut(area, 0, column, columns, style, label);
    }
}

static void draw_scope_run(const struct track_row *row, int column, int count,
                           const struct view_span *span, const char *label)
{
    const unsigned style = style_of(row, span);
    view_fill(row->axis.area, 0, column, count, 0x2500, style);
    view_put(row->axis.area, 0, column, '[', style);
    if (!(span->flags & VIEW_SPAN_OPEN))
        view_put(row->axis.area, 0, column + count - 1, ']', style);
    write_numbered(row->axis.area, column + 1, count - 2, style | VIEW_BOLD, label);
}

static void draw_run(const struct track_row *row, int column, int count,
                     const struct view_span *span)
{
    char label[128];
    const unsigned style = style_of(row, span);
    view_span_label(row->axis.model, row->track, span, label, sizeof label);
    if (count == 1) {
        view_put(row->axis.area, 0, column,
                 span->class == VIEW_EXECUTE ? texture(span) : letter(span), style);
        return;
    }
    if (span->class == VIEW_SCOPE) {
        draw_scope_run(row, column, count, span, label);
        return;
    }
    const bool solid = texture(span) >= 0x2580, fits = count >= view_text_columns(label);
    view_fill(row->axis.area, 0, column, count, texture(span), style);
    if (fits || (solid && count >= 4)) {
        const int end = view_write_cut(row->axis.area, 0, column, count,
                                       style | (solid ? VIEW_REVERSE : VIEW_BOLD), label);
        if (!solid && end < column + count)
            view_put(row->axis.area, 0, end, ' ', style);
    } else if (solid && span->class != VIEW_EXECUTE) {
        view_put(row->axis.area, 0, column, letter(span), style | VIEW_REVERSE);
    }
}

/* ---- Columns with several events ---------------------------------------------------------- */

static enum view_class busiest(const struct view_measure *measure)
{
    size_t best = VIEW_CLASS_NONE;
    for (size_t c = 1; c < VIEW_CLASS_COUNT; c++) {
        if (measure->busy_ns[c] > measure->busy_ns[best] ||
            (best == VIEW_CLASS_NONE && measure->begun[c]))
            best = c;
    }
    return (enum view_class)best;
}

static uint32_t density(int64_t busy_ns, int64_t whole_ns)
{
    const double share = whole_ns > 0 ? (double)busy_ns / (double)whole_ns : 1;
    const int level = share >= 1 ? 7 : (int)(share * 8);
    return 0x2581u + (uint32_t)level;
}

static void draw_dense(const struct track_row *row, int column, const struct view_measure *measure,
                       int64_t column_ns)
{
    const enum view_class class = busiest(measure);
    const struct view_class_info *info = view_class_info(class);
    const int64_t busy_ns = measure->busy_ns[class]; /* height and colour show the same value */
    uint32_t character = density(busy_ns, column_ns);
    if (row->track->kind == VIEW_TRACK_GAPS)
        character = (unsigned char)(2 * busy_ns >= column_ns || info->letter < 'A'
                                        ? info->letter
                                        : info->letter + 'a' - 'A');
    else if (row->track->kind == VIEW_TRACK_TRANSFERS)
        character = measure->begun[VIEW_UPLOAD] && measure->begun[VIEW_READBACK] ? 0x2195
                    : class == VIEW_UPLOAD                                       ? 0x2191
                    : class == VIEW_READBACK                                     ? 0x2193
                                                                                 : 0x00B7;
    if (measure->failed)
        view_put(row->axis.area, 0, column, '!', VIEW_STYLE_BAD | VIEW_BOLD);
    else
        view_put(row->axis.area, 0, column, character, (unsigned)info->style);
}

/* ---- What submissions consist of ---------------------------------------------------------- */

static void draw_commands(const struct track_row *row, int column, int count,
                          const struct view_span *span)
{
    if (span->ref != VIEW_NO_REF)
        view_draw_commands(&row->axis, span->ref, column, count);
}

static void draw_barriers(const struct track_row *row, int column, int count,
                          const struct view_span *span)
{
    if (span->ref != VIEW_NO_REF)
        view_draw_barriers(&row->axis, span->ref, column, count);
}

/* ---- A row -------------------------------------------------------------------------------- */

typedef void draw_long(const struct track_row *row, int column, int count,
                       const struct view_span *span);

/* The last column of a bar that begins in `column`: its end's, unless something begins there. */
static int last_column(const struct track_row *row, const struct view_measure *measure, int column)
{
    const struct view_series *series = row->series;
    const struct view_window w = row->axis.window;
    const int axis = row->axis.area.columns;
    int to = view_column_of(w, axis, view_spans_at(&series->spans, measure->last - 1).end_ns - 1);
    to = to < axis ? to : axis - 1;
    if (to > column && measure->last < series->spans.count &&
        view_spans_at(&series->spans, measure->last).begin_ns < view_column_begin(w, axis, to + 1))
        to--;
    return to;
}

/* Walks over the columns. A bar is at least two columns long: rounded to whole columns, anything
 * shorter would look longer than it is. */
static void draw_series(const struct track_row *row, draw_long *draw)
{
    const struct view_series *series = row->series;
    const struct view_window w = row->axis.window;
    const int axis = row->axis.area.columns;
    struct view_measure measure;
    for (int column = 0; column < axis; column++) {
        const int64_t begin_ns = view_column_begin(w, axis, column);
        const int64_t end_ns = view_column_begin(w, axis, column + 1);
        view_series_measure(series, begin_ns, end_ns, &measure);
        if (measure.first >= measure.last)
            continue;
        const struct view_span made = view_spans_at(&series->spans, measure.last - 1),
                               *last = &made;
        const bool is_long = last->end_ns - last->begin_ns >= 2 * (end_ns - begin_ns);
        if (last->end_ns > end_ns && is_long) {
            const int to = last_column(row, &measure, column);
            draw(row, column, to - column + 1, last);
            column = to;
        } else if (measure.last - measure.first == 1 && last->class != VIEW_EXECUTE) {
            view_put(row->axis.area, 0, column, letter(last), style_of(row, last));
        } else {
            draw_dense(row, column, &measure, end_ns - begin_ns);
        }
    }
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static void draw_steps(const struct track_row *row, bool with_values)
{
    const struct view_series *series = row->series;
    const struct view_window w = row->axis.window;
    const int axis = row->axis.area.columns;
    struct view_measure measure;
    const size_t before = view_spans_before(&series->spans, w.begin_ns);
    if (with_values && before > 0)
        view_fill(row->axis.area, 0, 0, axis, 0x2500, VIEW_STYLE_DIM);
    for (int column = 0, blank_from = 0; column < axis; column++) {
        view_series_measure(series, view_column_begin(w, axis, column),
                            view_column_begin(w, axis, column + 1), &measure);
        if (measure.first >= measure.last)
            continue;
        const struct view_span made = view_spans_at(&series->spans, measure.last - 1),
                               *last = &made;
        const bool several = measure.last - measure.first > 1;
        char label[32];
        if (with_values)
            view_fill(row->axis.area, 0, column, axis - column, 0x2500, VIEW_STYLE_DIM);
        const uint32_t mark = measure.failed ? 0x2715 : several ? 0x25C6 : 0x25CF;
        view_put(row->axis.area, 0, column, mark,
                 measure.failed ? VIEW_STYLE_BAD : style_of(row, last));
        view_span_label(row->axis.model, row->track, last, label, sizeof label);
        if (!with_values || column < blank_from)
            continue;
        const int next =
            measure.last < series->spans.count
                ? view_column_of(w, axis, view_spans_at(&series->spans, measure.last).begin_ns)
                : axis;
        const int columns = view_text_columns(label);
        if (column + 1 + columns < next) {
            view_write(row->axis.area, 0, column + 1, style_of(row, last), label);
            blank_from = column + 1 + columns;
        }
    }
}

/* ---- Memory ------------------------------------------------------------------------------- */

static void draw_peak(const struct track_row *row, int column, const struct view_level *peak)
{
    char label[64];
    const int axis = row->axis.area.columns;
    snprintf(label, sizeof label, "peak %s ", view_bytes(peak->bytes).text);
    const int columns = view_text_columns(label);
    view_put(row->axis.area, 0, column, 0x25B2, VIEW_STYLE_OBJECT | VIEW_BOLD);
    if (axis < 3 * columns)
        return;
    if (column >= columns + 1) {
        view_write(row->axis.area, 0, column - columns, VIEW_STYLE_OBJECT | VIEW_BOLD, label);
        view_put(row->axis.area, 0, column - columns - 1, ' ', VIEW_STYLE_OBJECT);
    } else {
        view_put(row->axis.area, 0, column + 1, ' ', VIEW_STYLE_OBJECT);
        view_write(row->axis.area, 0, column + 2, VIEW_STYLE_OBJECT | VIEW_BOLD, label);
    }
}

/* As an area under the most that was alive in each column. */
static void draw_memory(const struct track_row *row)
{
    const struct view_model *m = row->axis.model;
    const struct view_window w = row->axis.window;
    const int axis = row->axis.area.columns;
    const struct view_level *peak = &m->levels[m->peak_level];
    for (int column = 0; column < axis; column++) {
        const size_t first =
            view_spans_before(&row->track->events, view_column_begin(w, axis, column) + 1);
        const size_t last =
            view_spans_before(&row->track->events, view_column_begin(w, axis, column + 1));
        const uint32_t highest = view_model_highest(m, first ? first - 1 : 0, last);
        const uint64_t bytes = highest == VIEW_NO_REF ? 0 : m->levels[highest].bytes;
        if (!bytes)
            continue;
        const double share = (double)bytes / (double)peak->bytes;
        view_put(row->axis.area, 0, column, 0x2581u + (uint32_t)(share >= 1 ? 7 : share * 8),
                 VIEW_STYLE_OBJECT);
    }
    const int at = view_column_of(w, axis, peak->time_ns);
    if (at >= 0 && at < axis)
        draw_peak(row, at, peak);
}

/* ---- The pane ----------------------------------------------------------------------------- */

static void draw_axis(struct view_axis axis, const struct view_track *track)
{
    const struct view_filter *filter = axis.view ? axis.view->filter : NULL;
    const struct view_series *series =
        filter ? &filter->series[track - axis.model->tracks] : &track->series;
    const struct track_row row = {.axis = axis, .track = track, .series = series};
    switch (track->kind) {
    case VIEW_TRACK_SEMAPHORES: draw_steps(&row, false); return;
    case VIEW_TRACK_SEMAPHORE: draw_steps(&row, true); return;
    case VIEW_TRACK_COMMANDS: draw_series(&row, draw_commands); return;
    case VIEW_TRACK_BARRIERS: draw_series(&row, draw_barriers); return;
    case VIEW_TRACK_MEMORY: draw_memory(&row); return;
    case VIEW_TRACK_SCOPE:
    case VIEW_TRACK_HOST:
    case VIEW_TRACK_QUEUE:
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_DISPATCHES:
    case VIEW_TRACK_TRANSFERS:
    case VIEW_TRACK_GAPS: draw_series(&row, draw_run); return;
    }
}

static void draw_name(struct view *view, uint32_t index, struct view_area area)
{
    const struct view_track *track = &view->model->tracks[index];
    const bool current = index == view->track;
    const unsigned style = current ? VIEW_STYLE_TITLE | VIEW_BOLD : VIEW_STYLE_DIM;
    char name[64];
    view_track_name(view->model, track, name, sizeof name);
    int column = 1;
    if (current)
        view_put(area, 0, 0, 0x203A, style);
    if (track->has_children)
        view_put(area, 0, column++, view->open[index] ? 0x25BE : 0x25B8, style);
    else if (track->parent != VIEW_NO_TRACK)
        column++;
    if (view->pinned[index])
        view_put(area, 0, column++, '*', style);
    write_numbered(area, column, area.columns - column - 1, style, name);
}

static void draw_selection(struct view *view, struct view_area area)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_window w = view->window;
    const int axis = area.columns;
    const int cursor = view_column_of(w, axis, view->cursor_ns);
    if (event) {
        int from = view_column_of(w, axis, event->begin_ns);
        int to =
            event->end_ns > event->begin_ns ? view_column_of(w, axis, event->end_ns - 1) : from;
        from = from < 0 ? 0 : from;
        to = to >= axis ? axis - 1 : to;
        view_highlight(area, 0, from, to - from + 1, VIEW_STYLE_SELECT | VIEW_BOLD);
    } else if (cursor >= 0 && cursor < axis) {
        view_highlight(area, 0, cursor, 1, VIEW_STYLE_SELECT);
    }
}

/* The cursor's column where nothing else is drawn. */
static void draw_cursor(struct view *view, struct view_area axis)
{
    const int column = view_column_of(view->window, axis.columns, view->cursor_ns);
    for (int row = 0; row < axis.rows; row++) {
        if (view_character(axis, row, column) == ' ')
            view_put(axis, row, column, 0x250A, VIEW_STYLE_DIM);
    }
}

static void keep_current_row_visible(struct view *view, int rows)
{
    const uint32_t count = view_row_count(view);
    const uint32_t visible = (uint32_t)(rows / view->track_height);
    const uint32_t current = view->track == VIEW_NO_TRACK ? 0 : view_row_of(view, view->track);
    uint32_t pinned = 0;
    while (pinned < count && view->pinned[view_track_of_row(view, pinned)])
        pinned++;
    if (current >= pinned && current < view->first_row + pinned)
        view->first_row = current - pinned;
    if (visible > 0 && current >= view->first_row + visible)
        view->first_row = current - visible + 1;
    if (view->first_row + visible > count)
        view->first_row = count > visible ? count - visible : 0;
}

/* The same track of the other trace, below it. */
static void draw_compare(struct view *view, uint32_t index, struct view_area row)
{
    const struct view_track *track = view_compare_track(view, index);
    const int gutter = view->layout.gutter;
    struct view_axis axis = view_compare_axis(view);
    axis.area = view_area_part(row, 0, gutter, 1, row.columns - gutter);
    view_write(row, 0, 2, VIEW_STYLE_DIM, track ? "other" : "other: none");
    if (track)
        draw_axis(axis, track);
}

static void draw(struct view *view, struct view_area area)
{
    const int gutter = view->layout.gutter, height = view->track_height;
    if (height > 1) {
        view_compare_draw_delta(view, view_area_part(area, area.rows - 1, 0, 1, area.columns));
        area.rows--;
    }
    view->layout.meters = view_meters_draw(view, area);
    area.rows -= view->layout.meters;
    keep_current_row_visible(view, area.rows);
    if (!view->model->tracks_count)
        view_write(area, 0, gutter, VIEW_STYLE_DIM, "nothing happened in this trace");
    int row = 0;
    for (; row + height <= area.rows; row += height) {
        const uint32_t track = view_track_of_row(view, view_row_drawn(view, row));
        if (track == VIEW_NO_TRACK)
            break;
        const struct view_area axis = view_area_part(area, row, gutter, 1, area.columns - gutter);
        draw_name(view, track, view_area_part(area, row, 0, 1, gutter));
        draw_axis((struct view_axis){view->model, view->window, axis, view},
                  &view->model->tracks[track]);
        if (height > 1)
            draw_compare(view, track, view_area_part(area, row + 1, 0, 1, area.columns));
        if (track == view->track) {
            draw_selection(view, axis);
            view_place_cursor(axis, 0, view_column_of(view->window, axis.columns, view->cursor_ns));
        }
    }
    view_draw_path(view, view_area_part(area, 0, gutter, row, area.columns - gutter));
    view_draw_flow(view, area);
    draw_cursor(view, view_area_part(area, 0, gutter, row, area.columns - gutter));
}

static int point(struct view *view, struct view_area area, struct view_pointer pointer)
{
    const struct view_area axis =
        view_area_part(area, 0, view->layout.gutter, area.rows, area.columns - view->layout.gutter);
    const bool counts = pointer.row >= area.rows - view->layout.meters; /* no track is there */
    const uint32_t track =
        counts ? VIEW_NO_TRACK : view_track_of_row(view, view_row_drawn(view, pointer.row));
    const int column = pointer.column - view->layout.gutter;
    if (column >= 0 && column < axis.columns)
        view->cursor_ns = view_column_begin(view->window, axis.columns, column);
    if (pointer.kind == VIEW_POINTER_IN || pointer.kind == VIEW_POINTER_OUT)
        return pointer.kind == VIEW_POINTER_IN ? 'w' : 's';
    if (track != VIEW_NO_TRACK)
        view->track = track;
    view_set_cursor(view, view->cursor_ns);
    if (column < 0 || pointer.kind == VIEW_POINTER_DOUBLE)
        return column < 0 ? VIEW_KEY_ENTER : 'f';
    if (view_selected(view, &(struct view_span){0}) && view->panel == VIEW_PANEL_SUMMARY)
        view->panel = VIEW_PANEL_DETAILS;
    return VIEW_KEY_NONE;
}

const struct view_pane view_timeline_pane = {
    .name = "Timeline",
    .draw = draw,
    .point = point,
};
