/* SPDX-License-Identifier: Apache-2.0 */
/* The program hal-replay: exit status, verdicts, JSON, and what it ignores. */
#include "hal/hal.h"
#include "tests/support/test.h"
#include "tests/unit/replay/hal_replay_fixture.h"

#include <sys/stat.h>

/* ---- Verdicts ------------------------------------------------------------------------------- */

TEST_ON(a_good_trace_is_the_same, struct fixture *fixture)
{
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 0);
    fixture_expect(fixture, fixture->out, "same: 2 read-backs compared (104 bytes), 0 different");
    fixture_expect(fixture, fixture->out, "'/usr/bin/builder' recorded on cpu?threads=2&queues=2");
    fixture_expect(fixture, fixture->out, "2 submissions of 2 command buffers with 12 commands");
    assert_string_equal(fixture->err, "");
    assert_exit(replay(fixture, "--quiet"), 0);
    assert_string_equal(fixture->out, "");
    assert_exit(replay(fixture, "--repeat=3"), 0);
    fixture_expect(fixture, fixture->out, "time of 3 runs: min ");
}

TEST_ON(a_wrong_byte_is_a_difference, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {2, 1};
    builder_buffer_create(b, 1, "result", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_fill(b, 1, 0, 64, 0x3f800000, 4);
    builder_end_commands(b, 3);
    builder_submit(b, 12, 0, NO_VALUES, VALUES(one), IDS(3));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 8, "\0\0\x80\x3f\0\0\x80\x40", 8);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 1);
    fixture_expect(fixture, fixture->out, "DIFFERENT: 1 read-back compared (8 bytes), 1 different");
    fixture_expect(fixture, fixture->out,
                   "first difference: #s12: buffer 'result', offset 15: 1 of the 8");
    fixture_expect(fixture, fixture->out, "as f32: expected 4, got 1");
    fixture_expect(fixture, fixture->out, "last written by #s12, fill, segment 0");
    assert_exit(replay(fixture, "--quiet"), 1);
    fixture_expect(fixture, fixture->out, "'result'");
    assert_exit(replay(fixture, "--json"), 1);
    fixture_expect(fixture, fixture->out, "\"result\":\"different\"");
    fixture_expect(fixture, fixture->out, "\"offset\":15");
}

/* Fills 16 floats of 1, of which the program is to have read `read`. */
static void trace_of_ones(struct fixture *fixture, const float read[16])
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {2, 1};
    builder_buffer_create(b, 1, "result", 64);
    builder_buffer_create(b, 4, "other", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_fill(b, 1, 0, 64, 0x3f800000, 4);
    builder_end_commands(b, 3);
    builder_submit(b, 12, 0, NO_VALUES, VALUES(one), IDS(3));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 0, read, 64);
    fixture_finish(fixture);
}

TEST_ON(a_tolerance_lets_small_errors_pass, struct fixture *fixture)
{
    float read[16];
    for (int i = 0; i < 16; i++)
        read[i] = 1;
    read[3] = 0x1.000004p0f; /* two above 1 */
    read[9] = 1.25f;
    trace_of_ones(fixture, read);
    assert_exit(replay(fixture, "--device=cpu"), 1);
    assert_exit(replay(fixture, "--tolerance=abs:0.25", "--type=res*:f32"), 0);
    fixture_expect(fixture, fixture->out,
                   "errors: 0 elements wrong, 2 others different but within the tolerance; largest "
                   "0.25, relative 0.2, 2097152 ulp; expected 1.25, got 1 (f32) in "
                   "buffer 'result', offset 36");
    assert_exit(replay(fixture, "--tolerance=ulp:2,abs:0.2", "--type=#1:f32"), 1);
    fixture_expect(fixture, fixture->out, "buffer 'result', offset 36");
    fixture_expect(fixture, fixture->out,
                   "as f32: expected 1.25, got 1; 1 of 16 elements are wrong");
    assert_exit(replay(fixture, "--tolerance=rel:0.19", "--type=other:f64", "--type=f32"), 1);
    assert_exit(replay(fixture, "--tolerance=rel:0.2", "--type=f32", "--json"), 0);
    fixture_expect(fixture, fixture->out,
                   "\"errors\":{\"type\":\"f32\",\"guessed\":false,\"wrong\":0,"
                   "\"within_tolerance\":2,");
    /* As bytes of integers the errors are others. */
    assert_exit(replay(fixture, "--tolerance=abs:0.25", "--type=u8"), 1);
}

