/* SPDX-License-Identifier: Apache-2.0 */
/* replay/compare/compare_bytes.c: elements of every type, tolerances, NaN, alignment, guesses.
 * Expected values come from the definitions of the types. */
#include "replay/compare/compare_bytes.h"
#include "tests/support/test.h"

#include <math.h>

static struct replay_errors judge(const char *tolerance, enum replay_type type, uint64_t offset,
                                  const void *expected, const void *actual, uint64_t bytes)
{
    const struct replay_pair pair = {offset, bytes, expected, actual};
    struct replay_tolerance parsed = {0};
    struct replay_errors errors;
    assert_true(!tolerance[0] || replay_tolerance_parse(tolerance, &parsed));
    replay_compare_bytes(&parsed, type, &pair, &errors);
    return errors;
}

TEST(elements_are_numbers)
{
    static const struct {
        enum replay_type type;
        uint64_t bits;
        double value;
    } known[] = {
        {REPLAY_F16, 0x3c00, 1},
        {REPLAY_F16, 0xc000, -2},
        {REPLAY_F16, 0x0001, 0x1p-24},
        {REPLAY_F16, 0x7bff, 65504},
        {REPLAY_F16, 0x3555, 0.333251953125},
        {REPLAY_BF16, 0x3f80, 1},
        {REPLAY_BF16, 0xc049, -3.140625},
        {REPLAY_F32, 0x40490fdb, 3.1415927410125732},
        {REPLAY_F64, 0x3ff8000000000000, 1.5},
        {REPLAY_I8, 0xff, -1},
        {REPLAY_U8, 0xff, 255},
        {REPLAY_I16, 0x8000, -32768},
        {REPLAY_U16, 0x8000, 32768},
        {REPLAY_I32, 0xfffffffe, -2},
        {REPLAY_U32, 0xfffffffe, 4294967294.0},
        {REPLAY_I64, UINT64_MAX, -1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double value = replay_element((const uint8_t *)&known[i].bits, known[i].type);
        if (value < known[i].value || value > known[i].value)
            fail_msg("%s %llx: %.17g", replay_type_name(known[i].type),
                     (unsigned long long)known[i].bits, value);
        assert_int_equal(replay_type_parse(replay_type_name(known[i].type),
                                           strlen(replay_type_name(known[i].type))),
                         known[i].type);
    }
    assert_true(isinf(replay_element((const uint8_t[]){0x00, 0x7c}, REPLAY_F16)));
    assert_true(isnan(replay_element((const uint8_t[]){0x01, 0x7c}, REPLAY_F16)));
    assert_int_equal(replay_type_parse("f8", 2), REPLAY_TYPE_UNKNOWN);
    assert_int_equal(replay_type_parse("bytes", 5), REPLAY_TYPE_UNKNOWN);
}

TEST(distances_count_representable_values)
{
    const float a[4] = {1, 0x1p-149f, 0.0f, 0x1.fffffep-1f};
    const float b[4] = {0x1.000002p0f, -0x1p-149f, -0.0f, 1};
    static const uint64_t ulps[4] = {1, 2, 0, 1};
    for (size_t i = 0; i < 4; i++) {
        const struct replay_errors errors = judge("", REPLAY_F32, 0, &a[i], &b[i], 4);
        assert_int_equal(errors.wrong, 1); /* bits count */
        assert_int_equal(errors.worst_ulp, ulps[i]);
    }
    assert_int_equal(judge("ulp:1", REPLAY_F32, 0, a, b, 16).wrong, 1);
    assert_int_equal(judge("ulp:1", REPLAY_F32, 0, a, b, 16).first_wrong, 4);
    assert_int_equal(judge("ulp:2", REPLAY_F32, 0, a, b, 16).wrong, 0);
    assert_int_equal(judge("ulp:2", REPLAY_F32, 0, a, b, 16).inexact, 4);
    const int64_t low = INT64_MIN, high = INT64_MAX;
    assert_true(judge("", REPLAY_I64, 0, &low, &high, 8).worst_ulp == UINT64_MAX);
    const int8_t minus = -1, plus = 1;
    assert_int_equal(judge("", REPLAY_I8, 0, &minus, &plus, 1).worst_ulp, 2);
    assert_int_equal(judge("", REPLAY_U8, 0, &minus, &plus, 1).worst_ulp, 254);
}

TEST(one_of_the_tolerances_suffices)
{
    const float expected[2] = {1000, 0.001f}, actual[2] = {1001, 0.0011f};
    assert_int_equal(judge("abs:1", REPLAY_F32, 0, expected, actual, 8).wrong, 0);
    assert_int_equal(judge("abs:0.5", REPLAY_F32, 0, expected, actual, 8).wrong, 1);
    assert_int_equal(judge("rel:0.001", REPLAY_F32, 0, expected, actual, 8).wrong, 1);
    assert_int_equal(judge("rel:0.001,abs:0.001", REPLAY_F32, 0, expected, actual, 8).wrong, 0);
    assert_int_equal(judge("rel:0.0009,abs:0.00001", REPLAY_F32, 0, expected, actual, 8).wrong, 2);
    const struct replay_errors errors = judge("abs:1", REPLAY_F32, 0, expected, actual, 8);
    assert_true(errors.worst_absolute >= 1 && errors.worst_absolute <= 1);
    assert_true(errors.worst_relative > 0.0999 && errors.worst_relative < 0.1001);
    assert_int_equal(errors.worst_offset, 0);
    const float infinite = INFINITY, huge = 3e38f;
    assert_int_equal(judge("abs:1e300,ulp:99999999", REPLAY_F32, 0, &infinite, &huge, 4).wrong, 1);
}

/* Of one number that should be less, and one that should be more. */
TEST(relative_errors_are_parts_of_what_is_expected)
{
    const float less = 1, more = 1.25f;
    assert_int_equal(judge("rel:0.25", REPLAY_F32, 0, &less, &more, 4).wrong, 0);
    assert_int_equal(judge("rel:0.24", REPLAY_F32, 0, &less, &more, 4).wrong, 1);
    assert_int_equal(judge("rel:0.21", REPLAY_F32, 0, &more, &less, 4).wrong, 0);
    assert_int_equal(judge("rel:0.19", REPLAY_F32, 0, &more, &less, 4).wrong, 1);
    const double relative = judge("rel:1", REPLAY_F32, 0, &less, &more, 4).worst_relative;
    assert_true(relative >= 0.25 && relative <= 0.25);
}

TEST(the_worst_error_is_the_largest)
{
    const float expected[4] = {1, 2, 3, 40}, actual[4] = {1.5f, 2, 5, 40.25f};
    const struct replay_errors errors = judge("abs:1", REPLAY_F32, 0, expected, actual, 16);
    assert_int_equal(errors.worst_offset, 8);
    assert_true(errors.worst_absolute >= 2 && errors.worst_absolute <= 2);
    assert_true(errors.worst_expected >= 3 && errors.worst_expected <= 3);
    assert_true(errors.worst_actual >= 5 && errors.worst_actual <= 5);
    assert_int_equal(errors.elements, 4);
    assert_int_equal(errors.wrong, 1);
    assert_int_equal(errors.inexact, 2);
    assert_int_equal(errors.first_wrong, 8);
}

TEST(nan_equals_nan_alone)
{
    uint32_t expected[64], actual[64];
    for (size_t i = 0; i < 64; i++)
        expected[i] = actual[i] = 0x3f800000;
    expected[1] = 0x7fc00000; /* both, other payloads */
    actual[1] = 0xffc00001;
    expected[2] = 0x7fc00000;
    actual[63] = 0x7f800001;
    const struct replay_errors errors =
        judge("abs:1e30", REPLAY_F32, 0, expected, actual, sizeof expected);
    assert_int_equal(errors.wrong, 2);
    assert_int_equal(errors.inexact, 1);
    assert_int_equal(errors.expected_nan, 2);
    assert_int_equal(errors.actual_nan, 2);
    assert_int_equal(errors.first_wrong, 8);
    assert_int_equal(strlen(errors.nan_map), 64);
    assert_memory_equal(errors.nan_map, ".be.", 4);
    assert_int_equal(errors.nan_map[63], 'a');
    assert_int_equal(judge("", REPLAY_F32, 0, expected, actual, sizeof expected).wrong, 3);
}

/* Two elements in a cell of the map. */
TEST(a_nan_map_has_both_of_a_cell)
{
    static const char *const cells[] = {"ee", "aa", "ea", "ae", "be", "ba", "eb", ".a", "b."};
    float expected[128] = {0}, actual[128] = {0};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        for (size_t k = 0; k < 2; k++) {
            const char nan = cells[i][k];
            expected[2 * i + k] = nan == 'e' || nan == 'b' ? NAN : 0;
            actual[2 * i + k] = nan == 'a' || nan == 'b' ? NAN : 0;
        }
    }
    const struct replay_errors errors =
        judge("abs:1", REPLAY_F32, 0, expected, actual, sizeof expected);
    assert_memory_equal(errors.nan_map, "eabbbbbab...", 12);
    assert_int_equal(errors.expected_nan, 10);
    assert_int_equal(errors.actual_nan, 10);
    assert_int_equal(errors.wrong, 12); /* where one alone is NaN */
}

