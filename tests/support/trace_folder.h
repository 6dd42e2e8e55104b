/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of a test program's own and the trace that its tests make there, one after the
 * other: fixtures around all cases, and around each. Header only. */
#ifndef TESTS_SUPPORT_TRACE_FOLDER_H
#define TESTS_SUPPORT_TRACE_FOLDER_H

#include "tests/support/own_folder.h"

static char path[PATH_MAX]; /* of the trace */

static inline int make_trace_folder(void **state)
{
    const int error = make_folder(state);
    test_folder_file(&folder, "trace.pb.zst", path);
    return error;
}

static inline int remove_trace(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

#endif
