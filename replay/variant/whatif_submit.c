/* SPDX-License-Identifier: Apache-2.0 */
/* Other ways to hand the same commands in: in fewer command buffers, on more queues. */
#include "hal/base/mem.h"
#include "replay/plan/plan.h"
#include "replay/variant/whatif_parts.h"

/* ---- Merging ------------------------------------------------------------------------------- */

/* As a full barrier separates command buffers of one submission, so here. */
static const struct trace_barrier full_barrier = {
    .head = {.kind = TRACE_BARRIER, .bytes = sizeof full_barrier},
    .source_stages = HAL_STAGE_ALL,
    .target_stages = HAL_STAGE_ALL,
    .source_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE,
    .target_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE,
};

static enum hal_status merge(struct replay_plan *variant, const struct trace_submit *submit,
                             uint32_t *out_object)
{
    const uint64_t *buffers = trace_submit_command_buffers(submit);
    const struct replay_object *first = &variant->objects[buffers[0]];
    struct trace_command_buffer_seal total = *first->commands.seal;
    total.segment_count = submit->command_buffer_count - 1;
    total.dispatch_count = 0;
    total.segment_bytes = (submit->command_buffer_count - 1) * sizeof full_barrier;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct trace_command_buffer_seal *seal = variant->objects[buffers[i]].commands.seal;
        total.segment_count += seal->segment_count;
        total.dispatch_count += seal->dispatch_count;
        total.segment_bytes += seal->segment_bytes;
    }
    void *created, *room;
    HAL_TRY(replay_plan_room(variant, sizeof(struct trace_command_buffer_create), &created));
    struct trace_command_buffer_create *creation = created;
    *creation = *TRACE_AS(trace_command_buffer_create, first->created);
    creation->mode = HAL_ONE_SHOT;
    creation->categories = 0; /* any */
    HAL_TRY(replay_plan_room(variant, sizeof total + (size_t)total.segment_bytes, &room));
    struct trace_command_buffer_seal *seal = room;
    uint8_t *at = (uint8_t *)(seal + 1);
    *seal = total;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct replay_object *object = &variant->objects[buffers[i]];
        if (i) {
            memcpy(at, &full_barrier, sizeof full_barrier);
            at += sizeof full_barrier;
        }
        memcpy(at, object->commands.segments, (size_t)object->commands.seal->segment_bytes);
        at += object->commands.seal->segment_bytes;
    }
    const uint64_t id = first->id;
    HAL_TRY(replay_plan_object(variant, REPLAY_COMMANDS, &creation->head, out_object));
    struct replay_object *merged = &variant->objects[*out_object];
    merged->id = id;
    merged->commands.seal = seal;
    merged->commands.segments = TRACE_AS(trace_segment, seal + 1);
    return HAL_OK;
}

/* A copy of the record with one command buffer, or another queue. */
static enum hal_status copy_submit(struct replay_plan *variant, const struct trace_submit *submit,
                                   uint32_t commands, struct trace_submit **out_copy)
{
    const uint32_t count = commands ? 1 : submit->command_buffer_count;
    const size_t values = submit->wait_count + submit->signal_count;
    const size_t bytes =
        sizeof *submit + values * sizeof *submit->values + count * sizeof(uint64_t);
    void *room;
    HAL_TRY(replay_plan_room(variant, bytes, &room));
    struct trace_submit *copy = *out_copy = room;
    *copy = *submit;
    copy->head.bytes = (uint32_t)bytes;
    if (values)
        memcpy(copy->values, submit->values, values * sizeof *submit->values);
    uint64_t *list = (uint64_t *)(void *)(copy->values + values);
    if (commands)
        list[0] = commands;
    else if (count)
        memcpy(list, trace_submit_command_buffers(submit), count * sizeof *list);
    copy->command_buffer_count = count;
    return HAL_OK;
}

static enum hal_status emit_merged(struct replay_plan *variant, const struct replay_op *op)
{
    const struct trace_submit *submit = (const void *)op->event;
    struct trace_submit *copy;
    uint32_t object;
    HAL_TRY(merge(variant, submit, &object));
    HAL_TRY(copy_submit(variant, submit, object, &copy));
    HAL_TRY(replay_plan_emit(variant,
                             &(struct replay_op){REPLAY_RECORD_COMMANDS, object,
                                                 &variant->objects[object].commands.seal->head}));
    HAL_TRY(replay_plan_emit(variant, &(struct replay_op){REPLAY_SUBMIT, 0, &copy->head}));
    return replay_plan_emit(variant,
                            &(struct replay_op){REPLAY_DESTROY_COMMANDS, object, &copy->head});
}

static bool is_merged(const struct replay_op *op)
{
    return op->action == REPLAY_SUBMIT &&
           TRACE_AS(trace_submit, op->event)->command_buffer_count > 1;
}

/* Command buffers that are still submitted as they are. */
static bool *find_used(const struct replay_plan *variant)
{
    bool *used = hal_alloc(variant->object_count, sizeof *used);
    for (size_t i = 0; used && i < variant->op_count; i++) {
        const struct replay_op *op = &variant->ops[i];
        const struct trace_submit *submit = (const void *)op->event;
        if (op->action == REPLAY_SUBMIT && submit->command_buffer_count == 1)
            used[trace_submit_command_buffers(submit)[0]] = true;
    }
    return used;
}

enum hal_status replay_what_if_merge(struct replay_plan *variant)
{
    struct replay_op *ops = variant->ops;
    const size_t count = variant->op_count;
    bool *used = find_used(variant);
    if (!used)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", variant->object_count);
    variant->ops = NULL;
    variant->op_count = variant->op_capacity = 0;
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < count && status == HAL_OK; i++) {
        if (is_merged(&ops[i]))
            status = emit_merged(variant, &ops[i]);
        else if (ops[i].action != REPLAY_RECORD_COMMANDS || used[ops[i].object])
            status = replay_plan_emit(variant, &ops[i]);
    }
    free(used);
    free(ops);
    return status;
}

/* ---- Queues -------------------------------------------------------------------------------- */

enum hal_status replay_what_if_queues(struct replay_plan *variant, uint32_t queues)
{
    uint32_t next = 0;
    for (size_t i = 0; i < variant->op_count; i++) {
        struct trace_submit *copy;
        if (variant->ops[i].action != REPLAY_SUBMIT)
            continue;
        HAL_TRY(copy_submit(variant, (const void *)variant->ops[i].event, 0, &copy));
        copy->queue = next++ % queues;
        variant->ops[i].event = &copy->head;
    }
    variant->info.queue_count = queues;
    return HAL_OK;
}