TEST_ON(a_nan_is_no_number, struct fixture *fixture)
{
    const uint32_t nan_bits = 0x7fc00000;
    float read[16];
    for (int i = 0; i < 16; i++)
        read[i] = 1;
    memcpy(&read[15], &nan_bits, sizeof nan_bits);
    trace_of_ones(fixture, read);
    assert_exit(replay(fixture, "--tolerance=abs:1e9", "--type=f32"), 1);
    fixture_expect(fixture, fixture->out,
                   "NaN: 1 expected, 0 actual; where (e: only expected, a: only actual, b: "
                   "both): [............................................................"
                   "e...]");
}

TEST_ON(without_reads_nothing_is_proved, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, NULL, 64);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    fixture_expect(fixture, fixture->out, "nothing could be compared: 0 read-backs compared");
    b = fixture_start(fixture);
    builder_buffer_create(b, 1, NULL, 2);
    builder_host_write(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, NULL, 2);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    fixture_expect(fixture, fixture->out,
                   "same as far as it could be compared: 1 read-back compared");
    fixture_expect(fixture, fixture->out, "1 not recorded");
}

/* A killed program's trace: its last work waits for a semaphore that nobody has signalled. A search
 * that runs the work twice ends, too. */
TEST_ON(unfinished_work_ends_every_kind_of_replay, struct fixture *fixture)
{
    static char *const ways[] = {
        "--verify=reads",  "--verify=uninitialised",    "--bisect",      "--verify=submissions",
        "--isolate",       "--benchmark=100ms",         "--stop-at=#s0", "--dump=target@#s0=bytes",
        "--record=record", "--what-if=merge-dispatches"};
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {2, 1}, never = {5, 1};
    builder_buffer_create(b, 1, "target", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_semaphore_create(b, 5, "never", 0);
    for (uint64_t id = 3; id <= 4; id++) {
        builder_command_buffer_create(b, id, NULL, 0);
        builder_fill(b, 1, 0, 64, 7, 1);
        builder_end_commands(b, id);
    }
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), IDS(3));
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_semaphore_wait(b, HAL_WAIT_ALL, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 0, "\7\7", 2);
    builder_submit(b, 1, 0, VALUES(never), NO_VALUES, IDS(4));
    fixture_finish(fixture);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        assert_exit(replay(fixture, "--device=cpu", "--timeout=5s", ways[i]), 0);
        assert_exit(replay(fixture, "--device=cpu", "--timeout=5s", "--trusted", ways[i]), 0);
    }
    assert_exit(replay(fixture, "--bisect", "--against=cpu", "--timeout=5s"), 0);
    assert_exit(replay(fixture, "--compare", fixture->path, "--runs=6", "--timeout=5s"), 0);
}

TEST_ON(a_truncated_trace_says_so, struct fixture *fixture)
{
    struct stat status;
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, NULL, 2);
    builder_host_write(b, 1, 0, "ab", 2);
    builder_host_read(b, 1, 0, "ab", 2);
    builder_flush(b);
    assert_int_equal(stat(fixture->path, &status), 0);
    builder_host_read(b, 1, 1, "b", 1);
    fixture_finish(fixture);
    assert_int_equal(truncate(fixture->path, status.st_size + 1), 0);
    assert_exit(replay(fixture, "--device=cpu"), 5);
    fixture_expect(fixture, fixture->out, "incomplete: ");
    fixture_expect(fixture, fixture->out, "1 read-back compared (2 bytes)");
    assert_exit(replay(fixture, "--json"), 5);
    fixture_expect(fixture, fixture->out, "\"complete\":false");
}

