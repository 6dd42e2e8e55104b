/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/model/series.c: cutting of overlaps, and totals of any range against adding up by hand. */
#include "tests/support/test.h"
#include "viewer/model/series.h"

#include <time.h>

static struct view_span span(int64_t begin_ns, int64_t end_ns, enum view_class class, uint32_t ref)
{
    return (struct view_span){
        .begin_ns = begin_ns, .end_ns = end_ns, .class = (uint8_t) class, .ref = ref, .overlap = 1};
}

static void assert_span(const struct view_span *s, int64_t begin_ns, int64_t end_ns,
                        enum view_class class, uint32_t ref, int overlap)
{
    assert_int_equal(s->begin_ns, begin_ns);
    assert_int_equal(s->end_ns, end_ns);
    assert_int_equal(s->class, class);
    assert_int_equal(s->ref, ref);
    assert_int_equal(s->overlap, overlap);
}

TEST(disjoint_spans_are_taken_as_they_are)
{
    struct view_span spans[] = {span(50, 60, VIEW_WAIT, 2), span(10, 20, VIEW_SUBMIT, 0),
                                span(20, 50, VIEW_RECORD, 1)};
    struct view_series series;
    assert_int_equal(view_series_init(&series, spans, 3, VIEW_RECORD, VIEW_WAIT), HAL_OK);
    assert_int_equal(series.spans.count, 3);
    assert_null(series.owned);
    assert_span(&series.spans.stored[0], 10, 20, VIEW_SUBMIT, 0, 1);
    assert_span(&series.spans.stored[1], 20, 50, VIEW_RECORD, 1, 1);
    assert_span(&series.spans.stored[2], 50, 60, VIEW_WAIT, 2, 1);
    view_series_finish(&series);
}

TEST(the_higher_class_covers_the_lower)
{
    struct view_span spans[] = {span(0, 100, VIEW_RECORD, 7), span(10, 20, VIEW_MAP, 1),
                                span(30, 40, VIEW_MAP, 2)};
    struct view_series series;
    assert_int_equal(view_series_init(&series, spans, 3, VIEW_RECORD, VIEW_WAIT), HAL_OK);
    assert_int_equal(series.spans.count, 5);
    assert_span(&series.spans.stored[0], 0, 10, VIEW_RECORD, 7, 1);
    assert_span(&series.spans.stored[1], 10, 20, VIEW_MAP, 1, 1);
    assert_span(&series.spans.stored[2], 20, 30, VIEW_RECORD, 7, 1);
    assert_span(&series.spans.stored[3], 30, 40, VIEW_MAP, 2, 1);
    assert_span(&series.spans.stored[4], 40, 100, VIEW_RECORD, 7, 1);
    view_series_finish(&series);
}

TEST(several_of_a_class_have_no_single_ref)
{
    struct view_span spans[] = {span(0, 30, VIEW_EXECUTE, 4), span(10, 40, VIEW_EXECUTE, 5)};
    struct view_series series;
    assert_int_equal(view_series_init(&series, spans, 2, VIEW_QUEUED_UNKNOWN, VIEW_EXECUTE),
                     HAL_OK);
    assert_int_equal(series.spans.count, 3);
    assert_span(&series.spans.stored[0], 0, 10, VIEW_EXECUTE, 4, 1);
    assert_span(&series.spans.stored[1], 10, 30, VIEW_EXECUTE, VIEW_NO_REF, 2);
    assert_span(&series.spans.stored[2], 30, 40, VIEW_EXECUTE, 5, 1);
    view_series_finish(&series);
}

TEST(instants_do_not_vanish)
{
    struct view_span spans[] = {span(0, 30, VIEW_RECORD, 1), span(10, 10, VIEW_MAP, 2),
                                span(50, 50, VIEW_MAP, 3)};
    struct view_series series;
    struct view_measure measure;
    assert_int_equal(view_series_init(&series, spans, 3, VIEW_RECORD, VIEW_WAIT), HAL_OK);
    assert_int_equal(series.spans.count, 4);
    assert_span(&series.spans.stored[1], 10, 10, VIEW_MAP, 2, 1);
    view_series_measure(&series, 50, 51, &measure);
    assert_int_equal(measure.last - measure.first, 1);
    assert_int_equal(measure.begun[VIEW_MAP], 1);
    view_series_measure(&series, 51, 100, &measure);
    assert_int_equal(measure.last, measure.first);
    view_series_measure(&series, 40, 50, &measure);
    assert_int_equal(measure.last, measure.first);
    view_series_finish(&series);
}

TEST(nothing_is_nothing)
{
    struct view_series series;
    struct view_measure measure;
    assert_int_equal(view_series_init(&series, NULL, 0, VIEW_STEP, VIEW_STEP), HAL_OK);
    view_series_measure(&series, 0, 1000, &measure);
    assert_int_equal(measure.last, 0);
    assert_int_equal(view_measure_busy(&measure), 0);
    view_series_finish(&series);
}

