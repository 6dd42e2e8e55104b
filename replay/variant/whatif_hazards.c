/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a variant with the hazard graph: accesses of the same bytes, one of them a write, whose
 * order the recorded plan enforced, and whether the variant enforces it. The accesses, and the
 * conflicts within a command buffer, come from format/analysis; order.h decides what orders
 * submissions and the host. */
#include "format/analysis/segments.h"
#include "hal/base/mem.h"
#include "replay/plan/accesses.h"
#include "replay/variant/order.h"
#include "replay/variant/whatif_parts.h"

#include <inttypes.h>
#include <stdio.h>

enum { VISITS = 1 << 26 }; /* of accesses by others; what is beyond that is not looked at */

/* An access of the host, or a command buffer of a submission. */
struct unit {
    const struct trace_event *event; /* of the host, else the submission's */
    uint32_t command_buffer;         /* of the submission: counts from 0 */
    bool host, writes;               /* the latter of the host */
    uint32_t place;                  /* of a submission: its number in the variant */
    const struct trace_moment *before, *after;
};

struct entry {
    uint64_t begin, end;
    uint32_t unit, segment;
    bool writes, maybe;
};

/* Accesses of one buffer that a later one may have to come after. */
struct entries {
    struct entry *list;
    size_t count, capacity;
};

struct graph {
    const struct replay_plan *plan;
    const uint32_t *places;               /* of submissions: which of the variant's each is in */
    const struct trace_submit **variants; /* the variant's submissions */
    struct trace_reflection reflection;
    struct replay_order before, after;
    struct entries *buffers; /* by object */
    struct unit *units;
    size_t unit_count, unit_capacity;
    uint64_t visits;
    enum hal_status status;
    struct replay_what_if_hazards *result;
};

/* ---- Pairs -------------------------------------------------------------------------------- */

static bool comes_before(const struct unit *first, const struct unit *second, bool variant)
{
    if (!first->host && !second->host &&
        (variant ? first->place == second->place : first->event == second->event))
        return true; /* command buffers of a submission run one after the other */
    return variant ? replay_order_has(first->after, second->after)
                   : replay_order_has(first->before, second->before);
}

static void name_access(const struct graph *g, const struct unit *unit, uint32_t number,
                        struct replay_what_if_access *out)
{
    if (unit->host) {
        out->host = true;
        snprintf(out->what, sizeof out->what, "the host's %s at ticket %" PRIu64,
                 unit->writes ? "write" : "read", unit->event->ticket);
        return;
    }
    const struct trace_submit *submit = (const void *)unit->event;
    const uint64_t *buffers = trace_submit_command_buffers(submit);
    out->where = (struct hal_locator){.submission = submit->submission};
    for (uint32_t i = 0; i < unit->command_buffer; i++)
        out->where.dispatch += g->plan->objects[buffers[i]].commands.seal->dispatch_count;
    const struct trace_segment *segment =
        g->plan->objects[buffers[unit->command_buffer]].commands.segments;
    for (uint32_t i = 0; i < number; i++, segment = trace_next_segment(segment))
        out->where.dispatch += trace_is_dispatch(segment->kind);
    out->where.has_dispatch = trace_is_dispatch(segment->kind);
    if (out->where.has_dispatch)
        snprintf(out->what, sizeof out->what, "dispatch of '%.100s'",
                 replay_kernel_name(g->plan, segment));
    else
        snprintf(out->what, sizeof out->what, "%s, segment %u", trace_segment_name(segment->kind),
                 number);
}

static void name_pair(struct graph *g, uint64_t buffer, const struct entry *first,
                      const struct entry *second)
{
    struct replay_what_if_hazards *r = g->result;
    name_access(g, &g->units[first->unit], first->segment, &r->first);
    name_access(g, &g->units[second->unit], second->segment, &r->second);
    replay_object_name(g->plan, (uint32_t)buffer, r->buffer);
    r->begin = first->begin > second->begin ? first->begin : second->begin;
    r->end = first->end < second->end ? first->end : second->end;
}

static bool changed_queue(const struct graph *g, const struct unit *a, const struct unit *b)
{
    const struct trace_submit *first = (const void *)a->event, *second = (const void *)b->event;
    return !a->host && !b->host && first->queue == second->queue &&
           g->variants[a->place]->queue != g->variants[b->place]->queue;
}

