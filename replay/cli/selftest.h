/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a replay would notice: captures a small run, replays it, then damages it in several ways,
 * each of which must be seen. */
#ifndef REPLAY_SELFTEST_H
#define REPLAY_SELFTEST_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdio.h>

enum { REPLAY_SELFTEST_CHECKS = 6, REPLAY_SELFTEST_BYTES = 240 };

struct replay_selftest_check {
    const char *name;
    bool passed, skipped;
    char detail[REPLAY_SELFTEST_BYTES]; /* what was seen */
};

struct replay_selftest {
    struct replay_selftest_check checks[REPLAY_SELFTEST_CHECKS];
    size_t count;
    bool passed; /* all, and none but those that the device cannot show were skipped */
};

/* On this device; NULL: the CPU with four threads. Blocks. Others than HAL_OK: it could not be
 * done. */
enum hal_status replay_selftest_run(const char *uri,
                                    struct replay_selftest *out_selftest) HAL_CHECKED;

void replay_print_selftest(FILE *file, const struct replay_selftest *selftest);
void replay_print_selftest_json(FILE *file, const struct replay_selftest *selftest);

#endif
