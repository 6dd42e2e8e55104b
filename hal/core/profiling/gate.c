/* SPDX-License-Identifier: Apache-2.0 */
/* The gate between the application's calls and changes of a device's chain. A caller increments its
 * thread's counter, then reads the state; the closer sets the state, then reads the counters. Both
 * orders are sequentially consistent, so at least one of them sees the other. */
#include "hal/core/core.h"

#include <limits.h>

static _Atomic uint32_t next_stripe;

struct thread {
    uint32_t stripe;                        /* its number + 1; 0: none yet */
    uint32_t depth;                         /* gates that it is inside of */
    struct hal_deferred_call *first, *last; /* to be called at depth 0 */
};

static struct thread *self(void)
{
    static _Thread_local struct thread thread;
    if (thread.stripe == 0)
        thread.stripe =
            atomic_fetch_add_explicit(&next_stripe, 1, memory_order_relaxed) % HAL_GATE_STRIPES + 1;
    return &thread;
}

static _Atomic uint32_t *counter_of(struct hal_gate *gate, const struct thread *thread)
{
    return &gate->stripes[thread->stripe - 1].inside;
}

static void leave(struct hal_gate *gate, struct thread *thread)
{
    _Atomic uint32_t *inside = counter_of(gate, thread);
    const uint32_t before = atomic_fetch_sub(inside, 1);
    if (before == 1 && atomic_load(&gate->state) != HAL_GATE_OPEN)
        hal_word_wake(inside, INT_MAX);
    thread->depth--;
}

/* A call may enter a gate, and run the rest of them when it leaves. */
static void run_calls(struct thread *thread)
{
    while (thread->depth == 0 && thread->first) {
        struct hal_deferred_call *call = thread->first;
        thread->first = call->next;
        call->run(call);
    }
}

void hal_gate_leave(struct hal_gate *gate)
{
    struct thread *thread = self();
    leave(gate, thread);
    run_calls(thread);
}

void hal_gate_defer(struct hal_deferred_call *call)
{
    struct thread *thread = self();
    call->next = NULL;
    if (thread->first)
        thread->last->next = call;
    else
        thread->first = call;
    thread->last = call;
    run_calls(thread);
}

static uint32_t enter_and_look(struct hal_gate *gate)
{
    struct thread *thread = self();
    thread->depth++;
    atomic_fetch_add(counter_of(gate, thread), 1);
    return atomic_load(&gate->state);
}

bool hal_gate_enter(struct hal_gate *gate)
{
    for (;;) {
        const uint32_t state = enter_and_look(gate);
        if (state == HAL_GATE_OPEN)
            return true;
        leave(gate, self());
        if (state == HAL_GATE_FORKED)
            return false;
        hal_word_wait(&gate->state, state, HAL_FOREVER);
    }
}

bool hal_gate_enter_destroy(struct hal_gate *gate)
{
    const uint32_t state = enter_and_look(gate);
    if (state == HAL_GATE_OPEN || state == HAL_GATE_DRAINING)
        return true;
    leave(gate, self());
    return false;
}

static bool wait_until_left(struct hal_gate *gate, int64_t deadline_ns)
{
    for (size_t i = 0; i < HAL_GATE_STRIPES; i++) {
        _Atomic uint32_t *inside = &gate->stripes[i].inside;
        for (uint32_t now; (now = atomic_load(inside)) != 0;) {
            const int64_t left_ns =
                deadline_ns == HAL_FOREVER ? HAL_FOREVER : deadline_ns - hal_clock_ns();
            if (left_ns <= 0)
                return false;
            hal_word_wait(inside, now, left_ns);
        }
    }
    return true;
}

bool hal_gate_drain(struct hal_gate *gate, int64_t deadline_ns)
{
    atomic_store(&gate->state, HAL_GATE_DRAINING);
    if (wait_until_left(gate, deadline_ns))
        return true;
    hal_gate_open(gate);
    return false;
}

void hal_gate_close(struct hal_gate *gate)
{
    atomic_store(&gate->state, HAL_GATE_CLOSED);
    wait_until_left(gate, HAL_FOREVER);
}

void hal_gate_open(struct hal_gate *gate)
{
    atomic_store(&gate->state, HAL_GATE_OPEN);
    hal_word_wake(&gate->state, INT_MAX);
}

/* ---- A device's gate ------------------------------------------------------------------------ */

static enum hal_status fail_forked(const struct hal_device *device)
{
    return hal_fail(HAL_DEVICE_LOST,
                    "device '%s' was opened before a fork and works only in the parent process",
                    device->info.uri);
}

enum hal_status hal_device_enter(struct hal_device *device)
{
    return hal_gate_enter(&device->gate) ? HAL_OK : fail_forked(device);
}

enum hal_status hal_device_check_here(const struct hal_device *device)
{
    return atomic_load(&device->gate.state) != HAL_GATE_FORKED ? HAL_OK : fail_forked(device);
}
