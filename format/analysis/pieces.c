/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/pieces.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <string.h>

struct trace_piece *trace_pieces_get(const struct trace_pieces *pieces, size_t index)
{
    return (struct trace_piece *)(void *)(pieces->list + index * pieces->piece_bytes);
}

/* Index of the first piece that ends after `at`. */
static size_t piece_at(const struct trace_pieces *pieces, uint64_t at)
{
    size_t low = 0, high = pieces->count;
    HAL_BISECT(low, high, middle, trace_pieces_get(pieces, middle)->end <= at)
    return low;
}

/* Moves the pieces from `index` on out of the way; the new one is not set. */
static bool make_room(struct trace_pieces *pieces, size_t index)
{
    const size_t bytes = pieces->piece_bytes;
    void *list = pieces->list;
    if (!hal_grow(&list, &pieces->capacity, pieces->count + 1, bytes))
        return false;
    pieces->list = list;
    memmove(pieces->list + (index + 1) * bytes, pieces->list + index * bytes,
            (pieces->count - index) * bytes);
    pieces->count++;
    return true;
}

/* Makes `at` a border between pieces. */
static bool cut(struct trace_pieces *pieces, uint64_t at)
{
    const size_t index = piece_at(pieces, at);
    if (index >= pieces->count || trace_pieces_get(pieces, index)->begin >= at)
        return true;
    if (!make_room(pieces, index))
        return false;
    memcpy(trace_pieces_get(pieces, index), trace_pieces_get(pieces, index + 1),
           pieces->piece_bytes);
    trace_pieces_get(pieces, index)->end = at;
    trace_pieces_get(pieces, index + 1)->begin = at;
    return true;
}

static bool know_the_same(const struct trace_pieces *pieces, const struct trace_piece *left,
                          const struct trace_piece *right)
{
    return memcmp(left + 1, right + 1, pieces->piece_bytes - sizeof *left) == 0;
}

/* For pieces first..last-1. */
static void join(struct trace_pieces *pieces, size_t first, size_t last)
{
    const size_t bytes = pieces->piece_bytes;
    size_t kept = first;
    for (size_t i = first + 1; i < last; i++) {
        struct trace_piece *left = trace_pieces_get(pieces, kept);
        const struct trace_piece *piece = trace_pieces_get(pieces, i);
        if (left->end == piece->begin && know_the_same(pieces, left, piece))
            left->end = piece->end;
        else if (++kept != i)
            memcpy(trace_pieces_get(pieces, kept), piece, bytes);
    }
    if (kept + 1 < last) {
        memmove(pieces->list + (kept + 1) * bytes, pieces->list + last * bytes,
                (pieces->count - last) * bytes);
        pieces->count -= last - kept - 1;
    }
}

bool trace_pieces_visit(struct trace_pieces *pieces, uint64_t begin, uint64_t end,
                        trace_piece_visit *visit, void *user, size_t *out_visited)
{
    *out_visited = 0;
    if (!cut(pieces, begin) || !cut(pieces, end))
        return false;
    const size_t first = piece_at(pieces, begin);
    size_t index = first;
    for (uint64_t at = begin; at < end; index++) {
        const bool gap = index >= pieces->count || trace_pieces_get(pieces, index)->begin > at;
        if (gap) {
            const uint64_t next =
                index < pieces->count ? trace_pieces_get(pieces, index)->begin : end;
            if (!make_room(pieces, index))
                return false;
            memset(trace_pieces_get(pieces, index), 0, pieces->piece_bytes);
            *trace_pieces_get(pieces, index) =
                (struct trace_piece){.begin = at, .end = next < end ? next : end};
        }
        struct trace_piece *piece = trace_pieces_get(pieces, index);
        visit(user, piece);
        at = piece->end;
    }
    *out_visited = index - first;
    join(pieces, first, index);
    return true;
}

void trace_pieces_remove(struct trace_pieces *pieces,
                         bool (*is_done)(void *user, const struct trace_piece *piece), void *user)
{
    size_t kept = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const struct trace_piece *piece = trace_pieces_get(pieces, i);
        if (is_done(user, piece))
            continue;
        if (kept != i)
            memcpy(trace_pieces_get(pieces, kept), piece, pieces->piece_bytes);
        kept++;
    }
    pieces->count = kept;
}

void trace_pieces_finish(struct trace_pieces *pieces)
{
    free(pieces->list);
    pieces->list = NULL;
    pieces->count = pieces->capacity = 0;
}
