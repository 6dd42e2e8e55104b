/* SPDX-License-Identifier: Apache-2.0 */
/* The names outside of itself that a compiled kernel may have. Private to hal/compiler/msl. */
#ifndef HAL_MSL_IMPORTS_H
#define HAL_MSL_IMPORTS_H

#include <stdbool.h>

/* Functions of the C library that a compiler calls by itself, and those of mathematics. */
bool msl_may_import(const char *name);

/* Libraries that have them. */
bool msl_may_need(const char *library);

#endif
