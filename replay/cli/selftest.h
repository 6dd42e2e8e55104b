/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a replay detects errors: captures a small run, replays it, then damages it in
 * several ways, each of which must be detected. */
#ifndef REPLAY_SELFTEST_H
#define REPLAY_SELFTEST_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdio.h>

enum { REPLAY_SELFTEST_CHECKS = 6, REPLAY_SELFTEST_BYTES = 240 };

struct replay_selftest_check {
    const char *name;
    bool passed, skipped;
    char detail[REPLAY_SELFTEST_BYTES]; /* what was observed */
};

struct replay_selftest {
    struct replay_selftest_check checks[REPLAY_SELFTEST_CHECKS];
    size_t count;
    bool passed; /* all passed, and only those that the device cannot show were skipped */
};

/* Runs on this device; NULL: the CPU with four threads. Blocks. Not HAL_OK: it could not run. */
enum hal_status replay_selftest_run(const char *uri,
                                    struct replay_selftest *out_selftest) HAL_CHECKED;

void replay_print_selftest(FILE *file, const struct replay_selftest *selftest);
void replay_print_selftest_json(FILE *file, const struct replay_selftest *selftest);

#endif
