/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the note about a frame from the frame's events. */
#ifndef FORMAT_NOTES_H
#define FORMAT_NOTES_H

#include "format/record.h"
#include "format/trace.pb-c.h"

#include <stddef.h>

/* Count an event, or `count` consecutive segments, in the note. */
void trace_note_event(Haltrace__Note *note, const struct trace_event *event);
void trace_note_segments(Haltrace__Note *note, const void *segments, size_t count);

#endif
