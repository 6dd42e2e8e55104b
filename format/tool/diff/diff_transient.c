/* SPDX-License-Identifier: Apache-2.0 */
/* Transient memory: ranges of buffers of the HAL's own, slabs. Which range of which slab an alloca
 * gets, and what it waits for there, depends on what work had given back by then. So what counts
 * is the place in the allocation. */
#include "format/tool/diff/diff.h"

#include "hal/base/hash.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <stdlib.h>

enum { MOST_PIECES = 1 << 14 };

/* Part of an allocation. Without gaps between members. */
struct part {
    struct trace_piece range;
    uint64_t begin, bytes; /* of the allocation */
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to compare transient memory");
}

static void put(void *user, struct trace_piece *visited)
{
    const struct part *from = user;
    struct part *part = (void *)visited;
    part->begin = from->begin;
    part->bytes = from->bytes;
}

enum hal_status diff_transient_take(struct diff_side *side, const struct trace_submit *submit)
{
    struct diff_object *slab = diff_object(side, submit->buffer);
    struct part part = {.begin = submit->offset, .bytes = submit->size};
    uint64_t end;
    size_t visited;
    if (submit->operation != TRACE_OPERATION_ALLOCA || !slab || !submit->size ||
        !hal_add_u64(submit->offset, submit->size, &end))
        return HAL_OK;
    if (!slab->transients) {
        slab->transients = trace_arena_alloc(&side->arena, sizeof *slab->transients);
        if (!slab->transients)
            return no_memory();
        *slab->transients = (struct trace_pieces){.piece_bytes = sizeof part};
    }
    if (slab->transients->count > MOST_PIECES)
        return HAL_OK;
    return trace_pieces_visit(slab->transients, submit->offset, end, put, &part, &visited)
               ? HAL_OK
               : no_memory();
}

/* The part that holds the byte. */
static const struct part *part_at(const struct trace_pieces *pieces, uint64_t at)
{
    size_t low = 0, high = pieces->count;
    HAL_BISECT(low, high, middle, trace_pieces_get(pieces, middle)->end <= at)
    const struct part *part =
        low < pieces->count ? (const void *)trace_pieces_get(pieces, low) : NULL;
    return part && part->range.begin <= at ? part : NULL;
}

uint64_t diff_transient_place(const struct diff_side *side, uint64_t hash, uint64_t buffer,
                              uint64_t offset)
{
    const struct diff_object *slab = diff_object(side, buffer);
    const struct part *part = slab && slab->transients ? part_at(slab->transients, offset) : NULL;
    return part ? hal_hash_add(hal_hash_add(hash, offset - part->begin), part->bytes)
                : hal_hash_add(hash, offset);
}

void diff_transient_finish(struct diff_side *side)
{
    for (size_t i = 0; i < side->object_count; i++) {
        if (side->objects[i].transients)
            trace_pieces_finish(side->objects[i].transients);
    }
}
