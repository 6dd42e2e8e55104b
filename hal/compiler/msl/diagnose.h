/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the compiler's output to messages for the author of a kernel. Private to the folder. */
#ifndef HAL_MSL_DIAGNOSE_H
#define HAL_MSL_DIAGNOSE_H

#include "hal/compiler/msl/text.h"

/* Appends the diagnostics in the user's files; one inside our headers (whose paths begin with
 * `own_directory`) moves to the position in the user's file that led there. `file` is used for
 * diagnostics without position. Empty if there was nothing useful. */
void msl_diagnose(const char *errors, const char *own_directory, const char *file,
                  struct msl_text *out_message);

/* Whether the text contains names that exist only in our headers or translation. */
bool msl_names_our_own(const char *text, size_t length);

#endif
