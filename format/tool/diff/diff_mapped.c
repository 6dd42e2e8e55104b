/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what each submission finds in mapped memory. Submissions start as soon as what they wait
 * for has been signalled, in the order of happens_before.h. They find what the host has stored by
 * then, since a capture records stores before work can use them. */
#include "format/tool/diff/diff.h"

#include "format/analysis/happens_before.h"
#include "hal/base/hash.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES_OF_A_BUFFER = 1 << 14, MOST_PIECES = 1 << 22 };

/* A mapped buffer while its trace is read. */
struct diff_memory {
    struct diff_memory *next;
    uint64_t buffer;
    struct trace_pieces pieces;
    uint64_t version;        /* of the pieces */
    struct diff_range found; /* last, and with which version: many submissions find the same */
    uint64_t found_version;
    uint32_t mapped; /* mappings that are open */
    bool is_cut;     /* its pieces are too many */
};

struct loading {
    struct diff_side *side;
    struct trace_happens_before order;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to compare mapped memory");
}

/* ---- Objects ------------------------------------------------------------------------------ */

enum hal_status diff_mapped_add(struct diff_side *side, struct diff_object *buffer, uint64_t id)
{
    if (buffer->memory)
        return HAL_OK;
    struct diff_memory *memory = hal_alloc(1, sizeof *memory);
    if (!memory)
        return no_memory();
    *memory = (struct diff_memory){
        .next = side->memories, .buffer = id, .pieces = {.piece_bytes = sizeof(struct diff_piece)}};
    buffer->memory = side->memories = memory;
    return HAL_OK;
}

struct seal_walk {
    struct diff_side *side;
    struct trace_access *list;
    size_t count, capacity;
    bool failed;
};

static void add_access(void *user, const struct trace_access *access)
{
    struct seal_walk *s = user;
    const struct diff_object *buffer = diff_object(s->side, access->buffer);
    if (!buffer || !buffer->memory || access->begin >= access->end)
        return;
    if (s->count >= UINT32_MAX || !HAL_GROW(s->list, &s->capacity, s->count + 1)) {
        s->failed = true;
        return;
    }
    s->list[s->count++] = *access;
}

HAL_COMPARE_3(by_range, struct trace_access, buffer, begin, end)

/* Each range once. */
static size_t merge(struct trace_access *list, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(list, count, sizeof *list, by_range);
    for (size_t i = 1; i < count; i++) {
        if (by_range(&list[kept], &list[i]) == 0)
            list[kept].mode |= list[i].mode;
        else
            list[++kept] = list[i];
    }
    return count ? kept + 1 : 0;
}

enum hal_status diff_mapped_seal(struct diff_side *side, struct diff_object *commands,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    struct seal_walk walk = {.side = side};
    if (!side->memories)
        return HAL_OK;
    trace_each_access(seal, segments, trace_reflection_mode, &side->reflection, add_access, &walk);
    const size_t count = merge(walk.list, walk.count);
    struct trace_access *copy = trace_arena_array(&side->arena, count, sizeof *copy);
    const bool failed = walk.failed || !copy;
    if (!failed && count)
        memcpy(copy, walk.list, count * sizeof *copy);
    free(walk.list);
    commands->accesses = copy;
    commands->access_count = (uint32_t)count;
    return failed ? no_memory() : HAL_OK;
}

/* ---- Pieces ------------------------------------------------------------------------------- */

static void put(void *user, struct trace_piece *visited)
{
    const struct diff_piece *from = user;
    struct diff_piece *piece = (void *)visited;
    piece->content = from->content;
    piece->base = from->base;
    piece->origin = from->origin;
}

static enum hal_status set(struct diff_memory *memory, uint64_t begin, uint64_t end,
                           const struct diff_piece *what)
{
    size_t visited;
    struct diff_piece copy = *what;
    if (begin >= end || memory->is_cut)
        return HAL_OK;
    memory->version++;
    if (!trace_pieces_visit(&memory->pieces, begin, end, put, &copy, &visited))
        return no_memory();
    memory->is_cut = memory->pieces.count > MOST_PIECES_OF_A_BUFFER;
    return HAL_OK;
}

struct copying {
    struct diff_piece *list;
    size_t count, capacity;
    bool failed;
};

static void copy_piece(void *user, struct trace_piece *visited)
{
    struct copying *copying = user;
    if (!HAL_GROW(copying->list, &copying->capacity, copying->count + 1)) {
        copying->failed = true;
        return;
    }
    copying->list[copying->count++] = *(const struct diff_piece *)(const void *)visited;
}

