/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that begins late, in front of everything that can be alive then: subspans, transient
 * and imported buffers, exported ones, files, events. What is done to them afterwards must replay.
 */
#include "replay/replay.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { BYTES = 4096, AT = 1024 };

struct fixture {
    struct test_folder folder;
    char trace[PATH_MAX], file[PATH_MAX];
    struct hal_device *device;
    struct hal_semaphore *line;
    uint64_t value; /* of `line`, when all is done */
    struct hal_buffer *result;
    uint8_t random[BYTES], expected[BYTES], seen[BYTES];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    uint64_t random = 77;
    memset(&fixture, 0, sizeof fixture);
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    test_folder_file(&fixture.folder, "late.pb.zst", fixture.trace);
    test_folder_file(&fixture.folder, "file.bin", fixture.file);
    for (size_t i = 0; i < BYTES; i++)
        fixture.random[i] = (uint8_t)fixture_random(&random);
    fixture.device = fixture_device("cpu?threads=2&queues=2");
    fixture.line = fixture_semaphore(fixture.device, "line", 0);
    fixture.result = fixture_buffer(fixture.device, "result", BYTES);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    test_folder_remove(&fixture->folder);
    return 0;
}

/* One submission after the other. */
static const struct hal_submit_desc *next(struct fixture *fixture)
{
    static struct hal_semaphore_value wait, signal;
    static struct hal_submit_desc desc;
    wait = (struct hal_semaphore_value){fixture->line, fixture->value};
    signal = (struct hal_semaphore_value){fixture->line, ++fixture->value};
    desc = (struct hal_submit_desc){
        .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1};
    return &desc;
}

static void finish(struct fixture *fixture)
{
    assert_ok(hal_semaphore_wait(fixture->line, fixture->value, HAL_FOREVER));
}

static struct hal_buffer *alloca_of(struct fixture *fixture)
{
    struct hal_buffer *buffer;
    assert_ok(hal_queue_alloca(fixture->device, next(fixture),
                               &(struct hal_buffer_desc){.label = "transient", .bytes = BYTES},
                               &buffer));
    return buffer;
}

/* The program sees what it should; the capture ends, the trace is loaded and replayed. */
static void end_and_replay(struct fixture *fixture)
{
    struct captured captured;
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    finish(fixture);
    assert_ok(hal_buffer_read(fixture->result, 0, fixture->seen, BYTES));
    assert_memory_equal(fixture->seen, fixture->expected, BYTES);
    assert_ok(hal_device_profiling_end(fixture->device));
    hal_buffer_release(fixture->result);
    hal_semaphore_release(fixture->line);
    hal_device_release(fixture->device);
    captured_open(&captured, fixture->trace);
    assert_true(trace_reader_header(captured.reader)->late_start);
    captured_close(&captured);
    /* Nothing of the program's surroundings is needed. */
    unlink(fixture->file);
    struct hal_device *other = fixture_device("cpu?threads=1&queues=2");
    assert_ok(replay_plan_load(fixture->trace, &(struct replay_load_options){0}, &plan));
    assert_string_equal(replay_plan_get_info(plan)->incomplete, "");
    assert_ok(replay_player_create(plan, other, &(struct replay_options){0}, &player));
    assert_ok(replay_player_run(player, &report));
    assert_true(report.compared_reads > 0);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.different_outcomes, 0);
    assert_int_equal(replay_plan_get_info(plan)->skipped_reads, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    hal_device_release(other);
}

TEST_ON(subspans, struct fixture *fixture)
{
    struct hal_buffer *root = fixture_buffer(fixture->device, "root", 2 * BYTES), *part, *inner;
    assert_ok(hal_buffer_write(root, 0, fixture->random, BYTES));
    assert_ok(hal_buffer_subspan(root, AT, BYTES, "part", &part));
    assert_ok(hal_buffer_subspan(part, 512, 1024, "inner", &inner));
    hal_buffer_release(root); /* the capture still finds it */
    captured_begin(fixture->device, fixture->trace);
    assert_ok(hal_queue_fill(fixture->device, next(fixture), part, BYTES - 2048, 2048, 0x44, 1));
    assert_ok(hal_queue_fill(fixture->device, next(fixture), inner, 0, 8, 0x55, 1));
    assert_ok(hal_queue_copy(fixture->device, next(fixture), part, 0, fixture->result, 0, BYTES));
    memcpy(fixture->expected, fixture->random + AT, BYTES - 2048);
    memset(fixture->expected + BYTES - 2048, 0x44, 2048);
    memset(fixture->expected + 512, 0x55, 8);
    finish(fixture);
    hal_buffer_release(part);
    hal_buffer_release(inner);
    end_and_replay(fixture);
}

TEST_ON(transient_buffers, struct fixture *fixture)
{
    struct hal_buffer *buffer = alloca_of(fixture), *gone = alloca_of(fixture);
    assert_ok(hal_queue_fill(fixture->device, next(fixture), buffer, 0, BYTES, 0x21, 1));
    assert_ok(hal_queue_dealloca(fixture->device, next(fixture), gone));
    hal_buffer_release(gone);
    captured_begin(fixture->device, fixture->trace);
    struct hal_buffer *second = alloca_of(fixture);
    assert_ok(hal_queue_update(fixture->device, next(fixture), fixture->random, second, 0, AT));
    assert_ok(hal_queue_copy(fixture->device, next(fixture), second, 0, buffer, 0, AT));
    assert_ok(hal_queue_dealloca(fixture->device, next(fixture), second));
    assert_ok(hal_queue_copy(fixture->device, next(fixture), buffer, 0, fixture->result, 0, BYTES));
    assert_ok(hal_queue_dealloca(fixture->device, next(fixture), buffer));
    memset(fixture->expected, 0x21, BYTES);
    memcpy(fixture->expected, fixture->random, AT);
    hal_buffer_release(second);
    hal_buffer_release(buffer);
    end_and_replay(fixture);
}

