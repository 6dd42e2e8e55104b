/* SPDX-License-Identifier: Apache-2.0 */
/* Twice at most: all submissions one after the other, then the one that was found, command by
 * command. That needs no guess about how errors spread: the first step that differs is seen. */
#include "replay/search/bisect.h"

#include "format/analysis/races.h"
#include "hal/base/mem.h"
#include "replay/plan/frames.h"
#include "replay/player/remote.h"
#include "replay/player/written.h"
#include "replay/search/lockstep.h"
#include "replay/search/repro.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Describing ---------------------------------------------------------------------------- */

static void describe_stack(const struct replay_plan *plan, uint32_t number,
                           struct replay_bisect_result *result)
{
    const struct trace_stack *stack = number ? trace_reader_stack(plan->reader, number) : NULL;
    for (uint32_t i = 0; stack && i < stack->frame_count && i < REPLAY_BISECT_FRAMES; i++)
        replay_frame_name(plan, stack->frames[i], result->frames[result->frame_count++],
                          REPLAY_FRAME_BYTES);
}

static void describe_step(const struct replay_plan *plan, const struct replay_step *step,
                          struct replay_bisect_result *result)
{
    result->narrowed = step->work != NULL;
    replay_step_locate(step, &result->where);
    replay_step_name(plan, step, result->what);
    const char *label = step->work ? replay_object_label(plan, step->commands) : NULL;
    snprintf(result->label, sizeof result->label, "%.150s", label ? label : "");
    if (step->work && step->work->kind == TRACE_DISPATCH)
        memcpy(result->workgroups, TRACE_AS(trace_dispatch, step->work)->workgroup_count,
               sizeof result->workgroups);
    result->frame_count = 0;
    describe_stack(plan, step->submit->head.stack, result);
}

static void describe_outputs(const struct replay_plan *plan,
                             const struct replay_divergence *divergence,
                             struct replay_bisect_result *result)
{
    result->output_count = 0;
    for (size_t i = 0; i < divergence->place_count && i < REPLAY_BISECT_RANGES; i++) {
        const struct replay_place *place = &divergence->places[i];
        struct replay_bisect_range *out = &result->outputs[result->output_count++];
        *out = (struct replay_bisect_range){.offset = place->range.begin,
                                            .bytes = place->range.end - place->range.begin,
                                            .sample_offset = place->sample_offset,
                                            .sample_bytes = place->sample_bytes,
                                            .errors = place->errors};
        replay_object_name(plan, (uint32_t)place->range.buffer, out->buffer);
        memcpy(out->expected, place->expected, sizeof out->expected);
        memcpy(out->actual, place->actual, sizeof out->actual);
    }
}

static void describe_inputs(const struct replay_plan *plan, const struct replay_bytes_list *inputs,
                            struct replay_bisect_result *result)
{
    for (size_t i = 0; i < inputs->count && i < REPLAY_BISECT_RANGES; i++) {
        const struct replay_bytes *input = &inputs->list[i];
        const uint64_t bytes = input->range.end - input->range.begin;
        struct replay_bisect_range *out = &result->inputs[result->input_count++];
        *out = (struct replay_bisect_range){
            .offset = input->range.begin,
            .bytes = bytes,
            .sample_offset = input->range.begin,
            .sample_bytes = bytes < REPLAY_SAMPLE_BYTES ? (uint32_t)bytes : REPLAY_SAMPLE_BYTES};
        replay_object_name(plan, (uint32_t)input->range.buffer, out->buffer);
        memcpy(out->expected, input->data, out->sample_bytes);
    }
}

/* ---- Two devices --------------------------------------------------------------------------- */

struct search {
    const struct replay_bisect *bisect;
    struct replay_bisect_result *result;
    struct trace_reflection reflection;
    struct replay_serialized serialized;
    struct replay_lockstep lockstep;
    struct replay_divergence divergence;
};

