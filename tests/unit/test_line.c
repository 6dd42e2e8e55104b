/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/line.h: first come, first served, whoever comes and goes between. */
#include "hal/base/line.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct person {
    int name;
    struct hal_link here, there;
};

static struct person *take(struct hal_line *line)
{
    return hal_line_take(line, offsetof(struct person, here));
}

static void nobody_is_in_an_empty_line(void **state)
{
    (void)state;
    struct hal_line line = {0};
    assert_null(take(&line));
    assert_null(hal_line_first(&line, offsetof(struct person, here)));
}

static void who_comes_first_is_taken_first(void **state)
{
    (void)state;
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
static void an_emptied_line_begins_anew(void **state)
{
    (void)state;
    struct hal_line line = {0};
    struct person a = {.name = 1}, b = {.name = 2};
    hal_line_join(&line, &a.here);
    assert_ptr_equal(take(&line), &a);
    hal_line_join(&line, &b.here);
    assert_ptr_equal(take(&line), &b);
    assert_null(take(&line));
}

static void lines_do_not_mix(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_in_an_empty_line),
        cmocka_unit_test(who_comes_first_is_taken_first),
        cmocka_unit_test(an_emptied_line_begins_anew),
        cmocka_unit_test(lines_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
