/* SPDX-License-Identifier: Apache-2.0 */
/* The output of hal-spirv-cc, which the cache also keeps: lines of text. Private to
 * hal/compiler/spirv.
 *
 *     haltrace-spirv 3
 *     constant ID TYPE NAME
 *     entry KERNEL CONSTANT_BYTES CONSTANTS_SLOT SIZES_SLOT COUNT SET.BINDING ...
 *     text
 *     ...the source, to the end
 *
 * Each kind of line may repeat, constants first; TYPE is an enum spirv_constant_type or 0. Slots
 * are numbers, or "-"; the n-th SET.BINDING is [[buffer(n)]], followed by "u" and its type's size
 * for a uniform buffer, "w" for a storage buffer that is written, "r" for one that is not, and
 * nothing if this is unknown. On failure standard error has the message, and the exit code is the
 * hal_status. */
#ifndef HAL_SPIRV_ANSWER_H
#define HAL_SPIRV_ANSWER_H

#include "hal/compiler/msl/text.h"
#include "hal/compiler/spirv/spirv.h"

enum { SPIRV_KERNEL_NAME_BYTES = 96, SPIRV_CONSTANT_NAME_BYTES = 72, SPIRV_TIME_LIMIT_S = 30 };
#define SPIRV_ANSWER_TEXT "text"

void spirv_answer_begin(struct msl_text *text);
void spirv_answer_add_constant(struct msl_text *text, uint32_t id, uint32_t type, const char *name);
void spirv_answer_add(struct msl_text *text, const struct spirv_entry *entry);

/* Copies what it keeps. HAL_CORRUPT: malformed, or not about `entry_count` entries. */
enum hal_status spirv_answer_read(const char *text, size_t bytes, size_t entry_count,
                                  struct spirv_translation **out_translation) HAL_CHECKED;

#endif
