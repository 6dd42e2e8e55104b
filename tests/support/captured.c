/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a captured trace in tests. */
#include "tests/support/captured.h"

#include "hal/base/mem.h"
#include "tests/support/hal_fixture.h"

void captured_begin(struct hal_device *device, const char *path)
{
    const struct hal_profiling_options options = {.file = path};
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
}

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    assert_non_null(copy);
    return memcpy(copy, data, bytes);
}

static enum hal_status keep(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct captured *captured = user;
    void *events = captured->events;
    assert_true(
        hal_grow(&events, &captured->capacity, captured->count + 1, sizeof *captured->events));
    captured->events = events;
    struct captured_event *kept = &captured->events[captured->count];
    *kept =
        (struct captured_event){.event = copy_of(event, event->bytes), .order = captured->count};
    captured->count++;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        const struct trace_command_buffer_seal *seal = (const void *)event;
        if (seal->segment_bytes)
            kept->segments = copy_of(segments, seal->segment_bytes);
    }
    return HAL_OK;
}

static int by_ticket(const void *a, const void *b)
{
    const struct captured_event *x = a, *y = b;
    if (x->event->ticket != y->event->ticket)
        return x->event->ticket < y->event->ticket ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void captured_open_incomplete(struct captured *captured, const char *path)
{
    *captured = (struct captured){0};
    assert_ok(trace_reader_open(path, &captured->reader));
    assert_ok(trace_reader_each(captured->reader, keep, captured));
    if (captured->count)
        qsort(captured->events, captured->count, sizeof *captured->events, by_ticket);
}

void captured_open(struct captured *captured, const char *path)
{
    captured_open_incomplete(captured, path);
    assert_string_equal(trace_reader_truncated(captured->reader), "");
    const struct trace_health *health = trace_reader_health(captured->reader);
    assert_non_null(health);
    if (health->status)
        fail_msg("recording failed: %s", health->message);
    assert_int_equal(health->lost_records, 0);
}

void captured_close(struct captured *captured)
{
    for (size_t i = 0; i < captured->count; i++) {
        free((void *)captured->events[i].event);
        free((void *)captured->events[i].segments);
    }
    free(captured->events);
    trace_reader_close(captured->reader);
}

static const struct captured_event *find(const struct captured *captured,
                                         enum trace_event_kind kind, size_t n)
{
    for (size_t i = 0; i < captured->count; i++) {
        if (captured->events[i].event->kind == kind && n-- == 0)
            return &captured->events[i];
    }
    return NULL;
}

const void *captured_find(const struct captured *captured, enum trace_event_kind kind, size_t n)
{
    const struct captured_event *found = find(captured, kind, n);
    return found ? found->event : NULL;
}

size_t captured_count(const struct captured *captured, enum trace_event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < captured->count; i++)
        count += captured->events[i].event->kind == kind;
    return count;
}

const struct trace_segment *captured_segments(const struct captured *captured, size_t n)
{
    const struct captured_event *found = find(captured, TRACE_COMMAND_BUFFER_SEAL, n);
    assert_non_null(found);
    return found->segments;
}

const void *captured_next_segment(const struct trace_segment **at, enum trace_segment_kind kind)
{
    const struct trace_segment *segment = *at;
    if (segment->kind != kind)
        fail_msg("a %s, not a %s", trace_segment_name(segment->kind), trace_segment_name(kind));
    *at = trace_next_segment(segment);
    return segment;
}

uint8_t *captured_bytes(const struct captured *captured, const struct trace_content_event *event)
{
    uint8_t *bytes = malloc(event->size);
    assert_non_null(bytes);
    assert_ok(trace_reader_content(captured->reader, event->content, bytes, event->size));
    return bytes;
}

const char *captured_string(const struct captured *captured, uint32_t id)
{
    const char *text = trace_reader_string(captured->reader, id);
    assert_non_null(text);
    return text;
}

size_t captured_replay(const struct captured *captured, enum trace_event_kind kind, uint64_t buffer,
                       uint64_t before, void *out, uint64_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < captured->count; i++) {
        const struct trace_content_event *event = (const void *)captured->events[i].event;
        if (event->head.kind != kind || event->buffer != buffer || event->head.ticket >= before)
            continue;
        uint8_t *data = captured_bytes(captured, event);
        assert_true(hal_range_fits(event->offset, event->size, bytes));
        memcpy((uint8_t *)out + event->offset, data, event->size);
        free(data);
        count++;
    }
    return count;
}
