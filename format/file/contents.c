/* SPDX-License-Identifier: Apache-2.0 */
/* Contents on their way into the file: what is new to it, batches of small ones. */
#include "format/file/contents.h"

#include "format/limits.h"
#include "format/trace.h"
#include "hal/base/digest.h"
#include "hal/base/text.h"

#include <openssl/crypto.h>

enum { BATCH_COUNT = 4096, BATCH_BYTES = 1 << 20, LARGE_BYTES = 256 << 10 };
enum { LEAST_REFERRED_BYTES = 256 }; /* smaller contents are no larger than a reference to them */

struct trace_content_entry {
    uint8_t identity[TRACE_IDENTITY_BYTES];
    uint64_t number; /* 0: free */
};

enum hal_status trace_contents_init(struct trace_contents *contents, bool without_sha256)
{
    /* Exit handlers run in reverse order. OpenSSL registers its own on first use, which must happen
     * before the code that opens a writer registers the handler that closes it: otherwise the last
     * contents would be digested by a library that has already cleaned up. */
    if (OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) != 1)
        return hal_fail(HAL_NO_MEMORY, "cannot initialise the computation of digests");
    *contents = (struct trace_contents){.capacity = 1024};
    if (without_sha256)
        HAL_TRY(trace_identity_init_code(&contents->identity));
    contents->entries = hal_alloc(contents->capacity, sizeof *contents->entries);
    contents->batch_sizes = hal_alloc(BATCH_COUNT, sizeof *contents->batch_sizes);
    contents->batch_sha256 = hal_alloc(BATCH_COUNT, sizeof *contents->batch_sha256);
    contents->batch_elsewhere = hal_alloc(BATCH_COUNT, sizeof *contents->batch_elsewhere);
    if (contents->entries && contents->batch_sizes && contents->batch_sha256 &&
        contents->batch_elsewhere)
        return HAL_OK;
    trace_contents_finish(contents);
    return hal_fail(HAL_NO_MEMORY, "no memory for contents");
}

void trace_contents_finish(struct trace_contents *contents)
{
    free(contents->entries);
    free(contents->batch.data);
    free(contents->batch_sizes);
    free(contents->batch_sha256);
    free(contents->batch_elsewhere);
    trace_base_close(&contents->base);
    trace_digester_free(contents->digester);
    trace_identity_finish(&contents->identity);
    *contents = (struct trace_contents){0};
}

/* The entry with this identity, or the free one where it belongs. Its first bytes are the hash. */
static struct trace_content_entry *find(struct trace_content_entry *entries, size_t capacity,
                                        const uint8_t identity[TRACE_IDENTITY_BYTES])
{
    uint64_t hash;
    memcpy(&hash, identity, sizeof hash);
    for (size_t at = (size_t)hash & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
        if (!entries[at].number ||
            memcmp(entries[at].identity, identity, TRACE_IDENTITY_BYTES) == 0)
            return &entries[at];
    }
}

static enum hal_status grow(struct trace_contents *contents)
{
    const size_t capacity = contents->capacity * 2;
    struct trace_content_entry *entries = hal_alloc(capacity, sizeof *entries);
    if (!entries)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu contents", capacity);
    for (size_t i = 0; i < contents->capacity; i++) {
        if (contents->entries[i].number)
            *find(entries, capacity, contents->entries[i].identity) = contents->entries[i];
    }
    free(contents->entries);
    contents->entries = entries;
    contents->capacity = capacity;
    return HAL_OK;
}

static enum hal_status mark_elsewhere(struct trace_directory *directory, const bool *elsewhere,
                                      Haltrace__Blobs *blobs)
{
    bool any = false;
    for (size_t i = 0; i < blobs->n_size; i++)
        any |= elsewhere[i];
    if (!any)
        return HAL_OK;
    blobs->elsewhere =
        trace_arena_array(&directory->arena, blobs->n_size, sizeof *blobs->elsewhere);
    if (!blobs->elsewhere)
        return hal_fail(HAL_NO_MEMORY, "no memory for contents");
    blobs->n_elsewhere = blobs->n_size;
    for (size_t i = 0; i < blobs->n_size; i++)
        blobs->elsewhere[i] = elsewhere[i];
    return HAL_OK;
}

