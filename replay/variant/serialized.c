/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the operations, with a simulation of the semaphores that decides which submissions
 * may run. What cannot run yet is deferred, together with the destruction of its objects. */
#include "replay/variant/serialized.h"

#include "hal/base/mem.h"
#include "replay/variant/single_command.h"

#include <inttypes.h>
#include <stdio.h>

struct making {
    const struct replay_plan *plan;
    struct replay_plan *variant;
    struct replay_serialized *serialized;
    const struct replay_serialized_options *options;
    uint64_t *values; /* of semaphores, by object: what they have reached; UINT64_MAX: failed */
    uint32_t *first_calls; /* by gate: index of its first operation into plan->calls, plus 1 */
    uint32_t *next_calls;  /* by such an index: the next one of the gate, plus 1 */
    bool *called;          /* by such an index: has been played */
    size_t call;           /* the next one in the plan's order */
    struct replay_op *held;
    size_t held_count, held_capacity;
    bool stopped, begun;
    bool ended, blocked;  /* the submission to stop at has run; waits for others of the range */
    uint64_t awaited;     /* of the range, or the one to stop at: those that have not run yet */
    uint64_t first, last; /* submissions seen, for messages */
    bool seen;
};

/* ---- Steps --------------------------------------------------------------------------------- */

static enum hal_status add_step(struct making *m, const struct replay_step *step)
{
    struct replay_serialized *serialized = m->serialized;
    if (serialized->step_count >= UINT32_MAX ||
        !HAL_GROW(serialized->steps, &serialized->step_capacity, serialized->step_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu steps", serialized->step_count);
    serialized->steps[serialized->step_count] = *step;
    const struct trace_event *event = &step->submit->head;
    HAL_TRY(replay_plan_emit(m->variant, &(struct replay_op){REPLAY_WAIT_IDLE, 0, event}));
    serialized->steps[serialized->step_count].end_op = m->variant->op_count;
    return replay_plan_emit(
        m->variant, &(struct replay_op){REPLAY_STEP, (uint32_t)serialized->step_count++, event});
}

/* A part of the submission as one of its own: `commands` 0: none. */
static enum hal_status emit_part(struct making *m, const struct trace_submit *submit,
                                 uint32_t commands, bool waits, bool signals)
{
    const uint32_t wait_count = waits ? submit->wait_count : 0;
    const uint32_t signal_count = signals ? submit->signal_count : 0;
    const size_t values = wait_count + signal_count;
    const size_t bytes = sizeof *submit + values * sizeof *submit->values + sizeof(uint64_t);
    void *room;
    HAL_TRY(replay_plan_room(m->variant, bytes, &room));
    struct trace_submit *part = room;
    *part = *submit;
    part->head.bytes = (uint32_t)bytes;
    part->wait_count = wait_count;
    part->signal_count = signal_count;
    part->command_buffer_count = commands != 0;
    for (uint32_t i = 0; i < wait_count; i++)
        part->values[i] = submit->values[i];
    for (uint32_t i = 0; i < signal_count; i++)
        part->values[wait_count + i] = submit->values[submit->wait_count + i];
    *(uint64_t *)(void *)(part->values + values) = commands;
    return replay_plan_emit(m->variant, &(struct replay_op){REPLAY_SUBMIT, 0, &part->head});
}

/* The host call follows its submission, unless another of the submission's waits fails. */
static enum hal_status emit_call(struct making *m, const struct trace_submit *submit)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        next = m->first_calls[submit->values[i].semaphore];
        if (!next && m->values[submit->values[i].semaphore] == UINT64_MAX)
            return HAL_OK;
    }
    for (; next; next = m->next_calls[next - 1]) {
        if (!m->called[next - 1])
            HAL_TRY(replay_plan_emit(m->variant, &m->plan->ops[m->plan->calls[next - 1].op]));
        m->called[next - 1] = true;
    }
    return HAL_OK;
}

