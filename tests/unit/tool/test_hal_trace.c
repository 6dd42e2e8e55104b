/* SPDX-License-Identifier: Apache-2.0 */
/* The program hal-trace: output, exit statuses, bad arguments and files, labels that would upset a
 * terminal, an output that cannot be written. */
#include "format/trace.h"
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/haltrace-tool-XXXXXX";
static char path[sizeof folder + 16];
/* Runs hal-trace with standard error joined to its output; returns the exit status. */
static int run(const char *arguments)
{
    return command_run("cd %s && " HAL_TRACE " %s 2>&1", folder, arguments);
}

static size_t lines(void)
{
    size_t count = 0;
    for (const char *c = output; *c; c++)
        count += *c == '\n';
    return count;
}

/* A run of a program named decode, and what one of its threads recorded. */
static const char *const decode_arguments[] = {"decode", "--tokens=3"};
static const struct trace_header decode = {
    .writer = "haltrace 9",
    .program = "/bin/decode",
    .arguments = decode_arguments,
    .argument_count = 2,
    .process_id = 42,
    .host = "box",
    .system = "Linux",
    .mode = "queue",
    .start_ns = 1000,
    .start_wall_ns = 1700000000000000000,
    .device = {.uri = "cpu", .driver = "cpu", .name = "CPU"}};

static const struct {
    struct trace_command_buffer_seal seal;
    struct trace_dispatch dispatch;
    struct trace_push_constants push;
    uint8_t data[8];
} recorded = {.seal = {.head = {.kind = TRACE_COMMAND_BUFFER_SEAL,
                                .bytes = sizeof recorded.seal,
                                .ticket = 2,
                                .begin_ns = 3000,
                                .end_ns = 3000},
                       .command_buffer = 5,
                       .segment_count = 2,
                       .dispatch_count = 1,
                       .segment_bytes = sizeof recorded - sizeof recorded.seal},
              .dispatch = {.head = {.kind = TRACE_DISPATCH, .bytes = sizeof recorded.dispatch},
                           .executable = 9,
                           .workgroup_count = {64, 2, 1}},
              .push = {.head = {.kind = TRACE_PUSH_CONSTANTS, .bytes = 24}, .size = 4},
              .data = {0xDE, 0xAD, 0xBE, 0xEF}};

/* Two threads whose tickets interleave; a label with an escape sequence. */
static int write_trace(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    const struct trace_writer_options options = {.path = path};
    struct trace_writer *writer;
    struct {
        struct trace_string head;
        char text[8];
    } name = {.head = {.head = {.kind = TRACE_STRING, .bytes = sizeof name}, .id = 1, .length = 8},
              .text = "w\x1b[31m\"\xFF"};
    struct {
        struct trace_submit head;
        struct trace_semaphore_value signal;
        uint64_t buffer;
    } submit = {.head = {.head = {.kind = TRACE_SUBMIT,
                                  .bytes = sizeof submit,
                                  .ticket = 3,
                                  .begin_ns = 3500,
                                  .end_ns = 4750},
                         .submission = 12,
                         .queue = 1,
                         .signal_count = 1,
                         .command_buffer_count = 1,
                         .operation = TRACE_OPERATION_ALLOCA,
                         .buffer = 4,
                         .offset = 256,
                         .size = 512},
                .signal = {7, 100},
                .buffer = 5};
    struct trace_buffer_create create = {.head = {.kind = TRACE_BUFFER_CREATE,
                                                  .bytes = sizeof create,
                                                  .ticket = 1,
                                                  .begin_ns = 2000,
                                                  .end_ns = 2500,
                                                  .status = HAL_NO_MEMORY},
                                         .buffer = 4,
                                         .size = 4096,
                                         .label = 1};
    if (trace_writer_open(&options, &decode, &writer) != HAL_OK ||
        trace_writer_records(writer, 1, &recorded, sizeof recorded) != HAL_OK ||
        trace_writer_records(writer, 1, &submit, sizeof submit) != HAL_OK ||
        trace_writer_records(writer, 2, &name, sizeof name) != HAL_OK ||
        trace_writer_records(writer, 2, &create, sizeof create) != HAL_OK)
        return -1;
    return trace_writer_close(writer, NULL) == HAL_OK ? 0 : -1;
}

