/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text to the clipboard of the terminal's user. */
#ifndef VIEWER_CLIPBOARD_H
#define VIEWER_CLIPBOARD_H

#include <stdio.h>

/* Uses OSC 52; inside screen it is passed through to the outer terminal, in pieces that screen
 * accepts. A terminal cannot be asked whether it allows this. */
void view_clipboard_write(FILE *out, const char *text);

#endif
