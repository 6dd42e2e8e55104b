/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/opening.h"

#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/os.h"

#include <stdio.h>

static void *run(void *argument)
{
    struct replay_opening *opening = argument;
    opening->status = hal_device_open(opening->uri, &opening->device);
    if (opening->status != HAL_OK)
        snprintf(opening->message, sizeof opening->message, "%s", hal_message());
    return NULL;
}

void replay_opening_begin(struct replay_opening *opening, const char *uri)
{
    *opening = (struct replay_opening){.uri = hal_copy_string(uri)};
    opening->begun =
        opening->uri && hal_thread_start("hal-open", run, opening, &opening->thread) == HAL_OK;
    if (!opening->begun)
        free(opening->uri);
}

enum hal_status replay_opening_end(struct replay_opening *opening, struct hal_device **out_device)
{
    hal_thread_join(opening->thread);
    opening->begun = false;
    free(opening->uri);
    if (opening->status != HAL_OK)
        return hal_fail(opening->status, "%s", opening->message);
    *out_device = opening->device;
    return HAL_OK;
}

void replay_opening_drop(struct replay_opening *opening)
{
    struct hal_device *device = NULL;
    if (!opening->begun)
        return;
    const struct hal_kept_message kept = hal_keep_message();
    (void)!replay_opening_end(opening, &device);
    hal_device_release(device);
    hal_restore_message(&kept, HAL_FAILED);
}
