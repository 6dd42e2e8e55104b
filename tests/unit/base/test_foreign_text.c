/* SPDX-License-Identifier: Apache-2.0 */
/* A trace whose every text commands a terminal: nothing of that may come out of any program. What a
 * control character is, the C library says. */
#include "hal/base/text.h"
#include "tests/support/foreign.h"
#include "tests/support/replay_trace.h"

struct fixture {
    struct foreign foreign;
    char good[PATH_MAX], wrong[PATH_MAX], broken[PATH_MAX];
};

/* ---- Traces -------------------------------------------------------------------------------- */

static void open_decorated(struct trace_builder *b, const char *path)
{
    static char texts[10][256];
    static const char *const arguments[] = {texts[0], texts[1]}, *const edits[] = {texts[2]};
    struct trace_header header = builder_default_header();
    const char **const fields[] = {&header.writer,         &header.program,
                                   &header.host,           &header.system,
                                   &header.device.name,    &header.device.architecture,
                                   &header.device.features};
    for (size_t i = 0; i < 3; i++)
        snprintf(texts[i], sizeof *texts, "text %zu%s", i, foreign_text);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(texts[3 + i], sizeof *texts, "%s%s", *fields[i] ? *fields[i] : "", foreign_text);
        *fields[i] = texts[3 + i];
    }
    header.arguments = arguments;
    header.argument_count = 2;
    header.edits = edits;
    header.edit_count = 1;
    builder_open(b, path, &header);
    b->decoration = foreign_text;
    builder_thread(b, 2, 4712, "worker");
    b->thread = 2;
    const uint64_t frames[] = {0x1010, 0x2020};
    builder_module(b, "/lib/module", 0x1000, 0x100);
    b->stack = builder_stack(b, frames, 2);
}

static void close_decorated(struct trace_builder *b)
{
    static char message[256];
    snprintf(message, sizeof message, "a message%s", foreign_text);
    const struct trace_health health = {.status = HAL_IO, .message = message};
    if (builder_close(b, &health) != HAL_OK)
        fail_msg("%s", hal_message());
}

static void build_traces(struct fixture *fixture)
{
    static struct trace_builder b;
    const struct trace_semaphore_value one = {2, 1};
    open_decorated(&b, test_folder_file(&fixture->foreign.folder, "good.pb.zst", fixture->good));
    every_build(&b, false);
    close_decorated(&b);
    /* Its kernel has a name that no compiler knows. */
    open_decorated(&b,
                   test_folder_file(&fixture->foreign.folder, "broken.pb.zst", fixture->broken));
    every_build(&b, true);
    close_decorated(&b);
    open_decorated(&b, test_folder_file(&fixture->foreign.folder, "wrong.pb.zst", fixture->wrong));
    builder_buffer_create(&b, 1, "result", 64);
    builder_semaphore_create(&b, 2, "done", 0);
    builder_command_buffer_create(&b, 3, "commands", 0);
    builder_fill(&b, 1, 0, 64, 0x3f800000, 4);
    builder_end_commands(&b, 3);
    builder_submit(&b, 12, 0, NO_VALUES, VALUES(one), IDS(3));
    builder_semaphore_wait(&b, 0, &one, 1, INT64_MAX);
    builder_host_read(&b, 1, 8, "\0\0\x80\x3f\0\0\x80\x40", 8);
    builder_submission_done(&b, 12, 0, 3300, 3400, 3500);
    close_decorated(&b);
}

/* ---- What comes out ------------------------------------------------------------------------ */

/* Returns whether something of the file was in it. */
static bool check(const struct fixture *fixture, const char *program, const char *arguments,
                  const char *trace)
{
    char line[4 * PATH_MAX];
    snprintf(line, sizeof line, "%s %s '%s'", program, arguments, trace);
    const int status = foreign_run(&fixture->foreign, line);
    assert_true(output[0] && status != 2);
    return strstr(output, "forged") != NULL;
}

/* ---- Tests --------------------------------------------------------------------------------- */

TEST(the_check_sees_it)
{
    wchar_t c;
    static const char *const bad[] = {"\x1b", "\xC2\x9B", "\x7f", "\r"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mbstate_t fresh = {0};
        assert_true(mbrtowc(&c, bad[i], strlen(bad[i]), &fresh) > 0);
        assert_true(iswcntrl((wint_t)c));
    }
    mbstate_t fresh = {0};
    assert_true(mbrtowc(&c, "\x9B", 1, &fresh) > 4);
}

