/* SPDX-License-Identifier: Apache-2.0 */
/* What the note about a frame says of its events. */
#ifndef FORMAT_NOTES_H
#define FORMAT_NOTES_H

#include "format/record.h"
#include "format/trace.pb-c.h"

#include <stddef.h>

/* One more event, or so many more segments, one behind the other, are in the note's frame. */
void trace_note_event(Haltrace__Note *note, const struct trace_event *event);
void trace_note_segments(Haltrace__Note *note, const void *segments, size_t count);

#endif
