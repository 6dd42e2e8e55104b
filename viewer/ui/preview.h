/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a trace while it is still being read: what the file's index alone tells. */
#ifndef VIEWER_PREVIEW_H
#define VIEWER_PREVIEW_H

#include "format/trace.h"
#include "viewer/grid/screen.h"

/* Rows of queues, and columns of the longest axis: more stay blank. */
enum { VIEW_PREVIEW_ROWS = 8, VIEW_PREVIEW_COLUMNS = 1000 };

/* What is drawn of one trace again and again; all zero at first. */
struct view_preview {
    int asked_rows, asked_columns; /* for which the shape of the work is known; 0: it is not */
    int rows;                      /* that it has */
    uint8_t levels[VIEW_PREVIEW_ROWS][VIEW_PREVIEW_COLUMNS]; /* eighths of a cell, 0: nothing */
};

/* `read` of the `total` events and commands have been read. The shape of the work, which the index
 * of a large file takes long to tell, is looked at once for each size of the screen. */
void view_preview_draw(struct view_preview *preview, struct view_screen *screen,
                       struct trace_reader *reader, const char *path, uint64_t read,
                       uint64_t total);

#endif
