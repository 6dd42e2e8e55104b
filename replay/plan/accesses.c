/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan/accesses.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

enum { MERGE_AT = 4096 };

HAL_COMPARE_2(compare, struct replay_touch, buffer, begin)

void replay_accesses_merge(struct replay_accesses *accesses)
{
    size_t kept = 0;
    if (accesses->count == 0)
        return;
    qsort(accesses->list, accesses->count, sizeof *accesses->list, compare);
    for (size_t i = 1; i < accesses->count; i++) {
        struct replay_touch *last = &accesses->list[kept];
        const struct replay_touch *next = &accesses->list[i];
        if (next->buffer == last->buffer && next->begin <= last->end)
            last->end = next->end > last->end ? next->end : last->end;
        else
            accesses->list[++kept] = *next;
    }
    accesses->count = kept + 1;
}

void replay_accesses_finish(struct replay_accesses *accesses)
{
    free(accesses->list);
    *accesses = (struct replay_accesses){0};
}

static enum hal_status add(struct replay_accesses *accesses, uint64_t buffer, uint64_t offset,
                           uint64_t bytes)
{
    if (!buffer || !bytes)
        return HAL_OK;
    if (accesses->count == accesses->capacity && accesses->count >= MERGE_AT)
        replay_accesses_merge(accesses);
    if (!HAL_GROW(accesses->list, &accesses->capacity, accesses->count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu ranges", accesses->count);
    accesses->list[accesses->count++] = (struct replay_touch){buffer, offset, offset + bytes};
    return HAL_OK;
}

enum hal_status replay_accesses_append(struct replay_accesses *accesses, struct replay_touch touch)
{
    return add(accesses, touch.buffer, touch.begin, touch.end - touch.begin);
}

static bool overlap(const struct replay_touch *a, const struct replay_touch *b)
{
    return a->buffer == b->buffer && a->begin < b->end && b->begin < a->end;
}

enum hal_status replay_accesses_subtract(struct replay_accesses *accesses,
                                         struct replay_touch touch)
{
    struct replay_touch tail = {0}; /* ranges are disjoint: at most one extends beyond it */
    size_t kept = 0;
    replay_accesses_merge(accesses);
    for (size_t i = 0; i < accesses->count; i++) {
        const struct replay_touch old = accesses->list[i];
        if (!overlap(&old, &touch))
            continue;
        accesses->list[i].end = old.begin < touch.begin ? touch.begin : old.begin;
        if (old.end > touch.end)
            tail = (struct replay_touch){old.buffer, touch.end, old.end};
    }
    for (size_t i = 0; i < accesses->count; i++) {
        if (accesses->list[i].begin < accesses->list[i].end)
            accesses->list[kept++] = accesses->list[i];
    }
    accesses->count = kept;
    return add(accesses, tail.buffer, tail.begin, tail.end - tail.begin);
}

bool replay_accesses_meet(const struct replay_accesses *accesses, const struct replay_touch *touch)
{
    for (size_t i = 0; i < accesses->count; i++) {
        if (overlap(&accesses->list[i], touch))
            return true;
    }
    return false;
}

/* ---- Commands ------------------------------------------------------------------------------ */

struct collecting {
    struct replay_accesses *accesses;
    uint32_t kinds;
    enum hal_status status;
};

static void collect(void *user, const struct trace_access *access)
{
    struct collecting *c = user;
    const bool wanted = (c->kinds & REPLAY_READS && trace_access_reads(access->mode)) ||
                        (c->kinds & REPLAY_WRITES && trace_access_writes(access->mode));
    if (wanted && c->status == HAL_OK)
        c->status = add(c->accesses, access->buffer, access->begin, access->end - access->begin);
}

enum hal_status replay_accesses_add(struct replay_accesses *accesses,
                                    struct trace_reflection *reflection,
                                    const struct replay_object *commands, uint32_t kinds)
{
    struct collecting c = {.accesses = accesses, .kinds = kinds};
    trace_each_access(commands->commands.seal, commands->commands.segments, trace_reflection_mode,
                      reflection, collect, &c);
    return c.status;
}

enum hal_status replay_reflect(const struct replay_plan *plan, const struct replay_options *options,
                               struct trace_reflection *out_reflection)
{
    *out_reflection = (struct trace_reflection){0};
    for (uint32_t i = 1; i < plan->object_count; i++) {
        const struct replay_object *object = &plan->objects[i];
        if (object->kind == REPLAY_EXECUTABLE && object->created &&
            !(options &&
              replay_substitute_of(plan, i, options->substitutes, options->substitute_count)))
            HAL_TRY(trace_reflection_add(out_reflection, i, (const void *)object->created));
    }
    return HAL_OK;
}
