/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: contents when they are asked for, of this file or of those that it refers to. */
#include "format/file/contents.h"
#include "format/file/reader.h"
#include "hal/base/digest.h"
#include "hal/base/order.h"
#include "hal/base/text.h"

#include <inttypes.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to read a trace");
}

/* ---- Contents ----------------------------------------------------------------------------- */

/* Frame and position of a content: in the frame's list, and in its data. */
static enum hal_status find_content(const struct trace_reader *reader, uint64_t content,
                                    size_t *out_frame, size_t *out_index)
{
    if (content == 0 || content > reader->directory.content_count)
        return hal_fail(HAL_NOT_FOUND, "no content %" PRIu64 ", there are %" PRIu64, content,
                        reader->directory.content_count);
    size_t low = 0, high = reader->directory.blobs_count - 1;
    HAL_BISECT(low, high, middle, reader->frame_last_content[middle] < content)
    *out_frame = low;
    *out_index = (size_t)(content - reader->directory.blobs[low].blobs->first);
    return HAL_OK;
}

enum hal_status trace_reader_content_size(const struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes)
{
    size_t frame, index;
    HAL_TRY(find_content(reader, content, &frame, &index));
    *out_bytes = reader->directory.blobs[frame].blobs->size[index];
    return HAL_OK;
}

/* Where each content of the frame begins in its data, and how large those are. */
static enum hal_status list_starts(struct trace_cached_frame *slot, const Haltrace__Blobs *blobs,
                                   uint64_t *out_bytes)
{
    uint64_t at = 0;
    if (!HAL_GROW(slot->starts, &slot->start_capacity, blobs->n_size))
        return no_memory();
    for (size_t i = 0; i < blobs->n_size; i++) {
        slot->starts[i] = at;
        at += trace_blob_is_elsewhere(blobs, i) ? 0 : blobs->size[i];
    }
    *out_bytes = at;
    return HAL_OK;
}

static enum hal_status load_blobs(struct trace_reader *reader, struct trace_cached_frame *slot)
{
    const struct trace_blobs_frame *entry = &reader->directory.blobs[slot->frame];
    struct trace_frame_head head;
    uint8_t *meta;
    uint64_t bytes = 0;
    HAL_TRY(list_starts(slot, entry->blobs, &bytes));
    trace_arena_reset(&reader->scratch);
    HAL_TRY(trace_input_head(&reader->input, entry->offset, entry->offset + entry->bytes, &head,
                             &reader->scratch, &meta));
    if (head.kind != TRACE_FRAME_BLOBS || trace_frame_bytes(&head) != entry->bytes ||
        head.raw_bytes != bytes)
        return hal_fail(HAL_CORRUPT, "damaged: other contents at byte %" PRIu64, entry->offset);
    slot->raw.count = 0;
    if (!trace_bytes_reserve(&slot->raw, (size_t)bytes))
        return no_memory();
    HAL_TRY(trace_input_own_data(&reader->input, entry->offset, &head, slot->raw.data));
    slot->raw.count = (size_t)bytes;
    return HAL_OK;
}

/* The decompressed frame of contents. */
static enum hal_status get_blobs(struct trace_reader *reader, size_t frame,
                                 const struct trace_cached_frame **out_frame)
{
    struct trace_cached_frame *slot;
    HAL_TRY(trace_cache_find(&reader->blobs_cache, frame, &slot));
    *out_frame = slot;
    if (slot->is_valid)
        return HAL_OK;
    return trace_cache_filled(reader, &reader->blobs_cache, reader->directory.blobs_count, slot,
                              load_blobs(reader, slot));
}

static enum hal_status copy_content(struct trace_reader *reader, size_t frame, size_t index,
                                    void *out, size_t bytes)
{
    const struct trace_cached_frame *loaded;
    HAL_TRY(get_blobs(reader, frame, &loaded));
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    if (bytes)
        memcpy(out, loaded->raw.data + loaded->starts[index], bytes);
    uint8_t sha256[32];
    const uint8_t *wanted = trace_blob_sha256(blobs, index);
    if (!wanted) /* the frame's checksum has been verified */
        return HAL_OK;
    HAL_TRY(hal_sha256(out, bytes, sha256));
    if (memcmp(sha256, wanted, sizeof sha256) != 0)
        return hal_fail(HAL_CORRUPT,
                        "damaged: wrong SHA-256 of content %" PRIu64 " in the frame at "
                        "byte %" PRIu64,
                        blobs->first + index, reader->directory.blobs[frame].offset);
    return HAL_OK;
}

/* Computes the digests of all contents of a frame, since reading one of them reads all. */
static enum hal_status compute_digests(struct trace_reader *reader, size_t frame)
{
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    const struct trace_cached_frame *loaded;
    HAL_TRY(get_blobs(reader, frame, &loaded));
    if (!reader->frame_digests)
        reader->frame_digests = hal_alloc(reader->directory.blobs_count, sizeof(uint8_t *));
    uint8_t *digests = trace_arena_array(&reader->kept, blobs->n_size, TRACE_DIGEST_BYTES);
    if (!reader->frame_digests || !digests)
        return no_memory();
    const uint8_t *data = loaded->raw.data;
    for (size_t i = 0; i < blobs->n_size; i++) {
        HAL_TRY(hal_sha256(data, (size_t)blobs->size[i], digests + TRACE_DIGEST_BYTES * i));
        data += blobs->size[i];
    }
    reader->frame_digests[frame] = digests;
    return HAL_OK;
}

