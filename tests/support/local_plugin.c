/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of local_app, which is linked with libhal. FRAME_BYTES, of its function's frame, tell
 * one such plugin from another that is loaded to the same addresses after it. */
#include "tests/support/local_app.h"

#define LOCAL_HAL_VALUE(name) .name = name,
static const struct local_hal linked = {LOCAL_HAL_ALL(LOCAL_HAL_VALUE)};

__attribute__((visibility("default"))) local_plugin_call plugin_call;

int plugin_call(int (*work)(const struct local_hal *hal, int release), int release)
{
    volatile char frame[FRAME_BYTES]; /* no tail call: this frame is to be seen */
    frame[0] = frame[FRAME_BYTES - 1] = 1;
    const int result = work(&linked, release);
    return result + frame[0] - frame[FRAME_BYTES - 1];
}
