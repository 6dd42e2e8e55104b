/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/variant/order.h"

#include "hal/base/mem.h"

static enum hal_status started(void *user, void *tag, const struct trace_moment *moment,
                               bool placed)
{
    (void)user, (void)placed;
    struct trace_moment *kept = tag;
    *kept = *moment;
    trace_clock_retain(kept->clock);
    return HAL_OK;
}

static enum hal_status host_access(struct replay_order *order)
{
    struct trace_moment *moment = &order->host[order->host_count++];
    HAL_TRY(trace_happens_before_host(&order->order, moment));
    trace_clock_retain(moment->clock);
    return HAL_OK;
}

/* It is unknown which of several values ended a wait for any of them: it orders nothing. */
static void host_wait(struct replay_order *order, const struct trace_semaphore_wait *wait)
{
    if (wait->head.status != HAL_OK || (wait->mode != HAL_WAIT_ALL && wait->value_count != 1))
        return;
    for (uint32_t i = 0; i < wait->value_count; i++)
        trace_happens_before_observe(&order->order, wait->values[i].semaphore,
                                     wait->values[i].value);
}

static enum hal_status take(struct replay_order *order, const struct replay_op *op)
{
    struct trace_happens_before *h = &order->order;
    const void *event = op->event;
    const struct trace_semaphore_create *create = event;
    const struct trace_semaphore_event *signal = event;
    switch (op->action) {
    case REPLAY_CREATE_SEMAPHORE:
        return trace_happens_before_create(h, op->object, create->initial_value);
    case REPLAY_SUBMIT:
        return trace_happens_before_submit(h, event,
                                           &order->submissions[order->submission_count++]);
    case REPLAY_WRITE:
    case REPLAY_READ: return host_access(order);
    case REPLAY_SIGNAL: return trace_happens_before_signal(h, signal->semaphore, signal->value);
    case REPLAY_WAIT: host_wait(order, event); return HAL_OK;
    case REPLAY_WAIT_IDLE: trace_happens_before_observe_all(h); return HAL_OK;
    case REPLAY_CREATE_BUFFER:
    case REPLAY_DESTROY_BUFFER:
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE:
    case REPLAY_RECORD_COMMANDS:
    case REPLAY_DESTROY_COMMANDS:
    case REPLAY_DESTROY_SEMAPHORE:
    case REPLAY_CREATE_EVENT:
    case REPLAY_DESTROY_EVENT:
    case REPLAY_FAIL:
    case REPLAY_FLUSH:
    case REPLAY_STEP: break; /* order nothing */
    }
    return HAL_OK;
}

static enum hal_status make_room(const struct replay_plan *plan, struct replay_order *order)
{
    size_t submissions = 0, host = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        const enum replay_action action = plan->ops[i].action;
        submissions += action == REPLAY_SUBMIT;
        host += action == REPLAY_WRITE || action == REPLAY_READ;
    }
    order->submissions = hal_alloc(submissions + 1, sizeof *order->submissions);
    order->host = hal_alloc(host + 1, sizeof *order->host);
    if (!order->submissions || !order->host)
        return hal_fail(HAL_NO_MEMORY, "no memory for the order of %zu submissions", submissions);
    return HAL_OK;
}

enum hal_status replay_order_make(const struct replay_plan *plan, struct replay_order *out_order)
{
    *out_order = (struct replay_order){0};
    trace_happens_before_begin(&out_order->order, started, NULL);
    enum hal_status status = make_room(plan, out_order);
    for (size_t i = 0; i < plan->op_count && status == HAL_OK; i++)
        status = take(out_order, &plan->ops[i]);
    out_order->incomplete = out_order->order.incomplete;
    if (status != HAL_OK)
        replay_order_finish(out_order);
    return status;
}

void replay_order_finish(struct replay_order *order)
{
    for (size_t i = 0; order->submissions && i < order->submission_count; i++)
        trace_clock_release(&order->order, order->submissions[i].clock);
    for (size_t i = 0; order->host && i < order->host_count; i++)
        trace_clock_release(&order->order, order->host[i].clock);
    trace_happens_before_finish(&order->order);
    free(order->submissions);
    free(order->host);
    *order = (struct replay_order){0};
}

bool replay_order_has(const struct trace_moment *first, const struct trace_moment *second)
{
    return first->clock && trace_moment_precedes(first, second);
}
