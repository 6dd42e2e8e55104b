/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for kernel names that do not exist. Private to hal/compiler/msl. */
#ifndef HAL_MSL_NAMES_H
#define HAL_MSL_NAMES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Fails with that status: the message has the names closest to `wanted`, and how many others. */
enum hal_status msl_unknown_name(enum hal_status status, const char *file, const char *wanted,
                                 const char *const *names, size_t count) HAL_CHECKED;

/* Whether `name` is "a::b::" followed by `bare`, which has no namespace. */
bool msl_is_bare_name(const char *name, const char *bare);

#endif
