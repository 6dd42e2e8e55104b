/* SPDX-License-Identifier: Apache-2.0 */
/* Data exchanged with other ranks: sums by channel and operation. */
#ifndef FORMAT_TOOL_COLLECTIVES_H
#define FORMAT_TOOL_COLLECTIVES_H

#include "format/base/json.h"
#include "format/columns/collectives.h"
#include "format/tool/support/table.h"

/* All zero is empty. */
struct exchanges {
    struct trace_channels channels;
    struct tool_table sums;
    struct hal_idmap submissions; /* index in `sums` */
};

/* Takes any event. HAL_NO_MEMORY. */
enum hal_status exchanges_take(struct exchanges *exchanges,
                               const struct trace_event *event) HAL_CHECKED;

/* Adds the submission's device time; does nothing unless it is a collective. */
void exchanges_took(struct exchanges *exchanges, uint64_t submission, int64_t device_ns);
void exchanges_finish(struct exchanges *exchanges);

/* Sorted by channel, then operation. Prints nothing if there are none. */
void exchanges_print(struct exchanges *exchanges, const struct trace_reader *reader,
                     struct trace_text *text);
/* Writes the value of "collectives" in an open object. */
void exchanges_json(struct exchanges *exchanges, const struct trace_reader *reader,
                    struct trace_text *text);

#endif
