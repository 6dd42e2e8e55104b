/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/line.h: first come, first served, whoever comes and goes between. */
#include "hal/base/line.h"
#include "tests/support/test.h"

struct person {
    int name;
    struct hal_link here, there;
};

static struct person *take(struct hal_line *line)
{
    return hal_line_take(line, offsetof(struct person, here));
}

TEST(nobody_is_in_an_empty_line)
{
    struct hal_line line = {0};
    assert_null(take(&line));
    assert_null(hal_line_first(&line, offsetof(struct person, here)));
}

TEST(who_comes_first_is_taken_first)
{
    struct hal_line line = {0};
    struct person a = {.name = 1}, b = {.name = 2}, c = {.name = 3};
    hal_line_join(&line, &a.here);
    hal_line_join(&line, &b.here);
    assert_ptr_equal(hal_line_first(&line, offsetof(struct person, here)), &a);
    assert_ptr_equal(take(&line), &a);
    hal_line_join(&line, &c.here);
    hal_line_join(&line, &a.here);
    assert_ptr_equal(take(&line), &b);
    assert_ptr_equal(take(&line), &c);
    assert_ptr_equal(take(&line), &a);
    assert_null(take(&line));
}

/* The end of a line that has become empty is no end of the next one. */
TEST(an_emptied_line_begins_anew)
{
    struct hal_line line = {0};
    struct person a = {.name = 1}, b = {.name = 2};
    hal_line_join(&line, &a.here);
    assert_ptr_equal(take(&line), &a);
    hal_line_join(&line, &b.here);
    assert_ptr_equal(take(&line), &b);
    assert_null(take(&line));
}

TEST(lines_do_not_mix)
{
    struct hal_line here = {0}, there = {0};
    struct person a = {.name = 1}, b = {.name = 2};
    hal_line_join(&here, &a.here);
    hal_line_join(&there, &b.there);
    hal_line_join(&there, &a.there);
    hal_line_join(&here, &b.here);
    assert_ptr_equal(take(&here), &a);
    assert_ptr_equal(hal_line_take(&there, offsetof(struct person, there)), &b);
    assert_ptr_equal(take(&here), &b);
    assert_ptr_equal(hal_line_take(&there, offsetof(struct person, there)), &a);
}
