/* SPDX-License-Identifier: Apache-2.0 */
/* Per buffer, a sorted list of pieces; per piece, the latest accesses, for conflicts. */
#include "format/analysis/hazards.h"

#include "format/analysis/pieces.h"
#include "hal/base/mem.h"

/* What an earlier access was: the index of its number in a piece. */
enum { SLOT_WRITES = 1, SLOT_MAYBE = 2, SLOT_DISPATCH = 4, SLOT_UNDECLARED = 8, SLOT_COUNT = 16 };

struct piece {
    struct trace_piece range;
    uint32_t latest[SLOT_COUNT]; /* commands plus 1; 0: none */
};

struct trace_hazard_buffer {
    uint64_t id;
    struct trace_pieces pieces; /* of struct piece */
    bool coarse;                /* too many pieces: one piece represents all bytes */
};

struct trace_hazard_barrier {
    uint32_t source;
    uint32_t source_stages, target_stages;
    struct trace_access_masks masks;
    size_t first_range, range_count;
};

/* What a conflict asks of barriers. */
struct need {
    const struct trace_hazard *hazard;
    uint32_t before_stage, after_stage;
    uint32_t after_accesses; /* bits: what the later command does */
};

/* One access against the pieces of its buffer. */
struct meeting {
    struct trace_hazards *hazards;
    const struct trace_access *access;
    bool coarse;
};

void trace_hazards_begin(struct trace_hazards *hazards)
{
    *hazards = (struct trace_hazards){0};
}

void trace_hazards_finish(struct trace_hazards *hazards)
{
    for (size_t i = 0; i < hazards->buffer_count; i++)
        trace_pieces_finish(&hazards->buffers[i].pieces);
    free(hazards->buffers);
    free(hazards->orderings);
    free(hazards->ranges);
    free(hazards->barriers);
    free(hazards->races);
    hal_idmap_finish(&hazards->buffer_ids);
    *hazards = (struct trace_hazards){0};
}

enum hal_status trace_hazards_end(struct trace_hazards *hazards)
{
    if (hazards->failed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the hazards of %zu barriers and %zu buffers",
                        hazards->barrier_count, hazards->buffer_count);
    return HAL_OK;
}

/* Room for `extra` more in a list of the struct. Latches the failure. */
static bool room(struct trace_hazards *hazards, void *list, size_t *capacity, size_t wanted,
                 size_t bytes_each)
{
    if (!hal_grow_typed(list, capacity, wanted, bytes_each))
        hazards->failed = true;
    return !hazards->failed;
}

/* ---- Barriers ---- */

void trace_hazards_barrier(struct trace_hazards *hazards, const struct trace_ordering *ordering)
{
    const size_t ranges = hazards->range_count + ordering->range_count;
    if (!room(hazards, &hazards->barriers, &hazards->barrier_capacity, hazards->barrier_count + 1,
              sizeof *hazards->barriers) ||
        !room(hazards, &hazards->orderings, &hazards->ordering_capacity, hazards->barrier_count + 1,
              sizeof *hazards->orderings) ||
        !room(hazards, &hazards->ranges, &hazards->range_capacity, ranges, sizeof *hazards->ranges))
        return;
    if (ordering->range_count)
        memcpy(hazards->ranges + hazards->range_count, ordering->ranges,
               ordering->range_count * sizeof *ordering->ranges);
    hazards->orderings[hazards->barrier_count] =
        (struct trace_hazard_barrier){.source = ordering->source,
                                      .source_stages = ordering->source_stages,
                                      .target_stages = ordering->target_stages,
                                      .masks = ordering->masks,
                                      .first_range = hazards->range_count,
                                      .range_count = ordering->range_count};
    hazards->barriers[hazards->barrier_count++] =
        (struct trace_barrier_verdict){.command = ordering->command};
    hazards->range_count = ranges;
}

static uint32_t mask_or_all(uint32_t mask)
{
    return mask ? mask : TRACE_ACCESS_READ_WRITE;
}

static void add_masks(struct trace_access_masks *all, const struct trace_access_masks *masks)
{
    all->source |= mask_or_all(masks->source);
    all->target |= mask_or_all(masks->target);
}

/* What the barrier orders of the bytes; false: nothing. */
static bool covers(const struct trace_hazards *hazards, const struct trace_hazard_barrier *barrier,
                   const struct trace_hazard *hazard, struct trace_access_masks *out_masks)
{
    *out_masks = (struct trace_access_masks){0, 0};
    for (size_t i = 0; i < barrier->range_count; i++) {
        const struct trace_ordered_range *range = &hazards->ranges[barrier->first_range + i];
        if (range->buffer == hazard->buffer && range->begin <= hazard->begin &&
            range->end >= hazard->end)
            add_masks(out_masks, &range->masks);
    }
    if (barrier->range_count == 0)
        add_masks(out_masks, &barrier->masks);
    return out_masks->source != 0;
}

