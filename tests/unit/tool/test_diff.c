/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace diff, as a program: captures that differ in exactly one way. */
#include "tests/support/command.h"
#include "tests/support/own_folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <ctype.h>
#include <sys/wait.h>

static int run(const char *arguments)
{
    return command_run("cd %s && %s/hal-trace %s 2>&1", folder.path, HAL_TRACE_FOLDER, arguments);
}

/* What a run does; all zero is the plain one. */
struct variation {
    uint64_t id_base; /* added to all ids */
    int64_t begin_ns; /* when it began */
    uint32_t thread;  /* number of its thread */
    uint32_t groups;  /* more workgroups in #s2 */
    bool inserted;    /* one submission more, before #s2 */
    bool other_input, other_output, other_update, other_kernel;
    bool polls; /* queries that another run does not make */
    uint32_t queue;
    uint64_t affinity; /* of #s3, one of whose queues is `queue` */
};

static const char *write_run(const char *name, const struct variation *v)
{
    static char path[PATH_MAX];
    struct trace_builder b;
    const uint64_t in = v->id_base + 1, kernels = v->id_base + 2, done = v->id_base + 3;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    b.begin_ns = 5000 + v->begin_ns;
    if (v->thread) {
        builder_thread(&b, v->thread, 77, "main");
        b.thread = v->thread;
    }
    const struct trace_entry_point point = {.name = builder_string(&b, "scale"),
                                            .group_size = {8, 1, 1}};
    builder_semaphore_create(&b, done, "done", 0);
    builder_buffer_create(&b, in, "data", 64);
    builder_executable_create(&b, kernels, "k.metal", v->other_kernel ? "faster" : "slower", &point,
                              1);
    builder_host_write(&b, in, 0, v->other_input ? "ABCDEFGH" : "abcdefgh", 8);
    uint64_t number = 0;
    for (uint64_t i = 0; i < 4; i++) {
        for (unsigned extra = v->inserted && i == 2;; extra--) {
            const uint64_t commands = v->id_base + 10 + number;
            const uint32_t groups = 4 + (i == 2 ? v->groups : 0) + (extra ? 100 : 0);
            builder_command_buffer_create(&b, commands, "step", 0);
            builder_update(&b, in, 32, v->other_update ? "12345678" : "87654321", 8);
            builder_barrier(&b, NULL, 0);
            builder_dispatch(&b, kernels, 0, groups, (uint32_t)i + 1, 1);
            builder_end_commands(&b, commands);
            const struct trace_semaphore_value value = {done, number + 1};
            b.operation.affinity = i == 3 ? v->affinity : 0;
            builder_submit(&b, number, i == 3 ? v->queue : 0, NO_VALUES, VALUES(value),
                           IDS(commands));
            builder_submission_done(&b, number, 0, b.begin_ns, b.begin_ns, b.begin_ns + 500);
            if (v->polls)
                builder_semaphore(&b, TRACE_SEMAPHORE_QUERY, done, 0, NULL);
            builder_semaphore_wait(&b, 0, &value, 1, INT64_MAX);
            number++;
            if (!extra)
                break;
        }
    }
    builder_host_read(&b, in, 0, v->other_output ? "HGFEDCBA" : "hgfedcba", 8);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    return path;
}

static int compare(const struct variation *v)
{
    write_run("a.pb.zst", &(struct variation){0});
    write_run("b.pb.zst", v);
    return run("diff a.pb.zst b.pb.zst");
}

TEST(numbers_times_and_polls_do_not_matter)
{
    assert_int_equal(compare(&(struct variation){0}), 0);
    says("same: submissions 4 same, 0 changed, 0 only in A, 0 only in B; commands 12 same");
    says("contents: 7 same, 0 different, 0 unknown; device time of submissions in both: "
         "2.000 us and 2.000 us");
    assert_int_equal(compare(&(struct variation){.id_base = 1000}), 0);
    assert_int_equal(compare(&(struct variation){.begin_ns = 123456789}), 0);
    assert_int_equal(compare(&(struct variation){.thread = 9}), 0);
    assert_int_equal(compare(&(struct variation){.polls = true}), 0);
}

