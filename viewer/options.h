/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hal-view. */
#ifndef VIEWER_OPTIONS_H
#define VIEWER_OPTIONS_H

#include "viewer/findings/condition.h"
#include "viewer/report/report.h"

enum { VIEW_MAX_CONDITIONS = 32 };

enum { VIEW_EXIT_UNREADABLE = 3 }; /* or the output cannot be written */

struct view_options {
    const char *path, *keys, *svg;
    const char *diff; /* what `path` is compared with; NULL: nothing */
    bool reports[VIEW_REPORT_COUNT];
    bool print, compare, judge_only, json, dump, ascii, utf8, no_mouse, frame_count, follow, plain;
    int width, columns, rows;
    int screen;      /* columns of the terminal that is written to; 0: it is none */
    int colors;      /* of the screen; -1: what the terminal has */
    int text_colors; /* of frames and timelines that are printed; 0: none */
    struct view_condition conditions[VIEW_MAX_CONDITIONS];
    size_t condition_count;
};

/* Prints what --help and --version ask for, and exits then. HAL_INVALID: the message says what is
 * wrong. Text is borrowed from argv. */
enum hal_status view_options_parse(char **argv, struct view_options *o) HAL_CHECKED;

#endif
