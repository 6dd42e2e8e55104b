/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/lifetimes.c, against the replay's own checks: what is a contradiction for one is
 * one for the other, too. */
#include "format/analysis/lifetimes.h"

#include "replay/replay.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_builder.h"

enum { BUFFER = 1, COMMANDS, SEMAPHORE, EVENT, KERNELS, LATER };

static struct test_folder folder;
static char path[PATH_MAX];

static int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "t.pb.zst", path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static const struct trace_semaphore_value done = {SEMAPHORE, 1};

static void submit(struct trace_builder *b, uint64_t number, uint64_t commands)
{
    builder_submit(b, number, 0, NO_VALUES, NO_VALUES, IDS(commands));
}

static void nothing(struct trace_builder *b)
{
    (void)b;
}

static void created_twice(struct trace_builder *b)
{
    builder_semaphore_create(b, BUFFER, "again", 0);
}

static void created_after_its_end(struct trace_builder *b)
{
    builder_destroy(b, TRACE_BUFFER_DESTROY, BUFFER);
    builder_buffer_create(b, BUFFER, "again", 64);
}

static void destroyed_twice(struct trace_builder *b)
{
    builder_destroy(b, TRACE_BUFFER_DESTROY, BUFFER);
    builder_destroy(b, TRACE_BUFFER_DESTROY, BUFFER);
}

static void destroyed_as_another(struct trace_builder *b)
{
    builder_destroy(b, TRACE_SEMAPHORE_DESTROY, BUFFER);
}

static void read_after_its_end(struct trace_builder *b)
{
    builder_destroy(b, TRACE_BUFFER_DESTROY, BUFFER);
    builder_host_read(b, BUFFER, 0, "ab", 2);
}

static void written_too_soon(struct trace_builder *b)
{
    builder_host_write(b, LATER, 0, "ab", 2);
    builder_buffer_create(b, LATER, "later", 64);
}

static void written_never_created(struct trace_builder *b)
{
    builder_host_write(b, LATER, 0, "ab", 2);
}

static void command_on_another(struct trace_builder *b)
{
    builder_command_buffer_create(b, LATER, NULL, TRACE_ONE_SHOT);
    builder_fill(b, SEMAPHORE, 0, 8, 1, 1);
    builder_end_commands(b, LATER);
}

static void command_on_what_is_gone(struct trace_builder *b)
{
    builder_command_buffer_create(b, LATER, NULL, TRACE_ONE_SHOT);
    builder_dispatch(b, KERNELS, 0, 1, 1, 1);
    builder_destroy(b, TRACE_EXECUTABLE_DESTROY, KERNELS);
    builder_end_commands(b, LATER);
}

static void waits_for_another(struct trace_builder *b)
{
    builder_semaphore_wait(b, HAL_WAIT_ALL, &(struct trace_semaphore_value){EVENT, 0}, 1,
                           INT64_MAX);
}

static void ended_twice(struct trace_builder *b)
{
    builder_end_commands(b, COMMANDS);
}

static void submitted_without_an_end(struct trace_builder *b)
{
    builder_command_buffer_create(b, LATER, NULL, TRACE_ONE_SHOT);
    submit(b, 1, LATER);
}

static void submitted_twice(struct trace_builder *b)
{
    submit(b, 1, COMMANDS);
}

static void two_of_one_number(struct trace_builder *b)
{
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, NO_IDS);
}

static void done_twice(struct trace_builder *b)
{
    builder_submission_done(b, 0, 0, 1, 2, 3);
}

static void calls_of_no_submission(struct trace_builder *b)
{
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 7);
}

/* Calls that failed may name anything. */
static void what_failed(struct trace_builder *b)
{
    b->status = HAL_INVALID;
    builder_destroy(b, TRACE_BUFFER_DESTROY, SEMAPHORE);
    builder_buffer_create(b, BUFFER, "again", 64);
    builder_host_read(b, LATER, 0, "ab", 2);
    b->status = HAL_OK;
}

