/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two runs had the same bytes in mapped memory. */
#include "format/tool/diff/diff.h"

#include "hal/base/hash.h"
#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LOADED = 4 }; /* contents in memory, of each side */

struct loaded {
    uint64_t content; /* 0: none */
    uint8_t *data;
    uint64_t bytes, used;
};

/* Bytes of two contents that were compared, and with which rules. Without gaps: memcmp. */
struct pair {
    uint64_t a, a_at, b, b_at, bytes, rules;
};

struct diff_bytes_seen {
    struct hal_idmap map;
    struct pair *pairs; /* by the map's index */
    size_t count, capacity;
    struct loaded loaded[2][LOADED];
    uint64_t uses;
};

/* One range of both sides, and what differs in it. */
struct comparing {
    struct diff_bytes *bytes;
    bool reads;          /* the device reads it, or all that the host stored is recorded */
    uint64_t begin, end; /* of the differences; end 0: none */
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to compare mapped memory");
}

/* ---- Contents ----------------------------------------------------------------------------- */

static enum hal_status load(struct diff_bytes_seen *seen, struct diff_side *side, unsigned which,
                            uint64_t content, const struct loaded **out_loaded)
{
    struct loaded *slot = &seen->loaded[which][0];
    for (unsigned i = 0; i < LOADED; i++) {
        struct loaded *one = &seen->loaded[which][i];
        if (one->content == content) {
            one->used = ++seen->uses;
            *out_loaded = one;
            return HAL_OK;
        }
        if (one->used < slot->used)
            slot = one;
    }
    free(slot->data);
    *slot = (struct loaded){0};
    HAL_TRY(trace_reader_content_size(side->reader, content, &slot->bytes));
    slot->data = hal_alloc(slot->bytes ? slot->bytes : 1, 1);
    if (!slot->data)
        return no_memory();
    HAL_TRY(trace_reader_content(side->reader, content, slot->data, slot->bytes));
    slot->content = content;
    slot->used = ++seen->uses;
    *out_loaded = slot;
    return HAL_OK;
}

/* The bytes of [begin, end) of the piece; NULL: the trace has not got them. */
static enum hal_status bytes_of(struct diff_bytes *bytes, unsigned which,
                                const struct diff_piece *piece, uint64_t begin, uint64_t end,
                                const uint8_t **out_data)
{
    struct diff_side *side = which ? bytes->b : bytes->a;
    const struct loaded *loaded = NULL; /* for compilers that do not see how it is set */
    *out_data = NULL;
    if (!piece->content || !trace_reader_has_content(side->reader, piece->content))
        return HAL_OK;
    HAL_TRY(load(bytes->seen, side, which, piece->content, &loaded));
    if (end - piece->base <= loaded->bytes)
        *out_data = loaded->data + (begin - piece->base);
    return HAL_OK;
}

static bool is_pair(const void *user, uint32_t index)
{
    const struct diff_bytes_seen *seen = user;
    return memcmp(&seen->pairs[index], &seen->pairs[seen->count], sizeof *seen->pairs) == 0;
}

static enum hal_status remember(struct diff_bytes_seen *seen, const struct pair *pair,
                                bool *out_is_new)
{
    uint32_t index;
    if (seen->count >= UINT32_MAX - 1 || !HAL_GROW(seen->pairs, &seen->capacity, seen->count + 1))
        return no_memory();
    seen->pairs[seen->count] = *pair;
    const uint64_t hash = hal_hash_add(
        hal_hash_add(hal_hash_add(hal_hash_add(pair->a, pair->a_at), pair->b), pair->b_at),
        pair->bytes);
    if (!hal_idmap_intern(&seen->map, hash, is_pair, seen, (uint32_t)seen->count, &index))
        return no_memory();
    *out_is_new = index == seen->count;
    seen->count += *out_is_new;
    return HAL_OK;
}

/* ---- Pieces ------------------------------------------------------------------------------- */

static bool is_known(const struct diff_piece *piece)
{
    return piece->origin == DIFF_HOST || piece->origin == DIFF_SEEN ||
           piece->origin == DIFF_UNDECIDED;
}

static void differ(struct comparing *c, uint64_t begin, uint64_t end)
{
    c->begin = c->end ? hal_min_u64(c->begin, begin) : begin;
    c->end = hal_max_u64(c->end, end);
    c->bytes->other += end - begin;
}

