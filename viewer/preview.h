/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a trace while it is still being read: what the file's index alone tells. */
#ifndef VIEWER_PREVIEW_H
#define VIEWER_PREVIEW_H

#include "format/trace.h"
#include "viewer/screen.h"

/* `read` of the `total` events and commands have been read. */
void view_preview_draw(struct view_screen *screen, struct trace_reader *reader, const char *path,
                       uint64_t read, uint64_t total);

#endif
