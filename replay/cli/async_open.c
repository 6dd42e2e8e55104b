/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/async_open.h"

#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/os.h"

#include <stdio.h>

static void *run(void *argument)
{
    struct replay_async_open *opener = argument;
    opener->status = hal_device_open(opener->uri, &opener->device);
    if (opener->status != HAL_OK)
        snprintf(opener->message, sizeof opener->message, "%s", hal_message());
    return NULL;
}

void replay_async_open_begin(struct replay_async_open *opener, const char *uri)
{
    *opener = (struct replay_async_open){.uri = hal_copy_string(uri)};
    opener->begun =
        opener->uri && hal_thread_start("hal-open", run, opener, &opener->thread) == HAL_OK;
    if (!opener->begun)
        free(opener->uri);
}

enum hal_status replay_async_open_end(struct replay_async_open *opener,
                                      struct hal_device **out_device)
{
    hal_thread_join(opener->thread);
    opener->begun = false;
    free(opener->uri);
    if (opener->status != HAL_OK)
        return hal_fail(opener->status, "%s", opener->message);
    *out_device = opener->device;
    return HAL_OK;
}

void replay_async_open_drop(struct replay_async_open *opener)
{
    struct hal_device *device = NULL;
    if (!opener->begun)
        return;
    const struct hal_kept_message kept = hal_keep_message();
    (void)!replay_async_open_end(opener, &device);
    hal_device_release(device);
    hal_restore_message(&kept, HAL_FAILED);
}
