/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled kernel may be, before the system's loader sees it: an object that runs no code as
 * it is loaded, and calls nothing but what kernels are compiled to call. Private to
 * hal/compiler/msl; free-threaded.
 *
 * The source of a kernel is a stranger's. C++ has many ways to run code at load time (constructors,
 * initialisers of variables, resolvers of indirect functions) and to name what it does not declare
 * (labels, weak references), so that the source is no place to look for them: the object is. This
 * is no protection: code that runs can do without a name. What holds it is replay/sandbox/policy.h.
 */
#ifndef HAL_MSL_OBJECT_H
#define HAL_MSL_OBJECT_H

#include "hal/base/status.h"

#include <stddef.h>

/* Believes nothing in the bytes. `what` names the kernels in messages. HAL_UNSUPPORTED: code runs
 * as it is loaded, or it calls something else; the message says which. HAL_CORRUPT: it is no
 * shared object of this machine's, or one such as no compiler makes. */
enum hal_status msl_object_check(const void *bytes, size_t length, const char *what) HAL_CHECKED;

#endif
