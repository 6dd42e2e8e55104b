/* SPDX-License-Identifier: Apache-2.0 */
/* Line mode, for screen readers, simple terminals and scripts: reads commands as words, prints
 * lines of text. */
#ifndef VIEWER_PLAIN_H
#define VIEWER_PLAIN_H

#include "viewer/ui/view.h"

struct view_plain_options {
    int width; /* columns per line */
    bool ascii;
    bool prompt; /* input is interactive */
};

/* Runs until the input ends or says quit. HAL_IO: the output cannot be written; HAL_NO_MEMORY. */
enum hal_status view_plain(struct view *view, const struct view_plain_options *options, FILE *in,
                           FILE *out) HAL_CHECKED;

#endif