/* How each kernel's threads run, and why: alone, as loops or on fibers. */
TEST_ON(lowerings_are_reported, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    fixture_add_kernel(b, 3, "lonely",
                       "kernel void lonely(device uint *w [[buffer(0)]]) { w[1] = 1; }");
    fixture_add_kernel(
        b, 4, "meeting",
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void meeting(device uint *w, uint i [[thread_index_in_threadgroup]])\n"
        "{ threadgroup uint t[1]; t[i] = w[i]; "
        "threadgroup_barrier(mem_flags::mem_threadgroup); w[0] = t[0]; }");
    fixture_finish(fixture);
    replay(fixture, "--device=cpu");
    assert_null(strstr(fixture->err, "kernel 'lonely'"));
    replay(fixture, "--device=cpu", "--verbose");
    fixture_expect(fixture, fixture->err, "the threads of kernel 'lonely' run alone");
    fixture_expect(fixture, fixture->err,
                   HAS_FISSION ? "the threads of kernel 'meeting' run as loops"
                               : "run as fibers: there is no hal-msl-cc");
    setenv("HAL_MSL_LOWERING", "fibers", 1);
    replay(fixture, "--device=cpu", "--verbose");
    unsetenv("HAL_MSL_LOWERING");
    fixture_expect(fixture, fixture->err,
                   "the threads of kernel 'meeting' run as fibers: HAL_MSL_LOWERING asks for them");
}

TEST_ON(a_self_test_passes, struct fixture *fixture)
{
    char *const arguments[] = {"hal-replay", "--selftest", NULL};
    assert_exit(fixture_run(fixture, fixture->program, arguments), 0);
    fixture_expect(fixture, fixture->out,
                   "ok       an unchanged capture replays identically: 1 read-back");
    fixture_expect(fixture, fixture->out, "ok       changed: one byte of an input: ");
    fixture_expect(fixture, fixture->out, "ok       changed: one command: ");
    fixture_expect(fixture, fixture->out, "ok       changed: one barrier: ");
    fixture_expect(fixture, fixture->out, "ok       changed: one byte of the file: 16 of 16");
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--selftest"), 2);
}

/* As a capture of the replay tells: never more memory than the program had, but for a few bytes. */
TEST_ON(buffers_go_where_they_went, struct fixture *fixture)
{
    enum { BYTES = 1 << 20, BUFFERS = 8 };
    struct trace_builder *b = fixture_start(fixture);
    for (uint64_t i = 1; i <= BUFFERS; i++) {
        builder_buffer_create(b, i, NULL, BYTES);
        builder_host_write(b, i, 0, "ab", 2);
        builder_host_read(b, i, 0, "ab", 2);
        builder_destroy(b, TRACE_BUFFER_DESTROY, i);
    }
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--json", "--record=again.pb.zst"), 0);
    fixture_expect(fixture, fixture->out, "\"peak_buffer_bytes\":1048576,");
    assert_exit(
        fixture_run(fixture, fixture->program,
                    (char *[]){"hal-replay", "--json", "--base=t.pb.zst", "again.pb.zst", NULL}),
        0);
    const char *const peak = strstr(fixture->out, "\"peak_buffer_bytes\":");
    assert_non_null(peak);
    assert_in_range(strtoull(strchr(peak, ':') + 1, NULL, 10), BYTES, BYTES + 64);
}

/* One that writes buffer 'result', and one that reads it into buffer 'copy': the last to have it
 * bound. */
static void trace_of_writer_and_reader(struct fixture *fixture, const char *write, const char *read)
{
    static const struct trace_entry_binding writes[] = {{0, 0, 0, HAL_ACCESS_WRITE}};
    static const struct trace_entry_binding reads[] = {{0, 0, 0, HAL_ACCESS_READ},
                                                       {0, 0, 1, HAL_ACCESS_WRITE}};
    const struct trace_semaphore_value done = {3, 1};
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_entry_point points[] = {
        {.name = builder_string(b, "write"), .group_size = {1, 1, 1}},
        {.name = builder_string(b, "read"), .group_size = {1, 1, 1}}};
    builder_buffer_create(b, 1, "result", 4);
    builder_buffer_create(b, 2, "copy", 4);
    builder_semaphore_create(b, 3, NULL, 0);
    b->executable = (struct builder_executable){.bindings = writes, .binding_count = 1};
    builder_executable_create(b, 4, NULL, write, &points[0], 1);
    b->executable = (struct builder_executable){.bindings = reads, .binding_count = 2};
    builder_executable_create(b, 5, NULL, read, &points[1], 1);
    builder_command_buffer_create(b, 6, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 4}, {2, 0, 4}}, 2);
    builder_dispatch(b, 4, 0, 1, 1, 1);
    builder_barrier(b, NULL, 0);
    builder_dispatch(b, 5, 0, 1, 1, 1);
    builder_end_commands(b, 6);
    builder_submit(b, 7, 0, NO_VALUES, VALUES(done), IDS(6));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, "\1\0\0\0", 4);
    fixture_finish(fixture);
}

