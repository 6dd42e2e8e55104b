/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of semaphore operations and submissions: what can have been reached when. */
#include "replay/plan/decode.h"

#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <inttypes.h>

static void note_list(struct replay_plan *plan, uint64_t count)
{
    if (count > plan->max_list)
        plan->max_list = (uint32_t)count;
}

/* ---- Semaphores ---------------------------------------------------------------------------- */

static void raise_to(uint64_t *value, uint64_t to)
{
    if (to > *value)
        *value = to;
}

/* May fail or not, if nothing decides it. */
static void doubt(struct replay_object *semaphore)
{
    if (semaphore->semaphore.outcome == REPLAY_WORKS)
        semaphore->semaphore.outcome = REPLAY_EITHER;
}

enum hal_status replay_decode_signal(struct replay_decoder *decoder,
                                     struct trace_semaphore_event *event)
{
    struct replay_object *object;
    char name[REPLAY_NAME_BYTES];
    HAL_TRY(replay_decode_use(decoder, REPLAY_SEMAPHORE, &event->semaphore, &object));
    if (event->value == UINT64_MAX)
        return hal_fail(HAL_CORRUPT, "%s is set to a reserved value",
                        replay_object_name(decoder->plan, (uint32_t)event->semaphore, name));
    const bool external = event->flags & TRACE_FLAG_EXTERNAL;
    if (external && event->value <= object->semaphore.reached)
        return HAL_OK; /* something else had set it, too */
    if (event->value <= object->semaphore.reached)
        return hal_fail(HAL_CORRUPT, "%s is set to %" PRIu64 ", but has already reached %" PRIu64,
                        replay_object_name(decoder->plan, (uint32_t)event->semaphore, name),
                        event->value, object->semaphore.reached);
    if (object->semaphore.promised > object->semaphore.reached)
        doubt(object); /* work under way may come too late */
    raise_to(&object->semaphore.reached, event->value);
    raise_to(&object->semaphore.promised, event->value);
    raise_to(&object->semaphore.signaled, event->value);
    raise_to(&object->semaphore.comes, event->value);
    return replay_decode_push(decoder, REPLAY_SIGNAL, event->semaphore, &event->head);
}

static enum hal_status check_failure(uint16_t status)
{
    if (status > HAL_OK && status <= HAL_FAILED)
        return HAL_OK;
    return hal_fail(HAL_CORRUPT, "a failure with status %u: 1 to %d exist", status, HAL_FAILED);
}

enum hal_status replay_decode_fail(struct replay_decoder *decoder,
                                   struct trace_semaphore_event *event)
{
    struct replay_object *object;
    HAL_TRY(replay_decode_use(decoder, REPLAY_SEMAPHORE, &event->semaphore, &object));
    HAL_TRY(check_failure(event->head.status));
    object->semaphore.outcome = REPLAY_FAILS;
    event->value = 0; /* at once */
    return replay_decode_push(decoder, REPLAY_FAIL, event->semaphore, &event->head);
}

static enum hal_status check_reachable(struct replay_decoder *decoder,
                                       const struct trace_semaphore_value *value)
{
    const struct replay_object *object = &decoder->plan->objects[value->semaphore];
    char name[REPLAY_NAME_BYTES];
    if (value->value <= object->semaphore.promised)
        return HAL_OK;
    return hal_fail(HAL_CORRUPT, "%s reached %" PRIu64 ", but nothing had set it above %" PRIu64,
                    replay_object_name(decoder->plan, (uint32_t)value->semaphore, name),
                    value->value, object->semaphore.promised);
}

static struct replay_object *find_semaphore(struct replay_decoder *decoder, uint64_t id)
{
    uint32_t index;
    if (!hal_idmap_find(&decoder->objects, id, &index))
        return NULL;
    struct replay_object *object = &decoder->plan->objects[index];
    return object->kind == REPLAY_SEMAPHORE && !object->destroyed ? object : NULL;
}

