/* SPDX-License-Identifier: Apache-2.0 */
/* Recording bytes: cut into pieces, copied into staging memory, published one by one. */
#include "capture/capture.h"

#include "format/limits.h"

/* A piece is far smaller than the staging, so that copying and writing overlap. */
static uint64_t piece_bytes(const struct capture_stream *stream)
{
    const uint64_t share = stream->staging.bytes / 8;
    return share < TRACE_PIECE_BYTES ? share : TRACE_PIECE_BYTES;
}

void capture_record_content(struct capture_thread *thread, const struct capture_content *content)
{
    const uint64_t most = piece_bytes(thread->stream), ticket = capture_ticket(thread->stream);
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t done = 0, bytes; done < content->bytes; done += bytes) {
        uint64_t position;
        bytes = content->bytes - done < most ? content->bytes - done : most;
        if (!capture_stage(thread, (const uint8_t *)content->data + done, bytes, &position))
            return;
        struct trace_content_event *record = capture_reserve(thread, sizeof *record);
        if (!record)
            return;
        *record = (struct trace_content_event){
            .head = {.kind = content->kind,
                     .bytes = sizeof *record,
                     .ticket = ticket,
                     .begin_ns = begin_ns,
                     .end_ns = hal_clock_ns()},
            .buffer = content->buffer,
            .offset = content->offset + done,
            .size = bytes,
            .content = position,
            .flags = content->flags,
        };
        capture_publish(thread, sizeof *record);
    }
    const uint64_t spent_ns = (uint64_t)(hal_clock_ns() - begin_ns);
    thread->measured_ns += spent_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, spent_ns, memory_order_relaxed);
}
