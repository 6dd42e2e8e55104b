/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace export, as a program: every event and every command of a trace is found in what comes
 * out, by a decoder of protobuf's wire format that knows nothing but the numbers of Perfetto's
 * fields; slices nest, counters add up, and every arrow has a beginning before its end. */
#include "tests/support/own_folder.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <inttypes.h>
#include <sys/wait.h>

enum { KEY_BYTES = 160, MOST_KEYS = 4000, MOST_TRACKS = 200, MOST_FLOWS = 400 };

static const char *file(const char *name)
{
    static char path[PATH_MAX];
    return test_folder_file(&folder, name, path);
}

/* What the program wrote; the caller's to free. */
static uint8_t *export_as(const char *format, size_t *out_bytes, int expected)
{
    static char command[2 * PATH_MAX];
    size_t capacity = 1 << 24;
    uint8_t *data = malloc(capacity + 1);
    snprintf(command, sizeof command, "cd %s && %s/hal-trace export --format=%s t.pb.zst",
             folder.path, HAL_TRACE_FOLDER, format);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    *out_bytes = fread(data, 1, capacity, pipe);
    assert_true(*out_bytes < capacity);
    data[*out_bytes] = '\0';
    assert_int_equal(WEXITSTATUS(pclose(pipe)), expected);
    return data;
}

/* ---- Sets of events: a line for each, sorted ---- */

struct keys {
    char lines[MOST_KEYS][KEY_BYTES];
    size_t count;
    unsigned commands[16]; /* by kind */
};

static struct keys wanted, found;
static int64_t first_ns; /* of the events that are wanted: what exported times count from */

static void add_key(struct keys *keys, const char *name, uint64_t ticket, uint64_t thread,
                    int64_t begin_ns, int64_t end_ns)
{
    assert_true(keys->count < MOST_KEYS);
    snprintf(keys->lines[keys->count++], KEY_BYTES,
             "%s ticket %" PRIu64 " thread %" PRIu64 " from %" PRId64 " to %" PRId64, name, ticket,
             thread, begin_ns, end_ns);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void assert_same_keys(uint64_t seed)
{
    qsort(wanted.lines, wanted.count, KEY_BYTES, compare_lines);
    qsort(found.lines, found.count, KEY_BYTES, compare_lines);
    for (size_t i = 0; i < wanted.count && i < found.count; i++) {
        if (strcmp(wanted.lines[i], found.lines[i]) != 0)
            fail_msg("seed %" PRIu64 ": expected '%s', there is '%s'", seed, wanted.lines[i],
                     found.lines[i]);
    }
    assert_int_equal(wanted.count, found.count);
    assert_memory_equal(wanted.commands, found.commands, sizeof wanted.commands);
}

/* ---- A decoder of the wire format ---- */

struct wire {
    const uint8_t *at, *end;
};

struct field {
    uint32_t number, type;
    uint64_t value;     /* of numbers */
    struct wire inside; /* of messages and strings */
};

static uint64_t varint(struct wire *wire)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(wire->at < wire->end && shift < 64);
        value |= (uint64_t)(*wire->at & 0x7F) << shift;
        if (!(*wire->at++ & 0x80))
            return value;
    }
}

