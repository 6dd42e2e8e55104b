/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/compare/exit_code.h"

#include "hal/base/order.h"

#include <stdlib.h>

HAL_COMPARE_VALUES(compare_times, int64_t)

struct replay_times replay_times_of(int64_t *values, size_t count)
{
    if (count == 0)
        return (struct replay_times){0};
    qsort(values, count, sizeof *values, compare_times);
    const int64_t low = values[(count - 1) / 2], high = values[count / 2];
    return (struct replay_times){.min_ns = values[0],
                                 .median_ns = low + (high - low) / 2,
                                 .p99_ns = values[(count * 99 + 99) / 100 - 1],
                                 .max_ns = values[count - 1]};
}

enum replay_exit replay_exit_code(const struct replay_plan_info *plan,
                                  const struct replay_report *report)
{
    if (report->different_reads || report->different_outcomes)
        return REPLAY_EXIT_DIFFERENT;
    if (report->compared_reads == 0 || report->unjudged_reads || report->unmet_losses ||
        report->doubtful_reads || report->unwritten_reads || plan->unrecorded_reads ||
        plan->skipped_reads || plan->incomplete[0])
        return REPLAY_EXIT_INCOMPARABLE;
    return REPLAY_EXIT_SAME;
}

bool replay_is_slower(const struct trace_interval *gain, double threshold_percent)
{
    return gain->high < 1 / (1 + threshold_percent / 100);
}
