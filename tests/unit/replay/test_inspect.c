/* SPDX-License-Identifier: Apache-2.0 */
/* replay/search/inspect.c, measure.c, scopes.c: stopping, dumping, looping; scopes, isolated
 * commands, pace.
 */
#include "hal/base/os.h"
#include "replay/player/player.h"
#include "replay/search/benchmark.h"
#include "replay/search/inspect.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

enum { OUT = 10, OLDER, YOUNGER, FLOATS, HALVES, LARGE, KERNEL = 20, DONE = 30, COMMANDS = 100 };
enum { COUNT = 16, MIB = 1 << 20, LARGE_BYTES = 2 * MIB + 6 };

static const char source[] = "kernel void count(device int *out [[buffer(0)]],\n"
                             "                  uint i [[thread_position_in_grid]])\n"
                             "{ out[i] = out[i] * 2 + int(i) - 3; }\n";

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX], dump[PATH_MAX];
    struct trace_builder b;
    struct hal_device *device;
    struct replay_plan *plan;
};

/* What `out` holds after so many dispatches. */
static void expected(int dispatches, int32_t out[COUNT])
{
    memset(out, 0, COUNT * sizeof *out);
    for (int n = 0; n < dispatches; n++) {
        for (int i = 0; i < COUNT; i++)
            out[i] = out[i] * 2 + i - 3;
    }
}

static void add_read(struct trace_builder *b, int dispatches, bool wrong)
{
    int32_t values[COUNT];
    expected(dispatches, values);
    values[5] += wrong;
    builder_host_read(b, OUT, 0, values, sizeof values);
}

/* Of 'large': pages differ, and so do those 1 MiB apart. */
static uint8_t large_byte(size_t i)
{
    return (uint8_t)(i * 131 + i / 4096 + i / MIB * 77);
}

/* Two that are called the same, of which the younger one goes after #s1; and some with contents
 * that nobody changes. */
static void add_buffers(struct trace_builder *b)
{
    static const float floats[3] = {1.5f, -2, 0x1p-20f};
    static const uint16_t halves[3] = {0x3e00, 0xc000, 0x0001}; /* 1.5, -2, 2^-24 */
    static uint8_t large[LARGE_BYTES];
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = large_byte(i);
    builder_buffer_create(b, OLDER, "twin", 8);
    builder_host_write(b, OLDER, 0, "the old", 8);
    builder_buffer_create(b, YOUNGER, "twin", 8);
    builder_host_write(b, YOUNGER, 0, "younger", 8);
    builder_buffer_create(b, FLOATS, "floats", sizeof floats);
    builder_host_write(b, FLOATS, 0, floats, sizeof floats);
    builder_buffer_create(b, HALVES, "halves", sizeof halves);
    builder_host_write(b, HALVES, 0, halves, sizeof halves);
    builder_buffer_create(b, LARGE, "large", LARGE_BYTES);
    builder_host_write(b, LARGE, 0, large, sizeof large);
}

/* Three submissions of two dispatches each, with a read behind each, the first of which is wrong;
 * scopes 'outer' around all and 'inner' around the second and the third. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || !test_folder_make(&f->folder))
        return -1;
    test_folder_file(&f->folder, "dump", f->dump);
    struct trace_builder *b = &f->b;
    builder_open(b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    const struct trace_entry_point point = {.name = builder_string(b, "count"),
                                            .group_size = {COUNT, 1, 1}};
    const int32_t zeros[COUNT] = {0};
    builder_scope_begin(b, "outer");
    builder_buffer_create(b, OUT, "out", sizeof zeros);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_executable_create(b, KERNEL, NULL, source, &point, 1);
    builder_host_write(b, OUT, 0, zeros, sizeof zeros);
    add_buffers(b);
    for (uint64_t n = 0; n < 3; n++) {
        const struct trace_semaphore_value signal = {DONE, n + 1};
        const uint64_t commands = COMMANDS + n;
        if (n)
            builder_scope_begin(b, "inner");
        builder_command_buffer_create(b, commands, NULL, HAL_ONE_SHOT);
        builder_push_descriptor_set(b, 0, &(struct trace_binding){OUT, 0, sizeof zeros}, 1);
        builder_dispatch(b, KERNEL, 0, 1, 1, 1);
        builder_barrier(b, NULL, 0);
        builder_dispatch(b, KERNEL, 0, 1, 1, 1);
        builder_end_commands(b, commands);
        builder_submit(b, n, 0, NO_VALUES, VALUES(signal), IDS(commands));
        builder_submission_done(b, n, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
        builder_semaphore_wait(b, HAL_WAIT_ALL, &signal, 1, INT64_MAX);
        if (n)
            builder_scope_end(b);
        add_read(b, 2 * (int)n + 2, n == 0);
        if (n == 1)
            builder_destroy(b, TRACE_BUFFER_DESTROY, YOUNGER);
    }
    b->begin_ns += 60 * 1000 * 1000; /* the program does something else for 60 ms */
    builder_scope_end(b);
    builder_destroy(b, TRACE_BUFFER_DESTROY, OUT);
    if (builder_close(b, NULL) != HAL_OK ||
        replay_plan_load(f->path, &(struct replay_load_options){0}, &f->plan) != HAL_OK)
        return -1;
    return hal_device_open("cpu?threads=2", &f->device) == HAL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->plan);
    hal_device_release(f->device);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

