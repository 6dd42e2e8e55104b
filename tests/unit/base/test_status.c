/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/status.c: names, messages, context, cutting, one message per thread. */
#include "hal/base/status.h"
#include "tests/support/test.h"

#include <pthread.h>

TEST(names_are_prose)
{
    assert_string_equal(hal_status_name(HAL_OK), "ok");
    assert_string_equal(hal_status_name(HAL_NOT_FOUND), "not found");
    assert_string_equal(hal_status_name((enum hal_status)999), "unknown status");
}

TEST(context_comes_first_and_may_use_the_old_message)
{
    assert_int_equal(hal_fail(HAL_IO, "disk %d", 7), HAL_IO);
    assert_int_equal(hal_add_context(HAL_IO, "opening '%s'", "x"), HAL_IO);
    assert_string_equal(hal_message(), "opening 'x': disk 7");
    assert_int_equal(hal_fail(HAL_CORRUPT, "again: %s", hal_message()), HAL_CORRUPT);
    assert_string_equal(hal_message(), "again: opening 'x': disk 7");
    assert_int_equal(hal_add_context(HAL_OK, "ignored"), HAL_OK);
    assert_string_equal(hal_message(), "again: opening 'x': disk 7");
}

TEST(long_messages_are_cut_visibly)
{
    char text[2 * HAL_MESSAGE_BYTES];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hal_fail(HAL_INVALID, "%s", text);
    assert_int_equal(strlen(hal_message()), HAL_MESSAGE_BYTES - 1);
    assert_string_equal(hal_message() + HAL_MESSAGE_BYTES - 4, "...");
    hal_add_context(HAL_INVALID, "%s", "in front");
    assert_memory_equal(hal_message(), "in front: aaa", 13);
    assert_string_equal(hal_message() + HAL_MESSAGE_BYTES - 4, "...");
}

static void *fail_elsewhere(void *unused)
{
    hal_fail(HAL_TIMEOUT, "other thread");
    return unused;
}

TEST(each_thread_has_its_own)
{
    hal_fail(HAL_IO, "mine");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    assert_string_equal(hal_message(), "mine");
}
