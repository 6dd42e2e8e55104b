/* SPDX-License-Identifier: Apache-2.0 */
/* The system's monotonic clock, read off the processor's counter where the system relies on it. */
#include "hal/base/clock_fit.h"
#include "hal/base/os.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__) && defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#include <x86intrin.h>
#define HAS_COUNTER 1
#else
#define HAS_COUNTER 0
#endif

static const int64_t ns_per_second = 1000000000;

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * ns_per_second + now.tv_nsec;
}

int64_t hal_wall_clock_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* ---- The process's clock ------------------------------------------------------------------ */

#if HAS_COUNTER

static struct hal_clock_fit process_fit;
static _Atomic bool is_fitting;
static _Atomic uint32_t use; /* of the counter: */
enum { USE_UNKNOWN, USE_COUNTER, USE_SYSTEM };

/* The system has proved its counter: the same on all processors, at one pace. */
static bool counter_is_trusted(void)
{
    char name[16] = "";
    const char *wanted = getenv("HAL_CLOCK");
    if (wanted && strcmp(wanted, "system") == 0)
        return false;
    const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t bytes = read(file, name, sizeof name - 1);
    close(file);
    return bytes > 0 && strcmp(name, "tsc\n") == 0;
}

/* The narrowest of several readings of both clocks. */
static void fit_now(void)
{
    static uint64_t narrowest = UINT64_MAX; /* the fitting thread's */
    uint64_t best = UINT64_MAX, best_ticks = 0;
    int64_t best_ns = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t before = __rdtsc();
        const int64_t ns = read_clock(CLOCK_MONOTONIC);
        const uint64_t width = __rdtsc() - before;
        if (width >= best)
            continue;
        best = width;
        best_ticks = before + width / 2;
        best_ns = ns;
    }
    if (best < narrowest)
        narrowest = best;
    if (best / 16 <= narrowest) /* else this thread was interrupted: the middle means nothing */
        hal_clock_fit_update(&process_fit, best_ticks, best_ns);
}

static void fit_if_nobody_does(void)
{
    if (atomic_exchange_explicit(&is_fitting, true, memory_order_acquire))
        return;
    fit_now();
    atomic_store_explicit(&is_fitting, false, memory_order_release);
}

static int64_t read_slowly(void)
{
    if (atomic_load_explicit(&use, memory_order_relaxed) == USE_UNKNOWN)
        atomic_store_explicit(&use, counter_is_trusted() ? USE_COUNTER : USE_SYSTEM,
                              memory_order_relaxed);
    if (atomic_load_explicit(&use, memory_order_relaxed) == USE_COUNTER)
        fit_if_nobody_does();
    return read_clock(CLOCK_MONOTONIC);
}

int64_t hal_clock_ns(void)
{
    int64_t ns = 0;
    bool stale = false;
    if (__builtin_expect(!hal_clock_fit_read(&process_fit, __rdtsc(), &ns, &stale), 0))
        return read_slowly();
    if (__builtin_expect(stale, 0))
        fit_if_nobody_does();
    return ns;
}

const char *hal_clock_name(uint64_t *out_worst_error_ns)
{
    *out_worst_error_ns = atomic_load(&process_fit.worst_error_ns);
    return atomic_load(&use) == USE_COUNTER ? "tsc" : "system";
}

#else

int64_t hal_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

const char *hal_clock_name(uint64_t *out_worst_error_ns)
{
    *out_worst_error_ns = 0;
    return "system";
}

#endif
