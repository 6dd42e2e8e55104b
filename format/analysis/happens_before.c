/* SPDX-License-Identifier: Apache-2.0 */
/* Vector clocks. A submission continues a chain whose last moment precedes it, else it begins one.
 * Submissions that wait for a value are in a heap of the semaphore that has not reached it. */
#include "format/analysis/happens_before.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <string.h>

struct trace_clock {
    uint32_t references, count;
    bool everything;    /* that had started when it was asked */
    uint32_t reached[]; /* by chain: as many of its moments come before */
};

struct reached {
    uint64_t value;
    struct trace_clock *clock; /* NULL: from the beginning */
};

struct trace_order_semaphore {
    struct reached *values; /* rising */
    size_t count, capacity;
    struct trace_order_held **heap; /* of those that wait for it: the least value first */
    size_t heap_count, heap_capacity;
    bool shared;
};

struct trace_order_held {
    struct trace_order_held *next; /* of those that are about to start */
    void *tag;
    struct trace_clock *host; /* when it was submitted */
    uint64_t awaited;         /* the semaphore whose heap holds it */
    uint32_t wait_count, signal_count, reached_count;
    struct trace_semaphore_value values[]; /* waits, then signals */
};

static struct trace_clock everything = {.references = 1, .everything = true};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the order of submissions");
}

/* ---- Clocks ------------------------------------------------------------------------------- */

static void join(struct trace_happens_before *order, uint32_t *clock,
                 const struct trace_clock *other)
{
    if (other && other->everything) {
        memcpy(clock, order->tails, sizeof order->tails);
        order->incomplete = true;
    }
    for (uint32_t i = 0; other && i < other->count; i++) {
        if (other->reached[i] > clock[i])
            clock[i] = other->reached[i];
    }
}

static size_t clock_bytes(uint32_t count)
{
    return sizeof(struct trace_clock) + count * sizeof(uint32_t);
}

/* NULL: no memory. */
static struct trace_clock *keep(struct trace_happens_before *order, const uint32_t *clock)
{
    const size_t bytes = clock_bytes(order->chain_count);
    if (order->clock_bytes + bytes > TRACE_ORDER_CLOCK_BYTES) {
        order->incomplete = true;
        return &everything;
    }
    struct trace_clock *copy = hal_alloc(1, bytes);
    if (!copy)
        return NULL;
    order->clock_bytes += bytes;
    copy->references = 1;
    copy->count = order->chain_count;
    memcpy(copy->reached, clock, order->chain_count * sizeof *clock);
    return copy;
}

struct trace_clock *trace_clock_retain(struct trace_clock *clock)
{
    if (clock && clock != &everything)
        clock->references++;
    return clock;
}

void trace_clock_release(struct trace_happens_before *order, struct trace_clock *clock)
{
    if (!clock || clock == &everything || --clock->references)
        return;
    order->clock_bytes -= clock_bytes(clock->count);
    free(clock);
}

/* Borrowed. NULL: no memory. */
static struct trace_clock *host_clock(struct trace_happens_before *order)
{
    if (!order->host)
        order->host = keep(order, order->now);
    return order->host;
}

static void change_host(struct trace_happens_before *order)
{
    trace_clock_release(order, order->host);
    order->host = NULL;
}

bool trace_moment_precedes(const struct trace_moment *first, const struct trace_moment *second)
{
    const struct trace_clock *clock = second->clock;
    if (!clock)
        return false;
    return clock->everything ||
           (first->chain < clock->count && clock->reached[first->chain] >= first->position);
}

bool trace_moment_is_over(const struct trace_happens_before *order,
                          const struct trace_moment *moment)
{
    return order->now[moment->chain] >= moment->position;
}

/* ---- What waits --------------------------------------------------------------------------- */

