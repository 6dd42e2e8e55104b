/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in mappings with a shadow copy: a difference from the shadow was stored by the host or by
 * the device. Outside of all ranges that unobserved work may write it was the host. Inside, this is
 * undecidable, unless the system's record of pages shows that the host stored nothing there. */
#include "capture/capture.h"
#include "hal/base/mem.h"

enum {
    BLOCK_BYTES = CAPTURE_BLOCK_BYTES,
    CHUNK_BLOCKS = 64, /* copied at once, before the ranges of work are looked up */
    CHUNK_BYTES = CHUNK_BLOCKS * BLOCK_BYTES,
    WORD_BYTES = 4, /* host and device do not share a word */
};

enum author {
    HOST,       /* no work may write there */
    HOST_WORDS, /* the same, but work that has not started may: words without change stay out */
    EITHER,
};

struct look {
    struct capture *capture;
    struct capture_thread *thread;
    struct capture_mapping *mapping;
    uint64_t chunk; /* where the scratch memory begins in the mapping */
    bool is_changed[CHUNK_BLOCKS];
    enum author author; /* of the bytes that are not recorded yet, in [begin, end) */
    uint64_t begin, end;
};

static const uint8_t *copied(const struct look *look, uint64_t at)
{
    return look->capture->mappings.scratch + (at - look->chunk);
}

/* ---- Recording ---- */

static struct capture_content content_of(const struct look *look, uint16_t kind, uint64_t begin,
                                         uint64_t end)
{
    return (struct capture_content){.kind = kind,
                                    .buffer = look->mapping->buffer,
                                    .offset = look->mapping->offset + begin,
                                    .bytes = end - begin,
                                    .data = copied(look, begin)};
}

static bool is_different(const struct look *look, uint64_t at)
{
    return look->mapping->shadow[at] != *copied(look, at);
}

static uint64_t word_end(const struct look *look, uint64_t at)
{
    const uint64_t offset = look->mapping->offset;
    return hal_min_u64(look->end, (offset + at) / WORD_BYTES * WORD_BYTES + WORD_BYTES - offset);
}

static bool is_word_different(const struct look *look, uint64_t at)
{
    return memcmp(look->mapping->shadow + at, copied(look, at), word_end(look, at) - at) != 0;
}

static void record_words(const struct look *look)
{
    for (uint64_t at = look->begin, end; at < look->end; at = end) {
        for (end = at; end < look->end && is_word_different(look, end);)
            end = word_end(look, end);
        if (end > at) {
            const struct capture_content content = content_of(look, TRACE_HOST_WRITE, at, end);
            capture_record_content(look->thread, &content);
        } else {
            end = word_end(look, end);
        }
    }
}

static void record_change(const struct look *look)
{
    uint64_t begin = look->begin, end = look->end;
    while (begin < end && !is_different(look, begin))
        begin++;
    while (begin < end && !is_different(look, end - 1))
        end--;
    if (begin == end)
        return;
    struct capture_content content = content_of(look, TRACE_MAPPED_CHANGE, begin, end);
    content.before = look->mapping->shadow + begin;
    look->mapping->quiet = 0;
    capture_record_content(look->thread, &content);
}

static void finish_run(struct look *look)
{
    if (look->begin == look->end)
        return;
    const struct capture_content content =
        content_of(look, TRACE_HOST_WRITE, look->begin, look->end);
    switch (look->author) {
    case HOST: capture_record_content(look->thread, &content); break;
    case HOST_WORDS: record_words(look); break;
    case EITHER: record_change(look); break;
    }
    memcpy(look->mapping->shadow + look->begin, copied(look, look->begin), look->end - look->begin);
    look->begin = look->end;
}

static void add_to_run(struct look *look, uint64_t begin, uint64_t end, enum author author)
{
    if (look->end != begin || look->author != author) {
        finish_run(look);
        look->begin = begin;
        look->author = author;
    }
    look->end = end;
}

/* ---- Looking ---- */