/* The contents of one frame. */
struct frame {
    const void *data;
    size_t bytes; /* of all that is not elsewhere */
    size_t count;
    const uint64_t *sizes;
    const bool *elsewhere;
    bool has_sha256;
    const uint8_t *sha256;    /* one after the other */
    const uint64_t *checksum; /* NULL: not known */
};

static enum hal_status write_frame(struct trace_directory *directory, struct trace_output *output,
                                   const struct frame *frame)
{
    Haltrace__Blobs *blobs = trace_directory_new_blobs(directory, frame->count, frame->has_sha256);
    if (!blobs)
        return hal_fail(HAL_NO_MEMORY, "no memory for contents");
    blobs->first = directory->content_count + 1;
    memcpy(blobs->size, frame->sizes, frame->count * sizeof *frame->sizes);
    if (frame->has_sha256)
        memcpy(blobs->sha256.data, frame->sha256, frame->count * 32);
    HAL_TRY(mark_elsewhere(directory, frame->elsewhere, blobs));
    const uint64_t offset = output->offset;
    HAL_TRY(trace_output_known_frame(output, TRACE_FRAME_BLOBS, &blobs->base, frame->data,
                                     frame->bytes, frame->checksum));
    return trace_directory_add_blobs(directory, blobs, offset, output->offset - offset);
}

/* A frame has the digests of all its contents, or none. */
static enum hal_status digest_batch(struct trace_contents *contents)
{
    const uint8_t *data = contents->batch.data;
    for (size_t i = 0; i < contents->batch_count; i++) {
        if (contents->batch_elsewhere[i])
            continue;
        HAL_TRY(hal_sha256(data, (size_t)contents->batch_sizes[i], contents->batch_sha256[i]));
        data += contents->batch_sizes[i];
    }
    return HAL_OK;
}

enum hal_status trace_contents_flush(struct trace_contents *contents,
                                     struct trace_directory *directory, struct trace_output *output)
{
    if (!contents->batch_count)
        return HAL_OK;
    const bool has_digests = trace_identity_is_sha256(&contents->identity);
    const struct frame frame = {.data = contents->batch.data,
                                .bytes = contents->batch.count,
                                .count = contents->batch_count,
                                .sizes = contents->batch_sizes,
                                .elsewhere = contents->batch_elsewhere,
                                .has_sha256 = has_digests || contents->batch_refers,
                                .sha256 = contents->batch_sha256[0]};
    if (frame.has_sha256 && !has_digests)
        HAL_TRY(digest_batch(contents));
    contents->batch_count = contents->batch.count = 0;
    contents->batch_refers = false;
    return write_frame(directory, output, &frame);
}

/* Stores the bytes of a content that is new to the file. */
struct source {
    const void *data;
    uint64_t bytes;
    bool elsewhere;           /* in another trace, and not at `data` */
    const uint8_t *sha256;    /* NULL: not known, and not wanted */
    const uint64_t *checksum; /* NULL: not known */
};

