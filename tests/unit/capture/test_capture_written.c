/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what submissions wrote, outputs=all: capture/track/outputs.c, writes.c. */
#include "tests/support/contents.h"

/* printf abcd | sha256sum */
static const uint8_t abcd[32] = {0x88, 0xd4, 0x26, 0x6f, 0xd4, 0xe6, 0x33, 0x8d, 0x13, 0xb8, 0x45,
                                 0xfc, 0xf2, 0x89, 0x57, 0x9d, 0x20, 0x9c, 0x89, 0x78, 0x23, 0xb9,
                                 0x21, 0x7d, 0xa3, 0xe1, 0x61, 0x93, 0x6f, 0x03, 0x15, 0x89};
/* head -c 64 /dev/zero | sha256sum */
static const uint8_t zeros[32] = {0xf5, 0xa5, 0xfd, 0x42, 0xd1, 0x6a, 0x20, 0x30, 0x27, 0x98, 0xef,
                                  0x6e, 0xd3, 0x09, 0x97, 0x9b, 0x43, 0x00, 0x3d, 0x23, 0x20, 0xd9,
                                  0xf0, 0xe8, 0xea, 0x98, 0x31, 0xa9, 0x27, 0x59, 0xfb, 0x4b};

static const uint32_t private_memory = HAL_MEMORY_DEVICE_LOCAL;
static uint32_t memory; /* of the buffers: as the set-up chose */

static struct hal_device *begin(const char *uri)
{
    const struct hal_profiling_options options = {.file = contents_path, .outputs = "all"};
    struct hal_device *device = fixture_device(uri);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    return device;
}

static void end(struct hal_device *device, struct captured *captured)
{
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(captured, contents_path);
}

static struct hal_command_buffer *update(struct hal_device *device, struct hal_buffer *buffer,
                                         uint64_t offset)
{
    struct hal_command_buffer *commands = fixture_commands(device, "update", HAL_ONE_SHOT);
    assert_ok(hal_command_update(commands, "abcd", buffer, offset, 4));
    assert_ok(hal_command_buffer_end(commands));
    return commands;
}

/* Of the n-th record, which has one range. */
static const struct trace_written *written(const struct captured *captured, size_t n)
{
    const struct trace_submission_outputs *outputs =
        captured_find(captured, TRACE_SUBMISSION_OUTPUTS, n);
    assert_non_null(outputs);
    assert_int_equal(outputs->output_count, 1);
    return &outputs->outputs[0];
}

static int on_any(void **state)
{
    memory = 0;
    return contents_by_pages(state);
}

static int on_private(void **state)
{
    memory = private_memory;
    return contents_by_pages(state);
}

/* ---- What is known ---- */

TEST_EACH(each_submission_has_the_digest_of_what_it_wrote, on_any, on_private)
{
    struct captured captured;
    struct hal_device *device = begin("cpu");
    struct hal_buffer *buffer = contents_buffer(device, memory, KIB);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    for (uint64_t i = 0; i < 2; i++) {
        struct hal_command_buffer *commands = update(device, buffer, 100 * i);
        assert_ok(fixture_submit(device, commands, NULL, 0, done, i + 1));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_semaphore_wait(done, 2, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 2);
    const struct trace_buffer_create *created = captured_find(&captured, TRACE_BUFFER_CREATE, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct trace_submission_outputs *outputs =
            captured_find(&captured, TRACE_SUBMISSION_OUTPUTS, i);
        const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, i);
        const struct trace_written *range = &outputs->outputs[0];
        assert_int_equal(outputs->submission, i);
        assert_true(outputs->head.ticket > submit->head.ticket);
        assert_int_equal(submit->command_buffer_count, 1); /* ours is not among them */
        assert_int_equal(outputs->output_count, 1);
        assert_int_equal(range->buffer, created->buffer);
        assert_int_equal(range->offset, 100 * i);
        assert_int_equal(range->size, 4);
        assert_int_equal(range->state, TRACE_WRITTEN_KNOWN);
        assert_memory_equal(range->digest, abcd, sizeof abcd);
    }
    captured_close(&captured);
}

