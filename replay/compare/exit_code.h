/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets runs: the statistics of their times, and the exit status. Private to replay/. */
#ifndef REPLAY_EXIT_CODE_H
#define REPLAY_EXIT_CODE_H

#include "format/analysis/statistics.h"
#include "replay/replay.h"

enum replay_exit {
    REPLAY_EXIT_SAME = 0,
    REPLAY_EXIT_DIFFERENT = 1, /* also: work failed or hung */
    REPLAY_EXIT_USAGE = 2,
    REPLAY_EXIT_UNREADABLE = 3,
    REPLAY_EXIT_UNSUPPORTED = 4,
    REPLAY_EXIT_INCOMPARABLE = 5, /* replayed, but not everything was comparable */
};

struct replay_times {
    int64_t min_ns, median_ns, max_ns, p99_ns;
};

/* Sorts the array. */
struct replay_times replay_times_of(int64_t *values, size_t count);

/* The exit status of a completed run, from its report and what could not be compared. */
enum replay_exit replay_exit_code(const struct replay_plan_info *plan,
                                  const struct replay_report *report);

/* Whether the whole interval is slower by more than the threshold. */
bool replay_is_slower(const struct trace_interval *gain, double threshold_percent);

#endif
