/* SPDX-License-Identifier: Apache-2.0 */
/* format/perfetto/packets.c: zstd and protoc decode a trace with Perfetto's schema (tests/unit/
 * perfetto.proto), and what comes out is checked as Perfetto would read it: tracks are described,
 * slices nest, flows lead from a submission to its work. Skipped without the tools. */
#include "format/trace.h"
#include "tests/support/test.h"
#include "tests/support/trace_folder.h"

#include <inttypes.h>
#include <unistd.h>

enum { COMMANDS = 10 };

/* ---- A trace with known times ------------------------------------------------------------- */

static struct trace_writer *writer;

static void give(uint32_t thread, void *record)
{
    struct trace_event *head = record;
    assert_int_equal(trace_writer_records(writer, thread, record, head->bytes), HAL_OK);
}

static void string(uint32_t id, const char *text)
{
    union {
        struct trace_string record;
        char bytes[sizeof(struct trace_string) + 64];
    } s;
    memset(&s, 0, sizeof s);
    s.record.id = id;
    s.record.length = (uint32_t)strlen(text);
    memcpy(s.bytes + sizeof s.record, text, strlen(text));
    s.record.head.kind = TRACE_STRING;
    s.record.head.bytes = (uint32_t)(sizeof s.record + (strlen(text) + 7) / 8 * 8);
    give(1, &s);
}

static void scope(uint32_t thread, uint32_t kind, int64_t at_ns, uint32_t name)
{
    struct trace_scope record = {.name = name};
    record.head = (struct trace_event){
        .kind = (uint16_t)kind, .bytes = sizeof record, .begin_ns = at_ns, .end_ns = at_ns};
    give(thread, &record);
}

static void submit(uint32_t thread, uint64_t submission, int64_t begin_ns, int64_t end_ns)
{
    struct {
        struct trace_submit record;
        uint64_t commands;
    } s = {.record = {.submission = submission, .command_buffer_count = 1}, .commands = COMMANDS};
    s.record.head = (struct trace_event){.kind = TRACE_SUBMIT,
                                         .bytes = sizeof s,
                                         .ticket = submission,
                                         .begin_ns = begin_ns,
                                         .end_ns = end_ns};
    give(thread, &s);
}

static void buffer(uint64_t id, uint64_t bytes, int64_t begin_ns, int64_t end_ns)
{
    struct trace_buffer_create record = {.buffer = id, .size = bytes};
    record.head = (struct trace_event){.kind = TRACE_BUFFER_CREATE,
                                       .bytes = sizeof record,
                                       .begin_ns = begin_ns,
                                       .end_ns = end_ns};
    give(1, &record);
}

static void destroy(uint64_t id, int64_t at_ns)
{
    struct trace_object_event record = {.object = id};
    record.head = (struct trace_event){
        .kind = TRACE_BUFFER_DESTROY, .bytes = sizeof record, .begin_ns = at_ns, .end_ns = at_ns};
    give(1, &record);
}

/* COMMANDS runs the kernel of string 3 twice: with 2 x 3 x 4 groups, and with as many as a buffer
 * says. */
static void kernels(void)
{
    struct {
        struct trace_executable_create record;
        struct trace_entry_point point;
    } e = {.record = {.head = {.kind = TRACE_EXECUTABLE_CREATE, .bytes = sizeof e},
                      .executable = 9,
                      .entry_point_count = 1},
           .point = {.name = 3, .group_size = {1, 1, 1}}};
    struct {
        struct trace_command_buffer_seal record;
        struct trace_dispatch direct;
        struct trace_dispatch_indirect indirect;
    } c = {.record = {.head = {.kind = TRACE_COMMAND_BUFFER_SEAL, .bytes = sizeof c.record},
                      .command_buffer = COMMANDS,
                      .segment_count = 2,
                      .dispatch_count = 2,
                      .segment_bytes = sizeof c.direct + sizeof c.indirect},
           .direct = {.head = {.kind = TRACE_DISPATCH, .bytes = sizeof c.direct},
                      .executable = 9,
                      .workgroup_count = {2, 3, 4}},
           .indirect = {.head = {.kind = TRACE_DISPATCH_INDIRECT, .bytes = sizeof c.indirect},
                        .executable = 9}};
    give(1, &e);
    assert_int_equal(trace_writer_records(writer, 1, &c, sizeof c), HAL_OK);
}

