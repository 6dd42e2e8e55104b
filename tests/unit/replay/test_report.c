/* SPDX-License-Identifier: Apache-2.0 */
/* replay/compare/exit_code.c, report.c, report_json.c: verdicts, times, text and JSON. */
#include "replay/cli/report.h"
#include "tests/support/test.h"

#include <math.h>

static const struct trace_header header = {
    .program = "/bin/app",
    .device = {.uri = "cpu",
               .name = "A \"quoted\" \\ name\n",
               .simd_width = 32,
               .architecture = "",
               .features = ""},
};

static struct replay_plan_info whole_plan(void)
{
    return (struct replay_plan_info){.header = &header,
                                     .incomplete = "",
                                     .cut = "",
                                     .contents_in_memory = true,
                                     .submissions = 3};
}

TEST(verdicts)
{
    struct replay_plan_info plan = whole_plan();
    struct replay_report report = {0};
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_INCOMPARABLE);
    report.compared_reads = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_SAME);
    plan.unrecorded_reads = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_INCOMPARABLE);
    plan.unrecorded_reads = 0;
    plan.skipped_reads = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_INCOMPARABLE);
    plan.skipped_reads = 0;
    plan.incomplete = "cut off";
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_INCOMPARABLE);
    plan.incomplete = "";
    report.unmet_losses = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_INCOMPARABLE);
    report.different_outcomes = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_DIFFERENT);
    report.different_outcomes = 0;
    report.different_reads = 1;
    assert_int_equal(replay_exit_code(&plan, &report), REPLAY_EXIT_DIFFERENT);
}

TEST(medians)
{
    int64_t odd[] = {30, 10, 20}, even[] = {40, 10, 30, 20}, one[] = {7};
    struct replay_times times = replay_times_of(odd, 3);
    assert_int_equal(times.min_ns, 10);
    assert_int_equal(times.median_ns, 20);
    assert_int_equal(times.max_ns, 30);
    times = replay_times_of(even, 4);
    assert_int_equal(times.median_ns, 25);
    assert_int_equal(times.max_ns, 40);
    assert_int_equal(replay_times_of(one, 1).median_ns, 7);
    assert_int_equal(replay_times_of(NULL, 0).max_ns, 0);
}

typedef bool printer(FILE *file, const struct replay_summary *summary);

static char *print(printer *how, const struct replay_summary *summary)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_true(how(file, summary));
    assert_int_equal(fclose(file), 0);
    return text;
}

static void expect(printer *how, const struct replay_summary *summary, const char *part)
{
    char *text = print(how, summary);
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
    free(text);
}

TEST(the_text_names_the_difference)
{
    const struct replay_plan_info plan = whole_plan();
    const struct hal_device_info device = {.uri = "cpu?threads=1", .name = "This", .simd_width = 8};
    struct replay_summary summary = {
        .exit_code = REPLAY_EXIT_DIFFERENT,
        .path = "t.pb.zst",
        .error = "",
        .plan = &plan,
        .device = &device,
        .runs = 2,
        .different_runs = 1,
        .total = {1000000, 2500000, 4000000},
        .prepare_ns = 77,
        .report = {.compared_reads = 5,
                   .compared_bytes = 640,
                   .different_reads = 1,
                   .first = {.label = "out",
                             .offset = 9,
                             .read_bytes = 128,
                             .different_bytes = 2,
                             .sample_offset = 8,
                             .sample_bytes = 8,
                             .expected = {0, 0, 0x80, 0x3f},
                             .actual = {0, 1, 0x80, 0x3f},
                             .locator = "#s1.d2",
                             .writer = "dispatch of 'k', segment 4"}},
    };
    expect(replay_print_text, &summary,
           "DIFFERENT: 5 read-backs compared (640 bytes), 1 different");
    expect(replay_print_text, &summary, "first difference: #s1.d2: buffer 'out', offset 9: 2 of");
    expect(replay_print_text, &summary, "expected 00 00 80 3f 00");
    expect(replay_print_text, &summary, "got 00 01 80 3f 00");
    expect(replay_print_text, &summary,
           "as f32: expected 1, got 1.00003052; as i32: expected "
           "1065353216, got 1065353472");
    expect(replay_print_text, &summary, "last written by #s1.d2, dispatch of 'k', segment 4");
    expect(replay_print_text, &summary, "1 of 2 runs differ");
    expect(replay_print_text, &summary, "min 1.000 ms, median 2.500 ms, max 4.000 ms");
    expect(replay_print_text, &summary, "32 threads in the recording, and have 8 here");
    expect(replay_print_json, &summary, "\"locator\":\"#s1.d2\"");
    /* Also what nobody thought that it could hold them. */
    strcpy(summary.report.first.locator, "\x1b]0;x\x07\xC2\x9B");
    expect(replay_print_text, &summary, "first difference: ?]0;x???: ");
    strcpy(summary.report.first.locator, "#s1.d2");
    expect(replay_print_json, &summary, "\"expected\":\"0000803f00000000\"");
    expect(replay_print_json, &summary,
           "\"prepare_ns\":null,\"total_ns\":null,\"device_wait_ns\":null");
    summary.has_prepare = summary.has_total = true;
    expect(replay_print_json, &summary,
           "\"prepare_ns\":77,\"total_ns\":{\"min\":1000000,\"median\":2500000");
    expect(replay_print_json, &summary, "},\"device_wait_ns\":null");
    summary.has_wait = true;
    expect(replay_print_json, &summary, "},\"device_wait_ns\":{\"min\":0,");
}

