/* SPDX-License-Identifier: Apache-2.0 */
/* Compares read-backs (replay/compare/judge.h), and finds out what may have written the first wrong
 * byte.
 */
#include "hal/base/digest.h"
#include "hal/base/mem.h"
#include "replay/player/player.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- The last writer ----------------------------------------------------------------------- */

/* A range of a buffer, and what a command buffer last did to it. */
struct search {
    const struct replay_plan *plan;
    uint64_t buffer, offset, size;
    const struct trace_segment *writer; /* NULL: none yet */
    uint32_t segment;                   /* its index in the command buffer */
    uint32_t dispatches;                /* in the submission, before it */
};

static bool holds(const struct search *search, uint64_t buffer, uint64_t offset, uint64_t size)
{
    return buffer == search->buffer &&
           (search->offset >= offset ? search->offset - offset < size
                                     : offset - search->offset < search->size);
}

static bool is_bound(const struct search *search,
                     const struct trace_push_descriptor_set *const sets[HAL_MAX_SETS])
{
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++) {
        for (uint32_t i = 0; sets[set] && i < sets[set]->binding_count; i++) {
            const struct trace_binding *binding = &sets[set]->bindings[i];
            if (holds(search, binding->buffer, binding->offset, binding->size))
                return true;
        }
    }
    return false;
}

static bool may_write(const struct search *search, const struct trace_segment *head,
                      const struct trace_push_descriptor_set *const sets[HAL_MAX_SETS])
{
    const void *segment = head;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_FILL: {
        const struct trace_fill *fill = segment;
        return holds(search, fill->target, fill->offset, fill->size);
    }
    case TRACE_COPY: {
        const struct trace_copy *copy = segment;
        return holds(search, copy->target, copy->target_offset, copy->size);
    }
    case TRACE_UPDATE: {
        const struct trace_update *update = segment;
        return holds(search, update->target, update->offset, update->size);
    }
    case TRACE_DISPATCH:
    case TRACE_DISPATCH_INDIRECT: return is_bound(search, sets);
    case TRACE_BARRIER:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_EVENTS_WAIT:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_PUSH_DESCRIPTOR_SET:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return false;
    }
    return false;
}

static void search_commands(struct search *search, const struct replay_object *commands,
                            uint32_t dispatches_before)
{
    const struct trace_push_descriptor_set *sets[HAL_MAX_SETS] = {NULL};
    const struct trace_segment *segment = commands->commands.segments;
    uint32_t dispatches = dispatches_before;
    for (uint32_t i = 0; i < commands->commands.seal->segment_count; i++) {
        if (segment->kind == TRACE_PUSH_DESCRIPTOR_SET) {
            const struct trace_push_descriptor_set *set = (const void *)segment;
            sets[set->set] = set;
        }
        if (may_write(search, segment, sets)) {
            search->writer = segment;
            search->segment = i;
            search->dispatches = dispatches;
        }
        dispatches += trace_is_dispatch(segment->kind);
        segment = trace_next_segment(segment);
    }
}

static void describe_writer(const struct search *search, const struct trace_submit *submit,
                            struct replay_difference *difference)
{
    if (!trace_is_dispatch(search->writer->kind)) {
        snprintf(difference->locator, REPLAY_NAME_BYTES, "#s%" PRIu64, submit->submission);
        snprintf(difference->writer, REPLAY_NAME_BYTES, "%s, segment %u",
                 trace_segment_name(search->writer->kind), search->segment);
        return;
    }
    snprintf(difference->locator, REPLAY_NAME_BYTES, "#s%" PRIu64 ".d%u", submit->submission,
             search->dispatches);
    snprintf(difference->writer, REPLAY_NAME_BYTES, "dispatch of '%.100s', segment %u",
             replay_kernel_name(search->plan, search->writer), search->segment);
}

/* True when the submission may have written any of the range. */
static bool search_submission(struct search *search, const struct trace_submit *submit)
{
    const uint64_t *commands = trace_submit_command_buffers(submit);
    uint32_t dispatches = 0;
    search->writer = NULL;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct replay_object *object = &search->plan->objects[commands[i]];
        search_commands(search, object, dispatches);
        dispatches += object->commands.seal->dispatch_count;
    }
    return search->writer != NULL;
}