static void done(uint64_t submission, uint32_t queue, int64_t begin_ns, int64_t end_ns)
{
    struct trace_submission_done record = {.submission = submission, .queue = queue};
    record.head = (struct trace_event){.kind = TRACE_SUBMISSION_DONE,
                                       .bytes = sizeof record,
                                       .begin_ns = begin_ns,
                                       .end_ns = end_ns};
    give(2, &record);
}

/* Of #s1: two at once, and one behind them. */
static void dispatches(void)
{
    struct {
        struct trace_dispatch_times record;
        struct trace_dispatch_time times[3];
    } d = {.record = {.head = {.kind = TRACE_DISPATCH_TIMES,
                               .bytes = sizeof d,
                               .begin_ns = 160,
                               .end_ns = 500},
                      .submission = 1,
                      .time_count = 3},
           .times = {{0, 0, 160, 300}, {0, 1, 200, 400}, {2, 7, 400, 500}}};
    give(2, &d);
}

static void wait(uint32_t thread, int64_t begin_ns, int64_t end_ns)
{
    struct trace_semaphore_wait record = {.timeout_ns = INT64_MAX};
    record.head = (struct trace_event){.kind = TRACE_SEMAPHORE_WAIT,
                                       .bytes = sizeof record,
                                       .begin_ns = begin_ns,
                                       .end_ns = end_ns};
    give(thread, &record);
}

/* #s4 on the second rank of "ring", of a thread that has done another one before. */
static void collectives(void)
{
    struct trace_channel_create channel = {
        .channel = 20, .group = 3, .rank = 1, .count = 2, .label = 4};
    struct trace_collective work = {.submission = 9,
                                    .channel = 21,
                                    .collective = TRACE_SEND,
                                    .type = 2,
                                    .peer = 0,
                                    .count = 5,
                                    .send_size = 5};
    channel.head = (struct trace_event){.kind = TRACE_CHANNEL_CREATE, .bytes = sizeof channel};
    work.head = (struct trace_event){
        .kind = TRACE_COLLECTIVE, .bytes = sizeof work, .begin_ns = 640, .end_ns = 640};
    string(4, "ring\xFF");
    give(1, &channel);
    give(2, &work);
    done(9, 2, 610, 640);
    work.submission = 4;
    work.channel = 20;
    work.collective = TRACE_ALL_REDUCE;
    work.type = 11;
    work.reduction = 4;
    work.count = 1000;
    work.send_size = work.receive_size = 4000;
    give(2, &work);
}

