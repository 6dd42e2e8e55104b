/* SPDX-License-Identifier: Apache-2.0 */
/* What was exchanged with other ranks: sums by channel and operation. */
#ifndef FORMAT_TOOL_COLLECTIVES_H
#define FORMAT_TOOL_COLLECTIVES_H

#include "format/collectives.h"
#include "format/json.h"

struct exchange;

/* All zero: none. */
struct exchanges {
    struct trace_channels channels;
    struct exchange *list;
    size_t count, capacity;
    struct hal_idmap rows, submissions; /* their rows of `list` */
};

/* Takes any event. HAL_NO_MEMORY. */
enum hal_status exchanges_take(struct exchanges *exchanges,
                               const struct trace_event *event) HAL_CHECKED;

/* The submission took that time on the device; nothing, if it is no collective. */
void exchanges_took(struct exchanges *exchanges, uint64_t submission, int64_t device_ns);
void exchanges_finish(struct exchanges *exchanges);

/* By channel, then operation. Nothing, if there are none. */
void exchanges_print(struct exchanges *exchanges, const struct trace_reader *reader,
                     struct trace_text *text);
/* As the value "collectives" of an open object. */
void exchanges_json(struct exchanges *exchanges, const struct trace_reader *reader,
                    struct trace_text *text);

#endif