enum hal_status trace_reader_content_info(struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes, uint8_t out_sha256[32])
{
    size_t frame, index;
    HAL_TRY(find_content(reader, content, &frame, &index));
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    const uint8_t *sha256 = trace_blob_sha256(blobs, index);
    if (!sha256) {
        if (!reader->frame_digests || !reader->frame_digests[frame])
            HAL_TRY(trace_reader_with_path(reader, compute_digests(reader, frame)));
        sha256 = reader->frame_digests[frame] + TRACE_DIGEST_BYTES * index;
    }
    *out_bytes = blobs->size[index];
    memcpy(out_sha256, sha256, TRACE_DIGEST_BYTES);
    return HAL_OK;
}

/* ---- Contents in other traces -------------------------------------------------------------- */

enum hal_status trace_reader_add_base(struct trace_reader *reader, const char *path)
{
    if (reader->base_count == TRACE_MAX_BASES)
        return hal_fail(HAL_INVALID, "'%s' is one too many: at most %d traces can provide contents",
                        path, TRACE_MAX_BASES);
    HAL_TRY(trace_base_open(path, &reader->bases[reader->base_count]));
    reader->base_count++;
    return HAL_OK;
}

/* NULL: no base holds it; else it has that number there. */
static const struct trace_base *find_base(const struct trace_reader *reader,
                                          const uint8_t sha256[32], uint64_t bytes,
                                          uint64_t *out_number)
{
    for (size_t i = 0; i < reader->base_count; i++) {
        *out_number = trace_base_find(&reader->bases[i], sha256, bytes);
        if (*out_number)
            return &reader->bases[i];
    }
    return NULL;
}

/* The same for a content that may be it: it is damaged, and reading it fails. */
static const struct trace_base *find_damaged(const struct trace_reader *reader, uint64_t bytes,
                                             uint64_t *out_number)
{
    for (size_t i = 0; i < reader->base_count; i++) {
        *out_number = trace_base_find_damaged(&reader->bases[i], bytes);
        if (*out_number)
            return &reader->bases[i];
    }
    return NULL;
}

/* For a content in another trace. */
static bool is_in_base(const struct trace_reader *reader, const Haltrace__Blobs *blobs,
                       size_t index)
{
    uint64_t number;
    return find_base(reader, trace_blob_sha256(blobs, index), blobs->size[index], &number) ||
           find_damaged(reader, blobs->size[index], &number);
}

struct trace_missing trace_reader_missing(const struct trace_reader *reader)
{
    struct trace_missing missing = {0};
    if (!reader->counts.referred_contents)
        return missing;
    for (size_t f = 0; f < reader->directory.blobs_count; f++) {
        const Haltrace__Blobs *blobs = reader->directory.blobs[f].blobs;
        for (size_t i = 0; i < blobs->n_size; i++) {
            if (!trace_blob_is_elsewhere(blobs, i) || is_in_base(reader, blobs, i))
                continue;
            missing.first = missing.first ? missing.first : blobs->first + i;
            missing.contents++;
            missing.bytes += blobs->size[i];
        }
    }
    return missing;
}

bool trace_reader_has_content(const struct trace_reader *reader, uint64_t content)
{
    size_t frame, index;
    if (find_content(reader, content, &frame, &index) != HAL_OK)
        return false;
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    return !trace_blob_is_elsewhere(blobs, index) || is_in_base(reader, blobs, index);
}

static enum hal_status fetch_content(struct trace_reader *reader, uint64_t content,
                                     const uint8_t sha256[32], void *out, size_t bytes)
{
    uint64_t number;
    const struct trace_base *base = find_base(reader, sha256, bytes, &number);
    if (base)
        return trace_reader_content(base->reader, number, out, bytes);
    base = find_damaged(reader, bytes, &number);
    if (base)
        HAL_TRY(trace_reader_content(base->reader, number, out, bytes));
    return hal_fail(HAL_NOT_FOUND,
                    "content %" PRIu64
                    " of %s is not in the file, but in '%s', which was not given",
                    content, hal_count(bytes, "byte", "bytes").text, reader->header.base);
}

enum hal_status trace_reader_content(struct trace_reader *reader, uint64_t content, void *out,
                                     size_t bytes)
{
    size_t frame, index;
    HAL_TRY(find_content(reader, content, &frame, &index));
    const uint64_t size = reader->directory.blobs[frame].blobs->size[index];
    if (size != bytes)
        return hal_fail(HAL_INVALID, "content %" PRIu64 " has %s, not %zu", content,
                        hal_count(size, "byte", "bytes").text, bytes);
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    return trace_reader_with_path(
        reader, trace_blob_is_elsewhere(blobs, index)
                    ? fetch_content(reader, content, trace_blob_sha256(blobs, index), out, bytes)
                    : copy_content(reader, frame, index, out, bytes));
}
