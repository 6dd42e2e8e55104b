/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/align.c against the longest common subsequence by the book's table. */
#include "format/analysis/align.h"
#include "tests/support/test.h"

enum { MOST = 60 };

static uint64_t state = 42;

static uint64_t random_below(uint64_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static size_t longest_common(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    static size_t table[MOST + 1][MOST + 1];
    memset(table, 0, sizeof table);
    for (size_t i = 1; i <= n; i++) {
        for (size_t k = 1; k <= m; k++) {
            table[i][k] = table[i - 1][k] > table[i][k - 1] ? table[i - 1][k] : table[i][k - 1];
            if (a[i - 1] == b[k - 1] && table[i - 1][k - 1] + 1 > table[i][k])
                table[i][k] = table[i - 1][k - 1] + 1;
        }
    }
    return table[n][m];
}

/* The number of matches, which are all right and rise. */
static size_t check_matches(const uint64_t *a, size_t n, const uint64_t *b, size_t m,
                            const size_t *match)
{
    size_t found = 0, next = 0;
    for (size_t i = 0; i < n; i++) {
        if (match[i] == TRACE_UNALIGNED)
            continue;
        assert_true(match[i] < m && match[i] >= next);
        assert_int_equal(a[i], b[match[i]]);
        next = match[i] + 1;
        found++;
    }
    return found;
}

TEST(as_long_as_possible)
{
    for (unsigned round = 0; round < 3000; round++) {
        uint64_t a[MOST], b[MOST];
        size_t match[MOST];
        const size_t n = random_below(MOST + 1), m = random_below(MOST + 1);
        const uint64_t letters = 1 + random_below(8);
        for (size_t i = 0; i < n; i++)
            a[i] = random_below(letters);
        for (size_t i = 0; i < m; i++)
            b[i] = random_below(letters);
        assert_int_equal(trace_align(a, n, b, m, match), HAL_OK);
        assert_int_equal(check_matches(a, n, b, m, match), longest_common(a, n, b, m));
    }
}

/* Nothing in common, and a lot of it: done at once all the same. */
TEST(much_that_differs)
{
    enum { COUNT = 50000 };
    uint64_t *a = calloc(COUNT, sizeof *a), *b = calloc(COUNT, sizeof *b);
    size_t *match = calloc(COUNT, sizeof *match);
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = 2 * i;
        b[i] = i % 1000 == 0 ? 2 * i : 2 * i + 1;
    }
    assert_int_equal(trace_align(a, COUNT, b, COUNT, match), HAL_OK);
    (void)check_matches(a, COUNT, b, COUNT, match);
    /* A few insertions in much that is the same are all found. */
    memcpy(b, a, COUNT * sizeof *b);
    for (size_t i = 0; i < COUNT; i += 10000)
        b[i] = 1;
    assert_int_equal(trace_align(a, COUNT, b, COUNT, match), HAL_OK);
    assert_int_equal(check_matches(a, COUNT, b, COUNT, match), COUNT - COUNT / 10000);
    free(a);
    free(b);
    free(match);
}