TEST_EACH(what_nobody_wrote_is_zero, on_any, on_private)
{
    static const char source[] = "kernel void touch(device uint *out, uint at "
                                 "[[thread_position_in_grid]]) { if (at > 1000) out[at] = 1; }";
    struct captured captured;
    struct hal_device *device = begin("cpu");
    const struct hal_entry_point entry = {.name = "touch", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_variant variant = {HAL_FORMAT_MSL, source, sizeof source - 1};
    const struct hal_executable_desc desc = {
        .variants = &variant, .variant_count = 1, .entry_points = &entry, .entry_point_count = 1};
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device, &desc, &executable));
    /* Memory that was used before, so that it need not be zero by itself. */
    struct hal_buffer *buffer = contents_buffer(device, memory, KIB);
    contents_fill(device, buffer, 0, KIB, 0xa5);
    hal_buffer_release(buffer);
    buffer = contents_buffer(device, memory, KIB);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *commands = fixture_commands(device, "touch", HAL_ONE_SHOT);
    const struct hal_binding binding = {buffer, 128, 64};
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    end(device, &captured);
    const struct trace_written *range = written(&captured, 1);
    assert_int_equal(range->offset, 128);
    assert_int_equal(range->size, 64);
    assert_memory_equal(range->digest, zeros, sizeof zeros);
    captured_close(&captured);
}

TEST_EACH(what_kernels_only_read_has_none, contents_by_pages)
{
    static const char source[] = "kernel void copy(device const uint *in, device uint *out) "
                                 "{ out[0] = in[0]; }";
    struct captured captured;
    struct hal_device *device = begin("cpu");
    const struct hal_entry_point entry = {.name = "copy", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_variant variant = {HAL_FORMAT_MSL, source, sizeof source - 1};
    const struct hal_executable_desc desc = {
        .variants = &variant, .variant_count = 1, .entry_points = &entry, .entry_point_count = 1};
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device, &desc, &executable));
    struct hal_buffer *in = contents_buffer(device, 0, KIB);
    struct hal_buffer *out = contents_buffer(device, 0, KIB);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *commands = fixture_commands(device, "copy", HAL_ONE_SHOT);
    const struct hal_binding bindings[] = {{in, 0, 16}, {out, 16, 16}};
    assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 2));
    assert_ok(hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_buffer_release(in);
    hal_buffer_release(out);
    hal_executable_release(executable);
    end(device, &captured);
    const struct trace_buffer_create *created = captured_find(&captured, TRACE_BUFFER_CREATE, 1);
    assert_int_equal(written(&captured, 0)->buffer, created->buffer);
    captured_close(&captured);
}

/* ---- What is not ---- */

/* Both wait for the host, so the one that ends first ends while the other may run. */
TEST_EACH(work_that_runs_at_the_same_time_has_none, contents_by_pages)
{
    struct captured captured;
    struct hal_device *device = begin("cpu?threads=2&queues=2");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, KIB);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_semaphore *done[] = {fixture_semaphore(device, "a", 0),
                                    fixture_semaphore(device, "b", 0),
                                    fixture_semaphore(device, "c", 0)};
    static const uint64_t offsets[] = {0, 2, 512};
    for (size_t i = 0; i < 3; i++) {
        struct hal_command_buffer *commands = update(device, buffer, offsets[i]);
        assert_ok(fixture_submit(device, commands, go, 1, done[i], 1));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_semaphore_signal(go, 1));
    for (size_t i = 0; i < 3; i++) {
        assert_ok(hal_semaphore_wait(done[i], 1, HAL_FOREVER));
        hal_semaphore_release(done[i]);
    }
    hal_semaphore_release(go);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 3);
    for (size_t i = 0; i < 3; i++) {
        static const uint8_t none[32] = {0};
        const struct trace_written *range = written(&captured, i);
        const bool alone = range->offset == 512;
        assert_int_equal(range->state, alone ? TRACE_WRITTEN_KNOWN : TRACE_WRITTEN_SHARED);
        assert_memory_equal(range->digest, alone ? abcd : none, sizeof none);
    }
    captured_close(&captured);
}

