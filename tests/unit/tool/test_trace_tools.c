/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace stats, verify, extract: numbers worked out by hand, damage found, files made. */
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUFFER = 1, KERNELS = 2, DONE = 3, ONCE = 10, AGAIN = 11 };

static const char source[] = "kernel void twice() {}\nkernel void never() {}\n";

static struct test_folder folder;
static char path[PATH_MAX];
/* Runs a shell command in the folder; the exit status. */
static int run(const char *command_line)
{
    return command_run("cd %s && PATH=%s:$PATH && %s", folder.path, HAL_TRACE_FOLDER, command_line);
}

/* #s0 runs ONCE and AGAIN, #s1 AGAIN alone. */
static int write_trace(void **state)
{
    (void)state;
    struct trace_builder b;
    if (!test_folder_make(&folder))
        return -1;
    builder_open(&b, test_folder_file(&folder, "t.pb.zst", path), NULL);
    const struct trace_entry_point points[] = {
        {.name = builder_string(&b, "twice"), .group_size = {8, 2, 1}},
        {.name = builder_string(&b, "never"), .group_size = {1, 1, 1}}};
    builder_buffer_create(&b, BUFFER, "out", 256);
    builder_executable_create(&b, KERNELS, "../a b.metal", source, points, 2);
    builder_semaphore_create(&b, DONE, "done", 0);
    builder_host_write(&b, BUFFER, 0, "12345678", 8);
    builder_command_buffer_create(&b, ONCE, NULL, 0);
    builder_fill(&b, BUFFER, 0, 100, 1, 1);
    builder_barrier(&b, NULL, 0);
    builder_copy(&b, BUFFER, 0, BUFFER, 128, 20);
    builder_dispatch(&b, KERNELS, 0, 2, 3, 4);
    builder_dispatch(&b, KERNELS, 0, 1, 1, 1);
    builder_end_commands(&b, ONCE);
    builder_command_buffer_create(&b, AGAIN, NULL, 1);
    builder_dispatch(&b, KERNELS, 0, 5, 1, 1);
    builder_end_commands(&b, AGAIN);
    const struct trace_semaphore_value values[] = {{DONE, 1}, {DONE, 2}};
    builder_submit(&b, 0, 0, NO_VALUES, VALUES(values[0]), IDS(ONCE, AGAIN));
    /* Of four dispatches the device timed the second and the third. */
    const struct trace_dispatch_time times[] = {{0, 1, 6100, 6400}, {1, 0, 7000, 8002}};
    builder_dispatch_times(&b, 0, 0, times, 2);
    builder_submission_done(&b, 0, 0, 5000, 6000, 9000);
    builder_submit(&b, 1, 0, NO_VALUES, VALUES(values[1]), IDS(AGAIN));
    /* It has two command buffers, and no third. */
    const struct trace_dispatch_time beyond = {2, 0, 7000, 7500};
    builder_dispatch_times(&b, 0, 0, &beyond, 1);
    builder_submission_done(&b, 1, 0, 9000, 9000, 9700);
    builder_semaphore_wait(&b, 0, &values[1], 1, INT64_MAX);
    builder_wait_idle(&b, INT64_MAX);
    builder_host_read(&b, BUFFER, 0, "abcd", 4);
    return builder_close(&b, NULL) == HAL_OK ? 0 : -1;
}