/* A wait returned a failure: whether it was a semaphore's, which is noted, and not the call's. */
static bool note_failure(struct replay_decoder *decoder, const struct trace_semaphore_wait *event)
{
    bool known = false;
    if (event->head.status == HAL_NO_MEMORY || event->value_count == 0)
        return false;
    for (uint32_t i = 0; i < event->value_count; i++) {
        const struct replay_object *object = find_semaphore(decoder, event->values[i].semaphore);
        if (!object || event->values[i].value == UINT64_MAX)
            return false;
        known |= object->semaphore.outcome == REPLAY_FAILS;
    }
    for (uint32_t i = 0; i < event->value_count && !known; i++) {
        struct replay_object *object = find_semaphore(decoder, event->values[i].semaphore);
        if (event->value_count == 1) {
            object->semaphore.outcome = REPLAY_FAILS;
            object->semaphore.by_loss = event->head.status == HAL_DEVICE_LOST;
        } else {
            doubt(object);
        }
    }
    return true;
}

enum hal_status replay_decode_wait(struct replay_decoder *decoder,
                                   struct trace_semaphore_wait *event)
{
    struct replay_plan *plan = decoder->plan;
    struct replay_object *object;
    uint32_t reachable = 0;
    enum hal_status status = HAL_OK;
    if (event->head.status == HAL_TIMEOUT) {
        plan->info.timed_out_waits++;
        return HAL_OK;
    }
    if (event->head.status == HAL_DEVICE_LOST)
        replay_decode_note_loss(decoder, UINT64_MAX);
    if (event->head.status != HAL_OK && !note_failure(decoder, event)) {
        plan->info.skipped_calls++;
        return HAL_OK;
    }
    if (event->mode != HAL_WAIT_ALL && event->mode != HAL_WAIT_ANY)
        return hal_fail(HAL_CORRUPT, "wait mode %u does not exist", event->mode);
    for (uint32_t i = 0; i < event->value_count; i++) {
        HAL_TRY(replay_decode_use(decoder, REPLAY_SEMAPHORE, &event->values[i].semaphore, &object));
        const enum hal_status one = check_reachable(decoder, &event->values[i]);
        reachable += one == HAL_OK;
        status = one == HAL_OK ? status : one;
        if (event->head.status == HAL_OK &&
            (event->mode == HAL_WAIT_ALL || event->value_count == 1))
            raise_to(&object->semaphore.reached, event->values[i].value);
    }
    if (event->head.status == HAL_OK && event->value_count > 0 &&
        (event->mode == HAL_WAIT_ALL ? reachable < event->value_count : reachable == 0))
        return status;
    note_list(plan, event->value_count);
    return replay_decode_push(decoder, REPLAY_WAIT, 0, &event->head);
}

/* A wait that the recording does not have, in place of `event`. */
static enum hal_status new_wait(struct replay_plan *plan, const struct trace_event *event,
                                uint32_t value_count, struct trace_semaphore_wait **out_wait)
{
    void *room;
    const size_t bytes =
        sizeof(struct trace_semaphore_wait) + value_count * sizeof(struct trace_semaphore_value);
    HAL_TRY(replay_plan_room(plan, bytes, &room));
    struct trace_semaphore_wait *wait = room;
    wait->head = *event;
    wait->head.bytes = (uint32_t)bytes;
    wait->timeout_ns = HAL_FOREVER;
    wait->mode = HAL_WAIT_ALL;
    wait->value_count = value_count;
    note_list(plan, value_count);
    *out_wait = wait;
    return HAL_OK;
}