static bool push(struct trace_order_semaphore *semaphore, struct trace_order_held *held)
{
    if (!HAL_GROW(semaphore->heap, &semaphore->heap_capacity, semaphore->heap_count + 1))
        return false;
    size_t at = semaphore->heap_count++;
    for (; at && semaphore->heap[(at - 1) / 2]->awaited > held->awaited; at = (at - 1) / 2)
        semaphore->heap[at] = semaphore->heap[(at - 1) / 2];
    semaphore->heap[at] = held;
    return true;
}

static struct trace_order_held *pop(struct trace_order_semaphore *semaphore)
{
    struct trace_order_held *first = semaphore->heap[0];
    struct trace_order_held *last = semaphore->heap[--semaphore->heap_count];
    size_t at = 0;
    for (;;) {
        size_t least = 2 * at + 1;
        if (least >= semaphore->heap_count)
            break;
        if (least + 1 < semaphore->heap_count &&
            semaphore->heap[least + 1]->awaited < semaphore->heap[least]->awaited)
            least++;
        if (semaphore->heap[least]->awaited >= last->awaited)
            break;
        semaphore->heap[at] = semaphore->heap[least];
        at = least;
    }
    semaphore->heap[at] = last;
    return first;
}

static void free_held(struct trace_happens_before *order, struct trace_order_held *held)
{
    trace_clock_release(order, held->host);
    free(held);
}

/* ---- Semaphores --------------------------------------------------------------------------- */

/* One never created, or destroyed while work waits, has reached nothing. NULL: no memory. */
static struct trace_order_semaphore *semaphore_of(struct trace_happens_before *order, uint64_t id)
{
    uint32_t index;
    if (!HAL_GROW(order->semaphores, &order->semaphore_capacity, order->semaphore_count + 1))
        return NULL;
    if (!hal_idmap_add(&order->semaphore_ids, id, (uint32_t)order->semaphore_count, &index))
        return NULL;
    if (index == order->semaphore_count)
        order->semaphores[order->semaphore_count++] = (struct trace_order_semaphore){0};
    return &order->semaphores[index];
}

static const struct trace_order_semaphore *find_semaphore(const struct trace_happens_before *order,
                                                          uint64_t id)
{
    uint32_t index;
    return hal_idmap_find(&order->semaphore_ids, id, &index) ? &order->semaphores[index] : NULL;
}

/* What first reached the value; NULL: nothing has. */
static const struct reached *find(const struct trace_order_semaphore *semaphore, uint64_t value)
{
    size_t low = 0, high = semaphore->count;
    HAL_BISECT(low, high, middle, semaphore->values[middle].value < value)
    return low < semaphore->count ? &semaphore->values[low] : NULL;
}

static const struct reached *find_value(const struct trace_happens_before *order,
                                        const struct trace_semaphore_value *value)
{
    const struct trace_order_semaphore *semaphore = find_semaphore(order, value->semaphore);
    return semaphore ? find(semaphore, value->value) : NULL;
}

/* Drops the earlier half. The first remaining value represents them, with everything that may have
 * signalled them. */
static void drop_values(struct trace_happens_before *order, struct trace_order_semaphore *semaphore)
{
    const size_t kept = semaphore->count / 2, dropped = semaphore->count - kept;
    for (size_t i = 0; i <= dropped; i++)
        trace_clock_release(order, semaphore->values[i].clock);
    memmove(semaphore->values, semaphore->values + dropped, kept * sizeof *semaphore->values);
    semaphore->values[0].clock = &everything;
    semaphore->count = kept;
}

static void make_ready(struct trace_happens_before *order, struct trace_order_held *held)
{
    held->next = NULL;
    *order->ready_end = held;
    order->ready_end = &held->next;
}

