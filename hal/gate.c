/* SPDX-License-Identifier: Apache-2.0 */
/* The gate between the application's calls and changes of a device's chain.
 *
 * A caller announces itself on its thread's counter, then looks at the state; the closer sets the
 * state, then looks at the counters. Both orders are sequentially consistent, so at least one of
 * them sees the other. */
#include "hal/core.h"

#include <limits.h>

static _Atomic uint32_t next_stripe;

static uint32_t my_stripe(void)
{
    static _Thread_local uint32_t stripe = UINT32_MAX;
    if (stripe == UINT32_MAX)
        stripe =
            atomic_fetch_add_explicit(&next_stripe, 1, memory_order_relaxed) % HAL_GATE_STRIPES;
    return stripe;
}

void hal_gate_leave(struct hal_gate *gate)
{
    _Atomic uint32_t *inside = &gate->stripes[my_stripe()].inside;
    const uint32_t before = atomic_fetch_sub(inside, 1);
    if (before == 1 && atomic_load(&gate->state) != HAL_GATE_OPEN)
        hal_word_wake(inside, INT_MAX);
}

static uint32_t enter_and_look(struct hal_gate *gate)
{
    atomic_fetch_add(&gate->stripes[my_stripe()].inside, 1);
    return atomic_load(&gate->state);
}

bool hal_gate_enter(struct hal_gate *gate)
{
    for (;;) {
        const uint32_t state = enter_and_look(gate);
        if (state == HAL_GATE_OPEN)
            return true;
        hal_gate_leave(gate);
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
    hal_gate_leave(gate);
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
