/* SPDX-License-Identifier: Apache-2.0 */
/* Failures on demand ("fail=memory:3" and "fail=lost:2" in the device's URI), and lost devices. */
#include "hal/base/message.h"
#include "hal/core/engine/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, or two with a dash between them; up to the end or a comma. */
static enum hal_status read_range(const char *text, const char *whole,
                                  struct hal_failures *out_range, const char **out_end)
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

enum hal_status hal_injection_read(const char *value, struct hal_injection *out_injection)
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

static bool is_due(struct hal_failures *failures)
{
    if (!failures->first)
        return false;
    const uint32_t number =
        atomic_fetch_add_explicit(&failures->count, 1, memory_order_relaxed) + 1;
    return number >= failures->first && number <= failures->last;
}

bool hal_injection_submission(struct hal_injection *injection)
{
    return is_due(&injection->submissions);
}

enum hal_status hal_engine_check_buffer(struct hal_engine *engine)
{
    HAL_TRY(hal_engine_check(engine));
    if (!is_due(&engine->injection.buffers))
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "no memory, as requested by the device's parameter 'fail'");
}

/* ---- Lost devices ------------------------------------------------------------------------- */

enum hal_status hal_engine_check(const struct hal_engine *engine)
{
    return hal_engine_is_lost(engine) ? hal_fail(HAL_DEVICE_LOST, "%s", engine->why_lost) : HAL_OK;
}

void hal_engine_lose(struct hal_engine *engine, const char *message)
{
    struct hal_changes changes = {0};
    pthread_mutex_lock(&hal_engine_lock);
    const bool is_new = !hal_engine_is_lost(engine);
    if (is_new) {
        snprintf(engine->why_lost, sizeof engine->why_lost, "%s", message);
        atomic_store_explicit(&engine->is_lost, true, memory_order_release);
        hal_work_lose_all_locked(engine, &changes);
    }
    pthread_mutex_unlock(&hal_engine_lock);
    if (is_new)
        hal_rendezvous_abort_all(engine, HAL_DEVICE_LOST, engine->why_lost);
    hal_engine_drain_ready(&changes);
}

enum hal_status hal_engine_note_loss(struct hal_engine *engine, enum hal_status status)
{
    if (status != HAL_DEVICE_LOST)
        return status;
    const struct hal_kept_message kept = hal_keep_message();
    hal_engine_lose(engine, kept.text); /* what ends by that may leave other messages */
    return hal_restore_message(&kept, status);
}
