/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/model/path.c, history.c: a small trace whose order and times were worked out by hand,
 * followed by function and by key. Times are relative to the capture's start.
 *
 *     main    [submit #s0 100..110]                    [wait 120..260][submit #s2 300..310]
 *     queue 0        #s0 130..150                                            #s2 330..380
 *     queue 1                       #s1 (waits for #s0) 170..240 */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/findings/findings.h"
#include "viewer/model/path.h"
#include "viewer/ui/panes.h"
#include "viewer/ui/preview.h"

#include <unistd.h>

enum { START_NS = 1000, FIRST = 1, SECOND = 2, NEVER = 3, COMMANDS = 10, BUFFER = 20 };

static char folder[] = "/tmp/test_path.XXXXXX";
static char path[64];
static struct view_model *model;
static struct view *view;
static struct view_screen screen;

static void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns)
{
    b->begin_ns = START_NS + begin_ns;
    b->step_ns = end_ns - begin_ns;
}

static void submit(struct trace_builder *b, uint64_t number, uint32_t queue, int64_t begin_ns,
                   const struct trace_semaphore_value *wait,
                   const struct trace_semaphore_value *signal)
{
    at(b, begin_ns, begin_ns + 10);
    builder_submit(b, number, queue, builder_values(wait, wait != NULL),
                   builder_values(signal, signal != NULL), IDS(COMMANDS));
}

static void ran(struct trace_builder *b, uint64_t number, uint32_t queue, int64_t ready_ns,
                int64_t begin_ns, int64_t end_ns)
{
    builder_submission_done(b, number, queue, START_NS + ready_ns, START_NS + begin_ns,
                            START_NS + end_ns);
}

