/* SPDX-License-Identifier: Apache-2.0 */
/* Compares read-backs (replay/compare/compare_bytes.h), and finds what may have written the first
 * wrong byte. */
#include "hal/base/digest.h"
#include "hal/base/locator.h"
#include "hal/base/mem.h"
#include "replay/plan/accesses.h"
#include "replay/player/player.h"
#include "replay/variant/serialized.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- The last writer ----------------------------------------------------------------------- */

/* Which command of a command buffer last may have written to a range. */
struct search {
    struct trace_reflection reflection;
    struct replay_touch range;
    uint32_t segment; /* TRACE_NO_COMMAND: none */
};

static bool overlaps(const struct replay_touch *range, uint64_t buffer, uint64_t begin,
                     uint64_t end)
{
    return buffer == range->buffer && begin < range->end && range->begin < end;
}

static void take_access(void *user, const struct trace_access *access)
{
    struct search *search = user;
    if (trace_access_writes(access->mode) &&
        overlaps(&search->range, access->buffer, access->begin, access->end))
        search->segment = access->command;
}

/* Whether the submission may have written any of the range: `out_step` is its last such command. */
static bool search_submission(struct search *search, const struct replay_plan *plan,
                              const struct trace_submit *submit, struct replay_step *out_step)
{
    const uint64_t *commands = trace_submit_command_buffers(submit);
    uint32_t dispatches = 0;
    *out_step = (struct replay_step){.submit = submit};
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct trace_command_buffer_seal *seal = plan->objects[commands[i]].commands.seal;
        const struct trace_segment *segment = plan->objects[commands[i]].commands.segments;
        search->segment = TRACE_NO_COMMAND;
        trace_each_access(seal, segment, trace_reflection_mode, &search->reflection, take_access,
                          search);
        for (uint32_t k = 0; k < seal->segment_count; k++) {
            if (k == search->segment) {
                out_step->work = segment;
                out_step->segment = k;
                out_step->dispatch = dispatches;
            }
            dispatches += trace_is_dispatch(segment->kind);
            segment = trace_next_segment(segment);
        }
    }
    return out_step->work != NULL;
}

static void describe_writer(const struct replay_plan *plan, const struct replay_step *step,
                            struct replay_difference *difference)
{
    struct hal_locator where;
    char text[HAL_LOCATOR_BYTES];
    replay_step_locate(step, &where);
    snprintf(difference->locator, REPLAY_NAME_BYTES, "%s", hal_locator_print(&where, text));
    replay_step_name(plan, step, difference->writer);
}

/* Goes back from the read. Submissions may overlap and finish in another order: this names the
 * last that was submitted. */
static void search_back(struct search *search, const struct replay_plan *plan, size_t read_op,
                        struct replay_difference *difference)
{
    struct replay_step step;
    for (size_t op = read_op; op-- > 0;) {
        const void *event = plan->ops[op].event;
        if (plan->ops[op].action == REPLAY_SUBMIT &&
            search_submission(search, plan, event, &step)) {
            describe_writer(plan, &step, difference);
            return;
        }
        const struct trace_content_event *write = event;
        if (plan->ops[op].action == REPLAY_WRITE && write->head.kind == TRACE_HOST_WRITE &&
            overlaps(&search->range, write->buffer, write->offset, write->offset + write->size)) {
            snprintf(difference->writer, REPLAY_NAME_BYTES, "the host (ticket %" PRIu64 ")",
                     write->head.ticket);
            return;
        }
    }
}

/* Without memory no writer is named. */
static void find_writer(const struct replay_plan *plan, const struct replay_options *options,
                        size_t read_op, uint64_t size, struct replay_difference *difference)
{
    const struct trace_content_event *read = (const void *)plan->ops[read_op].event;
    const uint64_t begin = difference->offset;
    struct search search = {.range = {read->buffer, begin, begin + size}};
    if (replay_reflect(plan, options, &search.reflection) == HAL_OK)
        search_back(&search, plan, read_op, difference);
    trace_reflection_finish(&search.reflection);
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static uint64_t count_different(const uint8_t *a, const uint8_t *b, uint64_t bytes,
                                uint64_t *out_first)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        if (a[i] == b[i])
            continue;
        if (count++ == 0)
            *out_first = i;
    }
    return count;
}

