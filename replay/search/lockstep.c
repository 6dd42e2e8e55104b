/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/search/lockstep.h"

#include "hal/base/mem.h"

#include <inttypes.h>

enum { CHUNK_BYTES = 16 << 20 };

/* ---- Bytes --------------------------------------------------------------------------------- */

void replay_bytes_finish(struct replay_bytes_list *bytes)
{
    for (size_t i = 0; i < bytes->count; i++)
        free(bytes->list[i].data);
    free(bytes->list);
    *bytes = (struct replay_bytes_list){0};
}

static enum hal_status take_range(struct replay_player *player, const struct replay_touch *range,
                                  struct replay_bytes *out)
{
    const uint64_t bytes = range->end - range->begin;
    const uint8_t *data;
    out->range = *range;
    out->data = malloc(bytes ? (size_t)bytes : 1);
    if (!out->data)
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of a buffer", bytes);
    HAL_TRY(replay_memory_read(player, (uint32_t)range->buffer, range->begin, bytes, &data));
    memcpy(out->data, data, (size_t)bytes);
    return replay_memory_read_end(player);
}

enum hal_status replay_bytes_take(struct replay_player *player,
                                  const struct replay_accesses *ranges,
                                  struct replay_bytes_list *out_bytes)
{
    replay_bytes_finish(out_bytes);
    out_bytes->list = hal_alloc(ranges->count, sizeof *out_bytes->list);
    if (!out_bytes->list)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu ranges", ranges->count);
    for (; out_bytes->count < ranges->count; out_bytes->count++) {
        const enum hal_status status =
            take_range(player, &ranges->list[out_bytes->count], &out_bytes->list[out_bytes->count]);
        if (status != HAL_OK) {
            out_bytes->count++;
            return status;
        }
    }
    return HAL_OK;
}

enum hal_status replay_step_accesses(const struct replay_serialized *serialized,
                                     struct trace_reflection *reflection,
                                     const struct replay_step *step, uint32_t kinds,
                                     struct replay_accesses *out_accesses)
{
    const struct replay_plan *plan = serialized->plan;
    const uint64_t *buffers = trace_submit_command_buffers(step->submit);
    *out_accesses = (struct replay_accesses){0};
    enum hal_status status = HAL_OK;
    if (step->work)
        status = replay_accesses_add(out_accesses, reflection, &plan->objects[step->piece], kinds);
    for (uint32_t i = 0; !step->work && i < step->submit->command_buffer_count; i++) {
        if (status == HAL_OK)
            status =
                replay_accesses_add(out_accesses, reflection, &plan->objects[buffers[i]], kinds);
    }
    if (status == HAL_OK)
        replay_accesses_merge(out_accesses);
    else
        replay_accesses_finish(out_accesses);
    return status;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static void add_place(const struct replay_touch *range, const struct replay_pair *pair,
                      const struct replay_errors *errors, struct replay_divergence *divergence)
{
    struct replay_place *last =
        divergence->place_count ? &divergence->places[divergence->place_count - 1] : NULL;
    divergence->found = true;
    if (last && last->range.buffer == range->buffer && last->range.begin == range->begin) {
        replay_errors_add(&last->errors, errors);
        return;
    }
    if (divergence->place_count == REPLAY_MOST_PLACES)
        return;
    const uint64_t at = errors->first_wrong;
    const uint64_t left = pair->bytes - at;
    struct replay_place *place = &divergence->places[divergence->place_count++];
    *place = (struct replay_place){.range = *range,
                                   .errors = *errors,
                                   .sample_offset = pair->offset + at,
                                   .sample_bytes = left < REPLAY_SAMPLE_BYTES
                                                       ? (uint32_t)left
                                                       : (uint32_t)REPLAY_SAMPLE_BYTES};
    memcpy(place->expected, pair->expected + at, place->sample_bytes);
    memcpy(place->actual, pair->actual + at, place->sample_bytes);
}

/* Where both have their own fill, what is expected; else what there is. */
static enum hal_status mask_unwritten(struct replay_lockstep *lockstep, const uint8_t *expected,
                                      const uint8_t **actual, uint64_t bytes)
{
    const uint8_t wanted = lockstep->reference->fill, got = lockstep->candidate->fill;
    if (!lockstep->masked)
        lockstep->masked = malloc(CHUNK_BYTES);
    if (!lockstep->masked)
        return hal_fail(HAL_NO_MEMORY, "no memory for %d bytes", (int)CHUNK_BYTES);
    for (uint64_t i = 0; i < bytes; i++) {
        const bool unwritten = expected[i] == wanted && (*actual)[i] == got;
        lockstep->masked[i] = unwritten ? expected[i] : (*actual)[i];
    }
    *actual = lockstep->masked;
    return HAL_OK;
}

static enum hal_status compare_piece(struct replay_lockstep *lockstep,
                                     const struct replay_touch *range, uint64_t offset,
                                     uint64_t bytes, struct replay_divergence *divergence)
{
    struct replay_player *candidate = lockstep->candidate, *reference = lockstep->reference;
    const struct replay_options *options = &candidate->options;
    const uint32_t buffer = (uint32_t)range->buffer;
    const uint8_t *actual, *expected;
    HAL_TRY(replay_memory_read(candidate, buffer, offset, bytes, &actual));
    enum hal_status status = replay_memory_read(reference, buffer, offset, bytes, &expected);
    if (status == HAL_OK && lockstep->ignore_unwritten)
        status = mask_unwritten(lockstep, expected, &actual, bytes);
    if (status == HAL_OK && memcmp(expected, actual, (size_t)bytes) != 0) {
        const struct replay_pair pair = {offset, bytes, expected, actual};
        struct replay_errors errors;
        const enum replay_type type = replay_type_of(options->types, options->type_count,
                                                     replay_object_label(candidate->plan, buffer),
                                                     candidate->plan->objects[buffer].id);
        replay_compare_bytes(&options->tolerance, type, &pair, &errors);
        if (errors.wrong)
            add_place(range, &pair, &errors, divergence);
    }
    divergence->compared_bytes += bytes;
    if (status == HAL_OK)
        status = replay_memory_read_end(reference);
    HAL_TRY(replay_memory_read_end(candidate));
    return status;
}

static bool is_alive(const struct replay_lockstep *lockstep, uint64_t buffer)
{
    return lockstep->candidate->live[buffer].buffer && lockstep->reference->live[buffer].buffer;
}

static enum hal_status compare_step(struct replay_lockstep *lockstep,
                                    const struct replay_step *step,
                                    struct replay_divergence *divergence)
{
    struct replay_accesses writes;
    HAL_TRY(replay_step_accesses(lockstep->serialized, lockstep->reflection, step, REPLAY_WRITES,
                                 &writes));
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < writes.count && status == HAL_OK; i++) {
        const struct replay_touch *range = &writes.list[i];
        for (uint64_t at = range->begin; at < range->end && status == HAL_OK;) {
            const uint64_t left = range->end - at;
            const uint64_t bytes = left < CHUNK_BYTES ? left : CHUNK_BYTES;
            if (is_alive(lockstep, range->buffer))
                status = compare_piece(lockstep, range, at, bytes, divergence);
            at += bytes;
        }
    }
    if (status == HAL_OK && lockstep->keep && step->work && divergence->found)
        status = replay_bytes_take(lockstep->reference, &writes, &lockstep->outputs);
    replay_accesses_finish(&writes);
    return status;
}