static void write_trace(void)
{
    const struct trace_semaphore_value first = {FIRST, 1}, second = {SECOND, 1}, never = {NEVER, 4};
    struct trace_builder b;
    builder_open(&b, path, NULL);
    at(&b, 0, 5);
    builder_semaphore_create(&b, FIRST, "first", 0);
    builder_semaphore_create(&b, SECOND, "second", 0);
    builder_semaphore_create(&b, NEVER, "never", 0);
    builder_buffer_create(&b, BUFFER, "out", 64);
    builder_command_buffer_create(&b, COMMANDS, NULL, 1);
    builder_fill(&b, BUFFER, 0, 64, 1, 1);
    builder_end_commands(&b, COMMANDS);
    submit(&b, 0, 0, 100, NULL, &first);
    submit(&b, 1, 1, 111, &first, &second);
    at(&b, 122, 260);
    builder_semaphore_wait(&b, 0, &second, 1, INT64_MAX);
    submit(&b, 2, 0, 300, NULL, NULL);
    submit(&b, 3, 0, 320, &never, NULL);
    ran(&b, 0, 0, 110, 130, 150);
    ran(&b, 1, 1, 150, 170, 240);
    ran(&b, 2, 0, 310, 330, 380);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static int make(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    write_trace();
    if (view_model_open(path, &model) != HAL_OK || view_create(model, &view) != HAL_OK ||
        view_screen_resize(&screen, 40, 100) != HAL_OK)
        return -1;
    view_draw(view, &screen);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    view_screen_finish(&screen);
    view_destroy(view);
    view_model_close(model);
    unlink(path);
    return rmdir(folder);
}

static void type(const char *keys)
{
    if (view_type(view, keys) != HAL_OK)
        fail_msg("%s", hal_message());
    view_draw(view, &screen);
}

/* What is selected, in the words of the timeline. */
static void assert_selected(const char *label)
{
    char text[128] = "";
    const struct view_span *event = view_selected(view, &(struct view_span){0});
    assert_non_null(event);
    view_span_label(model, &model->tracks[view->track], event, text, sizeof text);
    assert_string_equal(text, label);
}

static bool frame_contains(const char *text)
{
    char *frame = NULL;
    size_t bytes;
    FILE *file = open_memstream(&frame, &bytes);
    assert_non_null(file);
    view_screen_write_text(&screen, file, (struct view_text_form){0});
    fclose(file);
    const bool found = strstr(frame, text) != NULL;
    free(frame);
    return found;
}

/* ---- Following ---- */

TEST(producers_and_consumers_lead_through_the_trace)
{
    type("g#s1<Enter>");
    assert_selected("#s1");
    type("<lt>");
    assert_selected("#s0");
    type("<lt>");
    assert_selected("submit #s0");
    type("<lt>");
    assert_selected("submit #s0"); /* nothing led to it */
    assert_non_null(strstr(view->message, "nothing in this file led to it"));
    type("BB");
    assert_selected("#s1");
    type(">");
    assert_selected("wait #s1");
    type(">");
    assert_selected("submit #s2");
    type(">");
    assert_selected("#s2");
    type(">");
    assert_non_null(strstr(view->message, "nothing in this file waited for it"));
    type("<lt><lt>");
    assert_selected("wait #s1");
    type("<lt>");
    assert_selected("#s1");
}

TEST(a_value_that_never_came_is_named)
{
    type("g#s3<Enter>");
    const struct view_node node = {.kind = VIEW_NODE_SUBMISSION,
                                   .index = view_model_submission(model, 3)};
    assert_int_equal(view_node_producer(model, node).kind, VIEW_NODE_CALL);
    struct view_findings findings;
    assert_int_equal(view_findings_find(model, &findings), HAL_OK);
    assert_int_equal(findings.list[0].kind, VIEW_FINDING_FAILURES);
    assert_non_null(
        strstr(findings.list[0].evidence, "#s3 waits for never >= 4, which nothing signals"));
    assert_string_equal(findings.list[0].proof, "hal-replay --stop-at='#s3'");
    view_findings_finish(&findings);
}

TEST(lines_go_as_far_as_asked_for)
{
    type("0g#s1<Enter>");
    assert_int_equal(view_flow_of(view), VIEW_FLOW_NEIGHBOURS);
    type("e");
    assert_int_equal(view_flow_of(view), VIEW_FLOW_CHAIN);
    type("e");
    assert_int_equal(view_flow_of(view), VIEW_FLOW_NONE);
    assert_false(frame_contains("▼"));
    type("e");
    assert_true(frame_contains("▼"));
}

/* ---- The critical path ---- */

TEST(the_critical_path_explains_every_moment)
{
    /* Backwards: #s2 was submitted behind the wait for #s1, which waited for #s0. */
    static const struct {
        int64_t begin_ns, end_ns;
        enum view_path_kind kind;
    } expected[] = {
        {100, 110, VIEW_PATH_HOST},   {110, 130, VIEW_PATH_LAUNCH}, {130, 150, VIEW_PATH_DEVICE},
        {150, 170, VIEW_PATH_LAUNCH}, {170, 240, VIEW_PATH_DEVICE}, {240, 260, VIEW_PATH_WAKE},
        {260, 310, VIEW_PATH_HOST},   {310, 330, VIEW_PATH_LAUNCH}, {330, 380, VIEW_PATH_DEVICE}};
    struct view_path p;
    assert_int_equal(view_path_find(model, NULL, &p), HAL_OK);
    assert_int_equal(p.parts_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < p.parts_count; i++) {
        assert_int_equal(p.parts[i].begin_ns, expected[i].begin_ns);
        assert_int_equal(p.parts[i].end_ns, expected[i].end_ns);
        assert_int_equal(p.parts[i].kind, expected[i].kind);
    }
    assert_int_equal(p.ns[VIEW_PATH_HOST], 60);
    assert_int_equal(p.ns[VIEW_PATH_LAUNCH], 60);
    assert_int_equal(p.ns[VIEW_PATH_DEVICE], 140);
    assert_int_equal(p.ns[VIEW_PATH_WAKE], 20);
    assert_int_equal(view_path_first(&p, 0), 0);
    assert_int_equal(view_path_first(&p, 149), 2);
    assert_int_equal(view_path_first(&p, 150), 3);
    assert_int_equal(view_path_first(&p, 380), p.parts_count);
    view_path_finish(&p);
    assert_int_equal(view_path_slack(model, 0), 0);            /* #s1 was there already */
    assert_int_equal(view_path_slack(model, 1), 0);            /* the host, too */
    assert_int_equal(view_path_slack(model, 2), VIEW_NO_TIME); /* for nobody */
    type("c");
    assert_non_null(strstr(view->message, "host 21.4 %, launch 21.4 %, device 50.0 %"));
    assert_true(frame_contains("═"));
    type("c2g#s1<Enter>");
    assert_false(frame_contains("═"));
    assert_true(frame_contains("yes: every nanosecond"));
}

/* Main submits and waits until 260; a thread that never waits submits at 280 what main gave it. */
TEST(a_thread_that_never_waits_goes_on_with_what_another_gave_it)
{
    static const struct {
        int64_t begin_ns, end_ns;
        enum view_path_kind kind;
    } expected[] = {{100, 110, VIEW_PATH_HOST},   {110, 130, VIEW_PATH_LAUNCH},
                    {130, 200, VIEW_PATH_DEVICE}, {200, 260, VIEW_PATH_WAKE},
                    {260, 280, VIEW_PATH_HOST},   {280, 290, VIEW_PATH_HOST},
                    {290, 300, VIEW_PATH_LAUNCH}, {300, 350, VIEW_PATH_DEVICE}};
    const struct trace_semaphore_value first = {FIRST, 1};
    char file[80];
    struct trace_builder b;
    struct view_model *m;
    struct view_path p;
    snprintf(file, sizeof file, "%s/threads.pb.zst", folder);
    builder_open(&b, file, NULL);
    at(&b, 0, 5);
    builder_semaphore_create(&b, FIRST, "first", 0);
    builder_command_buffer_create(&b, COMMANDS, NULL, 1);
    builder_end_commands(&b, COMMANDS);
    submit(&b, 0, 0, 100, NULL, &first);
    at(&b, 111, 260);
    builder_semaphore_wait(&b, 0, &first, 1, INT64_MAX);
    builder_thread(&b, 2, 7, "worker");
    b.thread = 2;
    submit(&b, 1, 0, 280, NULL, NULL);
    ran(&b, 0, 0, 110, 130, 200);
    ran(&b, 1, 0, 290, 300, 350);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(view_model_open(file, &m), HAL_OK);
    assert_int_equal(view_path_find(m, NULL, &p), HAL_OK);
    assert_int_equal(p.parts_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < p.parts_count; i++) {
        assert_int_equal(p.parts[i].begin_ns, expected[i].begin_ns);
        assert_int_equal(p.parts[i].end_ns, expected[i].end_ns);
        assert_int_equal(p.parts[i].kind, expected[i].kind);
    }
    assert_int_not_equal(p.parts[4].ref, p.parts[5].ref); /* two threads */
    view_path_finish(&p);
    view_model_close(m);
    unlink(file);
}

/* ---- Taking along ---- */

TEST(commands_are_copied_ready_for_a_shell)
{
    char expected[200];
    type("2g#s1<Enter>Y");
    snprintf(expected, sizeof expected, "hal-replay --range='#s1' %s", path);
    assert_string_equal(view->copied, expected);
    type("!Y");
    snprintf(expected, sizeof expected, "hal-replay --stop-at='#s3' %s", path);
    assert_string_equal(view->copied, expected);
}

/* The first one counts as chosen until one is. */
TEST(the_first_finding_is_copied_without_being_gone_to)
{
    char expected[200];
    snprintf(expected, sizeof expected, "hal-replay --stop-at='#s3' %s", path);
    view_destroy(view);
    assert_int_equal(view_create(model, &view), HAL_OK);
    view_draw(view, &screen);
    type("5Y");
    assert_string_equal(view->copied, expected);
    type("5<Down>Y");
    assert_string_equal(view->copied, expected);
    type("2g#s1<Enter>5Y");
    snprintf(expected, sizeof expected, "hal-replay --range='#s1' %s", path);
    assert_string_equal(view->copied, expected);
}

/* What the copied keys say is where they lead. */
TEST(copied_keys_lead_back)
{
    char keys[128];
    type("10<Home>kkkkkk");
    type("g201ns<Enter>");
    view->track = view_row_count(view) - 1; /* gaps or memory: of no submission */
    view->event = VIEW_NO_REF;
    type("Y");
    const char *begin = strstr(view->copied, "'--keys="),
               *end = begin ? strchr(begin + 1, '\'') : NULL;
    assert_non_null(end);
    begin += strlen("'--keys=");
    snprintf(keys, sizeof keys, "%.*s", (int)(end - begin), begin);
    type("<Home>");
    assert_int_equal(view->cursor_ns, 0);
    type(keys);
    assert_int_equal(view->cursor_ns, 201);
}

TEST(another_trace_is_compared_in_a_panel)
{
    char keys[120];
    assert_int_equal(view_panel_count(view), VIEW_PANEL_DIFFERENCE);
    type("1D/no such file<Enter>");
    assert_non_null(strstr(view->message, "/no such file"));
    assert_int_equal(view->panel, VIEW_PANEL_SUMMARY);
    snprintf(keys, sizeof keys, "D%s<Enter>", path);
    type(keys);
    assert_int_equal(view->panel, VIEW_PANEL_DIFFERENCE);
    assert_true(frame_contains("D Diff"));
    assert_true(frame_contains("submissions"));
    assert_true(frame_contains("same"));
    type("<Tab>");
    assert_int_equal(view->panel, VIEW_PANEL_SUMMARY);
    type("<S-Tab>");
    assert_int_equal(view->panel, VIEW_PANEL_DIFFERENCE);
}

/* ---- Pinned tracks ---- */

static int drawn_row(uint32_t track)
{
    return view_drawn_row(view, track, view->layout.tracks.rows);
}

TEST(a_pinned_track_stays_at_the_top_of_a_small_screen)
{
    const uint32_t last = view_row_count(view) - 1, bottom = view_track_of_row(view, last);
    assert_int_equal(view_screen_resize(&screen, 10, 60), HAL_OK); /* not all tracks fit */
    type("<Home>");
    while (view->track != bottom)
        type("j");
    assert_true(view->first_row > 0);
    type("*");
    assert_int_equal(drawn_row(bottom), 0);
    assert_int_equal(view_row_of(view, bottom), 0);
    assert_int_equal(view->track, bottom);
    for (uint32_t row = 0; row < view_row_count(view); row++) {
        const uint32_t track = view_track_of_row(view, row);
        assert_int_equal(view_row_of(view, track), row);
        type("j");
        assert_int_equal(drawn_row(bottom), 0); /* however far it is scrolled */
        assert_true(drawn_row(view->track) >= 0);
        assert_int_equal(view_track_of_row(view, view_row_drawn(view, drawn_row(view->track))),
                         view->track);
    }
    while (view->track != bottom)
        type("k");
    type("*");
    assert_int_equal(view_row_of(view, bottom), last);
    assert_int_equal(view_screen_resize(&screen, 40, 100), HAL_OK);
    type("<Home>");
}

/* ---- Many threads ---- */

/* Ten threads, thread t with t * 7 % 10 calls; 1 and 3 have no more than one name. */
TEST(busy_threads_stand_with_the_queues_and_others_below)
{
    enum { THREADS = 10, LEADING = 6 };
    char file[80], first[64], third[64];
    struct trace_builder b;
    struct view_model *m;
    snprintf(file, sizeof file, "%s/threads.pb.zst", folder);
    builder_open(&b, file, NULL);
    at(&b, 0, 5);
    builder_semaphore_create(&b, FIRST, "first", 0);
    for (uint32_t t = 1; t < THREADS; t++) {
        char name[16];
        snprintf(name, sizeof name, "t%u", t == 3 ? 1 : t);
        builder_thread(&b, t + 1, 100 + t, name);
        b.thread = t + 1;
        for (uint32_t k = 0; k < t * 7 % 10 + (t == 1); k++) {
            at(&b, 100 * t + 10 * k, 100 * t + 10 * k + 5);
            builder_semaphore(&b, TRACE_SEMAPHORE_QUERY, FIRST, 0, 0);
        }
    }
    b.thread = 1;
    builder_command_buffer_create(&b, COMMANDS, NULL, 1);
    builder_end_commands(&b, COMMANDS);
    submit(&b, 0, 0, 2000, NULL, NULL);
    ran(&b, 0, 0, 2010, 2020, 2030);
    submit(&b, 1, 0, 2100, NULL, NULL);
    ran(&b, 1, 0, 2110, 2120, 2130);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(view_model_open(file, &m), HAL_OK);
    size_t leading = 0, below = 0;
    while (leading < m->tracks_count && m->tracks[leading].kind == VIEW_TRACK_HOST)
        leading++;
    while (m->tracks[m->tracks_count - 1 - below].kind == VIEW_TRACK_HOST)
        below++;
    assert_int_equal(leading, LEADING);
    assert_int_equal(leading + below, m->hosts_count);
    for (size_t i = 0; i < leading; i++) {
        for (size_t k = 0; k < below; k++)
            assert_true(m->hosts[m->tracks[i].object].call_count >=
                        m->hosts[m->tracks[m->tracks_count - 1 - k].object].call_count);
    }
    for (uint32_t h = 0; h < m->hosts_count; h++) {
        const struct view_track *track = &m->tracks[m->hosts[h].track];
        assert_int_equal(track->kind, VIEW_TRACK_HOST);
        assert_int_equal(track->object, h);
        if (m->hosts[h].system_id == 101)
            view_track_name(m, track, first, sizeof first);
        if (m->hosts[h].system_id == 103)
            view_track_name(m, track, third, sizeof third);
    }
    assert_string_equal(first, "t1 101");
    assert_string_equal(third, "t1 103");
    assert_int_equal(m->tracks[m->queue_tracks[0]].kind, VIEW_TRACK_QUEUE);
    assert_int_equal(m->tracks[m->device_track].kind, VIEW_TRACK_DEVICE);
    assert_int_equal(m->tracks[m->gap_track].kind, VIEW_TRACK_GAPS);
    assert_int_equal(m->tracks[m->device_track + 1].parent, m->device_track);
    view_model_close(m);
    unlink(file);
}

/* ---- The estimate for host waits ---- */

static int64_t device_span(const struct decode_options *options, struct view_findings *findings)
{
    char file[80];
    struct view_model *m;
    snprintf(file, sizeof file, "%s/decode.pb.zst", folder);
    assert_int_equal(decode_trace_write(file, options, true), HAL_OK);
    assert_int_equal(view_model_open(file, &m), HAL_OK);
    const int64_t ns = m->summary.device_end_ns - m->summary.device_begin_ns;
    if (findings)
        assert_int_equal(view_findings_find(m, findings), HAL_OK);
    view_model_close(m);
    unlink(file);
    return ns;
}

/* The same work with and without them: what the made-up host and device really save. */
TEST(the_cost_of_waits_is_what_leaving_them_out_saves)
{
    struct decode_options options = {
        .tokens = 64, .layers = 6, .sync = DECODE_SYNC_OP, .seed = 5, .device = "vulkan://0"};
    struct view_findings findings;
    const int64_t with_ns = device_span(&options, &findings);
    options.sync = DECODE_SYNC_TOKEN;
    const double saved_ns = (double)(with_ns - device_span(&options, NULL));
    assert_int_equal(findings.list[0].kind, VIEW_FINDING_SYNCS);
    print_message("estimated %.0f ns, saved %.0f ns\n", (double)findings.list[0].cost_ns, saved_ns);
    assert_true((double)findings.list[0].cost_ns > 0.75 * saved_ns);
    assert_true((double)findings.list[0].cost_ns < 1.25 * saved_ns);
    assert_string_equal(findings.list[0].proof, "hal-replay --what-if=drop-host-waits");
    view_findings_finish(&findings);
}

/* ---- Reading, told as it goes on ---- */

struct told {
    uint64_t calls, last, total;
    bool go_on;
};

static bool note_progress(void *user, struct trace_reader *reader, uint64_t read, uint64_t total)
{
    struct told *told = user;
    struct view_screen cells = {0};
    struct view_preview preview = {0};
    assert_true(read >= told->last && read <= total);
    *told = (struct told){told->calls + 1, read, total, told->go_on};
    for (int size = 1; size < 40; size += 13) { /* whatever the size: nothing beside the screen */
        assert_int_equal(view_screen_resize(&cells, size, 3 * size), HAL_OK);
        view_preview_draw(&preview, &cells, reader, "/a/b.pb.zst", read, total);
    }
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    view_screen_write_text(&cells, file, (struct view_text_form){0});
    fclose(file);
    assert_non_null(strstr(text, "b.pb.zst"));
    assert_non_null(strstr(text, "q or Esc cancels"));
    assert_true((strstr(text, "preparing") != NULL) == (read == total));
    free(text);
    view_screen_finish(&cells);
    return told->go_on;
}

/* Queue 2 works in the first half and half of the time in the last quarter, queue 5 in the second
 * half. */
static void write_two_queues(const char *file)
{
    struct trace_builder b;
    builder_open(&b, file, NULL);
    builder_submission_done(&b, 0, 2, 0, 1000000, 1320000);
    builder_submission_done(&b, 1, 5, 0, 1320000, 1640000);
    for (uint64_t i = 0; i < 160; i++) {
        const int64_t begin_ns = 1480000 + 1000 * (int64_t)i;
        builder_submission_done(&b, 2 + i, 2, 0, begin_ns, begin_ns + 500);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(the_first_screen_has_a_row_for_each_queue)
{
    static const char half[] = "\342\226\205", full[] = "\342\226\210"; /* of a cell, in UTF-8 */
    struct view_screen cells = {0};
    struct view_preview preview = {0};
    struct trace_reader *reader;
    char file[80], *text = NULL, first[256] = "\n ", second[256] = "\n                 ";
    size_t bytes;
    snprintf(file, sizeof file, "%s/queues.pb.zst", folder);
    write_two_queues(file);
    for (int i = 0; i < 16; i++) {
        strcat(first, full);
        strcat(second, full);
    }
    strcat(first, "        ");
    for (int i = 0; i < 8; i++)
        strcat(first, half);
    assert_int_equal(trace_reader_open(file, &reader), HAL_OK);
    assert_int_equal(view_screen_resize(&cells, 24, 34), HAL_OK);
    view_preview_draw(&preview, &cells, reader, "queues", 0, 1);
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    view_screen_write_text(&cells, stream, (struct view_text_form){0});
    fclose(stream);
    const char *row = strstr(text, first);
    assert_non_null(row);
    assert_ptr_equal(strstr(row + 1, second), strchr(row + 1, '\n'));
    free(text);
    view_screen_finish(&cells);
    trace_reader_close(reader);
    unlink(file);
}

/* Once for a size of the screen: a reader of nothing afterwards has the same shape, until the size
 * is another one. */
TEST(the_first_screen_looks_at_the_index_once)
{
    struct view_screen cells = {0};
    struct view_preview preview = {0};
    struct trace_builder b;
    struct trace_reader *reader;
    char file[80];
    snprintf(file, sizeof file, "%s/queues.pb.zst", folder);
    write_two_queues(file);
    assert_int_equal(trace_reader_open(file, &reader), HAL_OK);
    assert_int_equal(view_screen_resize(&cells, 24, 34), HAL_OK);
    view_preview_draw(&preview, &cells, reader, "queues", 0, 1);
    trace_reader_close(reader);
    assert_int_equal(preview.rows, 2);
    assert_int_equal(preview.levels[0][0], 8);
    builder_open(&b, file, NULL);
    builder_submission_done(&b, 0, 7, 0, 1000000, 1320000);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(trace_reader_open(file, &reader), HAL_OK);
    view_preview_draw(&preview, &cells, reader, "queues", 1, 1);
    assert_int_equal(preview.rows, 2);
    assert_int_equal(view_screen_resize(&cells, 24, 50), HAL_OK);
    view_preview_draw(&preview, &cells, reader, "queues", 1, 1);
    assert_int_equal(preview.rows, 1);
    assert_int_equal(preview.levels[0][47], 8);
    view_screen_finish(&cells);
    trace_reader_close(reader);
    unlink(file);
}

TEST(reading_tells_how_far_it_is_and_can_be_given_up)
{
    const struct decode_options options = {
        .tokens = 400, .layers = 24, .sync = DECODE_SYNC_TOKEN, .seed = 5};
    char file[80];
    struct view_model *m;
    struct told told = {.go_on = true};
    const struct view_progress progress = {.tell = note_progress, .user = &told};
    snprintf(file, sizeof file, "%s/decode.pb.zst", folder);
    assert_int_equal(decode_trace_write(file, &options, true), HAL_OK);
    assert_int_equal(view_model_open_slowly(file, &progress, &m), HAL_OK);
    const struct trace_counts *counts = trace_reader_counts(m->reader);
    assert_int_equal(told.total, counts->events + counts->segments);
    assert_true(told.calls >= told.total / 131072 && told.calls > 1);
    view_model_close(m);
    told = (struct told){.go_on = false};
    assert_int_equal(view_model_open_slowly(file, &progress, &m), HAL_TIMEOUT);
    assert_null(m);
    assert_int_equal(told.calls, 1);
    unlink(file);
}

TEST_SUITE_FIXTURE(make, remove_all);