static bool stops_at(const struct making *m, const struct trace_submit *submit)
{
    return m->options->has_stop && m->options->stop.submission == submit->submission;
}

/* Whether the end must come after it: a range includes all its submissions, in any order. */
static bool is_awaited(const struct making *m, const struct trace_submit *submit)
{
    const struct replay_serialized_options *options = m->options;
    if (!options->has_stop || !options->is_range)
        return stops_at(m, submit);
    return submit->submission <= options->stop.submission &&
           (!options->has_begin || submit->submission >= options->begin);
}

/* Inside a submission the replay can end only when the others of the range have run. */
static bool is_too_early(const struct making *m, const struct trace_submit *submit)
{
    return stops_at(m, submit) && m->options->stop.has_dispatch && m->awaited > 1;
}

/* The command buffer is destroyed at the end, with its pieces, when nothing runs on the device. */
static enum hal_status run_piece(struct making *m, struct replay_step *step,
                                 const struct replay_single_command_state *state, bool *first)
{
    HAL_TRY(replay_single_command_make(m->variant, &m->plan->objects[step->commands], state,
                                       step->work, &step->piece));
    const struct replay_object *piece = &m->variant->objects[step->piece];
    HAL_TRY(replay_plan_emit(m->variant, &(struct replay_op){REPLAY_RECORD_COMMANDS, step->piece,
                                                             &piece->commands.seal->head}));
    step->submit_op = m->variant->op_count;
    HAL_TRY(emit_part(m, step->submit, step->piece, *first, false));
    *first = false;
    HAL_TRY(add_step(m, step));
    return replay_plan_emit(
        m->variant, &(struct replay_op){REPLAY_DESTROY_COMMANDS, step->piece, &step->submit->head});
}

static enum hal_status run_pieces(struct making *m, const struct trace_submit *submit)
{
    const uint64_t *buffers = trace_submit_command_buffers(submit);
    struct replay_step step = {.submit = submit};
    bool first = true;
    struct replay_single_command_state *state = hal_alloc(1, sizeof *state);
    if (!state)
        return hal_fail(HAL_NO_MEMORY, "no memory for a command's state");
    enum hal_status status = HAL_OK;
    for (uint32_t i = 0; i < submit->command_buffer_count && !m->stopped; i++) {
        const struct replay_object *object = &m->plan->objects[buffers[i]];
        const struct trace_segment *segment = object->commands.segments;
        const uint32_t count = object->commands.seal->segment_count;
        *state = (struct replay_single_command_state){0};
        step.commands = (uint32_t)buffers[i];
        for (uint32_t k = 0; k < count && !m->stopped && status == HAL_OK; k++) {
            replay_single_command_state_take(state, segment);
            step.work = segment;
            step.segment = k;
            if (trace_is_work(segment->kind))
                status = run_piece(m, &step, state, &first);
            m->stopped = stops_at(m, submit) && m->options->stop.has_dispatch &&
                         trace_is_dispatch(segment->kind) &&
                         step.dispatch == m->options->stop.dispatch;
            step.dispatch += trace_is_dispatch(segment->kind);
            segment = trace_next_segment(segment);
        }
    }
    free(state);
    if (status == HAL_OK && stops_at(m, submit) && m->options->stop.has_dispatch && !m->stopped)
        return hal_fail(HAL_NOT_FOUND, "submission #s%" PRIu64 " has no dispatch d%u: it has %u",
                        submit->submission, m->options->stop.dispatch, step.dispatch);
    if (status != HAL_OK || m->stopped)
        return status;
    HAL_TRY(emit_part(m, submit, 0, first, true));
    return emit_call(m, submit);
}

