/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace merge: several traces on one clock, to be viewed together. Shifts the numbers of
 * objects, threads and queues; assigns new tickets, which order calls within a trace, in time
 * order, without changing the order of any single trace. */
#include "format/columns/layout.h"
#include "format/limits.h"
#include "format/tool/support/groups.h"
#include "format/tool/support/tool.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum merge_clock { CLOCK_AUTO, CLOCK_MONOTONIC_TIME, CLOCK_WALL };
enum { SAME_CLOCK_NS = 1000000000, PREFIX_BYTES = 160 };

struct ticket {
    uint64_t old, new;
    int64_t ns;
};

struct part {
    const char *path;
    struct trace_reader *reader;
    struct trace_rewrite_source source;
    char prefix[PREFIX_BYTES];
    struct ticket *tickets;
    size_t ticket_count, ticket_capacity;
    size_t next; /* of the tickets, while they are merged */
    uint64_t last_object, last_submission, last_mapping;
    uint32_t last_thread, queue_count;
    struct groups groups;
};

struct merge {
    struct part *parts;
    size_t count;
    enum merge_clock clock;
    struct groups_all groups;
};

/* ---- What the numbers of a trace are ---- */

static void raise(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static enum hal_status note_ticket(struct part *part, const struct trace_event *event)
{
    if (!event->ticket ||
        (part->ticket_count && part->tickets[part->ticket_count - 1].old == event->ticket))
        return HAL_OK;
    if (!HAL_GROW(part->tickets, &part->ticket_capacity, part->ticket_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu tickets", part->ticket_count);
    part->tickets[part->ticket_count++] =
        (struct ticket){.old = event->ticket, .ns = event->end_ns};
    return HAL_OK;
}

static void note_columns(struct part *part, const struct trace_column *columns, uint32_t count,
                         const uint8_t *base)
{
    uint64_t queues = part->queue_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = trace_load(base + columns[i].member_at, columns[i].width);
        if (columns[i].reference == TRACE_REFERENCE_OBJECT)
            raise(&part->last_object, value);
        else if (columns[i].reference == TRACE_REFERENCE_SUBMISSION)
            raise(&part->last_submission, value);
        else if (columns[i].reference == TRACE_REFERENCE_MAPPING)
            raise(&part->last_mapping, value);
        else if (columns[i].reference == TRACE_REFERENCE_GROUP)
            groups_note(&part->groups, value);
        else if (columns[i].reference == TRACE_REFERENCE_QUEUE && value < TRACE_MAX_QUEUES)
            raise(&queues, value + 1);
    }
    part->queue_count = (uint32_t)queues;
}

static void note_record(struct part *part, const struct trace_family *family, const void *record)
{
    const struct trace_layout *layout =
        trace_family_layout(family, TRACE_AS(trace_segment, record)->kind);
    note_columns(part, layout->columns, layout->column_count, record);
    const uint8_t *at = (const uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *list = &layout->parts[i];
        const uint64_t count = trace_part_count(list, record);
        for (uint64_t k = 0; list->columns && k < count; k++)
            note_columns(part, list->columns, list->column_count, at + k * list->element_bytes);
        at += count * list->element_bytes;
    }
}

static enum hal_status note_event(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct part *part = user;
    note_record(part, &trace_event_family, event);
    if (event->thread > part->last_thread)
        part->last_thread = event->thread;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    for (uint32_t i = 0; segments && i < seal->segment_count; i++) {
        note_record(part, &trace_segment_family, segments);
        segments = trace_next_segment(segments);
    }
    return note_ticket(part, event);
}

/* ---- Tickets ---- */

HAL_COMPARE(compare_tickets, struct ticket, old)

static void sort_tickets(struct part *part)
{
    size_t kept = 0;
    if (part->ticket_count)
        qsort(part->tickets, part->ticket_count, sizeof *part->tickets, compare_tickets);
    for (size_t i = 0; i < part->ticket_count; i++) {
        if (!kept || part->tickets[i].old != part->tickets[kept - 1].old)
            part->tickets[kept++] = part->tickets[i];
    }
    part->ticket_count = kept;
}

/* The part whose next ticket is the earliest. */
static struct part *earliest(struct merge *merge)
{
    struct part *first = NULL;
    int64_t first_ns = 0;
    for (size_t i = 0; i < merge->count; i++) {
        struct part *part = &merge->parts[i];
        if (part->next == part->ticket_count)
            continue;
        const int64_t ns =
            (int64_t)((uint64_t)part->tickets[part->next].ns + (uint64_t)part->source.shift_ns);
        if (!first || ns < first_ns) {
            first = part;
            first_ns = ns;
        }
    }
    return first;
}

static void number_tickets(struct merge *merge)
{
    uint64_t number = 0;
    for (struct part *part; (part = earliest(merge));)
        part->tickets[part->next++].new = ++number;
}

static uint64_t new_ticket(void *user, uint64_t ticket)
{
    const struct part *part = user;
    const struct ticket key = {.old = ticket};
    const struct ticket *found =
        bsearch(&key, part->tickets, part->ticket_count, sizeof *part->tickets, compare_tickets);
    return found ? found->new : ticket;
}

static uint64_t new_group(void *user, uint64_t group)
{
    return groups_new_number(user, group);
}

/* ---- Clocks ---- */

/* Offset of the trace's monotonic clock from wall-clock time. */
static int64_t wall_offset(const struct trace_reader *reader)
{
    const struct trace_header *header = trace_reader_header(reader);
    return (int64_t)((uint64_t)header->start_wall_ns - (uint64_t)header->start_ns);
}

/* Traces of one boot of a machine share a monotonic clock; others are merged by the time of day. */
static int64_t shift_of(const struct merge *merge, const struct part *part)
{
    const struct trace_header *first = trace_reader_header(merge->parts[0].reader);
    const struct trace_header *header = trace_reader_header(part->reader);
    const int64_t shift = (int64_t)((uint64_t)wall_offset(part->reader) -
                                    (uint64_t)wall_offset(merge->parts[0].reader));
    const bool is_one_boot = strcmp(first->host, header->host) == 0 &&
                             strcmp(first->system, header->system) == 0 && shift > -SAME_CLOCK_NS &&
                             shift < SAME_CLOCK_NS;
    const bool as_is =
        merge->clock == CLOCK_MONOTONIC_TIME || (merge->clock == CLOCK_AUTO && is_one_boot);
    return as_is ? 0 : shift;
}

/* ---- Merging ---- */

static enum hal_status prepare(struct merge *merge, size_t index)
{
    struct part *part = &merge->parts[index];
    const struct trace_header *header = trace_reader_header(part->reader);
    const char *slash = strrchr(header->program, '/');
    part->queue_count = header->device.queue_count;
    HAL_TRY(groups_open(&part->groups, &merge->groups, header));
    HAL_TRY(trace_reader_each(part->reader, note_event, part));
    sort_tickets(part);
    snprintf(part->prefix, sizeof part->prefix, "%.100s[%" PRIu64 "] ",
             slash ? slash + 1 : header->program, header->process_id);
    part->source = (struct trace_rewrite_source){.reader = part->reader,
                                                 .thread_prefix = part->prefix,
                                                 .shift_ns = shift_of(merge, part),
                                                 .ticket = new_ticket,
                                                 .ticket_user = part,
                                                 .group = new_group,
                                                 .group_user = &part->groups};
    if (index == 0)
        return HAL_OK;
    const struct part *last = part - 1;
    const struct trace_rewrite_source *before = &last->source;
    struct trace_rewrite_source *source = &part->source;
    if (!hal_add_u64(before->object_base, last->last_object, &source->object_base) ||
        !hal_add_u64(before->submission_base, last->last_submission + 1,
                     &source->submission_base) ||
        !hal_add_u64(before->mapping_base, last->last_mapping, &source->mapping_base))
        return hal_fail(HAL_UNSUPPORTED, "the numbers in '%s' are too large to be merged",
                        last->path);
    source->thread_base = before->thread_base + last->last_thread + 1;
    source->queue_base = before->queue_base + last->queue_count;
    if (source->thread_base + part->last_thread > TRACE_MAX_THREADS)
        return hal_fail(HAL_UNSUPPORTED, "more than %u threads", TRACE_MAX_THREADS);
    if (source->queue_base + part->queue_count > TRACE_MAX_QUEUES)
        return hal_fail(HAL_UNSUPPORTED, "more than %u queues", TRACE_MAX_QUEUES);
    return HAL_OK;
}

/* A part that was merged itself is several captures. */
static size_t captures_of(const struct part *part, struct trace_capture *out)
{
    const struct trace_header *header = trace_reader_header(part->reader);
    const struct trace_rewrite_source *source = &part->source;
    const struct trace_capture whole = {.program = header->program,
                                        .host = header->host,
                                        .process_id = header->process_id,
                                        .device = header->device};
    const size_t count = header->capture_count ? header->capture_count : 1;
    for (size_t i = 0; out && i < count; i++) {
        out[i] = header->capture_count ? header->captures[i] : whole;
        out[i].queue_base += source->queue_base;
        out[i].thread_base += source->thread_base;
        out[i].object_base += source->object_base;
        out[i].submission_base += source->submission_base;
        out[i].group_base = groups_new_base(&part->groups, i);
    }
    return count;
}

static enum hal_status add_captures(const struct merge *merge, struct trace_header *header,
                                    struct trace_capture **out_captures)
{
    size_t count = 0;
    for (size_t i = 0; i < merge->count; i++)
        count += captures_of(&merge->parts[i], NULL);
    *out_captures = hal_alloc(count, sizeof **out_captures);
    if (!*out_captures)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu captures", count);
    header->capture_count = 0;
    for (size_t i = 0; i < merge->count; i++)
        header->capture_count +=
            captures_of(&merge->parts[i], *out_captures + header->capture_count);
    header->captures = *out_captures;
    return HAL_OK;
}

static void describe(const struct merge *merge, struct trace_text *text)
{
    trace_text_printf(text, "merge of");
    for (size_t i = 0; i < merge->count; i++) {
        const struct part *part = &merge->parts[i];
        const int64_t shift = part->source.shift_ns;
        trace_text_printf(text, "%s %s(%s)", i ? "," : "", part->prefix, part->path);
        if (shift)
            trace_text_printf(text, " by wall-clock time");
    }
    trace_text_append(text, "", 1);
}

static struct trace_health all_health(const struct merge *merge, char *message, size_t bytes)
{
    struct trace_health all = trace_rewrite_health(merge->parts[0].reader, message, bytes);
    for (size_t i = 1; i < merge->count; i++) {
        char other[512];
        const struct trace_health health =
            trace_rewrite_health(merge->parts[i].reader, other, sizeof other);
        if (!all.status && health.status) {
            all.status = health.status;
            snprintf(message, bytes, "%s: %s", merge->parts[i].path, health.message);
            all.message = message;
        }
        all.lost_records += health.lost_records;
        all.ring_stalls += health.ring_stalls;
        all.ring_stall_ns += health.ring_stall_ns;
        all.digest_only += health.digest_only;
        all.overhead_ns += health.overhead_ns;
        all.recovered |= health.recovered;
        all.over_budget_bytes += health.over_budget_bytes;
        all.unsupported_calls += health.unsupported_calls;
        if (health.clock_error_ns > all.clock_error_ns)
            all.clock_error_ns = health.clock_error_ns;
    }
    return all;
}

static enum hal_status write_parts(struct merge *merge, struct trace_rewrite *rewrite)
{
    size_t chunks = 0;
    struct tool_progress progress;
    for (size_t i = 0; i < merge->count; i++)
        chunks += trace_reader_chunk_count(merge->parts[i].reader);
    tool_progress_begin(&progress, "merging", chunks);
    const struct trace_rewrite_rules rules = {.progress = tool_progress_step,
                                              .progress_user = &progress};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < merge->count && status == HAL_OK; i++)
        status = hal_add_context(trace_rewrite_add(rewrite, &merge->parts[i].source, &rules),
                                 "'%s'", merge->parts[i].path);
    tool_progress_end(&progress);
    return status;
}

static enum hal_status write_merged(struct merge *merge, const struct trace_rewrite_options *output)
{
    char message[1024];
    const char **edits;
    struct trace_rewrite rewrite;
    struct trace_text edit = {0};
    struct trace_capture *captures = NULL;
    for (size_t i = 0; i < merge->count; i++)
        HAL_TRY(prepare(merge, i));
    HAL_TRY(groups_number(&merge->groups));
    number_tickets(merge);
    struct trace_header header = *trace_reader_header(merge->parts[0].reader);
    const struct part *last = &merge->parts[merge->count - 1];
    header.device.queue_count = last->source.queue_base + last->queue_count;
    header.view_only = "it was merged from several captures (each of them can be replayed, "
                       "including its collectives)";
    describe(merge, &edit);
    enum hal_status status = edit.is_failed ? hal_fail(HAL_NO_MEMORY, "no memory for the header")
                                            : tool_add_edit(&header, edit.data, &edits);
    if (status == HAL_OK) {
        status = add_captures(merge, &header, &captures);
        if (status == HAL_OK)
            status = trace_rewrite_open(&rewrite, output, &header);
        free(captures);
        free(edits);
    }
    trace_text_finish(&edit);
    HAL_TRY(status);
    status = write_parts(merge, &rewrite);
    const struct trace_health health = all_health(merge, message, sizeof message);
    return trace_rewrite_close(&rewrite, status, &health);
}

static int merge_files(struct merge *merge, char **paths,
                       const struct trace_rewrite_options *output)
{
    int result = TOOL_OK;
    merge->parts = hal_alloc(merge->count, sizeof *merge->parts);
    if (!merge->parts) {
        tool_error("no memory for %zu traces", merge->count);
        return TOOL_FAILED;
    }
    for (size_t i = 0; i < merge->count && result == TOOL_OK; i++) {
        merge->parts[i].path = paths[i];
        const enum hal_status status = trace_reader_open(paths[i], &merge->parts[i].reader);
        if (status != HAL_OK)
            result = tool_fail(status);
    }
    if (result == TOOL_OK)
        result = tool_written(write_merged(merge, output), output->path, "");
    for (size_t i = 0; i < merge->count; i++) {
        trace_reader_close(merge->parts[i].reader);
        free(merge->parts[i].tickets);
        groups_close(&merge->parts[i].groups);
    }
    groups_all_finish(&merge->groups);
    free(merge->parts);
    return result;
}

struct arguments {
    struct merge merge;
    struct trace_rewrite_options output;
};

static enum hal_status take_clock(void *user, const struct hal_option *option, char *value)
{
    static const char *const clocks[] = {"auto", "monotonic", "wall"};
    struct arguments *a = user;
    (void)option;
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(value, clocks[i]) == 0) {
            a->merge.clock = (enum merge_clock)i;
            return HAL_OK;
        }
    }
    return hal_fail(HAL_INVALID, "--clock=%s: not auto, monotonic or wall", value);
}

