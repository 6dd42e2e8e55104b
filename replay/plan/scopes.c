/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations belong to the program's named scopes. */
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "replay/plan/plan.h"

enum { MOST_SCOPES = 1 << 20, MOST_OPEN = 1 << 16 }; /* more are not distinguished */

static enum hal_status open_scope(struct replay_plan *plan, const struct trace_scope *event)
{
    if (plan->scope_count == MOST_SCOPES || plan->open_scope_count == MOST_OPEN)
        return HAL_OK;
    if (!HAL_GROW(plan->scopes, &plan->scope_capacity, plan->scope_count + 1) ||
        !HAL_GROW(plan->open_scopes, &plan->open_scope_capacity, plan->open_scope_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu scopes", plan->scope_count);
    plan->open_scopes[plan->open_scope_count++] = (uint32_t)plan->scope_count;
    plan->scopes[plan->scope_count++] = (struct replay_scope){
        .name = event->name, .thread = event->head.thread, .begin_ns = event->head.begin_ns};
    return HAL_OK;
}

enum hal_status replay_scopes_take(struct replay_plan *plan, const struct trace_event *event)
{
    if (event->kind == TRACE_SCOPE_BEGIN)
        return open_scope(plan, (const void *)event);
    for (size_t i = plan->open_scope_count; i-- > 0;) {
        struct replay_scope *scope = &plan->scopes[plan->open_scopes[i]];
        if (scope->thread != event->thread)
            continue;
        scope->end_ns = event->end_ns;
        plan->open_scope_count--;
        memmove(plan->open_scopes + i, plan->open_scopes + i + 1,
                (plan->open_scope_count - i) * sizeof *plan->open_scopes);
        break;
    }
    return HAL_OK;
}

/* ---- Operations ---------------------------------------------------------------------------- */

struct place {
    uint32_t thread;
    int64_t begin_ns;
    size_t op;
};

HAL_COMPARE_3(compare, struct place, thread, begin_ns, op)

/* How many places come before that moment of that thread. */
static size_t count_before(const struct place *places, size_t count, uint32_t thread, int64_t ns)
{
    const struct place wanted = {thread, ns, 0};
    size_t low = 0, high = count;
    HAL_BISECT(low, high, middle, compare(&places[middle], &wanted) < 0)
    return low;
}

enum hal_status replay_scopes_find_ops(struct replay_plan *plan)
{
    if (plan->scope_count == 0)
        return HAL_OK;
    struct place *places = hal_alloc(plan->op_count, sizeof *places);
    if (!places)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu operations", plan->op_count);
    for (size_t i = 0; i < plan->op_count; i++)
        places[i] = (struct place){plan->ops[i].event->thread, plan->ops[i].event->begin_ns, i};
    bool sorted = true; /* as those of one thread are */
    for (size_t i = 1; i < plan->op_count && sorted; i++)
        sorted = compare(&places[i - 1], &places[i]) <= 0;
    if (!sorted)
        qsort(places, plan->op_count, sizeof *places, compare);
    for (size_t i = 0; i < plan->scope_count; i++) {
        struct replay_scope *scope = &plan->scopes[i];
        const int64_t end_ns = scope->end_ns ? scope->end_ns : INT64_MAX;
        const size_t first = count_before(places, plan->op_count, scope->thread, scope->begin_ns);
        const size_t end = count_before(places, plan->op_count, scope->thread, end_ns);
        scope->has_ops = end > first;
        if (scope->has_ops) {
            scope->first_op = places[first].op;
            scope->last_op = places[end - 1].op;
            scope->has_ops = scope->first_op <= scope->last_op;
        }
    }
    free(places);
    return HAL_OK;
}
