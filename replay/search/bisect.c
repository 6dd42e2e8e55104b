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
#include "replay/search/minimal.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Describing ---------------------------------------------------------------------------- */

static void describe_stack(const struct replay_plan *plan, uint32_t number,
                           struct replay_finding *finding)
{
    const struct trace_stack *stack = number ? trace_reader_stack(plan->reader, number) : NULL;
    for (uint32_t i = 0; stack && i < stack->frame_count && i < REPLAY_FINDING_FRAMES; i++)
        replay_frame_name(plan, stack->frames[i], finding->frames[finding->frame_count++],
                          REPLAY_FRAME_BYTES);
}

static void describe_step(const struct replay_plan *plan, const struct replay_step *step,
                          struct replay_finding *finding)
{
    finding->narrowed = step->work != NULL;
    replay_step_locate(step, &finding->where);
    replay_step_name(plan, step, finding->what);
    const char *label = step->work ? replay_object_label(plan, step->commands) : NULL;
    snprintf(finding->label, sizeof finding->label, "%.150s", label ? label : "");
    if (step->work && step->work->kind == TRACE_DISPATCH)
        memcpy(finding->workgroups, TRACE_AS(trace_dispatch, step->work)->workgroup_count,
               sizeof finding->workgroups);
    finding->frame_count = 0;
    describe_stack(plan, step->submit->head.stack, finding);
}