static enum hal_status create_players(struct search *s, bool first)
{
    const struct replay_bisect *b = s->bisect;
    struct replay_lockstep *l = &s->lockstep;
    HAL_TRY(hal_add_context(
        replay_player_create(s->serialized.plan, b->candidate, b->candidate_options, &l->candidate),
        "the candidate"));
    HAL_TRY(hal_add_context(
        replay_player_create(s->serialized.plan, b->reference, b->reference_options, &l->reference),
        "the reference"));
    return first && b->prepared ? b->prepared(b->user) : HAL_OK;
}

/* After work that hangs, everything stays as it is. */
static void destroy_players(struct search *s)
{
    struct replay_lockstep *l = &s->lockstep;
    s->result->abandoned = l->report.abandoned || l->reference_report.abandoned;
    if (s->result->abandoned)
        return;
    replay_player_destroy(l->candidate);
    replay_player_destroy(l->reference);
    l->candidate = l->reference = NULL;
    free(l->masked);
    l->masked = NULL;
    replay_bytes_finish(&l->inputs);
    replay_bytes_finish(&l->outputs);
    replay_serialized_finish(&s->serialized);
}

static enum hal_status run_pass(struct search *s, const struct replay_serialized_options *options,
                                bool first)
{
    HAL_TRY(replay_serialized_make(s->bisect->plan, options, &s->serialized));
    s->lockstep = (struct replay_lockstep){.serialized = &s->serialized,
                                           .reflection = &s->reflection,
                                           .ignore_unwritten = s->bisect->unwritten,
                                           .keep = !first};
    HAL_TRY(create_players(s, first));
    const enum hal_status status = replay_lockstep_run(&s->lockstep, &s->divergence);
    s->result->report = s->lockstep.report;
    s->result->report.unwritten_reads += s->lockstep.reference_report.unwritten_reads;
    s->result->compared_bytes += s->divergence.compared_bytes;
    return status;
}

static enum hal_status write_repro(struct search *s)
{
    const struct replay_bisect *b = s->bisect;
    const struct replay_repro minimal = {
        .serialized = &s->serialized,
        .step = &s->serialized.steps[s->divergence.step],
        .inputs = &s->lockstep.inputs,
        .outputs = &s->lockstep.outputs,
        .device = b->reference_options->remote ? &b->reference_options->remote->info
                                               : hal_device_get_info(b->reference),
        .substitutes = b->candidate_options->substitutes,
        .substitute_count = b->candidate_options->substitute_count,
    };
    if (!b->minimal)
        return HAL_OK;
    HAL_TRY(replay_repro_write(&minimal, b->minimal));
    s->result->wrote_repro = true;
    return HAL_OK;
}

static enum hal_status narrow(struct search *s, uint64_t submission)
{
    const struct replay_serialized_options options = {
        .split = REPLAY_SPLIT_SOME,
        .split_submissions = &submission,
        .split_count = 1,
        .has_stop = true,
        .stop = {.submission = submission},
    };
    s->result->tried = true;
    enum hal_status status = run_pass(s, &options, false);
    if (status == HAL_OK && s->divergence.found) {
        const struct replay_step *step = &s->serialized.steps[s->divergence.step];
        describe_step(s->serialized.plan, step, s->result);
        describe_outputs(s->serialized.plan, &s->divergence, s->result);
        describe_inputs(s->serialized.plan, &s->lockstep.inputs, s->result);
        if (step->work)
            status = write_repro(s);
    }
    destroy_players(s);
    return status;
}

/* Bytes that nothing wrote and that reached the host only by copies. */
static void look_at_reads(struct search *s)
{
    struct replay_bisect_result *result = s->result;
    const struct replay_report *report =
        s->lockstep.report.different_reads ? &s->lockstep.report : &s->lockstep.reference_report;
    if (result->found || !s->bisect->unwritten || !report->different_reads)
        return;
    const struct replay_difference *first = &report->first;
    result->found = result->read_back = true;
    snprintf(result->what, sizeof result->what, "the host reads buffer '%.60s' at offset %" PRIu64,
             first->label, first->offset);
}

