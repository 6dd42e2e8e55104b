/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/model/ranks.c, collectives.c: a merged trace of two devices that are ranks of one group,
 * made by hand, and what is seen of it on the cells, in the details and in reports; one of three
 * processes; captures whose numbers make no sense. Times are relative to the capture's start.
 *
 *     rank 0, queue 0   #s0 all_reduce 100..300    #s1 send to 1, 400..500
 *     rank 1, queue 2   #s7 all_reduce 220..300    #s8 receive from 0, 430..500 */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_folder.h"
#include "viewer/report/report.h"
#include "viewer/ui/view.h"

enum { START_NS = 1000, ELEMENTS = 4096, F32 = 11, SUM = 1 };

/* ---- Making traces ------------------------------------------------------------------------ */

static void channel(struct trace_builder *b, uint64_t id, uint64_t group, uint32_t rank,
                    uint32_t count)
{
    struct trace_channel_create record = {.head = {.kind = TRACE_CHANNEL_CREATE,
                                                   .bytes = sizeof record,
                                                   .thread = 1,
                                                   .begin_ns = START_NS,
                                                   .end_ns = START_NS},
                                          .channel = id,
                                          .group = group,
                                          .rank = rank,
                                          .count = count,
                                          .label = builder_string(b, "ring")};
    builder_record(b, &record.head);
}

struct work {
    uint64_t submission, channel, number;
    uint32_t queue, collective, peer;
    uint64_t send, receive; /* buffers */
    int64_t begin_ns, end_ns;
};

static void collective(struct trace_builder *b, const struct work *work)
{
    const uint64_t bytes = ELEMENTS * 4;
    struct trace_submit submit = {.head = {.kind = TRACE_SUBMIT,
                                           .bytes = sizeof submit,
                                           .thread = 1,
                                           .begin_ns = START_NS + work->begin_ns - 50,
                                           .end_ns = START_NS + work->begin_ns - 40},
                                  .submission = work->submission,
                                  .queue = work->queue,
                                  .operation = TRACE_OPERATION_COLLECTIVE,
                                  .buffer = work->receive ? work->receive : work->send,
                                  .size = bytes};
    const struct trace_collective record = {.head = {.kind = TRACE_COLLECTIVE,
                                                     .bytes = sizeof record,
                                                     .thread = 1,
                                                     .begin_ns = START_NS + work->end_ns,
                                                     .end_ns = START_NS + work->end_ns},
                                            .submission = work->submission,
                                            .channel = work->channel,
                                            .collective = work->collective,
                                            .type = F32,
                                            .reduction =
                                                work->collective == TRACE_ALL_REDUCE ? SUM : 0,
                                            .peer = work->peer,
                                            .count = ELEMENTS,
                                            .number = work->number,
                                            .send = work->send,
                                            .send_size = work->send ? bytes : 0,
                                            .receive = work->receive,
                                            .receive_size = work->receive ? bytes : 0};
    builder_record(b, &submit.head);
    builder_record(b, &record.head);
    builder_submission_done(b, work->submission, work->queue, START_NS + work->begin_ns - 5,
                            START_NS + work->begin_ns, START_NS + work->end_ns);
}

static struct trace_capture capture(const char *uri, uint64_t process, uint32_t queues,
                                    uint64_t objects, uint64_t submissions)
{
    const struct trace_header standard = builder_default_header();
    struct trace_capture made = {.program = "/bin/train",
                                 .host = "node",
                                 .process_id = process,
                                 .device = standard.device,
                                 .queue_base = queues,
                                 .object_base = objects,
                                 .submission_base = submissions};
    made.device.uri = uri;
    return made;
}