/* ---- Running ------------------------------------------------------------------------------- */

static enum hal_status keep_inputs(struct replay_lockstep *lockstep, const struct replay_step *step)
{
    struct replay_accesses accesses;
    if (!lockstep->keep || !step->work)
        return HAL_OK;
    HAL_TRY(replay_step_accesses(lockstep->serialized, lockstep->reflection, step,
                                 REPLAY_READS | REPLAY_WRITES, &accesses));
    const enum hal_status status =
        replay_bytes_take(lockstep->candidate, &accesses, &lockstep->inputs);
    replay_accesses_finish(&accesses);
    return status;
}

static enum hal_status run_both(struct replay_lockstep *lockstep, size_t until)
{
    HAL_TRY(hal_add_context(replay_player_until(lockstep->candidate, until), "the candidate"));
    return hal_add_context(replay_player_until(lockstep->reference, until), "the reference");
}

static enum hal_status run_steps(struct replay_lockstep *lockstep,
                                 struct replay_divergence *divergence)
{
    const struct replay_serialized *serialized = lockstep->serialized;
    for (size_t i = 0; i < serialized->step_count && !divergence->found; i++) {
        const struct replay_step *step = &serialized->steps[i];
        HAL_TRY(run_both(lockstep, step->submit_op));
        HAL_TRY(keep_inputs(lockstep, step));
        HAL_TRY(run_both(lockstep, step->end_op));
        HAL_TRY(compare_step(lockstep, step, divergence));
        divergence->step = i;
    }
    return divergence->found ? HAL_OK : run_both(lockstep, serialized->plan->op_count);
}

enum hal_status replay_lockstep_run(struct replay_lockstep *lockstep,
                                    struct replay_divergence *out_divergence)
{
    *out_divergence = (struct replay_divergence){0};
    replay_player_begin(lockstep->candidate, &lockstep->report);
    replay_player_begin(lockstep->reference, &lockstep->reference_report);
    const enum hal_status status = run_steps(lockstep, out_divergence);
    const bool whole = status == HAL_OK && !out_divergence->found;
    const enum hal_status candidate = replay_player_end(lockstep->candidate, status, whole);
    const enum hal_status reference = replay_player_end(lockstep->reference, status, whole);
    return status != HAL_OK ? status : candidate != HAL_OK ? candidate : reference;
}