/* True: some of the chunk [look->chunk, end) has changed, and those blocks are copied. */
static bool copy_changes(struct look *look, uint64_t end, bool only_host_pages)
{
    struct capture_mapping *mapping = look->mapping;
    uint8_t *host_pages = only_host_pages ? mapping->host_pages : NULL;
    bool any = false;
    for (uint64_t at = look->chunk, next; at < end; at = next) {
        bool *is_changed = &look->is_changed[at / BLOCK_BYTES - look->chunk / BLOCK_BYTES];
        next = hal_min_u64(end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
        *is_changed = false;
        if (host_pages && !host_pages[at / BLOCK_BYTES])
            continue;
        if (host_pages)
            host_pages[at / BLOCK_BYTES] = 0; /* what is stored from now on counts anew */
        *is_changed = memcmp(mapping->shadow + at, mapping->data + at, next - at) != 0;
        if (*is_changed)
            memcpy(look->capture->mappings.scratch + (at - look->chunk), mapping->data + at,
                   next - at);
        any |= *is_changed;
    }
    /* Who wrote what was copied was handed to the driver before. */
    atomic_thread_fence(memory_order_seq_cst);
    return any;
}

/* A changed block, cut where another may have written it. */
static void compare_block(struct look *look, uint64_t begin, uint64_t end)
{
    const struct capture_mappings *mappings = &look->capture->mappings;
    for (uint64_t at = begin, next; at < end; at = next) {
        uint64_t limit;
        const bool started = capture_spans_at(&mappings->started, at, end, &limit);
        const bool waiting = capture_spans_at(&mappings->waiting, at, limit, &next);
        const enum author author = started ? EITHER : waiting ? HOST_WORDS : HOST;
        if (started)
            next = limit;
        add_to_run(look, at, next, author);
    }
}

static bool has_scratch(struct capture *capture)
{
    struct capture_mappings *mappings = &capture->mappings;
    if (!mappings->scratch)
        mappings->scratch = malloc(CHUNK_BYTES);
    if (!mappings->scratch)
        capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory for comparing mapped memory");
    return mappings->scratch != NULL;
}

void capture_compare_collect_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping)
{
    struct look look = {.capture = capture, .thread = thread, .mapping = mapping};
    const uint64_t from = mapping->marked_begin / BLOCK_BYTES * BLOCK_BYTES;
    const uint64_t to = hal_min_u64(mapping->bytes, (mapping->marked_end + BLOCK_BYTES - 1) /
                                                        BLOCK_BYTES * BLOCK_BYTES);
    if (mapping->watched)
        capture_changes_ask_locked(capture, thread, mapping, from, to);
    if (!has_scratch(capture))
        return;
    look.chunk = from;
    for (uint64_t end; look.chunk < to; look.chunk = end) {
        end = hal_min_u64(to, look.chunk + CHUNK_BYTES);
        if (!copy_changes(&look, end, mapping->watched))
            continue;
        capture_changes_find_writers_locked(capture, mapping);
        for (uint64_t at = look.chunk, next; at < end; at = next) {
            next = hal_min_u64(end, at + BLOCK_BYTES);
            if (look.is_changed[(at - look.chunk) / BLOCK_BYTES])
                compare_block(&look, at, next);
        }
        finish_run(&look);
    }
}

/* ---- Observing ---- */

/* By pages: what the device changed in a page that the host left alone needs no record. */
static void accept_block(struct look *look, uint64_t begin, uint64_t end)
{
    struct capture_mapping *mapping = look->mapping;
    if (!mapping->watched || mapping->host_pages[begin / BLOCK_BYTES]) {
        add_to_run(look, begin, end, EITHER);
        return;
    }
    finish_run(look);
    memcpy(mapping->shadow + begin, copied(look, begin), end - begin);
}

/* Before and after the copy: a store in it is known, and one that it lacks is not forgotten. */
static void copy_between_questions(struct look *look, uint64_t end)
{
    struct capture_mapping *mapping = look->mapping;
    if (mapping->watched)
        capture_changes_ask_locked(look->capture, look->thread, mapping, look->chunk, end);
    (void)copy_changes(look, end, false);
    if (!mapping->watched)
        return;
    for (uint64_t i = look->chunk / BLOCK_BYTES; i <= (end - 1) / BLOCK_BYTES; i++)
        mapping->host_pages[i] = (uint8_t)(mapping->host_pages[i] << 1);
    capture_changes_ask_locked(look->capture, look->thread, mapping, look->chunk, end);
}