static enum hal_status search_devices(struct search *s)
{
    struct replay_bisect_result *result = s->result;
    HAL_TRY(replay_reflect(s->bisect->plan, NULL, &s->reflection));
    enum hal_status status = run_pass(s, &(struct replay_serialized_options){0}, true);
    uint64_t submission = 0;
    result->steps = s->serialized.step_count;
    result->found = s->divergence.found;
    if (status == HAL_OK && result->found) {
        const struct replay_step *step = &s->serialized.steps[s->divergence.step];
        submission = step->submit->submission;
        result->steps = s->divergence.step + 1;
        describe_step(s->serialized.plan, step, result);
        describe_outputs(s->serialized.plan, &s->divergence, result);
    }
    look_at_reads(s);
    destroy_players(s);
    if (status == HAL_OK && result->found && !result->read_back && s->bisect->narrow)
        status = narrow(s, submission);
    return status;
}

/* ---- The recording ------------------------------------------------------------------------- */

/* Whether that command alone may write some of the range. */
static enum hal_status may_write(struct search *s, const struct replay_step *step,
                                 const struct replay_touch *range, bool *out_may)
{
    struct replay_accesses writes;
    HAL_TRY(replay_step_accesses(&s->serialized, &s->reflection, step, REPLAY_WRITES, &writes));
    *out_may = replay_accesses_meet(&writes, range);
    replay_accesses_finish(&writes);
    return HAL_OK;
}

/* A change by the host or the device does not show what is right. */
static bool tells(const struct replay_op *op)
{
    return op->action == REPLAY_READ ||
           (op->action == REPLAY_WRITE && op->event->kind != TRACE_MAPPED_CHANGE);
}

/* The range was last known to be right at the read before, or when the host wrote it. */
static bool is_known(const struct replay_op *op, const struct replay_touch *range)
{
    const struct trace_content_event *event = (const void *)op->event;
    return tells(op) && event->buffer == range->buffer && event->offset <= range->begin &&
           range->begin - event->offset < event->size && range->end - event->offset <= event->size;
}

/* Walks back over the steps from where the range is wrong to where it was right, or `first_op`. */
static enum hal_status find_writers(struct search *s, size_t read_op, size_t first_op,
                                    const struct replay_touch *range)
{
    const struct replay_plan *plan = s->serialized.plan;
    struct replay_bisect_result *result = s->result;
    for (size_t op = read_op; op-- > first_op && !is_known(&plan->ops[op], range);) {
        bool may;
        if (plan->ops[op].action != REPLAY_STEP)
            continue;
        const struct replay_step *step = &s->serialized.steps[plan->ops[op].object];
        HAL_TRY(may_write(s, step, range, &may));
        if (may && result->writers++ == 0)
            describe_step(plan, step, result);
    }
    return HAL_OK;
}

/* ---- Where its inputs came from ---- */

/* What the host wrote, or read and found right, is right. */
static enum hal_status forget_known(const struct replay_op *op, struct replay_accesses *wanted)
{
    const struct trace_content_event *event = (const void *)op->event;
    if (!tells(op))
        return HAL_OK;
    return replay_accesses_subtract(wanted,
                                    (struct replay_touch){.buffer = event->buffer,
                                                          .begin = event->offset,
                                                          .end = event->offset + event->size});
}

