/* SPDX-License-Identifier: Apache-2.0 */
/* What msl_compile is asked for: whether it can be, what tells it from all else, and the constants'
 * values as source. Private to hal/compiler/msl; free-threaded. */
#ifndef HAL_MSL_REQUEST_H
#define HAL_MSL_REQUEST_H

#include "hal/compiler/msl/text.h"
#include "hal/compiler/msl/toolchain.h"

/* HAL_INVALID: a size, a number or a text is outside its limits. `file`: its name in messages. */
enum hal_status msl_request_check(const struct msl_source *source, const char *file) HAL_CHECKED;

/* The digest of all that decides about the code. */
enum hal_status msl_request_key(const struct msl_source *source, const char *file,
                                const struct msl_compiler *compiler,
                                const struct msl_lowering *lowering,
                                const struct msl_options *options,
                                struct msl_key *out_key) HAL_CHECKED;

/* Appends specialisations of msl::function_constant, which stand before the source. HAL_INVALID:
 * a type that does not exist. */
enum hal_status msl_request_constants(const struct msl_source *source,
                                      struct msl_text *program) HAL_CHECKED;

#endif