enum hal_status replay_decode_query(struct replay_decoder *decoder,
                                    struct trace_semaphore_event *event)
{
    struct replay_object *object = find_semaphore(decoder, event->semaphore);
    struct trace_semaphore_wait *wait;
    if (event->head.status != HAL_OK) { /* the end of the replay decides whether it fails here */
        if (object)
            object->semaphore.outcome = REPLAY_FAILS;
        else
            decoder->plan->info.skipped_calls++;
        return HAL_OK;
    }
    HAL_TRY(replay_decode_use(decoder, REPLAY_SEMAPHORE, &event->semaphore, &object));
    const struct trace_semaphore_value value = {event->semaphore, event->value};
    HAL_TRY(check_reachable(decoder, &value));
    raise_to(&object->semaphore.reached, event->value);
    HAL_TRY(new_wait(decoder->plan, &event->head, 1, &wait));
    wait->values[0] = value;
    return replay_decode_push(decoder, REPLAY_WAIT, event->semaphore, &wait->head);
}

/* ---- Submissions --------------------------------------------------------------------------- */

static enum hal_status use_commands(struct replay_decoder *decoder, uint64_t *id)
{
    struct replay_object *object;
    char name[REPLAY_NAME_BYTES];
    HAL_TRY(replay_decode_use(decoder, REPLAY_COMMANDS, id, &object));
    if (!object->commands.seal)
        return hal_fail(HAL_CORRUPT, "%s has not been ended",
                        replay_object_name(decoder->plan, (uint32_t)*id, name));
    const struct trace_command_buffer_create *created = (const void *)object->created;
    if (created->mode == HAL_ONE_SHOT && object->commands.submitted)
        return hal_fail(HAL_CORRUPT, "%s is one-shot and was submitted before",
                        replay_object_name(decoder->plan, (uint32_t)*id, name));
    if (!object->commands.submitted)
        replay_uninitialised_run(decoder->plan, object);
    object->commands.submitted = true;
    return HAL_OK;
}

static bool calls_host(const struct trace_submit *submit)
{
    return submit->operation >= TRACE_OPERATION_READ;
}

static enum hal_status use_submit_values(struct replay_decoder *decoder, struct trace_submit *event,
                                         const struct replay_done *done)
{
    const uint64_t value_count = (uint64_t)event->wait_count + event->signal_count;
    for (uint64_t i = 0; i < value_count; i++) {
        struct trace_semaphore_value *value = &event->values[i];
        struct replay_object *object;
        HAL_TRY(replay_decode_use(decoder, REPLAY_SEMAPHORE, &value->semaphore, &object));
        if (value->value == UINT64_MAX) {
            char name[REPLAY_NAME_BYTES];
            return hal_fail(HAL_CORRUPT, "%s of %s with a reserved value",
                            i < event->wait_count ? "wait" : "signal",
                            replay_object_name(decoder->plan, (uint32_t)value->semaphore, name));
        }
        if (i < event->wait_count)
            continue;
        if (value->value <= object->semaphore.promised)
            doubt(object); /* a higher value may come first */
        raise_to(&object->semaphore.promised, value->value);
        if (done)
            raise_to(&object->semaphore.signaled, value->value);
        if (done && done->status == HAL_OK)
            raise_to(&object->semaphore.comes, value->value);
        if (done && done->status != HAL_OK) {
            object->semaphore.outcome = REPLAY_FAILS;
            object->semaphore.by_loss = done->status == HAL_DEVICE_LOST;
        }
    }
    return HAL_OK;
}

/* The player moves the contents instead of the file, between the host call's two events. Until then
 * a semaphore of the plan's own, the last one that it waits for, holds the submission: 1 is
 * promised when the call has begun, and reached when it has ended. */