TEST_ON(imported_and_exported_buffers, struct fixture *fixture)
{
    static _Alignas(4096) uint8_t memory[BYTES];
    struct hal_buffer *imported, *exported = fixture_buffer(fixture->device, "exported", BYTES);
    void *pointer;
    memcpy(memory, fixture->random, BYTES);
    assert_ok(hal_buffer_import(fixture->device,
                                &(struct hal_buffer_desc){.label = "imported", .bytes = BYTES},
                                memory, NULL, NULL, &imported));
    assert_ok(hal_buffer_export(exported, &pointer));
    memset(pointer, 0x61, BYTES);
    captured_begin(fixture->device, fixture->trace);
    memset(memory + 100, 0x62, 100);
    memset((uint8_t *)pointer + 3000, 0x63, 10);
    assert_ok(
        hal_queue_copy(fixture->device, next(fixture), imported, 0, fixture->result, 0, 2048));
    assert_ok(hal_queue_copy(fixture->device, next(fixture), exported, 2048, fixture->result, 2048,
                             BYTES - 2048));
    memcpy(fixture->expected, fixture->random, 2048);
    memset(fixture->expected + 100, 0x62, 100);
    memset(fixture->expected + 2048, 0x61, BYTES - 2048);
    memset(fixture->expected + 3000, 0x63, 10);
    finish(fixture);
    /* The device writes into the host's memory, which the host sees. */
    assert_ok(hal_queue_fill(fixture->device, next(fixture), imported, 0, 16, 0x64, 1));
    finish(fixture);
    assert_int_equal(memory[15], 0x64);
    hal_buffer_release(imported);
    hal_buffer_release(exported);
    end_and_replay(fixture);
}

TEST_ON(files, struct fixture *fixture)
{
    struct hal_file *file;
    struct hal_buffer *buffer = fixture_buffer(fixture->device, "through a file", BYTES);
    FILE *made = fopen(fixture->file, "wb");
    assert_non_null(made);
    assert_int_equal(fwrite(fixture->random, 1, BYTES, made), BYTES);
    fclose(made);
    assert_ok(hal_file_open(fixture->file, HAL_FILE_READ | HAL_FILE_WRITE, &file));
    assert_ok(hal_queue_read(fixture->device, next(fixture), file, 0, buffer, 0, BYTES));
    captured_begin(fixture->device, fixture->trace);
    assert_ok(hal_queue_fill(fixture->device, next(fixture), buffer, 0, 64, 0x31, 1));
    assert_ok(hal_queue_write(fixture->device, next(fixture), buffer, 0, file, 2048, 1024));
    assert_ok(hal_queue_read(fixture->device, next(fixture), file, 0, fixture->result, 0, BYTES));
    memcpy(fixture->expected, fixture->random, BYTES);
    memcpy(fixture->expected + 2048, fixture->random, 1024);
    memset(fixture->expected + 2048, 0x31, 64);
    finish(fixture);
    hal_file_release(file);
    hal_buffer_release(buffer);
    end_and_replay(fixture);
}

/* Commands name what was created after their command buffer. */
TEST_ON(events, struct fixture *fixture)
{
    struct hal_event *event;
    struct hal_command_buffer *ended = fixture_commands(fixture->device, "ended", HAL_REUSABLE);
    struct hal_command_buffer *open = fixture_commands(fixture->device, "open", HAL_ONE_SHOT);
    assert_ok(hal_event_create(fixture->device, "half", &event));
    assert_ok(hal_command_fill(ended, fixture->result, 0, BYTES, 0x11, 1));
    assert_ok(hal_command_event_signal(ended, event, 0));
    assert_ok(hal_command_events_wait(ended, &event, 1, NULL));
    assert_ok(hal_command_fill(ended, fixture->result, 8, 8, 0x12, 1));
    assert_ok(hal_command_buffer_end(ended));
    assert_ok(hal_command_fill(open, fixture->result, 100, 50, 0x13, 1));
    assert_ok(hal_command_event_signal(open, event, 0));
    captured_begin(fixture->device, fixture->trace);
    assert_ok(hal_command_events_wait(open, &event, 1, NULL));
    assert_ok(hal_command_fill(open, fixture->result, 120, 10, 0x14, 1));
    assert_ok(hal_command_buffer_end(open));
    struct hal_submit_desc desc = *next(fixture);
    desc.commands = &ended;
    desc.command_count = 1;
    assert_ok(hal_queue_submit(fixture->device, &desc));
    desc = *next(fixture);
    desc.commands = &open;
    desc.command_count = 1;
    assert_ok(hal_queue_submit(fixture->device, &desc));
    memset(fixture->expected, 0x11, BYTES);
    memset(fixture->expected + 8, 0x12, 8);
    memset(fixture->expected + 100, 0x13, 50);
    memset(fixture->expected + 120, 0x14, 10);
    finish(fixture);
    hal_command_buffer_release(ended);
    hal_command_buffer_release(open);
    hal_event_release(event);
    end_and_replay(fixture);
}

TEST_FIXTURE(set_up, tear_down);