static void need_compiler(void)
{
    char programs[4096];
    if (hal_kernel_programs(programs, sizeof programs) == HAL_NOT_FOUND) {
        print_message("skipped: %s\n", hal_message());
        skip();
    }
}

static struct hal_locator at(uint64_t submission)
{
    return (struct hal_locator){submission, false, 0};
}

static struct hal_locator at_dispatch(uint64_t submission, uint32_t dispatch)
{
    return (struct hal_locator){submission, true, dispatch};
}

static struct replay_inspect_result look(struct fixture *f, struct replay_inspect what)
{
    static const struct replay_type_rule types[] = {
        {"floats", REPLAY_F32}, {"halves", REPLAY_F16}, {"large", REPLAY_F32}, {NULL, REPLAY_I32}};
    const struct replay_options options = {.types = types,
                                           .type_count = sizeof types / sizeof *types};
    struct replay_inspect_result result;
    what.plan = f->plan;
    what.device = f->device;
    what.options = &options;
    if (replay_inspect_run(&what, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    return result;
}

static size_t read_dump(const struct fixture *f, char *out, size_t bytes)
{
    FILE *file = fopen(f->dump, "rb");
    assert_non_null(file);
    const size_t got = fread(out, 1, bytes - 1, file);
    out[got] = '\0';
    fclose(file);
    return got;
}

/* ---- Looking ---- */

TEST_ON(a_range_compares_nothing_else, struct fixture *f)
{
    need_compiler();
    struct replay_inspect_result result = look(f, (struct replay_inspect){0});
    assert_int_equal(result.report.compared_reads, 3);
    assert_int_equal(result.report.different_reads, 1);
    assert_int_equal(result.steps, 3);
    result = look(f, (struct replay_inspect){.has_begin = true, .begin = at(1)});
    assert_int_equal(result.report.compared_reads, 2);
    assert_int_equal(result.report.different_reads, 0);
    result = look(f, (struct replay_inspect){.has_stop = true, .stop = at(1)});
    assert_int_equal(result.steps, 2);
    assert_int_equal(result.report.compared_reads, 1);
    result = look(f, (struct replay_inspect){.has_stop = true, .stop = at_dispatch(1, 0)});
    assert_int_equal(result.steps, 2);
    /* What is read behind it is the last part of a range, but not behind a part of it. */
    struct replay_inspect one = {
        .is_range = true, .has_begin = true, .has_stop = true, .begin = at(1), .stop = at(1)};
    result = look(f, one);
    assert_int_equal(result.steps, 2);
    assert_int_equal(result.report.compared_reads, 1);
    one.stop = at_dispatch(1, 1);
    assert_int_equal(look(f, one).report.compared_reads, 0);
}

/* #s1 waits for what the host sets behind #s2, when it has read what that wrote, or for #s2 itself:
 * so #s2 runs first. Each fills a quarter, which is read at the end. */
static void build_late(struct fixture *f, const char *path, bool by_the_last)
{
    struct trace_builder *b = &f->b;
    const struct trace_semaphore_value go = {DONE + 1, 1};
    builder_open(b, path, NULL);
    builder_buffer_create(b, OUT, "out", 16);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_semaphore_create(b, DONE + 1, "go", 0);
    for (uint64_t n = 0; n < 4; n++) {
        const uint64_t commands = COMMANDS + n;
        const struct trace_semaphore_value signals[] = {{n == 3 ? DONE : DONE + 2 + n, 1}, go};
        if (n < 3)
            builder_semaphore_create(b, DONE + 2 + n, NULL, 0);
        builder_command_buffer_create(b, commands, NULL, HAL_ONE_SHOT);
        builder_fill(b, OUT, 4 * n, 4, (uint32_t)n + 1, 4);
        builder_end_commands(b, commands);
        builder_submit(b, n, 0, builder_values(&go, n == 1),
                       builder_values(signals, n == 2 && by_the_last ? 2 : 1), IDS(commands));
        if (n == 2 && !by_the_last) {
            builder_semaphore_wait(b, HAL_WAIT_ALL, signals, 1, INT64_MAX);
            builder_host_read(b, OUT, 8, &(uint32_t){3}, 4);
            builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, DONE + 1, 1, NULL);
        }
    }
    for (uint64_t n = 0; n < 4; n++) {
        const struct trace_semaphore_value done = {n == 3 ? DONE : DONE + 2 + n, 1};
        const uint32_t value = (uint32_t)n + 1;
        builder_submission_done(b, n, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
        builder_semaphore_wait(b, HAL_WAIT_ALL, &done, 1, INT64_MAX);
        builder_host_read(b, OUT, 4 * n, &value, 4);
    }
    if (builder_close(b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

TEST_ON(a_range_has_what_runs_late, struct fixture *f)
{
    char path[PATH_MAX];
    struct replay_plan *const before = f->plan;
    test_folder_file(&f->folder, "late.pb.zst", path);
    for (int by_the_last = 0; by_the_last < 2; by_the_last++) {
        build_late(f, path, by_the_last);
        assert_int_equal(replay_plan_load(path, &(struct replay_load_options){0}, &f->plan),
                         HAL_OK);
        struct replay_inspect range = {
            .is_range = true, .has_begin = true, .has_stop = true, .begin = at(1), .stop = at(2)};
        struct replay_inspect_result result = look(f, range);
        assert_int_equal(result.steps, 3);
        assert_int_equal(result.report.different_reads, 0);
        assert_int_equal(result.report.compared_reads, by_the_last ? 0 : 1);
        range.stop = at(1); /* what #s2 wrote is not of this range */
        assert_int_equal(look(f, range).report.compared_reads, 0);
        range.stop = at(2);
        range.has_begin = false;
        assert_int_equal(look(f, range).steps, 3);
        range.stop = at(1);
        assert_int_equal(look(f, range).steps, 3);
        range = (struct replay_inspect){.has_stop = true, .stop = at(2)};
        assert_int_equal(look(f, range).steps, 2);
        range = (struct replay_inspect){.plan = f->plan,
                                        .device = f->device,
                                        .options = &(struct replay_options){0},
                                        .is_range = true,
                                        .has_stop = true,
                                        .stop = at_dispatch(2, 0)};
        assert_int_equal(replay_inspect_run(&range, &result), HAL_NOT_FOUND);
        assert_non_null(strstr(hal_message(), by_the_last ? "runs only after #s2.d0" : "d0"));
        replay_plan_destroy(f->plan);
    }
    f->plan = before;
}

/* #s0 reads a file, or fails to, into the first quarter, #s1 receives the second one and sends the
 * last, #s2 waits for both and copies one half to the other, #s3 is independent. The host calls
 * come behind all of them, those of #s0 inside that of #s1. */
static void build_calls(struct fixture *f, const char *path, bool fails)
{
    struct trace_builder *b = &f->b;
    const struct trace_semaphore_value done[] = {
        {DONE, 1}, {DONE + 1, 1}, {DONE + 2, 1}, {DONE + 3, 1}};
    const uint64_t commands[] = {COMMANDS, COMMANDS + 1};
    builder_open(b, path, NULL);
    builder_thread(b, 2, 4712, "calls");
    builder_buffer_create(b, OUT, "out", 16);
    builder_host_write(b, OUT, 0, (uint32_t[4]){0}, 16);
    for (uint64_t n = 0; n < 4; n++)
        builder_semaphore_create(b, DONE + n, NULL, 0);
    builder_command_buffer_create(b, commands[0], NULL, HAL_ONE_SHOT);
    builder_copy(b, OUT, 0, OUT, 8, 8);
    builder_end_commands(b, commands[0]);
    builder_command_buffer_create(b, commands[1], NULL, HAL_ONE_SHOT);
    builder_end_commands(b, commands[1]);
    b->operation =
        (struct trace_submit){.operation = TRACE_OPERATION_READ, .buffer = OUT, .size = 4};
    builder_submit(b, 0, 0, NO_VALUES, builder_values(&done[0], 1), NO_IDS);
    b->operation = (struct trace_submit){
        .operation = TRACE_OPERATION_COLLECTIVE, .buffer = OUT, .offset = 4, .size = 4};
    builder_submit(b, 1, 0, NO_VALUES, builder_values(&done[1], 1), NO_IDS);
    builder_submit(b, 2, 0, builder_values(done, 2), builder_values(&done[2], 1), IDS(commands[0]));
    builder_submit(b, 3, 0, NO_VALUES, builder_values(&done[3], 1), IDS(commands[1]));
    b->thread = 2;
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 1);
    builder_host_read(b, OUT, 12, &(uint32_t){0}, 4);
    builder_host_call(b, TRACE_HOST_CALL_BEGIN, 0);
    if (!fails)
        builder_host_write(b, OUT, 0, &(uint32_t){1}, 4);
    b->status = fails ? HAL_IO : HAL_OK;
    builder_host_call(b, TRACE_HOST_CALL_END, 0);
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_submission_done(b, 2, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    b->status = HAL_OK;
    builder_collective(b, 1);
    builder_host_write(b, OUT, 4, &(uint32_t){2}, 4);
    builder_host_call(b, TRACE_HOST_CALL_END, 1);
    builder_submission_done(b, 1, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_submission_done(b, 3, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    b->thread = 1;
    builder_semaphore_wait(b, HAL_WAIT_ALL, &done[fails ? 1 : 2], 1, INT64_MAX);
    builder_host_read(b, OUT, 0, (uint32_t[4]){!fails, 2, !fails, fails ? 0 : 2}, 16);
    if (builder_close(b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

TEST_ON(host_calls_follow_their_submissions, struct fixture *f)
{
    static const uint32_t wanted[2][4][4] = {
        {{1, 0, 0, 0}, {1, 2, 0, 0}, {1, 2, 1, 2}, {1, 2, 1, 2}},
        {{0, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, 0}},
    };
    char path[PATH_MAX];
    uint32_t values[5];
    struct replay_plan *const before = f->plan;
    test_folder_file(&f->folder, "calls.pb.zst", path);
    for (unsigned fails = 0; fails < 2; fails++) {
        build_calls(f, path, fails);
        assert_int_equal(replay_plan_load(path, &(struct replay_load_options){0}, &f->plan),
                         HAL_OK);
        for (unsigned n = 0; n < 4; n++) {
            const struct replay_dump dump = {.buffer = "out", .where = at(n), .path = f->dump};
            struct replay_inspect one = {.dumps = &dump, .dump_count = 1};
            if (fails && n % 2 == 0)
                continue; /* does not run */
            struct replay_inspect_result result = look(f, one);
            assert_int_equal(read_dump(f, (char *)values, sizeof values), 16);
            assert_memory_equal(values, wanted[fails][n], 16);
            assert_int_equal(result.report.compared_reads, 2);
            assert_int_equal(result.report.different_reads, 0);
            one = (struct replay_inspect){.has_stop = true, .stop = at(n)};
            result = look(f, one);
            assert_int_equal(result.steps, fails ? 1 + (n == 3) : n + 1);
            one.is_range = one.has_begin = true;
            one.begin = at(n);
            result = look(f, one); /* what #s1 sends, and what the host reads behind #s3 */
            assert_int_equal(result.report.compared_reads, n % 2);
            assert_int_equal(result.report.different_reads, 0);
        }
        replay_plan_destroy(f->plan);
    }
    f->plan = before;
}

TEST_ON(buffers_are_written_out_at_a_place, struct fixture *f)
{
    char text[4096];
    int32_t values[COUNT];
    need_compiler();
    for (int dispatches = 1; dispatches <= 6; dispatches++) {
        const uint32_t n = (uint32_t)dispatches - 1;
        const struct replay_dump dump = {
            .buffer = "o*", .where = at_dispatch(n / 2, n % 2), .path = f->dump};
        const struct replay_inspect_result result =
            look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
        expected(dispatches, values);
        assert_int_equal(result.dump_bytes[0], sizeof values);
        assert_int_equal(result.dump_types[0], REPLAY_I32);
        assert_int_equal(read_dump(f, text, sizeof text), sizeof values);
        assert_memory_equal(text, values, sizeof values);
    }
    struct replay_dump dump = {
        .buffer = "#10", .where = at(2), .format = REPLAY_DUMP_NPY, .path = f->dump};
    look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
    assert_int_equal(read_dump(f, text, sizeof text), 128 + sizeof values);
    assert_memory_equal(text, "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4'", 25);
    assert_non_null(strstr(text + 10, "'shape': (16,)"));
    assert_int_equal(text[127], '\n');
    assert_memory_equal(text + 128, values, sizeof values);
    dump.format = REPLAY_DUMP_TEXT;
    look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
    read_dump(f, text, sizeof text);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "0 %d\n1 %d\n", values[0], values[1]);
    assert_memory_equal(text, wanted, strlen(wanted));
}

/* What the buffer's dump behind #s2 holds. */
static size_t dump_of(struct fixture *f, const char *buffer, enum replay_dump_format format,
                      char *out, size_t bytes)
{
    const struct replay_dump dump = {
        .buffer = buffer, .where = at(2), .format = format, .path = f->dump};
    look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
    return read_dump(f, out, bytes);
}

TEST_ON(numpy_has_types_for_floats, struct fixture *f)
{
    char bytes[512];
    need_compiler();
    assert_int_equal(dump_of(f, "floats", REPLAY_DUMP_NPY, bytes, sizeof bytes), 128 + 12);
    assert_memory_equal(bytes + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                        57);
    const float floats[3] = {1.5f, -2, 0x1p-20f};
    assert_memory_equal(bytes + 128, floats, sizeof floats);
    assert_int_equal(dump_of(f, "halves", REPLAY_DUMP_NPY, bytes, sizeof bytes), 128 + 6);
    assert_memory_equal(bytes + 10, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }",
                        57);
    assert_memory_equal(bytes + 128, "\x00\x3e\x00\xc0\x01\x00", 6);
    dump_of(f, "halves", REPLAY_DUMP_TEXT, bytes, sizeof bytes);
    assert_string_equal(bytes, "0 1.5\n1 -2\n2 5.96046448e-08\n");
}

/* More than is written at once, and no whole number of elements: those of f32 end 2 bytes before
 * it. */
TEST_ON(large_buffers_are_written_out_whole, struct fixture *f)
{
    const size_t room = 16 * MIB;
    char *bytes = malloc(room);
    assert_non_null(bytes);
    need_compiler();
    assert_int_equal(dump_of(f, "large", REPLAY_DUMP_RAW, bytes, room), LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        assert_int_equal((uint8_t)bytes[i], large_byte(i));
    assert_int_equal(dump_of(f, "large", REPLAY_DUMP_NPY, bytes, room), 128 + LARGE_BYTES - 2);
    assert_non_null(strstr(bytes + 10, "'shape': (524289,)"));
    for (size_t i = 0; i < LARGE_BYTES - 2; i++)
        assert_int_equal((uint8_t)bytes[128 + i], large_byte(i));
    dump_of(f, "large", REPLAY_DUMP_TEXT, bytes, room);
    const char *line = bytes;
    for (unsigned i = 0; i < 524289; i++, line = strchr(line, '\n') + 1)
        assert_int_equal(strtoul(line, NULL, 10), i);
    assert_string_equal(line, "");
    free(bytes);
}

/* Which one is meant, nobody knows: they are listed; a number says it. */
TEST_ON(of_several_buffers_none_is_taken, struct fixture *f)
{
    struct replay_inspect_result result;
    const struct replay_options options = {0};
    char bytes[64];
    need_compiler();
    struct replay_dump dump = {.buffer = "twin", .where = at(1), .path = f->dump};
    const struct replay_inspect what = {
        .plan = f->plan, .device = f->device, .options = &options, .dumps = &dump, .dump_count = 1};
    unlink(f->dump);
    assert_int_equal(replay_inspect_run(&what, &result), HAL_NOT_FOUND);
    assert_string_equal(hal_message(),
                        "--dump: 'twin' at #s1 is one of 2: name it by its number: #11 'twin' (8 "
                        "bytes, not bound), #12 'twin' (8 bytes, not bound)");
    assert_int_equal(access(f->dump, F_OK), -1);
    dump.buffer = "*"; /* a pattern, too, and what the dispatch is bound to is among them */
    dump.where = at_dispatch(1, 0);
    assert_int_equal(replay_inspect_run(&what, &result), HAL_NOT_FOUND);
    assert_non_null(strstr(hal_message(), "'*' at #s1.d0 is one of 6"));
    assert_non_null(strstr(hal_message(), "#10 'out' (64 bytes, bound there)"));
    dump.buffer = "#12";
    dump.where = at(1);
    look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
    assert_int_equal(read_dump(f, bytes, sizeof bytes), 8);
    assert_string_equal(bytes, "younger");
    dump.buffer = "twin";
    dump.where = at(2); /* it is gone */
    look(f, (struct replay_inspect){.dumps = &dump, .dump_count = 1});
    assert_int_equal(read_dump(f, bytes, sizeof bytes), 8);
    assert_string_equal(bytes, "the old");
}

TEST_ON(what_is_not_there_is_named, struct fixture *f)
{
    struct replay_inspect_result result;
    const struct replay_options options = {0};
    need_compiler();
    struct replay_dump dump = {.buffer = "absent", .where = at(1), .path = f->dump};
    struct replay_inspect what = {
        .plan = f->plan, .device = f->device, .options = &options, .dumps = &dump, .dump_count = 1};
    assert_int_equal(replay_inspect_run(&what, &result), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "no buffer 'absent' is alive at #s1");
    dump.where = at_dispatch(1, 2);
    assert_int_equal(replay_inspect_run(&what, &result), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "the replay does not reach #s1.d2");
}

/* A dispatch that changes what it reads finds the same each time. */
TEST_ON(a_loop_leaves_no_trace, struct fixture *f)
{
    int32_t values[COUNT];
    char bytes[256];
    need_compiler();
    const struct replay_dump dump = {.buffer = "out", .where = at(2), .path = f->dump};
    const struct replay_inspect_result result =
        look(f, (struct replay_inspect){.has_loop = true,
                                        .loop = at_dispatch(1, 0),
                                        .has_stop = true,
                                        .stop = at(2),
                                        .loop_runs = 20,
                                        .dumps = &dump,
                                        .dump_count = 1});
    expected(6, values);
    assert_int_equal(read_dump(f, bytes, sizeof bytes), sizeof values);
    assert_memory_equal(bytes, values, sizeof values);
    assert_int_equal(result.loop_runs, 20);
    assert_string_equal(result.loop_name, "dispatch of 'count', segment 1");
    assert_true(result.loop.min_ns > 0 && result.loop.min_ns <= result.loop.median_ns);
    assert_true(result.loop.median_ns <= result.loop.p99_ns);
}

/* ---- Measuring ---- */

TEST_ON(scopes_hold_what_happened_in_them, struct fixture *f)
{
    assert_int_equal(f->plan->scope_count, 3);
    const struct replay_scope *outer = &f->plan->scopes[0], *inner = &f->plan->scopes[1];
    assert_true(outer->has_ops && inner->has_ops);
    assert_int_equal(outer->first_op, 0);
    assert_int_equal(f->plan->ops[outer->last_op].action, REPLAY_READ);
    assert_int_equal(f->plan->ops[inner->first_op].action, REPLAY_RECORD_COMMANDS);
    assert_int_equal(f->plan->ops[inner->last_op].action, REPLAY_WAIT);
    assert_true(f->plan->scopes[2].first_op > inner->last_op);
}

static struct replay_player *create(struct fixture *f, const struct replay_options *options)
{
    struct replay_player *player;
    if (replay_player_create(f->plan, f->device, options, &player) != HAL_OK)
        fail_msg("%s", hal_message());
    return player;
}

TEST_ON(benchmarks_tell_scopes_apart, struct fixture *f)
{
    static struct replay_benchmark_result result;
    need_compiler();
    struct replay_player *player = create(f, &(struct replay_options){0});
    const struct replay_benchmark benchmark = {.player = player,
                                               .warm_up = 1,
                                               .least_runs = 8,
                                               .most_runs = 8,
                                               .most_ns = INT64_MAX,
                                               .tightness = 0};
    assert_int_equal(replay_benchmark_run(&benchmark, &f->plan->info, &result), HAL_OK);
    assert_int_equal(result.runs, 8);
    assert_int_equal(result.warm_up, 1);
    assert_int_equal(result.different_runs, 9); /* the wrong read */
    assert_int_equal(result.scope_count, 2);
    assert_string_equal(result.scopes[0].name, "outer");
    assert_int_equal(result.scopes[0].count, 1);
    assert_string_equal(result.scopes[1].name, "inner");
    assert_int_equal(result.scopes[1].count, 2);
    assert_true(result.scopes[1].times.median_ns > 0);
    assert_true(result.scopes[1].times.min_ns <= result.scopes[0].times.max_ns);
    assert_true(result.scopes[0].times.max_ns <= result.times.max_ns);
    replay_player_destroy(player);
}

/* Whatever they took: an interval that is always tight enough, one that never is, and no time. */
TEST_ON(benchmarks_end_when_they_know_enough, struct fixture *f)
{
    static const struct {
        double tightness;
        int64_t most_ns;
        uint64_t runs;
        bool tight;
    } known[] = {{1e9, INT64_MAX, 3, true}, {-1, INT64_MAX, 9, false}, {-1, 0, 3, false}};
    static struct replay_benchmark_result result;
    need_compiler();
    struct replay_player *player = create(f, &(struct replay_options){0});
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct replay_benchmark benchmark = {.player = player,
                                                   .least_runs = 3,
                                                   .most_runs = 9,
                                                   .most_ns = known[i].most_ns,
                                                   .tightness = known[i].tightness};
        assert_int_equal(replay_benchmark_run(&benchmark, &f->plan->info, &result), HAL_OK);
        assert_int_equal(result.runs, known[i].runs);
        assert_int_equal(result.tight, known[i].tight);
        assert_true(result.interval.low <= result.interval.median);
        assert_true(result.interval.median <= result.interval.high);
        assert_true(result.interval.median == (double)result.times.median_ns);
    }
    replay_player_destroy(player);
}

TEST_ON(every_command_is_isolated, struct fixture *f)
{
    static struct replay_isolate_result result;
    const struct replay_options options = {0};
    need_compiler();
    const struct replay_isolate isolate = {
        .plan = f->plan, .device = f->device, .options = &options, .runs = 2};
    if (replay_isolate_run(&isolate, &result) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(result.runs, 2);
    assert_int_equal(result.commands, 6);
    assert_int_equal(result.submissions, 3); /* each of them whole */
    assert_int_equal(result.kernel_count, 1);
    assert_string_equal(result.kernels[0].name, "count");
    assert_int_equal(result.kernels[0].count, 6);
    assert_true(result.kernels[0].isolated_ns == result.isolated_ns);
    assert_true(result.in_context_ns > 0);
    assert_int_equal(result.report.compared_reads, 3);
}

TEST_ON(a_pace_keeps_distances, struct fixture *f)
{
    struct replay_report report;
    static const int64_t ms = 1000 * 1000;
    need_compiler();
    struct replay_player *player = create(f, &(struct replay_options){.pace = 1});
    assert_int_equal(replay_player_run(player, &report), HAL_OK);
    assert_true(report.total_ns >= 60 * ms);
    replay_player_destroy(player);
    player = create(f, &(struct replay_options){.pace = 2});
    assert_int_equal(replay_player_run(player, &report), HAL_OK);
    assert_true(report.total_ns >= 30 * ms);
    replay_player_destroy(player);
}

TEST_SUITE_FIXTURE(set_up, tear_down);
