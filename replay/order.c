/* SPDX-License-Identifier: Apache-2.0 */
/* Vector clocks. The host is chain 0; a submission continues a chain whose last one comes before
 * it, else begins one. Submissions run, here, as soon as the values that they wait for are there:
 * the first signal in this order that reaches a value is the one that everybody waits for, since a
 * semaphore's values only rise. */
#include "replay/order.h"

#include "hal/base/mem.h"

struct replay_clock {
    struct replay_clock *next;
    uint32_t count;
    uint32_t reached[]; /* by chain: as many of its members come before */
};

struct reached {
    uint64_t value;
    const struct replay_clock *clock; /* NULL: from the beginning */
};

struct semaphore {
    struct reached *values; /* rising */
    size_t count, capacity;
};

struct waiting {
    const struct trace_submit *submit;
    const struct replay_clock *clock; /* the host's when it was handed in */
    size_t number;
};

struct making {
    struct replay_order *order;
    struct semaphore *semaphores; /* by object */
    struct waiting *held;         /* wait for values that nobody has signalled yet */
    size_t held_count, held_capacity;
    uint32_t tails[REPLAY_ORDER_CHAINS]; /* members of the chain so far */
    uint32_t chain_count;
    uint32_t now[REPLAY_ORDER_CHAINS]; /* the host's clock */
    const struct replay_clock *host;   /* a copy of it; NULL: it has changed since */
};

static void join(uint32_t *clock, const struct replay_clock *other)
{
    for (uint32_t i = 0; other && i < other->count; i++) {
        if (other->reached[i] > clock[i])
            clock[i] = other->reached[i];
    }
}

static const struct replay_clock *keep(struct making *m, const uint32_t *clock)
{
    struct replay_clock *copy =
        hal_alloc(1, sizeof *copy + m->chain_count * sizeof copy->reached[0]);
    if (!copy)
        return NULL;
    copy->next = m->order->clocks;
    copy->count = m->chain_count;
    memcpy(copy->reached, clock, m->chain_count * sizeof *clock);
    m->order->clocks = copy;
    return copy;
}

