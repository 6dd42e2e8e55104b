/* SPDX-License-Identifier: Apache-2.0 */
/* capture/layer/layer.c and encode.c over the real CPU driver, checked through the trace reader:
 * every call of a scripted program is there, with its values, in an order that respects causality.
 */
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <dlfcn.h>

#include "hal/driver.h"

enum { BYTES = 64 << 10 };

/* The next event by ticket must be of that kind. */
struct script {
    const struct captured *captured;
    size_t next;
    int64_t last_ns;
};

static const void *expect(struct script *script, enum trace_event_kind kind)
{
    const struct captured *captured = script->captured;
    while (script->next < captured->count && !captured->events[script->next].event->ticket)
        script->next++;
    if (script->next == captured->count)
        fail_msg("no event is left, but one of kind %d should be", (int)kind);
    const struct trace_event *event = captured->events[script->next++].event;
    if (event->kind != kind)
        fail_msg("event %zu is a %s, not a %s", script->next - 1, trace_event_name(event->kind),
                 trace_event_name(kind));
    assert_true(event->begin_ns > 0);
    assert_true(event->end_ns >= event->begin_ns);
    assert_int_not_equal(event->thread, 0);
    return event;
}

static void expect_end(struct script *script)
{
    if (script->next != script->captured->count)
        fail_msg("%s is left",
                 trace_event_name(script->captured->events[script->next].event->kind));
}

/* ---- Every call ---- */

struct ids {
    uint64_t buffer, private_buffer, executable, commands, semaphore;
};

static const char kernel[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "kernel void twice(device uint *values [[buffer(0)]],\n"
                             "                  constant uint &count [[buffer(1)]],\n"
                             "                  uint i [[thread_position_in_grid]])\n"
                             "{\n"
                             "    if (i < count)\n"
                             "        values[i] *= 2;\n"
                             "}\n";

static struct hal_executable *create_executable(struct hal_device *device)
{
    struct hal_executable *executable;
    const struct hal_entry_point entry = {"twice", {32, 1, 1}, 4, 1};
    const struct hal_executable_desc desc = {.label = "twice.metal",
                                             .format = HAL_FORMAT_MSL,
                                             .data = kernel,
                                             .bytes = sizeof kernel - 1,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    assert_ok(hal_executable_create(device, &desc, &executable));
    return executable;
}

static void record_all(struct hal_command_buffer *commands, struct hal_buffer *buffer,
                       struct hal_buffer *private_buffer, struct hal_executable *executable)
{
    static const uint32_t count = 64;
    const struct hal_buffer_barrier range = {buffer, 64, 128, HAL_ACCESS_WRITE, HAL_ACCESS_READ};
    const struct hal_barrier_desc barrier = {.source_stages = HAL_STAGE_TRANSFER,
                                             .target_stages = HAL_STAGE_DISPATCH,
                                             .buffers = &range,
                                             .buffer_count = 1};
    const struct hal_binding bindings[3] = {
        {buffer, 256, 1024}, {NULL, 0, 0}, {private_buffer, 0, 16}};
    assert_ok(hal_command_debug_begin(commands, "layer 0", 0x00ff7f));
    assert_ok(hal_command_fill(commands, buffer, 4, 4096, 0xabcd, 2));
    assert_ok(hal_command_barrier(commands, NULL));
    assert_ok(hal_command_copy(commands, buffer, 1, private_buffer, 2, 333));
    assert_ok(hal_command_update(commands, "hello", buffer, 9000, 5));
    assert_ok(hal_command_barrier(commands, &barrier));
    assert_ok(hal_command_push_constants(commands, 0, &count, 4));
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 3));
    assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){2, 1, 1}));
    assert_ok(hal_command_debug_end(commands));
}