/* As above, but each waits for the one before: all of it was submitted before anything ran. */
TEST_EACH(work_in_order_has_its_own, contents_by_pages)
{
    struct captured captured;
    struct hal_device *device = begin("cpu?threads=2&queues=2");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, KIB);
    struct hal_semaphore *line = fixture_semaphore(device, "line", 0);
    for (uint64_t i = 0; i < 8; i++) {
        struct hal_command_buffer *commands = update(device, buffer, 0);
        assert_ok(fixture_submit(device, commands, line, i + 1, line, i + 2));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_semaphore_signal(line, 1));
    assert_ok(hal_semaphore_wait(line, 9, HAL_FOREVER));
    hal_semaphore_release(line);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 8);
    for (size_t i = 0; i < 8; i++)
        assert_memory_equal(written(&captured, i)->digest, abcd, sizeof abcd);
    captured_close(&captured);
}

/* Fills the range with something, when `go` is there. */
static void fill_later(struct hal_device *device, struct hal_buffer *buffer, uint64_t kib_at,
                       uint64_t kib, struct hal_semaphore *go, struct hal_semaphore *done)
{
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    const uint32_t pattern = 7;
    assert_ok(hal_command_fill(commands, buffer, kib_at * KIB, kib * KIB, pattern, 4));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, go, 1, done, 1));
    hal_command_buffer_release(commands);
}

/* In memory of 1 MiB, which the two that come first take: copies of 448 KiB. What ends gives it
 * back, also to a larger one, but no one may have more than that. */
TEST_EACH(there_is_a_limit_to_copies_in_flight, contents_by_pages)
{
    enum { WAITING = 5, ALL = WAITING + 3 };
    static const uint64_t sizes[ALL - WAITING] = {400, 900, 1100};
    struct captured captured;
    struct hal_semaphore *done[ALL];
    setenv("HAL_DEVICE_PROFILING_COPIES_MIB", "1", 1);
    struct hal_device *device = begin("cpu");
    unsetenv("HAL_DEVICE_PROFILING_COPIES_MIB");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, WAITING * 400 * KIB);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    for (uint64_t i = 0; i < ALL; i++) {
        done[i] = fixture_semaphore(device, "done", 0);
        if (i == WAITING)
            assert_ok(hal_semaphore_signal(go, 1));
        for (uint64_t k = 0; i == WAITING && k < i; k++)
            assert_ok(hal_semaphore_wait(done[k], 1, HAL_FOREVER));
        if (i < WAITING)
            fill_later(device, buffer, i * 400, 400, go, done[i]);
        else
            fill_later(device, buffer, 0, sizes[i - WAITING], go, done[i]);
        if (i >= WAITING) {
            assert_ok(hal_semaphore_wait(done[i], 1, HAL_FOREVER));
            assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
        }
    }
    for (size_t i = 0; i < ALL; i++)
        hal_semaphore_release(done[i]);
    hal_semaphore_release(go);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), ALL);
    unsigned states[ALL] = {0};
    for (size_t i = 0; i < ALL; i++) {
        const struct trace_submission_outputs *outputs =
            captured_find(&captured, TRACE_SUBMISSION_OUTPUTS, i);
        assert_true(outputs->submission < ALL);
        states[outputs->submission] = written(&captured, i)->state;
    }
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(states[i], i < 2 || i == WAITING || i == WAITING + 1
                                        ? TRACE_WRITTEN_KNOWN
                                        : TRACE_WRITTEN_UNSEEN);
    captured_close(&captured);
}

/* A file's bytes come while the update may run. */
TEST_EACH(work_beside_a_read_has_none, contents_by_pages)
{
    struct captured captured;
    struct hal_file *file;
    struct hal_device *device = begin("cpu?threads=2&queues=2");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, KIB);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_semaphore *done[] = {fixture_semaphore(device, "a", 0),
                                    fixture_semaphore(device, "b", 0),
                                    fixture_semaphore(device, "c", 0)};
    static const uint64_t offsets[] = {60, 64};
    const struct hal_semaphore_value wait = {go, 1}, read = {done[2], 1};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = 1, .signals = &read, .signal_count = 1};
    assert_ok(hal_file_open("/proc/self/exe", HAL_FILE_READ, &file));
    for (size_t i = 0; i < 2; i++) {
        struct hal_command_buffer *commands = update(device, buffer, offsets[i]);
        assert_ok(fixture_submit(device, commands, go, 1, done[i], 1));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_queue_read(device, &desc, file, 0, buffer, 0, 64));
    assert_ok(hal_semaphore_signal(go, 1));
    for (size_t i = 0; i < 3; i++) {
        assert_ok(hal_semaphore_wait(done[i], 1, HAL_FOREVER));
        hal_semaphore_release(done[i]);
    }
    hal_semaphore_release(go);
    hal_file_release(file);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct trace_written *range = written(&captured, i);
        assert_int_equal(range->state,
                         range->offset == 64 ? TRACE_WRITTEN_KNOWN : TRACE_WRITTEN_SHARED);
    }
    captured_close(&captured);
}