static bool makes_available(const struct need *need, const struct trace_access_masks *masks)
{
    return !need->hazard->before_writes || masks->source & TRACE_ACCESS_WRITE;
}

static bool makes_visible(const struct need *need, const struct trace_access_masks *masks)
{
    return !need->hazard->before_writes || masks->target & need->after_accesses;
}

static bool orders(const struct trace_hazards *hazards, size_t index, const struct need *need)
{
    const struct trace_hazard_barrier *barrier = &hazards->orderings[index];
    struct trace_access_masks masks;
    return barrier->source > need->hazard->before &&
           (barrier->source_stages & need->before_stage) &&
           (barrier->target_stages & need->after_stage) &&
           covers(hazards, barrier, need->hazard, &masks) && makes_available(need, &masks) &&
           makes_visible(need, &masks);
}

static void keep(struct trace_barrier_verdict *barrier, const struct trace_hazard *hazard)
{
    const enum trace_barrier_need need =
        hazard->certain ? TRACE_BARRIER_NEEDED : TRACE_BARRIER_UNKNOWN;
    if (need > barrier->need) {
        barrier->need = need;
        barrier->evidence = *hazard;
    }
}

/* Beyond the limits, conflicts may be none. */
static void add_race(struct trace_hazards *hazards, const struct trace_hazard *hazard)
{
    if (!hazard->exact)
        return;
    hazards->race_count++;
    hazards->declared_race_count += hazard->declared;
    if (hazards->kept_race_count < TRACE_HAZARD_RACES &&
        room(hazards, &hazards->races, &hazards->race_capacity, hazards->kept_race_count + 1,
             sizeof *hazards->races))
        hazards->races[hazards->kept_race_count++] = *hazard;
}

/* Barriers one after the other order what none of them does alone: the next begins at a stage
 * that the one before has reached; one makes writes available, the same or a later one makes them
 * visible. Which of them could be missed is not worked out. */
static bool resolve_by_chain(struct trace_hazards *hazards, const struct need *need)
{
    struct trace_barrier_verdict *used[TRACE_HAZARD_LOOK_BACK];
    size_t used_count = 0;
    uint32_t reached = 0; /* commands of these stages, further up, come before `after` */
    bool done = false;
    for (size_t i = hazards->barrier_count;
         i-- > 0 && used_count < TRACE_HAZARD_LOOK_BACK && !done;) {
        const struct trace_hazard_barrier *barrier = &hazards->orderings[i];
        struct trace_access_masks masks;
        if (barrier->source <= need->hazard->before)
            break;
        if (!covers(hazards, barrier, need->hazard, &masks))
            continue;
        const bool ends = barrier->target_stages & need->after_stage && makes_visible(need, &masks);
        if (!ends && !(barrier->target_stages & reached))
            continue;
        reached |= barrier->source_stages;
        used[used_count++] = &hazards->barriers[i];
        done = barrier->source_stages & need->before_stage && makes_available(need, &masks);
    }
    struct trace_hazard uncertain = *need->hazard;
    uncertain.certain = false;
    for (size_t i = 0; done && i < used_count; i++)
        keep(used[i], &uncertain);
    return done;
}

/* Gives a conflict its barrier: one that is kept already, else the latest that orders it. */
static void resolve(struct trace_hazards *hazards, const struct need *need)
{
    const struct trace_hazard *hazard = need->hazard;
    size_t latest = SIZE_MAX, looked_at = 0;
    for (size_t i = hazards->barrier_count; i-- > 0;) {
        if (hazards->barriers[i].command <= hazard->before)
            break;
        if (looked_at++ == TRACE_HAZARD_LOOK_BACK) {
            if (latest == SIZE_MAX) {
                hazards->undecided++;
                return;
            }
            break;
        }
        if (!orders(hazards, i, need))
            continue;
        if (latest == SIZE_MAX)
            latest = i;
        if (hazards->barriers[i].need != TRACE_BARRIER_REDUNDANT) {
            latest = i;
            break;
        }
    }
    if (latest != SIZE_MAX)
        keep(&hazards->barriers[latest], hazard);
    else if (!resolve_by_chain(hazards, need))
        add_race(hazards, hazard);
}

/* ---- Pieces ---- */

static struct trace_hazard_buffer *find_buffer(struct trace_hazards *hazards, uint64_t id)
{
    uint32_t index;
    if (hal_idmap_find(&hazards->buffer_ids, id, &index))
        return &hazards->buffers[index];
    if (!room(hazards, &hazards->buffers, &hazards->buffer_capacity, hazards->buffer_count + 1,
              sizeof *hazards->buffers) ||
        !hal_idmap_add(&hazards->buffer_ids, id, (uint32_t)hazards->buffer_count, &index)) {
        hazards->failed = true;
        return NULL;
    }
    hazards->buffers[hazards->buffer_count] =
        (struct trace_hazard_buffer){.id = id, .pieces = {.piece_bytes = sizeof(struct piece)}};
    return &hazards->buffers[hazards->buffer_count++];
}