/* ---- Against the obvious ------------------------------------------------------------------ */

enum { PARTS = 700, LAST_NS = 3000 };

static uint32_t next_random(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

/* The highest class that runs in [ns, ns + 1). */
static int class_at(const struct view_span *parts, size_t count, int64_t ns)
{
    int class = VIEW_CLASS_NONE;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].begin_ns <= ns && parts[i].end_ns > ns && parts[i].class > class)
            class = parts[i].class;
    }
    return class;
}

TEST(any_range_is_as_added_up_by_hand)
{
    const char *seed = getenv("HAL_TEST_SEED");
    uint32_t random = seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)time(NULL);
    printf("seed %u\n", random);
    struct view_span parts[PARTS];
    for (size_t i = 0; i < PARTS; i++) {
        const int64_t begin_ns = next_random(&random) % LAST_NS;
        parts[i] =
            span(begin_ns, begin_ns + next_random(&random) % 40,
                 (enum view_class)(VIEW_QUEUED_UNKNOWN + next_random(&random) % 4), (uint32_t)i);
    }
    struct view_series series;
    assert_int_equal(view_series_init(&series, parts, PARTS, VIEW_QUEUED_UNKNOWN, VIEW_EXECUTE),
                     HAL_OK);
    for (int i = 0; i < 300; i++) {
        int64_t expected[VIEW_CLASS_COUNT] = {0};
        const int64_t begin_ns = next_random(&random) % LAST_NS;
        const int64_t end_ns = begin_ns + next_random(&random) % (i % 2 ? 2000 : 10);
        for (int64_t ns = begin_ns; ns < end_ns; ns++)
            expected[class_at(parts, PARTS, ns)]++;
        struct view_measure measure;
        view_series_measure(&series, begin_ns, end_ns, &measure);
        for (int c = VIEW_QUEUED_UNKNOWN; c <= VIEW_EXECUTE; c++)
            assert_int_equal(measure.busy_ns[c], expected[c]);
    }
    for (size_t i = 1; i < series.spans.count; i++)
        assert_true(series.spans.stored[i].begin_ns >= series.spans.stored[i - 1].end_ns);
    view_series_finish(&series);
}

/* Of a table of spans, which codes are indexes of. */
static struct view_span tell(const void *tables, uint32_t code)
{
    return ((const struct view_span *)tables)[code];
}

static int by_ref(const void *left, const void *right)
{
    const struct view_span *a = left, *b = right;
    return a->ref < b->ref ? -1 : a->ref > b->ref;
}

enum { ROWS = 300 };

/* Rows with begins that `begin` chooses; their codes in the table's order. */
static void assert_ordered(int64_t (*begin)(int row, uint32_t *random), bool consecutive)
{
    struct view_span table[ROWS], sorted[ROWS];
    uint32_t random = 7, *codes = malloc(sizeof *codes * ROWS);
    struct view_spans spans;
    assert_non_null(codes);
    for (int i = 0; i < ROWS; i++) {
        const int64_t begin_ns = begin(i, &random);
        table[i] = span(begin_ns, begin_ns + (int64_t)(next_random(&random) % 9), VIEW_SUBMIT,
                        (uint32_t)i);
        codes[i] = (uint32_t)i;
    }
    assert_int_equal(view_spans_order(&codes, ROWS, tell, table, &spans), HAL_OK);
    assert_int_equal(spans.count, ROWS);
    assert_int_equal(codes == NULL, consecutive);
    for (size_t i = 0; i < ROWS; i++) {
        sorted[i] = view_spans_at(&spans, i);
        assert_true(i == 0 || view_spans_compare(&sorted[i - 1], &sorted[i]) <= 0);
    }
    qsort(sorted, ROWS, sizeof *sorted, by_ref); /* nothing is lost, nothing is there twice */
    assert_memory_equal(sorted, table, sizeof table);
    free(codes);
}

static int64_t rising(int row, uint32_t *random)
{
    (void)random;
    return 10 * row;
}

static int64_t two_runs(int row, uint32_t *random)
{
    (void)random;
    return row < ROWS / 3 ? 10 * row : 4 * row - ROWS;
}

static int64_t nearly_rising(int row, uint32_t *random)
{
    return 10 * row + (int64_t)(next_random(random) % 40);
}

static int64_t any(int row, uint32_t *random)
{
    (void)row;
    return next_random(random) % LAST_NS;
}

TEST(codes_are_put_in_order)
{
    assert_ordered(rising, true);
    assert_ordered(two_runs, false);
    assert_ordered(nearly_rising, false);
    assert_ordered(any, false);
}