TEST(an_inserted_submission_is_one_difference)
{
    assert_int_equal(compare(&(struct variation){.inserted = true, .id_base = 50}), 1);
    says("submissions 4 same, 0 changed, 0 only in A, 1 only in B");
    says("#s2, 3 commands in 'step'");
    says("commands 12 same, 0 only in A, 0 only in B");
    assert_int_equal(run("diff b.pb.zst a.pb.zst"), 1);
    says("submissions 4 same, 0 changed, 1 only in A, 0 only in B");
}

TEST(other_arguments_are_shown_by_command)
{
    assert_int_equal(compare(&(struct variation){.groups = 3}), 1);
    says("- #s2: dispatch 'scale' of 4 x 3 x 1 workgroups\n"
         "+ #s2: dispatch 'scale' of 7 x 3 x 1 workgroups\n");
    says("submissions 3 same, 1 changed, 0 only in A, 0 only in B; commands 11 same, 1 only in A, "
         "1 only in B");
    assert_int_equal(compare(&(struct variation){.queue = 1}), 1);
    says("! #s3: submitted in another way");
    assert_int_equal(run("diff --json a.pb.zst b.pb.zst"), 1);
    says("\"where\":\"#s3\",\"kind\":\"submitted in another way\"");
    says("\"same\":false,\"submissions\":{\"same\":3,\"changed\":1,\"only_a\":0,\"only_b\":0}");
}

TEST(which_of_the_allowed_queues_was_idle_does_not_matter)
{
    write_run("a.pb.zst", &(struct variation){.queue = 1, .affinity = 3});
    write_run("b.pb.zst", &(struct variation){.queue = 0, .affinity = 3});
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    says("same: submissions 4 same");
    write_run("b.pb.zst", &(struct variation){.queue = 1, .affinity = 6});
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("! #s3: submitted in another way");
    write_run("b.pb.zst", &(struct variation){.queue = 1});
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("! #s3: submitted in another way");
}

TEST(other_bytes_are_said_apart)
{
    assert_int_equal(compare(&(struct variation){.other_input = true}), 1);
    says("other bytes: write to 'data', 8 bytes at 0");
    says("submissions 4 same");
    says("contents: 6 same, 1 different");
    assert_int_equal(run("diff --no-contents a.pb.zst b.pb.zst"), 0);
    assert_int_equal(run("diff -q a.pb.zst b.pb.zst"), 1);
    assert_string_equal(output, "");
    assert_int_equal(compare(&(struct variation){.other_output = true}), 1);
    says("other bytes: read-back of 'data', 8 bytes at 0");
    assert_int_equal(compare(&(struct variation){.other_update = true}), 1);
    says("! #s0: other bytes: update target='data' offset=32 size=8 data=3837363534333231\n");
    says("contents: 3 same, 4 different");
    assert_int_equal(compare(&(struct variation){.other_kernel = true}), 1);
    says("! kernels: another source: kernels 'k.metal', 6 bytes");
    says("submissions 4 same");
    assert_int_equal(run("diff --limit=1 a.pb.zst b.pb.zst"), 1);
}