/* Two accesses that conflict, in the order in which they were submitted. */
static void order_access(struct graph *g, uint64_t buffer, const struct entry *old,
                         const struct entry *access)
{
    struct replay_what_if_hazards *r = g->result;
    const struct unit *a = &g->units[old->unit], *b = &g->units[access->unit];
    const bool forth = comes_before(a, b, false), back = !forth && comes_before(b, a, false);
    r->pairs++;
    if (!forth && !back) {
        r->unordered++;
        r->apart += changed_queue(g, a, b);
        return;
    }
    const bool together = !a->host && !b->host && a->place == b->place;
    r->together += together && forth;
    if (together ? forth : forth ? comes_before(a, b, true) : comes_before(b, a, true))
        return;
    r->lost_for_certain += !old->maybe && !access->maybe;
    if (r->lost++ == 0)
        name_pair(g, buffer, forth ? old : access, forth ? access : old);
}

/* ---- Accesses ----------------------------------------------------------------------------- */

/* Accesses ordered after the new one are ordered after the old one, and conflict with the new one
 * if they conflict with the old one. */
static bool stands_for(const struct graph *g, const struct entry *access, const struct entry *old)
{
    const struct unit *a = &g->units[old->unit], *b = &g->units[access->unit];
    return (access->writes || !old->writes) && (!access->maybe || old->maybe) &&
           (a == b || (comes_before(a, b, false) && comes_before(a, b, true)));
}

static bool append(struct graph *g, struct entries *entries, const struct entry *entry)
{
    const struct entry copy = *entry; /* the list may move */
    if (!HAL_GROW(entries->list, &entries->capacity, entries->count + 1)) {
        g->status = hal_fail(HAL_NO_MEMORY, "no memory for %zu accesses", entries->count);
        return false;
    }
    entries->list[entries->count++] = copy;
    return true;
}

/* Removes what the access supersedes; `i` becomes the old one's part before it, or empty. */
static bool cover(struct graph *g, struct entries *entries, size_t i, const struct entry *access)
{
    struct entry rest = entries->list[i];
    const uint64_t end = rest.end;
    if (rest.begin < access->begin)
        rest.end = access->begin;
    else
        rest.end = rest.begin;
    entries->list[i] = rest;
    rest.begin = access->end;
    rest.end = end;
    return rest.begin >= rest.end || append(g, entries, &rest);
}

static void add(struct graph *g, uint64_t buffer, const struct entry *access)
{
    struct entries *entries = &g->buffers[buffer];
    const size_t count = entries->count;
    size_t kept = 0;
    if (g->status != HAL_OK || access->begin >= access->end)
        return;
    g->visits += count;
    if (g->visits > VISITS) {
        g->result->undecided++;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct entry old = entries->list[i];
        const bool meets = old.begin < access->end && access->begin < old.end;
        if (meets && old.unit != access->unit && (old.writes || access->writes))
            order_access(g, buffer, &old, access);
        if (meets && stands_for(g, access, &old) && !cover(g, entries, i, access))
            return;
        if (entries->list[i].begin < entries->list[i].end)
            entries->list[kept++] = entries->list[i];
    }
    if (kept < count)
        memmove(entries->list + kept, entries->list + count,
                (entries->count - count) * sizeof *entries->list);
    entries->count -= count - kept;
    append(g, entries, access);
}

static void add_access(void *user, const struct trace_access *access)
{
    struct graph *g = user;
    const struct entry entry = {.begin = access->begin,
                                .end = access->end,
                                .unit = (uint32_t)g->unit_count - 1,
                                .segment = access->command,
                                .writes = trace_access_writes(access->mode),
                                .maybe = access->mode > TRACE_ACCESS_READ_WRITE};
    add(g, access->buffer, &entry);
}