static enum hal_status store(struct trace_contents *contents, struct trace_directory *directory,
                             struct trace_output *output, const struct source *source)
{
    if (contents->count >= TRACE_MAX_CONTENTS)
        return hal_fail(HAL_INVALID, "content %zu of a trace, the limit is %u", contents->count + 1,
                        TRACE_MAX_CONTENTS);
    const size_t bytes = source->elsewhere ? 0 : (size_t)source->bytes;
    if (bytes >= LARGE_BYTES || contents->batch_count == BATCH_COUNT ||
        contents->batch.count + bytes > BATCH_BYTES)
        HAL_TRY(trace_contents_flush(contents, directory, output));
    if (bytes >= LARGE_BYTES)
        return write_frame(directory, output,
                           &(struct frame){.data = source->data,
                                           .bytes = bytes,
                                           .count = 1,
                                           .sizes = &source->bytes,
                                           .elsewhere = &source->elsewhere,
                                           .has_sha256 = source->sha256 != NULL,
                                           .sha256 = source->sha256,
                                           .checksum = source->checksum});
    if (!trace_bytes_reserve(&contents->batch, bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for a content of %zu bytes", bytes);
    if (bytes)
        memcpy(contents->batch.data + contents->batch.count, source->data, bytes);
    contents->batch.count += bytes;
    contents->batch_sizes[contents->batch_count] = source->bytes;
    contents->batch_elsewhere[contents->batch_count] = source->elsewhere;
    contents->batch_refers |= source->elsewhere;
    if (source->sha256)
        memcpy(contents->batch_sha256[contents->batch_count], source->sha256, 32);
    contents->batch_count++;
    return HAL_OK;
}

/* The entry with this identity; if that has no number, there is room for one more. */
static enum hal_status find_entry(struct trace_contents *contents,
                                  const uint8_t identity[TRACE_IDENTITY_BYTES],
                                  struct trace_content_entry **out_entry)
{
    if (contents->count * 2 >= contents->capacity)
        HAL_TRY(grow(contents));
    *out_entry = find(contents->entries, contents->capacity, identity);
    return HAL_OK;
}

static void enter(struct trace_contents *contents, struct trace_content_entry *entry,
                  const uint8_t identity[TRACE_IDENTITY_BYTES])
{
    memcpy(entry->identity, identity, TRACE_IDENTITY_BYTES);
    entry->number = ++contents->count;
}

static enum hal_status check_size(uint64_t bytes)
{
    if (bytes > TRACE_MAX_CONTENT_BYTES)
        return hal_fail(HAL_INVALID, "a content of %s, the limit is %u",
                        hal_count((unsigned long long)bytes, "byte", "bytes").text,
                        TRACE_MAX_CONTENT_BYTES);
    return HAL_OK;
}

/* Whether the other trace has a new content's bytes. Computes a digest only if it has that size. */
static enum hal_status look_elsewhere(const struct trace_contents *contents, struct source *source,
                                      uint8_t sha256[32])
{
    if (source->bytes < LEAST_REFERRED_BYTES ||
        !trace_base_has_size(&contents->base, source->bytes))
        return HAL_OK;
    if (!source->sha256)
        HAL_TRY(hal_sha256(source->data, (size_t)source->bytes, sha256));
    source->sha256 = sha256;
    source->elsewhere = trace_base_find(&contents->base, sha256, source->bytes) != 0;
    if (!source->elsewhere && !trace_identity_is_sha256(&contents->identity))
        source->sha256 = NULL;
    return HAL_OK;
}

enum hal_status trace_contents_add(struct trace_contents *contents,
                                   struct trace_directory *directory, struct trace_output *output,
                                   const void *data, size_t bytes, uint64_t *out_number)
{
    struct trace_digest digest;
    struct trace_content_entry *entry;
    HAL_TRY(check_size(bytes));
    HAL_TRY(trace_digester_take(contents->digester, &contents->identity, data, bytes, &digest));
    HAL_TRY(find_entry(contents, digest.identity, &entry));
    if (!entry->number) {
        uint8_t sha256[32];
        struct source source = {.data = data,
                                .bytes = bytes,
                                .checksum = digest.has_checksum ? &digest.checksum : NULL};
        if (trace_identity_is_sha256(&contents->identity))
            source.sha256 = memcpy(sha256, digest.identity, sizeof sha256);
        HAL_TRY(look_elsewhere(contents, &source, sha256));
        HAL_TRY(store(contents, directory, output, &source));
        enter(contents, entry, digest.identity);
    }
    *out_number = entry->number;
    return HAL_OK;
}

enum hal_status trace_contents_refer(struct trace_contents *contents,
                                     struct trace_directory *directory, struct trace_output *output,
                                     const uint8_t sha256[32], uint64_t bytes, uint64_t *out_number)
{
    struct trace_content_entry *entry;
    HAL_TRY(check_size(bytes));
    HAL_TRY(find_entry(contents, sha256, &entry));
    if (!entry->number) {
        const struct source source = {.bytes = bytes, .elsewhere = true, .sha256 = sha256};
        HAL_TRY(store(contents, directory, output, &source));
        enter(contents, entry, sha256);
    }
    *out_number = entry->number;
    return HAL_OK;
}
