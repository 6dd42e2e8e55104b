/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the application gives: labels of all kinds of objects, and names and colors of debug
 * groups, from the call into the trace, from there into a replay, and into the trace of that. */
#include "replay/replay.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { BYTES = 256, GROUPS = 5 };

static const char kernel[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "struct set { device uint *x [[id(0)]]; };\n"
                             "kernel void one(constant set &s [[buffer(0)]]) { s.x[0] = 1; }\n";

/* What a label may be: long, empty, of other alphabets, with what text formats care for. */
static char longest[HAL_MAX_LABEL_BYTES + 1];
static const struct {
    const char *buffer, *part, *executable, *set_layout, *pipeline_layout, *event, *semaphore;
    const char *commands, *transient;
} labels = {
    .buffer = longest,
    .part = "part \"of\" a\tbuffer",
    .executable = "one.metal",
    .set_layout = "набор",
    .pipeline_layout = "layout\nof two lines",
    .event = "h\xff\x01",
    .semaphore = "時間",
    .commands = "commands {0}",
    .transient = "%s %n",
};

/* In the order of their begins, two of them inside the second. */
static const struct {
    const char *label;
    uint32_t color;
} groups[GROUPS] = {
    {"no color", 0}, {"all bits", 0xFFFFFF}, {"ёлка", 0x010203}, {longest, 0x00FF00}, {"", 1},
};

struct fixture {
    struct test_folder folder;
    char trace[PATH_MAX], again[PATH_MAX];
    struct hal_device *device;
    struct hal_buffer *buffer, *part;
    struct hal_executable *executable;
    struct hal_set_layout *set_layout;
    struct hal_pipeline_layout *pipeline_layout;
    struct hal_event *event;
    struct hal_semaphore *semaphore;
    struct hal_command_buffer *commands;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    memset(longest, 'x', HAL_MAX_LABEL_BYTES);
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    test_folder_file(&fixture.folder, "labels.pb.zst", fixture.trace);
    test_folder_file(&fixture.folder, "again.pb.zst", fixture.again);
    fixture.device = fixture_device("cpu?threads=1");
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    test_folder_remove(&fixture->folder);
    return 0;
}

/* ---- The program ---------------------------------------------------------------------------- */

static void create_objects(struct fixture *f)
{
    const struct hal_layout_binding binding = {0, HAL_BINDING_STORAGE, 0};
    assert_ok(hal_buffer_create(
        f->device, &(struct hal_buffer_desc){.label = labels.buffer, .bytes = BYTES}, &f->buffer));
    assert_ok(hal_buffer_subspan(f->buffer, 16, 64, labels.part, &f->part));
    assert_ok(hal_set_layout_create(f->device,
                                    &(struct hal_set_layout_desc){.label = labels.set_layout,
                                                                  .bindings = &binding,
                                                                  .binding_count = 1},
                                    &f->set_layout));
    assert_ok(hal_pipeline_layout_create(
        f->device,
        &(struct hal_pipeline_layout_desc){
            .label = labels.pipeline_layout, .sets = &f->set_layout, .set_count = 1},
        &f->pipeline_layout));
    const struct hal_entry_point point = {.name = "one", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_desc desc = {.label = labels.executable,
                                             .format = HAL_FORMAT_MSL,
                                             .data = kernel,
                                             .bytes = sizeof kernel - 1,
                                             .entry_points = &point,
                                             .entry_point_count = 1,
                                             .layouts = &f->pipeline_layout};
    assert_ok(hal_executable_create(f->device, &desc, &f->executable));
    assert_ok(hal_event_create(f->device, labels.event, &f->event));
    f->semaphore = fixture_semaphore(f->device, labels.semaphore, 0);
    f->commands = fixture_commands(f->device, labels.commands, HAL_ONE_SHOT);
}

static void begin_group(struct fixture *f, int number)
{
    assert_ok(hal_command_debug_begin(f->commands, groups[number].label, groups[number].color));
}

static void record_first_half(struct fixture *f)
{
    begin_group(f, 0);
    assert_ok(hal_command_fill(f->commands, f->buffer, 0, BYTES, 7, 1));
    assert_ok(hal_command_event_signal(f->commands, f->event, 0));
    assert_ok(hal_command_debug_end(f->commands));
    begin_group(f, 1);
    begin_group(f, 2);
}

static void record_second_half(struct fixture *f)
{
    assert_ok(hal_command_events_wait(f->commands, &f->event, 1, NULL));
    assert_ok(hal_command_debug_end(f->commands));
    begin_group(f, 3);
    const struct hal_binding binding = {f->part, 0, HAL_WHOLE_BUFFER};
    assert_ok(hal_command_push_descriptor_set(f->commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(f->commands, f->executable, 0, (uint32_t[3]){1, 1, 1}));
    assert_ok(hal_command_debug_end(f->commands));
    assert_ok(hal_command_debug_end(f->commands));
    begin_group(f, 4);
    assert_ok(hal_command_debug_end(f->commands));
    assert_ok(hal_command_buffer_end(f->commands));
}

static void run(struct fixture *f)
{
    const struct hal_semaphore_value one = {f->semaphore, 1};
    const struct hal_submit_desc pool = {.signals = &one, .signal_count = 1};
    struct hal_buffer *transient;
    uint8_t seen[BYTES], wanted[BYTES];
    assert_ok(hal_queue_alloca(f->device, &pool,
                               &(struct hal_buffer_desc){.label = labels.transient, .bytes = BYTES},
                               &transient));
    assert_ok(fixture_submit(f->device, f->commands, f->semaphore, 1, f->semaphore, 2));
    assert_ok(hal_semaphore_wait(f->semaphore, 2, HAL_FOREVER));
    assert_ok(hal_buffer_read(f->buffer, 0, seen, BYTES));
    memset(wanted, 7, BYTES);
    memcpy(wanted + 16, &(uint32_t){1}, 4);
    assert_memory_equal(seen, wanted, BYTES);
    assert_ok(hal_queue_dealloca(f->device, NULL, transient));
    assert_ok(hal_device_wait_idle(f->device, HAL_FOREVER));
    hal_buffer_release(transient);
}

static void release_objects(struct fixture *f)
{
    hal_command_buffer_release(f->commands);
    hal_semaphore_release(f->semaphore);
    hal_event_release(f->event);
    hal_executable_release(f->executable);
    hal_pipeline_layout_release(f->pipeline_layout);
    hal_set_layout_release(f->set_layout);
    hal_buffer_release(f->part);
    hal_buffer_release(f->buffer);
}

/* ---- The traces ----------------------------------------------------------------------------- */

static uint32_t label_of(const struct trace_event *event)
{
    const void *record = event;
    switch ((int)event->kind) {
    case TRACE_BUFFER_CREATE: return ((const struct trace_buffer_create *)record)->label;
    case TRACE_SUBSPAN_CREATE: return ((const struct trace_subspan_create *)record)->label;
    case TRACE_EXECUTABLE_CREATE: return ((const struct trace_executable_create *)record)->label;
    case TRACE_SET_LAYOUT_CREATE: return ((const struct trace_set_layout_create *)record)->label;
    case TRACE_PIPELINE_LAYOUT_CREATE:
        return ((const struct trace_pipeline_layout_create *)record)->label;
    case TRACE_EVENT_CREATE: return ((const struct trace_object_event *)record)->label;
    case TRACE_SEMAPHORE_CREATE: return ((const struct trace_semaphore_create *)record)->label;
    case TRACE_COMMAND_BUFFER_CREATE:
        return ((const struct trace_command_buffer_create *)record)->label;
    default: fail_msg("events of kind %d have no label", (int)event->kind); return 0;
    }
}

/* Exactly one object of the kind is called so. */
static void check_label(const struct captured *captured, enum trace_event_kind kind,
                        const char *wanted)
{
    const struct trace_event *event;
    int found = 0;
    for (size_t n = 0; (event = captured_find(captured, kind, n)) != NULL; n++) {
        const uint32_t label = label_of(event);
        found += label && strcmp(captured_string(captured, label), wanted) == 0;
    }
    if (found != 1)
        fail_msg("%d of %zu events of kind %d are called '%.64s'", found,
                 captured_count(captured, kind), (int)kind, wanted);
}

static void check_groups(const struct captured *captured)
{
    const struct trace_command_buffer_seal *seal =
        captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 0);
    const struct trace_segment *segment = captured_segments(captured, 0);
    char order[2 * GROUPS + 1] = "";
    int begun = 0;
    assert_non_null(seal);
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        const struct trace_debug *group = (const void *)segment;
        if (segment->kind == TRACE_DEBUG_END)
            strcat(order, ")");
        if (segment->kind != TRACE_DEBUG_BEGIN)
            continue;
        strcat(order, "(");
        assert_true(begun < GROUPS);
        assert_string_equal(captured_string(captured, group->label), groups[begun].label);
        assert_int_equal(group->color, groups[begun].color);
        begun++;
    }
    assert_string_equal(order, "()(()())()");
}

static void check_trace(const char *path, bool is_replay)
{
    struct captured captured;
    captured_open(&captured, path);
    check_label(&captured, TRACE_BUFFER_CREATE, labels.buffer);
    if (!is_replay) { /* which makes no subspans: commands name the buffer behind them */
        check_label(&captured, TRACE_SUBSPAN_CREATE, labels.part);
        check_label(&captured, TRACE_SUBSPAN_CREATE, labels.transient);
    }
    check_label(&captured, TRACE_EXECUTABLE_CREATE, labels.executable);
    check_label(&captured, TRACE_SET_LAYOUT_CREATE, labels.set_layout);
    check_label(&captured, TRACE_PIPELINE_LAYOUT_CREATE, labels.pipeline_layout);
    check_label(&captured, TRACE_EVENT_CREATE, labels.event);
    check_label(&captured, TRACE_SEMAPHORE_CREATE, labels.semaphore);
    check_label(&captured, TRACE_COMMAND_BUFFER_CREATE, labels.commands);
    check_groups(&captured);
    captured_close(&captured);
}

static void replay_under_capture(struct fixture *f)
{
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    struct hal_device *other = fixture_device("cpu?threads=1");
    captured_begin(other, f->again);
    assert_ok(replay_plan_load(f->trace, &(struct replay_load_options){0}, &plan));
    assert_ok(replay_player_create(plan, other, &(struct replay_options){0}, &player));
    assert_ok(replay_player_run(player, &report));
    assert_int_equal(report.compared_reads, 1);
    assert_int_equal(report.different_reads, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    assert_ok(hal_device_profiling_end(other));
    hal_device_release(other);
}

static void capture_and_replay(struct fixture *f, bool late)
{
    if (!late)
        captured_begin(f->device, f->trace);
    create_objects(f);
    record_first_half(f);
    if (late)
        captured_begin(f->device, f->trace);
    record_second_half(f);
    run(f);
    release_objects(f);
    assert_ok(hal_device_profiling_end(f->device));
    hal_device_release(f->device);
    check_trace(f->trace, false);
    replay_under_capture(f);
    check_trace(f->again, true);
}

TEST_ON(names_come_through, struct fixture *fixture)
{
    capture_and_replay(fixture, false);
}

/* The objects and half of the commands were there before. */
TEST_ON(names_of_what_was_there_come_through, struct fixture *fixture)
{
    capture_and_replay(fixture, true);
}

TEST_FIXTURE(set_up, tear_down);