static enum hal_status hold(struct replay_decoder *decoder, const struct trace_submit *event,
                            const struct trace_submit **out_held)
{
    struct replay_plan *plan = decoder->plan;
    void *room;
    uint32_t index;
    HAL_TRY(replay_plan_room(plan, sizeof(struct trace_semaphore_create), &room));
    HAL_TRY(replay_plan_object(plan, REPLAY_SEMAPHORE, room, &index));
    plan->objects[index].semaphore.outcome = REPLAY_EITHER;
    HAL_TRY(replay_plan_room(plan, event->head.bytes + sizeof *event->values, &room));
    struct trace_submit *held = room;
    const size_t waits_end = sizeof *event + event->wait_count * sizeof *event->values;
    memcpy(held, event, waits_end);
    held->head.bytes += (uint32_t)sizeof *event->values;
    held->wait_count = event->wait_count + 1;
    held->values[event->wait_count] = (struct trace_semaphore_value){index, 1};
    memcpy(held->values + event->wait_count + 1, event->values + event->wait_count,
           event->head.bytes - waits_end);
    note_list(plan, (uint64_t)held->wait_count + held->signal_count);
    *out_held = held;
    return HAL_OK;
}

static uint32_t gate_of(const struct trace_submit *held)
{
    return (uint32_t)held->values[held->wait_count - 1].semaphore;
}

static enum hal_status push_called(struct replay_decoder *decoder, uint32_t gate,
                                   enum replay_action action, uint64_t object,
                                   const struct trace_event *event)
{
    struct replay_plan *plan = decoder->plan;
    if (plan->call_count >= UINT32_MAX - 1 ||
        !HAL_GROW(plan->calls, &plan->call_capacity, plan->call_count + 1))
        return replay_decode_no_memory("host calls");
    HAL_TRY(replay_decode_push(decoder, action, object, event));
    plan->calls[plan->call_count++] = (struct replay_call){plan->op_count - 1, gate};
    return HAL_OK;
}

/* `gate` 0: the thread makes none any more. */
static enum hal_status set_calling(struct replay_decoder *decoder, uint32_t thread, uint32_t gate)
{
    uint32_t index;
    if (!HAL_GROW(decoder->calling, &decoder->calling_capacity, decoder->calling_count + 1))
        return replay_decode_no_memory("threads");
    if (!hal_idmap_add(&decoder->calling_ids, thread, (uint32_t)decoder->calling_count, &index))
        return replay_decode_no_memory("threads");
    decoder->calling_count += index == decoder->calling_count;
    decoder->calling[index] = gate;
    return HAL_OK;
}

/* The gate was made with the submission: only buffers that are older take part. */
enum hal_status replay_decode_transfer(struct replay_decoder *decoder, enum replay_action action,
                                       const struct trace_content_event *event)
{
    uint32_t index;
    const bool calls = hal_idmap_find(&decoder->calling_ids, event->head.thread, &index) &&
                       event->buffer < decoder->calling[index];
    return calls
               ? push_called(decoder, decoder->calling[index], action, event->buffer, &event->head)
               : replay_decode_push(decoder, action, event->buffer, &event->head);
}

/* All that the submission waits for, but what holds it. */
static enum hal_status await_waits(struct replay_decoder *decoder,
                                   const struct trace_host_call *event,
                                   const struct trace_submit *held)
{
    struct trace_semaphore_wait *wait;
    const uint32_t count = held->wait_count - 1;
    char name[REPLAY_NAME_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t semaphore = held->values[i].semaphore;
        if (decoder->plan->objects[semaphore].destroyed)
            return hal_fail(HAL_CORRUPT, "%s was destroyed before the host call began",
                            replay_object_name(decoder->plan, (uint32_t)semaphore, name));
    }
    if (count == 0)
        return HAL_OK;
    HAL_TRY(new_wait(decoder->plan, &event->head, count, &wait));
    memcpy(wait->values, held->values, count * sizeof *held->values);
    return push_called(decoder, gate_of(held), REPLAY_WAIT, 0, &wait->head);
}