static enum hal_status run_submission(struct making *m, const struct replay_op *op)
{
    const struct trace_submit *submit = (const void *)op->event;
    const struct replay_serialized_options *options = m->options;
    bool chosen = false;
    for (size_t i = 0; options->split == REPLAY_SPLIT_SOME && i < options->split_count; i++)
        chosen |= submit->submission == options->split_submissions[i];
    m->first = m->seen && m->first < submit->submission ? m->first : submit->submission;
    m->last = m->seen && m->last > submit->submission ? m->last : submit->submission;
    m->seen = true;
    m->begun |= options->has_begin && submit->submission == options->begin;
    m->ended |= stops_at(m, submit);
    if (chosen || options->split == REPLAY_SPLIT_ALL) {
        HAL_TRY(run_pieces(m, submit));
    } else {
        const struct replay_step step = {.submit = submit, .submit_op = m->variant->op_count};
        HAL_TRY(replay_plan_emit(m->variant, op));
        HAL_TRY(emit_call(m, submit));
        HAL_TRY(add_step(m, &step));
    }
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        if (signal->value > m->values[signal->semaphore])
            m->values[signal->semaphore] = signal->value;
    }
    if (is_awaited(m, submit))
        m->stopped |= --m->awaited == 0;
    return HAL_OK;
}

/* ---- Holding back -------------------------------------------------------------------------- */

