/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as text and as JSON. Removes control characters from text of the file. */
#ifndef VIEWER_REPORT_H
#define VIEWER_REPORT_H

#include "viewer/describe/describe.h"
#include "viewer/model/model.h"

#include <stdio.h>

enum view_report {
    VIEW_REPORT_SUMMARY,
    VIEW_REPORT_TIMELINE,
    VIEW_REPORT_SUBMISSIONS,
    VIEW_REPORT_GAPS,
    VIEW_REPORT_FINDINGS,
    VIEW_REPORT_KERNELS,
    VIEW_REPORT_MEMORY,
    VIEW_REPORT_ITERATIONS,
    VIEW_REPORT_COUNT
};
extern const char *const view_report_names[VIEW_REPORT_COUNT];

struct view_report_options {
    int width;  /* columns of the timeline */
    int screen; /* columns of the terminal, for line breaks; 0: no terminal */
    bool ascii; /* ASCII characters only */
    int colors; /* of the timeline, as in view_text_form */
    bool json;
};

/* HAL_IO: the file cannot be written. */
enum hal_status view_report_write(const struct view_model *model, enum view_report report,
                                  const struct view_report_options *options,
                                  FILE *file) HAL_CHECKED;

/* Compares two traces. HAL_IO as above. */
enum hal_status view_report_compare(const struct view_model *first, const struct view_model *second,
                                    const struct view_report_options *options,
                                    FILE *file) HAL_CHECKED;

/* The same as one JSON object, for json options; times in nanoseconds. */
enum hal_status view_report_json(const struct view_model *model, enum view_report report,
                                 FILE *file) HAL_CHECKED;

#endif
