/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that are made from others. */
#include "hal/base/mem.h"
#include "replay/plan/plan.h"

enum hal_status replay_plan_clone(const struct replay_plan *plan, struct replay_plan **out_variant)
{
    struct replay_plan *variant = hal_alloc(1, sizeof *variant);
    if (!variant)
        return hal_fail(HAL_NO_MEMORY, "no memory for a plan");
    *variant = *plan;
    variant->borrows = true;
    variant->blocks = NULL;
    variant->recipe = NULL;
    variant->ops = NULL;
    variant->op_count = variant->op_capacity = 0;
    variant->calls = NULL;
    variant->call_count = variant->call_capacity = 0;
    variant->objects = hal_alloc(plan->object_count, sizeof *variant->objects);
    variant->object_capacity = plan->object_count;
    if (!variant->objects) {
        free(variant);
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    }
    memcpy(variant->objects, plan->objects, plan->object_count * sizeof *plan->objects);
    *out_variant = variant;
    return HAL_OK;
}

enum hal_status replay_plan_emit(struct replay_plan *variant, const struct replay_op *op)
{
    if (!HAL_GROW(variant->ops, &variant->op_capacity, variant->op_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", variant->op_count);
    variant->ops[variant->op_count++] = *op;
    return HAL_OK;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static bool is_same_wait(const struct trace_event *a, const struct trace_event *b)
{
    const struct trace_semaphore_wait *one = (const void *)a, *other = (const void *)b;
    return one->value_count == other->value_count &&
           (one->mode == other->mode || one->value_count <= 1) &&
           memcmp(one->values, other->values, one->value_count * sizeof *one->values) == 0;
}

static bool is_same_submit(const struct trace_event *a, const struct trace_event *b)
{
    const struct trace_submit *one = (const void *)a, *other = (const void *)b;
    const size_t values = (size_t)one->wait_count + one->signal_count;
    return one->submission == other->submission && one->queue == other->queue &&
           one->wait_count == other->wait_count && one->signal_count == other->signal_count &&
           one->command_buffer_count == other->command_buffer_count &&
           memcmp(one->values, other->values, values * sizeof *one->values) == 0 &&
           memcmp(trace_submit_command_buffers(one), trace_submit_command_buffers(other),
                  one->command_buffer_count * sizeof(uint64_t)) == 0;
}

static bool is_same_op(const struct replay_op *a, const struct replay_op *b)
{
    if (a->action != b->action || a->object != b->object)
        return false;
    if (a->event == b->event)
        return true;
    return (a->action == REPLAY_WAIT && is_same_wait(a->event, b->event)) ||
           (a->action == REPLAY_SUBMIT && is_same_submit(a->event, b->event));
}

/* Past objects that come and go, whose time no variant could save; at the end, op_count. */
static size_t next_op(const struct replay_plan *plan, size_t op)
{
    static const uint32_t passed = 1u << REPLAY_CREATE_BUFFER | 1u << REPLAY_DESTROY_BUFFER |
                                   1u << REPLAY_CREATE_EXECUTABLE |
                                   1u << REPLAY_DESTROY_EXECUTABLE | 1u << REPLAY_DESTROY_COMMANDS |
                                   1u << REPLAY_CREATE_SEMAPHORE | 1u << REPLAY_DESTROY_SEMAPHORE |
                                   1u << REPLAY_CREATE_EVENT | 1u << REPLAY_DESTROY_EVENT;
    while (op < plan->op_count && passed >> plan->ops[op].action & 1)
        op++;
    return op;
}

bool replay_plan_does_same(const struct replay_plan *plan, const struct replay_plan *variant)
{
    size_t a = next_op(plan, 0), b = next_op(variant, 0);
    while (a < plan->op_count && b < variant->op_count) {
        if (!is_same_op(&plan->ops[a], &variant->ops[b]))
            return false;
        a = next_op(plan, a + 1);
        b = next_op(variant, b + 1);
    }
    return a >= plan->op_count && b >= variant->op_count;
}