/* Runs of bytes that are not the same. `b` NULL: zeros. */
static void compare_runs(struct comparing *c, const uint8_t *a, const uint8_t *b, uint64_t begin,
                         uint64_t bytes, bool decides)
{
    uint64_t other = 0;
    for (uint64_t i = 0, next; i < bytes; i = next) {
        const bool same = a[i] == (b ? b[i] : 0);
        for (next = i + 1; next < bytes && (a[next] == (b ? b[next] : 0)) == same; next++)
            continue;
        if (same)
            continue;
        other += next - i;
        if (decides)
            differ(c, begin + i, begin + next);
    }
    c->bytes->same += bytes - other;
    c->bytes->undecided += decides ? 0 : other;
}

/* Both sides have bytes. What is only written is looked at as what the host has seen there. */
static enum hal_status compare_known(struct comparing *c, const struct diff_piece *a,
                                     const struct diff_piece *b, uint64_t begin, uint64_t end)
{
    struct diff_bytes *bytes = c->bytes;
    const uint8_t *in_a, *in_b;
    if (!c->reads && (a->origin != DIFF_SEEN || b->origin != DIFF_SEEN))
        return HAL_OK;
    HAL_TRY(bytes_of(bytes, 0, a, begin, end, &in_a));
    HAL_TRY(bytes_of(bytes, 1, b, begin, end, &in_b));
    if (in_a && in_b)
        compare_runs(c, in_a, in_b, begin, end - begin,
                     a->origin != DIFF_UNDECIDED && b->origin != DIFF_UNDECIDED);
    else
        bytes->undecided += end - begin;
    return HAL_OK;
}

/* The trace shows that the host stored something in one run only. Stores of identical bytes may or
 * may not be recorded, and new memory is mostly zero. Where the device may have written, the bytes
 * of the other run may be equal. */
static enum hal_status compare_lone(struct comparing *c, unsigned which,
                                    const struct diff_piece *stored, const struct diff_piece *other,
                                    uint64_t begin, uint64_t end)
{
    const uint8_t *data;
    HAL_TRY(bytes_of(c->bytes, which, stored, begin, end, &data));
    if (data && other->origin == DIFF_NOBODY)
        compare_runs(c, data, NULL, begin, end - begin, true);
    else
        c->bytes->undecided += end - begin;
    return HAL_OK;
}

static enum hal_status digest_of(const struct diff_side *side, const struct diff_piece *piece,
                                 bool *out_known, uint8_t out_sha256[32])
{
    const struct trace_content_event event = {
        .content = piece->content,
        .flags = piece->origin == DIFF_UNRECORDED ? TRACE_FLAG_DIGEST : 0};
    return diff_digest(side, &event, out_known, out_sha256);
}

/* A digest is of all that was recorded with it, and so is the other one. */
static enum hal_status compare_digests(struct comparing *c, const struct diff_piece *a,
                                       const struct diff_piece *b, uint64_t begin, uint64_t end)
{
    struct diff_bytes *bytes = c->bytes;
    uint8_t first[32], second[32];
    bool in_a = false, in_b = false;
    if (a->base == b->base) {
        HAL_TRY(digest_of(bytes->a, a, &in_a, first));
        HAL_TRY(digest_of(bytes->b, b, &in_b, second));
    }
    const bool same = in_a && in_b && memcmp(first, second, sizeof first) == 0;
    *(same ? &bytes->same : &bytes->undecided) += end - begin;
    return HAL_OK;
}

static bool has_bytes(const struct diff_piece *piece)
{
    return is_known(piece) || piece->origin == DIFF_UNRECORDED;
}

/* What follows from whose bytes they are; nothing follows when none was the host's. */
static enum hal_status compare_pieces(struct comparing *c, const struct diff_piece *a,
                                      const struct diff_piece *b, uint64_t begin, uint64_t end)
{
    const struct pair pair = {a->content,  begin - a->base,
                              b->content,  begin - b->base,
                              end - begin, a->origin << 8 | b->origin << 4 | c->reads};
    bool is_new = true;
    if (a->content || b->content)
        HAL_TRY(remember(c->bytes->seen, &pair, &is_new));
    if (!is_new)
        return HAL_OK;
    if (is_known(a) && is_known(b))
        return compare_known(c, a, b, begin, end);
    if (has_bytes(a) && has_bytes(b))
        return compare_digests(c, a, b, begin, end);
    if (a->origin == DIFF_HOST && c->reads)
        return compare_lone(c, 0, a, b, begin, end);
    if (b->origin == DIFF_HOST && c->reads)
        return compare_lone(c, 1, b, a, begin, end);
    return HAL_OK;
}

/* ---- Ranges ------------------------------------------------------------------------------- */