/* What is in the range now. */
static enum hal_status find_pieces(struct diff_side *side, struct diff_memory *memory,
                                   struct diff_range *range)
{
    struct copying copying = {0};
    size_t visited;
    const struct diff_range *last = &memory->found;
    if (last->pieces && memory->found_version == memory->version && last->begin == range->begin &&
        last->end == range->end) {
        range->pieces = last->pieces;
        range->piece_count = last->piece_count;
        return HAL_OK;
    }
    const bool done = trace_pieces_visit(&memory->pieces, range->begin, range->end, copy_piece,
                                         &copying, &visited) &&
                      !copying.failed;
    struct diff_piece *kept =
        done ? trace_arena_array(&side->arena, copying.count, sizeof *kept) : NULL;
    if (kept && copying.count)
        memcpy(kept, copying.list, copying.count * sizeof *kept);
    free(copying.list);
    if (!kept)
        return no_memory();
    range->pieces = kept;
    range->piece_count = copying.count;
    side->piece_count += copying.count;
    memory->found = *range;
    memory->found_version = memory->version;
    return HAL_OK;
}

/* ---- Submissions -------------------------------------------------------------------------- */

typedef enum hal_status each_access(struct diff_side *side, struct diff_item *item,
                                    struct diff_memory *memory, const struct trace_access *access);

/* For the queue's own operations: files and collectives. */
static struct trace_access operation_of(const struct trace_submit *submit)
{
    struct trace_access access = {.buffer = submit->buffer, .begin = submit->offset};
    if (!hal_add_u64(submit->offset, submit->size, &access.end))
        access.end = UINT64_MAX;
    access.mode = submit->operation == TRACE_OPERATION_READ    ? TRACE_ACCESS_WRITE
                  : submit->operation == TRACE_OPERATION_WRITE ? TRACE_ACCESS_READ
                                                               : TRACE_ACCESS_UNKNOWN;
    return access;
}

static enum hal_status visit_accesses(struct diff_side *side, struct diff_item *item,
                                      each_access *visit)
{
    const struct trace_submit *submit = (const void *)item->event;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct diff_object *commands =
            diff_object(side, trace_submit_command_buffers(submit)[i]);
        for (uint32_t k = 0; commands && k < commands->access_count; k++) {
            const struct trace_access *access = &commands->accesses[k];
            HAL_TRY(visit(side, item, diff_object(side, access->buffer)->memory, access));
        }
    }
    const struct trace_access own = operation_of(submit);
    const struct diff_object *buffer = diff_object(side, own.buffer);
    if (submit->operation < TRACE_OPERATION_READ || !buffer || !buffer->memory)
        return HAL_OK;
    return visit(side, item, buffer->memory, &own);
}

static enum hal_status count_access(struct diff_side *side, struct diff_item *item,
                                    struct diff_memory *memory, const struct trace_access *access)
{
    (void)access;
    item->range_count++;
    item->is_cut |= memory->is_cut || side->piece_count > MOST_PIECES;
    return HAL_OK;
}

static enum hal_status add_range(struct diff_side *side, struct diff_item *item,
                                 struct diff_memory *memory, const struct trace_access *access)
{
    const struct diff_object *buffer = diff_object(side, access->buffer);
    struct diff_range range = {.buffer = access->buffer,
                               .begin = access->begin,
                               .end = access->end,
                               .key = buffer->hash,
                               .reads = trace_access_reads(access->mode)};
    HAL_TRY(find_pieces(side, memory, &range));
    side->piece_count++; /* a range is as large as a piece */
    item->ranges[item->range_count++] = range;
    return HAL_OK;
}

static enum hal_status forget_written(struct diff_side *side, struct diff_item *item,
                                      struct diff_memory *memory, const struct trace_access *access)
{
    (void)side, (void)item;
    if (!trace_access_writes(access->mode))
        return HAL_OK;
    return set(memory, access->begin, access->end, &(struct diff_piece){.origin = DIFF_DEVICE});
}

static enum hal_status started(void *user, void *tag, const struct trace_moment *moment,
                               bool placed)
{
    struct diff_side *side = user;
    struct diff_item *item = tag;
    (void)moment, (void)placed;
    HAL_TRY(visit_accesses(side, item, count_access));
    if (item->is_cut) {
        item->range_count = 0;
    } else if (item->range_count) {
        item->ranges = trace_arena_array(&side->arena, item->range_count, sizeof *item->ranges);
        if (!item->ranges)
            return no_memory();
        item->range_count = 0;
        HAL_TRY(visit_accesses(side, item, add_range));
    }
    return visit_accesses(side, item, forget_written);
}

