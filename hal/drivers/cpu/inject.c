/* SPDX-License-Identifier: Apache-2.0 */
/* Failures on demand, for tests: "fail=memory:3" and "fail=lost:2" in the device's URI; and what a
 * lost device is. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <errno.h>
#include <stdio.h>

/* A number, or two with a dash between them; up to the end or a comma. */
static enum hal_status read_range(const char *text, const char *whole,
                                  struct cpu_failures *out_range, const char **out_end)
{
    uint32_t numbers[2] = {0, 0};
    const char *at = text;
    for (size_t i = 0; i < 2; i++) {
        char *end;
        errno = 0;
        const unsigned long number = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || errno || number < 1 || number > UINT32_MAX ||
            (*end && *end != ',' && (*end != '-' || i)))
            return hal_fail(HAL_INVALID, "fail=%s: '%s' does not begin with numbers in 1 to %u",
                            whole, text, UINT32_MAX);
        numbers[i] = (uint32_t)number;
        at = *end ? end + 1 : end;
        if (*end != '-')
            break;
    }
    out_range->first = numbers[0];
    out_range->last = numbers[1] ? numbers[1] : numbers[0];
    *out_end = at;
    return HAL_OK;
}

enum hal_status cpu_injection_read(const char *value, struct cpu_injection *out_injection)
{
    static const char memory[] = "memory:", lost[] = "lost:";
    const char *at = value;
    do {
        if (strncmp(at, memory, sizeof memory - 1) == 0)
            HAL_TRY(read_range(at + sizeof memory - 1, value, &out_injection->buffers, &at));
        else if (strncmp(at, lost, sizeof lost - 1) == 0)
            HAL_TRY(read_range(at + sizeof lost - 1, value, &out_injection->submissions, &at));
        else
            return hal_fail(HAL_INVALID, "fail=%s: there is no '%s' (known: memory:N, lost:N)",
                            value, at);
    } while (*at);
    return HAL_OK;
}

static bool is_due(struct cpu_failures *failures)
{
    if (!failures->first)
        return false;
    const uint32_t number =
        atomic_fetch_add_explicit(&failures->count, 1, memory_order_relaxed) + 1;
    return number >= failures->first && number <= failures->last;
}

enum hal_status cpu_injection_buffer(struct cpu_injection *injection)
{
    if (!is_due(&injection->buffers))
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "there is no memory for it, as the device was told");
}

bool cpu_injection_submission(struct cpu_injection *injection)
{
    return is_due(&injection->submissions);
}

/* ---- Lost devices ------------------------------------------------------------------------- */

enum hal_status cpu_device_check(const struct cpu_device *device)
{
    if (!atomic_load_explicit(&device->lost, memory_order_acquire))
        return HAL_OK;
    return hal_fail(HAL_DEVICE_LOST, "%s", device->lost_message);
}

void cpu_device_lose(struct cpu_device *device, const char *message, struct cpu_wakes *wakes)
{
    pthread_mutex_lock(&cpu_timeline_lock);
    const bool is_new = !atomic_load_explicit(&device->lost, memory_order_relaxed);
    if (is_new) {
        snprintf(device->lost_message, sizeof device->lost_message, "%s", message);
        atomic_store_explicit(&device->lost, true, memory_order_release);
        cpu_flight_lost_locked(device, wakes);
    }
    pthread_mutex_unlock(&cpu_timeline_lock);
    if (is_new)
        hal_meetings_lose(device, HAL_DEVICE_LOST, device->lost_message);
}