/* A range that begins in the middle of an element, and ends in one. */
TEST(elements_are_aligned_in_the_buffer)
{
    uint8_t expected[16], actual[16];
    const float one = 1, two = 2;
    memset(expected, 0, sizeof expected);
    memset(actual, 0, sizeof actual);
    memcpy(expected + 2, &one, 4);
    memcpy(actual + 2, &two, 4);
    struct replay_errors errors = judge("abs:1", REPLAY_F32, 6, expected, actual, 16);
    assert_int_equal(errors.elements, 3);
    assert_int_equal(errors.wrong, 0);
    assert_int_equal(errors.worst_offset, 2);
    actual[0] = 1; /* no whole element */
    actual[15] = 1;
    errors = judge("abs:1", REPLAY_F32, 6, expected, actual, 16);
    assert_int_equal(errors.wrong, 2);
    assert_int_equal(errors.first_wrong, 0);
    errors = judge("abs:1", REPLAY_F64, 1, expected, actual, 3);
    assert_int_equal(errors.elements, 0);
    assert_int_equal(errors.wrong, 1);
}

TEST(rules_name_buffers)
{
    static const struct replay_type_rule rules[] = {
        {"w*", REPLAY_F16}, {"#17", REPLAY_I8}, {"*.bias", REPLAY_BF16}, {NULL, REPLAY_F32}};
    assert_int_equal(replay_type_of(rules, 4, "weights", 1), REPLAY_F16);
    assert_int_equal(replay_type_of(rules, 4, "layer.3.bias", 1), REPLAY_BF16);
    assert_int_equal(replay_type_of(rules, 4, "x", 17), REPLAY_I8);
    assert_int_equal(replay_type_of(rules, 4, NULL, 17), REPLAY_I8);
    assert_int_equal(replay_type_of(rules, 4, NULL, 18), REPLAY_F32);
    assert_int_equal(replay_type_of(rules, 3, NULL, 18), REPLAY_TYPE_UNKNOWN);
    assert_true(replay_pattern_fits("a*b*c", "aXbbYc"));
    assert_false(replay_pattern_fits("a*b*c", "aXbbY"));
    assert_true(replay_pattern_fits("*", ""));
    assert_false(replay_pattern_fits("a", "ab"));
}