static const struct {
    void (*add)(struct trace_builder *b);
    const char *text; /* NULL: no contradiction */
    bool needs_all;   /* it is none where events are missing */
} cases[] = {
    {nothing},
    {what_failed},
    {created_twice, "1 is created twice"},
    {created_after_its_end, "buffer 1 is created twice"},
    {destroyed_twice, "buffer 1 is destroyed twice"},
    {destroyed_as_another, "buffer 1 is used as another kind"},
    {read_after_its_end, "buffer 1 is used after it has been destroyed"},
    {written_too_soon, "buffer 6 is used before it is created"},
    {written_never_created, "object 6 is never created", .needs_all = true},
    {command_on_another, "semaphore 3 is used as another kind"},
    {command_on_what_is_gone, "executable 5 is used after it has been destroyed"},
    {waits_for_another, "event 4 is used as another kind"},
    {ended_twice, "command buffer 2 is ended twice"},
    {submitted_without_an_end, "command buffer 6 is submitted before", .needs_all = true},
    {submitted_twice, "command buffer 2 is one-shot and is submitted twice"},
    {two_of_one_number, "#s0 is there twice"},
    {done_twice, "#s0 ends twice"},
    {calls_of_no_submission, "#s7 does its work before", .needs_all = true},
};

static void write_case(void (*add)(struct trace_builder *b))
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    const struct trace_entry_point point = {.name = builder_string(&b, "f"),
                                            .group_size = {1, 1, 1}};
    builder_buffer_create(&b, BUFFER, "data", 64);
    builder_semaphore_create(&b, SEMAPHORE, "done", 0);
    builder_object_create(&b, TRACE_EVENT_CREATE, EVENT, "event");
    builder_executable_create(&b, KERNELS, "kernels", "kernel void f() {}", &point, 1);
    builder_host_write(&b, BUFFER, 0, "12345678", 8);
    builder_command_buffer_create(&b, COMMANDS, NULL, TRACE_ONE_SHOT);
    builder_fill(&b, BUFFER, 0, 8, 1, 1);
    builder_dispatch(&b, KERNELS, 0, 1, 1, 1);
    builder_end_commands(&b, COMMANDS);
    builder_submit(&b, 0, 0, NO_VALUES, VALUES(done), IDS(COMMANDS));
    builder_submission_done(&b, 0, 0, 1, 2, 3);
    builder_semaphore_wait(&b, HAL_WAIT_ALL, &done, 1, INT64_MAX);
    add(&b);
    assert_ok(builder_close(&b, NULL));
}

struct told {
    char text[HAL_MESSAGE_BYTES];
    unsigned count;
};

static void tell(void *user, enum hal_status status)
{
    struct told *told = user;
    assert_int_equal(status, HAL_CORRUPT);
    snprintf(told->text, sizeof told->text, "%s", hal_message());
    told->count++;
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    return trace_lifetimes_take(user, event, segments);
}

static struct told check(bool is_whole)
{
    struct told told = {0};
    struct trace_lifetimes lifetimes = {0};
    struct trace_reader *reader;
    assert_ok(trace_reader_open(path, &reader));
    assert_ok(trace_reader_each(reader, take, &lifetimes));
    trace_lifetimes_check(&lifetimes, is_whole, tell, &told);
    trace_lifetimes_finish(&lifetimes);
    trace_reader_close(reader);
    return told;
}

TEST(what_a_replay_refuses_is_told)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_plan *plan = NULL;
        write_case(cases[i].add);
        const struct told told = check(true);
        print_message("%zu: %s\n", i, told.text);
        assert_int_equal(told.count, cases[i].text ? 1 : 0);
        assert_true(!cases[i].text || strstr(told.text, cases[i].text));
        const enum hal_status replay =
            replay_plan_load(path, &(struct replay_load_options){0}, &plan);
        if (replay != (cases[i].text ? HAL_CORRUPT : HAL_OK))
            fail_msg("a replay finds %s: %s", hal_status_name(replay), hal_message());
        replay_plan_destroy(plan);
        assert_int_equal(check(false).count, cases[i].text && !cases[i].needs_all ? 1 : 0);
    }
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