static enum hal_status add_unit(struct graph *g, const struct unit *unit)
{
    if (g->unit_count >= UINT32_MAX || !HAL_GROW(g->units, &g->unit_capacity, g->unit_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers", g->unit_count);
    g->units[g->unit_count++] = *unit;
    return HAL_OK;
}

static enum hal_status take_submit(struct graph *g, const struct trace_submit *submit,
                                   size_t number)
{
    const uint64_t *buffers = trace_submit_command_buffers(submit);
    const uint32_t place = g->places[number];
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct replay_object *object = &g->plan->objects[buffers[i]];
        HAL_TRY(add_unit(g, &(struct unit){.event = &submit->head,
                                           .command_buffer = i,
                                           .place = place,
                                           .before = &g->before.submissions[number],
                                           .after = &g->after.submissions[place]}));
        trace_each_access(object->commands.seal, object->commands.segments, trace_reflection_mode,
                          &g->reflection, add_access, g);
        HAL_TRY(g->status);
    }
    return HAL_OK;
}

static enum hal_status take_host(struct graph *g, const struct replay_op *op, size_t number)
{
    const struct trace_content_event *event = (const void *)op->event;
    HAL_TRY(add_unit(g, &(struct unit){.event = op->event,
                                       .host = true,
                                       .writes = op->action == REPLAY_WRITE,
                                       .before = &g->before.host[number],
                                       .after = &g->after.host[number]}));
    if (op->event->kind == TRACE_MAPPED_CHANGE) /* perhaps the device's: no access of the host */
        return g->status;
    add(g, event->buffer,
        &(struct entry){.begin = event->offset,
                        .end = event->offset + event->size,
                        .unit = (uint32_t)g->unit_count - 1,
                        .writes = op->action == REPLAY_WRITE});
    return g->status;
}

static enum hal_status walk(struct graph *g)
{
    size_t submissions = 0, host = 0;
    for (size_t i = 0; i < g->plan->op_count; i++) {
        const struct replay_op *op = &g->plan->ops[i];
        if (op->action == REPLAY_SUBMIT)
            HAL_TRY(take_submit(g, (const void *)op->event, submissions++));
        else if (op->action == REPLAY_WRITE || op->action == REPLAY_READ)
            HAL_TRY(take_host(g, op, host++));
    }
    return HAL_OK;
}

/* ---- Within command buffers --------------------------------------------------------------- */

/* Conflicts that no barrier of their command buffer orders, as often as it is submitted. */
static enum hal_status count_races(const struct replay_plan *plan,
                                   struct trace_reflection *reflection, uint64_t *out_races)
{
    uint64_t *known = hal_alloc(plan->object_count, sizeof *known); /* plus 1 */
    enum hal_status status =
        known ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    for (size_t i = 0; i < plan->op_count && status == HAL_OK; i++) {
        const struct trace_submit *submit = (const void *)plan->ops[i].event;
        if (plan->ops[i].action != REPLAY_SUBMIT)
            continue;
        for (uint32_t k = 0; k < submit->command_buffer_count && status == HAL_OK; k++) {
            const uint64_t object = trace_submit_command_buffers(submit)[k];
            const struct replay_object *commands = &plan->objects[object];
            if (!known[object]) {
                struct trace_hazards hazards;
                trace_hazards_begin(&hazards);
                trace_hazards_segments(&hazards, commands->commands.seal,
                                       commands->commands.segments, trace_reflection_mode,
                                       reflection);
                status = trace_hazards_end(&hazards);
                known[object] = hazards.race_count + 1;
                trace_hazards_finish(&hazards);
            }
            *out_races += known[object] - 1;
        }
    }
    free(known);
    return status;
}

/* ---- All ---------------------------------------------------------------------------------- */

static enum hal_status find_variants(struct graph *g, const struct replay_plan *variant)
{
    size_t count = 0;
    g->variants = hal_alloc(g->after.submission_count + 1, sizeof *g->variants);
    if (!g->variants)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu submissions", g->after.submission_count);
    for (size_t i = 0; i < variant->op_count; i++) {
        if (variant->ops[i].action == REPLAY_SUBMIT)
            g->variants[count++] = (const void *)variant->ops[i].event;
    }
    return HAL_OK;
}

static enum hal_status prepare(struct graph *g, const struct replay_plan *variant)
{
    HAL_TRY(replay_order_make(g->plan, &g->before));
    HAL_TRY(replay_order_make(variant, &g->after));
    HAL_TRY(find_variants(g, variant));
    HAL_TRY(replay_reflect(g->plan, NULL, &g->reflection));
    g->buffers = hal_alloc(g->plan->object_count, sizeof *g->buffers);
    return g->buffers ? HAL_OK
                      : hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", g->plan->object_count);
}

enum hal_status replay_what_if_exit_code(const struct replay_plan *plan,
                                         const struct replay_plan *variant, const uint32_t *places,
                                         struct replay_what_if_hazards *out_hazards)
{
    struct graph g = {.plan = plan, .places = places, .result = out_hazards};
    *out_hazards = (struct replay_what_if_hazards){0};
    enum hal_status status = prepare(&g, variant);
    if (status == HAL_OK)
        status = walk(&g);
    if (status == HAL_OK)
        status = count_races(plan, &g.reflection, &out_hazards->races_before);
    if (status == HAL_OK)
        status = count_races(variant, &g.reflection, &out_hazards->races_after);
    out_hazards->incomplete = g.before.incomplete || g.after.incomplete || out_hazards->undecided;
    for (size_t i = 0; g.buffers && i < plan->object_count; i++)
        free(g.buffers[i].list);
    free(g.buffers);
    free(g.units);
    free(g.variants);
    trace_reflection_finish(&g.reflection);
    replay_order_finish(&g.before);
    replay_order_finish(&g.after);
    return status;
}