/* Executables without names of their own: a source per letter. */
static void write_kernels(const char *name, const char *sources)
{
    static char path[PATH_MAX];
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    const struct trace_entry_point point = {.name = builder_string(&b, "main"),
                                            .group_size = {8, 1, 1}};
    for (uint64_t i = 0; sources[i]; i++)
        builder_executable_create(&b, i + 1, "", (char[]){sources[i], 0}, &point, 1);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static int compare_kernels(const char *a, const char *b)
{
    write_kernels("a.pb.zst", a);
    write_kernels("b.pb.zst", b);
    return run("diff a.pb.zst b.pb.zst");
}

TEST(kernels_of_one_name_match_by_source)
{
    assert_int_equal(compare_kernels("abc", "abc"), 0);
    says("contents: 3 same, 0 different");
    assert_int_equal(compare_kernels("abc", "cab"), 0);
    assert_int_equal(compare_kernels("aab", "ab"), 0);
    assert_int_equal(compare_kernels("abc", "xca"), 1);
    says("contents: 2 same, 1 different");
    assert_int_equal(compare_kernels("a", "ab"), 1);
    says("contents: 1 same, 1 different");
    assert_int_equal(compare_kernels("ab", "a"), 1);
    says("contents: 1 same, 1 different");
}

TEST(a_stripped_trace_is_the_same)
{
    write_run("a.pb.zst", &(struct variation){0});
    assert_int_equal(run("strip -f -o s.pb.zst a.pb.zst"), 0);
    assert_int_equal(run("diff a.pb.zst s.pb.zst"), 0);
    says("contents: 7 same, 0 different, 0 unknown");
    write_run("b.pb.zst", &(struct variation){.other_update = true, .other_output = true});
    assert_int_equal(run("strip -f -o t.pb.zst b.pb.zst"), 0);
    assert_int_equal(run("diff s.pb.zst t.pb.zst"), 1);
    says("contents: 2 same, 5 different");
}

/* ---- Mapped memory ---- */

enum { BYTES = 64, PERSISTENT = 8 | 1 | 2 };

/* One buffer that stays mapped; #s0 copies its first half into another one, #s1 fills the second
 * half; the host stores before #s0, and sees the second half in the end. How a capture notices that
 * is in the callbacks. */
struct mapped_run {
    void (*before)(struct trace_builder *b);  /* #s0 */
    void (*between)(struct trace_builder *b); /* #s0 and #s1 */
    void (*after)(struct trace_builder *b);   /* #s1 is known to be done */
    bool stays_mapped;
};

static char stored[BYTES], filled[BYTES];

static void submit_commands(struct trace_builder *b, uint64_t number, uint64_t commands)
{
    const struct trace_semaphore_value value = {3, number + 1};
    builder_end_commands(b, commands);
    builder_submit(b, number, 0, NO_VALUES, VALUES(value), IDS(commands));
}

static void write_mapped(const char *name, const struct mapped_run *run_of)
{
    static char path[PATH_MAX];
    const struct trace_semaphore_value done = {3, 2};
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    builder_semaphore_create(&b, 3, "done", 0);
    builder_buffer_create(&b, 1, "shared", BYTES);
    builder_map(&b, 1, 1, PERSISTENT, 0, BYTES);
    builder_buffer_create(&b, 2, "own", BYTES);
    run_of->before(&b);
    builder_command_buffer_create(&b, 10, "read", 0);
    builder_copy(&b, 1, 0, 2, 0, BYTES / 2);
    submit_commands(&b, 0, 10);
    if (run_of->between)
        run_of->between(&b);
    builder_command_buffer_create(&b, 11, "write", 0);
    builder_fill(&b, 1, BYTES / 2, BYTES / 2, 'f', 1);
    submit_commands(&b, 1, 11);
    builder_semaphore_wait(&b, 0, &done, 1, INT64_MAX);
    if (run_of->after)
        run_of->after(&b);
    if (!run_of->stays_mapped)
        builder_unmap(&b, 1, 1, PERSISTENT, 0, BYTES);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static int compare_mapped(const struct mapped_run *a, const struct mapped_run *b)
{
    memset(stored, 's', sizeof stored);
    memset(filled, 'f', sizeof filled);
    write_mapped("a.pb.zst", a);
    write_mapped("b.pb.zst", b);
    return run("diff a.pb.zst b.pb.zst");
}

static void see(struct trace_builder *b, const char *data, uint64_t offset, uint64_t bytes)
{
    b->flags = TRACE_FLAG_OBSERVED;
    builder_host_read(b, 1, offset, data, bytes);
    b->flags = 0;
}

static void store_whole(struct trace_builder *b)
{
    builder_host_write(b, 1, 0, stored, BYTES);
}

static void store_in_parts(struct trace_builder *b)
{
    builder_host_write(b, 1, 16, stored, 48);
    builder_host_write(b, 1, 0, stored, 20);
}

static void store_used(struct trace_builder *b)
{
    builder_host_write(b, 1, 0, stored, BYTES / 2);
}

static void store_rest(struct trace_builder *b)
{
    builder_host_write(b, 1, BYTES / 2, stored, BYTES / 2);
}

static void store_other(struct trace_builder *b)
{
    char other[BYTES];
    memset(other, 's', sizeof other);
    other[5] = 'S';
    builder_host_write(b, 1, 0, other, BYTES);
}

static void store_less(struct trace_builder *b)
{
    builder_host_write(b, 1, 0, stored, 10);
    builder_host_write(b, 1, 12, stored, BYTES - 12);
}

static void store_nothing(struct trace_builder *b)
{
    (void)b;
}

static void see_filled(struct trace_builder *b)
{
    see(b, filled, BYTES / 2, BYTES / 2);
}

static void see_filled_in_parts(struct trace_builder *b)
{
    see(b, filled, 40, 24);
    see(b, filled, 32, 8);
}

static void see_other(struct trace_builder *b)
{
    char other[BYTES / 2];
    memset(other, 'f', sizeof other);
    other[31] = 'F';
    see(b, other, BYTES / 2, BYTES / 2);
}

static void store_over_filled(struct trace_builder *b)
{
    builder_host_write(b, 1, BYTES / 2, filled, BYTES / 2);
}

static void change_filled(struct trace_builder *b)
{
    builder_mapped_change(b, 1, BYTES / 2, stored, filled, BYTES / 2);
}

TEST(how_a_capture_cuts_stores_does_not_matter)
{
    const struct mapped_run plain = {.before = store_whole, .after = see_filled};
    const struct mapped_run same[] = {
        plain,
        {.before = store_in_parts, .after = see_filled},
        {.before = store_used, .between = store_rest, .after = see_filled_in_parts},
        {.before = store_whole, .between = store_in_parts, .after = see_filled},
        {.before = store_whole, .after = store_over_filled},
        {.before = store_whole, .after = change_filled},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (compare_mapped(&plain, &same[i]) != 0 || !strstr(output, " 0 different, 0 undecided"))
            fail_msg("%zu: %s", i, output);
        says("mapped memory: ");
        assert_int_equal(run("diff b.pb.zst a.pb.zst"), 0);
    }
    assert_int_equal(run("diff --json a.pb.zst b.pb.zst"), 0);
    says("\"other_mapped_bytes\":0,\"undecided_mapped_bytes\":0,\"uncompared_mapped\":0");
}

TEST(other_bytes_in_mapped_memory_are_found)
{
    const struct mapped_run plain = {.before = store_whole, .after = see_filled};
    assert_int_equal(
        compare_mapped(&plain, &(struct mapped_run){.before = store_other, .after = see_filled}),
        1);
    says("! #s0: other bytes in mapped memory: 'shared', 1 byte at 5\n");
    says(" 1 different, 0 undecided");
    assert_int_equal(
        compare_mapped(&plain, &(struct mapped_run){.before = store_less, .after = see_filled}), 1);
    says("! #s0: other bytes in mapped memory: 'shared', 2 bytes at 10\n");
    /* Too late for #s0. */
    assert_int_equal(compare_mapped(&plain, &(struct mapped_run){.before = store_nothing,
                                                                 .between = store_whole,
                                                                 .after = see_filled}),
                     1);
    says("! #s0: other bytes in mapped memory: 'shared', 32 bytes at 0\n");
    assert_int_equal(
        compare_mapped(&plain, &(struct mapped_run){.before = store_whole, .after = see_other}), 1);
    says("! at the end: other bytes in mapped memory: 'shared', 1 byte at 63\n");
    assert_int_equal(run("diff --no-contents a.pb.zst b.pb.zst"), 0);
    assert_int_equal(run("diff -q a.pb.zst b.pb.zst"), 1);
}

/* The host's store over what the device has written and nobody has seen; and what no submission
 * needs in memory that stays mapped, which a capture need not record. */
TEST(what_a_capture_cannot_tell_is_no_difference)
{
    const struct mapped_run plain = {.before = store_whole};
    assert_int_equal(
        compare_mapped(&plain, &(struct mapped_run){.before = store_whole, .after = store_rest}),
        0);
    says(" 0 different, 32 undecided: the host stored them in one trace");
    assert_int_equal(
        compare_mapped(
            &(struct mapped_run){.before = store_whole, .stays_mapped = true},
            &(struct mapped_run){.before = store_whole, .after = store_rest, .stays_mapped = true}),
        0);
    says(" 0 different, 0 undecided\n");
}

TEST(stripped_stores_are_the_same)
{
    const struct mapped_run plain = {.before = store_whole, .after = see_filled};
    assert_int_equal(compare_mapped(&plain, &plain), 0);
    assert_int_equal(run("strip -f -o s.pb.zst a.pb.zst"), 0);
    assert_int_equal(run("diff a.pb.zst s.pb.zst"), 0);
    says(" 0 different, 0 undecided\n");
}

/* Two threads: each creates a buffer, which stays mapped, and stores its letter into all of it.
 * Then #s0 copies the first half of 'x' and that of 'y'. */
static void write_threads_mapped(const char *name, const char *labels, const char *letters)
{
    static char path[PATH_MAX];
    const bool y_is_first = labels[0] == 'y';
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    builder_semaphore_create(&b, 3, "done", 0);
    builder_buffer_create(&b, 4, "own", BYTES);
    for (uint32_t i = 0; i < 2; i++) {
        char bytes[BYTES];
        memset(bytes, letters[i], sizeof bytes);
        builder_thread(&b, 2 + i, 100 + i, "program");
        b.thread = 2 + i;
        builder_buffer_create(&b, 1 + i, (char[]){labels[i], 0}, BYTES);
        builder_map(&b, 1 + i, 1 + i, PERSISTENT, 0, BYTES);
        builder_host_write(&b, 1 + i, 0, bytes, BYTES);
    }
    b.thread = 1;
    builder_command_buffer_create(&b, 10, "read", 0);
    builder_copy(&b, y_is_first ? 2 : 1, 0, 4, 0, BYTES / 2);
    builder_copy(&b, y_is_first ? 1 : 2, 0, 4, 0, BYTES / 2);
    submit_commands(&b, 0, 10);
    for (uint32_t i = 0; i < 2; i++)
        builder_unmap(&b, 1 + i, 1 + i, PERSISTENT, 0, BYTES);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(which_thread_creates_its_buffer_first_does_not_matter)
{
    write_threads_mapped("a.pb.zst", "xy", "pq");
    write_threads_mapped("b.pb.zst", "yx", "qp");
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    says("mapped memory: 128 bytes same, 0 different");
    write_threads_mapped("b.pb.zst", "yx", "qr");
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("! #s0: other bytes in mapped memory: 'x', 32 bytes at 0\n");
    says("! at the end: other bytes in mapped memory: 'x', 32 bytes at 32\n");
    write_threads_mapped("b.pb.zst", "yx", "rp");
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("! #s0: other bytes in mapped memory: 'y', 32 bytes at 0\n");
}

/* ---- Transient memory ---- */

static void submit_alloca(struct trace_builder *b, uint64_t number, uint64_t slab, uint64_t offset,
                          bool waits, uint64_t pools)
{
    const struct trace_semaphore_value given_back = {5, 1}, signals[] = {{3, number}, {pools, 1}};
    b->operation = (struct trace_submit){
        .operation = TRACE_OPERATION_ALLOCA, .buffer = slab, .offset = offset, .size = 256};
    builder_submit(b, number, 0, builder_values(&given_back, waits), builder_values(signals, 2),
                   NO_IDS);
}

/* The second alloca gets the range at `offset` of a slab, waits there for what was given back, and
 * has as many of its bytes filled as given. */
static void write_transient(const char *name, uint64_t offset, bool waits, uint64_t bytes)
{
    static char path[PATH_MAX];
    const struct trace_semaphore_value got = {3, 2}, done = {3, 3};
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    builder_semaphore_create(&b, 3, "done", 0);
    builder_semaphore_create(&b, 4, "transient memory", 0);
    builder_semaphore_create(&b, 5, "transient memory", 0);
    builder_buffer_create(&b, 1, "transient memory", waits ? 4096 : 8192);
    submit_alloca(&b, 1, 1, offset, false, 5);
    submit_alloca(&b, 2, 1, offset, waits, 4);
    builder_command_buffer_create(&b, 10, "fill", 0);
    builder_fill(&b, 1, offset + 16, bytes, 'f', 1);
    builder_end_commands(&b, 10);
    builder_submit(&b, 3, 0, VALUES(got), VALUES(done), IDS(10));
    builder_semaphore_wait(&b, 0, &done, 1, INT64_MAX);
    builder_host_read(&b, 1, offset + 16, "ffff", 4);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(which_range_an_alloca_gets_does_not_matter)
{
    write_transient("a.pb.zst", 0, false, 32);
    write_transient("b.pb.zst", 1024, true, 32);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    says("same: submissions 3 same");
    write_transient("b.pb.zst", 1024, true, 40);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("1 changed");
}

/* The second thread fills `bytes` of the first alloca's range before the first thread makes another
 * alloca, which gets the range at `offset` of the slab. */
static void write_shared(const char *name, uint64_t slab, uint64_t offset, uint64_t bytes)
{
    static char path[PATH_MAX];
    const struct trace_semaphore_value got = {3, 1}, done = {3, 3};
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    builder_thread(&b, 2, 78, "worker");
    builder_semaphore_create(&b, 3, "done", 0);
    builder_semaphore_create(&b, 5, "transient memory", 0);
    builder_semaphore_create(&b, 6, "transient memory", 0);
    builder_buffer_create(&b, 1, "transient memory", 4096);
    builder_buffer_create(&b, 2, "transient memory", 8192);
    submit_alloca(&b, 1, 1, 128, false, 5);
    b.thread = 2;
    builder_command_buffer_create(&b, 10, "fill", 0);
    builder_fill(&b, 1, 128 + 16, bytes, 'f', 1);
    builder_end_commands(&b, 10);
    builder_submit(&b, 2, 0, VALUES(got), VALUES(done), IDS(10));
    b.thread = 1;
    submit_alloca(&b, 4, slab, offset, false, 6);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

TEST(threads_share_transient_memory)
{
    write_shared("a.pb.zst", 1, 0, 32);
    write_shared("b.pb.zst", 1, 1024, 32);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    says("same: submissions 3 same");
    write_shared("b.pb.zst", 2, 0, 32);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    write_shared("b.pb.zst", 1, 1024, 40);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 1);
    says("1 changed");
}

/* ---- Threads ---- */

/* Threads that share a name appear in the order of the letters, each of which is a worker. A worker
 * stores its letter into a buffer and fills another one; upper-case letters also read it back. */
static void write_pool(const char *name, const char *workers)
{
    static char path[PATH_MAX];
    struct trace_builder b;
    builder_open(&b, test_folder_file(&folder, name, path), NULL);
    builder_semaphore_create(&b, 3, "done", 0);
    builder_buffer_create(&b, 1, "in", 64);
    builder_buffer_create(&b, 2, "out", 64);
    for (uint32_t i = 0; workers[i]; i++) {
        const struct trace_semaphore_value done = {3, i + 1};
        builder_thread(&b, 2 + i, 100 + i, "program");
        b.thread = 2 + i;
        builder_host_write(&b, 1, 0, &workers[i], 1);
        builder_command_buffer_create(&b, 10 + i, "fill", 0);
        builder_fill(&b, 2, 0, 64, 'f', 1);
        builder_end_commands(&b, 10 + i);
        builder_submit(&b, i, 0, NO_VALUES, VALUES(done), IDS(10 + i));
        if (isupper((unsigned char)workers[i]))
            builder_host_read(&b, 2, 0, "ffff", 4);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static int compare_pools(const char *a, const char *b)
{
    write_pool("a.pb.zst", a);
    write_pool("b.pb.zst", b);
    return run("diff a.pb.zst b.pb.zst");
}

TEST(threads_of_one_name_match_by_what_they_do)
{
    assert_int_equal(compare_pools("abC", "Cba"), 0);
    says("same: submissions 3 same");
    says("contents: 4 same, 0 different");
    assert_int_equal(compare_pools("AbCd", "dACb"), 0);
    assert_int_equal(compare_pools("aab", "baa"), 0);
}

TEST(a_thread_of_a_pool_that_differs_is_found)
{
    assert_int_equal(compare_pools("abC", "Cbx"), 1);
    says("! thread program ticket 4: other bytes: write to 'in', 1 byte at 0");
    says("contents: 3 same, 1 different");
    assert_int_equal(compare_pools("aab", "abb"), 1);
    says("contents: 2 same, 1 different");
    assert_int_equal(compare_pools("abC", "cba"), 1);
    says("- thread program ticket");
    says("read-back of 'out'");
    says("submissions 3 same");
    assert_int_equal(compare_pools("abC", "Cb"), 1);
    says("submissions 2 same, 0 changed, 1 only in A, 0 only in B");
    assert_int_equal(compare_pools("Cb", "abC"), 1);
    says("submissions 2 same, 0 changed, 0 only in A, 1 only in B");
}

/* As a capture writes it: without a digest. What does not compress is found in the file. */
static void write_undigested(const char *name, const uint8_t *bytes, size_t count)
{
    const struct trace_header header = builder_default_header();
    char path[PATH_MAX];
    const struct trace_writer_options options = {
        .path = test_folder_file(&folder, name, path), .force = true, .without_sha256 = true};
    struct trace_writer *writer;
    struct trace_content_event write = {
        .head = {.kind = TRACE_HOST_WRITE, .bytes = sizeof write, .ticket = 1}, .size = count};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    assert_int_equal(trace_writer_content(writer, bytes, count, &write.content), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 0, &write, sizeof write), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

static void change_a_byte(const char *name, const uint8_t *bytes, size_t count)
{
    static uint8_t whole[1 << 16];
    char path[PATH_MAX];
    FILE *file = fopen(test_folder_file(&folder, name, path), "r+b");
    assert_non_null(file);
    const size_t size = fread(whole, 1, sizeof whole, file);
    const uint8_t *found = memmem(whole, size, bytes, count);
    assert_non_null(found);
    assert_int_equal(fseek(file, found - whole, SEEK_SET), 0);
    assert_int_equal(fputc(bytes[0] ^ 1, file), bytes[0] ^ 1);
    assert_int_equal(fclose(file), 0);
}

/* Bytes that cannot be read are no bytes that are not known. */
TEST(damaged_contents_are_not_the_same)
{
    uint8_t bytes[4096];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    write_undigested("a.pb.zst", bytes, sizeof bytes);
    write_undigested("b.pb.zst", bytes, sizeof bytes);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 0);
    says("contents: 1 same, 0 different, 0 unknown");
    change_a_byte("b.pb.zst", bytes, sizeof bytes);
    assert_int_equal(run("diff a.pb.zst b.pb.zst"), 3);
    says("b.pb.zst");
    says("damaged");
    assert_int_equal(run("diff b.pb.zst a.pb.zst"), 3);
    says("damaged");
    assert_int_equal(run("diff --no-contents a.pb.zst b.pb.zst"), 0);
}

TEST(trouble_is_two)
{
    write_run("a.pb.zst", &(struct variation){0});
    assert_int_equal(run("diff a.pb.zst"), 2);
    says("two files are needed");
    assert_int_equal(run("diff a.pb.zst missing"), 3);
    says("No such file");
    assert_int_equal(run("diff --limit=x a.pb.zst a.pb.zst"), 2);
    assert_int_equal(run("diff --what a.pb.zst a.pb.zst"), 2);
    assert_int_equal(run("diff a.pb.zst a.pb.zst >/dev/full"), 3);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