static void write_known(void)
{
    static const struct trace_header header = {.program = "/bin/\xFFprogram",
                                               .process_id = 77,
                                               .start_ns = 50,
                                               .start_wall_ns = 5000,
                                               .mode = "dispatch"};
    const struct trace_writer_options options = {.path = path, .force = true};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    string(1, "token 1");
    string(2, "main\xFF");
    struct trace_thread thread = {.head = {.kind = TRACE_THREAD, .bytes = sizeof thread},
                                  .id = 1,
                                  .system_id = 770,
                                  .name = 2};
    give(1, &thread);
    string(3, "saxpy");
    buffer(7, 1000, 60, 70);
    buffer(8, 24, 80, 90);
    kernels();
    scope(1, TRACE_SCOPE_BEGIN, 100, 1);
    scope(1, TRACE_SCOPE_BEGIN, 100, 1);
    submit(1, 1, 100, 200);
    submit(1, 2, 200, 200);
    scope(1, TRACE_SCOPE_END, 200, 0);
    dispatches();
    done(1, 0, 150, 600);
    done(2, 0, 300, 650); /* overlaps on the same queue */
    done(3, 0, 650, 660); /* fits behind */
    collectives();
    done(4, 1, 100, 660);
    done(5, 0, 0, 0); /* times unknown */
    wait(1, 400, 700);
    destroy(7, 800);
    destroy(8, 850);
    scope(1, TRACE_SCOPE_END, 900, 0);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

/* ---- Reading protoc's text ---------------------------------------------------------------- */

struct packet {
    uint64_t timestamp, track, uuid, parent, flow, end_flow, clock;
    uint64_t process, thread, primary_clock;
    uint64_t clock_id, snapshot_ns[8]; /* of the clocks of a snapshot */
    int type;                          /* 1 begin, 2 end, 3 counter, 0 no event */
    char name[64];
    char arguments[512]; /* "name=value;" of each */
    bool in_argument;
    char value[64]; /* of the argument that is being read */
    int64_t counted;
    bool is_in_bytes;
    bool is_snapshot, is_process, is_thread;
};

enum { MOST_PACKETS = 200 };
static struct packet packets[MOST_PACKETS];
static size_t packet_count;

static void take_argument(struct packet *p, const char *line)
{
    char name[64], argument[160];
    if (sscanf(line, " string_value: \"%63[^\"]", p->value) == 1 ||
        sscanf(line, " uint_value: %63s", p->value) == 1)
        return;
    if (sscanf(line, " name: \"%63[^\"]", name) == 1) {
        snprintf(argument, sizeof argument, "%s=%s;", name, p->value);
        assert_true(strlen(p->arguments) + strlen(argument) < sizeof p->arguments);
        strcat(p->arguments, argument);
    }
    p->in_argument = strchr(line, '}') == NULL;
}

/* What a packet has itself stands further to the left. */
static bool take_clock(struct packet *p, const char *line)
{
    return strncmp(line, "      ", 6) == 0 && p->is_snapshot &&
           (sscanf(line, " clock_id: %" SCNu64, &p->clock_id) == 1 ||
            (p->clock_id < 8 &&
             sscanf(line, " timestamp: %" SCNu64, &p->snapshot_ns[p->clock_id]) == 1));
}

static void take_line(struct packet *p, const char *line)
{
    char word[32];
    if (take_clock(p, line) ||
        (sscanf(line, " timestamp: %" SCNu64, &p->timestamp) == 1 && p->is_snapshot))
        return;
    if (p->in_argument) {
        take_argument(p, line);
        return;
    }
    p->in_argument = strstr(line, "debug_annotations {") != NULL;
    p->is_in_bytes |= strstr(line, "unit: UNIT_SIZE_BYTES") != NULL;
    sscanf(line, " counter_value: %" SCNd64, &p->counted);
    sscanf(line, " timestamp_clock_id: %" SCNu64, &p->clock);
    sscanf(line, " primary_trace_clock: %" SCNu64, &p->primary_clock);
    sscanf(line, " pid: %" SCNu64, &p->process);
    sscanf(line, " tid: %" SCNu64, &p->thread);
    sscanf(line, " track_uuid: %" SCNu64, &p->track);
    sscanf(line, " uuid: %" SCNu64, &p->uuid);
    sscanf(line, " parent_uuid: %" SCNu64, &p->parent);
    sscanf(line, " flow_ids: %" SCNu64, &p->flow);
    sscanf(line, " terminating_flow_ids: %" SCNu64, &p->end_flow);
    if (sscanf(line, " name: \"%63[^\"]", p->name) != 1)
        sscanf(line, " thread_name: \"%63[^\"]", p->name);
    if (sscanf(line, " type: %31s", word) == 1)
        p->type = strcmp(word, "TYPE_SLICE_BEGIN") == 0 ? 1
                  : strcmp(word, "TYPE_COUNTER") == 0   ? 3
                                                        : 2;
    p->is_snapshot |= strstr(line, "clock_snapshot {") != NULL;
    p->is_process |= strstr(line, "process {") != NULL;
    p->is_thread |= strstr(line, "thread {") != NULL;
}

/* Runs the shell command, whose lines go to `packets`, or are searched for. */
static FILE *start(const char *command)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    return pipe;
}

