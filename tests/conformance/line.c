/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions in a line. */
#include "tests/conformance/line.h"

struct suite_line suite_line_begin(struct suite *suite, struct hal_device *device)
{
    return (struct suite_line){.device = device,
                               .semaphore = suite_semaphore_of(suite, device, "line", 0)};
}

const struct hal_submit_desc *suite_line_next(struct suite_line *line)
{
    line->wait = (struct hal_semaphore_value){line->semaphore, line->signal.value};
    line->signal = (struct hal_semaphore_value){line->semaphore, line->wait.value + 1};
    line->desc = (struct hal_submit_desc){.waits = &line->wait,
                                          .wait_count = line->wait.value > 0,
                                          .signals = &line->signal,
                                          .signal_count = 1};
    return &line->desc;
}

void suite_line_finish(struct suite *suite, const struct suite_line *line)
{
    suite_wait(suite, line->semaphore, line->signal.value);
}