/* One piece that has seen everything that any piece has seen. */
static void coarsen(struct trace_hazard_buffer *buffer)
{
    struct piece all = {.range = {.begin = 0, .end = UINT64_MAX}};
    for (size_t i = 0; i < buffer->pieces.count; i++) {
        const struct piece *piece = (const void *)trace_pieces_get(&buffer->pieces, i);
        for (int slot = 0; slot < SLOT_COUNT; slot++) {
            if (piece->latest[slot] > all.latest[slot])
                all.latest[slot] = piece->latest[slot];
        }
    }
    memcpy(trace_pieces_get(&buffer->pieces, 0), &all, sizeof all);
    buffer->pieces.count = 1;
    buffer->coarse = true;
}

/* ---- Accesses ---- */

static uint32_t slot_stage(int slot)
{
    return slot & SLOT_DISPATCH ? TRACE_STAGE_DISPATCH : TRACE_STAGE_TRANSFER;
}

static void meet(const struct meeting *m, const struct piece *piece, uint64_t begin, uint64_t end)
{
    const struct trace_access *access = m->access;
    const bool known = access->mode <= TRACE_ACCESS_READ_WRITE;
    const bool declared = access->mode != TRACE_ACCESS_UNKNOWN;
    const uint32_t accesses = (trace_access_reads(access->mode) ? TRACE_ACCESS_READ : 0U) |
                              (trace_access_writes(access->mode) ? TRACE_ACCESS_WRITE : 0U);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        const bool before_writes = slot & SLOT_WRITES;
        if (!piece->latest[slot] || piece->latest[slot] - 1 == access->command ||
            (!before_writes && !trace_access_writes(access->mode)))
            continue;
        const struct trace_hazard hazard = {.before = piece->latest[slot] - 1,
                                            .after = access->command,
                                            .buffer = access->buffer,
                                            .begin = begin,
                                            .end = end,
                                            .before_writes = before_writes,
                                            .after_writes = trace_access_writes(access->mode),
                                            .exact = !m->coarse,
                                            .certain = known && !(slot & SLOT_MAYBE) && !m->coarse,
                                            .declared = declared && !(slot & SLOT_UNDECLARED) &&
                                                        !m->coarse};
        resolve(m->hazards, &(struct need){&hazard, slot_stage(slot), access->stage, accesses});
    }
}

static void remember(struct piece *piece, const struct trace_access *access, bool coarse)
{
    const int stage = access->stage == TRACE_STAGE_DISPATCH ? SLOT_DISPATCH : 0;
    const int kind = stage | (trace_access_writes(access->mode) ? SLOT_WRITES : 0);
    const uint32_t now = access->command + 1;
    if (access->mode > TRACE_ACCESS_READ_WRITE) {
        const int undeclared = access->mode == TRACE_ACCESS_UNKNOWN ? SLOT_UNDECLARED : 0;
        piece->latest[SLOT_MAYBE | undeclared | kind] = now;
        return;
    }
    /* A known write represents everything before it: earlier accesses conflict with it, so accesses
     * ordered after it are ordered after them. Not if the bytes are not distinguished. */
    if ((kind & SLOT_WRITES) && !coarse) {
        for (int slot = 0; slot < SLOT_COUNT; slot++) {
            if (piece->latest[slot] != now)
                piece->latest[slot] = 0;
        }
    }
    piece->latest[kind] = now;
}

static void visit(void *user, struct trace_piece *visited)
{
    const struct meeting *m = user;
    struct piece *piece = (void *)visited;
    meet(m, piece, piece->range.begin, piece->range.end);
    remember(piece, m->access, false);
}

void trace_hazards_access(struct trace_hazards *hazards, const struct trace_access *access)
{
    if (access->begin >= access->end || hazards->failed)
        return;
    struct trace_hazard_buffer *buffer = find_buffer(hazards, access->buffer);
    if (!buffer)
        return;
    if (!buffer->coarse && buffer->pieces.count &&
        (buffer->pieces.count + 3 > TRACE_HAZARD_PIECES || hazards->visits > TRACE_HAZARD_VISITS))
        coarsen(buffer);
    struct meeting meeting = {hazards, access, buffer->coarse};
    if (buffer->coarse) {
        struct piece *all = (void *)trace_pieces_get(&buffer->pieces, 0);
        hazards->undecided++;
        meet(&meeting, all, access->begin, access->end);
        remember(all, access, true);
        return;
    }
    size_t visited;
    if (!trace_pieces_visit(&buffer->pieces, access->begin, access->end, visit, &meeting, &visited))
        hazards->failed = true;
    hazards->visits += visited;
}
