/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace dump: all events, one per line, with the commands of a command buffer below its seal.
 * The fields of all records come from the tables of format/columns/layout.h. */
#include "format/tool/support/labels.h"
#include "format/tool/support/print.h"
#include "format/tool/support/tool.h"
#include "hal/base/locator.h"
#include "hal/base/message.h"
#include "hal/base/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is asked for. All zero: everything. */
struct window {
    bool has_times, has_submission;
    int64_t first_ns, last_ns;
    uint64_t submission;
};

struct dump {
    struct trace_reader *reader;
    struct tool_printer out;
    bool without_segments;
    /* What is shown. */
    struct window window;
    bool kinds[TRACE_PLACES], has_kinds, has_object;
    uint64_t printed; /* events */
    uint64_t object;
    struct tool_labels labels; /* of the objects that are printed as text */
    struct tool_progress progress;
};

static void put(struct trace_text *text, const char *string)
{
    trace_text_append(text, string, strlen(string));
}

/* ---- Lines -------------------------------------------------------------------------------- */

/* At least `width` characters. */
static void put_right(struct trace_text *text, const char *string, size_t width)
{
    static const char spaces[] = "                ";
    const size_t bytes = strlen(string);
    if (bytes < width)
        trace_text_append(text, spaces, width - bytes);
    trace_text_append(text, string, bytes);
}

static void event_text(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->out.text;
    const struct trace_thread *thread = trace_reader_find_thread(dump->reader, event->thread);
    const char *name = thread ? trace_reader_string(dump->reader, thread->name) : NULL;
    const int64_t at_ns = tool_since(dump->out.origin_ns, event->begin_ns);
    put_right(text, tool_has_no_time(event) ? "-" : hal_moment_text(at_ns).text, 16);
    put(text, " ");
    if (event->ticket) {
        put(text, "#");
        trace_text_u64(text, event->ticket);
        put(text, " ");
    }
    if (name && *name)
        trace_text_label(text, name, strlen(name));
    else
        trace_text_printf(text, "thread-%" PRIu32, event->thread);
    put(text, ": ");
    put(text, trace_event_name(event->kind));
}

static void event_end_text(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->out.text;
    if (event->end_ns != event->begin_ns) {
        put(text, " took ");
        put(text, hal_duration_text(tool_since(event->begin_ns, event->end_ns)).text);
    }
    if (event->status)
        trace_text_printf(text, " status=\"%s\"", hal_status_name((enum hal_status)event->status));
    if (event->stack) {
        put(text, " stack=");
        trace_text_u64(text, event->stack);
    }
    put(text, "\n");
}

/* An object's number, and what the program calls it. */
static void name_object(void *user, struct trace_text *text, uint64_t object)
{
    const struct dump *dump = user;
    trace_text_u64(text, object);
    tool_labels_add(&dump->labels, dump->reader, object, text);
}

static void print_event(struct dump *dump, const struct trace_event *event)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    if (!layout)
        return;
    const uint8_t *record = (const uint8_t *)event;
    if (dump->out.as_json) {
        dump->out.text.needs_comma = false;
        tool_print_event_json(&dump->out, event);
        trace_text_append(&dump->out.text, "\n", 1);
    } else {
        event_text(dump, event);
        dump->out.name =
            tool_labels_given(event) ? NULL : name_object; /* it is one of the fields */
        tool_print_record(&dump->out, layout, record);
        dump->out.name = name_object;
        event_end_text(dump, event);
    }
}

static void print_segment(struct dump *dump, const struct trace_command_buffer_seal *seal,
                          uint32_t number, const struct trace_segment *segment)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, segment->kind);
    struct trace_text *text = &dump->out.text;
    if (!layout)
        return;
    if (dump->out.as_json) {
        text->needs_comma = false;
        trace_json_open(text, '{');
        trace_json_member_text(text, "segment", layout->name);
        trace_json_member_u64(text, "command_buffer", seal->command_buffer);
        trace_json_member_u64(text, "number", number);
        tool_print_record(&dump->out, layout, (const uint8_t *)segment);
        put(text, "}\n");
    } else {
        put(text, "    ");
        trace_text_u64(text, number);
        put(text, ": ");
        put(text, layout->name);
        tool_print_record(&dump->out, layout, (const uint8_t *)segment);
        put(text, "\n");
    }
}

/* ---- What is shown ---- */

static bool columns_hold(const struct trace_column *columns, uint32_t count, const uint8_t *base,
                         enum trace_reference reference, uint64_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].reference == reference &&
            trace_load(base + columns[i].member_at, columns[i].width) == number)
            return true;
    }
    return false;
}

