/* SPDX-License-Identifier: Apache-2.0 */
/* External names that a compiled kernel may use. Private to hal/compiler/msl. */
#ifndef HAL_MSL_IMPORTS_H
#define HAL_MSL_IMPORTS_H

#include <stdbool.h>

/* Functions of the C library that compilers call implicitly, and mathematical functions. */
bool msl_may_import(const char *name);

/* Libraries that define them. */
bool msl_may_need(const char *library);

#endif
