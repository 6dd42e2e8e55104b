/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/describe/compare.c: two captures of one program are the same however noisy they are, and
 * one of a program that takes half as long again is not; and whoever tells what a scope, an
 * iteration or a kernel typically takes, tells the same. */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "viewer/describe/compare.h"
#include "viewer/describe/describe.h"
#include "viewer/describe/iterations.h"
#include "viewer/report/report.h"
#include "viewer/ui/panes.h"

#include <unistd.h>

enum { START_NS = 1000, DONE = 1, COMMANDS = 10, KERNEL = 900, MOST = 64 };

static char folder[] = "/tmp/test_compare.XXXXXX";
static char paths[2][64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%c.pb.zst", folder, 'a' + i);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(paths[0]);
    unlink(paths[1]);
    return rmdir(folder);
}

/* ---- Programs ---- */

static void at(struct trace_builder *b, int64_t ns)
{
    b->begin_ns = START_NS + ns;
    b->step_ns = 0;
}

static void begin_trace(struct trace_builder *b, const char *path)
{
    builder_open(b, path, NULL);
    const struct trace_entry_point entry = {.name = builder_string(b, "mul"),
                                            .group_size = {1, 1, 1}};
    at(b, 0);
    builder_semaphore_create(b, DONE, "done", 0);
    builder_executable_create(b, KERNEL, "", "", &entry, 1);
    builder_command_buffer_create(b, COMMANDS, NULL, 0);
    builder_dispatch(b, KERNEL, 0, 1, 1, 1);
    builder_end_commands(b, COMMANDS);
}

static struct view_model *end_trace(struct trace_builder *b, const char *path)
{
    struct view_model *m;
    assert_int_equal(builder_close(b, &(struct trace_health){0}), HAL_OK);
    assert_int_equal(view_model_open(path, &m), HAL_OK);
    return m;
}

static void scope(struct trace_builder *b, uint32_t thread, int number, int64_t begin_ns,
                  int64_t took_ns)
{
    char name[32];
    snprintf(name, sizeof name, "token %d", number);
    b->thread = thread;
    at(b, begin_ns);
    builder_scope_begin(b, name);
    at(b, begin_ns + took_ns);
    builder_scope_end(b);
}

/* A token each, with one dispatch that runs for half as long. Without names there are submissions
 * alone. */
static struct view_model *program(const char *path, const int64_t *durations_ns, int count,
                                  bool named)
{
    struct trace_builder b;
    int64_t now_ns = 1000;
    begin_trace(&b, path);
    for (int i = 0; i < count; i++) {
        const struct trace_semaphore_value signal = {DONE, (uint64_t)i + 1};
        at(&b, now_ns);
        if (named)
            scope(&b, 1, i, now_ns, durations_ns[i]);
        at(&b, now_ns);
        builder_submit(&b, (uint64_t)i, 0, NO_VALUES, VALUES(signal), IDS(COMMANDS));
        builder_submission_done(&b, (uint64_t)i, 0, START_NS + now_ns, START_NS + now_ns,
                                START_NS + now_ns + durations_ns[i] / 2);
        now_ns += durations_ns[i];
    }
    return end_trace(&b, path);
}

/* ---- What is told ---- */

struct compared {
    struct view_model *models[2];
    struct view_comparison comparison;
};

static void compare(const int64_t *first, int first_count, const int64_t *second, int second_count,
                    bool named, struct compared *out)
{
    out->models[0] = program(paths[0], first, first_count, named);
    out->models[1] = program(paths[1], second, second_count, named);
    assert_int_equal(view_compare(out->models[0], out->models[1], &out->comparison), HAL_OK);
    assert_int_equal(out->comparison.scopes_count, first_count > 2 || named);
    assert_int_equal(out->comparison.kernels_count, 1);
}

static void finish(struct compared *c)
{
    view_comparison_finish(&c->comparison);
    view_model_close(c->models[0]);
    view_model_close(c->models[1]);
}

static enum trace_change change_of(const struct view_pair *pair)
{
    return trace_typical_compare(&pair->each[0], &pair->each[1]);
}

static bool texts_have(const struct view_comparison *comparison, const char *text)
{
    struct view_lines lines = {0};
    view_comparison_lines(comparison, &lines);
    const bool has = strstr(lines.text, text) != NULL;
    view_lines_finish(&lines);
    return has;
}

/* ---- Tests ---- */

static double next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*random >> 11) / 9007199254740992.0;
}

/* 100 us by `factor`: a slow start, a little noise, and interruptions of any length. */
static void make_noise(uint64_t *random, double factor, int64_t durations_ns[MOST])
{
    for (int i = 0; i < MOST; i++) {
        double us = 100 * factor * (1 + 0.04 * next_random(random)) * (i < 3 ? 4 : 1);
        if (next_random(random) < 0.125)
            us += 10 / (1 - next_random(random));
        durations_ns[i] = (int64_t)(us * 1000);
    }
}

