/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/moment.h: the times of docs/locators.md. */
#include "hal/base/moment.h"
#include "tests/support/test.h"

TEST(times_have_units)
{
    static const struct {
        const char *text;
        int64_t ns; /* a bare number is microseconds here */
    } rows[] = {
        {"1ms", 1000000},  {"12.345 ms", 12345000}, {"0.0047s", 4700000},
        {"250us", 250000}, {"250µs", 250000},       {"17ns", 17},
        {"2.2", 2200},     {"-5us", -5000},         {"+1s", 1000000000},
        {"0", 0},          {"1e3ns", 1000},         {"9007199.254740992s", 9007199254740992}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ns = -1;
        assert_true(hal_time_parse(rows[i].text, 1000, &ns));
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
    static const char *const wrong[] = {"",    "@",     "x",   "ms",    "1x",     "1msx",
                                        "1 m", "1ms ",  "inf", "nan",   "1e400s", "@@1ms",
                                        "#s1", "1,5ms", "-",   "1e99s", "9e9s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t ns;
        if (hal_moment_parse(wrong[i], 1000, &ns))
            fail_msg("'%s' is a time", wrong[i]);
    }
}