static int remove_trace(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* ---- Tests -------------------------------------------------------------------------------- */

TEST(help_and_version)
{
    assert_int_equal(run("--help"), 0);
    says("info");
    says("dump");
    assert_int_equal(run("--version"), 0);
    says("hal-trace 0.");
    assert_int_equal(run("dump --help"), 0);
    says("usage: hal-trace dump");
    assert_int_equal(run("info --help"), 0);
    says("usage: hal-trace info");
}

TEST(wrong_usage)
{
    static const char *const wrong[][2] = {
        {"", "no command given"},
        {"--nonsense", "--nonsense"},
        {"paint t.pb.zst", "paint"},
        {"info", "no file given"},
        {"info --x t.pb.zst", "--x"},
        {"dump a b", "'b'"},
        {"dump -q t.pb.zst", "-q"},
        {"dump -qx t.pb.zst", "'-qx'"},
        {"trim -o out -yf t.pb.zst", "'-yf'"},
        {"dump --json -yf t.pb.zst", "'-yf'"},
        {"trim t.pb.zst --output", "'--output'"},
        {"trim --force=2 -f t.pb.zst", "'--force' takes no value, not '2'"},
        {"trim t.pb.zst -o", "'-o'"},
        {"info --json=2 t.pb.zst", "--json"},
        {"dump --from=x t.pb.zst", "--from=x: not a time such as 4.7ms"},
        {"dump --to= t.pb.zst", "--to=: not a time such as 4.7ms"},
        {"dump --object=x t.pb.zst", "--object=x: not a number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (run(wrong[i][0]) != 2)
            fail_msg("'%s' was accepted", wrong[i][0]);
        says(wrong[i][1]);
        says("hal-trace: ");
        assert_int_equal(lines(), 1);
    }
}

/* Whoever had an option or the number of files wrong is told where they are listed. */
TEST(wrong_usage_names_the_help)
{
    static const char *const commands[] = {
        "info",  "dump",    "stats",  "verify",    "diff",       "trim",    "strip",
        "merge", "extract", "export", "symbolize", "recompress", "recover", "races"};
    static const char *const wrong[] = {"", "--no-such-option t.pb.zst", "a b c"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            char arguments[64], hint[64];
            snprintf(arguments, sizeof arguments, "%s %s", commands[i], wrong[k]);
            snprintf(hint, sizeof hint, "(see hal-trace %s --help)", commands[i]);
            assert_int_equal(run(arguments), 2);
            says(hint);
            assert_int_equal(lines(), 1);
        }
    }
}

TEST(unreadable_files)
{
    static const char *const commands[] = {"info", "dump", "info --json", "dump --json"};
    assert_int_equal(run("--version; echo hello > foreign"), 0); /* the echo's status */
    for (size_t i = 0; i < 4; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "%s missing", commands[i]);
        assert_int_equal(run(arguments), 3);
        says("No such file");
        assert_int_equal(lines(), 1);
        snprintf(arguments, sizeof arguments, "%s foreign", commands[i]);
        assert_int_equal(run(arguments), 3);
        says("'foreign': not a trace");
        assert_int_equal(lines(), 1);
    }
}

TEST(info_says_what_and_how_much)
{
    struct stat file;
    char size[64];
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(run("info t.pb.zst"), 0);
    snprintf(size, sizeof size, "trace      t.pb.zst, %d.%d KiB in ", (int)file.st_size / 1024,
             (int)file.st_size % 1024 * 10 / 1024);
    says(size);
    says("written by haltrace 9");
    says("/bin/decode --tokens=3");
    says("42 on box, Linux");
    says("device     cpu: CPU");
    says("2023-11-14 22:13:20 UTC");
    says("1 submission, 2 commands: 1 dispatch, 0 barriers");
    says("complete");
    assert_int_equal(run("info t.pb.zst --json"), 0); /* the options stand where they like */
    says("\"submissions\":1,\"dispatches\":1,\"barriers\":0");
    says("\"arguments\":[\"decode\",\"--tokens=3\"]");
    says("\"truncated\":\"\"");
    assert_int_equal(lines(), 1);
}

static void write_health(const struct trace_health *health)
{
    static const struct trace_header header = {.program = "/bin/decode"};
    char other[sizeof path];
    struct trace_writer *writer;
    snprintf(other, sizeof other, "%s/h.pb.zst", folder);
    const struct trace_writer_options options = {.path = other, .force = true};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    assert_int_equal(trace_writer_close(writer, health), HAL_OK);
}

