/* SPDX-License-Identifier: Apache-2.0 */
/* What the viewer says without a terminal: the same numbers as text and as JSON. Text from the
 * file is cleaned of control characters. */
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
    int screen; /* columns of the terminal, for which sentences are broken; 0: it is none */
    bool ascii; /* no other characters */
    int colors; /* of the timeline; as in view_text_form */
    bool json;
};

/* HAL_IO: the file cannot be written. */
enum hal_status view_report_write(const struct view_model *model, enum view_report report,
                                  const struct view_report_options *options,
                                  FILE *file) HAL_CHECKED;

/* Two traces side by side. HAL_IO as above. */
enum hal_status view_report_compare(const struct view_model *first, const struct view_model *second,
                                    const struct view_report_options *options,
                                    FILE *file) HAL_CHECKED;

/* The same as one JSON object, for json options; times are nanoseconds. */
enum hal_status view_report_json(const struct view_model *model, enum view_report report,
                                 FILE *file) HAL_CHECKED;

#endif
