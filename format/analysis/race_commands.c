/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/race_commands.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <stdlib.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the races of a trace");
}

void trace_race_commands_release(struct trace_race_commands *commands)
{
    if (!commands || --commands->references)
        return;
    free(commands->list);
    free(commands->races);
    free(commands);
}

/* Walks the segments beside their accesses. */
struct seal_walk {
    struct trace_races *races;
    struct trace_race_commands *commands;
    const struct trace_segment *segment; /* of `command` */
    uint32_t command, dispatch;          /* dispatches before it */
    bool failed;
};

/* NULL: unknown. */
static const struct trace_race_kernel *kernel_of(const struct trace_races *races,
                                                 const struct trace_segment *segment)
{
    const struct trace_dispatched run = trace_dispatched(segment);
    uint32_t index;
    if (!hal_idmap_find(&races->kernel_ids, run.executable, &index) ||
        run.entry >= races->kernels[index].count)
        return NULL;
    return &races->kernels[index].list[run.entry];
}

static struct trace_race_side side_of(struct seal_walk *s, uint32_t command)
{
    struct trace_race_side side = {.command = command, .dispatch = TRACE_NO_COMMAND};
    for (; s->command < command; s->command++) {
        s->dispatch += trace_is_dispatch(s->segment->kind);
        s->segment = trace_next_segment(s->segment);
    }
    side.kind = s->segment->kind;
    if (trace_is_dispatch(side.kind)) {
        side.dispatch = s->dispatch;
        const struct trace_race_kernel *kernel = kernel_of(s->races, s->segment);
        side.kernel = kernel ? kernel->name : 0;
    }
    return side;
}

/* A range up to the end of its buffer is what one binds who says nothing of the end: that the
 * dispatch touches all of it is known when there is a thread for every word. */
static bool has_known_end(const struct seal_walk *s, const struct trace_access *access)
{
    const struct trace_dispatch *dispatch = (const void *)s->segment;
    const struct trace_race_kernel *kernel = kernel_of(s->races, s->segment);
    uint64_t threads, bytes;
    uint32_t index;
    if (!hal_idmap_find(&s->races->buffer_ids, access->buffer, &index) ||
        access->end < s->races->buffers[index].bytes)
        return true;
    if (s->segment->kind != TRACE_DISPATCH || !kernel)
        return false;
    if (!hal_mul_u64(trace_race_product(dispatch->workgroup_count), kernel->group_threads,
                     &threads) ||
        !hal_mul_u64(threads, sizeof(uint32_t), &bytes))
        return true;
    return bytes >= access->end - access->begin;
}

static void add_access(void *user, const struct trace_access *access)
{
    struct seal_walk *s = user;
    struct trace_race_commands *commands = s->commands;
    if (!HAL_GROW(commands->list, &commands->capacity, commands->count + 1)) {
        s->failed = true;
        return;
    }
    struct trace_race_access *added = &commands->list[commands->count++];
    *added = (struct trace_race_access){.buffer = access->buffer,
                                        .begin = access->begin,
                                        .end = access->end,
                                        .side = side_of(s, access->command)};
    added->side.writes = trace_access_writes(access->mode);
    added->side.declared = access->mode != TRACE_ACCESS_UNKNOWN &&
                           (access->mode <= TRACE_ACCESS_READ_WRITE || has_known_end(s, access));
}

/* By range; the access that represents most others first, and among equals the first command. */
static int compare_accesses(const void *left, const void *right)
{
    const struct trace_race_access *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->side.writes + a->side.declared != b->side.writes + b->side.declared)
        return b->side.writes + b->side.declared - a->side.writes - a->side.declared;
    return a->side.command < b->side.command ? -1 : a->side.command > b->side.command;
}

/* One access represents all others of the same range that do no more. */
static void condense(struct trace_race_commands *commands)
{
    size_t kept = 0, first = 0; /* of the range */
    if (commands->count)
        qsort(commands->list, commands->count, sizeof *commands->list, compare_accesses);
    for (size_t i = 0; i < commands->count; i++) {
        const struct trace_race_access access = commands->list[i], *other = &commands->list[first];
        bool needed = true;
        if (!kept || other->buffer != access.buffer || other->begin != access.begin ||
            other->end != access.end)
            first = kept;
        for (size_t k = first; k < kept && needed; k++)
            needed = !trace_race_stands_for(&commands->list[k].side, &access.side);
        if (needed)
            commands->list[kept++] = access;
    }
    commands->count = kept;
}