TEST(wrong_tolerances_are_refused)
{
    static const char *const wrong[] = {"",
                                        "abs",
                                        "abs:",
                                        "abs:x",
                                        "abs:-1",
                                        "abs:nan",
                                        "abs:inf",
                                        "ulp:1.5",
                                        "ulp:-1",
                                        "rel:1,",
                                        ",rel:1",
                                        "max:1",
                                        "abs:1 ",
                                        "ABS:1",
                                        "abs:1;rel:1",
                                        "abs:1e999",
                                        "ulp:99999999999999999999"};
    struct replay_tolerance tolerance;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (replay_tolerance_parse(wrong[i], &tolerance))
            fail_msg("taken: '%s'", wrong[i]);
    }
    assert_true(replay_tolerance_parse("ulp:4,abs:.5,rel:1e-3", &tolerance));
    assert_int_equal(tolerance.ulp, 4);
    assert_true(replay_tolerance_parse("abs:0", &tolerance));
    assert_true(replay_tolerance_is_exact(&tolerance));
}

/* Normally distributed numbers, as weights and activations are, by the sum of uniform ones. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 40) / (double)(1 << 24);
    }
    return sum;
}

static uint16_t to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 23 & 255) - 127 + 15;
    if (exponent <= 0 || exponent >= 31)
        return (uint16_t)(bits >> 16 & 0x8000);
    return (uint16_t)((bits >> 16 & 0x8000) | (uint32_t)exponent << 10 | (bits >> 13 & 1023));
}

TEST(usual_contents_are_recognised)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed * 7919;
        float single[512], integral[512];
        uint16_t half[1024], brain[1024];
        int32_t integers[512];
        const double scale = ldexp(1, (int)(seed % 8) - 6);
        for (size_t i = 0; i < 1024; i++) {
            const float value = (float)(scale * normal(&random));
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            half[i] = to_half(value);
            brain[i] = (uint16_t)(bits >> 16);
            single[i / 2] = value;
            integral[i / 2] = (float)(random >> 56);
            integers[i / 2] = (int32_t)(random >> 50) - 5000;
        }
        const struct {
            const void *data;
            uint64_t bytes;
            enum replay_type type;
        } known[] = {{single, sizeof single, REPLAY_F32},
                     {half, sizeof half, REPLAY_F16},
                     {brain, sizeof brain, REPLAY_BF16},
                     {integral, sizeof integral, REPLAY_F32},
                     {integers, sizeof integers, REPLAY_I32}};
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            const enum replay_type type = replay_type_guess(known[i].data, known[i].bytes, 0);
            if (type != known[i].type)
                fail_msg("seed %llu: %s was taken for %s", (unsigned long long)seed,
                         replay_type_name(known[i].type), replay_type_name(type));
        }
    }
    assert_int_equal(replay_type_guess((const uint8_t *)"abc", 3, 0), REPLAY_U8);
}

TEST(a_guess_is_told)
{
    const float a[8] = {0.5f, -0.25f, 1.5f, 0.7f, -0.1f, 0.33f, 0.9f, 2.1f};
    float b[8];
    memcpy(b, a, sizeof b);
    b[7] = 2.2f;
    const struct replay_errors errors = judge("abs:0.2", REPLAY_TYPE_UNKNOWN, 0, a, b, sizeof a);
    assert_true(errors.guessed);
    assert_int_equal(errors.type, REPLAY_F32);
    assert_int_equal(errors.wrong, 0);
    assert_false(judge("", REPLAY_TYPE_UNKNOWN, 0, a, b, sizeof a).guessed);
}

TEST(errors_of_several_reads_add_up)
{
    struct replay_errors all = {0};
    const struct replay_errors small = {.type = REPLAY_F16,
                                        .elements = 8,
                                        .inexact = 2,
                                        .worst_absolute = 1,
                                        .worst_relative = 7,
                                        .worst_ulp = 9,
                                        .largest = 2,
                                        .worst_expected = 5,
                                        .worst_actual = 6};
    const struct replay_errors large = {.type = REPLAY_F32,
                                        .guessed = true,
                                        .elements = 4,
                                        .wrong = 1,
                                        .expected_nan = 3,
                                        .actual_nan = 2,
                                        .first_wrong = 12,
                                        .worst_absolute = 3,
                                        .worst_ulp = 2,
                                        .largest = 4,
                                        .worst_offset = 12,
                                        .worst_expected = 4,
                                        .worst_actual = 1,
                                        .nan_map = ".e."};
    const struct replay_errors later = {
        .wrong = 1, .first_wrong = 4, .expected_nan = 1, .actual_nan = 1, .nan_map = "a.."};
    assert_true(replay_errors_add(&all, &small));
    assert_true(all.worst_expected >= 5 && all.worst_expected <= 5);
    assert_true(replay_errors_add(&all, &large));
    assert_false(replay_errors_add(&all, &small));
    assert_false(replay_errors_add(&all, &later));
    assert_int_equal(all.elements, 20);
    assert_int_equal(all.wrong, 2);
    assert_int_equal(all.inexact, 4);
    assert_int_equal(all.expected_nan, 4);
    assert_int_equal(all.actual_nan, 3);
    assert_int_equal(all.worst_ulp, 9);
    assert_true(all.worst_relative >= 7 && all.worst_relative <= 7);
    assert_true(all.largest >= 4 && all.largest <= 4);
    /* Of the largest error: */
    assert_int_equal(all.type, REPLAY_F32);
    assert_true(all.guessed);
    assert_int_equal(all.worst_offset, 12);
    assert_true(all.worst_absolute >= 3 && all.worst_absolute <= 3);
    assert_true(all.worst_expected >= 4 && all.worst_expected <= 4);
    assert_true(all.worst_actual >= 1 && all.worst_actual <= 1);
    /* Of the first that is wrong: */
    assert_int_equal(all.first_wrong, 12);
    assert_string_equal(all.nan_map, ".e.");
}
