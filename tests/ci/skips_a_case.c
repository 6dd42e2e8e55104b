/* SPDX-License-Identifier: Apache-2.0 */
/* A test with a case that skips: what .ci/check-skipped must see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void left_out_here(void **state)
{
    (void)state;
    skip();
}

static void done_here(void **state)
{
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_out_here),
        cmocka_unit_test(done_here),
    };
    return cmocka_run_group_tests_name("left_out", tests, NULL, NULL);
}