static void decode_packets(void)
{
    char command[PATH_MAX + 256], line[256];
    snprintf(command, sizeof command,
             "zstd -q -dc %s | protoc -I %s --decode=perfetto.protos.Trace perfetto.proto", path,
             SOURCE_FOLDER "/tests/unit/format");
    FILE *pipe = start(command);
    memset(packets, 0, sizeof packets);
    packet_count = 0;
    while (fgets(line, sizeof line, pipe)) {
        /* Our own fields are unknown to it: printed by number, at the top level. */
        if (strcmp(line, "packet {\n") == 0)
            assert_true(++packet_count < MOST_PACKETS);
        else if (packet_count && line[0] == ' ')
            take_line(&packets[packet_count - 1], line);
        else if (line[0] != '}')
            break;
    }
    while (fgets(line, sizeof line, pipe)) {
    }
    assert_int_equal(pclose(pipe), 0);
}

static const struct packet *track_of(uint64_t uuid)
{
    const struct packet *found = NULL;
    for (size_t i = 0; i < packet_count; i++) {
        if (packets[i].uuid == uuid)
            found = &packets[i];
    }
    return found;
}

/* ---- Tests -------------------------------------------------------------------------------- */

TEST(tracks_and_clock_are_described)
{
    write_known();
    decode_packets();
    assert_true(packets[0].is_snapshot);
    assert_int_equal(packets[0].primary_clock, 3);
    assert_int_equal(packets[0].timestamp, 50);
    assert_int_equal(packets[0].snapshot_ns[3], 50);   /* BUILTIN_CLOCK_MONOTONIC */
    assert_int_equal(packets[0].snapshot_ns[1], 5000); /* BUILTIN_CLOCK_REALTIME */
    size_t events = 0;
    for (size_t i = 0; i < packet_count; i++) {
        if (!packets[i].type)
            continue;
        const struct packet *track = track_of(packets[i].track);
        events++;
        assert_int_equal(packets[i].clock, 3); /* BUILTIN_CLOCK_MONOTONIC */
        assert_non_null(track);
        assert_true(track->is_thread || track->is_in_bytes || strcmp(track->name, "queue 0") == 0 ||
                    strcmp(track->name, "queue 1") == 0 || strcmp(track->name, "queue 2") == 0 ||
                    strcmp(track->name, "queue 0 dispatches") == 0);
        assert_true(track_of(track->parent)->is_process);
        assert_int_equal(track_of(track->parent)->process, 77);
        if (!track->is_thread)
            continue;
        assert_string_equal(track->name, "main?"); /* invalid UTF-8 is replaced */
        assert_int_equal(track->process, 77);
        assert_int_equal(track->thread, 770);
    }
    assert_int_equal(events, 2 * (2 + 2 + 5 + 1 + 3) + 4);
}

/* Perfetto sorts by time, stably; then begins and ends of a track must pair like brackets. */
TEST(slices_nest)
{
    uint64_t depth_of[8] = {0}, tracks[8];
    size_t track_count = 0;
    bool is_used[MOST_PACKETS] = {0};
    for (;;) {
        struct packet *next = NULL;
        for (size_t i = 0; i < packet_count; i++) {
            if (packets[i].type && packets[i].type != 3 && !is_used[i] &&
                (!next || packets[i].timestamp < next->timestamp))
                next = &packets[i];
        }
        if (!next)
            break;
        is_used[next - packets] = true;
        size_t at = 0;
        while (at < track_count && tracks[at] != next->track)
            at++;
        if (at == track_count) {
            assert_true(track_count < 8);
            tracks[track_count++] = next->track;
        }
        if (next->type == 1)
            depth_of[at]++;
        else
            assert_true(depth_of[at]-- > 0);
        /* Work that overlaps lies on different tracks. */
        if (!track_of(next->track)->is_thread)
            assert_true(depth_of[at] <= 1);
    }
    for (size_t i = 0; i < track_count; i++)
        assert_int_equal(depth_of[i], 0);
    /* A thread, two lanes of queue 0, one of queues 1 and 2, two of dispatches. */
    assert_int_equal(track_count, 1 + 2 + 2 + 2);
}