/* In the program, a value that is not above the last one fails it and satisfies no wait. */
static enum hal_status raise(struct trace_happens_before *order, uint64_t id, uint64_t value,
                             struct trace_clock *clock)
{
    struct trace_order_semaphore *semaphore = semaphore_of(order, id);
    if (!semaphore)
        return no_memory();
    if (semaphore->count && value <= semaphore->values[semaphore->count - 1].value)
        return HAL_OK;
    if (semaphore->count == TRACE_ORDER_VALUES)
        drop_values(order, semaphore);
    if (!HAL_GROW(semaphore->values, &semaphore->capacity, semaphore->count + 1))
        return no_memory();
    semaphore->values[semaphore->count++] = (struct reached){value, trace_clock_retain(clock)};
    while (semaphore->heap_count && semaphore->heap[0]->awaited <= value)
        make_ready(order, pop(semaphore));
    if (semaphore->shared) {
        join(order, order->now, clock);
        change_host(order);
    }
    return HAL_OK;
}

static void finish_semaphore(struct trace_happens_before *order,
                             struct trace_order_semaphore *semaphore)
{
    for (size_t i = 0; i < semaphore->count; i++)
        trace_clock_release(order, semaphore->values[i].clock);
    for (size_t i = 0; i < semaphore->heap_count; i++)
        free_held(order, semaphore->heap[i]);
    free(semaphore->values);
    free(semaphore->heap);
    *semaphore = (struct trace_order_semaphore){0};
}

enum hal_status trace_happens_before_create(struct trace_happens_before *order, uint64_t semaphore,
                                            uint64_t initial)
{
    return raise(order, semaphore, initial, NULL);
}

enum hal_status trace_happens_before_share(struct trace_happens_before *order, uint64_t semaphore)
{
    struct trace_order_semaphore *shared = semaphore_of(order, semaphore);
    if (!shared)
        return no_memory();
    shared->shared = true;
    return HAL_OK;
}

/* The row stays: work that waits, or that signals it later, may still name it. */
void trace_happens_before_destroy(struct trace_happens_before *order, uint64_t semaphore)
{
    uint32_t index;
    if (order->held_count == 0 && hal_idmap_find(&order->semaphore_ids, semaphore, &index))
        finish_semaphore(order, &order->semaphores[index]);
}

/* ---- Submissions -------------------------------------------------------------------------- */

static uint32_t choose_chain(struct trace_happens_before *order, const uint32_t *clock)
{
    for (uint32_t i = 1; i < order->chain_count; i++) {
        if (clock[i] == order->tails[i])
            return i;
    }
    if (order->chain_count < TRACE_ORDER_CHAINS)
        return order->chain_count++;
    order->incomplete = true;
    return 0;
}

static enum hal_status start(struct trace_happens_before *order,
                             const struct trace_order_held *work)
{
    struct trace_moment moment;
    uint32_t clock[TRACE_ORDER_CHAINS] = {0};
    join(order, clock, work->host);
    for (uint32_t i = 0; i < work->wait_count; i++) {
        const struct reached *reached = find_value(order, &work->values[i]);
        join(order, clock, reached ? reached->clock : NULL);
    }
    order->steps += (uint64_t)work->wait_count + order->chain_count;
    moment.chain = choose_chain(order, clock);
    /* Without a chain, a position that no clock reaches. */
    moment.position = moment.chain ? ++order->tails[moment.chain] : UINT32_MAX;
    if (moment.chain)
        clock[moment.chain] = moment.position;
    moment.clock = keep(order, clock);
    if (!moment.clock)
        return no_memory();
    const struct trace_semaphore_value *signals = work->values + work->wait_count;
    enum hal_status status = order->started(order->user, work->tag, &moment, moment.chain != 0);
    for (uint32_t i = 0; i < work->signal_count && status == HAL_OK; i++)
        status = raise(order, signals[i].semaphore, signals[i].value, moment.clock);
    trace_clock_release(order, moment.clock);
    return status;
}

