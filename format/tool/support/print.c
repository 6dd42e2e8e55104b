/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/support/print.h"

#include "hal/base/moment.h"

#include <stdio.h>
#include <string.h>

static void put(struct trace_text *text, const char *string)
{
    trace_text_append(text, string, strlen(string));
}

/* "queue", "value", "workgroup_count_x". */
static const char *field_name(const struct trace_column *column)
{
    return strchr(column->member, '[') ? column->name : column->member;
}

/* ---- JSON ---- */

/* A member's name as printed, with quotes and a colon, by column: many millions are printed. */
enum { KEY_BYTES = 40, KNOWN_KEYS = 1024 };
static struct {
    const struct trace_column *column;
    char text[KEY_BYTES]; /* "queue": */
    size_t bytes;
} known_keys[KNOWN_KEYS];

/* NULL: it is longer than usual. */
static const char *find_key(const struct trace_column *column, size_t *out_bytes)
{
    const size_t place = (uintptr_t)column / sizeof *column % KNOWN_KEYS;
    if (known_keys[place].column != column) {
        const int bytes =
            snprintf(known_keys[place].text, KEY_BYTES, "\"%s\":", field_name(column));
        if (bytes < 0 || bytes >= KEY_BYTES)
            return NULL;
        known_keys[place].column = column;
        known_keys[place].bytes = (size_t)bytes;
    }
    *out_bytes = known_keys[place].bytes;
    return known_keys[place].text;
}

static bool number_json(struct trace_text *text, const struct trace_column *column, uint64_t value)
{
    enum { ROOM = KEY_BYTES + 24 };
    size_t bytes;
    const char *key = find_key(column, &bytes);
    char *to = key ? trace_text_room(text, ROOM) : NULL;
    if (!to)
        return false;
    *to = ',';
    to += text->needs_comma;
    memcpy(to, key, KEY_BYTES); /* of a known length: what is too much is written over */
    to += bytes;
    if (column->is_signed && (int64_t)value < 0) {
        *to++ = '-';
        value = 0 - value;
    }
    text->bytes = (size_t)(trace_digits(to, value) - text->data);
    text->needs_comma = true;
    return true;
}

static void value_json(struct tool_printer *p, const struct trace_column *column, uint64_t value)
{
    struct trace_text *text = &p->text;
    const bool is_time = column->reference == TRACE_REFERENCE_TIME;
    const char *string = column->reference == TRACE_REFERENCE_STRING
                             ? trace_reader_string(p->reader, (uint32_t)value)
                             : NULL;
    if (is_time && !value) {
        trace_json_member_null(text, field_name(column));
        return;
    }
    if (is_time)
        value -= (uint64_t)p->origin_ns;
    if (!string && number_json(text, column, value))
        return;
    trace_json_key(text, field_name(column));
    if (string)
        trace_json_text(text, string);
    else if (column->is_signed)
        trace_json_i64(text, (int64_t)value);
    else
        trace_json_u64(text, value);
}

/* ---- Text ---- */

static const struct trace_names *names_of(struct tool_printer *p, const struct trace_layout *layout,
                                          const struct trace_column *column)
{
    const size_t slot = ((uintptr_t)column / sizeof *column + (uintptr_t)layout / 64) % 256;
    struct tool_known_names *known = &p->known[slot];
    if (known->column != column || known->layout != layout)
        *known =
            (struct tool_known_names){layout, column, trace_column_names(layout->name, column)};
    return known->names;
}

static void number_text(struct tool_printer *p, const struct trace_layout *layout,
                        const struct trace_column *column, uint64_t value)
{
    char names[128];
    const struct trace_names *known = column->width == 8 ? NULL : names_of(p, layout, column);
    if (known)
        put(&p->text, trace_number_text(known, value, names, sizeof names));
    else if (column->reference == TRACE_REFERENCE_TIME)
        put(&p->text, hal_moment_text((int64_t)(value - (uint64_t)p->origin_ns)).text);
    else if (column->reference == TRACE_REFERENCE_DURATION && (int64_t)value != INT64_MAX)
        put(&p->text, hal_duration_text((int64_t)value).text);
    else if (p->name && column->reference == TRACE_REFERENCE_OBJECT && value)
        p->name(p->user, &p->text, value);
    else if (column->is_signed && (int64_t)value == INT64_MAX)
        put(&p->text, "forever");
    else if (column->is_signed)
        trace_text_i64(&p->text, (int64_t)value);
    else
        trace_text_u64(&p->text, value);
}

/* A time is printed with its unit. */
static void put_name(struct trace_text *text, const struct trace_column *column)
{
    const char *name = field_name(column);
    const bool has_unit =
        column->reference == TRACE_REFERENCE_TIME || column->reference == TRACE_REFERENCE_DURATION;
    trace_text_append(text, name, strlen(name) - (has_unit ? strlen("_ns") : 0));
}

static void value_text(struct tool_printer *p, const struct trace_layout *layout,
                       const struct trace_column *column, uint64_t value)
{
    struct trace_text *text = &p->text;
    const bool is_string = column->reference == TRACE_REFERENCE_STRING;
    const bool is_time = column->reference == TRACE_REFERENCE_TIME;
    if ((is_string || is_time || column->is_rare || p->brief) && !value)
        return;
    put(text, " ");
    put_name(text, column);
    put(text, "=");
    if (!is_string) {
        number_text(p, layout, column, value);
        return;
    }
    const char *string = trace_reader_string(p->reader, (uint32_t)value);
    put(text, "\"");
    trace_text_label(text, string ? string : "", string ? strlen(string) : 0);
    put(text, "\"");
}

