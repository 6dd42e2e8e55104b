/* SPDX-License-Identifier: Apache-2.0 */
/* The log's level and sink. */
#include "hal/base/log.h"

#include "hal/base/text.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static _Atomic int current_level = -1; /* -1: not read from the environment yet */
static hal_log_sink *current_sink;
static void *current_user;

static void write_line(enum hal_log_level line_level, const char *name, const char *text)
{
    if (current_sink)
        current_sink(current_user, line_level, text);
    else
        fprintf(stderr, "haltrace: %s%s%s\n", name, name[0] ? ": " : "",
                hal_shown_lines(text).text);
}

static void emit_list(enum hal_log_level line_level, const char *format, va_list arguments)
{
    char text[HAL_MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    write_line(line_level, level_names[line_level], text);
}

static void HAL_PRINTF(2, 3) emit(enum hal_log_level line_level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    emit_list(line_level, format, arguments);
    va_end(arguments);
}

static int level_from_environment(void)
{
    const char *wanted = getenv("HAL_LOG");
    if (!wanted || !*wanted)
        return HAL_LOG_WARN;
    for (int i = 0; i < 4; i++) {
        if (strcmp(wanted, level_names[i]) == 0)
            return i;
    }
    emit(HAL_LOG_WARN, "HAL_LOG='%s' is not one of error, warn, info, debug: using warn", wanted);
    return HAL_LOG_WARN;
}

static int level(void)
{
    int now = atomic_load_explicit(&current_level, memory_order_relaxed);
    if (now < 0) {
        now = level_from_environment();
        atomic_store_explicit(&current_level, now, memory_order_relaxed);
    }
    return now;
}

void hal_log_set_sink(hal_log_sink *sink, void *user)
{
    current_sink = sink;
    current_user = user;
}

void hal_log_set_level(enum hal_log_level new_level)
{
    atomic_store_explicit(&current_level, (int)new_level, memory_order_relaxed);
}

void hal_log(enum hal_log_level line_level, const char *format, ...)
{
    if ((int)line_level > level())
        return;
    va_list arguments;
    va_start(arguments, format);
    emit_list(line_level, format, arguments);
    va_end(arguments);
}

void hal_log_note(const char *format, ...)
{
    char text[HAL_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_line(HAL_LOG_INFO, "", text);
}
