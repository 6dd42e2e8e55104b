/* SPDX-License-Identifier: Apache-2.0 */
/* A test with a case that skips: what .ci/check-skipped must see. */
#include "tests/support/test.h"

TEST(left_out_here)
{
    skip();
}

TEST(done_here) {}