static void expect_hint(const struct replay_summary *summary, const char *hint)
{
    char *text = print(replay_print_text, summary);
    const char *found = strstr(text, "if all of it is f32: ");
    if (hint && (!found || strncmp(found, hint, strlen(hint)) != 0))
        fail_msg("'%s' is not in: %s", hint, text);
    if (!hint && found)
        fail_msg("a hint is in: %s", text);
    free(text);
}

/* A relative tolerance where all differ by little of themselves; else one of what the largest is.
 */
TEST(last_bits_have_a_hint)
{
    const struct replay_plan_info plan = whole_plan();
    const struct hal_device_info device = {.uri = "metal://7", .architecture = "mac2"};
    struct replay_summary summary = {
        .exit_code = REPLAY_EXIT_DIFFERENT,
        .path = "t.pb.zst",
        .error = "",
        .plan = &plan,
        .device = &device,
        .runs = 1,
        .report = {.different_reads = 2, .float_reads = 2},
    };
    struct replay_errors *floats = &summary.report.floats;
    const struct replay_errors near = {.wrong = 149,
                                       .worst_absolute = 2e-6,
                                       .worst_relative = 1e-5,
                                       .worst_ulp = 99,
                                       .largest = 0.5};
    *floats = near;
    expect_hint(&summary,
                "if all of it is f32: 149 elements of this run differ, by up to 2e-06 and 99 ulp, "
                "where the largest is 0.5: --type=f32 --tolerance=rel:1.1e-05 accepts them\n");
    floats->worst_relative = (double)INFINITY;
    expect_hint(&summary, "if all of it is f32: 149 elements of this run differ, by up to 2e-06 "
                          "and 99 ulp, where the largest is 0.5: --type=f32 "
                          "--tolerance=abs:2.1e-06 accepts them\n");
    floats->worst_absolute = 6e-5; /* more than rounding explains */
    expect_hint(&summary, NULL);
    *floats = near;
    floats->largest = 7e-45; /* numbers so small are numbers of another type */
    expect_hint(&summary, NULL);
    *floats = near;
    floats->actual_nan = 1; /* which no tolerance takes for a number */
    expect_hint(&summary, NULL);
    *floats = near;
    summary.report.different_reads = 3; /* of which one is no f32 */
    expect_hint(&summary, NULL);
}

TEST(a_guess_is_called_one)
{
    const struct replay_plan_info plan = whole_plan();
    const struct hal_device_info device = {.uri = "cpu", .name = "This"};
    const struct replay_errors errors = {.type = REPLAY_F32,
                                         .guessed = true,
                                         .elements = 8,
                                         .wrong = 3,
                                         .inexact = 2,
                                         .expected_nan = 1,
                                         .actual_nan = 4,
                                         .nan_map = "..ab",
                                         .worst_absolute = 6,
                                         .worst_relative = 1.5,
                                         .worst_ulp = 77,
                                         .worst_expected = 4,
                                         .worst_actual = 10,
                                         .worst_offset = 20};
    struct replay_summary summary = {
        .exit_code = REPLAY_EXIT_DIFFERENT,
        .path = "t.pb.zst",
        .error = "",
        .plan = &plan,
        .device = &device,
        .runs = 1,
        .report = {.compared_reads = 1,
                   .different_reads = 1,
                   .errors = errors,
                   .worst_buffer = 23,
                   .worst_read_offset = 100,
                   .first = {.sample_bytes = 4, .expected = {0, 0, 0x80, 0x3f}, .errors = errors}}};
    expect(replay_print_text, &summary,
           "errors: 3 elements wrong, 2 others different but within the tolerance; largest 6, "
           "relative 1.5, 77 "
           "ulp; expected 4, got 10 (f32, a guess) in buffer 23, offset 120\n");
    expect(replay_print_json, &summary, "\"type\":\"f32\",\"guessed\":true,\"wrong\":3,");
    summary.report.errors.guessed = summary.report.first.errors.guessed = false;
    expect(replay_print_text, &summary, "  as f32: expected 1, got 0; ");
    expect(replay_print_text, &summary, "got 10 (f32) in buffer 23");
}

