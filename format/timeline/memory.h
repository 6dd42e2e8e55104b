/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes the buffers that are there take, by type of memory. One thread. */
#ifndef FORMAT_MEMORY_H
#define FORMAT_MEMORY_H

#include "format/record.h"
#include "hal/base/idmap.h"

enum { TRACE_MEMORY_TYPES = 16 };

/* All zero: none. */
struct trace_memory {
    struct hal_idmap ids;
    struct trace_memory_buffer *buffers; /* by index */
    size_t count, capacity;
    uint32_t free; /* the first free index, plus 1 */
    uint64_t bytes[TRACE_MEMORY_TYPES], all_bytes;
};

struct trace_memory_change {
    int64_t ns;
    uint32_t type; /* TRACE_MEMORY_TYPES: nothing has changed */
};

/* Takes any event. HAL_NO_MEMORY. */
enum hal_status trace_memory_take(struct trace_memory *memory, const struct trace_event *event,
                                  struct trace_memory_change *out_change) HAL_CHECKED;
void trace_memory_finish(struct trace_memory *memory);

#endif