static enum hal_status hold(struct making *m, const struct replay_op *op)
{
    if (!HAL_GROW(m->held, &m->held_capacity, m->held_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", m->held_count);
    m->held[m->held_count++] = *op;
    return HAL_OK;
}

enum readiness { READY, NOT_YET, FAILS };

static enum readiness readiness(const struct making *m, const struct trace_submit *submit)
{
    enum readiness result = is_too_early(m, submit) ? NOT_YET : READY;
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const uint64_t value = m->values[submit->values[i].semaphore];
        const bool calls = m->first_calls[submit->values[i].semaphore];
        if (value == UINT64_MAX)
            return calls ? (result == NOT_YET ? NOT_YET : FAILS) : FAILS;
        if (value < submit->values[i].value)
            result = NOT_YET;
    }
    return result;
}

/* Work whose wait fails does not run, and fails what it would have signalled. */
static enum hal_status run_failing(struct making *m, const struct replay_op *op)
{
    const struct trace_submit *submit = (const void *)op->event;
    for (uint32_t i = 0; i < submit->signal_count; i++)
        m->values[submit->values[submit->wait_count + i].semaphore] = UINT64_MAX;
    HAL_TRY(replay_plan_emit(m->variant, op));
    HAL_TRY(emit_call(m, submit));
    if (is_awaited(m, submit) && !stops_at(m, submit))
        m->stopped |= --m->awaited == 0;
    return HAL_OK;
}

/* One pass over what is deferred; true in *out_moved: something ran. */
static enum hal_status run_held_once(struct making *m, bool *out_moved)
{
    size_t kept = 0;
    bool waiting = false;
    *out_moved = false;
    for (size_t i = 0; i < m->held_count; i++) {
        const struct replay_op op = m->held[i];
        const bool is_submit = op.action == REPLAY_SUBMIT;
        const enum readiness state = is_submit ? readiness(m, (const void *)op.event) : NOT_YET;
        if (m->stopped)
            return HAL_OK;
        if (is_submit && state != NOT_YET) {
            HAL_TRY(state == READY ? run_submission(m, &op) : run_failing(m, &op));
            *out_moved = true;
        } else if (!is_submit && !waiting) {
            HAL_TRY(replay_plan_emit(m->variant, &op));
        } else {
            waiting |= is_submit;
            m->held[kept++] = op;
        }
    }
    m->held_count = kept;
    return HAL_OK;
}

static enum hal_status run_held(struct making *m)
{
    for (bool moved = m->held_count > 0; moved && !m->stopped;)
        HAL_TRY(run_held_once(m, &moved));
    return HAL_OK;
}

/* What nothing sets free: in the recorded way, without steps. */
static enum hal_status let_go(struct making *m)
{
    for (size_t i = 0; i < m->held_count; i++)
        m->blocked |=
            m->held[i].action == REPLAY_SUBMIT && is_too_early(m, (const void *)m->held[i].event);
    for (size_t i = 0; i < m->held_count; i++) {
        HAL_TRY(replay_plan_emit(m->variant, &m->held[i]));
        if (m->held[i].action != REPLAY_SUBMIT)
            continue;
        m->serialized->left_over++;
        m->awaited -= is_awaited(m, (const void *)m->held[i].event);
    }
    m->held_count = 0;
    return HAL_OK;
}

static bool are_reached(const struct making *m, const struct trace_semaphore_wait *wait)
{
    bool reached = true;
    for (uint32_t i = 0; i < wait->value_count; i++)
        reached &= m->values[wait->values[i].semaphore] >= wait->values[i].value;
    return reached;
}

/* A wait that succeeded implies that its values were reached, whatever set them. */
static enum hal_status take_wait(struct making *m, const struct replay_op *op)
{
    const struct trace_semaphore_wait *wait = (const void *)op->event;
    if (!are_reached(m, wait) && m->held_count && wait->mode == HAL_WAIT_ALL)
        HAL_TRY(let_go(m));
    HAL_TRY(replay_plan_emit(m->variant, op));
    for (uint32_t i = 0; i < wait->value_count && wait->head.status == HAL_OK &&
                         (wait->mode == HAL_WAIT_ALL || wait->value_count == 1);
         i++) {
        uint64_t *value = &m->values[wait->values[i].semaphore];
        *value = *value < wait->values[i].value ? wait->values[i].value : *value;
    }
    return run_held(m);
}

static enum hal_status take_submit(struct making *m, const struct replay_op *op)
{
    switch (readiness(m, (const void *)op->event)) {
    case READY: HAL_TRY(run_submission(m, op)); break;
    case FAILS: HAL_TRY(run_failing(m, op)); break;
    case NOT_YET: return hold(m, op);
    }
    return run_held(m);
}

static enum hal_status take(struct making *m, const struct replay_op *op)
{
    const void *event = op->event;
    switch (op->action) {
    case REPLAY_SUBMIT: return take_submit(m, op);
    case REPLAY_WAIT: return take_wait(m, op);
    case REPLAY_CREATE_SEMAPHORE:
        m->values[op->object] = TRACE_AS(trace_semaphore_create, event)->initial_value;
        break;
    case REPLAY_SIGNAL: {
        const struct trace_semaphore_event *signal = event;
        HAL_TRY(replay_plan_emit(m->variant, op));
        if (signal->value > m->values[op->object])
            m->values[op->object] = signal->value;
        return run_held(m);
    }
    case REPLAY_FAIL:
        HAL_TRY(replay_plan_emit(m->variant, op));
        m->values[op->object] = UINT64_MAX;
        return run_held(m);
    case REPLAY_DESTROY_BUFFER:
    case REPLAY_DESTROY_COMMANDS:
    case REPLAY_DESTROY_SEMAPHORE:
    case REPLAY_DESTROY_EVENT:
        if (m->held_count)
            return hold(m, op);
        break;
    case REPLAY_CREATE_BUFFER:
    case REPLAY_WRITE:
    case REPLAY_READ:
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE:
    case REPLAY_RECORD_COMMANDS:
    case REPLAY_CREATE_EVENT:
    case REPLAY_WAIT_IDLE:
    case REPLAY_FLUSH:
    case REPLAY_STEP: break;
    }
    return replay_plan_emit(m->variant, op);
}

/* ---- All ----------------------------------------------------------------------------------- */

/* Until more work can run: what the host does with what has run. */
static bool belongs_to_the_stop(const struct making *m, const struct replay_op *op)
{
    const struct trace_semaphore_wait *wait = (const void *)op->event;
    if (op->action == REPLAY_WAIT)
        return wait->head.status == HAL_OK && are_reached(m, wait);
    return op->action != REPLAY_SUBMIT && op->action != REPLAY_SIGNAL && op->action != REPLAY_FAIL;
}

/* Whatever was still to come did not happen: no semaphore has an end to be held to. */
static void cut(struct replay_plan *variant)
{
    variant->all_submissions_end = false;
    for (size_t i = 1; i < variant->object_count; i++) {
        if (variant->objects[i].kind != REPLAY_SEMAPHORE)
            continue;
        variant->objects[i].semaphore.outcome = REPLAY_EITHER;
        variant->objects[i].semaphore.signaled = 0;
    }
}

static enum hal_status refuse(const struct making *m, uint64_t submission)
{
    return hal_fail(HAL_NOT_FOUND,
                    "the trace executes no submission #s%" PRIu64 ": it executes #s%" PRIu64
                    " to #s%" PRIu64,
                    submission, m->first, m->last);
}

static uint64_t count_awaited(const struct making *m)
{
    uint64_t count = 0;
    for (size_t i = 0; i < m->plan->op_count; i++) {
        const struct replay_op *op = &m->plan->ops[i];
        count += op->action == REPLAY_SUBMIT && is_awaited(m, (const void *)op->event);
    }
    return count;
}

/* Lists the operations of host calls that end. Such a call is the replay's own to make, so that its
 * gate is as good as open from the start. */
static enum hal_status list_calls(struct making *m)
{
    const struct replay_plan *plan = m->plan;
    m->first_calls = hal_alloc(plan->object_count, sizeof *m->first_calls);
    m->next_calls = hal_alloc(plan->call_count, sizeof *m->next_calls);
    m->called = hal_alloc(plan->call_count, sizeof *m->called);
    if (!m->first_calls || !m->next_calls || !m->called)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu parts of host calls", plan->call_count);
    for (size_t i = plan->call_count; i-- > 0;) {
        const struct replay_call *call = &plan->calls[i];
        if (call->op >= plan->op_count)
            continue;
        const enum replay_action action = plan->ops[call->op].action;
        if (action == REPLAY_SIGNAL || action == REPLAY_FAIL)
            m->values[call->gate] = action == REPLAY_SIGNAL ? 1 : UINT64_MAX;
        else if (!m->first_calls[call->gate])
            continue;
        m->next_calls[i] = m->first_calls[call->gate];
        m->first_calls[call->gate] = (uint32_t)i + 1;
    }
    return HAL_OK;
}

/* Whether the operation belongs to a host call that has been made. */
static bool was_called(struct making *m, size_t op)
{
    if (m->call == m->plan->call_count || m->plan->calls[m->call].op != op)
        return false;
    const bool called = m->called[m->call];
    m->called[m->call++] = true;
    return called;
}

/* That the range is one, and ran. */
static enum hal_status check_range(const struct making *m)
{
    const struct replay_serialized_options *options = m->options;
    char where[HAL_LOCATOR_BYTES];
    if (options->has_begin && !m->begun)
        return refuse(m, options->begin);
    if (!options->has_stop || m->ended)
        return HAL_OK;
    if (m->blocked)
        return hal_fail(HAL_NOT_FOUND,
                        "a submission before #s%" PRIu64
                        " runs only after %s: the range can end after all of #s%" PRIu64,
                        options->stop.submission, hal_locator_print(&options->stop, where),
                        options->stop.submission);
    return refuse(m, options->stop.submission);
}

static enum hal_status transform(struct making *m)
{
    m->awaited = count_awaited(m);
    for (size_t i = 1; i < m->plan->object_count; i++) {
        const struct replay_object *object = &m->plan->objects[i];
        if (object->kind == REPLAY_SEMAPHORE && object->created)
            m->values[i] = TRACE_AS(trace_semaphore_create, object->created)->initial_value;
    }
    HAL_TRY(list_calls(m));
    size_t at = 0;
    for (; at < m->plan->op_count && !m->stopped; at++)
        if (!was_called(m, at))
            HAL_TRY(take(m, &m->plan->ops[at]));
    if (m->options->is_range && !m->options->stop.has_dispatch)
        for (; at < m->plan->op_count; at++) {
            if (was_called(m, at))
                continue;
            if (!belongs_to_the_stop(m, &m->plan->ops[at]))
                break;
            HAL_TRY(replay_plan_emit(m->variant, &m->plan->ops[at]));
        }
    if (!m->stopped)
        HAL_TRY(let_go(m));
    HAL_TRY(check_range(m));
    if (m->stopped)
        cut(m->variant);
    return HAL_OK;
}

static enum hal_status note_recipe(const struct replay_plan *plan,
                                   const struct replay_serialized_options *options,
                                   struct replay_plan *variant)
{
    static uint64_t last_number;
    struct replay_recipe *recipe =
        hal_alloc(1, sizeof *recipe + options->split_count * sizeof *recipe->splits);
    if (!recipe)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu places", options->split_count);
    recipe->number = ++last_number;
    recipe->plan = plan;
    recipe->options = *options;
    if (options->split_count)
        memcpy(recipe->splits, options->split_submissions,
               options->split_count * sizeof *recipe->splits);
    recipe->options.split_submissions = recipe->splits;
    variant->recipe = recipe;
    return HAL_OK;
}

enum hal_status replay_serialized_make(const struct replay_plan *plan,
                                       const struct replay_serialized_options *options,
                                       struct replay_serialized *out_serialized)
{
    struct making m = {.plan = plan, .serialized = out_serialized, .options = options};
    *out_serialized = (struct replay_serialized){0};
    HAL_TRY(replay_plan_clone(plan, &m.variant));
    out_serialized->plan = m.variant;
    if (!m.variant->max_list)
        m.variant->max_list = 1;
    m.values = hal_alloc(plan->object_count, sizeof *m.values);
    enum hal_status status =
        m.values ? transform(&m)
                 : hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    free(m.values);
    free(m.first_calls);
    free(m.next_calls);
    free(m.called);
    free(m.held);
    if (status == HAL_OK)
        status = note_recipe(plan, options, m.variant);
    if (status != HAL_OK)
        replay_serialized_finish(out_serialized);
    return status;
}

void replay_serialized_finish(struct replay_serialized *serialized)
{
    replay_plan_destroy(serialized->plan);
    free(serialized->steps);
    *serialized = (struct replay_serialized){0};
}

void replay_step_locate(const struct replay_step *step, struct hal_locator *out_locator)
{
    *out_locator =
        (struct hal_locator){.submission = step->submit->submission,
                             .has_dispatch = step->work && trace_is_dispatch(step->work->kind),
                             .dispatch = step->dispatch};
}

void replay_step_name(const struct replay_plan *plan, const struct replay_step *step,
                      char out[REPLAY_NAME_BYTES])
{
    if (!step->work) {
        snprintf(out, REPLAY_NAME_BYTES, "submission");
        return;
    }
    if (!trace_is_dispatch(step->work->kind)) {
        snprintf(out, REPLAY_NAME_BYTES, "%s, segment %u", trace_segment_name(step->work->kind),
                 step->segment);
        return;
    }
    snprintf(out, REPLAY_NAME_BYTES, "dispatch of '%.100s', segment %u",
             replay_kernel_name(plan, step->work), step->segment);
}

const struct replay_step *replay_serialized_find(const struct replay_serialized *serialized,
                                                 const struct hal_locator *locator)
{
    const struct replay_step *found = NULL;
    for (size_t i = 0; i < serialized->step_count; i++) {
        const struct replay_step *step = &serialized->steps[i];
        const bool dispatch = step->work && trace_is_dispatch(step->work->kind);
        if (step->submit->submission != locator->submission)
            continue;
        if (!locator->has_dispatch || (dispatch && step->dispatch == locator->dispatch))
            found = step;
    }
    return found;
}