/* The piece at `at`, which may have no origin, and in `limit` its end. */
static const struct diff_piece *piece_at(const struct diff_range *range, size_t *index, uint64_t at,
                                         uint64_t *limit)
{
    static const struct diff_piece nobodys;
    while (*index < range->piece_count && range->pieces[*index].range.end <= at)
        ++*index;
    if (*index == range->piece_count)
        return &nobodys;
    const struct diff_piece *piece = &range->pieces[*index];
    const bool is_gap = piece->range.begin > at;
    *limit = hal_min_u64(*limit, is_gap ? piece->range.begin : piece->range.end);
    return is_gap ? &nobodys : piece;
}

static enum hal_status compare_ranges(struct diff_bytes *bytes, const struct diff_range *a,
                                      const struct diff_range *b)
{
    struct comparing c = {.bytes = bytes, .reads = a->reads && b->reads};
    const uint64_t end = hal_max_u64(a->end, b->end);
    size_t in_a = 0, in_b = 0;
    if (!bytes->seen && !(bytes->seen = hal_alloc(1, sizeof *bytes->seen)))
        return no_memory();
    for (uint64_t at = hal_min_u64(a->begin, b->begin), next; at < end; at = next) {
        next = end;
        const struct diff_piece *first = piece_at(a, &in_a, at, &next);
        const struct diff_piece *second = piece_at(b, &in_b, at, &next);
        HAL_TRY(compare_pieces(&c, first, second, at, next));
    }
    if (!c.end)
        return HAL_OK;
    return bytes->found(bytes->user, &(struct diff_found){a->buffer, c.begin, c.end},
                        &(struct diff_found){b->buffer, c.begin, c.end});
}

/* The range of B that is the same place as A's at `index`, mostly at the same index: threads create
 * buffers in any order, which decides their numbers and thereby the order of ranges. */
static const struct diff_range *same_place(const struct diff_item *a, size_t index,
                                           const struct diff_item *b)
{
    const struct diff_range *of = &a->ranges[index];
    for (size_t i = 0; i < b->range_count; i++) {
        const struct diff_range *range = &b->ranges[(index + i) % b->range_count];
        if (of->key == range->key && of->begin == range->begin && of->end == range->end)
            return range;
    }
    return NULL;
}

enum hal_status diff_bytes_of_items(struct diff_bytes *bytes, const struct diff_item *a,
                                    const struct diff_item *b)
{
    bytes->cut += a->is_cut || b->is_cut;
    if (a->range_count != b->range_count)
        return HAL_OK; /* other commands, which is a difference already */
    for (size_t i = 0; i < a->range_count; i++) {
        const struct diff_range *other = same_place(a, i, b);
        if (other)
            HAL_TRY(compare_ranges(bytes, &a->ranges[i], other));
    }
    return HAL_OK;
}

/* The mapped buffer of that name and size which comes as late among these as `of` among A's. */
static bool find_memory(const struct diff_bytes *bytes, const struct diff_memory *of, uint64_t key,
                        struct diff_range *b)
{
    struct diff_memory *memory = NULL;
    struct diff_range range;
    size_t rank = 0;
    while (diff_mapped_next(bytes->a, &memory, &range) && memory != of)
        rank += range.key == key;
    memory = NULL;
    while (diff_mapped_next(bytes->b, &memory, b)) {
        if (b->key == key && rank-- == 0)
            return true;
    }
    return false;
}

/* Buffers of a name and size were made in the same order. */
enum hal_status diff_bytes_in_the_end(struct diff_bytes *bytes)
{
    struct diff_memory *first = NULL, *second = NULL;
    struct diff_range a, b;
    bool in_step = true; /* all buffers were made in the same order so far */
    while (diff_mapped_next(bytes->a, &first, &a)) {
        in_step = in_step && diff_mapped_next(bytes->b, &second, &b) && a.key == b.key;
        if (!in_step && !find_memory(bytes, first, a.key, &b))
            continue;
        const bool is_cut = !a.pieces || !b.pieces;
        bytes->cut += is_cut;
        if (!is_cut)
            HAL_TRY(compare_ranges(bytes, &a, &b));
    }
    return HAL_OK;
}

void diff_bytes_finish(struct diff_bytes *bytes)
{
    struct diff_bytes_seen *seen = bytes->seen;
    if (!seen)
        return;
    for (unsigned i = 0; i < 2 * LOADED; i++)
        free(seen->loaded[i / LOADED][i % LOADED].data);
    hal_idmap_finish(&seen->map);
    free(seen->pairs);
    free(seen);
    bytes->seen = NULL;
}