/* The other device's semaphore cannot tell that the first has not begun. */
TEST_EACH(what_was_refused_ran_beside_nothing, contents_by_pages)
{
    struct captured captured;
    struct hal_device *other = fixture_device("cpu");
    struct hal_device *device = begin("cpu");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, KIB);
    struct hal_semaphore *go = fixture_semaphore(other, "go", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_semaphore *past = fixture_semaphore(device, "past", 7);
    struct hal_command_buffer *first = update(device, buffer, 0);
    struct hal_command_buffer *second = update(device, buffer, 0);
    assert_ok(fixture_submit(device, first, go, 1, done, 1));
    assert_fails(fixture_submit(device, second, NULL, 0, past, 7), HAL_INVALID, "reached 7");
    assert_ok(hal_semaphore_signal(go, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_command_buffer_release(first);
    hal_command_buffer_release(second);
    hal_semaphore_release(go);
    hal_semaphore_release(done);
    hal_semaphore_release(past);
    hal_buffer_release(buffer);
    end(device, &captured);
    hal_device_release(other);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 1);
    assert_int_equal(written(&captured, 0)->state, TRACE_WRITTEN_KNOWN);
    captured_close(&captured);
}

TEST_EACH(what_the_host_may_write_has_none, contents_by_pages)
{
    struct captured captured;
    struct hal_device *device = begin("cpu");
    struct hal_buffer *buffer = contents_buffer(device, 0, KIB);
    struct hal_mapping mapping =
        contents_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, 512);
    contents_fill(device, buffer, 500, 64, 1);
    contents_fill(device, buffer, 512, 64, 1);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(written(&captured, 0)->state, TRACE_WRITTEN_HOST);
    assert_int_equal(written(&captured, 1)->state, TRACE_WRITTEN_KNOWN);
    captured_close(&captured);
}

TEST_EACH(failed_work_has_none, contents_by_pages)
{
    struct captured captured;
    struct hal_device *device = begin("cpu");
    struct hal_buffer *buffer = contents_buffer(device, 0, KIB);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *commands = update(device, buffer, 0);
    assert_ok(fixture_submit(device, commands, go, 1, done, 1));
    hal_semaphore_fail(go, HAL_FAILED, "not today");
    assert_int_equal(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_FAILED);
    hal_command_buffer_release(commands);
    hal_semaphore_release(go);
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    end(device, &captured);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_OUTPUTS), 0);
    captured_close(&captured);
}

/* More ranges than one record holds; memory for copies comes and is used again. */
TEST_EACH(there_may_be_many, contents_by_pages)
{
    enum { RANGES = 600, ROUNDS = 20 };
    struct captured captured;
    struct hal_device *device = begin("cpu");
    struct hal_buffer *buffer = contents_buffer(device, private_memory, RANGES * 16);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct hal_command_buffer *commands = fixture_commands(device, "many", HAL_ONE_SHOT);
        for (uint64_t i = 0; i < RANGES; i++)
            assert_ok(hal_command_update(commands, "abcd", buffer, 16 * i, 4));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(device, commands, done, round - 1, done, round));
        hal_command_buffer_release(commands);
    }
    assert_ok(hal_semaphore_wait(done, ROUNDS, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    end(device, &captured);
    size_t count = 0;
    const struct trace_submission_outputs *outputs;
    for (size_t n = 0; (outputs = captured_find(&captured, TRACE_SUBMISSION_OUTPUTS, n)); n++) {
        for (uint32_t i = 0; i < outputs->output_count; i++, count++) {
            assert_int_equal(outputs->outputs[i].offset, count % RANGES * 16);
            assert_memory_equal(outputs->outputs[i].digest, abcd, sizeof abcd);
        }
    }
    assert_int_equal(count, RANGES * ROUNDS);
    captured_close(&captured);
}

TEST_SUITE_FIXTURE(contents_setup, contents_teardown);