static bool next_field(struct wire *wire, struct field *field)
{
    if (wire->at == wire->end)
        return false;
    const uint64_t tag = varint(wire);
    *field = (struct field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
    if (field->type == 0) {
        field->value = varint(wire);
    } else if (field->type == 1) {
        assert_true(wire->end - wire->at >= 8);
        memcpy(&field->value, wire->at, 8);
        wire->at += 8;
    } else {
        assert_int_equal(field->type, 2);
        const uint64_t bytes = varint(wire);
        assert_true(bytes <= (uint64_t)(wire->end - wire->at));
        field->inside = (struct wire){wire->at, wire->at + bytes};
        wire->at += bytes;
    }
    return true;
}

static void text_of(const struct wire *wire, char *out, size_t bytes)
{
    snprintf(out, bytes, "%.*s", (int)(wire->end - wire->at), (const char *)wire->at);
}

/* ---- What is in a file of Perfetto's ---- */

struct track {
    uint64_t id, parent;
    unsigned depth;
    int64_t last_ns;
    bool is_counter, is_thread;
    int64_t value;
    char name[64];
};

struct flow {
    uint64_t id;
    int64_t ns;
    bool ends;
};

struct perfetto {
    struct track tracks[MOST_TRACKS];
    size_t track_count;
    struct flow flows[MOST_FLOWS];
    size_t flow_count;
    unsigned slices, instants, counters;
    bool checks_nesting;
};

static struct track *track_of(struct perfetto *p, uint64_t id)
{
    for (size_t i = 0; i < p->track_count; i++) {
        if (p->tracks[i].id == id)
            return &p->tracks[i];
    }
    fail_msg("track %" PRIu64 " was not described before it is used", id);
    return NULL;
}

static void add_descriptor(struct perfetto *p, struct wire wire)
{
    struct field field;
    assert_true(p->track_count < MOST_TRACKS);
    struct track *track = &p->tracks[p->track_count++];
    while (next_field(&wire, &field)) {
        if (field.number == 1)
            track->id = field.value;
        if (field.number == 2)
            text_of(&field.inside, track->name, sizeof track->name);
        track->is_thread |= field.number == 4;
        if (field.number == 5)
            track->parent = field.value;
        track->is_counter |= field.number == 8;
    }
}

/* The name and the value of an annotation; lists are looked into for commands. */
static void annotation(struct wire wire, char name[64], char text[64], uint64_t *number)
{
    static const char *const kinds[] = {"",
                                        "barrier",
                                        "fill",
                                        "copy",
                                        "update",
                                        "push_constants",
                                        "push_descriptor_set",
                                        "dispatch",
                                        "debug_begin",
                                        "debug_end",
                                        "dispatch_indirect",
                                        "event_signal",
                                        "event_reset",
                                        "events_wait"};
    struct field field, inner;
    name[0] = text[0] = '\0';
    while (next_field(&wire, &field)) {
        if (field.number == 10)
            text_of(&field.inside, name, 64);
        else if (field.number == 6)
            text_of(&field.inside, text, 64);
        else if (field.number == 3 || field.number == 4)
            *number = field.value;
        else if (field.number == 12 && strcmp(name, "commands") == 0) {
            char key[64], value[64];
            uint64_t ignored;
            assert_true(next_field(&field.inside, &inner)); /* "segment" comes first */
            assert_int_equal(inner.number, 11);
            annotation(inner.inside, key, value, &ignored);
            assert_string_equal(key, "segment");
            for (unsigned i = 1; i < sizeof kinds / sizeof *kinds; i++)
                found.commands[i] += strcmp(value, kinds[i]) == 0;
        }
    }
}

static void move_track(struct perfetto *p, struct track *track, uint64_t type, int64_t ns)
{
    if (type == 1)
        track->depth++;
    if (type == 2 && p->checks_nesting)
        assert_true(track->depth > 0);
    if (type == 2)
        track->depth--;
    p->slices += type == 1;
    p->instants += type == 3;
    p->counters += type == 4;
    assert_int_equal(track->is_counter, type == 4);
    track->last_ns = ns;
}

static void add_event(struct perfetto *p, struct wire wire, int64_t ns)
{
    struct field field;
    uint64_t type = 0, track = 0, ticket = 0, thread = 0, begin_ns = 0, end_ns = 0, number = 0;
    char event[64] = "", name[64], text[64];
    while (next_field(&wire, &field)) {
        if (field.number == 9)
            type = field.value;
        if (field.number == 11)
            track = field.value;
        if (field.number == 30)
            track_of(p, track)->value = (int64_t)field.value;
        if (field.number == 47 || field.number == 48) {
            assert_int_equal(field.type, 1);
            assert_true(p->flow_count < MOST_FLOWS);
            p->flows[p->flow_count++] = (struct flow){field.value, ns, field.number == 48};
        }
        if (field.number != 4)
            continue;
        annotation(field.inside, name, text, &number);
        if (strcmp(name, "event") == 0 && !event[0])
            memcpy(event, text, sizeof event);
        ticket = strcmp(name, "ticket") == 0 ? number : ticket;
        thread = strcmp(name, "thread") == 0 ? number : thread;
        begin_ns = strcmp(name, "begin_ns") == 0 ? number : begin_ns;
        end_ns = strcmp(name, "end_ns") == 0 ? number : end_ns;
    }
    if (event[0])
        add_key(&found, event, ticket, thread, first_ns + (int64_t)begin_ns,
                first_ns + (int64_t)end_ns);
    move_track(p, track_of(p, track), type, ns);
}

static void decode_perfetto(struct perfetto *p, const uint8_t *data, size_t bytes)
{
    struct wire wire = {data, data + bytes};
    struct field packet, field;
    found.count = 0;
    memset(found.commands, 0, sizeof found.commands);
    while (next_field(&wire, &packet)) {
        int64_t ns = 0;
        assert_int_equal(packet.number, 1);
        while (next_field(&packet.inside, &field)) {
            if (field.number == 8)
                ns = (int64_t)field.value;
            if (field.number == 11)
                add_event(p, field.inside, ns);
            if (field.number == 60)
                add_descriptor(p, field.inside);
        }
    }
}

/* ---- Random traces: completeness ---- */

static void want_records(const struct random_records *r, uint32_t thread)
{
    for (size_t at = 0; at < r->bytes;) {
        const struct trace_event *event = (const void *)(r->data + at);
        at += event->bytes;
        if (trace_is_table(event))
            continue;
        first_ns = event->begin_ns < first_ns ? event->begin_ns : first_ns;
        add_key(&wanted, trace_event_name(event->kind), event->ticket, thread, event->begin_ns,
                event->end_ns);
        if (event->kind != TRACE_COMMAND_BUFFER_SEAL)
            continue;
        const struct trace_command_buffer_seal *seal = (const void *)event;
        for (uint32_t i = 0; i < seal->segment_count; i++) {
            const struct trace_segment *segment = (const void *)(r->data + at);
            wanted.commands[segment->kind]++;
            at += segment->bytes;
        }
    }
}

static void write_random(uint64_t seed)
{
    struct trace_writer *writer;
    const struct trace_header header = {.program = "p", .process_id = 5};
    struct random_records r = {
        .state = seed, .string_count = 12, .stack_count = 4, .next_ticket = 1, .thread = 1};
    assert_int_equal(
        trace_writer_open(&(struct trace_writer_options){.path = file("t.pb.zst"), .force = true},
                          &header, &writer),
        HAL_OK);
    random_tables(&r);
    assert_int_equal(trace_writer_records(writer, 1, r.data, r.bytes), HAL_OK);
    memset(&wanted, 0, sizeof wanted);
    first_ns = INT64_MAX;
    for (uint32_t thread = 1; thread <= 3; thread++) {
        random_clear(&r);
        for (unsigned i = 0; i < 120; i++)
            random_event(&r, random_kind(&r), 10);
        want_records(&r, thread);
        assert_int_equal(trace_writer_records(writer, thread, r.data, r.bytes), HAL_OK);
    }
    random_finish(&r);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

TEST(every_event_is_in_perfettos_file)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static struct perfetto p;
        size_t bytes;
        write_random(seed);
        uint8_t *data = export_as("perfetto", &bytes, 0);
        p = (struct perfetto){0};
        decode_perfetto(&p, data, bytes);
        assert_true(wanted.count > 200);
        assert_same_keys(seed);
        free(data);
    }
}

