/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor of the test's that leads elsewhere for a while. Header only. */
#ifndef TESTS_SUPPORT_REDIRECT_H
#define TESTS_SUPPORT_REDIRECT_H

#include "tests/support/test.h"

#include <fcntl.h>
#include <unistd.h>

/* To a file that open(2) opens with these flags. Returns where it led before, for put_back(). */
static inline int redirect(const char *path, int flags, int descriptor)
{
    const int before = dup(descriptor), file = open(path, flags, 0600);
    assert_true(before >= 0 && file >= 0 && dup2(file, descriptor) >= 0);
    close(file);
    return before;
}

static inline void put_back(int before, int descriptor)
{
    assert_true(dup2(before, descriptor) >= 0);
    close(before);
}

#endif
