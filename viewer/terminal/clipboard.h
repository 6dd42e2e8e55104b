/* SPDX-License-Identifier: Apache-2.0 */
/* Text for the clipboard of whoever sits at the terminal. */
#ifndef VIEWER_CLIPBOARD_H
#define VIEWER_CLIPBOARD_H

#include <stdio.h>

/* By OSC 52; inside of screen it is handed through to the terminal around it, in pieces that screen
 * takes. Whether a terminal allows it cannot be asked. */
void view_clipboard_write(FILE *out, const char *text);

#endif
