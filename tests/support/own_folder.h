/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of a test program's own: fixtures around all of its cases. Header only. */
#ifndef TESTS_SUPPORT_OWN_FOLDER_H
#define TESTS_SUPPORT_OWN_FOLDER_H

#include "tests/support/folder.h"

static struct test_folder folder;

static inline int make_folder(void **state)
{
    (void)state;
    return test_folder_make(&folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

#endif