static void run_script(struct hal_device *device, struct ids *ids)
{
    const struct hal_buffer_desc private_desc = {
        .label = "private", .bytes = 1000, .memory = HAL_MEMORY_DEVICE_LOCAL};
    struct hal_buffer *buffer = fixture_buffer(device, "values", BYTES), *private_buffer;
    assert_ok(hal_buffer_create(device, &private_desc, &private_buffer));
    struct hal_executable *executable = create_executable(device);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "done", 3);
    struct hal_command_buffer *commands = fixture_commands(device, "work", HAL_REUSABLE);
    *ids = (struct ids){buffer->object.id, private_buffer->object.id, executable->object.id,
                        commands->object.id, semaphore->object.id};
    uint8_t data[100];
    uint64_t value;
    memset(data, 1, sizeof data);
    record_all(commands, buffer, private_buffer, executable);
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_buffer_write(buffer, 10, data, sizeof data));
    hal_scope_begin(device, "token 17");
    assert_ok(fixture_submit(device, commands, semaphore, 3, semaphore, 4));
    assert_ok(hal_semaphore_wait(semaphore, 4, HAL_FOREVER));
    hal_scope_end(device);
    assert_ok(hal_semaphore_query(semaphore, &value));
    assert_ok(hal_semaphore_signal(semaphore, 9));
    assert_fails(hal_semaphore_wait(semaphore, 10, 0), HAL_TIMEOUT, "");
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_buffer_read(buffer, 9000, data, 5));
    hal_semaphore_fail(semaphore, HAL_FAILED, "on purpose");
    assert_fails(hal_semaphore_query(semaphore, &value), HAL_FAILED, "on purpose");
    hal_command_buffer_release(commands);
    hal_semaphore_release(semaphore);
    hal_executable_release(executable);
    hal_buffer_release(private_buffer);
    hal_buffer_release(buffer);
}

static void check_creation(struct script *script, const struct ids *ids)
{
    const struct captured *captured = script->captured;
    const struct trace_buffer_create *buffer = expect(script, TRACE_BUFFER_CREATE);
    assert_int_equal(buffer->buffer, ids->buffer);
    assert_int_equal(buffer->size, BYTES);
    assert_string_equal(captured_string(captured, buffer->label), "values");
    assert_int_equal(buffer->flags, 0);
    assert_true(buffer->memory & HAL_MEMORY_HOST_COHERENT);
    buffer = expect(script, TRACE_BUFFER_CREATE);
    assert_int_equal(buffer->buffer, ids->private_buffer);
    assert_int_equal(buffer->memory, HAL_MEMORY_DEVICE_LOCAL);
    assert_int_equal(buffer->usage, HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH);

    const struct trace_executable_create *executable = expect(script, TRACE_EXECUTABLE_CREATE);
    assert_int_equal(executable->executable, ids->executable);
    assert_int_equal(executable->format, HAL_FORMAT_MSL);
    assert_int_equal(executable->size, sizeof kernel - 1);
    assert_int_equal(executable->entry_point_count, 1);
    assert_int_equal(executable->constant_count, 0);
    assert_string_equal(captured_string(captured, executable->label), "twice.metal");
    assert_string_equal(captured_string(captured, executable->entry_points[0].name), "twice");
    assert_int_equal(executable->entry_points[0].group_size[0], 32);
    assert_int_equal(executable->entry_points[0].constant_bytes, 4);
    assert_int_equal(executable->entry_points[0].constants_slot, 1);
    char source[sizeof kernel] = "";
    assert_ok(
        trace_reader_content(captured->reader, executable->content, source, sizeof kernel - 1));
    assert_string_equal(source, kernel);

    const struct trace_semaphore_create *semaphore = expect(script, TRACE_SEMAPHORE_CREATE);
    assert_int_equal(semaphore->semaphore, ids->semaphore);
    assert_int_equal(semaphore->initial_value, 3);
    const struct trace_command_buffer_create *commands =
        expect(script, TRACE_COMMAND_BUFFER_CREATE);
    assert_int_equal(commands->command_buffer, ids->commands);
    assert_int_equal(commands->mode, HAL_REUSABLE);
    assert_int_equal(commands->categories, HAL_COMMANDS_TRANSFER | HAL_COMMANDS_DISPATCH);
    assert_string_equal(captured_string(captured, commands->label), "work");
}

static void check_bindings(const struct trace_push_descriptor_set *set, const struct ids *ids)
{
    assert_int_equal(set->set, 0);
    assert_int_equal(set->binding_count, 3);
    assert_int_equal(set->bindings[0].buffer, ids->buffer);
    assert_int_equal(set->bindings[0].offset, 256);
    assert_int_equal(set->bindings[0].size, 1024);
    assert_int_equal(set->bindings[1].buffer, 0);
    assert_int_equal(set->bindings[2].buffer, ids->private_buffer);
}

