/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which submissions and host accesses precede which others on any device: by the order
 * of host calls, by what the host waits for or observes, and by semaphores. Queues imply no order
 * (hal/hal.h). Knows neither files nor devices: the caller passes calls in ticket order.
 *
 *     trace_happens_before_begin(&order, started, user);
 *     trace_happens_before_create(&order, semaphore, 0);
 *     status = trace_happens_before_submit(&order, submit, tag);   calls started(user, tag, moment)
 *     status = trace_happens_before_host(&order, &moment);         a read or write of the host
 *     ... trace_moment_precedes(&earlier, &moment) ...
 *     trace_happens_before_finish(&order);
 *
 * In this model a submission starts as soon as the values that it waits for have been signalled,
 * and submissions start in an order consistent with all constraints: a moment can only precede
 * later ones. The first signal in this order that reaches a value is the one that all waits for it
 * observe, since semaphore values only increase. The calls of all host threads count as one
 * sequence: a trace does not record how threads synchronise.
 *
 * Cost: linear in calls, waits and signals, times the number of chains. Memory: one clock per kept
 * value, plus the pending submissions. Values beyond the limits below are dropped: a wait for a
 * dropped value counts as following everything that has started, which overstates the order, and
 * marks the order as incomplete. The struct must not move after begin. One thread at a time. */
#ifndef FORMAT_ANALYSIS_HAPPENS_BEFORE_H
#define FORMAT_ANALYSIS_HAPPENS_BEFORE_H

#include "format/record.h"
#include "hal/base/idmap.h"
#include "hal/base/status.h"

enum {
    TRACE_ORDER_CHAINS = 256,            /* concurrent chains that are distinguished */
    TRACE_ORDER_VALUES = 4096,           /* latest values kept per semaphore */
    TRACE_ORDER_CLOCK_BYTES = 256 << 20, /* total for all kept clocks */
};

/* Everything that precedes a moment. Immutable, reference-counted. */
struct trace_clock;

struct trace_moment {
    struct trace_clock *clock;
    uint32_t chain, position; /* in the chain of successive moments; chain 0 is the host */
};

/* `moment` is valid during the call; trace_clock_retain keeps its clock. `placed` is false if no
 * chain was left for it: no later moment is then known to follow it. */
typedef enum hal_status trace_started(void *user, void *tag, const struct trace_moment *moment,
                                      bool placed);

struct trace_order_semaphore;
struct trace_order_held;

struct trace_happens_before {
    bool incomplete;
    size_t held_count; /* submissions waiting for a value not yet signalled */
    uint64_t steps;    /* chains and waits examined: the cost so far */

    /* Private. */
    trace_started *started;
    void *user;
    struct hal_idmap semaphore_ids;
    struct trace_order_semaphore *semaphores;
    size_t semaphore_count, semaphore_capacity;
    struct trace_order_held *ready, **ready_end; /* about to start */
    struct trace_clock *host;                    /* a copy of the host's clock; NULL: outdated */
    uint64_t clock_bytes;
    uint32_t chain_count;
    uint32_t tails[TRACE_ORDER_CHAINS]; /* moments of each chain so far */
    uint32_t now[TRACE_ORDER_CHAINS];   /* the host's clock */
};

void trace_happens_before_begin(struct trace_happens_before *order, trace_started *started,
                                void *user);
void trace_happens_before_finish(struct trace_happens_before *order);

enum hal_status trace_happens_before_create(struct trace_happens_before *order, uint64_t semaphore,
                                            uint64_t initial) HAL_CHECKED;
/* Unknown parties wait for the semaphore too: whatever signals it counts as observed. */
enum hal_status trace_happens_before_share(struct trace_happens_before *order,
                                           uint64_t semaphore) HAL_CHECKED;
void trace_happens_before_destroy(struct trace_happens_before *order, uint64_t semaphore);
/* Calls `started` once, now or later, or never if what it waits for never happens. Also returns the
 * first failure of `started`, as does a signal. */
enum hal_status trace_happens_before_submit(struct trace_happens_before *order,
                                            const struct trace_submit *submit,
                                            void *tag) HAL_CHECKED;
enum hal_status trace_happens_before_signal(struct trace_happens_before *order, uint64_t semaphore,
                                            uint64_t value) HAL_CHECKED;
/* The host has observed that the value was reached (UINT64_MAX: the latest so far), or that
 * everything started has ended. */
void trace_happens_before_observe(struct trace_happens_before *order, uint64_t semaphore,
                                  uint64_t value);
void trace_happens_before_observe_all(struct trace_happens_before *order);
/* Creates a new moment of the host. */
enum hal_status trace_happens_before_host(struct trace_happens_before *order,
                                          struct trace_moment *out_moment) HAL_CHECKED;

/* Whether the first always ends before the second begins. The first need not retain its clock. */
bool trace_moment_precedes(const struct trace_moment *first, const struct trace_moment *second);
/* Whether the host knows by now that it has ended. */
bool trace_moment_is_over(const struct trace_happens_before *order,
                          const struct trace_moment *moment);

struct trace_clock *trace_clock_retain(struct trace_clock *clock);
void trace_clock_release(struct trace_happens_before *order, struct trace_clock *clock);

#endif