static enum hal_status take_submit(struct loading *loading, const struct trace_submit *submit)
{
    struct diff_side *side = loading->side;
    uint32_t row;
    if (!hal_idmap_find(&side->submissions, submit->submission, &row))
        return HAL_OK;
    const struct diff_place *place = &side->places[row];
    struct diff_item *item = &side->streams[place->stream].items[place->item];
    return trace_happens_before_submit(&loading->order, (const void *)item->event, item);
}

/* ---- The host ----------------------------------------------------------------------------- */

static enum hal_status take_content(struct loading *loading,
                                    const struct trace_content_event *event)
{
    const struct diff_object *buffer = diff_object(loading->side, event->buffer);
    struct diff_piece piece = {.content = event->content, .base = event->offset};
    uint64_t end;
    if (!buffer || !buffer->memory)
        return HAL_OK;
    if (!hal_add_u64(event->offset, event->size, &end))
        end = UINT64_MAX;
    if (!event->content || event->flags & TRACE_FLAG_DIGEST)
        piece.origin = DIFF_UNRECORDED;
    else if (event->head.kind == TRACE_MAPPED_CHANGE)
        piece.origin = DIFF_UNDECIDED;
    else if (event->head.kind == TRACE_HOST_WRITE && !(event->flags & TRACE_FLAG_FILE))
        piece.origin = DIFF_HOST;
    else
        piece.origin = DIFF_SEEN;
    return set(buffer->memory, event->offset, end, &piece);
}

/* Before it is undone, all that the host stored there is recorded. */
static enum hal_status take_mapping(struct loading *loading,
                                    const struct trace_mapping_event *event)
{
    const struct diff_object *buffer = diff_object(loading->side, event->buffer);
    if (!buffer || !buffer->memory || !(event->mode & DIFF_MAP_PERSISTENT))
        return HAL_OK;
    if (event->head.kind == TRACE_BUFFER_MAP)
        buffer->memory->mapped++;
    else if (buffer->memory->mapped)
        buffer->memory->mapped--;
    return HAL_OK;
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct loading *loading = user;
    struct trace_happens_before *order = &loading->order;
    const void *any = event;
    const struct trace_semaphore_create *create = any;
    const struct trace_semaphore_event *signal = any;
    (void)segments;
    if (event->status != HAL_OK)
        return HAL_OK;
    switch (event->kind) {
    case TRACE_SEMAPHORE_CREATE:
        return trace_happens_before_create(order, create->semaphore, create->initial_value);
    case TRACE_SEMAPHORE_DESTROY:
        trace_happens_before_destroy(order, TRACE_AS(trace_object_event, any)->object);
        return HAL_OK;
    case TRACE_SEMAPHORE_SIGNAL:
        return trace_happens_before_signal(order, signal->semaphore, signal->value);
    case TRACE_SUBMIT: return take_submit(loading, any);
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ:
    case TRACE_MAPPED_CHANGE: return take_content(loading, any);
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP: return take_mapping(loading, any);
    default: return HAL_OK;
    }
}

enum hal_status diff_mapped_load(struct diff_side *side)
{
    struct loading loading = {.side = side};
    if (!side->memories)
        return HAL_OK;
    trace_happens_before_begin(&loading.order, started, side);
    const enum hal_status status = trace_reader_each_in_order(
        side->reader, &(struct trace_walk){.visit = take, .user = &loading});
    trace_happens_before_finish(&loading.order);
    return status;
}

/* ---- The end ------------------------------------------------------------------------------ */

bool diff_mapped_next(const struct diff_side *side, struct diff_memory **memory,
                      struct diff_range *out_range)
{
    struct diff_memory *next = *memory ? (*memory)->next : side->memories;
    while (next && !next->pieces.count)
        next = next->next;
    *memory = next;
    if (!next)
        return false;
    *out_range = (struct diff_range){.key = diff_object(side, next->buffer)->hash};
    if (next->is_cut)
        return true;
    const struct diff_piece *pieces = (const void *)next->pieces.list;
    *out_range = (struct diff_range){.buffer = next->buffer,
                                     .begin = pieces[0].range.begin,
                                     .end = pieces[next->pieces.count - 1].range.end,
                                     .key = diff_object(side, next->buffer)->hash,
                                     .reads = !next->mapped,
                                     .pieces = pieces,
                                     .piece_count = next->pieces.count};
    return true;
}

void diff_mapped_finish(struct diff_side *side)
{
    for (struct diff_memory *memory = side->memories, *next; memory; memory = next) {
        next = memory->next;
        trace_pieces_finish(&memory->pieces);
        free(memory);
    }
    side->memories = NULL;
    trace_reflection_finish(&side->reflection);
}
