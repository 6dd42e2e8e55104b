/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes, and the message of the calling thread's last failure.
 *
 * A function that can fail returns `enum hal_status`. The code that detects a failure calls
 * hal_fail(), which stores one line of text for the calling thread and returns the code, so that
 * detection reads `return hal_fail(HAL_IO, "cannot open '%s': %s", path, strerror(errno));`.
 * Callers add context with hal_add_context() and return the code; only a program's main prints.
 * Nothing is allocated, so nothing needs to be freed.
 *
 * Threads: the message belongs to the thread on which the failure was returned. Code that passes a
 * failure to another thread copies the text (semaphores and the capture writer do). */
#ifndef HAL_BASE_STATUS_H
#define HAL_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* The numbers are written into traces: never reuse a number. */
#define HAL_STATUS_LIST(X)                                                        \
    X(HAL_OK,          0, "ok",             "it worked")                          \
    X(HAL_INVALID,     1, "invalid",        "an argument or a state is wrong")    \
    X(HAL_NOT_FOUND,   2, "not found",      "no such thing")                      \
    X(HAL_EXISTS,      3, "exists",         "it is there already")                \
    X(HAL_UNSUPPORTED, 4, "unsupported",    "valid, but not available here")      \
    X(HAL_NO_MEMORY,   5, "out of memory",  "an allocation failed")               \
    X(HAL_IO,          6, "i/o error",      "the system refused a read or write") \
    X(HAL_CORRUPT,     7, "corrupt",        "data contradict themselves")         \
    X(HAL_VERSION,     8, "version",        "made by a newer, unknown version")   \
    X(HAL_DEVICE_LOST, 9, "device lost",    "the device stopped working")         \
    X(HAL_TIMEOUT,    10, "timeout",        "the time limit passed first")        \
    X(HAL_FAILED,     11, "failed",         "the work itself failed")
/* clang-format on */

enum hal_status {
#define HAL_STATUS_ENUM(name, number, text, meaning) name = number,
    HAL_STATUS_LIST(HAL_STATUS_ENUM)
#undef HAL_STATUS_ENUM
};

#if defined(__GNUC__)
#define HAL_CHECKED __attribute__((warn_unused_result))
#define HAL_PRINTF(format_index, first_index)                                                      \
    __attribute__((format(printf, format_index, first_index)))
#define HAL_API __attribute__((visibility("default")))
#else
#define HAL_CHECKED
#define HAL_PRINTF(format_index, first_index)
#define HAL_API
#endif

/* Maximum size of a message, terminator included; a longer one is truncated and ends in "...". */
enum { HAL_MESSAGE_BYTES = 4096 };

/* Returns the code's name as prose, for example "not found"; "unknown status" for other numbers.
 * Never NULL. */
HAL_API const char *hal_status_name(enum hal_status status);

/* Stores the message for the calling thread and returns `status`, which must not be HAL_OK. */
HAL_API enum hal_status hal_fail(enum hal_status status, const char *format, ...) HAL_PRINTF(2, 3);
HAL_API enum hal_status hal_fail_va(enum hal_status status, const char *format, va_list arguments)
    HAL_PRINTF(2, 0);

#ifdef __clang_analyzer__
/* For the analyzer, which cannot see it from another file: a failure is never HAL_OK. */
#define hal_fail(status, ...) (hal_fail(status, __VA_ARGS__), (status))
#endif

/* Prepends "context: " to the stored message and returns `status` unchanged; does nothing for
 * HAL_OK. */
HAL_API enum hal_status hal_add_context(enum hal_status status, const char *format, ...)
    HAL_PRINTF(2, 3);

#ifdef __clang_analyzer__
#define hal_add_context(status, ...)                                                               \
    __extension__({                                                                                \
        const enum hal_status hal_known_status = (status);                                         \
        (void)hal_add_context(hal_known_status, __VA_ARGS__);                                      \
        hal_known_status;                                                                          \
    })
#endif

/* Returns the calling thread's last message. Borrowed until that thread's next failure; never
 * NULL. */
HAL_API const char *hal_message(void);

/* Returns the status from the enclosing function if `expression` fails. */
#define HAL_TRY(expression)                                                                        \
    do {                                                                                           \
        enum hal_status hal_try_status = (expression);                                             \
        if (hal_try_status != HAL_OK)                                                              \
            return hal_try_status;                                                                 \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