static void describe_difference(const struct replay_plan *plan, size_t op,
                                const struct replay_pair *pair, const struct replay_errors *errors,
                                uint64_t count, struct replay_difference *difference)
{
    const uint64_t first = errors->first_wrong;
    const struct trace_content_event *event = (const void *)plan->ops[op].event;
    const char *label = replay_object_label(plan, (uint32_t)event->buffer);
    /* The sample begins at a multiple of 4 or 8 of the *buffer*, where an element does. */
    const uint64_t back = (event->offset + first) % (replay_type_bytes(errors->type) == 8 ? 8 : 4);
    const uint64_t start = first >= back ? first - back : first;
    const uint64_t left = event->size - start;
    *difference = (struct replay_difference){
        .ticket = event->head.ticket,
        .buffer = plan->objects[event->buffer].id,
        .read_offset = event->offset,
        .read_bytes = event->size,
        .offset = event->offset + first,
        .different_bytes = count,
        .sample_offset = event->offset + start,
        .sample_bytes = left < REPLAY_SAMPLE_BYTES ? (uint32_t)left : REPLAY_SAMPLE_BYTES,
        .errors = *errors,
    };
    snprintf(difference->label, sizeof difference->label, "%.150s", label ? label : "");
    memcpy(difference->expected, pair->expected + start, difference->sample_bytes);
    memcpy(difference->actual, pair->actual + start, difference->sample_bytes);
}

/* A byte that holds the replay's fill and may be read before it is written: either no command has
 * written it, or one has copied such a byte. The program may not have read observed bytes. */
static bool holds_fill(const struct replay_plan *plan, const struct replay_options *options,
                       const struct trace_content_event *event, uint64_t at, uint8_t actual)
{
    const struct replay_range *fill = &plan->objects[event->buffer].buffer.uninitialised.fill;
    const uint64_t offset = event->offset + at;
    return event->flags & TRACE_FLAG_OBSERVED && options->fill && actual == options->fill &&
           offset >= fill->begin && offset < fill->end;
}

static bool any_holds_fill(const struct replay_plan *plan, const struct replay_options *options,
                           const struct trace_content_event *event, const uint8_t *actual)
{
    bool any = false;
    for (uint64_t at = 0; !any && at < event->size; at++)
        any = holds_fill(plan, options, event, at, actual[at]);
    return any;
}

/* Excludes such bytes where the recording had 0, as fresh memory has. NULL: none, or no memory. */
static uint8_t *without_fill(const struct replay_plan *plan, const struct replay_options *options,
                             const struct trace_content_event *event, const uint8_t *expected,
                             const uint8_t *actual)
{
    uint8_t *compared =
        any_holds_fill(plan, options, event, actual) ? malloc((size_t)event->size) : NULL;
    bool any = false;
    for (uint64_t at = 0; compared && at < event->size; at++) {
        const bool is_fill = expected[at] == 0 && holds_fill(plan, options, event, at, actual[at]);
        compared[at] = is_fill ? 0 : actual[at];
        any |= is_fill;
    }
    if (any)
        return compared;
    free(compared);
    return NULL;
}