static enum hal_status let_go(struct replay_decoder *decoder, const struct trace_host_call *event,
                              const struct trace_submit *held)
{
    const bool ok = event->head.status == HAL_OK;
    void *room;
    HAL_TRY(replay_plan_room(decoder->plan, sizeof(struct trace_semaphore_event), &room));
    struct trace_semaphore_event *end = room;
    *end = (struct trace_semaphore_event){.head = event->head,
                                          .semaphore = gate_of(held),
                                          .value = ok ? 1 : 0,
                                          .message = event->message};
    end->head.bytes = sizeof *end;
    if (!ok)
        HAL_TRY(check_failure(event->head.status));
    return push_called(decoder, gate_of(held), ok ? REPLAY_SIGNAL : REPLAY_FAIL, end->semaphore,
                       &end->head);
}

enum hal_status replay_decode_collective(struct replay_decoder *decoder,
                                         const struct trace_collective *event)
{
    uint32_t op;
    if (!hal_idmap_find(&decoder->submissions, event->submission, &op))
        return HAL_OK;
    const struct trace_submit *held = (const void *)decoder->plan->ops[op].event;
    return calls_host(held) ? set_calling(decoder, event->head.thread, gate_of(held)) : HAL_OK;
}

enum hal_status replay_decode_host_call(struct replay_decoder *decoder,
                                        const struct trace_host_call *event)
{
    uint32_t op;
    if (!hal_idmap_find(&decoder->submissions, event->submission, &op))
        return hal_fail(HAL_CORRUPT, "submission #s%" PRIu64 " does not exist", event->submission);
    const struct trace_submit *held = (const void *)decoder->plan->ops[op].event;
    if (!calls_host(held))
        return hal_fail(HAL_CORRUPT, "submission #s%" PRIu64 " has no host call",
                        event->submission);
    struct replay_object *gate = &decoder->plan->objects[gate_of(held)];
    const bool begins = event->head.kind == TRACE_HOST_CALL_BEGIN;
    uint64_t *mark = begins ? &gate->semaphore.promised : &gate->semaphore.reached;
    if (*mark)
        return hal_fail(HAL_CORRUPT, "the host call of #s%" PRIu64 " %s twice", event->submission,
                        begins ? "begins" : "ends");
    if (!gate->semaphore.promised && !begins)
        return hal_fail(HAL_CORRUPT, "the host call of #s%" PRIu64 " ends without having begun",
                        event->submission);
    *mark = 1;
    HAL_TRY(set_calling(decoder, event->head.thread, begins ? gate_of(held) : 0));
    return begins ? await_waits(decoder, event, held) : let_go(decoder, event, held);
}

/* Whether all that the submission waits for comes, and is still there to be waited for. */
static bool is_certain(const struct replay_plan *plan, const struct trace_submit *held)
{
    bool certain = true;
    for (uint32_t i = 0; i + 1 < held->wait_count; i++) {
        const struct replay_object *object = &plan->objects[held->values[i].semaphore];
        certain &= !object->destroyed && object->semaphore.outcome == REPLAY_WORKS &&
                   object->semaphore.comes >= held->values[i].value;
    }
    return certain;
}

enum hal_status replay_decode_uncalled(struct replay_decoder *decoder,
                                       const struct trace_submit *held,
                                       const struct replay_done *done)
{
    struct trace_host_call call = {
        .head = held->head, .submission = held->submission, .message = done->message};
    if (is_certain(decoder->plan, held))
        HAL_TRY(await_waits(decoder, &call, held));
    call.head.status = done->status;
    return let_go(decoder, &call, held);
}

/* How many command buffers an operation has; those without a command name a range. */
static enum hal_status use_operation(struct replay_decoder *decoder, struct trace_submit *event)
{
    struct replay_object *buffer;
    const uint32_t operation = event->operation, count = event->command_buffer_count;
    if (operation > TRACE_OPERATION_COLLECTIVE)
        return hal_fail(HAL_CORRUPT, "operation %u does not exist", operation);
    if (operation == TRACE_OPERATION_EXECUTE)
        return HAL_OK;
    const bool commands =
        operation >= TRACE_OPERATION_FILL && operation <= TRACE_OPERATION_DISPATCH;
    if (count != commands)
        return hal_fail(HAL_CORRUPT, "operation %u with %s, not %d", operation,
                        hal_count(count, "command buffer", "command buffers").text, commands);
    if (operation < TRACE_OPERATION_ALLOCA)
        return HAL_OK;
    return replay_decode_range(decoder, &event->buffer, event->offset, event->size, &buffer);
}

