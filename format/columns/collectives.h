/* SPDX-License-Identifier: Apache-2.0 */
/* What submissions did together with those of other ranks, for those who show it: the channels that
 * a trace has named so far, and the names of what was done on them. */
#ifndef FORMAT_COLLECTIVES_H
#define FORMAT_COLLECTIVES_H

#include "format/trace.h"
#include "hal/base/idmap.h"

/* All zero: none. */
struct trace_channels {
    struct hal_idmap ids;
    struct trace_channel_create *list;
    size_t count, capacity;
};

/* Takes a record of kind TRACE_CHANNEL_CREATE. HAL_NO_MEMORY. */
enum hal_status trace_channels_take(struct trace_channels *channels,
                                    const struct trace_channel_create *record) HAL_CHECKED;
void trace_channels_finish(struct trace_channels *channels);

/* NULL: the trace has not named it. Borrowed, until the next one is taken. */
const struct trace_channel_create *trace_channels_find(const struct trace_channels *channels,
                                                       uint64_t channel);

enum { TRACE_COLLECTIVE_NAME_BYTES = 64 };

/* "all_reduce"; what has no name is a number. Return `out`. */
const char *trace_collective_operation_name(uint32_t operation,
                                            char out[TRACE_COLLECTIVE_NAME_BYTES]);
/* "all_reduce sum f32", "send u8". */
const char *trace_collective_name(const struct trace_collective *collective,
                                  char out[TRACE_COLLECTIVE_NAME_BYTES]);
/* "f32"; "sum". */
const char *trace_element_type_name(uint32_t type, char out[TRACE_COLLECTIVE_NAME_BYTES]);
const char *trace_reduction_name(uint32_t reduction, char out[TRACE_COLLECTIVE_NAME_BYTES]);

/* Whether it has a peer, which is rank 0 as well. */
bool trace_collective_has_peer(uint32_t operation);

#endif
