/* SPDX-License-Identifier: Apache-2.0 */
/* Translates entry points of a valid module to MSL. Part of hal-spirv-cc. */
#ifndef HAL_SPIRV_MSL_H
#define HAL_SPIRV_MSL_H

#include "hal/compiler/msl/text.h"
#include "hal/compiler/spirv/module.h"

struct spirv_cross; /* SPIRV-Cross with the parsed module */

enum hal_status spirv_cross_create(const struct spirv_module *module,
                                   struct spirv_cross **out_cross) HAL_CHECKED;
void spirv_cross_destroy(struct spirv_cross *cross);

/* Appends the entry point's source, with everything that it needs, and stores its buffers' slots.
 * The kernel is named `kernel`, in namespace `kernel`_. HAL_UNSUPPORTED: names what MSL lacks. */
enum hal_status spirv_cross_translate(struct spirv_cross *cross, const char *name,
                                      const char *kernel, struct spirv_entry *out_entry,
                                      struct msl_text *text) HAL_CHECKED;

#endif