TEST_ON(the_last_writer_is_no_kernel_that_only_reads, struct fixture *fixture)
{
    static const char write[] = "kernel void write(device uint *w [[buffer(0)]]) { w[0] = 1; }\n";
    static const char wrong[] = "kernel void write(device uint *w [[buffer(0)]]) { w[0] = 2; }\n";
    static const char read[] = "kernel void read(device const uint *r [[buffer(0)]],\n"
                               "                 device uint *w [[buffer(1)]]) { w[0] = r[0]; }\n";
    static const char both[] = "kernel void read(device uint *r [[buffer(0)]],\n"
                               "                 device uint *w [[buffer(1)]]) { r[0] = 3; }\n";
    trace_of_writer_and_reader(fixture, write, read);
    fixture_write(fixture, "wrong.metal", wrong);
    fixture_write(fixture, "both.metal", both);
    assert_exit(replay(fixture, "--device=cpu"), 0);
    assert_exit(replay(fixture, "--device=cpu", "--substitute=write=wrong.metal"), 1);
    fixture_expect(fixture, fixture->out,
                   "last written by #s7.d0, dispatch of 'write', segment 1\n");
    /* What the recorded kernel only read, its substitute may write. */
    assert_exit(replay(fixture, "--device=cpu", "--substitute=read=both.metal"), 1);
    fixture_expect(fixture, fixture->out,
                   "last written by #s7.d1, dispatch of 'read', segment 3\n");
    assert_exit(replay(fixture, "--device=cpu", "--substitute=read=both.metal", "--bisect"), 1);
    fixture_expect(fixture, fixture->out, "#s7.d1");
}

/* A kernel of one's own may replace the recorded one on both sides, and another one on the other.
 */
TEST_ON(what_is_compared_with_stands_in_place_of_a_substitute, struct fixture *fixture)
{
    static const char right[] = "kernel void one(device uint *w [[buffer(0)]]) { w[0] = 1; }\n";
    static const char wrong[] = "kernel void one(device uint *w [[buffer(0)]]) { w[0] = 2; }\n";
    const struct trace_semaphore_value done = {2, 1};
    fixture_write(fixture, "right.metal", right);
    fixture_write(fixture, "wrong.metal", wrong);
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, NULL, 4);
    builder_semaphore_create(b, 2, NULL, 0);
    fixture_add_kernel(b, 3, "one", right);
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{1, 0, 4}}, 1);
    builder_dispatch(b, 3, 0, 1, 1, 1);
    builder_end_commands(b, 4);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(done), IDS(4));
    builder_semaphore_wait(b, 0, &done, 1, INT64_MAX);
    builder_host_read(b, 1, 0, "\1\0\0\0", 4);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--substitute=one=wrong.metal",
                       "--compare=one=right.metal", "--runs=6", "--json"),
                1);
    fixture_expect(fixture, fixture->out, "\"different_runs\":6,\"different_runs_with\":0");
    assert_exit(replay(fixture, "--device=cpu", "--substitute=one=right.metal",
                       "--compare=one=wrong.metal", "--runs=6", "--json"),
                1);
    fixture_expect(fixture, fixture->out, "\"different_runs\":0,\"different_runs_with\":6");
    /* The linker refuses it: the compiler fails without a place in the source. */
    fixture_write(fixture, "refused.metal",
                  "__attribute__((section(\".preinit_array\"), used)) void *p = (void *)1;\n"
                  "kernel void one(device uint *w [[buffer(0)]]) { w[0] = 1; }\n");
    assert_exit(replay(fixture, "--device=cpu", "--substitute=one=refused.metal"), 4);
    assert_exit(replay(fixture, "--compare=one=absent.metal"), 2);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "--compare=one=absent.metal: No such file");
    fixture_write(fixture, "empty.metal", "");
    assert_exit(replay(fixture, "--compare=one=empty.metal"), 2);
    fixture_expect(fixture, fixture->err, "--compare=one=empty.metal: the file is not MSL");
}

