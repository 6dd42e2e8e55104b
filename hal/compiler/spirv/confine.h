/* SPDX-License-Identifier: Apache-2.0 */
/* Locks hal-spirv-cc in before it looks at a module. Private to hal/compiler/spirv. */
#ifndef HAL_SPIRV_CONFINE_H
#define HAL_SPIRV_CONFINE_H

#include <stdbool.h>

/* From now on the process can read and write what it has open, take memory and end: no file can be
 * opened, nothing started, nothing sent. False: this system cannot do that. */
bool spirv_confine(void);

#endif