static const struct hal_option options[] = {
    {.name = "clock",
     .argument = "CLOCK",
     .help = "monotonic: the traces have one clock. wall: align them by wall-clock time. auto, the "
             "default: wall, except for traces from one boot of one machine",
     .take = take_clock},
    TOOL_OUTPUT_OPTIONS(struct arguments, output, "3"),
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_merge, argv, &a, &words))
        return words.exit_status;
    if (words.count < 2) {
        tool_error("merge: at least two files are needed (see hal-trace merge --help)");
        return TOOL_USAGE;
    }
    a.merge.count = (size_t)words.count;
    if (!tool_output_check("merge", &a.output, words.words, words.count))
        return TOOL_USAGE;
    return merge_files(&a.merge, words.words, &a.output);
}

const struct tool_command tool_merge = {
    .name = "merge",
    .group = TOOL_MAKES,
    .summary = "combine several traces on one clock",
    .usage =
        "usage: hal-trace merge -o OUTPUT [--clock=CLOCK] [--force] FILE FILE...\n"
        "\n"
        "Writes one trace with all events of several, from processes or devices that worked at "
        "the\n"
        "same time, to view them together. The first file keeps its numbers; those of the others\n"
        "are shifted. A merged trace cannot be replayed, but each of its parts can.\n",
    .options = options,
    .run = run,
};
