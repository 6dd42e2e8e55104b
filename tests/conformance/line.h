/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions in a line. */
#ifndef TESTS_CONFORMANCE_LINE_H
#define TESTS_CONFORMANCE_LINE_H

#include "tests/conformance/suite.h"

/* One after the other: each submission waits for the one before. */
struct suite_line {
    struct hal_device *device;
    struct hal_semaphore *semaphore;
    struct hal_semaphore_value wait, signal;
    struct hal_submit_desc desc;
};

struct suite_line suite_line_begin(struct suite *suite, struct hal_device *device);

/* The waits and signals of the next submission; valid until the call after that. */
const struct hal_submit_desc *suite_line_next(struct suite_line *line);

/* Waits for the last one. */
void suite_line_finish(struct suite *suite, const struct suite_line *line);

#endif