enum hal_status replay_decode_submit(struct replay_decoder *decoder, struct trace_submit *event)
{
    struct replay_plan *plan = decoder->plan;
    uint32_t unused;
    if (event->queue >= TRACE_MAX_QUEUES)
        return hal_fail(HAL_CORRUPT, "queue %u does not exist", event->queue);
    if (hal_idmap_find(&decoder->submissions, event->submission, &unused))
        return hal_fail(HAL_CORRUPT, "there are two submissions with that number");
    const struct replay_done *done = replay_decode_find_done(decoder, event->submission);
    HAL_TRY(use_operation(decoder, event));
    HAL_TRY(use_submit_values(decoder, event, done));
    uint64_t *commands =
        (uint64_t *)(void *)(event->values + event->wait_count + event->signal_count);
    for (uint32_t i = 0; i < event->command_buffer_count; i++)
        HAL_TRY(use_commands(decoder, &commands[i]));
    if (!HAL_GROW(decoder->unawaited, &decoder->unawaited_capacity, decoder->unawaited_count + 1))
        return replay_decode_no_memory("submissions");
    if (!hal_idmap_add(&decoder->submissions, event->submission, (uint32_t)plan->op_count, &unused))
        return replay_decode_no_memory("submissions");
    const struct trace_submit *submit = event;
    if (calls_host(event))
        HAL_TRY(hold(decoder, event, &submit));
    HAL_TRY(replay_decode_push(decoder, REPLAY_SUBMIT, 0, &submit->head));
    decoder->unawaited[decoder->unawaited_count++] = plan->op_count - 1;
    if (event->queue >= plan->info.queue_count)
        plan->info.queue_count = event->queue + 1;
    if (!done)
        plan->all_submissions_end = false;
    else if (done->status == HAL_DEVICE_LOST ||
             (done->status != HAL_OK && calls_host(event) &&
              !hal_idmap_find(&decoder->begun_ids, event->submission, &unused)))
        HAL_TRY(replay_decode_lost(decoder, event->submission, done));
    note_list(plan, (uint64_t)event->wait_count + event->signal_count);
    note_list(plan, event->command_buffer_count);
    plan->info.submissions++;
    return HAL_OK;
}

/* ---- Waiting for an idle device ------------------------------------------------------------ */

/* When a wait_idle began, this submission's call had not returned: the wait need not have covered
 * it, and it may depend on calls that come after the wait. */
static bool overlaps(const struct replay_decoder *decoder, size_t op,
                     const struct trace_wait_idle *idle)
{
    const struct trace_submit *submit = (const void *)decoder->plan->ops[op].event;
    const struct replay_done *done = replay_decode_find_done(decoder, submit->submission);
    const bool ended = done && done->end_ns != 0 && done->end_ns <= idle->head.end_ns;
    return submit->head.end_ns > idle->head.begin_ns && !ended;
}