static void check_segments(const struct captured *captured, const struct ids *ids)
{
    const struct trace_segment *at = captured_segments(captured, 0);
    const struct trace_debug *debug = captured_next_segment(&at, TRACE_DEBUG_BEGIN);
    assert_string_equal(captured_string(captured, debug->label), "layer 0");
    assert_int_equal(debug->color, 0x00ff7f);
    const struct trace_fill *fill = captured_next_segment(&at, TRACE_FILL);
    assert_int_equal(fill->target, ids->buffer);
    assert_int_equal(fill->offset, 4);
    assert_int_equal(fill->size, 4096);
    assert_int_equal(fill->pattern, 0xabcdabcd);
    assert_int_equal(fill->pattern_bytes, 2);
    const struct trace_barrier *barrier = captured_next_segment(&at, TRACE_BARRIER);
    assert_int_equal(barrier->source_stages, HAL_STAGE_ALL);
    assert_int_equal(barrier->target_stages, HAL_STAGE_ALL);
    assert_int_equal(barrier->buffer_count, 0);
    const struct trace_copy *copy = captured_next_segment(&at, TRACE_COPY);
    assert_int_equal(copy->source, ids->buffer);
    assert_int_equal(copy->target, ids->private_buffer);
    assert_int_equal(copy->source_offset, 1);
    assert_int_equal(copy->target_offset, 2);
    assert_int_equal(copy->size, 333);
    const struct trace_update *update = captured_next_segment(&at, TRACE_UPDATE);
    assert_int_equal(update->target, ids->buffer);
    assert_int_equal(update->offset, 9000);
    assert_int_equal(update->size, 5);
    assert_memory_equal(update->data, "hello\0\0", 8);
    barrier = captured_next_segment(&at, TRACE_BARRIER);
    assert_int_equal(barrier->source_stages, HAL_STAGE_TRANSFER);
    assert_int_equal(barrier->buffer_count, 1);
    assert_int_equal(barrier->buffers[0].buffer, ids->buffer);
    assert_int_equal(barrier->buffers[0].offset, 64);
    assert_int_equal(barrier->buffers[0].size, 128);
    assert_int_equal(barrier->buffers[0].target_access, HAL_ACCESS_READ);
    const struct trace_push_constants *constants = captured_next_segment(&at, TRACE_PUSH_CONSTANTS);
    assert_int_equal(constants->size, 4);
    assert_memory_equal(constants->data, ((const uint8_t[]){64, 0, 0, 0, 0, 0, 0, 0}), 8);
    check_bindings(captured_next_segment(&at, TRACE_PUSH_DESCRIPTOR_SET), ids);
    const struct trace_dispatch *dispatch = captured_next_segment(&at, TRACE_DISPATCH);
    assert_int_equal(dispatch->executable, ids->executable);
    assert_int_equal(dispatch->entry, 0);
    assert_int_equal(dispatch->workgroup_count[0], 2);
    captured_next_segment(&at, TRACE_DEBUG_END);
}

static void check_submission(struct script *script, const struct ids *ids)
{
    const struct captured *captured = script->captured;
    const struct trace_submit *submit = expect(script, TRACE_SUBMIT);
    assert_int_equal(submit->submission, 0);
    assert_int_equal(submit->queue, 0);
    assert_int_equal(submit->wait_count, 1);
    assert_int_equal(submit->signal_count, 1);
    assert_int_equal(submit->command_buffer_count, 1);
    assert_int_equal(submit->values[0].semaphore, ids->semaphore);
    assert_int_equal(submit->values[0].value, 3);
    assert_int_equal(submit->values[1].value, 4);
    assert_int_equal(trace_submit_command_buffers(submit)[0], ids->commands);
    const struct trace_stack *stack = trace_reader_stack(captured->reader, submit->head.stack);
    assert_non_null(stack);
    assert_true(stack->frame_count >= 3);

    const struct trace_submission_done *done = captured_find(captured, TRACE_SUBMISSION_DONE, 0);
    assert_int_equal(done->submission, 0);
    assert_int_equal(done->head.status, HAL_OK);
    assert_int_equal(done->head.ticket, 0);
    assert_true(done->head.begin_ns >= submit->head.begin_ns);
    assert_true(done->head.end_ns > done->head.begin_ns);
    assert_true(done->ready_ns <= done->head.begin_ns);
    assert_true(done->busy_ns > 0);
    const struct trace_semaphore_wait *wait = expect(script, TRACE_SEMAPHORE_WAIT);
    assert_int_equal(wait->mode, HAL_WAIT_ALL);
    assert_int_equal(wait->value_count, 1);
    assert_int_equal(wait->timeout_ns, HAL_FOREVER);
    assert_int_equal(wait->values[0].semaphore, ids->semaphore);
    assert_int_equal(wait->values[0].value, 4);
    assert_true(wait->head.end_ns >= done->head.end_ns);
}