/* Goes back from the read. Submissions may overlap and finish in another order: this names the
 * last that was handed in. */
static void find_writer(const struct replay_plan *plan, size_t read_op, uint64_t offset,
                        uint64_t size, struct replay_difference *difference)
{
    const struct trace_content_event *read = (const void *)plan->ops[read_op].event;
    struct search search = {.plan = plan, .buffer = read->buffer, .offset = offset, .size = size};
    for (size_t op = read_op; op-- > 0;) {
        const void *event = plan->ops[op].event;
        if (plan->ops[op].action == REPLAY_SUBMIT && search_submission(&search, event)) {
            describe_writer(&search, event, difference);
            return;
        }
        const struct trace_content_event *write = event;
        if (plan->ops[op].action == REPLAY_WRITE && write->head.kind == TRACE_HOST_WRITE &&
            holds(&search, write->buffer, write->offset, write->size)) {
            snprintf(difference->writer, REPLAY_NAME_BYTES, "the host (ticket %" PRIu64 ")",
                     write->head.ticket);
            return;
        }
    }
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

static void describe_difference(const struct replay_plan *plan, size_t op, const uint8_t *expected,
                                const uint8_t *actual, const struct replay_errors *errors,
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
    memcpy(difference->expected, expected + start, difference->sample_bytes);
    memcpy(difference->actual, actual + start, difference->sample_bytes);
    find_writer(plan, op, difference->offset, 1, difference);
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
    find_writer(plan, op, event->offset, event->size, first);
}

static void note_worst(const struct replay_plan *plan, const struct trace_content_event *event,
                       struct replay_report *report)
{
    const char *label = replay_object_label(plan, (uint32_t)event->buffer);
    snprintf(report->worst_label, sizeof report->worst_label, "%.150s", label ? label : "");
    report->worst_buffer = plan->objects[event->buffer].id;
    report->worst_read_offset = event->offset;
}

/* What would be said of bytes that differ if they were floats: a hint for who has named no type. */
static void take_as_floats(const struct trace_content_event *event, const uint8_t *expected,
                           const uint8_t *actual, struct replay_report *report)
{
    static const struct replay_tolerance exact;
    struct replay_errors errors;
    const enum replay_type guess = replay_type_guess(expected, event->size, event->offset);
    if (event->offset % sizeof(float) || event->size % sizeof(float) || guess == REPLAY_F16 ||
        guess == REPLAY_BF16)
        return;
    replay_judge_bytes(&exact, REPLAY_F32, event->offset, expected, actual, event->size, &errors);
    replay_errors_add(&report->floats, &errors);
    report->float_reads++;
}

void replay_verify_read(const struct replay_plan *plan, const struct replay_options *options,
                        size_t op, const uint8_t *expected, const uint8_t *actual,
                        struct replay_report *report)
{
    const struct trace_content_event *event = (const void *)plan->ops[op].event;
    struct replay_errors errors;
    uint64_t first = 0;
    report->compared_reads++;
    report->compared_bytes += event->size;
    if (event->flags & TRACE_FLAG_DIGEST) {
        verify_digest(plan, options, op, expected, actual, report);
        return;
    }
    if (expected == actual || memcmp(expected, actual, (size_t)event->size) == 0)
        return;
    const enum replay_type type = replay_type_of(options->types, options->type_count,
                                                 replay_object_label(plan, (uint32_t)event->buffer),
                                                 plan->objects[event->buffer].id);
    replay_judge_bytes(&options->tolerance, type, event->offset, expected, actual, event->size,
                       &errors);
    if (replay_errors_add(&report->errors, &errors))
        note_worst(plan, event, report);
    const uint64_t count = count_different(expected, actual, event->size, &first);
    if (errors.wrong == 0)
        return;
    report->different_bytes += count;
    if (errors.type == REPLAY_TYPE_UNKNOWN)
        take_as_floats(event, expected, actual, report);
    if (report->different_reads++ > 0)
        return;
    describe_difference(plan, op, expected, actual, &errors, count, &report->first);
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