static enum hal_status host_clock(struct making *m, const struct replay_clock **out_clock)
{
    if (!m->host)
        m->host = keep(m, m->now);
    *out_clock = m->host;
    return m->host ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for the order of a plan");
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static const struct reached *find(const struct making *m, const struct trace_semaphore_value *value)
{
    const struct semaphore *semaphore = &m->semaphores[value->semaphore];
    size_t low = 0, high = semaphore->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (semaphore->values[middle].value < value->value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < semaphore->count ? &semaphore->values[low] : NULL;
}

/* Of a value that is not above the last, which fails the semaphore, nobody is told. */
static enum hal_status raise(struct making *m, uint64_t object, uint64_t value,
                             const struct replay_clock *clock)
{
    struct semaphore *semaphore = &m->semaphores[object];
    void *values = semaphore->values;
    if (semaphore->count && value <= semaphore->values[semaphore->count - 1].value)
        return HAL_OK;
    if (!hal_grow(&values, &semaphore->capacity, semaphore->count + 1, sizeof *semaphore->values))
        return hal_fail(HAL_NO_MEMORY, "no memory for the values of a semaphore");
    semaphore->values = values;
    semaphore->values[semaphore->count++] = (struct reached){value, clock};
    return HAL_OK;
}

/* ---- Submissions -------------------------------------------------------------------------- */

static uint32_t choose_chain(struct making *m, const uint32_t *clock)
{
    for (uint32_t i = 1; i < m->chain_count; i++) {
        if (clock[i] == m->tails[i])
            return i;
    }
    if (m->chain_count < REPLAY_ORDER_CHAINS)
        return m->chain_count++;
    m->order->incomplete = true;
    return 0;
}

static enum hal_status run(struct making *m, const struct waiting *waiting)
{
    const struct trace_submit *submit = waiting->submit;
    struct replay_moment *moment = &m->order->submissions[waiting->number];
    uint32_t clock[REPLAY_ORDER_CHAINS] = {0};
    join(clock, waiting->clock);
    for (uint32_t i = 0; i < submit->wait_count; i++)
        join(clock, find(m, &submit->values[i])->clock);
    moment->chain = choose_chain(m, clock);
    /* Without a chain, a place that nobody ever reaches. */
    moment->position = moment->chain ? ++m->tails[moment->chain] : UINT32_MAX;
    if (moment->chain)
        clock[moment->chain] = moment->position;
    moment->clock = keep(m, clock);
    if (!moment->clock)
        return hal_fail(HAL_NO_MEMORY, "no memory for the order of a submission");
    const struct trace_semaphore_value *signals = submit->values + submit->wait_count;
    for (uint32_t i = 0; i < submit->signal_count; i++)
        HAL_TRY(raise(m, signals[i].semaphore, signals[i].value, moment->clock));
    return HAL_OK;
}

static bool is_ready(const struct making *m, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        if (!find(m, &submit->values[i]))
            return false;
    }
    return true;
}

/* Runs what new values have made ready, until nothing more is. */
static enum hal_status run_held(struct making *m)
{
    for (size_t i = 0; i < m->held_count;) {
        const struct waiting waiting = m->held[i];
        if (!is_ready(m, waiting.submit)) {
            i++;
            continue;
        }
        m->held_count--;
        memmove(m->held + i, m->held + i + 1, (m->held_count - i) * sizeof *m->held);
        HAL_TRY(run(m, &waiting));
        i = 0;
    }
    return HAL_OK;
}

static enum hal_status submit(struct making *m, const struct trace_submit *event)
{
    struct waiting waiting = {.submit = event, .number = m->order->submission_count++};
    HAL_TRY(host_clock(m, &waiting.clock));
    if (is_ready(m, event)) {
        HAL_TRY(run(m, &waiting));
        return run_held(m);
    }
    void *held = m->held;
    if (!hal_grow(&held, &m->held_capacity, m->held_count + 1, sizeof *m->held))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu submissions", m->held_count);
    m->held = held;
    m->held[m->held_count++] = waiting;
    return HAL_OK;
}

/* ---- The host ----------------------------------------------------------------------------- */

static enum hal_status host_access(struct making *m)
{
    struct replay_moment *moment = &m->order->host[m->order->host_count++];
    HAL_TRY(host_clock(m, &moment->clock));
    moment->position = ++m->now[0];
    m->host = NULL;
    return HAL_OK;
}

/* Which of several the wait for one of them was for, nobody knows. */
static void host_wait(struct making *m, const struct trace_semaphore_wait *wait)
{
    if (wait->head.status != HAL_OK || (wait->mode != HAL_WAIT_ALL && wait->value_count != 1))
        return;
    for (uint32_t i = 0; i < wait->value_count; i++) {
        const struct reached *reached = find(m, &wait->values[i]);
        if (reached)
            join(m->now, reached->clock);
    }
    m->host = NULL;
}

static void host_wait_idle(struct making *m)
{
    for (uint32_t i = 1; i < m->chain_count; i++)
        m->now[i] = m->tails[i];
    m->host = NULL;
}

static enum hal_status host_signal(struct making *m, const struct trace_semaphore_event *signal)
{
    const struct replay_clock *clock;
    HAL_TRY(host_clock(m, &clock));
    HAL_TRY(raise(m, signal->semaphore, signal->value, clock));
    return run_held(m);
}

static enum hal_status take(struct making *m, const struct replay_op *op)
{
    const void *event = op->event;
    switch (op->action) {
    case REPLAY_CREATE_SEMAPHORE:
        return raise(m, op->object, ((const struct trace_semaphore_create *)event)->initial_value,
                     NULL);
    case REPLAY_SUBMIT: return submit(m, event);
    case REPLAY_WRITE:
    case REPLAY_READ: return host_access(m);
    case REPLAY_SIGNAL: return host_signal(m, event);
    case REPLAY_WAIT: host_wait(m, event); return HAL_OK;
    case REPLAY_WAIT_IDLE: host_wait_idle(m); return HAL_OK;
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

/* ---- All ---------------------------------------------------------------------------------- */

static enum hal_status make_room(const struct replay_plan *plan, struct making *m)
{
    size_t submissions = 0, host = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        const enum replay_action action = plan->ops[i].action;
        submissions += action == REPLAY_SUBMIT;
        host += action == REPLAY_WRITE || action == REPLAY_READ;
    }
    m->order->submissions = hal_alloc(submissions + 1, sizeof *m->order->submissions);
    m->order->host = hal_alloc(host + 1, sizeof *m->order->host);
    m->semaphores = hal_alloc(plan->object_count + 1, sizeof *m->semaphores);
    if (!m->order->submissions || !m->order->host || !m->semaphores)
        return hal_fail(HAL_NO_MEMORY, "no memory for the order of %zu submissions", submissions);
    return HAL_OK;
}

enum hal_status replay_order_make(const struct replay_plan *plan, struct replay_order *out_order)
{
    struct making m = {.order = out_order, .chain_count = 1};
    *out_order = (struct replay_order){0};
    enum hal_status status = make_room(plan, &m);
    for (size_t i = 0; i < plan->op_count && status == HAL_OK; i++)
        status = take(&m, &plan->ops[i]);
    for (size_t i = 0; m.semaphores && i < plan->object_count; i++)
        free(m.semaphores[i].values);
    free(m.semaphores);
    free(m.held);
    if (status != HAL_OK)
        replay_order_finish(out_order);
    return status;
}

void replay_order_finish(struct replay_order *order)
{
    while (order->clocks) {
        struct replay_clock *next = order->clocks->next;
        free(order->clocks);
        order->clocks = next;
    }
    free(order->submissions);
    free(order->host);
    *order = (struct replay_order){0};
}

bool replay_order_has(const struct replay_moment *first, const struct replay_moment *second)
{
    if (!first->clock || !second->clock)
        return false;
    return first->chain < second->clock->count &&
           second->clock->reached[first->chain] >= first->position;
}
