/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/locator.h: the grammar of docs/locators.md, and nothing else. */
#include "hal/base/locator.h"
#include "tests/support/test.h"

TEST(places_are_submissions_and_dispatches)
{
    static const struct {
        const char *text, *printed;
    } good[] = {{"#s0", "#s0"},
                {"#s12", "#s12"},
                {"12", "#s12"},
                {"#s12.d40", "#s12.d40"},
                {"12.d0", "#s12.d0"},
                {"#s007.d08", "#s7.d8"},
                {"#s18446744073709551615", "#s18446744073709551615"},
                {"#s1.d4294967295", "#s1.d4294967295"}};
    struct hal_locator locator;
    char text[HAL_LOCATOR_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(hal_locator_parse(good[i].text, &locator), HAL_OK);
        assert_string_equal(hal_locator_print(&locator, text), good[i].printed);
        assert_true(locator.has_dispatch == (strchr(good[i].text, 'd') != NULL));
    }
}

TEST(other_texts_are_refused)
{
    static const char *const bad[] = {"",
                                      "s12",
                                      "#12",
                                      "#s",
                                      "#sx",
                                      "#s-1",
                                      " #s1",
                                      "#s1 ",
                                      "#s1.",
                                      "#s1.d",
                                      "#s1.dx",
                                      "#s1d4",
                                      "#s1.d1.d2",
                                      "#s1..",
                                      "#S1",
                                      "#s18446744073709551616",
                                      "#s99999999999999999999",
                                      "#s1.d4294967296",
                                      "#s1.d18446744073709551617"};
    struct hal_locator locator;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char begin[64];
        snprintf(begin, sizeof begin, "'%s' is not a locator: #s12 is submission 12", bad[i]);
        if (hal_locator_parse(bad[i], &locator) != HAL_INVALID)
            fail_msg("taken: %s", bad[i]);
        assert_memory_equal(hal_message(), begin, strlen(begin));
    }
}

TEST(ranges_have_one_or_two_ends)
{
    static const struct {
        const char *text, *first, *last; /* "": open */
        uint64_t submissions[2];
    } good[] = {{"#s3", "#s3", "#s3", {3, 3}},
                {"#s3.d2", "#s3.d2", "#s3.d2", {3, 3}},
                {"#s3..#s7", "#s3", "#s7", {3, 7}},
                {"3-7", "#s3", "#s7", {3, 7}},
                {"#s3..7.d1", "#s3", "#s7.d1", {3, 7}},
                {"#s3.d2..#s3.d2", "#s3.d2", "#s3.d2", {3, 3}},
                {"#s3.d5..#s3", "#s3.d5", "#s3", {3, 3}},
                {"#s3.d5..#s4.d1", "#s3.d5", "#s4.d1", {3, 4}},
                {"#s3..", "#s3", "", {3, UINT64_MAX}},
                {"..#s7.d4", "", "#s7.d4", {0, 7}}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct hal_locator_range range;
        char text[HAL_LOCATOR_BYTES];
        uint64_t first, last;
        if (hal_locator_range_parse(good[i].text, &range, NULL) != HAL_OK)
            fail_msg("refused: %s", good[i].text);
        assert_string_equal(range.has_first ? hal_locator_print(&range.first, text) : "",
                            good[i].first);
        assert_string_equal(range.has_last ? hal_locator_print(&range.last, text) : "",
                            good[i].last);
        hal_locator_submissions(&range, &first, &last);
        assert_true(first == good[i].submissions[0] && last == good[i].submissions[1]);
    }
}

TEST(other_ranges_are_refused)
{
    static const char *const bad[] = {"",          "..",       ".",         "#s3.",
                                      "#s3...#s4", "#s5..#s3", "5-3",       "#s3.d2..#s3.d1",
                                      "#s3..x",    "#s3..#s",  "s1..s2",    "#s1..#s2x",
                                      "#s1,#s2",   "-3",       "#s1..,#s2", "#s1-.."};
    struct hal_locator_range range;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (hal_locator_range_parse(bad[i], &range, NULL) != HAL_INVALID)
            fail_msg("taken: %s", bad[i]);
        assert_non_null(strstr(hal_message(), "is not a range of locators: #s3, #s3..#s7"));
    }
}

TEST(lists_go_on_behind_commas)
{
    struct hal_locator_range range;
    const char *rest = "#s1..,..#s2,7";
    assert_int_equal(hal_locator_range_parse(rest, &range, &rest), HAL_OK);
    assert_true(range.has_first && !range.has_last);
    assert_string_equal(rest, ",..#s2,7");
    assert_int_equal(hal_locator_range_parse(rest + 1, &range, &rest), HAL_OK);
    assert_true(!range.has_first && range.has_last);
    assert_int_equal(hal_locator_range_parse(rest + 1, &range, &rest), HAL_OK);
    assert_string_equal(rest, "");
    assert_int_equal(hal_locator_range_parse("", &range, &rest), HAL_INVALID);
    assert_int_equal(hal_locator_range_parse("#s1;#s2", &range, &rest), HAL_INVALID);
}