static void print_fields(struct tool_printer *p, const struct trace_layout *layout,
                         const struct trace_column *columns, uint32_t count, const uint8_t *record)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = trace_load(record + columns[i].member_at, columns[i].width);
        if (p->as_json)
            value_json(p, &columns[i], value);
        else
            value_text(p, layout, &columns[i], value);
    }
}

static void print_bytes(struct tool_printer *p, const struct trace_part *part, const uint8_t *data,
                        uint64_t count)
{
    enum { SHOWN = 16 };
    if (p->as_json) {
        trace_json_member_hex(&p->text, part->name, data, (size_t)count);
        return;
    }
    trace_text_printf(&p->text, " %s=", part->name);
    for (uint64_t i = 0; i < count && i < SHOWN; i++)
        trace_text_printf(&p->text, "%02x", data[i]);
    put(&p->text, count > SHOWN ? "..." : "");
}

static void element_text(struct tool_printer *p, const struct trace_layout *layout,
                         const struct trace_part *part, const uint8_t *element, bool is_first)
{
    struct trace_text *text = &p->text;
    const struct trace_column *only = part->columns;
    if (part->column_count == 1) {
        put(text, is_first ? "" : " ");
        number_text(p, layout, only, trace_load(element + only->member_at, only->width));
        return;
    }
    /* Every field begins with a space: the first one's becomes the bracket. */
    put(text, is_first ? "" : " ");
    const size_t begin = text->bytes;
    print_fields(p, layout, part->columns, part->column_count, element);
    if (text->bytes == begin)
        put(text, "{");
    else if (!text->is_failed)
        text->data[begin] = '{';
    put(text, "}");
}

static void element_json(struct tool_printer *p, const struct trace_layout *layout,
                         const struct trace_part *part, const uint8_t *element)
{
    const struct trace_column *only = part->columns;
    if (part->column_count == 1) {
        trace_json_u64(&p->text, trace_load(element + only->member_at, only->width));
        return;
    }
    trace_json_open(&p->text, '{');
    print_fields(p, layout, part->columns, part->column_count, element);
    trace_json_close(&p->text, '}');
}

static void print_list(struct tool_printer *p, const struct trace_layout *layout,
                       const struct trace_part *part, const uint8_t *element, uint64_t count)
{
    struct trace_text *text = &p->text;
    if (p->brief && !count)
        return;
    if (p->as_json) {
        trace_json_member_open(text, part->name, '[');
    } else {
        put(text, " ");
        put(text, part->name);
        put(text, "=[");
    }
    for (uint64_t i = 0; i < count; i++, element += part->element_bytes) {
        if (p->as_json)
            element_json(p, layout, part, element);
        else
            element_text(p, layout, part, element, i == 0);
    }
    if (p->as_json)
        trace_json_close(text, ']');
    else
        put(text, "]");
}

/* Whether the member is only the length of a list that is printed anyway. */
static bool counts_list(const struct trace_layout *layout, const struct trace_column *column)
{
    for (uint32_t i = 0; i < layout->part_count; i++) {
        if (layout->parts[i].columns && layout->parts[i].count_at == column->member_at)
            return true;
    }
    return false;
}

void tool_print_record(struct tool_printer *printer, const struct trace_layout *layout,
                       const void *record)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (!counts_list(layout, &layout->columns[i]))
            print_fields(printer, layout, &layout->columns[i], 1, record);
    }
    const uint8_t *at = (const uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        if (part->columns)
            print_list(printer, layout, part, at, count);
        else
            print_bytes(printer, part, at, count);
        at += count * part->element_bytes;
    }
}

static char *put_literal(char *to, const char *literal, size_t bytes)
{
    memcpy(to, literal, bytes);
    return to + bytes;
}
#define PUT(to, literal) put_literal(to, literal, sizeof(literal) - 1)

static char *put_signed(char *to, int64_t value)
{
    if (value < 0)
        *to++ = '-';
    return trace_digits(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static char *put_word(char *to, const char *word)
{
    return put_literal(to, word, strlen(word));
}

static int64_t since(const struct tool_printer *printer, int64_t ns)
{
    return tool_since(printer->origin_ns, ns);
}

/* What every event has, in one piece. */
static void head_json(struct tool_printer *printer, const struct trace_event *event)
{
    enum { ROOM = 512 }; /* names of kinds and states are words */
    struct trace_text *text = &printer->text;
    char *to = trace_text_room(text, ROOM);
    if (!to)
        return;
    to = put_word(PUT(to, "\"event\":\""), trace_event_name(event->kind));
    to = trace_digits(PUT(to, "\",\"ticket\":"), event->ticket);
    to = trace_digits(PUT(to, ",\"thread\":"), event->thread);
    if (tool_has_no_time(event)) {
        to = PUT(to, ",\"begin_ns\":null,\"end_ns\":null");
    } else {
        to = put_signed(PUT(to, ",\"begin_ns\":"), since(printer, event->begin_ns));
        to = put_signed(PUT(to, ",\"end_ns\":"), since(printer, event->end_ns));
    }
    to = put_word(PUT(to, ",\"status\":\""), hal_status_name((enum hal_status)event->status));
    to = trace_digits(PUT(to, "\",\"stack\":"), event->stack);
    text->bytes = (size_t)(to - text->data);
    text->needs_comma = true;
}
#undef PUT

void tool_print_origin_json(struct tool_printer *printer)
{
    struct trace_text *text = &printer->text;
    trace_json_open(text, '{');
    trace_json_member_i64(text, "origin_ns", printer->origin_ns);
    trace_json_close(text, '}');
    put(text, "\n");
}

void tool_print_event_json(struct tool_printer *printer, const struct trace_event *event)
{
    struct trace_text *text = &printer->text;
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    trace_json_open(text, '{');
    head_json(printer, event);
    if (layout)
        tool_print_record(printer, layout, event);
    trace_json_close(text, '}');
}
