/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes hal-spirv-cc before it reads a module. Private to hal/compiler/spirv. */
#ifndef HAL_SPIRV_CONFINE_H
#define HAL_SPIRV_CONFINE_H

#include <stdbool.h>

/* From now on the process can only read and write open files, allocate memory and exit: it cannot
 * open files, start programs or send anything. False: not possible on this system. */
bool spirv_confine(void);

#endif
