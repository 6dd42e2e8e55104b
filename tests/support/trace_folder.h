/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of a test program's own and the trace that its tests make there, one after the
 * other: fixtures of a group, and of each test. Header only. */
#ifndef TESTS_SUPPORT_TRACE_FOLDER_H
#define TESTS_SUPPORT_TRACE_FOLDER_H

#include "tests/support/folder.h"

static struct test_folder folder;
static char path[PATH_MAX]; /* of the trace */

static inline int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "trace.pb.zst", path);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static inline int remove_trace(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

#endif