static void check_semaphore_calls(struct script *script, const struct ids *ids)
{
    const struct trace_semaphore_event *event = expect(script, TRACE_SEMAPHORE_QUERY);
    assert_int_equal(event->semaphore, ids->semaphore);
    assert_int_equal(event->value, 4);
    event = expect(script, TRACE_SEMAPHORE_SIGNAL);
    assert_int_equal(event->value, 9);
    const struct trace_semaphore_wait *wait = expect(script, TRACE_SEMAPHORE_WAIT);
    assert_int_equal(wait->head.status, HAL_TIMEOUT);
    assert_int_equal(wait->timeout_ns, 0);
    const struct trace_wait_idle *idle = expect(script, TRACE_WAIT_IDLE);
    assert_int_equal(idle->head.status, HAL_OK);
}

static void check_ends(struct script *script, const struct ids *ids)
{
    const struct captured *captured = script->captured;
    const struct trace_semaphore_event *failed = expect(script, TRACE_SEMAPHORE_FAIL);
    assert_int_equal(failed->head.status, HAL_FAILED);
    assert_string_equal(captured_string(captured, failed->message), "on purpose");
    failed = expect(script, TRACE_SEMAPHORE_QUERY);
    assert_int_equal(failed->head.status, HAL_FAILED);
    assert_non_null(strstr(captured_string(captured, failed->message), "on purpose"));
    const struct trace_object_event *gone = expect(script, TRACE_COMMAND_BUFFER_DESTROY);
    assert_int_equal(gone->object, ids->commands);
    gone = expect(script, TRACE_SEMAPHORE_DESTROY);
    assert_int_equal(gone->object, ids->semaphore);
    gone = expect(script, TRACE_EXECUTABLE_DESTROY);
    assert_int_equal(gone->object, ids->executable);
    gone = expect(script, TRACE_BUFFER_DESTROY);
    assert_int_equal(gone->object, ids->private_buffer);
    gone = expect(script, TRACE_BUFFER_DESTROY);
    assert_int_equal(gone->object, ids->buffer);
}

static void check_write(struct script *script, const struct ids *ids)
{
    const struct trace_mapping_event *map = expect(script, TRACE_BUFFER_MAP);
    assert_int_equal(map->buffer, ids->buffer);
    assert_int_equal(map->offset, 10);
    assert_int_equal(map->size, 100);
    assert_true(map->mode & HAL_MAP_WRITE);
    const struct trace_content_event *write = expect(script, TRACE_HOST_WRITE);
    assert_int_equal(write->offset, 10);
    assert_int_equal(write->size, 100);
    uint8_t *bytes = captured_bytes(script->captured, write);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(bytes[99], 1);
    free(bytes);
    const struct trace_mapping_event *unmap = expect(script, TRACE_BUFFER_UNMAP);
    assert_int_equal(unmap->mapping, map->mapping);
    assert_int_not_equal(map->mapping, 0);
}

static void check_read(struct script *script)
{
    expect(script, TRACE_BUFFER_MAP);
    const struct trace_content_event *read = expect(script, TRACE_HOST_READ);
    assert_int_equal(read->offset, 9000);
    assert_int_equal(read->size, 5);
    assert_int_equal(read->flags, 0);
    uint8_t *bytes = captured_bytes(script->captured, read);
    assert_memory_equal(bytes, "hello", 5);
    free(bytes);
    expect(script, TRACE_BUFFER_UNMAP);
}

static void check_scopes(const struct captured *captured)
{
    const struct trace_scope *begin = captured_find(captured, TRACE_SCOPE_BEGIN, 0);
    const struct trace_scope *end = captured_find(captured, TRACE_SCOPE_END, 0);
    assert_string_equal(captured_string(captured, begin->name), "token 17");
    assert_int_equal(end->name, 0);
    assert_true(end->head.end_ns >= begin->head.begin_ns);
    assert_int_equal(captured_count(captured, TRACE_SCOPE_BEGIN), 1);
}

