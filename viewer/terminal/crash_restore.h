/* SPDX-License-Identifier: Apache-2.0 */
/* A crash leaves the terminal as it was found: modes put back, a sequence sent, and the crash goes
 * on as it would have. One terminal, the standard input and output. */
#ifndef VIEWER_CRASH_RESTORE_H
#define VIEWER_CRASH_RESTORE_H

#include <stdbool.h>

/* Keeps the terminal's modes as they are now. False: standard input is no terminal. */
bool view_crash_restore_keep_modes(void);

/* From now on a crash sends the sequence, which is copied, and restores the modes. */
void view_crash_restore_prepare(const char *sequence);

/* There is nothing to restore any more. */
void view_crash_restore_end(void);

#endif
