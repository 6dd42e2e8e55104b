/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/counters.c: levels that are added up by hand, of tables made by hand. */
#include "tests/support/test.h"
#include "viewer/ui/counters.h"

/* #s0 waits from 0 to 100 and runs to 300; #s1 comes at 200 and runs from 300 to 400; #s2 comes at
 * 350 and never runs; of #s3 the file tells neither. */
static struct view_call calls[] = {{.begin_ns = 0}, {.begin_ns = 200}, {.begin_ns = 350}};
static struct view_submission submissions[] = {
    {.number = 0, .call = 0, .begin_ns = 100, .end_ns = 300, .done = true},
    {.number = 1, .call = 1, .begin_ns = 300, .end_ns = 400, .done = true},
    {.number = 2, .call = 2, .begin_ns = VIEW_NO_TIME, .end_ns = VIEW_NO_TIME},
    {.number = 3, .call = VIEW_NO_REF, .begin_ns = 10, .end_ns = 20, .done = true}};

/* A thousand bytes evenly, meanwhile five hundred at once; read back are thirty in ten. */
static struct view_transfer transfers[] = {
    {.begin_ns = 0, .end_ns = 1000, .bytes = 1000, .class = VIEW_UPLOAD},
    {.begin_ns = 500, .end_ns = 500, .bytes = 500, .class = VIEW_UPLOAD},
    {.begin_ns = 700, .end_ns = 710, .bytes = 30, .class = VIEW_READBACK},
    {.begin_ns = 0, .end_ns = 1000, .bytes = 9999, .class = VIEW_OBSERVED}};

static const struct view_model model = {.calls = calls,
                                        .calls_count = 3,
                                        .submissions = submissions,
                                        .submissions_count = 4,
                                        .transfers = transfers,
                                        .transfers_count = 4,
                                        .last_ns = 1000};

TEST(levels_rise_and_fall_with_what_happens)
{
    static const struct {
        int64_t ns;
        double waiting, in_flight, uploads, readbacks;
    } moments[] = {{-1, 0, 0, 0, 0},    {0, 1, 1, 1e9, 0},     {99, 1, 1, 1e9, 0},
                   {100, 0, 1, 1e9, 0}, {200, 1, 2, 1e9, 0},   {300, 0, 1, 1e9, 0},
                   {350, 1, 2, 1e9, 0}, {400, 1, 1, 1e9, 0},   {500, 1, 1, 501e9, 0},
                   {501, 1, 1, 1e9, 0}, {700, 1, 1, 1e9, 3e9}, {999, 1, 1, 1e9, 0},
                   {1000, 0, 0, 0, 0},  {5000, 0, 0, 0, 0}};
    struct view_counters counters;
    assert_int_equal(view_counters_find(&model, NULL, &counters), HAL_OK);
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        const double levels[VIEW_COUNTER_COUNT] = {moments[i].waiting, moments[i].in_flight,
                                                   moments[i].uploads, moments[i].readbacks};
        for (unsigned k = 0; k < VIEW_COUNTER_COUNT; k++)
            assert_float_equal(view_counter_at(&counters, (enum view_counter)k, moments[i].ns),
                               levels[k], 1);
    }
    view_counters_finish(&counters);
}

TEST(means_are_areas_by_lengths)
{
    struct view_counters counters;
    assert_int_equal(view_counters_find(&model, NULL, &counters), HAL_OK);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_IN_FLIGHT, 0, 400), 1.375, 1e-9);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_WAITING, 50, 250), 0.5, 1e-9);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_UPLOADS, 0, 1000), 1.5e9, 1);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_READBACKS, 600, 800), 150e6, 1);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_READBACKS, 720, 730), 0, 0);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_IN_FLIGHT, -100, 100), 0.5, 1e-9);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_IN_FLIGHT, 250, 250), 2, 0);
    view_counters_finish(&counters);
}

/* Fractions do not add up to nothing, what has ended does. */
TEST(nothing_is_left_of_what_has_ended)
{
    enum { COUNT = 40 };
    struct view_transfer overlapping[COUNT];
    const struct view_model m = {
        .transfers = overlapping, .transfers_count = COUNT, .last_ns = 1000};
    struct view_counters counters;
    for (int i = 0; i < COUNT; i++) {
        const int64_t ns = 7 + i % 11;
        overlapping[i] = (struct view_transfer){
            .begin_ns = i, .end_ns = i + ns, .bytes = 1, .class = VIEW_UPLOAD};
    }
    assert_int_equal(view_counters_find(&m, NULL, &counters), HAL_OK);
    assert_true(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, COUNT) > 0);
    assert_true(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, 500) == 0);
    assert_true(view_counter_mean(&counters, VIEW_COUNTER_UPLOADS, 500, 600) == 0);
    view_counters_finish(&counters);
}

