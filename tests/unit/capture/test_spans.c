/* SPDX-License-Identifier: Apache-2.0 */
/* capture/track/spans.c against an array with a flag per byte. */
#include "capture/track/spans.h"
#include "hal/base/mem.h"
#include "tests/support/test.h"

enum { BYTES = 300 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 20;
}

static void assert_like(const struct capture_spans *spans, const bool *flags)
{
    for (uint64_t at = 0; at < BYTES; at++) {
        uint64_t next, expected = at;
        while (expected < BYTES && flags[expected] == flags[at])
            expected++;
        assert_int_equal(capture_spans_at(spans, at, BYTES, &next), flags[at]);
        assert_int_equal(next, expected);
    }
}

TEST(sets_are_like_flags)
{
    struct capture_spans spans = {0};
    uint64_t random = 0x1234567;
    print_message("seed %llx\n", (unsigned long long)random);
    for (int round = 0; round < 300; round++) {
        bool flags[BYTES] = {false};
        capture_spans_clear(&spans);
        for (uint64_t count = next_random(&random) % 12; count > 0; count--) {
            const uint64_t begin = next_random(&random) % BYTES;
            const uint64_t end = begin + next_random(&random) % (BYTES - begin + 1);
            capture_spans_add(&spans, begin, end);
            for (uint64_t i = begin; i < end; i++)
                flags[i] = true;
        }
        capture_spans_merge(&spans);
        assert_like(&spans, flags);
    }
    capture_spans_finish(&spans);
}

TEST(everything_contains_all)
{
    struct capture_spans spans = {.everything = true};
    uint64_t next;
    capture_spans_add(&spans, 10, 20);
    capture_spans_merge(&spans);
    assert_true(capture_spans_at(&spans, 0, 100, &next));
    assert_int_equal(next, 100);
    capture_spans_clear(&spans);
    assert_false(capture_spans_at(&spans, 0, 100, &next));
    capture_spans_finish(&spans);
}
