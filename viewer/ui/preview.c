/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and the shape of the work, from the index at the file's end: no event is decoded. */
#include "viewer/ui/preview.h"

#include "viewer/text/text.h"

#include <string.h>

/* Submissions per column, each frame's spread evenly over its time. */
static double spread(struct trace_reader *reader, int columns, double *out_density)
{
    const struct trace_counts *counts = trace_reader_counts(reader);
    const double whole_ns = (double)counts->last_ns - (double)counts->first_ns;
    double most = 0;
    for (int i = 0; i < columns; i++)
        out_density[i] = 0;
    for (size_t i = 0; i < trace_reader_chunk_count(reader) && whole_ns > 0; i++) {
        const struct trace_span span = trace_reader_chunk_span(reader, i);
        const bool any = span.has_submissions && span.first_submission <= span.last_submission;
        const double begin = ((double)span.first_ns - (double)counts->first_ns) / whole_ns;
        const double end = ((double)span.last_ns - (double)counts->first_ns) / whole_ns;
        if (!any || !(begin >= 0) || !(end <= 1) || begin > end)
            continue;
        int from = (int)(begin * columns), to = (int)(end * columns);
        from = from < columns ? from : columns - 1;
        to = to < columns ? to : columns - 1;
        const double each =
            (double)(span.last_submission - span.first_submission + 1) / (to - from + 1);
        for (int column = from; column <= to; column++)
            out_density[column] += each;
    }
    for (int i = 0; i < columns; i++)
        most = out_density[i] > most ? out_density[i] : most;
    return most;
}

/* Of an older file. */
static void shape_submissions(struct trace_reader *reader, int columns, uint8_t *out_levels)
{
    double density[VIEW_PREVIEW_COLUMNS];
    const double most = columns > 0 ? spread(reader, columns, density) : 0;
    for (int column = 0; column < columns && most > 0; column++)
        out_levels[column] =
            density[column] > 0 ? (uint8_t)(1 + (int)(density[column] / most * 7.99)) : 0;
}

static uint8_t level_of(double share)
{
    const double level = share < 1 ? share * 8 : 7;
    return share > 0 ? (uint8_t)(1 + (int)level) : 0;
}

/* A row for each queue with work in the index. Returns their number. */
static int shape_queues(struct trace_reader *reader, int rows, int columns,
                        struct view_preview *preview)
{
    double shares[VIEW_PREVIEW_COLUMNS];
    const struct trace_counts *counts = trace_reader_counts(reader);
    uint64_t queues = trace_reader_active_queues(reader);
    int row = 0;
    for (uint32_t queue = 0; queues && columns > 0 && row < rows; queue++, queues >>= 1) {
        if (!(queues & 1))
            continue;
        trace_reader_activity(reader, queue, counts->first_ns, counts->last_ns, (size_t)columns,
                              shares);
        for (int column = 0; column < columns; column++)
            preview->levels[row][column] = level_of(shares[column]);
        row++;
    }
    return row;
}

/* As many as leave the text its room. */
static int queue_rows(int rows)
{
    enum { TEXT = 9 };
    const int most = rows <= TEXT ? 1 : rows - TEXT;
    return most < VIEW_PREVIEW_ROWS ? most : VIEW_PREVIEW_ROWS;
}

static void shape_work(struct view_preview *preview, struct trace_reader *reader, int rows,
                       int columns)
{
    const int most = columns < VIEW_PREVIEW_COLUMNS ? columns : VIEW_PREVIEW_COLUMNS;
    *preview = (struct view_preview){.asked_rows = rows, .asked_columns = columns};
    preview->rows = shape_queues(reader, rows, most, preview);
    if (preview->rows)
        return;
    shape_submissions(reader, most, preview->levels[0]);
    preview->rows = 1;
}

/* Returns the rows that it takes. */
static int draw_work(struct view_preview *preview, struct view_area area,
                     struct trace_reader *reader)
{
    if (preview->asked_rows != area.rows || preview->asked_columns != area.columns)
        shape_work(preview, reader, area.rows, area.columns);
    for (int row = 0; row < preview->rows; row++) {
        for (int column = 0; column < area.columns && column < VIEW_PREVIEW_COLUMNS; column++) {
            if (preview->levels[row][column])
                view_put(area, row, column, 0x2580u + preview->levels[row][column], VIEW_STYLE_DIM);
        }
    }
    return preview->rows;
}

static void draw_bar(struct view_area area, int row, double share)
{
    const int columns = area.columns - 2, filled = (int)(share * columns);
    view_fill(area, row, 1, columns, 0x2591, VIEW_STYLE_DIM);
    view_fill(area, row, 1, filled, 0x2588, VIEW_STYLE_TITLE);
}

void view_preview_draw(struct view_preview *preview, struct view_screen *screen,
                       struct trace_reader *reader, const char *path, uint64_t read, uint64_t total)
{
    const struct trace_counts *counts = trace_reader_counts(reader);
    const struct trace_header *header = trace_reader_header(reader);
    const char *slash = strrchr(path, '/');
    const struct view_area all = view_area_all(screen);
    const double share = total ? (double)read / (double)total : 0;
    int row = 0;
    view_screen_clear(screen);
    view_print(all, row++, 1, VIEW_STYLE_TITLE | VIEW_BOLD, "%s  %s  %s  %s",
               slash ? slash + 1 : path, hal_duration_text(counts->last_ns - counts->first_ns).text,
               view_things(counts->submissions, "submission").text,
               view_things(counts->dispatches, "dispatch").text);
    row += draw_work(preview, view_area_part(all, row, 1, queue_rows(all.rows), all.columns - 2),
                     reader);
    if (all.rows > 8)
        row++;
    view_print(all, row++, 1, VIEW_STYLE_TEXT, "program  %s", header->program);
    view_print(all, row++, 1, VIEW_STYLE_TEXT, "events   %s, %s", view_count(counts->events).text,
               view_things(counts->segments, "command").text);
    view_print(all, row++, 1, VIEW_STYLE_TEXT, "contents %s in %s",
               view_bytes(counts->content_bytes).text, view_count(counts->contents).text);
    if (all.rows > 8)
        row++;
    draw_bar(all, row++, share > 1 ? 1 : share);
    if (share < 1)
        view_print(all, row, 1, VIEW_STYLE_DIM, "reading, %d %%: q or Esc cancels",
                   (int)(100 * share));
    else
        view_print(all, row, 1, VIEW_STYLE_DIM, "read, preparing: q or Esc cancels");
}