/* Each line of the set, in the words of the format. */
TEST(every_event_is_in_the_text_formats)
{
    static const char *const formats[] = {"chrome", "jsonl", "csv"};
    write_random(99);
    for (size_t f = 0; f < 3; f++) {
        size_t bytes, segments = 0, expected = 0;
        uint8_t *data = export_as(formats[f], &bytes, 0);
        for (size_t i = 0; i < wanted.count; i++) {
            char name[64], line[KEY_BYTES * 2];
            uint64_t ticket, thread;
            int64_t begin_ns, end_ns;
            assert_int_equal(sscanf(wanted.lines[i],
                                    "%63s ticket %" SCNu64 " thread %" SCNu64 " from %" SCNd64
                                    " to %" SCNd64,
                                    name, &ticket, &thread, &begin_ns, &end_ns),
                             5);
            snprintf(line, sizeof line,
                     f == 2 ? "%3$" PRId64 ",%4$" PRId64 ",%1$" PRIu64 ",%2$" PRIu64 ","
                            : "\"ticket\":%1$" PRIu64 ",\"thread\":%2$" PRIu64
                              ",\"begin_ns\":%3$" PRId64 ",\"end_ns\":%4$" PRId64 ",",
                     ticket, thread, begin_ns - first_ns, end_ns - first_ns);
            if (!strstr((char *)data, line))
                fail_msg("%s: '%s' is not there", formats[f], line);
        }
        const char *const mark = f == 2 ? ",command:" : "\"segment\":\"";
        for (char *at = (char *)data; (at = strstr(at, mark)); at++)
            segments++;
        for (unsigned i = 0; i < 16; i++)
            expected += wanted.commands[i];
        assert_int_equal(segments, expected);
        free(data);
    }
}

