/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a source needs the preprocessor. Private to hal/compiler/msl. */
#ifndef HAL_MSL_PREPROCESSOR_H
#define HAL_MSL_PREPROCESSOR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the preprocessor would only remove comments and the lines that include the language's own
 * headers. False is always safe: the result for macros, conditionals, continued lines. */
bool msl_needs_no_preprocessor(const char *text, size_t bytes);

/* headers.c: what a source may include, and the macros that it thereby has. */
bool msl_is_includable(const char *name, size_t length);
bool msl_is_macro(const char *name, size_t length);

#endif
