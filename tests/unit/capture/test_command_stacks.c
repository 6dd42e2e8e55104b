/* SPDX-License-Identifier: Apache-2.0 */
/* Where each command was recorded, as a capture with device_profiling_stacks=command tells. */
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <dlfcn.h>

enum { COMMANDS = 2100 };

static __attribute__((noinline)) void record_even(struct hal_command_buffer *commands)
{
    assert_ok(hal_command_barrier(commands, NULL));
}

static __attribute__((noinline)) void record_odd(struct hal_command_buffer *commands)
{
    assert_ok(hal_command_barrier(commands, NULL));
}

static __attribute__((noinline)) struct hal_command_buffer *record(
    struct hal_device *device, uint32_t from, uint32_t to, struct hal_command_buffer *commands)
{
    if (!commands)
        commands = fixture_commands(device, "many", HAL_ONE_SHOT);
    for (uint32_t i = from; i < to; i++)
        (i % 2 ? record_odd : record_even)(commands);
    return commands;
}

static void begin(struct hal_device *device, const char *stacks)
{
    const struct hal_profiling_options options = {.file = path, .stacks = stacks};
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
}

/* The stack that the trace knows of each segment; 0: of none. */
static void read_stacks(const struct captured *captured, uint32_t stacks[COMMANDS])
{
    memset(stacks, 0, COMMANDS * sizeof *stacks);
    for (size_t n = 0; n < captured_count(captured, TRACE_COMMAND_STACKS); n++) {
        const struct trace_command_stacks *part = captured_find(captured, TRACE_COMMAND_STACKS, n);
        const struct trace_command_buffer_seal *seal =
            captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 0);
        assert_int_equal(part->command_buffer, seal->command_buffer);
        assert_in_range(part->first + part->stack_count, 1, COMMANDS);
        memcpy(stacks + part->first, part->stacks, part->stack_count * sizeof *stacks);
    }
}

static const struct trace_module *program_of(const struct captured *captured)
{
    const uint64_t here = (uint64_t)(uintptr_t)record;
    for (size_t i = 0; i < trace_reader_module_count(captured->reader); i++) {
        const struct trace_module *module = trace_reader_module(captured->reader, i);
        if (here - module->base < module->size)
            return module;
    }
    fail_msg("the program is not among the modules");
    return NULL;
}

static bool is_in(const struct trace_module *module, uint64_t address)
{
    return address - module->base < module->size;
}

/* Which of the three functions of this file called the library: the one that begins last before the
 * innermost address in this program. */
static uint64_t caller_of(const struct captured *captured, const struct trace_stack *stack)
{
    const uint64_t functions[] = {(uint64_t)(uintptr_t)record_even, (uint64_t)(uintptr_t)record_odd,
                                  (uint64_t)(uintptr_t)record};
    const struct trace_module *program = program_of(captured);
    uint64_t caller = 0, address = 0;
    for (uint32_t i = 0; !address && i < stack->frame_count; i++) {
        if (is_in(program, stack->frames[i]))
            address = stack->frames[i];
    }
    for (size_t i = 0; i < 3; i++) {
        if (functions[i] < address && functions[i] > caller)
            caller = functions[i];
    }
    return caller;
}

TEST(each_command_has_the_stack_of_its_recording)
{
    static uint32_t stacks[COMMANDS];
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device, "command");
    struct hal_command_buffer *commands = record(device, 0, COMMANDS, NULL);
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_device_profiling_end(device));
    hal_command_buffer_release(commands);
    hal_device_release(device);
    captured_open(&captured, path);
    assert_string_equal(trace_reader_header(captured.reader)->stacks, "command");
    read_stacks(&captured, stacks);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        assert_int_equal(stacks[i], stacks[i % 2]);
        const struct trace_stack *stack = trace_reader_stack(captured.reader, stacks[i]);
        assert_non_null(stack);
        assert_int_equal(caller_of(&captured, stack),
                         (uint64_t)(uintptr_t)(i % 2 ? record_odd : record_even));
    }
    captured_close(&captured);
}

/* What was recorded before, or under another capture, has none; nor without being asked for. */
TEST(stacks_are_of_this_capture_alone)
{
    static uint32_t stacks[COMMANDS];
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device, "command");
    struct hal_command_buffer *commands = record(device, 0, 10, NULL);
    assert_ok(hal_device_profiling_end(device));
    unlink(path);
    begin(device, "submission");
    record(device, 10, 20, commands);
    assert_ok(hal_device_profiling_end(device));
    unlink(path);
    begin(device, "command");
    record(device, 20, 30, commands);
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_device_profiling_end(device));
    hal_command_buffer_release(commands);
    hal_device_release(device);
    captured_open(&captured, path);
    read_stacks(&captured, stacks);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(stacks[i], 0);
    for (uint32_t i = 20; i < 30; i++)
        assert_true(stacks[i] != 0);
    captured_close(&captured);
}

TEST(without_being_asked_there_are_none)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1");
    begin(device, "submission");
    struct hal_command_buffer *commands = record(device, 0, 10, NULL);
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_device_profiling_end(device));
    hal_command_buffer_release(commands);
    hal_device_release(device);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_COMMAND_BUFFER_SEAL), 1);
    assert_int_equal(captured_count(&captured, TRACE_COMMAND_STACKS), 0);
    captured_close(&captured);
}

/* Each submission has one, unless none are wanted: the library's function, then who called it. */
TEST(submissions_have_stacks)
{
    static const char *const stacks[] = {"none", "submission", "command"};
    struct hal_device *device = fixture_device("cpu?threads=1");
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct captured captured;
        unlink(path);
        begin(device, stacks[i]);
        assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
        assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
        assert_ok(hal_device_profiling_end(device));
        captured_open(&captured, path);
        const struct trace_event *submit = captured_find(&captured, TRACE_SUBMIT, 0);
        const struct trace_stack *stack = trace_reader_stack(captured.reader, submit->stack);
        assert_int_equal(submit->stack != 0, i > 0);
        if (i > 0) {
            const struct trace_module *program = program_of(&captured);
            assert_non_null(stack);
            assert_true(stack->frame_count > 2);
            Dl_info called;
            assert_true(dladdr((const void *)(uintptr_t)(stack->frames[0] - 1), &called));
            assert_non_null(called.dli_sname);
            assert_string_equal(called.dli_sname, "hal_queue_submit");
            assert_true(is_in(program, stack->frames[1]));
        }
        captured_close(&captured);
    }
    hal_device_release(device);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
