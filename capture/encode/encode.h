/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that convert HAL structs to records: encode*.c. */
#ifndef CAPTURE_ENCODE_H
#define CAPTURE_ENCODE_H

#include "capture/capture.h"

/* Enumerations are stored as the HAL's numbers. */
#define SAME_NUMBER(format, hal) _Static_assert((int)(format) == (int)(hal), #format)

static inline struct trace_event capture_head(const struct capture_call *call,
                                              enum trace_event_kind kind, uint64_t bytes)
{
    return (struct trace_event){.kind = (uint16_t)kind,
                                .status = (uint16_t)call->status,
                                .bytes = (uint32_t)bytes,
                                .ticket = call->ticket,
                                .begin_ns = call->begin_ns,
                                .end_ns = call->end_ns,
                                .stack = call->stack};
}

static inline uint64_t capture_buffer_id(const struct hal_buffer *buffer)
{
    return buffer ? buffer->object.id : 0;
}

#endif
