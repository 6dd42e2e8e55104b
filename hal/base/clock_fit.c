/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting lines. */
#include "hal/base/clock_fit.h"

/* A larger difference (the machine slept, or was migrated) is not drift. */
static const int64_t jump_ns = 100000;
static const int64_t baseline_ns = 1000000000;

static void set_line(struct hal_clock_fit *fit, uint64_t ticks, int64_t ns, uint64_t rate)
{
    const uint64_t version = atomic_load_explicit(&fit->version, memory_order_relaxed) + 1;
    struct hal_clock_line *line = &fit->lines[version % HAL_CLOCK_LINES];
    /* Who still reads this place, and gets one of these, sees that the version is another. */
    atomic_store_explicit(&line->ticks, ticks, memory_order_release);
    atomic_store_explicit(&line->ns, ns, memory_order_release);
    atomic_store_explicit(&line->rate, rate, memory_order_release);
    atomic_store_explicit(&fit->version, version, memory_order_release);
}

static uint64_t rate_between(uint64_t ticks, int64_t ns)
{
    return (uint64_t)(((unsigned __int128)(uint64_t)ns << 32) / ticks);
}

static void restart(struct hal_clock_fit *fit, uint64_t ticks, int64_t ns)
{
    fit->old_ticks = fit->middle_ticks = ticks;
    fit->old_ns = fit->middle_ns = ns;
}

/* The rate over the last second or two. */
static uint64_t measure_rate(struct hal_clock_fit *fit, uint64_t ticks, int64_t ns)
{
    const uint64_t rate = rate_between(ticks - fit->old_ticks, ns - fit->old_ns);
    if (ns - fit->middle_ns >= baseline_ns) {
        fit->old_ticks = fit->middle_ticks;
        fit->old_ns = fit->middle_ns;
        fit->middle_ticks = ticks;
        fit->middle_ns = ns;
    }
    return rate;
}

void hal_clock_fit_update(struct hal_clock_fit *fit, uint64_t ticks, int64_t ns)
{
    int64_t guess_ns = ns;
    bool stale = false;
    if (fit->old_ticks == 0 || ticks <= fit->old_ticks || ns <= fit->old_ns) {
        const uint64_t version = atomic_load_explicit(&fit->version, memory_order_relaxed);
        restart(fit, ticks, ns); /* the first pair, or the counter was reset */
        if (version)
            set_line(fit, ticks, ns, atomic_load(&fit->lines[version % HAL_CLOCK_LINES].rate));
        return;
    }
    if (ns - fit->old_ns < HAL_CLOCK_FIRST_NS)
        return;
    const bool has_line = hal_clock_fit_read(fit, ticks, &guess_ns, &stale);
    const uint64_t rate = measure_rate(fit, ticks, ns);
    const int64_t off_ns = ns - guess_ns;
    const uint64_t error_ns = (uint64_t)(off_ns < 0 ? -off_ns : off_ns);
    if (has_line && error_ns > atomic_load_explicit(&fit->worst_error_ns, memory_order_relaxed))
        atomic_store_explicit(&fit->worst_error_ns, error_ns, memory_order_relaxed);
    if (off_ns > jump_ns) {
        restart(fit, ticks, ns);
        set_line(fit, ticks, ns, rate);
        return;
    }
    /* Meet the system's clock in one interval; a line far ahead continues at half the rate. */
    int64_t next_ns = HAL_CLOCK_INTERVAL_NS + off_ns;
    if (next_ns < HAL_CLOCK_INTERVAL_NS / 2)
        next_ns = HAL_CLOCK_INTERVAL_NS / 2;
    const uint64_t next_rate =
        (uint64_t)((unsigned __int128)rate * (uint64_t)next_ns / HAL_CLOCK_INTERVAL_NS);
    if (!has_line) {
        set_line(fit, ticks, guess_ns, next_rate);
        return;
    }
    const uint64_t begin = ticks + (uint64_t)(((unsigned __int128)HAL_CLOCK_LEAD_NS << 32) / rate);
    (void)hal_clock_fit_read(fit, begin, &guess_ns, &stale);
    set_line(fit, begin, guess_ns, next_rate);
}