static int remove_all(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

TEST(stats_count_what_was_executed)
{
    assert_int_equal(run("hal-trace stats --json t.pb.zst"), 0);
    says("\"submissions\":2,\"device_ns\":3700,\"dispatches\":4,\"indirect_dispatches\":0,"
         "\"barriers\":1,\"fills\":1,\"copies\":1,\"updates\":0,\"transfer_bytes\":120");
    says("\"submit_calls\":{\"count\":2,\"bytes\":0,\"ns\":200}");
    says("\"host_waits\":{\"count\":2,\"bytes\":0,\"ns\":200}"); /* of either kind */
    says("\"uploads\":{\"count\":1,\"bytes\":8,");
    says("\"readbacks\":{\"count\":1,\"bytes\":4,");
    /* 24 + 1 + 2 * 5 workgroups; alone in #s1. */
    says("{\"name\":\"twice\",\"executable\":2,\"entry\":0,\"dispatches\":4,\"workgroups\":35,"
         "\"threads_per_group\":16,\"alone\":1,\"alone_ns\":700,\"timed\":2,\"timed_ns\":1302,"
         /* Timed: 300 and 1002; alone: 700. */
         "\"median_ns\":700,\"low_ns\":300,\"high_ns\":1002,\"min_ns\":300,\"max_ns\":1002,"
         "\"warm_up\":0}");
    says("{\"name\":\"never\",\"executable\":2,\"entry\":1,\"dispatches\":0,\"workgroups\":0,"
         "\"threads_per_group\":1,\"alone\":0,\"alone_ns\":0,\"timed\":0,\"timed_ns\":0,"
         "\"median_ns\":null,\"low_ns\":null,\"high_ns\":null,\"min_ns\":null,\"max_ns\":null,"
         "\"warm_up\":0}");
    assert_int_equal(run("hal-trace stats t.pb.zst"), 0);
    says("4 dispatches (0 indirect), 1 barrier");
    says("      700 ns  (300 ns to 1.002 us)      twice");
}

/* Two submissions that fill the same bytes, and a host that reads some without a wait. */
TEST(races_are_listed)
{
    struct trace_builder b;
    char racing[PATH_MAX];
    assert_int_equal(run("hal-trace races t.pb.zst"), 0);
    assert_string_equal(output, "t.pb.zst: 0 races, 0 more are possible\n");
    builder_open(&b, test_folder_file(&folder, "racing.pb.zst", racing), NULL);
    builder_buffer_create(&b, BUFFER, "out", 256);
    for (uint64_t n = 0; n < 2; n++) {
        builder_command_buffer_create(&b, ONCE + n, NULL, 0);
        builder_fill(&b, BUFFER, 32 * n, 64, 1, 1);
        builder_end_commands(&b, ONCE + n);
        builder_submit(&b, n, 0, NO_VALUES, NO_VALUES, IDS(ONCE + n));
    }
    builder_host_read(&b, BUFFER, 80, "abcd", 4);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace races racing.pb.zst"), 1);
    assert_string_equal(
        output,
        "race: #s0 (fill, command 0 of command buffer 0) writes, #s1 (fill, command 0 of command "
        "buffer 0) writes: 32 bytes at 32 of buffer 1 'out', no semaphore or host wait "
        "between\n"
        "race: #s1 (fill, command 0 of command buffer 0) writes, the host's read at ticket 8 "
        "reads: "
        "4 bytes at 80 of buffer 1 'out', no semaphore or host wait between\n"
        "racing.pb.zst: 2 races, 0 more are possible\n");
}

TEST(verify_likes_what_is_whole)
{
    assert_int_equal(run("hal-trace verify t.pb.zst 2>&1"), 0);
    says("good: ");
    assert_int_equal(run("hal-trace verify --json t.pb.zst"), 0);
    says("\"good\":true");
    says("\"damaged_contents\":0");
}

static void shorten(void *user, struct trace_event *event, struct trace_segment *segment)
{
    (void)user;
    (void)segment;
    ((struct trace_content_event *)(void *)event)->size--;
}

TEST(verify_sees_events_that_contradict_each_other)
{
    struct trace_builder b;
    char twice[PATH_MAX];
    builder_open(&b, test_folder_file(&folder, "twice.pb.zst", twice), NULL);
    builder_buffer_create(&b, BUFFER, "out", 256);
    builder_buffer_create(&b, BUFFER, "out", 256);
    builder_host_read(&b, BUFFER + 1, 0, "abcd", 4);
    b.alter = shorten;
    builder_host_read(&b, BUFFER, 0, "abcde", 5);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace verify twice.pb.zst 2>&1"), 3);
    says("content 2 has 5 bytes, an event says 4");
    says("buffer 1 is created twice");
    says("object 2 is never created");
    says("NOT GOOD: ");
    says("; 3 contradictions");
    assert_int_equal(run("hal-trace verify --json twice.pb.zst 2>/dev/null"), 3);
    says("\"good\":false");
    says("\"contradictions\":3");
}

/* Any byte that is changed is noticed: one in each 64. */
TEST(verify_sees_every_changed_byte)
{
    struct stat status;
    unsigned tried = 0;
    assert_int_equal(stat(path, &status), 0);
    for (long at = 0; at < status.st_size; at += 64) {
        char command[256];
        snprintf(command, sizeof command,
                 "cp t.pb.zst bad.pb.zst && b=$(od -An -tu1 -j%ld -N1 bad.pb.zst) && "
                 "printf \"\\\\$(printf %%o $((b ^ 16)))\" | "
                 "dd of=bad.pb.zst bs=1 seek=%ld conv=notrunc 2>/dev/null && "
                 "hal-trace verify bad.pb.zst 2>&1",
                 at, at);
        if (run(command) != 3)
            fail_msg("byte %ld changed, and verify says: %s", at, output);
        tried++;
    }
    assert_true(tried > 10);
}

TEST(verify_sees_a_cut)
{
    assert_int_equal(run("head -c -100 t.pb.zst > cut.pb.zst; hal-trace verify cut.pb.zst 2>&1"),
                     3);
    says("incomplete");
}

TEST(extract_writes_kernels_into_the_folder_only)
{
    char kernels[PATH_MAX], expected[sizeof source + 1];
    assert_int_equal(run("hal-trace extract --executables=kernels t.pb.zst 2>&1"), 0);
    assert_string_equal(output, "kernels/2-_._a_b.metal\n");
    FILE *file = fopen(test_folder_file(&folder, "kernels/2-_._a_b.metal", kernels), "r");
    assert_non_null(file);
    expected[fread(expected, 1, sizeof source, file)] = '\0';
    fclose(file);
    assert_string_equal(expected, source);
    assert_int_equal(run("hal-trace extract --executables=kernels t.pb.zst 2>&1"), 3);
    says("--force");
    assert_int_equal(run("hal-trace extract --executables=kernels --force t.pb.zst 2>&1"), 0);
}

/* What the device took, and of the others those in another format: each has its own ending. */
TEST(extract_writes_kernels_in_each_format)
{
    enum { MSL = 1, SPIRV = 3, VARIANTS = 2 }; /* as in the files of old traces */
    struct trace_builder b;
    char v[PATH_MAX];
    builder_open(&b, test_folder_file(&folder, "v.pb.zst", v), NULL);
    struct {
        struct trace_executable_create record;
        struct trace_variant variants[VARIANTS];
    } all = {.record = {.head = {.kind = TRACE_EXECUTABLE_CREATE,
                                 .bytes = sizeof all,
                                 .ticket = b.ticket},
                        .executable = 9,
                        .content = builder_content(&b, "taken", 5),
                        .size = 5,
                        .format = MSL,
                        .label = builder_string(&b, "k"),
                        .variant_count = VARIANTS},
             .variants = {{.content = builder_content(&b, "words", 5), .size = 5, .format = SPIRV},
                          {.content = builder_content(&b, "other", 5), .size = 5, .format = MSL}}};
    builder_record(&b, &all.record.head);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    assert_int_equal(run("hal-trace verify v.pb.zst >/dev/null && "
                         "hal-trace extract --executables=each v.pb.zst && "
                         "cd each && ls && cat 9-k.metal 9-k.spv"),
                     0);
    assert_string_equal(output, "each/9-k.metal\neach/9-k.spv\n9-k.metal\n9-k.spv\ntakenwords");
}

TEST(extract_writes_a_content)
{
    bool found = false;
    for (int i = 1; i <= 3; i++) {
        char command[128];
        snprintf(command, sizeof command, "hal-trace extract --content=%d t.pb.zst", i);
        assert_int_equal(run(command), 0);
        found |= strcmp(output, "12345678") == 0;
    }
    assert_true(found);
    assert_int_equal(run("hal-trace extract --content=99 t.pb.zst 2>&1"), 3);
    says("no content 99");
    assert_int_equal(run("hal-trace extract --content=0 t.pb.zst 2>&1"), 2);
    assert_int_equal(run("hal-trace extract t.pb.zst 2>&1"), 2);
}

static void add_file_part(struct trace_writer *writer, uint64_t ticket, const char *text,
                          uint64_t file_bytes)
{
    uint64_t content;
    const size_t bytes = strlen(text);
    assert_int_equal(trace_writer_content(writer, text, bytes, &content), HAL_OK);
    const struct trace_file part = {
        .part = {.head = {.kind = TRACE_FILE, .bytes = sizeof part, .ticket = ticket},
                 .file = 1,
                 .size = bytes,
                 .content = content},
        .file_bytes = file_bytes};
    assert_int_equal(trace_writer_records(writer, 1, &part, sizeof part), HAL_OK);
}

/* As it was when it was kept last; a part of it is no file. */
TEST(extract_writes_a_file_as_it_was_last)
{
    char other[PATH_MAX];
    struct trace_writer *writer;
    static const struct trace_header header = {.program = "p"};
    const struct trace_writer_options options = {
        .path = test_folder_file(&folder, "f.pb.zst", other), .force = true};
    struct {
        struct trace_string head;
        char text[8];
    } name = {.head = {.head = {.kind = TRACE_STRING, .bytes = sizeof name}, .id = 1, .length = 8},
              .text = "/weights"};
    for (uint64_t whole = 0; whole < 2; whole++) {
        assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
        assert_int_equal(trace_writer_records(writer, 1, &name, sizeof name), HAL_OK);
        add_file_part(writer, 1, "first", 5);
        add_file_part(writer, 2, "second", whole ? 6 : 7);
        assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
        assert_int_equal(run("hal-trace extract --file=/weights f.pb.zst 2>&1"), whole ? 0 : 3);
        says(whole ? "second" : "6 of the 7 bytes of file '/weights'");
        assert_null(strstr(output, "first"));
    }
}

/* ---- Progress ---- */

/* What the program writes to its standard error, which is a terminal, or a file. */
static void error_of(const char *arguments, bool is_terminal, char *out, size_t bytes)
{
    char command[3 * PATH_MAX], other[PATH_MAX];
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    test_folder_file(&folder, "error", other);
    snprintf(command, sizeof command, "%s/hal-trace %s >/dev/null 2>%s", HAL_TRACE_FOLDER,
             arguments, is_terminal ? ptsname(terminal) : other);
    /* Opened here, too: what was written stays to be read when the program has ended. */
    const int kept = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(kept >= 0);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    const int from = is_terminal ? terminal : open(other, O_RDONLY);
    assert_true(from >= 0 && fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    size_t used = 0;
    for (ssize_t got; used + 1 < bytes && (got = read(from, out + used, bytes - 1 - used)) > 0;)
        used += (size_t)got;
    out[used] = '\0';
    if (!is_terminal)
        close(from);
    close(kept);
    close(terminal);
}

TEST(terminals_see_how_far_it_is)
{
    static const struct {
        const char *command, *name;
    } commands[] = {{"stats", "counting"}, {"dump", "printing"},    {"symbolize", "reading"},
                    {"diff", "reading"},   {"verify", "verifying"}, {"races", "searching"}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char arguments[3 * PATH_MAX], said[4096], wanted[64];
        const bool two = strncmp(commands[i].command, "diff", 4) == 0;
        snprintf(arguments, sizeof arguments, "%.*s %s %s", two ? 4 : 20, commands[i].command, path,
                 two ? path : "");
        error_of(arguments, true, said, sizeof said);
        snprintf(wanted, sizeof wanted, "\r%s [####################] 100 %%", commands[i].name);
        if (!strstr(said, wanted))
            fail_msg("%s: '%s' has no '%s'", commands[i].command, said, wanted);
        snprintf(wanted, sizeof wanted, "\r%50s\r", ""); /* and it is gone again */
        assert_string_equal(said + strlen(said) - strlen(wanted), wanted);
        error_of(arguments, false, said, sizeof said);
        assert_string_equal(said, "");
    }
}

TEST_SUITE_FIXTURE(write_trace, remove_all);