/* What was stored before the copy is done with, where all of the block was looked at. */
static void forget_pages(const struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin / BLOCK_BYTES * BLOCK_BYTES; at < end; at += BLOCK_BYTES) {
        uint8_t *page = &mapping->host_pages[at / BLOCK_BYTES];
        const bool is_whole = at >= begin && hal_min_u64(at + BLOCK_BYTES, mapping->bytes) <= end;
        *page = is_whole ? *page & 1 : *page != 0;
    }
}

void capture_compare_observe_locked(struct capture *capture, struct capture_thread *thread,
                                    struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    struct look look = {.capture = capture, .thread = thread, .mapping = mapping, .chunk = begin};
    if (!has_scratch(capture))
        return;
    for (uint64_t chunk_end; look.chunk < end; look.chunk = chunk_end) {
        chunk_end = hal_min_u64(end, (look.chunk / BLOCK_BYTES + CHUNK_BLOCKS) * BLOCK_BYTES);
        copy_between_questions(&look, chunk_end);
        for (uint64_t at = look.chunk, next; at < chunk_end; at = next) {
            next = hal_min_u64(chunk_end, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
            if (look.is_changed[at / BLOCK_BYTES - look.chunk / BLOCK_BYTES])
                accept_block(&look, at, next);
        }
        finish_run(&look);
        forget_pages(mapping, look.chunk, chunk_end);
    }
}

/* ---- Preparing ---- */

/* The trace knows of these blocks what the shadow contains. A store that came in between stays
 * noted: the next search finds it. */
static void record_blocks(struct capture_thread *thread, const struct capture_mapping *mapping)
{
    for (uint64_t at = 0; at < mapping->bytes; at += BLOCK_BYTES) {
        uint8_t *page = &mapping->host_pages[at / BLOCK_BYTES];
        if (*page == (CAPTURE_STORED_EVER | 1))
            capture_record_content(
                thread,
                &(struct capture_content){.kind = TRACE_HOST_WRITE,
                                          .buffer = mapping->buffer,
                                          .offset = mapping->offset + at,
                                          .bytes = hal_min_u64(BLOCK_BYTES, mapping->bytes - at),
                                          .data = mapping->shadow + at});
        *page &= 1;
    }
}

void capture_compare_catch_up_locked(struct capture *capture, struct capture_thread *thread,
                                     struct capture_mapping *mapping)
{
    mapping->shadow = hal_alloc(mapping->bytes, 1);
    if (!mapping->shadow)
        return;
    capture_changes_ask_locked(capture, thread, mapping, 0, mapping->bytes);
    for (uint64_t at = 0; at < mapping->bytes; at += BLOCK_BYTES) {
        uint8_t *page = &mapping->host_pages[at / BLOCK_BYTES];
        if (!*page)
            continue;
        *page |= CAPTURE_STORED_EVER;
        memcpy(mapping->shadow + at, mapping->data + at,
               hal_min_u64(BLOCK_BYTES, mapping->bytes - at));
    }
    capture_changes_ask_locked(capture, thread, mapping, 0, mapping->bytes);
    record_blocks(thread, mapping);
}

bool capture_compare_begin(struct capture_mapping *mapping)
{
    /* Memory of a new buffer may hold anything, also what the host is about to write; a replay's
     * holds zeros. It is compared with those. */
    mapping->shadow = mapping->is_first ? hal_alloc(mapping->bytes, 1) : malloc(mapping->bytes);
    mapping->host_pages = hal_alloc((mapping->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES, 1);
    if (!mapping->shadow || !mapping->host_pages) {
        capture_compare_end(mapping);
        return false;
    }
    if (!mapping->is_first)
        memcpy(mapping->shadow, mapping->data, mapping->bytes);
    return true;
}

void capture_compare_end(struct capture_mapping *mapping)
{
    free(mapping->shadow);
    free(mapping->host_pages);
    mapping->shadow = mapping->host_pages = NULL;
}
