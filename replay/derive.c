/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that are made from others. */
#include "hal/base/mem.h"
#include "replay/plan.h"

enum hal_status replay_plan_derive(const struct replay_plan *plan, struct replay_plan **out_variant)
{
    struct replay_plan *variant = hal_alloc(1, sizeof *variant);
    if (!variant)
        return hal_fail(HAL_NO_MEMORY, "no memory for a plan");
    *variant = *plan;
    variant->borrows = true;
    variant->blocks = NULL;
    variant->ops = NULL;
    variant->op_count = variant->op_capacity = 0;
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
    void *ops = variant->ops;
    if (!hal_grow(&ops, &variant->op_capacity, variant->op_count + 1, sizeof *variant->ops))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", variant->op_count);
    variant->ops = ops;
    variant->ops[variant->op_count++] = *op;
    return HAL_OK;
}