/* What is small is exact behind what is large. */
TEST(means_do_not_drown)
{
    struct view_transfer two[] = {
        {.begin_ns = 0, .end_ns = 1000, .bytes = 1000000000000000000u, .class = VIEW_UPLOAD},
        {.begin_ns = 2000, .end_ns = 2010, .bytes = 30, .class = VIEW_UPLOAD}};
    const struct view_model m = {.transfers = two, .transfers_count = 2, .last_ns = 3000};
    struct view_counters counters;
    assert_int_equal(view_counters_find(&m, NULL, &counters), HAL_OK);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_UPLOADS, 2002, 2003), 3e9, 1);
    view_counters_finish(&counters);
}

/* Which neither begins nor ends anything. */
TEST(transfers_of_nothing_change_nothing)
{
    struct view_transfer several[] = {
        {.begin_ns = 0, .end_ns = 1000, .bytes = 1000, .class = VIEW_UPLOAD},
        {.begin_ns = 100, .end_ns = 200, .bytes = 0, .class = VIEW_UPLOAD},
        {.begin_ns = 300, .end_ns = 300, .bytes = 0, .class = VIEW_UPLOAD},
        {.begin_ns = 400, .end_ns = 900, .bytes = 500, .class = VIEW_UPLOAD}};
    const struct view_model m = {.transfers = several, .transfers_count = 4, .last_ns = 1000};
    struct view_counters counters;
    assert_int_equal(view_counters_find(&m, NULL, &counters), HAL_OK);
    assert_float_equal(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, 150), 1e9, 1);
    assert_float_equal(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, 350), 1e9, 1);
    assert_float_equal(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, 500), 2e9, 1);
    assert_float_equal(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, 950), 1e9, 1);
    view_counters_finish(&counters);
}

/* Of 1e18 bytes a nanosecond the next number is far away: small ones add nothing to it, and would
 * be taken from nothing. */
TEST(no_level_is_below_nothing)
{
    struct view_transfer several[] = {
        {.begin_ns = 0, .end_ns = 30, .bytes = UINT64_MAX, .class = VIEW_UPLOAD},
        {.begin_ns = 10, .end_ns = 50, .bytes = 40, .class = VIEW_UPLOAD},
        {.begin_ns = 20, .end_ns = 60, .bytes = 40, .class = VIEW_UPLOAD}};
    const struct view_model m = {.transfers = several, .transfers_count = 3, .last_ns = 100};
    struct view_counters counters;
    assert_int_equal(view_counters_find(&m, NULL, &counters), HAL_OK);
    for (int64_t ns = 0; ns < 70; ns += 5) {
        assert_true(view_counter_at(&counters, VIEW_COUNTER_UPLOADS, ns) >= 0);
        assert_true(view_counter_mean(&counters, VIEW_COUNTER_UPLOADS, ns, ns + 5) >= 0);
    }
    view_counters_finish(&counters);
}

TEST(a_stopped_task_counts_nothing)
{
    struct view_task task = {.stop = true};
    struct view_counters counters;
    assert_int_equal(view_counters_find(&model, &task, &counters), HAL_TIMEOUT);
    assert_null(counters.of[VIEW_COUNTER_WAITING].knots);
    const struct view_model nothing = {.last_ns = 1};
    assert_int_equal(view_counters_find(&nothing, NULL, &counters), HAL_OK);
    assert_float_equal(view_counter_mean(&counters, VIEW_COUNTER_WAITING, 0, 1), 0, 0);
    view_counters_finish(&counters);
}

TEST(texts_have_units)
{
    static const struct {
        enum view_counter which;
        double level;
        const char *text;
    } cases[] = {{VIEW_COUNTER_WAITING, 3, "3"},
                 {VIEW_COUNTER_IN_FLIGHT, 1.53, "1.5"},
                 {VIEW_COUNTER_IN_FLIGHT, 0.013, "0.01"},
                 {VIEW_COUNTER_IN_FLIGHT, 250.7, "250"},
                 {VIEW_COUNTER_UPLOADS, 1048576, "1.00 MiB/s"}};
    char text[48];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        view_counter_text(cases[i].which, cases[i].level, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}
