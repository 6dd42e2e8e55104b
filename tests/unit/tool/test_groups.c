/* SPDX-License-Identifier: Apache-2.0 */
/* format/tool/support/groups.c: whose groups are whose when traces are merged. */
#include "format/tool/support/groups.h"
#include "tests/support/test.h"

static struct trace_capture capture_of(uint64_t process, uint64_t base)
{
    return (struct trace_capture){
        .program = "p", .host = "h", .process_id = process, .group_base = base};
}

static struct trace_header header_of(const struct trace_capture *captures, size_t count)
{
    return (struct trace_header){
        .program = "p", .host = "h", .system = "", .captures = captures, .capture_count = count};
}

/* Process 7 twice, with other bases: a number that came again. Its groups 1 and 2, and 1 of the
 * second one, which is 3 in the file, stay three. */
TEST(one_number_of_two_processes)
{
    const struct trace_capture captures[] = {capture_of(7, 0), capture_of(7, 2), capture_of(7, 0)};
    const struct trace_header header = header_of(captures, 3);
    struct groups_all all = {0};
    struct groups groups;
    assert_int_equal(groups_open(&groups, &all, &header), HAL_OK);
    for (uint64_t number = 0; number <= 3; number++)
        groups_note(&groups, number);
    assert_int_equal(groups_number(&all), HAL_OK);
    assert_int_equal(groups_new_number(&groups, 1), 1);
    assert_int_equal(groups_new_number(&groups, 2), 2);
    assert_int_equal(groups_new_number(&groups, 3), 3);
    assert_int_equal(groups_new_base(&groups, 0), 0);
    assert_int_equal(groups_new_base(&groups, 1), 2);
    assert_int_equal(groups_new_base(&groups, 2), 0); /* the first process again */
    groups_close(&groups);
    groups_all_finish(&all);
}

/* Two traces of one process name their groups alike; those of another one begin behind. */
TEST(processes_stay_together_and_apart)
{
    const uint64_t processes[] = {7, 8, 7};
    struct groups_all all = {0};
    struct groups groups[3];
    for (size_t i = 0; i < 3; i++) {
        struct trace_header header = header_of(NULL, 0);
        header.process_id = processes[i];
        assert_int_equal(groups_open(&groups[i], &all, &header), HAL_OK);
        groups_note(&groups[i], i == 2 ? 5 : 2);
    }
    assert_int_equal(groups_number(&all), HAL_OK);
    assert_int_equal(groups_new_number(&groups[0], 2), 2);
    assert_int_equal(groups_new_number(&groups[2], 2), 2);
    assert_int_equal(groups_new_number(&groups[1], 2), 7);
    for (size_t i = 0; i < 3; i++)
        groups_close(&groups[i]);
    groups_all_finish(&all);
}

/* What was added to all captures is more than the number: moved, it would be some other one. */
TEST(numbers_of_nobody_are_refused)
{
    const struct trace_capture captures[] = {capture_of(7, 4), capture_of(8, 6)};
    const struct trace_header header = header_of(captures, 2);
    for (uint64_t number = 3; number <= 5; number++) {
        struct groups_all all = {0};
        struct groups groups;
        assert_int_equal(groups_open(&groups, &all, &header), HAL_OK);
        groups_note(&groups, number);
        assert_int_equal(groups_number(&all), number > 4 ? HAL_OK : HAL_CORRUPT);
        groups_close(&groups);
        groups_all_finish(&all);
    }
}

TEST(numbers_that_become_too_large_are_refused)
{
    struct groups_all all = {0};
    struct groups groups[2];
    for (size_t i = 0; i < 2; i++) {
        struct trace_header header = header_of(NULL, 0);
        header.process_id = i;
        assert_int_equal(groups_open(&groups[i], &all, &header), HAL_OK);
        groups_note(&groups[i], i ? 1 : UINT64_MAX);
    }
    assert_int_equal(groups_number(&all), HAL_UNSUPPORTED);
    for (size_t i = 0; i < 2; i++)
        groups_close(&groups[i]);
    groups_all_finish(&all);
}
