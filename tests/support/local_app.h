/* SPDX-License-Identifier: Apache-2.0 */
/* What local_app calls libhal through, which neither it nor anything that it is linked with needs:
 * as a program does that was written in a language with foreign functions, or loads plugins. */
#ifndef TESTS_SUPPORT_LOCAL_APP_H
#define TESTS_SUPPORT_LOCAL_APP_H

#include "hal/hal.h"

/* The functions that it calls. */
#define LOCAL_HAL_ALL(f)                                                                           \
    f(hal_message) f(hal_device_open) f(hal_device_release) f(hal_buffer_create)                   \
        f(hal_buffer_release) f(hal_buffer_read) f(hal_command_buffer_create) f(hal_command_fill)  \
            f(hal_command_buffer_end) f(hal_command_buffer_release) f(hal_semaphore_create)        \
                f(hal_semaphore_wait) f(hal_semaphore_release) f(hal_queue_submit)

#define LOCAL_HAL_MEMBER(name) __typeof__(name) *name;
struct local_hal {
    LOCAL_HAL_ALL(LOCAL_HAL_MEMBER)
};

/* A plugin's one function: calls `work` with the libhal that the plugin is linked with. */
#define LOCAL_PLUGIN_SYMBOL "plugin_call"
typedef int local_plugin_call(int (*work)(const struct local_hal *hal, int release), int release);

#endif