TEST(dispatches_have_names_and_times)
{
    static const struct {
        const char *name;
        uint64_t begin_ns;
        const char *arguments;
    } expected[] = {
        {"saxpy", 160, "dispatch=#s1.d0;queue=0;kernel=saxpy;workgroups=2 x 3 x 4;"},
        {"saxpy", 200, "dispatch=#s1.d1;queue=0;kernel=saxpy;workgroups=as a buffer says;"},
        {"#s1 command buffer 2, dispatch 7", 400,
         "dispatch=#s1 command buffer 2, dispatch 7;queue=0;"}};
    for (size_t k = 0; k < 3; k++) {
        size_t i = 0;
        while (i < packet_count && (strcmp(packets[i].name, expected[k].name) != 0 ||
                                    packets[i].timestamp != expected[k].begin_ns))
            i++;
        assert_true(i < packet_count);
        assert_string_equal(packets[i].arguments, expected[k].arguments);
        assert_string_equal(track_of(packets[i].track)->name, "queue 0 dispatches");
    }
}

TEST(flows_lead_from_submission_to_work)
{
    for (uint64_t flow = 1; flow <= 2; flow++) {
        const struct packet *from = NULL, *to = NULL;
        for (size_t i = 0; i < packet_count; i++) {
            from = packets[i].flow == flow ? &packets[i] : from;
            to = packets[i].end_flow == flow ? &packets[i] : to;
        }
        char name[32];
        snprintf(name, sizeof name, "submit #s%" PRIu64, flow);
        assert_string_equal(from->name, name);
        assert_true(track_of(from->track)->is_thread);
        assert_string_equal(to->name, name + strlen("submit "));
        assert_string_equal(track_of(to->track)->name, "queue 0");
        assert_true(from->timestamp <= to->timestamp);
        assert_int_equal(to->timestamp, flow == 1 ? 150 : 300);
    }
}

TEST(slices_have_arguments)
{
    static const struct {
        const char *name, *arguments;
    } expected[] = {{"submit #s1", "queue=0;command buffers=1;waits=0;signals=0;"},
                    {"#s9 send", "queue=2;collective=send u8;elements=5;peer=0;sent bytes=5;"},
                    {"#s4 all_reduce",
                     "queue=1;collective=all_reduce maximum f32;elements=1000;"
                     "channel=ring?, rank 1 of 2;sent bytes=4000;received bytes=4000;"},
                    {"semaphore_wait", "semaphores=0;"}};
    for (size_t k = 0; k < 3; k++) {
        size_t i = 0;
        while (i < packet_count && strcmp(packets[i].name, expected[k].name) != 0)
            i++;
        assert_true(i < packet_count);
        assert_string_equal(packets[i].arguments, expected[k].arguments);
    }
}

TEST(memory_is_counted)
{
    static const struct {
        uint64_t at_ns;
        int64_t bytes;
    } expected[] = {{70, 1000}, {90, 1024}, {800, 24}, {850, 0}};
    size_t found = 0;
    for (size_t i = 0; i < packet_count; i++) {
        if (packets[i].type != 3)
            continue;
        assert_true(found < 4);
        assert_int_equal(packets[i].timestamp, expected[found].at_ns);
        assert_int_equal(packets[i].counted, expected[found++].bytes);
        assert_string_equal(track_of(packets[i].track)->name, "memory of buffers");
        assert_true(track_of(packets[i].track)->is_in_bytes);
    }
    assert_int_equal(found, 4);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);

int main(void)
{
    if (system("(command -v zstd && command -v protoc) >/dev/null") != 0) {
        puts("skipped: needs the programs zstd and protoc");
        return 77;
    }
    return test_run();
}
