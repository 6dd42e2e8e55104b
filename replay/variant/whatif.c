/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the plan's operations. Waits of the host that nothing needs yet, and submissions
 * that may still grow, are held back until an operation comes that cannot go before them. */
#include "replay/variant/whatif.h"

#include "hal/base/mem.h"
#include "replay/plan/accesses.h"
#include "replay/variant/runs.h"
#include "replay/variant/whatif_parts.h"

#include <inttypes.h>

enum { MAX_GROUP = 4096 }; /* submissions that become one */

/* Highest values of semaphores, by object index. */
struct values {
    uint64_t *by_object; /* 0: none; a recorded 0 is always reached */
    uint32_t *objects;   /* those that have one */
    size_t count;
};

/* Submissions that become one, at the place of the last. */
struct group {
    const struct trace_submit *members[MAX_GROUP];
    size_t count;
    struct values waits, signals;
    uint32_t command_buffers;
    const struct replay_op **after; /* destructions that must be deferred */
    size_t after_count, after_capacity;
};

struct transform {
    const struct replay_plan *plan;
    struct replay_plan *variant;
    const struct replay_what_if *what_if;
    struct values put_off; /* what the host would have waited for by now */
    struct group group;
    uint32_t *runs;                     /* of submissions that can become one; NULL: none can */
    struct trace_reflection reflection; /* by number of the executable */
    uint64_t barriers;                  /* that were looked at */
    uint32_t *places;                   /* of submissions: their number in the variant */
    uint32_t placed, submitted;         /* submissions so far, and those of the variant */
    struct replay_what_if_info info;
};

/* ---- Values -------------------------------------------------------------------------------- */

static enum hal_status values_init(struct values *values, size_t object_count)
{
    values->by_object = hal_alloc(object_count, sizeof *values->by_object);
    values->objects = hal_alloc(object_count, sizeof *values->objects);
    if (!values->by_object || !values->objects)
        return hal_fail(HAL_NO_MEMORY, "no memory for the values of %zu objects", object_count);
    return HAL_OK;
}

static void values_finish(struct values *values)
{
    free(values->by_object);
    free(values->objects);
}

static void values_raise(struct values *values, uint64_t object, uint64_t value)
{
    if (value <= values->by_object[object])
        return;
    if (values->by_object[object] == 0)
        values->objects[values->count++] = (uint32_t)object;
    values->by_object[object] = value;
}

static void values_clear(struct values *values)
{
    for (size_t i = 0; i < values->count; i++)
        values->by_object[values->objects[i]] = 0;
    values->count = 0;
}

