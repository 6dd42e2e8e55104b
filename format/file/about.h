/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a trace's metadata to the messages that a writer stores. */
#ifndef FORMAT_ABOUT_H
#define FORMAT_ABOUT_H

#include "format/base/arena.h"
#include "format/trace.h"
#include "format/trace.pb-c.h"

/* Texts are borrowed; the arena owns lists. HAL_NO_MEMORY. */
enum hal_status trace_about_header(const struct trace_header *header, struct trace_arena *arena,
                                   Haltrace__Header *message) HAL_CHECKED;

/* `health` NULL: healthy. The caller adds threads that did not finish. */
void trace_about_end(const struct trace_health *health, Haltrace__End *end);

#endif
