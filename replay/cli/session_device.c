/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/session_device.h"
#include "hal/base/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hal_status open_uri(const char *uri, const struct replay_opened *out)
{
    return out->remote ? replay_remote_open(out->remote, uri) : hal_device_open(uri, out->device);
}

/* Adds the number of queues if the driver has the parameter; 0: as in the URI. */
static enum hal_status open_with_queues(const char *uri, uint32_t queues,
                                        const struct replay_opened *out)
{
    char wider[256];
    if (queues && replay_target_uri(uri, queues, wider, sizeof wider) &&
        open_uri(wider, out) == HAL_OK)
        return HAL_OK;
    return open_uri(uri, out);
}

static bool says_queues(const char *uri)
{
    const char *question = strchr(uri, '?');
    return question && (strncmp(question + 1, "queues=", 7) == 0 || strstr(question, "&queues="));
}

enum hal_status replay_open_chosen(const char *uri, uint32_t queues,
                                   const struct replay_opened *out)
{
    return open_with_queues(uri, says_queues(uri) || queues <= 1 ? 0 : queues, out);
}

/* NULL: the recorded one. */
static const char *chosen_device(const struct replay_session *s)
{
    const char *uri = s->program->device ? s->program->device : getenv("HAL_DEVICE");
    return uri && uri[0] ? uri : NULL;
}

/* The trace is being loaded. The device is already known, unless its number of queues depends on
 * the trace's contents. */
void replay_open_beside(void *user, const struct trace_header *header)
{
    struct replay_session *s = user;
    const char *const chosen = chosen_device(s);
    if (s->sandbox || s->program->what_if ||
        (chosen && !says_queues(chosen) && header->device.queue_count > 1))
        return;
    replay_async_open_begin(&s->opener, chosen ? chosen : header->device.uri);
}

static enum hal_status open_now(struct replay_session *s, uint32_t queues)
{
    const char *const chosen = chosen_device(s);
    const uint32_t needed = s->summary.plan->queue_count;
    const struct replay_opened opened = {&s->device, s->options.remote};
    if (s->opener.begun) {
        HAL_TRY(replay_async_open_end(&s->opener, &s->device));
        if (!chosen || says_queues(chosen) || needed <= hal_device_get_info(s->device)->queue_count)
            return HAL_OK;
        hal_device_release(s->device); /* the header knew of fewer */
        s->device = NULL;
    }
    if (chosen)
        return replay_open_chosen(chosen, queues > needed ? queues : needed, &opened);
    return open_with_queues(s->summary.plan->header->device.uri, queues > needed ? queues : 0,
                            &opened);
}

/* A driver of Vulkan that is missing may be a GPU's, whose files the sandbox hides. */
static enum hal_status explain_absence(const struct replay_session *s, enum hal_status status)
{
    static const char driver[] = "vulkan";
    const char *const chosen = chosen_device(s);
    const char *const uri = chosen ? chosen : s->summary.plan->header->device.uri;
    if (status != HAL_NOT_FOUND || s->program->trusted ||
        strncmp(uri, driver, sizeof driver - 1) != 0)
        return status;
    const struct hal_kept_message kept = hal_keep_message();
    return hal_fail(status, "%s (a GPU cannot be reached without --trusted)", kept.text);
}

enum hal_status replay_open_device(struct replay_session *s)
{
    const uint32_t queues = s->program->what_if ? s->program->change.queues : 0;
    const enum hal_status status = explain_absence(s, open_now(s, queues));
    HAL_TRY(chosen_device(s)
                ? status
                : hal_add_context(status, "the recorded device (--device selects another)"));
    s->summary.device =
        s->options.remote ? &s->options.remote->info : hal_device_get_info(s->device);
    if (queues <= s->summary.device->queue_count)
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "--what-if=queues=%u: device '%s' has %u; --device=URI selects one with more, "
                    "such as cpu?queues=%u",
                    queues, s->summary.device->uri, s->summary.device->queue_count, queues);
}