/* Whatever went wrong, and what recording cost. */
TEST(info_says_how_the_capture_went)
{
    static const char *const texts[] = {"complete; ",
                                        "threads waited 3 times for the writer, ",
                                        "4 reads as digests only",
                                        "recovered: the process ended before the capture did",
                                        "digests only, over the budget: 2.0 KiB",
                                        "5 calls that cannot be replayed",
                                        "recording took ",
                                        "clock      tsc, at most 17 ns from the system's"};
    static const char *const members[] = {"\"ring_stalls\":3",       "\"digest_only\":4",
                                          "\"recovered\":true",      "\"clock_error_ns\":17",
                                          "\"unsupported_calls\":5", "\"over_budget_bytes\":2048",
                                          "\"clock\":\"tsc\"",       "\"overhead_ns\":1500000"};
    write_health(&(struct trace_health){.ring_stalls = 3,
                                        .ring_stall_ns = 2000000,
                                        .digest_only = 4,
                                        .recovered = true,
                                        .over_budget_bytes = 2048,
                                        .unsupported_calls = 5,
                                        .overhead_ns = 1500000,
                                        .clock = "tsc",
                                        .clock_error_ns = 17});
    assert_int_equal(run("info h.pb.zst"), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        says(texts[i]);
    assert_int_equal(run("info --json h.pb.zst"), 0);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        says(members[i]);
    write_health(
        &(struct trace_health){.status = HAL_IO, .message = "the disk is gone", .lost_records = 6});
    assert_int_equal(run("info h.pb.zst"), 0);
    says("the disk is gone; 6 records lost");
    assert_int_equal(run("info --json h.pb.zst"), 0);
    says("\"lost_records\":6");
}

TEST(dump_is_in_order_and_complete)
{
    assert_int_equal(run("dump t.pb.zst"), 0);
    assert_string_equal(
        output,
        "     @0.000000ms #1 thread-2: buffer_create buffer=4 size=4096 memory=0 usage=0 "
        "label=\"w?[31m\"?\" flags=0 took 500 ns status=\"out of memory\"\n"
        "     @0.001000ms #2 thread-1: command_buffer_seal command_buffer=5 segment_count=2 "
        "dispatch_count=1 segment_bytes=56 flags=0\n"
        "    0: dispatch executable=9 entry=0 workgroup_count_x=64 workgroup_count_y=2 "
        "workgroup_count_z=1\n"
        "    1: push_constants offset=0 size=4 data=deadbeef\n"
        "     @0.001500ms #3 thread-1: submit submission=12 queue=1 operation=alloca "
        "buffer=4 'w?[31m\"?' offset=256 size=512 waits=[] "
        "signals=[{semaphore=7 value=100}] command_buffers=[5] took 1.250 us\n");
    assert_int_equal(run("dump --no-segments t.pb.zst"), 0);
    assert_int_equal(lines(), 3);
    /* What is not shown names what is. */
    assert_int_equal(run("dump --submission=#s12 t.pb.zst"), 0);
    assert_int_equal(lines(), 1);
    says(" buffer=4 'w?[31m\"?' offset=256 ");
}

/* Of events of one chunk, too: what has begun before the end and ended after the beginning. */
TEST(dump_shows_the_times_that_were_asked_for)
{
    static const struct {
        const char *times, *event;
    } cases[] = {{"--from=1.2", ": submit "},
                 {"--from=1.2us", ": submit "},
                 {"--from=@0.0012ms", ": submit "},
                 {"--from @1200ns", ": submit "},
                 {"--from=2.7 --to=0.000008s", ": submit "},
                 {"--from=2.7 --to=8", ": submit "},
                 {"--from=0.6 --to=1.2", ": command_buffer_seal "},
                 {"--to=0.2", ": buffer_create "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "dump --no-segments %s t.pb.zst", cases[i].times);
        assert_int_equal(run(arguments), 0);
        says(cases[i].event);
        assert_int_equal(lines(), 1);
    }
}

TEST(dump_json_is_one_object_per_line)
{
    assert_int_equal(run("dump --json t.pb.zst"), 0);
    assert_int_equal(lines(), 6);
    assert_memory_equal(output, "{\"origin_ns\":2000}\n", 19);
    says("{\"event\":\"buffer_create\",\"ticket\":1,\"thread\":2,\"begin_ns\":0,\"end_ns\":500,"
         "\"status\":\"out of memory\",\"stack\":0,\"buffer\":4,\"size\":4096,\"memory\":0,"
         "\"usage\":0,\"label\":\"w\\u001b[31m\\\"\xEF\xBF\xBD\",\"flags\":0}\n");
    says(
        "{\"segment\":\"push_constants\",\"command_buffer\":5,\"number\":1,\"offset\":0,\"size\":4,"
        "\"data\":\"deadbeef\"}\n");
    says("\"submission\":12,\"queue\":1,\"operation\":6,\"file\":\"\",\"buffer\":4,\"offset\":256,"
         "\"size\":512,\"file_offset\":0,\"affinity\":0,\"waits\":[],"
         "\"signals\":[{\"semaphore\":7,\"value\":100}],"
         "\"command_buffers\":[5]}\n");
}

TEST(cut_off_files_are_shown_and_said_to_be)
{
    assert_int_equal(run("--version; head -c -30 t.pb.zst > cut"), 0);
    assert_int_equal(run("info cut"), 0);
    says("incomplete");
    assert_int_equal(run("dump cut"), 0);
    says("incomplete");
    says("submit submission=12");
}

TEST(damage_in_the_middle_is_an_error)
{
    /* The last zstd frame but one holds the events: 20 bytes behind its start. */
    assert_int_equal(run("--version; at=$(LC_ALL=C grep -abo \"$(printf '\\050\\265\\057\\375')\" "
                         "t.pb.zst | tail -3 | head -1 | cut -d: -f1); cp t.pb.zst bad; "
                         "printf XXXX | dd of=bad bs=1 seek=$((at + 20)) conv=notrunc"),
                     0);
    assert_int_equal(run("dump bad"), 3);
    says("checksum");
    says("at byte ");
}

TEST(output_that_cannot_be_written)
{
    assert_int_equal(run("dump t.pb.zst >/dev/full"), 3);
    assert_int_equal(run("info t.pb.zst >/dev/full"), 3);
    assert_int_equal(run("dump t.pb.zst | true"), 0); /* nobody reads: no message */
    assert_string_equal(output, "");
}

TEST_SUITE_FIXTURE(write_trace, remove_trace);