/* When the step may have written some of `wanted`, what it read is wanted as well. */
static enum hal_status follow_step(struct search *s, const struct replay_step *step,
                                   struct replay_accesses *wanted, bool *out_met)
{
    struct replay_accesses writes, reads;
    *out_met = false;
    HAL_TRY(replay_step_accesses(&s->serialized, &s->reflection, step, REPLAY_WRITES, &writes));
    for (size_t i = 0; i < writes.count; i++)
        *out_met |= replay_accesses_meet(wanted, &writes.list[i]);
    replay_accesses_finish(&writes);
    if (!*out_met)
        return HAL_OK;
    HAL_TRY(replay_step_accesses(&s->serialized, &s->reflection, step, REPLAY_READS, &reads));
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < reads.count && status == HAL_OK; i++)
        status = replay_accesses_append(wanted, reads.list[i]);
    replay_accesses_finish(&reads);
    replay_accesses_merge(wanted);
    return status;
}

/* Walks back from the read. What may have written the byte itself, find_writers has counted. */
static enum hal_status follow_inputs(struct search *s, size_t read_op, size_t first_op,
                                     const struct replay_touch *range)
{
    const struct replay_plan *plan = s->serialized.plan;
    struct replay_bisect_result *result = s->result;
    struct replay_accesses wanted = {0};
    enum hal_status status = replay_accesses_append(&wanted, *range);
    for (size_t op = read_op; op-- > first_op && wanted.count && status == HAL_OK;) {
        bool met = false;
        if (plan->ops[op].action == REPLAY_STEP) {
            const struct replay_step *step = &s->serialized.steps[plan->ops[op].object];
            bool itself = false;
            status = follow_step(s, step, &wanted, &met);
            if (status == HAL_OK && met)
                status = may_write(s, step, range, &itself);
            if (met && !itself) {
                result->ancestors++;
                replay_step_locate(step, &result->first_ancestor);
                replay_step_name(plan, step, result->first_ancestor_what);
            }
        } else {
            status = forget_known(&plan->ops[op], &wanted);
        }
    }
    replay_accesses_finish(&wanted);
    return status;
}

static void describe_read(const struct replay_plan *plan, uint32_t buffer,
                          struct replay_bisect_result *result)
{
    const struct replay_difference *first = &result->report.first;
    struct replay_bisect_range *out = &result->outputs[result->output_count++];
    *out = (struct replay_bisect_range){.offset = first->read_offset,
                                        .bytes = first->read_bytes,
                                        .sample_offset = first->sample_offset,
                                        .sample_bytes = first->sample_bytes,
                                        .errors = first->errors};
    replay_object_name(plan, buffer, out->buffer);
    memcpy(out->expected, first->expected, sizeof out->expected);
    memcpy(out->actual, first->actual, sizeof out->actual);
}

static enum hal_status explain_read(struct search *s, size_t op)
{
    const struct replay_plan *plan = s->serialized.plan;
    const struct trace_content_event *read = (const void *)plan->ops[op].event;
    const uint64_t offset = s->result->report.first.offset;
    const struct replay_touch byte = {.buffer = read->buffer, .begin = offset, .end = offset + 1};
    HAL_TRY(find_writers(s, op, 0, &byte));
    HAL_TRY(follow_inputs(s, op, 0, &byte));
    describe_read(plan, (uint32_t)read->buffer, s->result);
    return HAL_OK;
}

/* ---- Digests after submissions ---- */

/* The step that ends its submission; NULL: the operation does not end one. */
static const struct replay_step *ends_submission(const struct replay_serialized *serialized,
                                                 size_t op)
{
    const struct replay_op *played = &serialized->plan->ops[op];
    if (played->action != REPLAY_STEP)
        return NULL;
    const struct replay_step *step = &serialized->steps[played->object];
    const bool is_last = played->object + 1 == serialized->step_count ||
                         step[1].submit->submission != step->submit->submission;
    return is_last ? step : NULL;
}

static size_t first_op_of(const struct replay_serialized *serialized,
                          const struct replay_step *step)
{
    while (step > serialized->steps && step[-1].submit->submission == step->submit->submission)
        step--;
    return step->submit_op;
}

