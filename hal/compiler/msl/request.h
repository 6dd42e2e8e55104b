/* SPDX-License-Identifier: Apache-2.0 */
/* A request to msl_compile: its validity, its digest, and the constants' values as source. Private
 * to hal/compiler/msl; free-threaded. */
#ifndef HAL_MSL_REQUEST_H
#define HAL_MSL_REQUEST_H

#include "hal/compiler/msl/text.h"
#include "hal/compiler/msl/toolchain.h"

/* HAL_INVALID: a size, a number or a text is out of range. `file`: its name in messages. */
enum hal_status msl_request_check(const struct msl_source *source, const char *file) HAL_CHECKED;

/* The digest of everything that affects the code. */
enum hal_status msl_request_key(const struct msl_source *source, const char *file,
                                const struct msl_compiler *compiler,
                                const struct msl_lowering *lowering,
                                const struct msl_options *options,
                                struct msl_key *out_key) HAL_CHECKED;

/* Appends specialisations of msl::function_constant, which precede the source. HAL_INVALID: an
 * unknown type. */
enum hal_status msl_request_constants(const struct msl_source *source,
                                      struct msl_text *program) HAL_CHECKED;

#endif