/* Gives a submission that signals nothing a semaphore of the plan's own. */
static enum hal_status add_fence(struct replay_decoder *decoder, size_t op)
{
    struct replay_plan *plan = decoder->plan;
    const struct trace_submit *submit = (const void *)plan->ops[op].event;
    void *room;
    uint32_t index;
    HAL_TRY(replay_plan_room(plan, sizeof(struct trace_semaphore_create), &room));
    HAL_TRY(replay_plan_object(plan, REPLAY_SEMAPHORE, room, &index));
    plan->objects[index].semaphore.promised = plan->objects[index].semaphore.signaled = 1;
    HAL_TRY(replay_plan_room(plan, submit->head.bytes + sizeof *submit->values, &room));
    struct trace_submit *fenced = room;
    const size_t waits_end = sizeof *submit + submit->wait_count * sizeof *submit->values;
    memcpy(fenced, submit, waits_end);
    fenced->head.bytes += (uint32_t)sizeof *submit->values;
    fenced->signal_count = 1;
    fenced->values[submit->wait_count] = (struct trace_semaphore_value){index, 1};
    memcpy(fenced->values + submit->wait_count + 1, trace_submit_command_buffers(submit),
           submit->command_buffer_count * sizeof(uint64_t));
    note_list(plan, (uint64_t)fenced->wait_count + 1);
    plan->ops[op].event = &fenced->head;
    return HAL_OK;
}

/* Counts, and stores if asked, the signals of all submissions that the wait covered. */
static uint32_t covered_signals(struct replay_decoder *decoder, const struct trace_wait_idle *idle,
                                struct trace_semaphore_value *out_values)
{
    struct replay_plan *plan = decoder->plan;
    uint32_t count = 0;
    for (size_t u = 0; u < decoder->unawaited_count; u++) {
        const struct trace_submit *submit = (const void *)plan->ops[decoder->unawaited[u]].event;
        const struct replay_done *done = replay_decode_find_done(decoder, submit->submission);
        if (overlaps(decoder, decoder->unawaited[u], idle) || (done && done->status != HAL_OK))
            continue;
        for (uint32_t i = 0; i < submit->signal_count; i++) {
            if (out_values)
                out_values[count] = submit->values[submit->wait_count + i];
            count++;
        }
    }
    return count;
}

/* Other threads submitted while this one waited: wait only for what the call covered. */
static enum hal_status decode_overlapped_idle(struct replay_decoder *decoder,
                                              const struct trace_wait_idle *idle)
{
    struct replay_plan *plan = decoder->plan;
    struct trace_semaphore_wait *wait;
    for (size_t u = 0; u < decoder->unawaited_count; u++) {
        const size_t op = decoder->unawaited[u];
        const struct trace_submit *submit = (const void *)plan->ops[op].event;
        const struct replay_done *done = replay_decode_find_done(decoder, submit->submission);
        const bool failed = done && done->status != HAL_OK;
        if (submit->signal_count == 0 && !failed && !overlaps(decoder, op, idle))
            HAL_TRY(add_fence(decoder, op));
    }
    HAL_TRY(new_wait(plan, &idle->head, covered_signals(decoder, idle, NULL), &wait));
    covered_signals(decoder, idle, wait->values);
    HAL_TRY(replay_decode_push(decoder, REPLAY_WAIT, 0, &wait->head));
    size_t kept = 0;
    for (size_t u = 0; u < decoder->unawaited_count; u++) {
        if (overlaps(decoder, decoder->unawaited[u], idle))
            decoder->unawaited[kept++] = decoder->unawaited[u];
    }
    decoder->unawaited_count = kept;
    return HAL_OK;
}

enum hal_status replay_decode_wait_idle(struct replay_decoder *decoder,
                                        const struct trace_wait_idle *event)
{
    const uint64_t work_limit = 1u << 28;
    bool overlapped = false;
    for (size_t u = 0; u < decoder->unawaited_count && !overlapped; u++)
        overlapped = overlaps(decoder, decoder->unawaited[u], event);
    decoder->idle_work += decoder->unawaited_count;
    if (decoder->idle_work > work_limit)
        return hal_fail(HAL_CORRUPT, "too many submissions overlap too many waits for idle");
    if (overlapped)
        return decode_overlapped_idle(decoder, event);
    decoder->unawaited_count = 0;
    return replay_decode_push(decoder, REPLAY_WAIT_IDLE, 0, &event->head);
}
