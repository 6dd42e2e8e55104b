/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a program's cases. It is sorted by place, because no compiler promises in which order
 * the constructors of a file run. */
#include "tests/support/test.h"

struct place {
    const char *file;
    int line;
};

static struct CMUnitTest *tests;
static struct place *places;
static size_t count;
static CMFixtureFunction each_set_up, each_tear_down, all_set_up, all_tear_down;

static bool follows(const struct place *place, const char *file, int line)
{
    return strcmp(place->file, file) == 0 && place->line > line;
}

void test_add(const struct CMUnitTest *test, const char *file, int line)
{
    tests = realloc(tests, (count + 1) * sizeof *tests);
    places = realloc(places, (count + 1) * sizeof *places);
    if (!tests || !places)
        abort();
    size_t at = count++;
    for (; at > 0 && follows(&places[at - 1], file, line); at--) {
        tests[at] = tests[at - 1];
        places[at] = places[at - 1];
    }
    tests[at] = *test;
    places[at] = (struct place){file, line};
}

void test_around_each(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    each_set_up = set_up;
    each_tear_down = tear_down;
}

void test_around_all(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    all_set_up = set_up;
    all_tear_down = tear_down;
}

int test_run(void)
{
    for (size_t i = 0; i < count; i++) {
        if (tests[i].setup_func || tests[i].teardown_func)
            continue;
        tests[i].setup_func = each_set_up;
        tests[i].teardown_func = each_tear_down;
    }
    return _cmocka_run_group_tests("tests", tests, count, all_set_up, all_tear_down);
}
