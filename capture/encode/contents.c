/* SPDX-License-Identifier: Apache-2.0 */
/* Recording bytes: how much of them the policy and the budget allow; cut into pieces, copied into
 * staging memory (or only their digests), published one by one. */
#include "capture/capture.h"
#include "capture/pages/pages.h"
#include "hal/base/digest.h"

#include "format/limits.h"

#include <string.h>

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
    const enum hal_status status = hal_sha256(data, (size_t)bytes, digest);
    if (status != HAL_OK)
        capture_stop(thread->stream, status, "%s", hal_message());
    return status == HAL_OK && capture_stage(thread, digest, sizeof digest, out_position);
}

static struct trace_content_event piece_of(const struct capture_content *content,
                                           struct trace_event head, uint64_t done, uint64_t bytes,
                                           uint64_t position)
{
    head.end_ns = hal_clock_ns();
    return (struct trace_content_event){
        .head = head,
        .buffer = content->buffer,
        .offset = content->offset + done,
        .size = bytes,
        .content = position,
        .flags = (head.kind == content->kind ? content->flags : 0u) |
                 (content->detail == CAPTURE_DIGEST ? TRACE_FLAG_DIGEST : 0u) |
                 (content->file ? TRACE_FLAG_FILE : 0u),
        .file = content->file,
        .file_offset = content->file ? content->file_offset + done : 0,
    };
}

static bool publish_change(struct capture_thread *thread, const struct capture_content *content,
                           struct trace_event head, uint64_t done, uint64_t bytes,
                           const uint64_t position[2])
{
    struct trace_mapped_change *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return false;
    head.bytes = sizeof *record;
    *record = (struct trace_mapped_change){
        .part = piece_of(content, head, done, bytes, position[1]), .before = position[0]};
    capture_publish(thread, sizeof *record);
    return true;
}

/* A piece into which the host stored while it was copied may contain bytes not announced yet. */
static uint16_t kind_of_piece(const struct capture_content *content, const uint8_t *data,
                              uint64_t bytes)
{
    const bool is_torn = content->watched_by && capture_pages_any(content->watched_by, data, bytes);
    return is_torn ? TRACE_MAPPED_CHANGE : content->kind;
}

/* `staged`: position of the piece; 0: not yet in staging memory. A piece of another kind than the
 * previous ones has its own ticket. */
static bool record_piece(struct capture_thread *thread, const struct capture_content *content,
                         struct trace_event *head, uint64_t done, uint64_t bytes, uint64_t staged)
{
    const uint8_t *data = (const uint8_t *)content->data + done;
    uint64_t position[2] = {0, staged}; /* of what was there before, and of the piece */
    if (content->before && !stage(thread, content->detail, (const uint8_t *)content->before + done,
                                  bytes, &position[0]))
        return false;
    if (!staged && !stage(thread, content->detail, data, bytes, &position[1]))
        return false;
    const uint16_t kind = kind_of_piece(content, data, bytes);
    if (kind != head->kind && done)
        head->ticket = capture_ticket(thread->stream);
    head->kind = kind;
    if (kind == TRACE_MAPPED_CHANGE)
        return publish_change(thread, content, *head, done, bytes, position);
    struct trace_content_event *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return false;
    *record = piece_of(content, *head, done, bytes, position[1]);
    capture_publish(thread, sizeof *record);
    return true;
}

/* The `bytes` after `done`, which are at `staged` if that is not 0. */
static bool record_pieces(struct capture_thread *thread, const struct capture_content *content,
                          struct trace_event head, uint64_t done, uint64_t bytes, uint64_t staged)
{
    const uint64_t most = capture_piece_bytes(thread->stream);
    for (uint64_t at = 0, piece; at < bytes; at += piece) {
        piece = bytes - at < most ? bytes - at : most;
        if (!record_piece(thread, content, &head, done + at, piece, staged ? staged + at : 0))
            return false;
    }
    return true;
}

static struct trace_event make_head(struct capture_thread *thread, uint16_t kind)
{
    return (struct trace_event){.kind = kind,
                                .bytes = sizeof(struct trace_content_event),
                                .ticket = capture_ticket(thread->stream),
                                .begin_ns = hal_clock_ns()};
}

static void add_overhead(struct capture_thread *thread, int64_t spent_ns)
{
    thread->measured_ns += (uint64_t)spent_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, (uint64_t)spent_ns, memory_order_relaxed);
}

void capture_record_content(struct capture_thread *thread, const struct capture_content *content)
{
    struct capture_content decided = *content;
    const struct trace_event head = make_head(thread, content->kind);
    decided.detail = detail_of(thread->stream, content);
    record_pieces(thread, &decided, head, 0, content->bytes, 0);
    add_overhead(thread, hal_clock_ns() - head.begin_ns);
}

/* A quarter of the staging at a time, so that what was copied is written while more is. */
void capture_record_store(struct capture_thread *thread, const struct capture_content *content,
                          uint8_t *target)
{
    struct capture_stream *stream = thread->stream;
    struct capture_content decided = *content;
    const struct trace_event head = make_head(thread, content->kind);
    const uint64_t most = stream->staging.bytes / 4;
    int64_t storing_ns = 0;
    bool works = true;
    decided.detail = detail_of(stream, content);
    for (uint64_t done = 0, bytes; done < content->bytes; done += bytes) {
        const uint8_t *data = (const uint8_t *)content->data + done;
        uint64_t staged = 0;
        bytes = content->bytes - done < most ? content->bytes - done : most;
        const bool beside = works && decided.detail == CAPTURE_BYTES &&
                            capture_copier_begin(stream, data, bytes, &staged);
        const int64_t begin_ns = hal_clock_ns();
        memcpy(target + done, data, bytes); /* in any case: the application relies on it */
        storing_ns += hal_clock_ns() - begin_ns;
        if (beside && !capture_copier_finish(stream)) {
            capture_lose(stream, 1);
            works = false;
        }
        works = works && record_pieces(thread, &decided, head, done, bytes, staged);
    }
    add_overhead(thread, hal_clock_ns() - head.begin_ns - storing_ns);
}
