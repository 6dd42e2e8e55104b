/* SPDX-License-Identifier: Apache-2.0 */
/* From what the compiler printed to what the author of a kernel needs to read. Private to
 * hal/compiler/msl. */
#ifndef HAL_MSL_DIAGNOSE_H
#define HAL_MSL_DIAGNOSE_H

#include "hal/compiler/msl/text.h"

/* Appends the diagnostics that lie in the user's files; one inside our headers (whose paths begin
 * with `own_directory`) moves to the place in the user's file that led there. `file` stands for
 * what has no place. Empty when the compiler said nothing useful. */
void msl_diagnose(const char *errors, const char *own_directory, const char *file,
                  struct msl_text *out_message);

/* Whether it says something that only our headers or the translation know. */
bool msl_names_our_own(const char *text, size_t length);

#endif