/* Of pairs whose gain is the time of the base by that of the other. */
TEST(slower_is_what_is_sure_and_over_the_threshold)
{
    const struct trace_interval slower = {.low = 0.8, .median = 0.85, .high = 0.9};
    assert_true(replay_is_slower(&slower, 0));
    assert_true(replay_is_slower(&slower, 11)); /* it takes at least 1 / 0.9 = 1.11 as long */
    assert_false(replay_is_slower(&slower, 12));
    const struct trace_interval unsure = {.low = 0.5, .median = 0.8, .high = 1.01};
    assert_false(replay_is_slower(&unsure, 0));
    const struct trace_interval faster = {.low = 1.1, .median = 1.2, .high = 1.3};
    assert_false(replay_is_slower(&faster, 0));
    assert_false(replay_is_slower(&faster, 100));
    const struct trace_interval same = {.low = 1, .median = 1, .high = 1};
    assert_false(replay_is_slower(&same, 0));
}

TEST(a_comparison_says_which_is_which)
{
    const struct replay_plan_info plan = whole_plan();
    const struct hal_device_info device = {.uri = "cpu", .name = "This"};
    struct replay_summary summary = {.exit_code = REPLAY_EXIT_DIFFERENT,
                                     .path = "t.pb.zst",
                                     .error = "",
                                     .plan = &plan,
                                     .device = &device,
                                     .runs = 6,
                                     .report = {.compared_reads = 1},
                                     .compare = "other.pb.zst",
                                     .slower = true,
                                     .paired = {.pairs = 6,
                                                .base = {.median_ns = 1000000},
                                                .variant = {.median_ns = 2000000},
                                                .gain = {0.4, 0.5, 0.6}}};
    expect(replay_print_text, &summary,
           "time: 1.000 ms, and 2.000 ms with other.pb.zst: 0.500x as fast (95 % interval 0.400 to "
           "0.600, 6 pairs): SLOWER\n");
    expect(replay_print_text, &summary, "\nSLOWER: 1 read-back compared (0 bytes), 0 different, ");
    expect(replay_print_json, &summary, "\"exit_code\":1,\"result\":\"slower\",");
    expect(replay_print_json, &summary, "\"slower\":true,");
    summary.different_runs = 1; /* of either way */
    expect(replay_print_text, &summary, "\nDIFFERENT: 1 read-back compared ");
    expect(replay_print_json, &summary, "\"exit_code\":1,\"result\":\"different\",");
    expect(replay_print_json, &summary, "\"slower\":true,");
    summary.different_runs = 0;
    summary.error = "the report's end";
    expect(replay_print_text, &summary, "\ngave up: 1 read-back compared ");
    expect(replay_print_json, &summary, "\"result\":\"error\",");
    summary.error = "";
    summary.slower = false;
    expect(replay_print_text, &summary, "0.600, 6 pairs)\n");
    summary.paired.gain = (struct trace_interval){0.9, 1, 1.1};
    expect(replay_print_text, &summary, "1.100, 6 pairs): not a significant difference\n");
}

TEST(a_recorded_loss_is_told)
{
    struct replay_plan_info plan = whole_plan();
    const struct hal_device_info device = {.uri = "cpu", .name = "This"};
    plan.lost = true;
    plan.lost_submission = 7;
    struct replay_summary summary = {.exit_code = REPLAY_EXIT_INCOMPARABLE,
                                     .path = "t.pb.zst",
                                     .error = "",
                                     .plan = &plan,
                                     .device = &device,
                                     .runs = 1,
                                     .report = {.unmet_losses = 2}};
    expect(replay_print_text, &summary,
           "the recorded device was lost; #s7 is the first submission that it did not complete");
    expect(replay_print_text, &summary,
           "2 waits or semaphores failed because the recorded device was lost");
    expect(replay_print_json, &summary, "\"recorded_loss\":true,\"lost_submission\":7,");
    expect(replay_print_json, &summary, "\"unmet_losses\":2");
    plan.lost_submission = UINT64_MAX;
    expect(replay_print_text, &summary, "the recorded device was lost\n");
    expect(replay_print_json, &summary, "\"lost_submission\":null");
}

TEST(strings_are_escaped)
{
    const struct replay_plan_info plan = whole_plan();
    const struct replay_summary summary = {
        .exit_code = REPLAY_EXIT_UNREADABLE,
        .path = "t\t\x7f\xc3\xa9\xff\xc3(\xed\xa0\x80",
        .error = "no",
        .plan = &plan,
    };
    expect(replay_print_json, &summary,
           "\"file\":\"t\\u0009\\u007f\xc3\xa9\xef\xbf\xbd"
           "\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    expect(replay_print_json, &summary, "\"device_name\":\"A \\\"quoted\\\" \\\\ name\\u000a\"");
    expect(replay_print_json, &summary, "\"result\":\"error\",\"message\":\"no\"");
}