/* Whether the record names the object or submission. */
static bool names(const struct trace_event *event, enum trace_reference reference, uint64_t number)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    const uint8_t *at = (const uint8_t *)event;
    if (!layout)
        return false;
    if (columns_hold(layout->columns, layout->column_count, at, reference, number))
        return true;
    at += layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, event);
        for (uint64_t k = 0; part->columns && k < count; k++) {
            if (columns_hold(part->columns, part->column_count, at + k * part->element_bytes,
                             reference, number))
                return true;
        }
        at += count * part->element_bytes;
    }
    return false;
}

static bool is_wanted(const struct dump *dump, const struct trace_event *event)
{
    const struct window *window = &dump->window;
    if (dump->has_kinds && !dump->kinds[trace_kind_place(event->kind)])
        return false;
    if (window->has_times &&
        (event->end_ns < window->first_ns || event->begin_ns > window->last_ns))
        return false;
    if (window->has_submission && !names(event, TRACE_REFERENCE_SUBMISSION, window->submission))
        return false;
    return !dump->has_object || names(event, TRACE_REFERENCE_OBJECT, dump->object);
}

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct dump *dump = user;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    tool_progress(&dump->progress, dump->progress.done + 1);
    if (!dump->out.as_json)
        HAL_TRY(tool_labels_take(&dump->labels, event));
    if (!is_wanted(dump, event))
        return HAL_OK;
    dump->printed++;
    print_event(dump, event);
    for (uint32_t i = 0; segments && !dump->without_segments && i < seal->segment_count; i++) {
        print_segment(dump, seal, i, segments);
        HAL_TRY(tool_write(&dump->out.text, false));
        segments = trace_next_segment(segments);
    }
    return tool_write(&dump->out.text, false);
}

/* Skips frames that contain nothing wanted according to the index. */
static bool may_hold(void *user, const struct trace_reader *reader, size_t chunk)
{
    const struct window *window = &((const struct dump *)user)->window;
    if (!window->has_times && !window->has_submission)
        return true;
    const struct trace_span span = trace_reader_chunk_span(reader, chunk);
    if (window->has_times && (span.first_ns || span.last_ns) &&
        (span.last_ns < window->first_ns || span.first_ns > window->last_ns))
        return false;
    return !window->has_submission || !span.has_submissions ||
           (window->submission >= span.first_submission &&
            window->submission <= span.last_submission);
}

static enum hal_status take_label(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    (void)segments;
    return tool_labels_take(&((struct dump *)user)->labels, event);
}

/* An object that is named has been created before, maybe in a frame that is passed over. */
static enum hal_status learn_labels(struct dump *dump)
{
    if (dump->out.as_json || (!dump->window.has_times && !dump->window.has_submission))
        return HAL_OK;
    return trace_reader_each(dump->reader, take_label, dump);
}

static enum hal_status dump_all(struct dump *dump)
{
    tool_progress_begin(&dump->progress, "printing", trace_reader_counts(dump->reader)->events);
    dump->progress.on &= !isatty(STDOUT_FILENO); /* else it would stand between the lines */
    if (dump->out.as_json)
        tool_print_origin_json(&dump->out);
    enum hal_status status = learn_labels(dump);
    if (status == HAL_OK)
        status = trace_reader_each_in_order(
            dump->reader, &(struct trace_walk){.visit = visit, .wants = may_hold, .user = dump});
    tool_progress_end(&dump->progress);
    /* What was read before a damage is still worth printing. */
    const struct hal_kept_message kept = hal_keep_message();
    const enum hal_status written = tool_write(&dump->out.text, true);
    return status == HAL_OK ? written : hal_restore_message(&kept, status);
}

/* ---- The subcommand ----------------------------------------------------------------------- */

static int64_t add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

/* Since the first event, as printed; without a unit: microseconds. */
static enum hal_status take_moment(const char *option, const char *text, int64_t *out_ns)
{
    if (hal_moment_parse(text, 1000, out_ns))
        return HAL_OK;
    return hal_fail(HAL_INVALID, "--%s=%s: not a time such as 4.7ms or @4.7ms", option, text);
}

static enum hal_status take_place(const char *text, uint64_t *out_submission)
{
    struct hal_locator place;
    const enum hal_status status = hal_locator_parse(text, &place);
    *out_submission = place.submission;
    return hal_add_context(status, "--submission");
}

static const char *event_name_at(uint32_t place)
{
    const struct trace_layout *layout = trace_event_family.layouts[place];
    return layout ? layout->name : "";
}

