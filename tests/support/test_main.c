/* SPDX-License-Identifier: Apache-2.0 */
/* The main of programs that have none of their own. */
#include "tests/support/test.h"

int main(void)
{
    return test_run();
}