/* A trace of 20 ms, and a time limit that the first run is over: the least number of runs. */
TEST_ON(a_benchmark_keeps_its_promises, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    builder_buffer_create(b, 1, NULL, 2);
    builder_host_write(b, 1, 0, "ab", 2);
    b->begin_ns += 20 * 1000 * 1000;
    builder_host_read(b, 1, 0, "ab", 2);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--benchmark=0.001", "--pace=recorded"), 0);
    fixture_expect(fixture, fixture->out, "time of 10 runs after 2 to warm up: ");
}

/* What refers to the contents of a trace cannot take its place. */
TEST_ON(what_is_read_is_not_replaced, struct fixture *fixture)
{
    char named[PATH_MAX];
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_int_equal(symlink("t.pb.zst", test_folder_file(&fixture->folder, "link.pb.zst", named)),
                     0);
    char *const outputs[] = {"--record=./t.pb.zst", "--record=link.pb.zst",
                             "--dump=x@#s0=t.pb.zst"};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        assert_exit(replay(fixture, "--device=cpu", outputs[i]), 2);
        fixture_expect_one_line(fixture);
        fixture_expect(fixture, fixture->err, ".pb.zst' would be replaced");
    }
    assert_exit(replay(fixture, "--device=cpu", "--record=again.pb.zst"), 0);
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--base=t.pb.zst", "--record=t.pb.zst",
                                       "again.pb.zst", NULL}),
                2);
    assert_exit(replay(fixture, "--device=cpu"), 0);
}

struct barriers {
    size_t count;
    struct trace_barrier heads[3];
    struct trace_buffer_barrier first; /* of the last one with buffers */
};

static enum hal_status note_barriers(void *user, const struct trace_event *event,
                                     const struct trace_segment *segments)
{
    struct barriers *found = user;
    if (event->kind != TRACE_COMMAND_BUFFER_SEAL)
        return HAL_OK;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    for (uint32_t i = 0; i < seal->segment_count; i++, segments = trace_next_segment(segments)) {
        const struct trace_barrier *barrier = (const void *)segments;
        if (segments->kind != TRACE_BARRIER)
            continue;
        assert_true(found->count < 3);
        memcpy(&found->heads[found->count++], barrier, sizeof *barrier);
        if (barrier->buffer_count)
            found->first = barrier->buffers[0];
    }
    return HAL_OK;
}

/* As a capture of the replay tells: barriers with buffers and without, after each other. */
TEST_ON(barriers_are_what_they_were, struct fixture *fixture)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {2, 1};
    const struct trace_buffer_barrier part = {1, 16, 32, HAL_ACCESS_WRITE, HAL_ACCESS_READ};
    struct barriers found = {0};
    struct trace_reader *reader;
    char path[PATH_MAX];
    builder_buffer_create(b, 1, "result", 64);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_barrier(b, NULL, 0);
    builder_fill(b, 1, 0, 64, 7, 4);
    builder_barrier(b, &part, 1);
    builder_barrier(b, NULL, 0);
    builder_end_commands(b, 3);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), IDS(3));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 1, 0, "\7\0\0\0", 4);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu", "--record=again.pb.zst"), 0);
    test_folder_file(&fixture->folder, "again.pb.zst", path);
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_each(reader, note_barriers, &found), HAL_OK);
    trace_reader_close(reader);
    assert_int_equal(found.count, 3);
    assert_int_equal(found.heads[0].buffer_count, 0);
    assert_int_equal(found.heads[1].buffer_count, 1);
    assert_int_equal(found.heads[2].buffer_count, 0);
    assert_int_equal(found.first.offset, 16);
    assert_int_equal(found.first.size, 32);
    assert_int_equal(found.first.source_access, HAL_ACCESS_WRITE);
    assert_int_equal(found.first.target_access, HAL_ACCESS_READ);
}

