/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the terminal on a crash: resets its modes, sends a sequence, and lets the crash proceed.
 * For one terminal, standard input and output. */
#ifndef VIEWER_CRASH_RESTORE_H
#define VIEWER_CRASH_RESTORE_H

#include <stdbool.h>

/* Saves the terminal's current modes. False: standard input is no terminal. */
bool view_crash_restore_keep_modes(void);

/* From now on a crash sends the sequence (copied) and restores the modes. */
void view_crash_restore_prepare(const char *sequence);

/* There is nothing to restore any more. */
void view_crash_restore_end(void);

#endif