static size_t values_write(const struct values *values, struct trace_semaphore_value *out)
{
    for (size_t i = 0; i < values->count; i++)
        out[i] = (struct trace_semaphore_value){values->objects[i],
                                                values->by_object[values->objects[i]]};
    return values->count;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static enum hal_status emit(struct transform *t, const struct replay_op *op)
{
    return replay_plan_emit(t->variant, op);
}

static void at_least(struct transform *t, size_t list)
{
    if (list > t->variant->max_list)
        t->variant->max_list = (uint32_t)list;
}

/* The wait that was put off. */
static enum hal_status wait_now(struct transform *t, const struct replay_op *before)
{
    struct values *values = &t->put_off;
    void *room;
    if (!values->count)
        return HAL_OK;
    const size_t bytes =
        sizeof(struct trace_semaphore_wait) + values->count * sizeof(struct trace_semaphore_value);
    HAL_TRY(replay_plan_room(t->variant, bytes, &room));
    struct trace_semaphore_wait *wait = room;
    wait->head = *before->event; /* what it comes before names it in messages */
    wait->head.kind = TRACE_SEMAPHORE_WAIT;
    wait->head.status = HAL_OK;
    wait->head.bytes = (uint32_t)bytes;
    wait->timeout_ns = INT64_MAX;
    wait->mode = HAL_WAIT_ALL;
    wait->value_count = (uint32_t)values_write(values, wait->values);
    at_least(t, values->count);
    values_clear(values);
    return emit(t, &(struct replay_op){.action = REPLAY_WAIT, .event = &wait->head});
}

/* Hands the group in as one submission. */
static enum hal_status submit_group(struct transform *t)
{
    struct group *g = &t->group;
    void *room;
    if (!g->count)
        return HAL_OK;
    const size_t values = g->waits.count + g->signals.count;
    const size_t bytes = sizeof(struct trace_submit) +
                         values * sizeof(struct trace_semaphore_value) +
                         g->command_buffers * sizeof(uint64_t);
    HAL_TRY(replay_plan_room(t->variant, bytes, &room));
    struct trace_submit *submit = room;
    submit->head = g->members[0]->head;
    submit->head.bytes = (uint32_t)bytes;
    submit->submission = g->members[0]->submission;
    submit->queue = g->members[0]->queue;
    submit->wait_count = (uint32_t)values_write(&g->waits, submit->values);
    submit->signal_count = (uint32_t)values_write(&g->signals, submit->values + submit->wait_count);
    submit->command_buffer_count = g->command_buffers;
    uint64_t *commands = (uint64_t *)(void *)(submit->values + values);
    for (size_t i = 0; i < g->count; i++) {
        const size_t count = g->members[i]->command_buffer_count;
        if (count)
            memcpy(commands, trace_submit_command_buffers(g->members[i]), count * sizeof *commands);
        commands += count;
    }
    at_least(t, values);
    at_least(t, g->command_buffers);
    HAL_TRY(emit(t, &(struct replay_op){.action = REPLAY_SUBMIT, .event = &submit->head}));
    for (size_t i = 0; i < g->count; i++)
        t->places[t->placed++] = t->submitted;
    t->submitted++;
    for (size_t i = 0; i < g->after_count; i++)
        HAL_TRY(emit(t, g->after[i]));
    values_clear(&g->waits);
    values_clear(&g->signals);
    g->count = g->after_count = 0;
    g->command_buffers = 0;
    return HAL_OK;
}

/* Whether the submission, the group's neighbour, may join it. */
static bool fits(const struct transform *t, const struct trace_submit *submit)
{
    const struct group *g = &t->group;
    const size_t number = t->placed + g->count;
    return t->runs[number] && t->runs[number] == t->runs[number - 1] && g->count < MAX_GROUP &&
           submit->queue == g->members[0]->queue &&
           submit->command_buffer_count <= HAL_MAX_LIST - g->command_buffers;
}

/* What the submission has to wait for in the queue, less what the group itself brings. */
static void add_wait(struct group *g, uint64_t semaphore, uint64_t value)
{
    if (value > g->signals.by_object[semaphore])
        values_raise(&g->waits, semaphore, value);
}

static enum hal_status take_submit(struct transform *t, const struct trace_submit *submit)
{
    struct group *g = &t->group;
    if (g->count && !fits(t, submit))
        HAL_TRY(submit_group(t));
    for (uint32_t i = 0; i < submit->wait_count; i++)
        add_wait(g, submit->values[i].semaphore, submit->values[i].value);
    for (size_t i = 0; i < t->put_off.count; i++)
        add_wait(g, t->put_off.objects[i], t->put_off.by_object[t->put_off.objects[i]]);
    const struct trace_semaphore_value *signals = submit->values + submit->wait_count;
    for (uint32_t i = 0; i < submit->signal_count; i++)
        values_raise(&g->signals, signals[i].semaphore, signals[i].value);
    g->members[g->count++] = submit;
    g->command_buffers += submit->command_buffer_count;
    return t->runs ? HAL_OK : submit_group(t);
}

static enum hal_status put_off(struct transform *t, const struct trace_semaphore_wait *wait)
{
    for (uint32_t i = 0; i < wait->value_count; i++)
        values_raise(&t->put_off, wait->values[i].semaphore, wait->values[i].value);
    return HAL_OK;
}

static enum hal_status put_behind_group(struct group *g, const struct replay_op *op)
{
    if (!HAL_GROW(g->after, &g->after_capacity, g->after_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", g->after_count);
    g->after[g->after_count++] = op;
    return HAL_OK;
}

static enum hal_status take(struct transform *t, const struct replay_op *op)
{
    const void *event = op->event;
    if (replay_runs_are_cut_by(op)) {
        HAL_TRY(submit_group(t));
        HAL_TRY(wait_now(t, op));
        return emit(t, op);
    }
    if (op->action == REPLAY_SUBMIT)
        return take_submit(t, event);
    if (op->action == REPLAY_WAIT)
        return put_off(t, event);
    const bool destroys = op->action == REPLAY_DESTROY_BUFFER ||
                          op->action == REPLAY_DESTROY_EVENT ||
                          op->action == REPLAY_DESTROY_COMMANDS;
    return destroys && t->group.count ? put_behind_group(&t->group, op) : emit(t, op);
}

static enum hal_status transform_ops(struct transform *t)
{
    const size_t objects = t->plan->object_count;
    HAL_TRY(values_init(&t->put_off, objects));
    HAL_TRY(values_init(&t->group.waits, objects));
    HAL_TRY(values_init(&t->group.signals, objects));
    if (t->what_if->coalesce_submissions)
        HAL_TRY(replay_runs_find(t->plan, &t->runs));
    for (size_t i = 0; i < t->plan->op_count; i++)
        HAL_TRY(take(t, &t->plan->ops[i]));
    return submit_group(t);
}

/* ---- Barriers ------------------------------------------------------------------------------ */

/* Copies the command buffer without the barriers whose `dropped` is set. */
static enum hal_status copy_without(struct transform *t, struct replay_object *object,
                                    const bool *dropped)
{
    const struct trace_command_buffer_seal *seal = object->commands.seal;
    const struct trace_segment *segment = object->commands.segments;
    void *room;
    HAL_TRY(replay_plan_room(t->variant, sizeof *seal + (size_t)seal->segment_bytes, &room));
    struct trace_command_buffer_seal *copy = room;
    uint8_t *at = (uint8_t *)(copy + 1);
    *copy = *seal;
    copy->segment_count = 0;
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        if (dropped[i])
            continue;
        memcpy(at, segment, segment->bytes);
        at += segment->bytes;
        copy->segment_count++;
    }
    copy->segment_bytes = (uint64_t)(at - (uint8_t *)(copy + 1));
    object->commands.seal = copy;
    object->commands.segments = TRACE_AS(trace_segment, copy + 1);
    return HAL_OK;
}

/* Whether to drop that barrier, according to the options and the analysis. */
static bool is_dropped(struct transform *t, enum trace_barrier_need need)
{
    const uint64_t number = t->barriers++;
    bool dropped = false;
    switch (t->what_if->barriers) {
    case REPLAY_BARRIERS_KEEP: break;
    case REPLAY_BARRIERS_NEEDED: dropped = need == TRACE_BARRIER_REDUNDANT; break;
    case REPLAY_BARRIERS_NONE: dropped = true; break;
    case REPLAY_BARRIERS_ONE: dropped = number == t->what_if->barrier; break;
    }
    t->info.dropped_redundant += dropped && need == TRACE_BARRIER_REDUNDANT;
    t->info.dropped_unknown += dropped && need == TRACE_BARRIER_UNKNOWN;
    t->info.dropped_needed += dropped && need == TRACE_BARRIER_NEEDED;
    return dropped;
}

/* Waits for events stay: their signals would be left over. */
static enum hal_status choose_barriers(struct transform *t, const struct replay_object *object,
                                       bool *dropped)
{
    const struct trace_command_buffer_seal *seal = object->commands.seal;
    const struct trace_segment *segment = object->commands.segments;
    struct trace_hazards hazards;
    trace_hazards_begin(&hazards);
    trace_hazards_segments(&hazards, seal, segment, trace_reflection_mode, &t->reflection);
    const enum hal_status status = trace_hazards_end(&hazards);
    size_t place = 0;
    for (uint32_t i = 0; i < seal->segment_count && status == HAL_OK;
         i++, segment = trace_next_segment(segment)) {
        while (place < hazards.barrier_count && hazards.barriers[place].command < i)
            place++;
        const bool known = place < hazards.barrier_count && hazards.barriers[place].command == i;
        if (segment->kind == TRACE_BARRIER)
            dropped[i] =
                is_dropped(t, known ? hazards.barriers[place].need : TRACE_BARRIER_UNKNOWN);
    }
    trace_hazards_finish(&hazards);
    return status;
}

static enum hal_status drop_barriers(struct transform *t, struct replay_object *object)
{
    bool *dropped = hal_alloc(object->commands.seal->segment_count, sizeof *dropped);
    if (!dropped)
        return hal_fail(HAL_NO_MEMORY, "no memory for %u commands",
                        object->commands.seal->segment_count);
    enum hal_status status = choose_barriers(t, object, dropped);
    if (status == HAL_OK)
        status = copy_without(t, object, dropped);
    free(dropped);
    return status;
}

static enum hal_status transform_barriers(struct transform *t)
{
    if (t->what_if->barriers == REPLAY_BARRIERS_KEEP)
        return HAL_OK;
    HAL_TRY(replay_reflect(t->plan, NULL, &t->reflection));
    for (size_t i = 1; i < t->variant->object_count; i++) {
        struct replay_object *object = &t->variant->objects[i];
        if (object->kind == REPLAY_COMMANDS && object->commands.seal)
            HAL_TRY(drop_barriers(t, object));
    }
    const uint64_t wanted = t->what_if->barrier;
    if (t->what_if->barriers == REPLAY_BARRIERS_ONE && wanted >= t->barriers &&
        wanted != UINT64_MAX)
        return hal_fail(HAL_NOT_FOUND, "there is no barrier %" PRIu64 ": the trace has %" PRIu64,
                        wanted, t->barriers);
    return HAL_OK;
}

/* ---- All ----------------------------------------------------------------------------------- */

/* The submissions as they are. */
static enum hal_status copy_ops(struct transform *t)
{
    for (size_t i = 0; i < t->plan->op_count; i++) {
        HAL_TRY(emit(t, &t->plan->ops[i]));
        if (t->plan->ops[i].action == REPLAY_SUBMIT)
            t->places[t->placed++] = t->submitted++;
    }
    return HAL_OK;
}

static enum hal_status make_places(struct transform *t)
{
    t->places = hal_alloc(t->plan->op_count + 1, sizeof *t->places);
    return t->places ? HAL_OK
                     : hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", t->plan->op_count);
}

static uint64_t count_barriers(const struct replay_object *object)
{
    const struct trace_segment *segment = object->commands.segments;
    uint64_t count = 0;
    for (uint32_t i = 0; object->commands.seal && i < object->commands.seal->segment_count;
         i++, segment = trace_next_segment(segment))
        count += segment->kind == TRACE_BARRIER;
    return count;
}

static struct replay_what_if_counts count(const struct replay_plan *plan)
{
    struct replay_what_if_counts counts = {.queues = plan->info.queue_count};
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct replay_op *op = &plan->ops[i];
        counts.submissions += op->action == REPLAY_SUBMIT;
        counts.host_waits += op->action == REPLAY_WAIT || op->action == REPLAY_WAIT_IDLE;
        if (op->action != REPLAY_SUBMIT)
            continue;
        const struct trace_submit *submit = (const void *)op->event;
        counts.command_buffers += submit->command_buffer_count;
        for (uint32_t k = 0; k < submit->command_buffer_count; k++)
            counts.barriers +=
                count_barriers(&plan->objects[trace_submit_command_buffers(submit)[k]]);
    }
    return counts;
}

static enum hal_status describe(struct transform *t)
{
    t->info.before = count(t->plan);
    t->info.after = count(t->variant);
    t->info.changed = t->info.before.barriers != t->info.after.barriers ||
                      !replay_plan_does_same(t->plan, t->variant);
    if (!t->info.changed)
        return HAL_OK;
    return replay_what_if_exit_code(t->plan, t->variant, t->places, &t->info.hazards);
}

enum hal_status replay_plan_what_if(const struct replay_plan *plan,
                                    const struct replay_what_if *what_if,
                                    struct replay_what_if_info *out_info,
                                    struct replay_plan **out_variant)
{
    struct transform *t = hal_alloc(1, sizeof *t);
    *out_variant = NULL;
    if (!t)
        return hal_fail(HAL_NO_MEMORY, "no memory for a plan");
    *t = (struct transform){.plan = plan, .what_if = what_if};
    enum hal_status status = replay_plan_clone(plan, &t->variant);
    if (status == HAL_OK)
        status = make_places(t);
    if (status == HAL_OK)
        status = transform_barriers(t);
    if (status == HAL_OK)
        status = what_if->coalesce_submissions || what_if->drop_host_waits ? transform_ops(t)
                                                                           : copy_ops(t);
    if (status == HAL_OK && what_if->merge_dispatches)
        status = replay_what_if_merge(t->variant);
    if (status == HAL_OK && what_if->queues)
        status = replay_what_if_queues(t->variant, what_if->queues);
    if (status == HAL_OK)
        status = describe(t);
    values_finish(&t->put_off);
    free(t->runs);
    values_finish(&t->group.waits);
    values_finish(&t->group.signals);
    free(t->group.after);
    free(t->places);
    trace_reflection_finish(&t->reflection);
    if (status == HAL_OK) {
        *out_info = t->info;
        *out_variant = t->variant;
    } else {
        replay_plan_destroy(t->variant);
    }
    free(t);
    return status;
}