/* All that the submission found was right: one of its commands is wrong. */
static enum hal_status explain_written(struct search *s, struct replay_player *player, size_t op,
                                       const struct replay_step *step,
                                       const struct replay_touch *range)
{
    struct replay_bisect_result *result = s->result;
    struct replay_bisect_range *out = &result->outputs[result->output_count++];
    const uint64_t bytes = range->end - range->begin;
    const uint8_t *data;
    *out = (struct replay_bisect_range){
        .offset = range->begin,
        .bytes = bytes,
        .sample_offset = range->begin,
        .sample_bytes = bytes < REPLAY_SAMPLE_BYTES ? (uint32_t)bytes : REPLAY_SAMPLE_BYTES,
        .by_digest = true};
    replay_object_name(s->serialized.plan, (uint32_t)range->buffer, out->buffer);
    HAL_TRY(replay_memory_read(player, (uint32_t)range->buffer, range->begin, out->sample_bytes,
                               &data));
    memcpy(out->actual, data, out->sample_bytes);
    HAL_TRY(replay_memory_read_end(player));
    const size_t first_op = first_op_of(&s->serialized, step);
    HAL_TRY(find_writers(s, op + 1, first_op, range));
    if (!result->writers) /* the recording knew of more that it may write */
        describe_step(s->serialized.plan, step, result);
    return follow_inputs(s, op + 1, first_op, range);
}

static enum hal_status compare_written(struct search *s, struct replay_player *player, size_t op,
                                       struct replay_written *written)
{
    const struct replay_step *step = ends_submission(&s->serialized, op);
    if (!step)
        return HAL_OK;
    HAL_TRY(replay_written_compare(player, step->submit->submission, written));
    if (!written->differs)
        return HAL_OK;
    s->result->found = true;
    return explain_written(s, player, op, step, &written->first);
}

static bool is_looked_at(const struct replay_op *op)
{
    return op->action == REPLAY_READ || op->action == REPLAY_STEP;
}

/* All commands, or submissions, one by one; the first digest or read that differs ends it. */
static enum hal_status run_against_recording(struct search *s, struct replay_player *player)
{
    struct replay_bisect_result *result = s->result;
    struct replay_report *report = &result->report;
    const struct replay_plan *plan = s->serialized.plan;
    struct replay_written written = {0};
    replay_player_begin(player, report);
    enum hal_status status = HAL_OK;
    for (size_t op = 0; op < plan->op_count && status == HAL_OK && !result->found; op++) {
        if (op + 1 < plan->op_count && !is_looked_at(&plan->ops[op]))
            continue; /* it is played together with the next one that is */
        status = replay_player_until(player, op + 1);
        if (status == HAL_OK && report->different_reads) {
            result->found = true;
            status = explain_read(s, op);
        } else if (status == HAL_OK) {
            status = compare_written(s, player, op, &written);
        }
    }
    const bool found = result->found;
    result->steps = s->serialized.step_count;
    result->compared_bytes = report->compared_bytes + written.bytes;
    result->written_ranges = written.ranges;
    result->written_unknown = written.unknown;
    result->written_unjudged = written.unjudged;
    const enum hal_status ended = replay_player_end(player, status, status == HAL_OK && !found);
    s->result->abandoned = report->abandoned;
    return status != HAL_OK ? status : ended;
}

static enum hal_status search_recording(struct search *s)
{
    const struct replay_bisect *b = s->bisect;
    const struct replay_serialized_options options = {.split = b->narrow ? REPLAY_SPLIT_ALL
                                                                         : REPLAY_SPLIT_NONE};
    struct replay_player *player = NULL;
    HAL_TRY(replay_reflect(b->plan, b->candidate_options, &s->reflection));
    HAL_TRY(replay_serialized_make(b->plan, &options, &s->serialized));
    enum hal_status status =
        replay_player_create(s->serialized.plan, b->candidate, b->candidate_options, &player);
    if (status == HAL_OK && b->prepared)
        status = b->prepared(b->user);
    if (status == HAL_OK)
        status = run_against_recording(s, player);
    if (s->result->abandoned)
        return status;
    replay_player_destroy(player);
    replay_serialized_finish(&s->serialized);
    return status;
}

