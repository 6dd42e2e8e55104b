/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/search/paired_run.h"

#include "hal/base/mem.h"
#include "replay/player/player.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct paired_state {
    const struct replay_paired_run *paired;
    const struct replay_plan_info *plan;
    struct replay_paired_result *result;
    uint64_t random;
    bool has_first;
};

static enum hal_status run(struct paired_state *s, struct replay_player *player,
                           uint64_t *different_runs, int64_t *out_ns)
{
    struct replay_report report;
    const enum hal_status status = replay_player_run(player, &report);
    const bool differs = replay_exit_code(s->plan, &report) == REPLAY_EXIT_DIFFERENT;
    const bool of_variant = player == s->paired->variant;
    if (status != HAL_OK ||
        (of_variant && (!s->has_first || (differs && !s->result->first.different_reads &&
                                          !s->result->first.different_outcomes))))
        s->result->first = report;
    s->has_first |= of_variant;
    *different_runs += differs;
    *out_ns = report.total_ns;
    return status;
}

static enum hal_status run_pair(struct paired_state *s, int64_t *base_ns, int64_t *variant_ns)
{
    const struct replay_paired_run *paired = s->paired;
    const bool variant_first = next_random(&s->random) & 1;
    if (variant_first)
        HAL_TRY(run(s, paired->variant, &s->result->different_variant, variant_ns));
    HAL_TRY(run(s, paired->base, &s->result->different_base, base_ns));
    if (!variant_first)
        HAL_TRY(run(s, paired->variant, &s->result->different_variant, variant_ns));
    s->result->pairs++;
    if (paired->progress)
        paired->progress(paired->user, s->result->pairs, paired->pairs + paired->shuffled);
    return HAL_OK;
}

enum hal_status replay_paired_sum(int64_t *base_ns, int64_t *variant_ns, size_t pairs,
                                  struct replay_paired_result *result)
{
    double *ratios = hal_alloc(pairs, sizeof *ratios);
    if (!ratios)
        return hal_fail(HAL_NO_MEMORY, "no memory for the gains of %zu pairs", pairs);
    for (size_t i = 0; i < pairs; i++)
        ratios[i] = (double)base_ns[i] / (double)(variant_ns[i] > 0 ? variant_ns[i] : 1);
    result->gain = trace_interval_of(ratios, pairs);
    result->base = replay_times_of(base_ns, pairs);
    result->variant = replay_times_of(variant_ns, pairs);
    free(ratios);
    return HAL_OK;
}

static enum hal_status run_pairs(struct paired_state *s)
{
    const size_t pairs = (size_t)s->paired->pairs;
    int64_t *base_ns = hal_alloc(pairs, sizeof *base_ns);
    int64_t *variant_ns = hal_alloc(pairs, sizeof *variant_ns);
    enum hal_status status = HAL_OK;
    if (!base_ns || !variant_ns)
        status = hal_fail(HAL_NO_MEMORY, "no memory for the times of %zu pairs", pairs);
    for (size_t i = 0; i < pairs && status == HAL_OK; i++)
        status = run_pair(s, &base_ns[i], &variant_ns[i]);
    if (status == HAL_OK)
        status = replay_paired_sum(base_ns, variant_ns, pairs, s->result);
    free(base_ns);
    free(variant_ns);
    return status;
}

enum hal_status replay_paired_run_all(const struct replay_paired_run *paired,
                                      const struct replay_plan_info *plan,
                                      struct replay_paired_result *out_result)
{
    *out_result = (struct replay_paired_result){0};
    struct paired_state s = {.paired = paired,
                             .plan = plan,
                             .result = out_result,
                             .random = paired->seed ? paired->seed : 1};
    HAL_TRY(run_pairs(&s));
    enum hal_status status = HAL_OK;
    for (uint64_t i = 0; i < paired->shuffled && status == HAL_OK; i++) {
        int64_t unused_ns;
        paired->variant->shuffle = next_random(&s.random) | 1;
        status = run(&s, paired->variant, &out_result->different_shuffled, &unused_ns);
        out_result->shuffled += status == HAL_OK;
        if (paired->progress)
            paired->progress(paired->user, paired->pairs + i + 1, paired->pairs + paired->shuffled);
    }
    paired->variant->shuffle = 0;
    return status;
}
