/* SPDX-License-Identifier: Apache-2.0 */
/* Linear interpolation between clocks: converts a cheap counter to the system's nanoseconds.
 *
 * The line is refitted periodically so that it continues without a jump and meets the system's
 * clock one interval later: readings never go back. A new line begins slightly in the future, and
 * the previous one applies until then, so that all threads read the same clock although some see
 * the new line sooner. Reading takes no lock and never waits, even while another thread fits; one
 * thread fits at a time. */
#ifndef HAL_BASE_CLOCK_FIT_H
#define HAL_BASE_CLOCK_FIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hal_clock_line {
    _Atomic uint64_t ticks;
    _Atomic int64_t ns;    /* at `ticks` */
    _Atomic uint64_t rate; /* nanoseconds per tick, times 2^32 */
};

enum { HAL_CLOCK_LINES = 4 }; /* the latest, the previous, and two that may be being written */

struct hal_clock_fit {
    _Atomic uint64_t version;                     /* 0: no line yet */
    struct hal_clock_line lines[HAL_CLOCK_LINES]; /* [version % 4] is the latest */
    _Atomic uint64_t worst_error_ns; /* largest difference from the system's clock when compared */
    /* For the fitting thread: where the rate is measured from. */
    uint64_t old_ticks, middle_ticks;
    int64_t old_ns, middle_ns;
};

enum {
    HAL_CLOCK_INTERVAL_NS = 50000000,
    HAL_CLOCK_FIRST_NS = 20000000,
    HAL_CLOCK_LEAD_NS = 10000000, /* delay before a new line begins */
};

/* False: there is no line yet. *out_stale: an interval has passed and a thread should fit. */
static inline bool hal_clock_fit_read(const struct hal_clock_fit *fit, uint64_t ticks,
                                      int64_t *out_ns, bool *out_stale)
{
    for (;;) {
        const uint64_t version = atomic_load_explicit(&fit->version, memory_order_acquire);
        const struct hal_clock_line *line = &fit->lines[version % HAL_CLOCK_LINES];
        const uint64_t begin = atomic_load_explicit(&line->ticks, memory_order_acquire);
        const bool early = (int64_t)(ticks - begin) < 0 && version > 1;
        if (__builtin_expect(early, 0))
            line = &fit->lines[(version - 1) % HAL_CLOCK_LINES];
        const uint64_t at = atomic_load_explicit(&line->ticks, memory_order_acquire);
        const int64_t ns = atomic_load_explicit(&line->ns, memory_order_acquire);
        const uint64_t rate = atomic_load_explicit(&line->rate, memory_order_acquire);
        if (version == 0)
            return false;
        if (__builtin_expect(atomic_load_explicit(&fit->version, memory_order_relaxed) != version,
                             0))
            continue; /* a new line was written, maybe to this slot */
        const int64_t passed = (int64_t)(((__int128)(int64_t)(ticks - at) * (int64_t)rate) >> 32);
        *out_ns = ns + passed;
        *out_stale =
            !early && (passed >= HAL_CLOCK_INTERVAL_NS || passed <= -HAL_CLOCK_INTERVAL_NS);
        return true;
    }
}

/* Fits to a moment at which counter and system clock had these values. */
void hal_clock_fit_update(struct hal_clock_fit *fit, uint64_t ticks, int64_t ns);

#endif
