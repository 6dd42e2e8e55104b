/* SPDX-License-Identifier: Apache-2.0 */
/* Which submissions and accesses of the host come before which others, whatever the device does:
 * by the order of the host's calls, by what the host waits for or sees, and by semaphores. Queues
 * order nothing (hal/hal.h). Knows neither files nor devices: the caller feeds calls in the order
 * of their tickets.
 *
 *     trace_happens_before_begin(&order, started, user);
 *     trace_happens_before_create(&order, semaphore, 0);
 *     status = trace_happens_before_submit(&order, submit, tag);   calls started(user, tag, moment)
 *     status = trace_happens_before_host(&order, &moment);         a read or write of the host
 *     ... trace_moment_precedes(&earlier, &moment) ...
 *     trace_happens_before_finish(&order);
 *
 * Submissions start, here, as soon as the values that they wait for have been signalled, and are
 * started in an order that respects all others: a moment can only come before later ones. The first
 * signal in this order that reaches a value is the one that all waits for it observe, since a
 * semaphore's values only rise. The calls of all host threads count as one sequence: how threads
 * order themselves is not in a trace.
 *
 * Cost: linear in calls, waits and signals, times the chains that exist. Memory: a clock per value
 * that is kept, and what waits. Beyond the limits below values are dropped: a wait for one of those
 * counts as coming after everything that has started, which is more than is ordered, and marks the
 * order as incomplete. The struct stays where it was begun. One thread at a time. */
#ifndef FORMAT_ANALYSIS_HAPPENS_BEFORE_H
#define FORMAT_ANALYSIS_HAPPENS_BEFORE_H

#include "format/record.h"
#include "hal/base/idmap.h"
#include "hal/base/status.h"

enum {
    TRACE_ORDER_CHAINS = 256,            /* work side by side that is told apart */
    TRACE_ORDER_VALUES = 4096,           /* values kept of a semaphore: the latest */
    TRACE_ORDER_CLOCK_BYTES = 256 << 20, /* of all clocks that are kept */
};

/* What comes before a moment. Immutable, counted. */
struct trace_clock;

struct trace_moment {
    struct trace_clock *clock;
    uint32_t chain,
        position; /* in the chain of moments that follow each other; chain 0: the host */
};

/* `moment` lives for the call; trace_clock_retain keeps its clock. `placed` is false when there was
 * no chain left for it: then no later moment is known to follow it. */
typedef enum hal_status trace_started(void *user, void *tag, const struct trace_moment *moment,
                                      bool placed);

struct trace_order_semaphore;
struct trace_order_held;

struct trace_happens_before {
    bool incomplete;
    size_t held_count; /* submissions that wait for a value that nobody has signalled yet */
    uint64_t steps;    /* looks at chains and at waits: what the order has cost */

    /* Private. */
    trace_started *started;
    void *user;
    struct hal_idmap semaphore_ids;
    struct trace_order_semaphore *semaphores;
    size_t semaphore_count, semaphore_capacity;
    struct trace_order_held *ready, **ready_end; /* are about to start */
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
/* Others, of whom nothing is known, wait for it, too: what signals it counts as seen by the host.
 */
enum hal_status trace_happens_before_share(struct trace_happens_before *order,
                                           uint64_t semaphore) HAL_CHECKED;
void trace_happens_before_destroy(struct trace_happens_before *order, uint64_t semaphore);
/* Calls `started` once, now or later, or never, when what it waits for never comes. Also returns
 * the first failure of `started`, as does a signal. */
enum hal_status trace_happens_before_submit(struct trace_happens_before *order,
                                            const struct trace_submit *submit,
                                            void *tag) HAL_CHECKED;
enum hal_status trace_happens_before_signal(struct trace_happens_before *order, uint64_t semaphore,
                                            uint64_t value) HAL_CHECKED;
/* The host has seen that the value was reached (UINT64_MAX: the latest so far); or that all that
 * has started has ended. */
void trace_happens_before_observe(struct trace_happens_before *order, uint64_t semaphore,
                                  uint64_t value);
void trace_happens_before_observe_all(struct trace_happens_before *order);
/* A new moment of the host. */
enum hal_status trace_happens_before_host(struct trace_happens_before *order,
                                          struct trace_moment *out_moment) HAL_CHECKED;

/* Whether the first has always ended when the second begins. The first need not keep its clock. */
bool trace_moment_precedes(const struct trace_moment *first, const struct trace_moment *second);
/* Whether the host knows, by now, that it has ended. */
bool trace_moment_is_over(const struct trace_happens_before *order,
                          const struct trace_moment *moment);

struct trace_clock *trace_clock_retain(struct trace_clock *clock);
void trace_clock_release(struct trace_happens_before *order, struct trace_clock *clock);

#endif
