/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/moment.h: the times of docs/locators.md. */
#include "hal/base/moment.h"
#include "tests/support/test.h"

#define HOUR_NS 3600000000000

TEST(times_have_units)
{
    static const struct {
        const char *text;
        int64_t ns; /* a bare number is microseconds here */
    } rows[] = {{"1ms", 1000000},
                {"12.345 ms", 12345000},
                {"0.0047s", 4700000},
                {"250us", 250000},
                {"250µs", 250000},
                {"17ns", 17},
                {"2.2", 2200},
                {"-5us", -5000},
                {"-0.25 ms", -250000},
                {"+1s", 1000000000},
                {"0", 0},
                {".5s", 500000000},
                {"5.s", 5000000000},
                {"2m", 120000000000},
                {"1.5 min", 90000000000},
                {"24h", 24 * HOUR_NS},
                {"9007199.254740993s", 9007199254740993}, /* no double has it */
                {"0.00000000049s", 0},
                {"0.0000000005s", 1},
                {"1.9999999999999999999999us", 2000},
                {"9223372036854775807ns", INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ns = -1;
        if (!hal_time_parse(rows[i].text, 1000, &ns))
            fail_msg("'%s' is no time", rows[i].text);
        assert_int_equal(ns, rows[i].ns);
    }
}

TEST(moments_may_have_their_sign)
{
    int64_t ns;
    assert_true(hal_moment_parse("@0.0047s", 1, &ns));
    assert_int_equal(ns, 4700000);
    assert_true(hal_moment_parse("@12.345ms", 1, &ns));
    assert_int_equal(ns, 12345000);
    assert_true(hal_moment_parse("1ms", 1, &ns));
    assert_int_equal(ns, 1000000);
    assert_false(hal_time_parse("@1ms", 1, &ns));
}

TEST(other_texts_are_no_times)
{
    static const char *const wrong[] = {"",
                                        "@",
                                        "x",
                                        "ms",
                                        "1x",
                                        "1msx",
                                        "1 M",
                                        "1ms ",
                                        "inf",
                                        "nan",
                                        "1e3ns",
                                        "@@1ms",
                                        "#s1",
                                        "1,5ms",
                                        "-",
                                        ".",
                                        "0x1ns",
                                        ".ms",
                                        "--1s",
                                        " 1s",
                                        "3e6h",
                                        "1.2.3s",
                                        "9223372036854775808ns",
                                        "99999999999999999999s",
                                        "9223372036.9s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t ns;
        if (hal_moment_parse(wrong[i], 1000, &ns))
            fail_msg("'%s' is a time", wrong[i]);
    }
}

TEST(durations_have_limits)
{
    int64_t ns = 7;
    assert_false(hal_duration_parse("9.999ms", 10000000, 24 * HOUR_NS, &ns));
    assert_false(hal_duration_parse("86401", 10000000, 24 * HOUR_NS, &ns));
    assert_false(hal_duration_parse("-1s", 10000000, 24 * HOUR_NS, &ns));
    assert_int_equal(ns, 7);
    assert_true(hal_duration_parse("10ms", 10000000, 24 * HOUR_NS, &ns));
    assert_int_equal(ns, 10000000);
    assert_true(hal_duration_parse("86400", 10000000, 24 * HOUR_NS, &ns));
    assert_int_equal(ns, 24 * HOUR_NS);
}

/* Three decimals of the unit that leaves fewest digits in front of them. */
TEST(durations_are_printed)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "0 ns"},
                {999, "999 ns"},
                {1000, "1.000 us"},
                {41234, "41.234 us"},
                {-1500, "-1.500 us"},
                {999999, "999.999 us"},
                {1000000, "1.000 ms"},
                {12345499, "12.345 ms"},
                {12345500, "12.346 ms"},
                {999999499, "999.999 ms"},
                {999999500, "1.000 s"},
                {3210000000, "3.210 s"},
                {HOUR_NS, "3600.000 s"},
                {INT64_MAX, "9223372036.855 s"},
                {INT64_MIN, "-9223372036.855 s"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(hal_duration_text(rows[i].ns).text, rows[i].text);
}

/* All digits: what is printed names the same moment again, wherever one is asked for. */
TEST(moments_are_printed_and_taken_back)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "@0.000000ms"},
                {7, "@0.000007ms"},
                {12345678, "@12.345678ms"},
                {-5, "@-0.000005ms"},
                {1204567891, "@1204.567891ms"},
                {INT64_MAX, "@9223372036854.775807ms"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ns = -1;
        assert_string_equal(hal_moment_text(rows[i].ns).text, rows[i].text);
        assert_true(hal_moment_parse(rows[i].text, 1, &ns));
        assert_int_equal(ns, rows[i].ns);
    }
    assert_string_equal(hal_moment_text(INT64_MIN).text, "@-9223372036854.775808ms");
}
