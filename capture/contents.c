/* SPDX-License-Identifier: Apache-2.0 */
/* Recording bytes: how much of them the policy and the budget allow; cut into pieces, copied into
 * staging memory (or only their digests), published one by one. */
#include "capture/capture.h"

#include "format/limits.h"

/* A piece is far smaller than the staging, so that copying and writing overlap. */
uint64_t capture_piece_bytes(const struct capture_stream *stream)
{
    const uint64_t share = stream->staging.bytes / 8;
    return share < TRACE_PIECE_BYTES ? share : TRACE_PIECE_BYTES;
}

/* Before anything is copied. What does not fit leaves the rest to smaller contents. */
bool capture_budget_allows(struct capture_stream *stream, uint64_t bytes)
{
    const uint64_t budget = stream->policy.budget_bytes;
    if (budget == 0)
        return true;
    uint64_t used = atomic_load_explicit(&stream->budget_used, memory_order_relaxed);
    while (bytes <= budget - used) {
        if (atomic_compare_exchange_weak_explicit(&stream->budget_used, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    atomic_fetch_add_explicit(&stream->over_budget_bytes, bytes, memory_order_relaxed);
    return false;
}

static enum capture_detail detail_of(struct capture_stream *stream,
                                     const struct capture_content *content)
{
    enum capture_detail detail =
        content->kind == TRACE_HOST_READ ? stream->policy.outputs : stream->policy.contents;
    if (content->file && stream->policy.files == CAPTURE_FILES_REFERENCE)
        return CAPTURE_DIGEST;
    if (detail == CAPTURE_BYTES && !capture_budget_allows(stream, content->bytes))
        detail = CAPTURE_DIGEST;
    if (detail == CAPTURE_DIGEST && content->kind == TRACE_HOST_READ)
        atomic_fetch_add_explicit(&stream->digest_reads, 1, memory_order_relaxed);
    return detail;
}

/* False, with recording stopped: it cannot be done. */
static bool stage(struct capture_thread *thread, enum capture_detail detail, const uint8_t *data,
                  uint64_t bytes, uint64_t *out_position)
{
    uint8_t digest[TRACE_DIGEST_BYTES];
    *out_position = 0;
    if (detail == CAPTURE_NOTHING)
        return true;
    if (detail == CAPTURE_BYTES)
        return capture_stage(thread, data, bytes, out_position);
    const enum hal_status status = trace_sha256(data, (size_t)bytes, digest);
    if (status != HAL_OK)
        capture_stop(thread->stream, status, "%s", hal_message());
    return status == HAL_OK && capture_stage(thread, digest, sizeof digest, out_position);
}

static bool record_piece(struct capture_thread *thread, const struct capture_content *content,
                         struct trace_event head, uint64_t done, uint64_t bytes)
{
    uint64_t position;
    const enum capture_detail detail = content->detail;
    if (!stage(thread, detail, (const uint8_t *)content->data + done, bytes, &position))
        return false;
    struct trace_content_event *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return false;
    head.end_ns = hal_clock_ns();
    *record = (struct trace_content_event){
        .head = head,
        .buffer = content->buffer,
        .offset = content->offset + done,
        .size = bytes,
        .content = position,
        .flags = content->flags | (detail == CAPTURE_DIGEST ? TRACE_FLAG_DIGEST : 0u) |
                 (content->file ? TRACE_FLAG_FILE : 0u),
        .file = content->file,
        .file_offset = content->file ? content->file_offset + done : 0,
    };
    capture_publish(thread, sizeof *record);
    return true;
}

void capture_record_content(struct capture_thread *thread, const struct capture_content *content)
{
    struct capture_content decided = *content;
    const uint64_t most = capture_piece_bytes(thread->stream);
    const int64_t begin_ns = hal_clock_ns();
    const struct trace_event head = {.kind = content->kind,
                                     .bytes = sizeof(struct trace_content_event),
                                     .ticket = capture_ticket(thread->stream),
                                     .begin_ns = begin_ns};
    decided.detail = detail_of(thread->stream, content);
    for (uint64_t done = 0, bytes; done < content->bytes; done += bytes) {
        bytes = content->bytes - done < most ? content->bytes - done : most;
        if (!record_piece(thread, &decided, head, done, bytes))
            return;
    }
    const uint64_t spent_ns = (uint64_t)(hal_clock_ns() - begin_ns);
    thread->measured_ns += spent_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, spent_ns, memory_order_relaxed);
}