/* Starts it, or lets it wait for the first value that is missing. Consumes it. */
static enum hal_status start_or_hold(struct trace_happens_before *order,
                                     struct trace_order_held *held)
{
    for (; held->reached_count < held->wait_count; held->reached_count++) {
        order->steps++;
        const struct trace_semaphore_value *value = &held->values[held->reached_count];
        if (!find_value(order, value)) {
            struct trace_order_semaphore *semaphore = semaphore_of(order, value->semaphore);
            held->awaited = value->value;
            if (semaphore && push(semaphore, held)) {
                order->held_count++;
                return HAL_OK;
            }
            free_held(order, held);
            return no_memory();
        }
    }
    const enum hal_status status = start(order, held);
    free_held(order, held);
    return status;
}

/* Starts what new values have made ready, and what that makes ready, one after the other. */
static enum hal_status start_ready(struct trace_happens_before *order)
{
    enum hal_status status = HAL_OK;
    while (order->ready) {
        struct trace_order_held *held = order->ready;
        order->ready = held->next;
        if (!order->ready)
            order->ready_end = &order->ready;
        order->held_count--;
        if (status == HAL_OK)
            status = start_or_hold(order, held);
        else
            free_held(order, held);
    }
    return status;
}

enum hal_status trace_happens_before_submit(struct trace_happens_before *order,
                                            const struct trace_submit *submit, void *tag)
{
    const size_t count = (size_t)submit->wait_count + submit->signal_count;
    struct trace_clock *host = host_clock(order);
    struct trace_order_held *held =
        hal_alloc(1, sizeof *held + count * sizeof(struct trace_semaphore_value));
    if (!host || !held) {
        free(held);
        return no_memory();
    }
    held->tag = tag;
    held->host = trace_clock_retain(host);
    held->wait_count = submit->wait_count;
    held->signal_count = submit->signal_count;
    if (count)
        memcpy(held->values, submit->values, count * sizeof *held->values);
    HAL_TRY(start_or_hold(order, held));
    return start_ready(order);
}

/* ---- The host ----------------------------------------------------------------------------- */

enum hal_status trace_happens_before_host(struct trace_happens_before *order,
                                          struct trace_moment *out_moment)
{
    out_moment->chain = 0;
    out_moment->position = ++order->now[0];
    order->tails[0] = order->now[0];
    change_host(order);
    out_moment->clock = host_clock(order);
    return out_moment->clock ? HAL_OK : no_memory();
}

enum hal_status trace_happens_before_signal(struct trace_happens_before *order, uint64_t semaphore,
                                            uint64_t value)
{
    struct trace_clock *clock = trace_clock_retain(host_clock(order));
    if (!clock)
        return no_memory();
    const enum hal_status status = raise(order, semaphore, value, clock);
    trace_clock_release(order, clock);
    HAL_TRY(status);
    return start_ready(order);
}

void trace_happens_before_observe(struct trace_happens_before *order, uint64_t semaphore,
                                  uint64_t value)
{
    const struct trace_order_semaphore *s = find_semaphore(order, semaphore);
    const struct reached *reached = s ? find(s, value) : NULL;
    if (s && s->count && value == UINT64_MAX)
        reached = &s->values[s->count - 1];
    if (!reached || !reached->clock)
        return;
    join(order, order->now, reached->clock);
    change_host(order);
}

void trace_happens_before_observe_all(struct trace_happens_before *order)
{
    memcpy(order->now, order->tails, sizeof order->tails);
    change_host(order);
}

/* ---- All ---------------------------------------------------------------------------------- */

void trace_happens_before_begin(struct trace_happens_before *order, trace_started *started,
                                void *user)
{
    *order = (struct trace_happens_before){.started = started, .user = user, .chain_count = 1};
    order->ready_end = &order->ready;
}

void trace_happens_before_finish(struct trace_happens_before *order)
{
    for (size_t i = 0; i < order->semaphore_count; i++)
        finish_semaphore(order, &order->semaphores[i]);
    change_host(order);
    free(order->semaphores);
    hal_idmap_finish(&order->semaphore_ids);
    *order = (struct trace_happens_before){0};
}