HAL_COMPARE_2(compare_hazards, struct trace_race, after.command, before.command)

static bool overlap(const struct trace_race_access *access, const struct trace_hazard *hazard)
{
    return access->buffer == hazard->buffer && access->begin < hazard->end &&
           hazard->begin < access->end;
}

/* The first access of a command; the list is still in their order. */
static size_t first_of(const struct trace_race_commands *commands, uint32_t command)
{
    size_t low = 0, high = commands->count;
    HAL_BISECT(low, high, middle, commands->list[middle].side.command < command)
    return low;
}

/* Whether any accesses of its two commands that conflict are declared. */
static bool is_declared(const struct trace_race_commands *commands,
                        const struct trace_hazard *hazard)
{
    const struct trace_race_access *list = commands->list;
    const size_t after = first_of(commands, hazard->after);
    if (!hazard->declared)
        return false;
    for (size_t i = first_of(commands, hazard->before);
         i < commands->count && list[i].side.command == hazard->before; i++) {
        for (size_t k = after; k < commands->count && list[k].side.command == hazard->after; k++) {
            if (overlap(&list[i], hazard) && overlap(&list[k], hazard) &&
                (list[i].side.writes || list[k].side.writes) && list[i].side.declared &&
                list[k].side.declared)
                return true;
        }
    }
    return false;
}

/* The races inside, named: both sides in the order of commands, which one walk finds. */
static enum hal_status keep_inside(struct seal_walk *s, const struct trace_hazards *hazards,
                                   const struct trace_segment *segments, uint32_t segment_count)
{
    struct trace_race_commands *commands = s->commands;
    const size_t count = hazards->kept_race_count;
    struct trace_race_side *sides = count ? hal_alloc(segment_count, sizeof *sides) : NULL;
    commands->race_count = hazards->race_count;
    commands->declared_count = hazards->declared_race_count;
    if (!count)
        return HAL_OK;
    commands->races = hal_alloc(count, sizeof *commands->races);
    if (!sides || !commands->races) {
        free(sides);
        return no_memory();
    }
    s->segment = segments;
    s->command = s->dispatch = 0;
    for (uint32_t i = 0; i < segment_count; i++)
        sides[i] = side_of(s, i);
    for (size_t i = 0; i < count; i++) {
        const struct trace_hazard *hazard = &hazards->races[i];
        struct trace_race *race = &commands->races[commands->kept_count++];
        *race = (struct trace_race){.before = sides[hazard->before],
                                    .after = sides[hazard->after],
                                    .buffer = hazard->buffer,
                                    .begin = hazard->begin,
                                    .end = hazard->end,
                                    .declared = is_declared(commands, hazard),
                                    .inside = true};
        commands->declared_count -= hazard->declared && !race->declared;
        race->before.writes = hazard->before_writes;
        race->after.writes = hazard->after_writes;
    }
    qsort(commands->races, count, sizeof *commands->races, compare_hazards);
    free(sides);
    return HAL_OK;
}

static enum hal_status find_inside(struct seal_walk *s,
                                   const struct trace_command_buffer_seal *seal,
                                   const struct trace_segment *segments)
{
    struct trace_races *races = s->races;
    struct trace_hazards hazards;
    trace_hazards_begin(&hazards);
    trace_hazards_segments(&hazards, seal, segments, trace_reflection_mode, &races->reflection);
    enum hal_status status = trace_hazards_end(&hazards);
    if (status == HAL_OK && races->ended)
        status = races->ended(races->user, seal, &hazards);
    if (status == HAL_OK)
        status = keep_inside(s, &hazards, segments, seal->segment_count);
    races->undecided += hazards.undecided;
    trace_hazards_finish(&hazards);
    return status;
}

enum hal_status trace_race_commands_make(struct trace_races *races,
                                         const struct trace_command_buffer_seal *seal,
                                         const struct trace_segment *segments,
                                         struct trace_race_commands **out_commands)
{
    struct trace_race_commands *commands = hal_alloc(1, sizeof *commands);
    struct seal_walk s = {.races = races, .commands = commands, .segment = segments};
    if (!commands)
        return no_memory();
    commands->references = 1;
    commands->dispatch_count = seal->dispatch_count;
    trace_each_access(seal, segments, trace_reflection_mode, &races->reflection, add_access, &s);
    const enum hal_status status = s.failed ? no_memory() : find_inside(&s, seal, segments);
    condense(commands);
    if (status == HAL_OK)
        *out_commands = commands;
    else
        trace_race_commands_release(commands);
    return status;
}
