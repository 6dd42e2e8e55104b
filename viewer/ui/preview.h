/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a trace while it is being read: a preview from the file's index. */
#ifndef VIEWER_PREVIEW_H
#define VIEWER_PREVIEW_H

#include "format/trace.h"
#include "viewer/grid/screen.h"

/* Maximum rows of queues and columns of the axis: further ones stay blank. */
enum { VIEW_PREVIEW_ROWS = 8, VIEW_PREVIEW_COLUMNS = 1000 };

/* State for repeated drawing of one trace; initially all zero. */
struct view_preview {
    int asked_rows, asked_columns; /* for which the shape of the work is known; 0: unknown */
    int rows;                      /* of the shape */
    uint8_t levels[VIEW_PREVIEW_ROWS][VIEW_PREVIEW_COLUMNS]; /* eighths of a cell; 0: empty */
};

/* `read` of the `total` events and commands have been read. The shape of the work, slow to compute
 * for a large file, is computed once for each screen size. */
void view_preview_draw(struct view_preview *preview, struct view_screen *screen,
                       struct trace_reader *reader, const char *path, uint64_t read,
                       uint64_t total);

#endif
