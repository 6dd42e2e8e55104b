/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose trace lacks events. Work that ended in the recording may wait here for a value that
 * an event set which is missing: it never runs, and nothing may wait for it. So the semaphores are
 * followed through the plan, as its player will see them. */
#include "replay/plan/decode.h"

#include "hal/base/mem.h"

/* Looks at what waits. Rather too short a plan than hours of looking. */
static const uint64_t work_limit = 1u << 28;

struct cut {
    struct replay_plan *plan;
    uint64_t *values; /* of semaphores, by object: what they have reached; UINT64_MAX: failed */
    size_t *held;     /* ops of submissions that wait */
    size_t held_count, held_capacity;
    uint64_t work;
};

static const struct trace_submit *submit_of(const struct cut *c, size_t op)
{
    return (const void *)c->plan->ops[op].event;
}

static void raise_to(uint64_t *value, uint64_t to)
{
    if (to > *value)
        *value = to;
}

/* Also when something that it waits for fails: then it fails, too. */
static bool can_end(const struct cut *c, const struct trace_submit *submit, bool *out_fails)
{
    bool met = true;
    *out_fails = false;
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const uint64_t value = c->values[submit->values[i].semaphore];
        *out_fails |= value == UINT64_MAX;
        met &= value >= submit->values[i].value;
    }
    return met || *out_fails;
}

static bool run(struct cut *c, const struct trace_submit *submit)
{
    bool fails;
    if (!can_end(c, submit, &fails))
        return false;
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        raise_to(&c->values[signal->semaphore], fails ? UINT64_MAX : signal->value);
    }
    return true;
}

static void run_held(struct cut *c)
{
    for (bool moved = true; moved && c->work < work_limit;) {
        size_t kept = 0;
        c->work += c->held_count;
        for (size_t i = 0; i < c->held_count; i++) {
            if (!run(c, submit_of(c, c->held[i])))
                c->held[kept++] = c->held[i];
        }
        moved = kept < c->held_count;
        c->held_count = kept;
    }
}

static enum hal_status take_submit(struct cut *c, size_t op)
{
    if (run(c, submit_of(c, op))) {
        run_held(c);
        return HAL_OK;
    }
    if (!HAL_GROW(c->held, &c->held_capacity, c->held_count + 1))
        return replay_decode_no_memory("submissions that wait");
    c->held[c->held_count++] = op;
    return HAL_OK;
}

static bool ends(const struct cut *c, const struct trace_semaphore_wait *wait)
{
    uint32_t met = 0;
    bool fails = false;
    for (uint32_t i = 0; i < wait->value_count; i++) {
        const uint64_t value = c->values[wait->values[i].semaphore];
        met += value >= wait->values[i].value;
        fails |= value == UINT64_MAX;
    }
    return fails || (wait->mode == HAL_WAIT_ALL ? met == wait->value_count
                                                : met > 0 || wait->value_count == 0);
}

/* What is destroyed or failed before its last value came is not waited for any more. */
static void stop_at_reached(struct cut *c, uint32_t object)
{
    struct replay_object *semaphore = &c->plan->objects[object];
    if (semaphore->semaphore.signaled <= c->values[object])
        return;
    semaphore->semaphore.signaled = c->values[object];
    semaphore->semaphore.outcome = REPLAY_EITHER;
}

static void fail(struct cut *c, const struct replay_op *op)
{
    struct trace_semaphore_event *event = (void *)(uintptr_t)op->event;
    if (event->value > c->values[op->object])
        event->value = c->values[op->object];
    c->values[op->object] = UINT64_MAX;
    run_held(c);
}

/* *out_waits: for something that never comes. */
static enum hal_status take(struct cut *c, size_t op, bool *out_waits)
{
    const struct replay_op *const now = &c->plan->ops[op];
    const struct trace_semaphore_event *signal = (const void *)now->event;
    *out_waits = c->work >= work_limit;
    switch (now->action) {
    case REPLAY_SUBMIT: return take_submit(c, op);
    case REPLAY_SIGNAL:
        raise_to(&c->values[now->object], signal->value);
        run_held(c);
        break;
    case REPLAY_FAIL: fail(c, now); break;
    case REPLAY_WAIT: *out_waits |= !ends(c, (const void *)now->event); break;
    case REPLAY_WAIT_IDLE: *out_waits |= c->held_count > 0; break;
    case REPLAY_DESTROY_SEMAPHORE: stop_at_reached(c, now->object); break;
    case REPLAY_CREATE_BUFFER:
    case REPLAY_DESTROY_BUFFER:
    case REPLAY_WRITE:
    case REPLAY_READ:
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE:
    case REPLAY_RECORD_COMMANDS:
    case REPLAY_DESTROY_COMMANDS:
    case REPLAY_CREATE_SEMAPHORE:
    case REPLAY_CREATE_EVENT:
    case REPLAY_DESTROY_EVENT:
    case REPLAY_FLUSH:
    case REPLAY_STEP: break;
    }
    return HAL_OK;
}

/* What still waits ends when the replay does. */
static void let_go(struct cut *c)
{
    struct replay_plan *plan = c->plan;
    for (size_t i = 0; i < c->held_count; i++) {
        const struct trace_submit *submit = submit_of(c, c->held[i]);
        for (uint32_t k = 0; k < submit->wait_count; k++)
            plan->objects[submit->values[k].semaphore].semaphore.keeps_work = true;
        for (uint32_t k = 0; k < submit->signal_count; k++)
            plan->objects[submit->values[submit->wait_count + k].semaphore].semaphore.outcome =
                REPLAY_EITHER;
        plan->all_submissions_end = false;
    }
    for (uint32_t i = 1; i < plan->object_count; i++) {
        if (plan->objects[i].kind == REPLAY_SEMAPHORE)
            stop_at_reached(c, i);
    }
}

/* All semaphores as they are created, then one call after the other. */
static enum hal_status follow(struct cut *c, size_t *out_op)
{
    const struct replay_plan *plan = c->plan;
    bool waits = false;
    for (uint32_t i = 1; i < plan->object_count; i++) {
        const struct replay_object *object = &plan->objects[i];
        if (object->kind == REPLAY_SEMAPHORE && object->created)
            c->values[i] = TRACE_AS(trace_semaphore_create, object->created)->initial_value;
    }
    for (*out_op = 0; *out_op < plan->op_count; ++*out_op) {
        HAL_TRY(take(c, *out_op, &waits));
        if (waits)
            return HAL_OK;
    }
    return HAL_OK;
}

enum hal_status replay_decode_cut(struct replay_plan *plan)
{
    size_t op;
    struct cut c = {.plan = plan, .values = hal_alloc(plan->object_count, sizeof *c.values)};
    if (!c.values)
        return replay_decode_no_memory("semaphores");
    const enum hal_status status = follow(&c, &op);
    if (status == HAL_OK) {
        plan->op_count = op;
        let_go(&c);
    }
    free(c.values);
    free(c.held);
    return status;
}