/* Whoever names files makes no lines of a report. */
TEST_ON(names_of_files_are_one_line, struct fixture *fixture)
{
    static const char name[] = "a\033[31m\nsame: 77 read-backs.pb.zst";
    char named[PATH_MAX];
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_int_equal(symlink("t.pb.zst", test_folder_file(&fixture->folder, name, named)), 0);
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--device=cpu", "--compare=t.pb.zst",
                                       "--runs=6", "--threshold=1000", named, NULL}),
                0);
    fixture_expect(fixture, fixture->out, "a?[31m?same: 77 read-backs.pb.zst: ");
    assert_null(strchr(fixture->out, '\033'));
    char option[PATH_MAX + 16];
    snprintf(option, sizeof option, "--compare=%s", named);
    assert_exit(replay(fixture, "--device=cpu", option, "--runs=6", "--threshold=1000"), 0);
    fixture_expect(fixture, fixture->out, "a?[31m?same: 77 read-backs.pb.zst: ");
    assert_null(strchr(fixture->out, '\033'));
    assert_exit(replay(fixture, "--compare=a\033[31m\nb"), 2);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "--compare=a?[31m?b: neither a trace nor KERNEL=FILE");
}

/* ---- Machines ------------------------------------------------------------------------------- */

TEST_ON(json_is_json, struct fixture *fixture)
{
    char out[PATH_MAX];
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--json", "--repeat=2"), 0);
    fixture_expect(fixture, fixture->out, "\"reads\":{\"compared\":2,\"compared_bytes\":104,");
    fixture_expect(fixture, fixture->out, "\"runs\":2,\"different_runs\":0");
    fixture_expect(fixture, fixture->out, "\"first_difference\":null");
    test_folder_file(&fixture->folder, "kept.json", out);
    FILE *file = fopen(out, "w");
    assert_non_null(file);
    fputs(fixture->out, file);
    fclose(file);
    const int status =
        fixture_run(fixture, "python3", (char *[]){"python3", "-m", "json.tool", out, NULL});
    if (status == 127)
        print_message("python3 is not there: the JSON was not parsed\n");
    else
        assert_int_equal(status, 0);
}

/* Values with which a capture begins, or fails, when they are heard; the names are those that
 * docs/env.md lists for captures. */
TEST_ON(a_replay_is_not_captured_by_accident, struct fixture *fixture)
{
    static const char *const heard[][2] = {
        {"MODE", "queue"},       {"MODE", "nonsense"},   {"FILE", "captured"},
        {"FORCE", "nonsense"},   {"STACKS", "nonsense"}, {"CONTENTS", "nonsense"},
        {"OUTPUTS", "nonsense"}, {"FILES", "nonsense"},  {"BUDGET", "nonsense"},
        {"WINDOW", "#s0.."},     {"SCOPE", "nobody"},    {"GROUP", "nobody"},
        {"LAST", "5s"},          {"RUN", "captured"}};
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) {
        char name[64], capture[PATH_MAX];
        snprintf(name, sizeof name, "HAL_DEVICE_PROFILING_%s", heard[i][0]);
        assert_int_equal(setenv(name, heard[i][1], 1), 0);
        const size_t files = fixture_count_files(fixture->folder.path);
        const struct fixture_run runs[] = {
            begin_replay(fixture, "--device=cpu", "--quiet"),
            begin_replay(fixture, "--device=cpu", "--quiet", "--trusted")};
        for (int run = 0; run < 2; run++) {
            const int status = fixture_end(fixture, &runs[run]);
            if (status != 0 || fixture->out[0] || fixture->err[0])
                fail_msg("%s=%s: status %d\n%s%s", name, heard[i][1], status, fixture->out,
                         fixture->err);
        }
        assert_int_equal(fixture_count_files(fixture->folder.path), files);
        assert_int_not_equal(access(test_folder_file(&fixture->folder, "captured", capture), F_OK),
                             0);
        unsetenv(name);
    }
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