static enum hal_status refuse_kind(const char *text, size_t length)
{
    char names[TRACE_PLACES * 32];
    size_t at = 0;
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        if (event_name_at(place)[0])
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "",
                                   event_name_at(place));
    }
    return hal_fail(HAL_INVALID, "--kind: unknown event kind '%.*s'; known: %s", (int)length, text,
                    names);
}

/* "submit,semaphore_wait". */
static enum hal_status take_kinds(struct dump *dump, const char *text)
{
    for (dump->has_kinds = true;;) {
        const size_t length = strcspn(text, ",");
        uint32_t place = 0;
        while (place < TRACE_PLACES && (!length || strlen(event_name_at(place)) != length ||
                                        strncmp(event_name_at(place), text, length) != 0))
            place++;
        if (place == TRACE_PLACES)
            return refuse_kind(text, length);
        dump->kinds[place] = true;
        if (!text[length])
            return HAL_OK;
        text += length + 1;
    }
}

enum { FROM, TO, KIND, OBJECT, SUBMISSION };

static enum hal_status take(void *user, const struct hal_option *option, char *value)
{
    struct dump *dump = user;
    struct window *window = &dump->window;
    switch (option->id) {
    case FROM: window->has_times = true; return take_moment("from", value, &window->first_ns);
    case TO: window->has_times = true; return take_moment("to", value, &window->last_ns);
    case KIND: return take_kinds(dump, value);
    case OBJECT: dump->has_object = true; return tool_take_number(user, option, value);
    default: window->has_submission = true; return take_place(value, &window->submission);
    }
}

static const struct hal_option options[] = {
    {.name = "json",
     .help = "print a JSON object per line; times are nanoseconds",
     .target = offsetof(struct dump, out.as_json)},
    {.name = "no-segments",
     .help = "do not print commands",
     .target = offsetof(struct dump, without_segments)},
    {.name = "from",
     .argument = "TIME",
     .help = "only events from that time on: 4.7ms or @4.7ms since the first event; microseconds "
             "without a unit",
     .take = take,
     .id = FROM},
    {.name = "to",
     .argument = "TIME",
     .help = "only events before that time",
     .take = take,
     .id = TO},
    {.name = "kind",
     .argument = "KINDS",
     .help = "only these events: submit,semaphore_wait",
     .take = take,
     .id = KIND},
    {.name = "object",
     .argument = "N",
     .help = "only events that refer to the object",
     .take = take,
     .target = offsetof(struct dump, object),
     .id = OBJECT},
    {.name = "submission",
     .argument = "PLACE",
     .help = "only events of submission #s12, or of the submission that contains dispatch #s12.d40",
     .take = take,
     .id = SUBMISSION},
    {0},
};

static int run(char **argv)
{
    static struct dump dump; /* large */
    struct tool_words words;
    memset(&dump, 0, sizeof dump);
    dump.window.first_ns = INT64_MIN;
    dump.window.last_ns = INT64_MAX;
    if (!tool_parse(&tool_dump, argv, &dump, &words))
        return words.exit_status;
    const char *path = tool_one_file(&tool_dump, &words);
    if (!path)
        return TOOL_USAGE;
    enum hal_status status = trace_reader_open(path, &dump.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    dump.out.reader = dump.reader;
    dump.out.name = name_object;
    dump.out.user = &dump;
    dump.out.origin_ns = trace_reader_origin_ns(dump.reader);
    dump.window.first_ns = add_ns(dump.window.first_ns, dump.out.origin_ns);
    dump.window.last_ns = add_ns(dump.window.last_ns, dump.out.origin_ns);
    if (*trace_reader_truncated(dump.reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(dump.reader));
    status = dump_all(&dump);
    int result = TOOL_OK;
    if (status != HAL_OK) {
        tool_error("%s", hal_message());
        result = TOOL_FAILED;
    }
    if (status == HAL_OK && dump.window.has_submission && !dump.printed && !dump.has_kinds &&
        !dump.has_object && !dump.window.has_times) {
        tool_error("dump: --submission: the trace has nothing for #s%" PRIu64,
                   dump.window.submission);
        result = TOOL_FAILED;
    }
    trace_text_finish(&dump.out.text);
    tool_labels_finish(&dump.labels);
    trace_reader_close(dump.reader);
    return result;
}

const struct tool_command tool_dump = {
    .name = "dump",
    .summary = "all events, one per line",
    .usage =
        "usage: hal-trace dump [OPTIONS] FILE\n\n"
        "Prints every event of the trace in the order in which they took effect, and below each\n"
        "ended command buffer its commands. Times count from the first event.\n",
    .options = options,
    .run = run,
};