TEST(copies_are_clean)
{
    assert_string_equal(hal_shown("a\x1b]0;x\x07\n\xFF\xC2\x9B\x7F caf\xC3\xA9").text,
                        "a?]0;x????? caf\xC3\xA9");
    assert_string_equal(hal_shown_lines("a\nb\tc\x1b\n").text, "a\n    b c?");
    assert_string_equal(hal_shown(NULL).text, "");
    char longest[2 * HAL_SHOWN_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const struct hal_shown shown = hal_shown(longest);
    assert_in_range(strlen(shown.text), HAL_SHOWN_BYTES - 16, HAL_SHOWN_BYTES - 1);
    assert_string_equal(shown.text + strlen(shown.text) - 4, "x...");
    char text[] = "a\nb\rc\xFF";
    hal_text_clean(text, strlen(text), true);
    assert_string_equal(text, "a\nb?c?");
    hal_text_clean(text, strlen(text), false);
    assert_string_equal(text, "a?b?c?");
}

TEST_ON(replays_are_plain, struct fixture *fixture)
{
    static const char *const plain[] = {"",
                                        "--json",
                                        "--trusted",
                                        "--trusted --json",
                                        "--trusted --bisect",
                                        "--trusted --bisect --against=cpu",
                                        "--trusted --benchmark=0.01",
                                        "--trusted --isolate --repeat=2",
                                        "--trusted --what-if=coalesce-submissions --runs=6",
                                        "--trusted --stop-at=#s99"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(check(fixture, "hal-replay", plain[i], fixture->good) || i == 9);
    static const char *const different[] = {"", "--trusted", "--trusted --json",
                                            "--trusted --bisect", "--trusted --bisect --json"};
    for (size_t i = 0; i < sizeof different / sizeof *different; i++)
        assert_true(check(fixture, "hal-replay", different[i], fixture->wrong));
    static const char *const failing[] = {"", "--trusted", "--trusted --json"};
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++)
        assert_true(check(fixture, "hal-replay", failing[i], fixture->broken));
}

TEST_ON(tools_are_plain, struct fixture *fixture)
{
    char merged[2 * PATH_MAX];
    static const char *const commands[] = {"info",
                                           "info --json",
                                           "dump",
                                           "dump --json",
                                           "stats",
                                           "stats --json",
                                           "symbolize",
                                           "verify",
                                           "races",
                                           "extract --executables=kernels",
                                           "export --format=chrome",
                                           "export --format=jsonl"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        check(fixture, "hal-trace", commands[i], fixture->broken);
    assert_true(check(fixture, "hal-trace", "dump", fixture->broken));
    assert_true(check(fixture, "hal-trace", "info", fixture->broken));
    snprintf(merged, sizeof merged, "diff '%s'", fixture->good);
    check(fixture, "hal-trace", merged, fixture->broken);
    snprintf(merged, sizeof merged, "diff --json '%s'", fixture->good);
    check(fixture, "hal-trace", merged, fixture->broken);
    snprintf(merged, sizeof merged, "merge -f -o merged.pb.zst '%s'", fixture->good);
    check(fixture, "hal-trace", merged, fixture->broken);
}

TEST_ON(views_are_plain, struct fixture *fixture)
{
    char other[2 * PATH_MAX];
    static const char reports[] =
        "--print=summary,timeline,submissions,gaps,findings,kernels,memory,iterations ";
    static const char *const options[] = {"--utf8", "--ascii", "--json", "--fail-on='failures>0'"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(other, sizeof other, "%s%s", reports, options[i]);
        assert_true(check(fixture, "hal-view", other, fixture->broken));
    }
    static const char *const keys[] = {
        "", "j<Enter>", "jj<Enter>", "g#s0<Enter>", "/forged<Enter>", "5", "6"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(other, sizeof other, "--dump-frame --color=never --utf8 --keys='%s'", keys[i]);
        check(fixture, "hal-view", other, fixture->broken);
    }
    snprintf(other, sizeof other, "--diff='%s'", fixture->good);
    check(fixture, "hal-view", other, fixture->broken);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!foreign_begin(&fixture.foreign))
        return -1;
    build_traces(&fixture);
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    test_folder_remove(&fixture->foreign.folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
