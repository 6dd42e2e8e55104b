/* SPDX-License-Identifier: Apache-2.0 */
/* Measures and verifies two ways to do the same work: pairs of runs, in random order within each
 * pair, so that disturbances of the machine affect both; then runs of the second way with calls at
 * random times, since a missing ordering shows only occasionally. */
#ifndef REPLAY_PAIRED_RUN_H
#define REPLAY_PAIRED_RUN_H

#include "replay/compare/exit_code.h"

/* The result of trying another way to do the work. */
struct replay_paired_result {
    uint64_t pairs, shuffled;                   /* completed runs of both, and of the other way */
    uint64_t different_base, different_variant; /* runs of the pairs */
    uint64_t different_shuffled;                /* runs */
    struct replay_times base, variant;
    struct trace_interval gain; /* time before / time after */
    struct replay_report first; /* of the other way's first run that differed, else its first */
};

struct replay_paired_run {
    struct replay_player *base, *variant;
    uint64_t pairs;    /* at least 6, for an interval */
    uint64_t shuffled; /* runs with random call times, to verify */
    uint64_t seed;
    void (*progress)(void *user, uint64_t done, uint64_t most); /* NULL: none */
    void *user;
};

/* Blocks. HAL_OK: all runs ended, with or without differences. Otherwise like replay_player_run;
 * the result holds what was completed, and `first` the report of the failed run. */
enum hal_status replay_paired_run_all(const struct replay_paired_run *paired,
                                      const struct replay_plan_info *plan,
                                      struct replay_paired_result *out_result) HAL_CHECKED;

/* The gain of pairs with these times; sorts the arrays. */
enum hal_status replay_paired_sum(int64_t *base_ns, int64_t *variant_ns, size_t pairs,
                                  struct replay_paired_result *result) HAL_CHECKED;

#endif
