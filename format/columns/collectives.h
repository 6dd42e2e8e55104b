/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that show collectives: the channels named so far, and names for their operations. */
#ifndef FORMAT_COLLECTIVES_H
#define FORMAT_COLLECTIVES_H

#include "format/trace.h"
#include "hal/base/idmap.h"

/* All zero is empty. */
struct trace_channels {
    struct hal_idmap ids;
    struct trace_channel_create *list;
    size_t count, capacity;
};

/* Records a TRACE_CHANNEL_CREATE. HAL_NO_MEMORY. */
enum hal_status trace_channels_take(struct trace_channels *channels,
                                    const struct trace_channel_create *record) HAL_CHECKED;
void trace_channels_finish(struct trace_channels *channels);

/* NULL: the trace has not named it. Borrowed until the next channel is added. */
const struct trace_channel_create *trace_channels_find(const struct trace_channels *channels,
                                                       uint64_t channel);

enum { TRACE_COLLECTIVE_NAME_BYTES = 64 };

/* "all_reduce", or a number if it has no name. Return `out`. */
const char *trace_collective_operation_name(uint32_t operation,
                                            char out[TRACE_COLLECTIVE_NAME_BYTES]);
/* "all_reduce sum f32", "send u8". */
const char *trace_collective_name(const struct trace_collective *collective,
                                  char out[TRACE_COLLECTIVE_NAME_BYTES]);
/* "f32"; "sum". */
const char *trace_element_type_name(uint32_t type, char out[TRACE_COLLECTIVE_NAME_BYTES]);
const char *trace_reduction_name(uint32_t reduction, char out[TRACE_COLLECTIVE_NAME_BYTES]);

/* Whether the operation has a peer (a peer may be rank 0). */
bool trace_collective_has_peer(uint32_t operation);

#endif
