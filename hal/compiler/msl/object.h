/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a compiled kernel before the system's loader sees it: the object must run no code on
 * loading, and call only functions that kernels are compiled to call. Private to hal/compiler/msl;
 * free-threaded.
 *
 * A kernel's source is untrusted. C++ has many ways to run code at load time (constructors,
 * variable initialisers, indirect function resolvers) and to name undeclared symbols (labels, weak
 * references), so the object is checked rather than the source. This is not a security boundary:
 * running code needs no names. The boundary is replay/sandbox/policy.h. */
#ifndef HAL_MSL_OBJECT_H
#define HAL_MSL_OBJECT_H

#include "hal/base/status.h"

#include <stddef.h>

/* Trusts none of the bytes. `what` names the kernels in messages. HAL_UNSUPPORTED: code runs on
 * loading, or it calls another function; the message names it. HAL_CORRUPT: not a shared object for
 * this machine, or not one that a compiler produces. */
enum hal_status msl_object_check(const void *bytes, size_t length, const char *what) HAL_CHECKED;

#endif