static void describe_outputs(const struct replay_plan *plan,
                             const struct replay_divergence *divergence,
                             struct replay_finding *finding)
{
    finding->output_count = 0;
    for (size_t i = 0; i < divergence->place_count && i < REPLAY_FINDING_RANGES; i++) {
        const struct replay_place *place = &divergence->places[i];
        struct replay_finding_range *out = &finding->outputs[finding->output_count++];
        *out = (struct replay_finding_range){.offset = place->range.begin,
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
                            struct replay_finding *finding)
{
    for (size_t i = 0; i < inputs->count && i < REPLAY_FINDING_RANGES; i++) {
        const struct replay_bytes *input = &inputs->list[i];
        const uint64_t bytes = input->range.end - input->range.begin;
        struct replay_finding_range *out = &finding->inputs[finding->input_count++];
        *out = (struct replay_finding_range){
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
    struct replay_finding *finding;
    struct trace_reflection reflection;
    struct replay_serial serial;
    struct replay_lockstep lockstep;
    struct replay_divergence divergence;
};

static enum hal_status create_players(struct search *s, bool first)
{
    const struct replay_bisect *b = s->bisect;
    struct replay_lockstep *l = &s->lockstep;
    HAL_TRY(hal_add_context(
        replay_player_create(s->serial.plan, b->candidate, b->candidate_options, &l->candidate),
        "the candidate"));
    HAL_TRY(hal_add_context(
        replay_player_create(s->serial.plan, b->reference, b->reference_options, &l->reference),
        "the reference"));
    return first && b->prepared ? b->prepared(b->user) : HAL_OK;
}

/* After work that hangs, everything stays as it is. */
static void destroy_players(struct search *s)
{
    struct replay_lockstep *l = &s->lockstep;
    s->finding->abandoned = l->report.abandoned || l->reference_report.abandoned;
    if (s->finding->abandoned)
        return;
    replay_player_destroy(l->candidate);
    replay_player_destroy(l->reference);
    l->candidate = l->reference = NULL;
    free(l->masked);
    l->masked = NULL;
    replay_bytes_finish(&l->inputs);
    replay_bytes_finish(&l->outputs);
    replay_serial_finish(&s->serial);
}

static enum hal_status run_pass(struct search *s, const struct replay_serial_options *options,
                                bool first)
{
    HAL_TRY(replay_serial_make(s->bisect->plan, options, &s->serial));
    s->lockstep = (struct replay_lockstep){.serial = &s->serial,
                                           .reflection = &s->reflection,
                                           .ignore_unwritten = s->bisect->unwritten,
                                           .keep = !first};
    HAL_TRY(create_players(s, first));
    const enum hal_status status = replay_lockstep_run(&s->lockstep, &s->divergence);
    s->finding->report = s->lockstep.report;
    s->finding->report.unwritten_reads += s->lockstep.reference_report.unwritten_reads;
    s->finding->compared_bytes += s->divergence.compared_bytes;
    return status;
}

static enum hal_status write_minimal(struct search *s)
{
    const struct replay_bisect *b = s->bisect;
    const struct replay_minimal minimal = {
        .serial = &s->serial,
        .step = &s->serial.steps[s->divergence.step],
        .inputs = &s->lockstep.inputs,
        .outputs = &s->lockstep.outputs,
        .device = b->reference_options->remote ? &b->reference_options->remote->info
                                               : hal_device_get_info(b->reference),
        .substitutes = b->candidate_options->substitutes,
        .substitute_count = b->candidate_options->substitute_count,
    };
    if (!b->minimal)
        return HAL_OK;
    HAL_TRY(replay_minimal_write(&minimal, b->minimal));
    s->finding->wrote_minimal = true;
    return HAL_OK;
}

static enum hal_status narrow(struct search *s, uint64_t submission)
{
    const struct replay_serial_options options = {
        .split = REPLAY_SPLIT_SOME,
        .split_submissions = &submission,
        .split_count = 1,
        .has_stop = true,
        .stop = {.submission = submission},
    };
    s->finding->tried = true;
    enum hal_status status = run_pass(s, &options, false);
    if (status == HAL_OK && s->divergence.found) {
        const struct replay_step *step = &s->serial.steps[s->divergence.step];
        describe_step(s->serial.plan, step, s->finding);
        describe_outputs(s->serial.plan, &s->divergence, s->finding);
        describe_inputs(s->serial.plan, &s->lockstep.inputs, s->finding);
        if (step->work)
            status = write_minimal(s);
    }
    destroy_players(s);
    return status;
}

/* Bytes that nobody wrote and that came to the host by copies alone. */
static void look_at_reads(struct search *s)
{
    struct replay_finding *finding = s->finding;
    const struct replay_report *report =
        s->lockstep.report.different_reads ? &s->lockstep.report : &s->lockstep.reference_report;
    if (finding->found || !s->bisect->unwritten || !report->different_reads)
        return;
    const struct replay_difference *first = &report->first;
    finding->found = finding->read_back = true;
    snprintf(finding->what, sizeof finding->what,
             "the host reads buffer '%.60s' at offset %" PRIu64, first->label, first->offset);
}

static enum hal_status search_devices(struct search *s)
{
    struct replay_finding *finding = s->finding;
    HAL_TRY(replay_reflect(s->bisect->plan, NULL, &s->reflection));
    enum hal_status status = run_pass(s, &(struct replay_serial_options){0}, true);
    uint64_t submission = 0;
    finding->steps = s->serial.step_count;
    finding->found = s->divergence.found;
    if (status == HAL_OK && finding->found) {
        const struct replay_step *step = &s->serial.steps[s->divergence.step];
        submission = step->submit->submission;
        finding->steps = s->divergence.step + 1;
        describe_step(s->serial.plan, step, finding);
        describe_outputs(s->serial.plan, &s->divergence, finding);
    }
    look_at_reads(s);
    destroy_players(s);
    if (status == HAL_OK && finding->found && !finding->read_back && s->bisect->narrow)
        status = narrow(s, submission);
    return status;
}

/* ---- The recording ------------------------------------------------------------------------- */

/* Whether that command alone may write some of the range. */
static enum hal_status may_write(struct search *s, const struct replay_step *step,
                                 const struct replay_touch *range, bool *out_may)
{
    struct replay_touches writes;
    HAL_TRY(replay_step_touches(&s->serial, &s->reflection, step, REPLAY_WRITES, &writes));
    *out_may = replay_touches_meet(&writes, range);
    replay_touches_finish(&writes);
    return HAL_OK;
}

/* What the host or the device changed tells nothing of what is right. */
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

/* Walks back over the steps from one place, where the range is wrong, to where it was right, or no
 * further than to `first_op`. */
static enum hal_status find_writers(struct search *s, size_t read_op, size_t first_op,
                                    const struct replay_touch *range)
{
    const struct replay_plan *plan = s->serial.plan;
    struct replay_finding *finding = s->finding;
    for (size_t op = read_op; op-- > first_op && !is_known(&plan->ops[op], range);) {
        bool may;
        if (plan->ops[op].action != REPLAY_STEP)
            continue;
        const struct replay_step *step = &s->serial.steps[plan->ops[op].object];
        HAL_TRY(may_write(s, step, range, &may));
        if (may && finding->writers++ == 0)
            describe_step(plan, step, finding);
    }
    return HAL_OK;
}

/* ---- Where its inputs came from ---- */

/* What the host wrote, or read and found right, is right. */
static enum hal_status forget_known(const struct replay_op *op, struct replay_touches *wanted)
{
    const struct trace_content_event *event = (const void *)op->event;
    if (!tells(op))
        return HAL_OK;
    return replay_touches_subtract(wanted,
                                   (struct replay_touch){.buffer = event->buffer,
                                                         .begin = event->offset,
                                                         .end = event->offset + event->size});
}

/* When the step may have written some of `wanted`, what it read is wanted as well. */
static enum hal_status follow_step(struct search *s, const struct replay_step *step,
                                   struct replay_touches *wanted, bool *out_met)
{
    struct replay_touches writes, reads;
    *out_met = false;
    HAL_TRY(replay_step_touches(&s->serial, &s->reflection, step, REPLAY_WRITES, &writes));
    for (size_t i = 0; i < writes.count; i++)
        *out_met |= replay_touches_meet(wanted, &writes.list[i]);
    replay_touches_finish(&writes);
    if (!*out_met)
        return HAL_OK;
    HAL_TRY(replay_step_touches(&s->serial, &s->reflection, step, REPLAY_READS, &reads));
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < reads.count && status == HAL_OK; i++)
        status = replay_touches_append(wanted, reads.list[i]);
    replay_touches_finish(&reads);
    replay_touches_merge(wanted);
    return status;
}

/* Walks back from the read. What may have written the byte itself, find_writers has counted. */
static enum hal_status follow_inputs(struct search *s, size_t read_op, size_t first_op,
                                     const struct replay_touch *range)
{
    const struct replay_plan *plan = s->serial.plan;
    struct replay_finding *finding = s->finding;
    struct replay_touches wanted = {0};
    enum hal_status status = replay_touches_append(&wanted, *range);
    for (size_t op = read_op; op-- > first_op && wanted.count && status == HAL_OK;) {
        bool met = false;
        if (plan->ops[op].action == REPLAY_STEP) {
            const struct replay_step *step = &s->serial.steps[plan->ops[op].object];
            bool itself = false;
            status = follow_step(s, step, &wanted, &met);
            if (status == HAL_OK && met)
                status = may_write(s, step, range, &itself);
            if (met && !itself) {
                finding->ancestors++;
                replay_step_locate(step, &finding->first_ancestor);
                replay_step_name(plan, step, finding->first_ancestor_what);
            }
        } else {
            status = forget_known(&plan->ops[op], &wanted);
        }
    }
    replay_touches_finish(&wanted);
    return status;
}

static void describe_read(const struct replay_plan *plan, uint32_t buffer,
                          struct replay_finding *finding)
{
    const struct replay_difference *first = &finding->report.first;
    struct replay_finding_range *out = &finding->outputs[finding->output_count++];
    *out = (struct replay_finding_range){.offset = first->read_offset,
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
    const struct replay_plan *plan = s->serial.plan;
    const struct trace_content_event *read = (const void *)plan->ops[op].event;
    const uint64_t offset = s->finding->report.first.offset;
    const struct replay_touch byte = {.buffer = read->buffer, .begin = offset, .end = offset + 1};
    HAL_TRY(find_writers(s, op, 0, &byte));
    HAL_TRY(follow_inputs(s, op, 0, &byte));
    describe_read(plan, (uint32_t)read->buffer, s->finding);
    return HAL_OK;
}

/* ---- Digests behind submissions ---- */

/* The step that ends its submission; NULL: the operation is none. */
static const struct replay_step *ends_submission(const struct replay_serial *serial, size_t op)
{
    const struct replay_op *played = &serial->plan->ops[op];
    if (played->action != REPLAY_STEP)
        return NULL;
    const struct replay_step *step = &serial->steps[played->object];
    const bool is_last = played->object + 1 == serial->step_count ||
                         step[1].submit->submission != step->submit->submission;
    return is_last ? step : NULL;
}

static size_t first_op_of(const struct replay_serial *serial, const struct replay_step *step)
{
    while (step > serial->steps && step[-1].submit->submission == step->submit->submission)
        step--;
    return step->submit_op;
}

/* All that the submission found was right: one of its commands is wrong. */
static enum hal_status explain_written(struct search *s, struct replay_player *player, size_t op,
                                       const struct replay_step *step,
                                       const struct replay_touch *range)
{
    struct replay_finding *finding = s->finding;
    struct replay_finding_range *out = &finding->outputs[finding->output_count++];
    const uint64_t bytes = range->end - range->begin;
    const uint8_t *data;
    *out = (struct replay_finding_range){
        .offset = range->begin,
        .bytes = bytes,
        .sample_offset = range->begin,
        .sample_bytes = bytes < REPLAY_SAMPLE_BYTES ? (uint32_t)bytes : REPLAY_SAMPLE_BYTES,
        .by_digest = true};
    replay_object_name(s->serial.plan, (uint32_t)range->buffer, out->buffer);
    HAL_TRY(replay_memory_read(player, (uint32_t)range->buffer, range->begin, out->sample_bytes,
                               &data));
    memcpy(out->actual, data, out->sample_bytes);
    HAL_TRY(replay_memory_read_end(player));
    const size_t first_op = first_op_of(&s->serial, step);
    HAL_TRY(find_writers(s, op + 1, first_op, range));
    if (!finding->writers) /* the recording knew of more that it may write */
        describe_step(s->serial.plan, step, finding);
    return follow_inputs(s, op + 1, first_op, range);
}

static enum hal_status compare_written(struct search *s, struct replay_player *player, size_t op,
                                       struct replay_written *written)
{
    const struct replay_step *step = ends_submission(&s->serial, op);
    if (!step)
        return HAL_OK;
    HAL_TRY(replay_written_compare(player, step->submit->submission, written));
    if (!written->differs)
        return HAL_OK;
    s->finding->found = true;
    return explain_written(s, player, op, step, &written->first);
}

static bool is_looked_at(const struct replay_op *op)
{
    return op->action == REPLAY_READ || op->action == REPLAY_STEP;
}

/* All commands, or submissions, one by one; the first digest or read that differs ends it. */
static enum hal_status run_against_recording(struct search *s, struct replay_player *player)
{
    struct replay_finding *finding = s->finding;
    struct replay_report *report = &finding->report;
    const struct replay_plan *plan = s->serial.plan;
    struct replay_written written = {0};
    replay_player_begin(player, report);
    enum hal_status status = HAL_OK;
    for (size_t op = 0; op < plan->op_count && status == HAL_OK && !finding->found; op++) {
        if (op + 1 < plan->op_count && !is_looked_at(&plan->ops[op]))
            continue; /* it is played together with the next one that is */
        status = replay_player_until(player, op + 1);
        if (status == HAL_OK && report->different_reads) {
            finding->found = true;
            status = explain_read(s, op);
        } else if (status == HAL_OK) {
            status = compare_written(s, player, op, &written);
        }
    }
    const bool found = finding->found;
    finding->steps = s->serial.step_count;
    finding->compared_bytes = report->compared_bytes + written.bytes;
    finding->written_ranges = written.ranges;
    finding->written_unknown = written.unknown;
    finding->written_unjudged = written.unjudged;
    const enum hal_status ended = replay_player_end(player, status, status == HAL_OK && !found);
    s->finding->abandoned = report->abandoned;
    return status != HAL_OK ? status : ended;
}

static enum hal_status search_recording(struct search *s)
{
    const struct replay_bisect *b = s->bisect;
    const struct replay_serial_options options = {.split = b->narrow ? REPLAY_SPLIT_ALL
                                                                     : REPLAY_SPLIT_NONE};
    struct replay_player *player = NULL;
    HAL_TRY(replay_reflect(b->plan, b->candidate_options, &s->reflection));
    HAL_TRY(replay_serial_make(b->plan, &options, &s->serial));
    enum hal_status status =
        replay_player_create(s->serial.plan, b->candidate, b->candidate_options, &player);
    if (status == HAL_OK && b->prepared)
        status = b->prepared(b->user);
    if (status == HAL_OK)
        status = run_against_recording(s, player);
    if (s->finding->abandoned)
        return status;
    replay_player_destroy(player);
    replay_serial_finish(&s->serial);
    return status;
}

/* ---- Races -------------------------------------------------------------------------------- */

static void describe_race(const struct replay_plan *plan, const struct trace_race *race,
                          struct replay_finding *finding)
{
    char name[TRACE_RACE_NAME_BYTES];
    struct replay_finding_race *out = &finding->races[finding->race_count];
    *out = (struct replay_finding_race){
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
                                     struct replay_finding *finding)
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
        if (finding->race_count < REPLAY_FINDING_RACES)
            describe_race(plan, race, finding);
        finding->race_count++;
    }
    trace_races_finish(&races);
    return status;
}

/* A kernel is not to blame for what a race made of its inputs. */
static enum hal_status find_races(const struct replay_plan *plan, struct replay_finding *finding)
{
    if (!finding->found || !finding->what[0] || finding->read_back)
        return HAL_OK;
    HAL_TRY(find_races_of(plan, &finding->where, finding));
    return finding->race_count || !finding->ancestors
               ? HAL_OK
               : find_races_of(plan, &finding->first_ancestor, finding);
}

enum hal_status replay_bisect_run(const struct replay_bisect *bisect,
                                  struct replay_finding *out_finding)
{
    struct search *s = hal_alloc(1, sizeof *s);
    *out_finding = (struct replay_finding){0};
    if (!s)
        return hal_fail(HAL_NO_MEMORY, "no memory for a search");
    s->bisect = bisect;
    s->finding = out_finding;
    const bool has_reference =
        bisect->reference || (bisect->reference_options && bisect->reference_options->remote);
    enum hal_status status = has_reference ? search_devices(s) : search_recording(s);
    if (status == HAL_OK)
        status = find_races(bisect->plan, out_finding);
    if (out_finding->abandoned)
        return status;
    if (s->serial.plan)
        destroy_players(s);
    trace_reflection_finish(&s->reflection);
    free(s);
    return status;
}

enum replay_exit replay_judge_finding(const struct replay_finding *finding, bool is_recorded)
{
    if (finding->found)
        return REPLAY_EXIT_DIFFERENT;
    if (finding->compared_bytes == 0 || finding->report.unwritten_reads ||
        (is_recorded && finding->report.doubtful_reads))
        return REPLAY_EXIT_INCOMPARABLE;
    return REPLAY_EXIT_SAME;
}