TEST(every_call_is_recorded)
{
    struct ids ids;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=2");
    captured_begin(device, path);
    run_script(device, &ids);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    struct script script = {.captured = &captured};
    check_creation(&script, &ids);
    const struct trace_command_buffer_seal *seal = expect(&script, TRACE_COMMAND_BUFFER_SEAL);
    assert_int_equal(seal->command_buffer, ids.commands);
    assert_int_equal(seal->segment_count, 10);
    assert_int_equal(seal->dispatch_count, 1);
    check_segments(&captured, &ids);
    check_write(&script, &ids);
    check_submission(&script, &ids);
    check_semaphore_calls(&script, &ids);
    check_read(&script);
    check_ends(&script, &ids);
    expect_end(&script);
    check_scopes(&captured);
    captured_close(&captured);
}

TEST(what_fails_is_recorded_and_the_message_is_the_drivers)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *first, *second;
    const struct hal_buffer_desc huge = {.label = "huge",
                                         .bytes = hal_device_get_info(device)->max_buffer_bytes};
    assert_ok(hal_buffer_create(device, &huge, &first));
    assert_fails(hal_buffer_create(device, &huge, &second), HAL_NO_MEMORY, "huge");
    hal_buffer_release(first);
    struct hal_executable *executable;
    const struct hal_entry_point entry = {"nothing", {1, 1, 1}, 0, 0};
    const struct hal_executable_desc desc = {.label = "bad.metal",
                                             .format = HAL_FORMAT_MSL,
                                             .data = "kernel void nothing() { oops; }",
                                             .bytes = 31,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    assert_fails(hal_executable_create(device, &desc, &executable), HAL_INVALID, "oops");
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 5);
    assert_fails(hal_semaphore_signal(semaphore, 5), HAL_INVALID, "5");
    hal_semaphore_release(semaphore);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_buffer_create *create = captured_find(&captured, TRACE_BUFFER_CREATE, 1);
    assert_int_equal(create->head.status, HAL_NO_MEMORY);
    assert_int_equal(create->size, huge.bytes);
    assert_int_equal(create->buffer, 0);
    const struct trace_executable_create *failed =
        captured_find(&captured, TRACE_EXECUTABLE_CREATE, 0);
    assert_int_equal(failed->head.status, HAL_INVALID);
    assert_int_equal(failed->executable, 0);
    const struct trace_semaphore_event *signal =
        captured_find(&captured, TRACE_SEMAPHORE_SIGNAL, 0);
    assert_int_equal(signal->head.status, HAL_INVALID);
    captured_close(&captured);
}

TEST(the_trace_says_where_it_comes_from)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1&queues=2");
    const int64_t before_ns = hal_clock_ns();
    captured_begin(device, path);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    hal_semaphore_release(semaphore);
    assert_ok(hal_device_profiling_end(device));
    captured_open(&captured, path);
    const struct trace_header *header = trace_reader_header(captured.reader);
    assert_int_equal(header->process_id, getpid());
    assert_non_null(strstr(header->program, "test_layer"));
    assert_int_equal(header->argument_count, 1);
    assert_string_equal(header->mode, "queue");
    assert_true(header->start_ns >= before_ns);
    assert_true(header->start_ns <= hal_clock_ns());
    assert_string_equal(header->device.uri, hal_device_get_info(device)->uri);
    assert_int_equal(header->device.queue_count, 2);
    assert_false(header->late_start);
    hal_device_release(device);

    assert_int_equal(trace_reader_thread_count(captured.reader), 1);
    const struct trace_thread *thread = trace_reader_thread(captured.reader, 0);
    assert_int_equal(thread->system_id, hal_thread_id());
    assert_string_equal(captured_string(&captured, thread->name), "test_layer");
    const struct trace_event *event = captured_find(&captured, TRACE_SEMAPHORE_CREATE, 0);
    assert_int_equal(event->thread, thread->id);

    bool own_program = false;
    for (size_t i = 0; i < trace_reader_module_count(captured.reader); i++) {
        const struct trace_module *module = trace_reader_module(captured.reader, i);
        const char *name = captured_string(&captured, module->path);
        const uint64_t here = (uint64_t)(uintptr_t)&the_trace_says_where_it_comes_from;
        if (here >= module->base && here < module->base + module->size)
            own_program = strstr(name, "test_layer") && module->build_id_bytes > 0;
    }
    assert_true(own_program);
    captured_close(&captured);
}