/* ---- A trace by hand: what is where ---- */

enum { DONE = 5, COMMANDS = 7, BUFFER = 3, FIRST_NS = 1000 };
static int64_t work_ns; /* when the work of #s0 is ready */

static void write_known(void)
{
    struct trace_builder b;
    const struct trace_semaphore_value values[] = {{DONE, 1}, {DONE, 2}, {DONE, 3}};
    builder_open(&b, file("t.pb.zst"), NULL);
    builder_buffer_create(&b, BUFFER, "b", 1000);
    builder_buffer_create(&b, BUFFER + 1, "c", 234);
    builder_semaphore_create(&b, DONE, "done", 0);
    builder_scope_begin(&b, "token 1");
    builder_command_buffer_create(&b, COMMANDS, NULL, 1);
    builder_debug_begin(&b, "whole \xFF", 0);
    builder_debug_begin(&b, "inner", 0);
    builder_fill(&b, BUFFER, 0, 8, 1, 1);
    builder_debug_end(&b);
    builder_fill(&b, BUFFER, 0, 8, 1, 1);
    builder_debug_end(&b);
    builder_end_commands(&b, COMMANDS);
    builder_submit(&b, 0, 1, VALUES(values[0]), VALUES(values[1]), IDS(COMMANDS));
    builder_submit(&b, 1, 1, VALUES(values[1]), VALUES(values[2]), NO_IDS);
    builder_semaphore(&b, TRACE_SEMAPHORE_SIGNAL, DONE, 1, NULL);
    const int64_t now = work_ns = b.begin_ns;
    builder_submission_done(&b, 0, 1, now, now + 10, now + 1000);
    builder_submission_done(&b, 1, 1, now, now + 500, now + 1500); /* overlaps */
    b.begin_ns = now + 1200;
    b.step_ns = 800;
    builder_semaphore_wait(&b, 0, &values[2], 1, INT64_MAX);
    builder_scope_end(&b);
    builder_destroy(&b, TRACE_BUFFER_DESTROY, BUFFER);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(slices_flows_and_counters_are_right)
{
    static struct perfetto p;
    size_t bytes, queue_lanes = 0, groups = 0;
    write_known();
    uint8_t *data = export_as("perfetto", &bytes, 0);
    p = (struct perfetto){.checks_nesting = true};
    decode_perfetto(&p, data, bytes);
    for (size_t i = 0; i < p.track_count; i++) {
        const struct track *track = &p.tracks[i];
        assert_int_equal(track->depth, 0);
        queue_lanes += strcmp(track->name, "queue 1") == 0;
        groups += strcmp(track->name, "queue 1 groups") == 0;
        if (strstr(track->name, "buffers "))
            assert_int_equal(track->value, 234);
        if (strcmp(track->name, "submissions in flight") == 0)
            assert_int_equal(track->value, 0);
    }
    assert_int_equal(queue_lanes, 2); /* two at once */
    assert_int_equal(groups, 1);
    assert_true(p.counters == 7);
    /* Every arrow's end has a beginning that is not later. */
    unsigned ends = 0;
    for (size_t i = 0; i < p.flow_count; i++) {
        bool begins = !p.flows[i].ends;
        for (size_t k = 0; k < p.flow_count && !begins; k++)
            begins = !p.flows[k].ends && p.flows[k].id == p.flows[i].id &&
                     p.flows[k].ns <= p.flows[i].ns;
        assert_true(begins);
        ends += p.flows[i].ends;
    }
    assert_int_equal(ends, 5); /* two submissions, two waits of theirs, one of the host */
    assert_non_null(memmem(data, bytes, "whole \xEF\xBF\xBD", 9));
    free(data);
}

/* The line of Chrome's format with a whole slice: times in microseconds. */
static void says_slice(const char *text, const char *name, int64_t begin_ns, int64_t length_ns)
{
    char start[64], times[96];
    snprintf(start, sizeof start, "{\"ph\":\"X\",\"name\":\"%s\",", name);
    snprintf(times, sizeof times,
             "\"ts\":%" PRId64 ".%03" PRId64 ",\"dur\":%" PRId64 ".%03" PRId64 ",", begin_ns / 1000,
             begin_ns % 1000, length_ns / 1000, length_ns % 1000);
    const char *line = strstr(text, start);
    assert_non_null(line);
    const char *found_times = strstr(line, "\"ts\":");
    assert_non_null(found_times);
    if (strncmp(found_times, times, strlen(times)) != 0)
        fail_msg("%s: '%.*s', not '%s'", name, (int)strlen(times), found_times, times);
}

/* The arrows' ends in those lines: 's' begins one and 'f' ends it. */
static size_t chrome_flows(const char *text, char phase, struct flow flows[MOST_FLOWS])
{
    char start[32];
    size_t count = 0;
    snprintf(start, sizeof start, "{\"ph\":\"%c\",", phase);
    for (const char *line = text; (line = strstr(line, start)); line++) {
        uint64_t us, ns;
        assert_true(count < MOST_FLOWS);
        assert_int_equal(sscanf(strstr(line, "\"ts\":"), "\"ts\":%" SCNu64 ".%" SCNu64, &us, &ns),
                         2);
        assert_int_equal(sscanf(strstr(line, "\"id\":"), "\"id\":%" SCNu64, &flows[count].id), 1);
        flows[count++].ns = (int64_t)(1000 * us + ns);
    }
    return count;
}

TEST(slices_and_flows_of_chromes_format_are_right)
{
    static struct flow begins[MOST_FLOWS], ends[MOST_FLOWS];
    size_t bytes;
    write_known();
    char *text = (char *)export_as("chrome", &bytes, 0);
    says_slice(text, "#s0", work_ns - FIRST_NS + 10, 990);
    says_slice(text, "#s1", work_ns - FIRST_NS + 500, 1000);
    const size_t begin_count = chrome_flows(text, 's', begins);
    assert_int_equal(chrome_flows(text, 'f', ends), 5); /* as above */
    for (size_t i = 0; i < 5; i++) {
        size_t k = 0;
        while (k < begin_count && (begins[k].id != ends[i].id || begins[k].ns > ends[i].ns))
            k++;
        assert_true(k < begin_count);
    }
    free(text);
}

static int run(const char *arguments)
{
    static char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "cd %s && %s/hal-trace %s 2>/dev/null", folder.path,
             HAL_TRACE_FOLDER, arguments);
    return WEXITSTATUS(system(command));
}

TEST(usage_and_files)
{
    write_known();
    assert_int_equal(run("export --format=png t.pb.zst"), 2);
    assert_int_equal(run("export"), 2);
    assert_int_equal(run("export missing"), 3);
    assert_int_equal(run("export -o out.pb t.pb.zst"), 0);
    assert_int_equal(run("export -o out.pb t.pb.zst"), 3); /* exists */
    assert_int_equal(run("export -f -o out.pb t.pb.zst"), 0);
    assert_int_equal(run("export -f -o t.pb.zst t.pb.zst"), 2);
    assert_int_equal(run("export t.pb.zst > /dev/full"), 3);
    assert_int_equal(run("export t.pb.zst > piped.pb"), 0);
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "cmp %s/out.pb %s/piped.pb", folder.path, folder.path);
    assert_int_equal(system(command), 0);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