static void write_two(const struct trace_capture *captures, size_t count)
{
    struct trace_builder b;
    struct trace_header header = builder_default_header();
    header.captures = captures;
    header.capture_count = count;
    builder_open(&b, path, &header);
    builder_buffer_create(&b, 3, "gradients", ELEMENTS * 4);
    builder_buffer_create(&b, 13, "gradients", ELEMENTS * 4);
    channel(&b, 5, 77, 0, 2);
    channel(&b, 15, 77, 1, 2);
    const struct work works[] = {
        {7, 15, 0, 2, TRACE_ALL_REDUCE, 0, 13, 13, 220, 300},
        {0, 5, 0, 0, TRACE_ALL_REDUCE, 0, 3, 3, 100, 300},
        {1, 5, 0, 0, TRACE_SEND, 1, 3, 0, 400, 500},
        {8, 15, 0, 2, TRACE_RECEIVE, 0, 0, 13, 430, 500},
    };
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        collective(&b, &works[i]);
    if (builder_close(&b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

static struct view_model *open_model(void)
{
    struct view_model *model;
    if (view_model_open(path, &model) != HAL_OK)
        fail_msg("%s", hal_message());
    return model;
}

static struct view_model *open_two(void)
{
    const struct trace_capture captures[] = {capture("cpu?threads=1", 40, 0, 0, 0),
                                             capture("cpu?threads=9", 40, 2, 10, 7)};
    write_two(captures, 2);
    return open_model();
}

/* ---- What is seen ------------------------------------------------------------------------- */

/* The frame's row that begins with that name, behind the marks before it; NULL: there is none. */
static const char *row_of(const char *frame, const char *name)
{
    for (const char *at = frame; *at; at = strchr(at, '\n') + 1) {
        char row[512];
        snprintf(row, sizeof row, "%.*s", (int)strcspn(at, "\n"), at);
        const char *found = strstr(row, name);
        if (found && found - row <= 6)
            return at;
    }
    return NULL;
}

static char *frame_of(struct view_model *model, const char *keys, int rows, int columns)
{
    struct view_screen screen = {0};
    struct view *view;
    char *text;
    size_t bytes;
    assert_int_equal(view_create(model, &view), HAL_OK);
    assert_int_equal(view_screen_resize(&screen, rows, columns), HAL_OK);
    view_draw(view, &screen);
    assert_int_equal(view_type(view, keys), HAL_OK);
    view_draw(view, &screen);
    FILE *file = open_memstream(&text, &bytes);
    view_screen_write_text(&screen, file, (struct view_text_form){.ascii = true});
    fclose(file);
    view_screen_finish(&screen);
    view_destroy(view);
    return text;
}

static void expect_in_row(const char *frame, const char *name, const char *expected)
{
    const char *row = row_of(frame, name);
    char text[512] = "";
    if (row)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(row, "\n"), row);
    if (!strstr(text, expected))
        fail_msg("row '%s' lacks '%s': %s\nin:\n%s", name, expected, text, frame);
}

TEST(tracks_are_grouped_by_rank)
{
    struct view_model *model = open_two();
    char *frame = frame_of(model, "0", 32, 160);
    static const char *const order[] = {"all 2 devices", "rank 0 of 2: cpu?threads=1",
                                        "queue 0, rank 0", "rank 1 of 2: cpu?threads=9",
                                        "queue 2, rank 1"};
    const char *last = frame;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *row = row_of(frame, order[i]);
        if (!row || row < last)
            fail_msg("no row '%s' behind the one before:\n%s", order[i], frame);
        last = row;
    }
    expect_in_row(frame, "rank 0 of 2", "all_reduce 4 096 ring");
    expect_in_row(frame, "rank 1 of 2", "all_red");
    expect_in_row(frame, "rank 0 of 2", "send 4 096 ring");
    expect_in_row(frame, "queue 0, rank 0", "#s1");
    expect_in_row(frame, "queue 2, rank 1", "#s8");
    free(frame);
    view_model_close(model);
}

TEST(details_tell_the_rendezvous)
{
    struct view_model *model = open_two();
    char *frame = frame_of(model, "0g#s0<Enter>_", 32, 100);
    expect_in_row(frame, "device", "rank 0 of 2: cpu?threads=1");
    expect_in_row(frame, "collective", "all_reduce of 4 096 f32 (sum)");
    expect_in_row(frame, "channel", "ring, as rank 0 of 2; its number 0");
    expect_in_row(frame, "sends", "16.0 KiB of gradients");
    expect_in_row(frame, "met", "rank 1, #s7, which arrived 120 ns later");
    expect_in_row(frame, "waited", "120 ns of 200 ns, until rank 1 arrived");
    free(frame);
    frame = frame_of(model, "0g#s7<Enter>_", 32, 100);
    expect_in_row(frame, "met", "rank 0, #s0, which arrived 120 ns before");
    expect_in_row(frame, "waited", "for no other rank: it arrived last");
    free(frame);
    frame = frame_of(model, "0g#s8<Enter>_", 32, 100);
    expect_in_row(frame, "collective", "receive of 4 096 f32");
    expect_in_row(frame, "from", "rank 0");
    expect_in_row(frame, "receives", "16.0 KiB of gradients");
    expect_in_row(frame, "met", "rank 0, #s1, which arrived 30 ns before");
    free(frame);
    frame = frame_of(model, "1_", 40, 120);
    expect_in_row(frame, "devices", "rank 0 of 2: busy 75.0 %, 300 ns in 2 collectives (150 ns");
    free(frame);
    view_model_close(model);
}

/* Searching finds the ranks' tracks, not the one that has all devices. */
TEST(searches_and_paths_name_ranks)
{
    struct view_model *model = open_two();
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    assert_int_equal(view_type(view, "/receive<Enter>"), HAL_OK);
    assert_int_equal(model->tracks[view->track].kind, VIEW_TRACK_DEVICE);
    assert_int_equal(model->tracks[view->track].object, 1);
    view_destroy(view);
    assert_int_equal(model->summary.device_busy_ns, 300); /* of both together */
    view_model_close(model);
}

/* A dispatch of "mul" by an executable of the submission's own. */
static void dispatch_alone(struct trace_builder *b, uint64_t submission, uint32_t queue,
                           uint64_t executable, int64_t begin_ns)
{
    const struct trace_entry_point entry = {.name = builder_string(b, "mul"),
                                            .group_size = {1, 1, 1}};
    const uint64_t commands = executable + 1;
    builder_executable_create(b, executable, NULL, "", &entry, 1);
    builder_command_buffer_create(b, commands, NULL, 0);
    builder_dispatch(b, executable, 0, 1, 1, 1);
    builder_end_commands(b, commands);
    builder_submit(b, submission, queue, NO_VALUES, NO_VALUES, IDS(commands));
    builder_submission_done(b, submission, queue, begin_ns - 5, begin_ns, begin_ns + 10);
}

/* From device to device, and back; each time it is that device's track. */
TEST(the_same_kernel_is_shown_on_the_track_of_its_device)
{
    const struct trace_capture captures[] = {capture("cpu?threads=1", 40, 0, 0, 0),
                                             capture("cpu?threads=9", 40, 2, 10, 7)};
    struct trace_builder b;
    struct trace_header header = builder_default_header();
    header.captures = captures;
    header.capture_count = 2;
    builder_open(&b, path, &header);
    dispatch_alone(&b, 0, 0, 3, START_NS + 100000);
    dispatch_alone(&b, 7, 2, 13, START_NS + 200000);
    dispatch_alone(&b, 1, 0, 5, START_NS + 300000);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    struct view_model *model = open_model();
    struct view *view;
    assert_int_equal(view_create(model, &view), HAL_OK);
    static const struct {
        const char *keys;
        uint64_t number;
        uint32_t device;
    } steps[] = {{"g#s0<Enter>.", 7, 1}, {".", 1, 0}, {",", 7, 1}, {",", 0, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(view_type(view, steps[i].keys), HAL_OK);
        assert_int_equal(model->submissions[view_selected_submission(view)].number,
                         steps[i].number);
        assert_int_equal(model->tracks[view->track].kind, VIEW_TRACK_DEVICE);
        assert_int_equal(model->tracks[view->track].object, steps[i].device);
        assert_string_equal(view->message, "mul");
    }
    assert_int_equal(view_type(view, ","), HAL_OK);
    assert_string_equal(view->message, "no earlier mul");
    view_destroy(view);
    view_model_close(model);
}

static char *report_of(const struct view_model *model, enum view_report report, bool json)
{
    const struct view_report_options options = {.width = 120, .json = json};
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_int_equal(view_report_write(model, report, &options, file), HAL_OK);
    fclose(file);
    return text;
}

static void expect_text(char *text, const char *expected)
{
    if (!strstr(text, expected))
        fail_msg("lacks '%s': %s", expected, text);
}

TEST(reports_know_the_rank)
{
    struct view_model *model = open_two();
    char *text = report_of(model, VIEW_REPORT_SUBMISSIONS, true);
    expect_text(text, "{\"number\":7,\"queue\":2,\"rank\":1,");
    expect_text(text, "\"collective\":{\"kind\":\"all_reduce\",\"count\":4096,\"type\":\"f32\","
                      "\"reduction\":\"sum\",\"peer\":0,\"channel\":\"ring\",\"group\":77,"
                      "\"number\":0,\"rank\":0,\"ranks\":2,\"send_bytes\":16384,"
                      "\"receive_bytes\":16384,\"waiting_ns\":120,\"met\":[7]}");
    free(text);
    text = report_of(model, VIEW_REPORT_SUMMARY, true);
    expect_text(text, "\"uri\":\"cpu?threads=9\",\"program\":\"/bin/train\",\"process_id\":40,"
                      "\"host\":\"node\",\"queue_base\":2,\"rank\":1,\"ranks\":2,"
                      "\"busy_ns\":150,\"collectives\":2,\"collective_ns\":150,\"waiting_ns\":0}");
    free(text);
    text = report_of(model, VIEW_REPORT_SUBMISSIONS, false);
    expect_text(text, "rank 1 of 2: all_reduce 4 096 ring\n");
    free(text);
    text = report_of(model, VIEW_REPORT_TIMELINE, false);
    assert_non_null(row_of(text, "rank 1 of 2"));
    free(text);
    view_model_close(model);
}

/* Numbers of groups are a process's own: the same one of another process is another group. */
TEST(groups_of_other_processes_never_meet)
{
    const struct trace_capture captures[] = {capture("cpu?threads=1", 40, 0, 0, 0),
                                             capture("cpu?threads=9", 41, 2, 10, 7)};
    write_two(captures, 2);
    struct view_model *model = open_model();
    for (size_t i = 0; i < model->collectives_count; i++) {
        size_t count;
        const uint32_t *met = view_model_rendezvous(model, &model->collectives[i], &count);
        assert_int_equal(count, 1);
        assert_ptr_equal(&model->collectives[*met], &model->collectives[i]);
        assert_int_equal(view_collective_wait_ns(model, &model->collectives[i]), 0);
    }
    view_model_close(model);
}

/* A trace of one device that is one rank, or all of them, and one without any group. */
TEST(one_device_may_be_ranks)
{
    struct trace_builder b;
    write_two(NULL, 0);
    struct view_model *model = open_model();
    char *frame = frame_of(model, "0", 30, 160);
    assert_null(row_of(frame, "all "));
    assert_non_null(row_of(frame, "ranks 0 to 1 of 2: cpu?"));
    assert_non_null(row_of(frame, "queue 2 "));
    free(frame);
    view_model_close(model);
    builder_open(&b, path, NULL);
    channel(&b, 5, 77, 3, 8);
    channel(&b, 6, 78, 0, 2); /* a pair of its own: the larger group says the rank */
    collective(&b, &(struct work){1, 5, 0, 0, TRACE_BROADCAST, 2, 0, 3, 100, 300});
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    model = open_model();
    frame = frame_of(model, "0g#s1<Enter>_", 30, 160);
    expect_in_row(frame, "device", "rank 3 of 8: cpu?threads=2&queues=2");
    expect_in_row(frame, "from", "rank 2, to all");
    assert_null(strstr(frame, "waited"));
    free(frame);
    view_model_close(model);
}

/* Captures whose numbers fall, repeat or are out of reach: what can be told apart is. */
TEST(captures_without_sense_are_survived)
{
    const struct trace_capture wild[][3] = {
        {capture("a", 1, 5, 0, 0), capture("b", 2, 2, 9, 0), capture("c", 3, 1, 3, 0)},
        {capture("a", 1, 0, 0, 0), capture("b", 2, 0, 0, 0), capture("c", 3, 0, 0, 0)},
        {capture("a", 1, 0, 9, 0), capture("b", 2, 2, 3, 0), capture("c", 3, 4, 20, 0)},
        {capture("a", 1, 0, 0, 0), capture("b", 2, UINT32_MAX, UINT64_MAX, UINT64_MAX),
         capture("", 3, UINT32_MAX, UINT64_MAX, 0)},
    };
    static const size_t devices[] = {1, 3, 1, 3};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        write_two(wild[i], 3);
        struct view_model *model = open_model();
        assert_int_equal(model->devices_count, devices[i]);
        char *frame = frame_of(model, "g#s7<Enter>3JJ1J", 24, 80);
        assert_non_null(strstr(frame, "#s"));
        free(frame);
        view_model_close(model);
    }
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