static void verify_digest(const struct replay_plan *plan, const struct replay_options *options,
                          size_t op, const uint8_t *expected, const uint8_t *actual,
                          struct replay_report *report)
{
    const struct trace_content_event *event = (const void *)plan->ops[op].event;
    const char *label = replay_object_label(plan, (uint32_t)event->buffer);
    uint8_t digest[TRACE_DIGEST_BYTES];
    report->digest_reads++;
    if (hal_sha256(actual, (size_t)event->size, digest) == HAL_OK &&
        memcmp(expected, digest, sizeof digest) == 0)
        return;
    if (any_holds_fill(plan, options, event, actual)) {
        report->unwritten_reads++;
        return;
    }
    if (!replay_tolerance_is_exact(&options->tolerance)) {
        report->unjudged_reads++;
        return;
    }
    if (report->different_reads++ > 0)
        return;
    struct replay_difference *first = &report->first;
    *first = (struct replay_difference){.ticket = event->head.ticket,
                                        .by_digest = true,
                                        .buffer = plan->objects[event->buffer].id,
                                        .read_offset = event->offset,
                                        .read_bytes = event->size,
                                        .offset = event->offset,
                                        .sample_offset = event->offset};
    snprintf(first->label, sizeof first->label, "%.150s", label ? label : "");
    find_writer(plan, options, op, event->size, first);
}

static void note_worst(const struct replay_plan *plan, const struct trace_content_event *event,
                       struct replay_report *report)
{
    const char *label = replay_object_label(plan, (uint32_t)event->buffer);
    snprintf(report->worst_label, sizeof report->worst_label, "%.150s", label ? label : "");
    report->worst_buffer = plan->objects[event->buffer].id;
    report->worst_read_offset = event->offset;
}

/* How bytes that differ would compare as floats: a hint for users who gave no type. */
static void take_as_floats(const struct replay_pair *pair, struct replay_report *report)
{
    static const struct replay_tolerance exact;
    struct replay_errors errors;
    const enum replay_type guess = replay_type_guess(pair->expected, pair->bytes, pair->offset);
    if (pair->offset % sizeof(float) || pair->bytes % sizeof(float) || guess == REPLAY_F16 ||
        guess == REPLAY_BF16)
        return;
    replay_compare_bytes(&exact, REPLAY_F32, pair, &errors);
    replay_errors_add(&report->floats, &errors);
    report->float_reads++;
}

static void verify_bytes(const struct replay_plan *plan, const struct replay_options *options,
                         size_t op, const uint8_t *expected, const uint8_t *actual,
                         struct replay_report *report)
{
    const struct trace_content_event *event = (const void *)plan->ops[op].event;
    const struct replay_pair pair = {event->offset, event->size, expected, actual};
    struct replay_errors errors;
    uint64_t first = 0;
    const enum replay_type type = replay_type_of(options->types, options->type_count,
                                                 replay_object_label(plan, (uint32_t)event->buffer),
                                                 plan->objects[event->buffer].id);
    replay_compare_bytes(&options->tolerance, type, &pair, &errors);
    if (replay_errors_add(&report->errors, &errors))
        note_worst(plan, event, report);
    const uint64_t count = count_different(expected, actual, event->size, &first);
    if (errors.wrong == 0)
        return;
    report->different_bytes += count;
    if (errors.type == REPLAY_TYPE_UNKNOWN)
        take_as_floats(&pair, report);
    if (report->different_reads++ > 0)
        return;
    describe_difference(plan, op, &pair, &errors, count, &report->first);
    find_writer(plan, options, op, 1, &report->first);
}

void replay_verify_read(const struct replay_plan *plan, const struct replay_options *options,
                        size_t op, const uint8_t *expected, const uint8_t *actual,
                        struct replay_report *report)
{
    const struct trace_content_event *event = (const void *)plan->ops[op].event;
    report->compared_reads++;
    report->compared_bytes += event->size;
    if (event->flags & TRACE_FLAG_DIGEST) {
        verify_digest(plan, options, op, expected, actual, report);
        return;
    }
    if (expected == actual || memcmp(expected, actual, (size_t)event->size) == 0)
        return;
    uint8_t *compared = without_fill(plan, options, event, expected, actual);
    report->unwritten_reads += compared != NULL;
    verify_bytes(plan, options, op, expected, compared ? compared : actual, report);
    free(compared);
}

void replay_verify_outcome(struct replay_report *report, const char *format, ...)
{
    va_list arguments;
    if (report->different_outcomes++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(report->first_outcome, sizeof report->first_outcome, format, arguments);
    va_end(arguments);
}