TEST(stacks_can_be_left_out_and_lead_to_the_caller)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    for (unsigned with = 0; with < 2; with++) {
        const struct hal_profiling_options options = {
            .file = path, .stacks = with ? "submission" : "none", .force = true};
        assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
        for (unsigned i = 0; i < 3; i++)
            assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
        assert_ok(hal_device_profiling_end(device));
        captured_open(&captured, path);
        const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, 2);
        assert_int_equal(submit->head.stack != 0, with);
        if (with) {
            /* One place in the program, one stack; and this function is on it. */
            const struct trace_submit *first = captured_find(&captured, TRACE_SUBMIT, 0);
            assert_int_equal(first->head.stack, submit->head.stack);
            const struct trace_stack *stack =
                trace_reader_stack(captured.reader, submit->head.stack);
            const uint64_t begin =
                (uint64_t)(uintptr_t)&stacks_can_be_left_out_and_lead_to_the_caller;
            bool found = false;
            for (uint32_t i = 0; i < stack->frame_count; i++)
                found |= stack->frames[i] > begin && stack->frames[i] < begin + 8192;
            assert_true(found);
        }
        captured_close(&captured);
    }
    hal_device_release(device);
}

/* ---- More than one capture ---- */

TEST(captures_follow_each_other_and_run_side_by_side)
{
    char other_path[PATH_MAX];
    struct captured captured;
    struct hal_device *one = fixture_device("cpu"), *two = fixture_device("cpu");
    test_folder_file(&folder, "other.pb.zst", other_path);
    for (unsigned round = 0; round < 3; round++) {
        unlink(path);
        unlink(other_path);
        captured_begin(one, path);
        captured_begin(two, other_path);
        for (unsigned i = 0; i < 10; i++) {
            hal_semaphore_release(fixture_semaphore(one, "one", i));
            hal_semaphore_release(fixture_semaphore(two, "two", i));
        }
        assert_ok(hal_device_profiling_end(one));
        hal_semaphore_release(fixture_semaphore(one, "not captured", 0));
        hal_semaphore_release(fixture_semaphore(two, "two", 10));
        assert_ok(hal_device_profiling_end(two));
        captured_open(&captured, path);
        assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), 10);
        const struct trace_semaphore_create *last =
            captured_find(&captured, TRACE_SEMAPHORE_CREATE, 9);
        assert_string_equal(captured_string(&captured, last->label), "one");
        assert_int_equal(last->initial_value, 9);
        captured_close(&captured);
        captured_open(&captured, other_path);
        assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), 11);
        captured_close(&captured);
    }
    hal_device_release(one);
    hal_device_release(two);
}

static int signal_from_there(void *user)
{
    struct hal_device *device = user;
    struct hal_semaphore *done = fixture_semaphore(device, NULL, 0);
    assert_ok(fixture_submit(device, NULL, NULL, 0, done, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_semaphore_release(done);
    return 0;
}

/* A library that is loaded during the capture is listed before a stack leads through it. */
TEST(a_module_that_comes_later_is_listed)
{
    struct captured captured;
    int (*call)(int (*)(void *), void *);
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    signal_from_there(device);
    void *module = dlopen(LATE_MODULE, RTLD_NOW);
    assert_non_null(module);
    void *symbol = dlsym(module, "late_call");
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof call);
    assert_int_equal(call(signal_from_there, device), 0);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, 1);
    const struct trace_stack *stack = trace_reader_stack(captured.reader, submit->head.stack);
    const struct trace_module *late = NULL;
    for (size_t i = 0; i < trace_reader_module_count(captured.reader); i++) {
        const struct trace_module *found = trace_reader_module(captured.reader, i);
        if (strstr(captured_string(&captured, found->path), "late_module"))
            late = found;
    }
    assert_non_null(late);
    bool leads_through = false;
    for (uint32_t i = 0; i < stack->frame_count; i++)
        leads_through |=
            stack->frames[i] >= late->base && stack->frames[i] < late->base + late->size;
    assert_true(leads_through);
    captured_close(&captured);
    dlclose(module);
}

TEST(flush_puts_everything_into_the_file)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    for (unsigned i = 1; i <= 20; i++) {
        hal_semaphore_release(fixture_semaphore(device, "s", i));
        assert_ok(hal_device_profiling_flush(device));
        captured_open_incomplete(&captured, path);
        assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_CREATE), i);
        assert_null(trace_reader_health(captured.reader));
        captured_close(&captured);
    }
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
