/* SPDX-License-Identifier: Apache-2.0 */
/* format/perfetto/track_event.c: the bytes of its packets, by Perfetto's published field numbers,
 * which stand here a second time and are read by a reader of this file's own. */
#include "format/perfetto/track_event.h"

#include "tests/support/hal_fixture.h"

struct field {
    uint64_t number, wire, value; /* of varints and fixed ones */
    const uint8_t *data;          /* of those with a length, `value` bytes */
};

static uint64_t read_varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < end && shift < 64);
        value |= (uint64_t)(**at & 0x7F) << shift;
        if (!(*(*at)++ & 0x80))
            return value;
    }
}

static struct field read_field(const uint8_t **at, const uint8_t *end)
{
    const uint64_t key = read_varint(at, end);
    struct field field = {.number = key >> 3, .wire = key & 7};
    if (field.wire == 1) {
        assert_true(end - *at >= 8);
        memcpy(&field.value, *at, 8);
        *at += 8;
        return field;
    }
    assert_true(field.wire == 0 || field.wire == 2);
    field.value = read_varint(at, end);
    if (field.wire == 2) {
        assert_true(field.value <= (uint64_t)(end - *at));
        field.data = *at;
        *at += field.value;
    }
    return field;
}

/* The n-th field of that number inside a message, which is read to its end. */
static bool find(const struct field *message, uint64_t number, unsigned n, struct field *out)
{
    const uint8_t *at = message->data, *end = at + message->value;
    bool found = false;
    while (at < end) {
        const struct field field = read_field(&at, end);
        if (field.number == number && n-- == 0) {
            *out = field;
            found = true;
        }
    }
    assert_ptr_equal(at, end);
    return found;
}

static uint64_t number_in(const struct field *message, uint64_t number)
{
    struct field field;
    assert_true(find(message, number, 0, &field));
    return field.value;
}

static void assert_text(const struct field *message, uint64_t number, const char *text,
                        size_t bytes)
{
    struct field field;
    assert_true(find(message, number, 0, &field));
    assert_int_equal(field.wire, 2);
    assert_int_equal(field.value, bytes);
    assert_memory_equal(field.data, text, bytes);
}

/* The next packet and its event. A trace's packets are its field 1, all on one sequence, with times
 * of the monotonic clock. */
static struct field next_event(const struct trace_bytes *raw, size_t *at, uint64_t time_ns)
{
    const uint8_t *from = raw->data + *at;
    const struct field packet = read_field(&from, raw->data + raw->count);
    struct field event, field;
    *at = (size_t)(from - raw->data);
    assert_int_equal(packet.number, 1);
    assert_int_equal(packet.wire, 2);
    assert_int_equal(number_in(&packet, 10), 1);
    assert_int_equal(number_in(&packet, 58), 3);
    if (time_ns)
        assert_int_equal(number_in(&packet, 8), time_ns);
    else
        assert_false(find(&packet, 8, 0, &field));
    assert_true(find(&packet, 11, 0, &event));
    return event;
}

enum { NAME = 23, TYPE = 9, TRACK = 11, COUNTER = 30, FLOW = 47, FLOW_ENDS = 48, ARGUMENT = 4 };