TEST(noise_is_no_difference_and_half_as_long_again_is_one)
{
    enum { PAIRS = 20, SEED = 23 };
    uint64_t random = SEED;
    printf("seed %d\n", SEED);
    for (int i = 0; i < PAIRS; i++) {
        int64_t first[MOST], second[MOST], longer[MOST];
        struct compared c;
        make_noise(&random, 1, first);
        make_noise(&random, 1, second);
        make_noise(&random, 1.5, longer);
        compare(first, MOST, second, MOST, i % 2, &c);
        assert_int_equal(change_of(&c.comparison.scopes[0]), TRACE_CHANGE_NONE);
        assert_int_equal(change_of(&c.comparison.kernels[0]), TRACE_CHANGE_NONE);
        assert_true(texts_have(&c.comparison, "no significant difference ("));
        finish(&c);
        compare(first, MOST, longer, MOST, i % 2, &c);
        assert_int_equal(change_of(&c.comparison.scopes[0]), TRACE_CHANGE_LONGER);
        assert_int_equal(change_of(&c.comparison.kernels[0]), TRACE_CHANGE_LONGER);
        assert_true(texts_have(&c.comparison, "  longer ("));
        finish(&c);
    }
}

TEST(few_iterations_do_not_tell)
{
    const int64_t first[] = {100000, 100000, 100000}, second[] = {900000, 900000, 900000};
    for (int count = 1; count <= 3; count++) {
        struct compared c;
        char text[80];
        compare(first, count, second, count, true, &c);
        assert_int_equal(change_of(&c.comparison.scopes[0]), TRACE_CHANGE_UNKNOWN);
        snprintf(text, sizeof text, "+800.0 %%  too few to tell: %d and %d", count, count);
        assert_true(texts_have(&c.comparison, text));
        assert_true(texts_have(&c.comparison, "one value each: too few to tell"));
        finish(&c);
    }
}

/* What is written by the report. The memory is the caller's. */
static char *printed(const struct view_model *m, enum view_report report, bool json)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_int_equal(view_report_write(m, report,
                                       &(struct view_report_options){.width = 100, .json = json},
                                       file),
                     HAL_OK);
    fclose(file);
    return text;
}

/* Warm-up, then 100 to 107 us, but for two interruptions: without the two of warm-up the durations
 * are 100 ... 107 us, 900 and 700 us; their median is 104.5 us, and the interval of ten from the
 * 2nd to the 9th. Half of each is the kernel's. */
TEST(all_reports_tell_the_same)
{
    static const int64_t us[12] = {800, 300, 100, 107, 900, 101, 106, 102, 105, 700, 103, 104};
    int64_t durations[12], steady[12];
    struct compared c;
    for (int i = 0; i < 12; i++) {
        durations[i] = us[i] * 1000;
        steady[i] = 100000;
    }
    compare(durations, 12, steady, 12, true, &c);
    const struct view_model *m = c.models[0];
    const struct trace_typical right = {10, 104500, 101000, 700000, 100000, 900000, 2};
    struct view_work work;
    struct view_iterations its;
    assert_int_equal(view_work_init(m, NULL, &work), HAL_OK);
    assert_int_equal(view_iterations_find(m, &work, NULL, &its), HAL_OK);
    assert_int_equal(its.warm_up, 2);
    assert_true(its.list[1].warm_up && !its.list[2].warm_up);
    assert_memory_equal(&m->families[0].time, &right, sizeof right);
    assert_memory_equal(&its.time, &right, sizeof right);
    assert_memory_equal(&c.comparison.scopes[0].each[0], &right, sizeof right);
    assert_int_equal(c.comparison.kernels[0].each[0].median_ns, 52250);
    view_iterations_finish(&its);
    view_work_finish(&work);
    static const struct {
        enum view_report report;
        bool json;
        const char *text;
    } reports[] = {
        {VIEW_REPORT_SUMMARY, false,
         "token #: 10 × 104.500 us (101.000 us to 700.000 us), and 2 of warm-up"},
        {VIEW_REPORT_ITERATIONS, false,
         "104.500 us (101.000 us to 700.000 us); shortest 100.000 us, longest"},
        {VIEW_REPORT_KERNELS, false, "52.250 us"},
        {VIEW_REPORT_SUMMARY, true, "\"median_ns\":104500,\"low_ns\":101000,\"high_ns\":700000"},
        {VIEW_REPORT_ITERATIONS, true, "\"median_ns\":104500,\"low_ns\":101000,\"high_ns\":700000"},
        {VIEW_REPORT_KERNELS, true, "\"median_ns\":52250,\"low_ns\":50500,\"high_ns\":350000"},
    };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        char *text = printed(m, reports[i].report, reports[i].json);
        if (!strstr(text, reports[i].text))
            fail_msg("%s is not in:\n%s", reports[i].text, text);
        free(text);
    }
    assert_true(texts_have(&c.comparison, "104.500 us  ->"));
    finish(&c);
}

/* Two threads: the second one's scopes come behind the first one's in the file. The slow ones,
 * which are the first of both by time, are warm-up. */
TEST(scopes_of_several_threads_are_in_order_of_time)
{
    struct trace_builder b;
    begin_trace(&b, paths[0]);
    for (int i = 0; i < 8; i++)
        scope(&b, 1, i, 10000 + 1000 * i, i == 0 ? 900 : 100 + i);
    builder_flush(&b);
    for (int i = 0; i < 8; i++)
        scope(&b, 2, 100 + i, 10050 + 1000 * i, i == 0 ? 800 : 200 + i);
    struct view_model *m = end_trace(&b, paths[0]);
    const struct trace_typical *time = &m->families[0].time;
    assert_int_equal(time->warm_up, 2);
    assert_int_equal(time->count, 14);
    assert_int_equal(time->min_ns, 101);
    assert_int_equal(time->max_ns, 207);
    assert_int_equal(time->median_ns, (107 + 201) / 2);
    view_model_close(m);
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