/* ---- Races -------------------------------------------------------------------------------- */

static void describe_race(const struct replay_plan *plan, const struct trace_race *race,
                          struct replay_bisect_result *result)
{
    char name[TRACE_RACE_NAME_BYTES];
    struct replay_bisect_race *out = &result->races[result->race_count];
    *out = (struct replay_bisect_race){
        .offset = race->begin, .bytes = race->end - race->begin, .declared = race->declared};
    snprintf(out->before, sizeof out->before, "%.*s", REPLAY_NAME_BYTES - 1,
             trace_race_side_name(&race->before, plan->reader, name));
    snprintf(out->after, sizeof out->after, "%.*s", REPLAY_NAME_BYTES - 1,
             trace_race_side_name(&race->after, plan->reader, name));
    snprintf(out->buffer, sizeof out->buffer, "buffer %" PRIu64, race->buffer);
    for (uint32_t i = 1; i < plan->object_count; i++) {
        if (plan->objects[i].kind == REPLAY_BUFFER && plan->objects[i].id == race->buffer)
            replay_object_name(plan, i, out->buffer);
    }
}

static enum hal_status find_races_of(const struct replay_plan *plan,
                                     const struct hal_locator *suspect,
                                     struct replay_bisect_result *result)
{
    const uint32_t dispatch = suspect->has_dispatch ? suspect->dispatch : TRACE_NO_COMMAND;
    struct trace_races races;
    trace_races_begin(&races);
    races.inside_only = plan->incomplete[0];
    races.has_suspect = true;
    races.suspect = suspect->submission;
    const enum hal_status status = trace_races_find(plan->reader, &races);
    for (size_t i = 0; i < races.list_count && status == HAL_OK; i++) {
        const struct trace_race *race = &races.list[i];
        if (!trace_race_side_is(&race->before, suspect->submission, dispatch) &&
            !trace_race_side_is(&race->after, suspect->submission, dispatch))
            continue;
        if (result->race_count < REPLAY_BISECT_RACES)
            describe_race(plan, race, result);
        result->race_count++;
    }
    trace_races_finish(&races);
    return status;
}

/* A kernel is not to blame for what a race made of its inputs. */
static enum hal_status find_races(const struct replay_plan *plan,
                                  struct replay_bisect_result *result)
{
    if (!result->found || !result->what[0] || result->read_back)
        return HAL_OK;
    HAL_TRY(find_races_of(plan, &result->where, result));
    return result->race_count || !result->ancestors
               ? HAL_OK
               : find_races_of(plan, &result->first_ancestor, result);
}

enum hal_status replay_bisect_run(const struct replay_bisect *bisect,
                                  struct replay_bisect_result *out_result)
{
    struct search *s = hal_alloc(1, sizeof *s);
    *out_result = (struct replay_bisect_result){0};
    if (!s)
        return hal_fail(HAL_NO_MEMORY, "no memory for a search");
    s->bisect = bisect;
    s->result = out_result;
    const bool has_reference =
        bisect->reference || (bisect->reference_options && bisect->reference_options->remote);
    enum hal_status status = has_reference ? search_devices(s) : search_recording(s);
    if (status == HAL_OK)
        status = find_races(bisect->plan, out_result);
    if (out_result->abandoned)
        return status;
    if (s->serialized.plan)
        destroy_players(s);
    trace_reflection_finish(&s->reflection);
    free(s);
    return status;
}

enum replay_exit replay_bisect_exit_code(const struct replay_bisect_result *result,
                                         bool is_recorded)
{
    if (result->found)
        return REPLAY_EXIT_DIFFERENT;
    if (result->compared_bytes == 0 || result->report.unwritten_reads ||
        (is_recorded && result->report.doubtful_reads))
        return REPLAY_EXIT_INCOMPARABLE;
    return REPLAY_EXIT_SAME;
}