TEST(a_slice_is_a_begin_and_an_end)
{
    struct trace_bytes raw = {0};
    struct trace_track_event slice = {.begin_ns = 5000000000,
                                      .end_ns = 5000000300,
                                      .name = "#s12",
                                      .has_flow = true,
                                      .flow = 0xFEDCBA9876543210};
    struct field argument, none;
    size_t at = 0;
    trace_track_event_number(&slice, "commands", 300);
    trace_track_event_text(&slice, "operation", "fill");
    assert_ok(trace_track_event_append(&raw, UINT64_MAX, &slice));
    const struct field begin = next_event(&raw, &at, 5000000000);
    assert_int_equal(number_in(&begin, TYPE), 1);
    assert_int_equal(number_in(&begin, TRACK), UINT64_MAX);
    assert_int_equal(number_in(&begin, FLOW), 0xFEDCBA9876543210);
    assert_false(find(&begin, FLOW_ENDS, 0, &none));
    assert_text(&begin, NAME, "#s12", 4);
    assert_true(find(&begin, ARGUMENT, 0, &argument));
    assert_text(&argument, 10, "commands", 8);
    assert_int_equal(number_in(&argument, 3), 300);
    assert_true(find(&begin, ARGUMENT, 1, &argument));
    assert_text(&argument, 10, "operation", 9);
    assert_text(&argument, 6, "fill", 4);
    assert_false(find(&begin, ARGUMENT, 2, &argument));
    const struct field end = next_event(&raw, &at, 5000000300);
    assert_int_equal(number_in(&end, TYPE), 2);
    assert_int_equal(number_in(&end, TRACK), UINT64_MAX);
    assert_int_equal(at, raw.count);

    /* An end before its begin would not nest. */
    slice.end_ns = 1;
    slice.flow_ends = true;
    raw.count = at = 0;
    assert_ok(trace_track_event_append(&raw, 1, &slice));
    const struct field ends = next_event(&raw, &at, 5000000000);
    assert_false(find(&ends, FLOW, 0, &none));
    assert_int_equal(number_in(&ends, FLOW_ENDS), 0xFEDCBA9876543210);
    next_event(&raw, &at, 5000000000);
    free(raw.data);
}

TEST(a_counter_has_its_value)
{
    static const uint64_t values[] = {0, 1, 127, 128, INT64_MAX};
    struct trace_bytes raw = {0};
    struct field none;
    size_t at = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_ok(trace_track_event_counter(&raw, 7, (int64_t)i, values[i]));
        const struct field event = next_event(&raw, &at, i);
        assert_int_equal(number_in(&event, TYPE), 4);
        assert_int_equal(number_in(&event, TRACK), 7);
        if (values[i])
            assert_int_equal(number_in(&event, COUNTER), values[i]);
        else
            assert_false(find(&event, COUNTER, 0, &none)); /* which means 0 */
    }
    assert_int_equal(at, raw.count);
    free(raw.data);
}

/* Texts of 256 bytes stay; longer ones end behind the last character that fits, of one byte to
 * four. */
TEST(long_texts_are_cut_between_characters)
{
    static const char *const letters[] = {"x", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    enum { MOST = 256 };
    for (size_t kind = 0; kind < 4; kind++) {
        const size_t each = strlen(letters[kind]);
        for (size_t lead = 0; lead < 8; lead++) {
            for (size_t count = 250 / each; lead + count * each < 270; count++) {
                char text[300] = "";
                struct trace_bytes raw = {0};
                struct trace_track_event slice = {.begin_ns = 1, .name = text};
                struct field argument;
                size_t at = 0;
                memset(text, '.', lead);
                for (size_t i = 0; i < count; i++)
                    memcpy(text + lead + i * each, letters[kind], each);
                const size_t fits = (MOST - lead) / each < count ? (MOST - lead) / each : count;
                trace_track_event_text(&slice, text, text);
                assert_ok(trace_track_event_begin(&raw, 1, &slice));
                const struct field event = next_event(&raw, &at, 1);
                assert_text(&event, NAME, text, lead + fits * each);
                assert_true(find(&event, ARGUMENT, 0, &argument));
                assert_text(&argument, 10, text, lead + fits * each);
                assert_text(&argument, 6, text, lead + fits * each);
                free(raw.data);
            }
        }
    }
}

/* As long as a slice can be. */
TEST(eight_arguments_of_long_texts_fit)
{
    char text[1000];
    struct trace_bytes raw = {0};
    struct field argument;
    struct trace_track_event slice = {
        .begin_ns = INT64_MAX, .name = text, .has_flow = true, .flow = 1};
    size_t at = 0;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (unsigned i = 0; i < TRACE_TRACK_EVENT_ARGUMENTS; i++)
        trace_track_event_text(&slice, text, text);
    assert_ok(trace_track_event_begin(&raw, UINT64_MAX, &slice));
    const struct field event = next_event(&raw, &at, INT64_MAX);
    assert_int_equal(at, raw.count);
    for (unsigned i = 0; i < TRACE_TRACK_EVENT_ARGUMENTS; i++) {
        assert_true(find(&event, ARGUMENT, i, &argument));
        assert_text(&argument, 6, text, TRACE_TRACK_EVENT_TEXT_BYTES);
    }
    free(raw.data);
}
