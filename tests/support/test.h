/* SPDX-License-Identifier: Apache-2.0 */
/* Cases for cmocka, each named once: TEST defines a case and adds it to the program's list, which
 * keeps the order of the source. The library test_main has a main that runs the list; a program
 * with a main of its own calls test_run. Set-ups and tear-downs are cmocka's; NULL stands for none.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* TEST(name) { ... } */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A case with a set-up and a tear-down of its own. */
#define TEST_WITH(name, set_up, tear_down)                                                         \
    static void name(void);                                                                        \
    TEST_ADD(name, name(), tear_down, set_up)                                                      \
    static void name(void)

/* A case that runs once after each of the given set-ups. */
#define TEST_EACH(name, ...)                                                                       \
    static void name(void);                                                                        \
    TEST_ADD(name, name(), NULL, __VA_ARGS__)                                                      \
    static void name(void)

/* A case that works on the state that a set-up left: TEST_ON(name, struct fixture *f) { ... } */
#define TEST_ON(name, parameter)                                                                   \
    static void name(parameter);                                                                   \
    TEST_ADD(name, name(*test_state), NULL, NULL)                                                  \
    static void name(parameter)

/* Once in a program: around each case that has no set-up or tear-down of its own. */
#define TEST_FIXTURE(set_up, tear_down)                                                            \
    __attribute__((constructor)) static void test_set_fixture(void)                                \
    {                                                                                              \
        test_around_each(set_up, tear_down);                                                       \
    }                                                                                              \
    struct test_needs_a_semicolon

/* Once in a program: around all of its cases. */
#define TEST_SUITE_FIXTURE(set_up, tear_down)                                                      \
    __attribute__((constructor)) static void test_set_suite_fixture(void)                          \
    {                                                                                              \
        test_around_all(set_up, tear_down);                                                        \
    }                                                                                              \
    struct test_needs_a_semicolon

#define TEST_ADD(name, call, tear_down, ...)                                                       \
    static void name##_case(void **test_state)                                                     \
    {                                                                                              \
        (void)test_state;                                                                          \
        call;                                                                                      \
    }                                                                                              \
    __attribute__((constructor)) static void name##_add(void)                                      \
    {                                                                                              \
        const CMFixtureFunction set_ups[] = {__VA_ARGS__};                                         \
        for (size_t i = 0; i < sizeof set_ups / sizeof *set_ups; i++)                              \
            test_add(&(struct CMUnitTest){#name, name##_case, set_ups[i], tear_down, NULL},        \
                     __FILE__, __LINE__);                                                          \
    }

/* Adds a case of a table, whose place is __FILE__ and __LINE__. */
void test_add(const struct CMUnitTest *test, const char *file, int line);

/* What the macros call. */
void test_around_each(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void test_around_all(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Returns how many cases failed. */
int test_run(void);

#endif
