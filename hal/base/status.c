/* SPDX-License-Identifier: Apache-2.0 */
/* Status names and the per-thread failure message. */
#include "hal/base/status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[HAL_MESSAGE_BYTES];

static void mark_cut(int wanted)
{
    if (wanted >= (int)sizeof message)
        memcpy(message + sizeof message - 4, "...", 4);
}

const char *hal_status_name(enum hal_status status)
{
    switch (status) {
#define HAL_STATUS_CASE(name, number, text, meaning)                                               \
    case name: return text;
        HAL_STATUS_LIST(HAL_STATUS_CASE)
#undef HAL_STATUS_CASE
    }
    return "unknown status";
}

enum hal_status hal_fail_va(enum hal_status status, const char *format, va_list arguments)
{
    assert(status != HAL_OK);
    /* The arguments may point into the old message, so the new one is built separately. */
    char built[HAL_MESSAGE_BYTES];
    const int wanted = vsnprintf(built, sizeof built, format, arguments);
    memcpy(message, built, sizeof message);
    mark_cut(wanted);
    return status;
}

enum hal_status(hal_fail)(enum hal_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hal_fail_va(status, format, arguments);
    va_end(arguments);
    return status;
}

enum hal_status(hal_add_context)(enum hal_status status, const char *format, ...)
{
    if (status == HAL_OK)
        return status;
    char context[HAL_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context - 2, format, arguments);
    va_end(arguments);
    strcat(context, ": ");
    const size_t added = strlen(context), old = strlen(message);
    const size_t room = sizeof message - 1 - added, kept = old < room ? old : room;
    memmove(message + added, message, kept);
    memcpy(message, context, added);
    message[added + kept] = '\0';
    mark_cut((int)(added + old));
    return status;
}

const char *hal_message(void)
{
    return message[0] ? message : "no message";
}
