/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics for people: four levels, one sink. Libraries are silent below HAL_LOG_WARN unless
 * HAL_LOG=error|warn|info|debug is set. A failure is either returned or logged, not both. Any
 * thread may log; a line is written as a whole. */
#ifndef HAL_BASE_LOG_H
#define HAL_BASE_LOG_H

#include "hal/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hal_log_level { HAL_LOG_ERROR, HAL_LOG_WARN, HAL_LOG_INFO, HAL_LOG_DEBUG };

/* Receives every line that passes the level; `text` has no newline and is valid during the call. */
typedef void hal_log_sink(void *user, enum hal_log_level level, const char *text);

/* NULL restores the default sink: "haltrace: level: text" on standard error. Do not call it while
 * other threads log. */
HAL_API void hal_log_set_sink(hal_log_sink *sink, void *user);
HAL_API void hal_log_set_level(enum hal_log_level level);

/* Output that was requested: "haltrace: text" at any level; a sink gets it as HAL_LOG_INFO. */
HAL_API void hal_log_note(const char *format, ...) HAL_PRINTF(1, 2);
HAL_API void hal_log(enum hal_log_level level, const char *format, ...) HAL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
