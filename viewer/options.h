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
    const char *diff; /* trace to compare `path` with; NULL: none */
    bool reports[VIEW_REPORT_COUNT];
    bool print, compare, conditions_only, json, dump, ascii, utf8, no_mouse, frame_count, follow,
        plain;
    int width, columns, rows;
    int screen;      /* columns of the output terminal; 0: no terminal */
    int colors;      /* of the screen; -1: the terminal's */
    int text_colors; /* of printed frames and timelines; 0: none */
    struct view_condition conditions[VIEW_MAX_CONDITIONS];
    size_t condition_count;
};

/* For --help and --version, prints them and exits. HAL_INVALID. Text is borrowed from argv. */
enum hal_status view_options_parse(char **argv, struct view_options *o) HAL_CHECKED;

#endif
