/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of a test's own, and paths in it. Header only. */
#ifndef TESTS_SUPPORT_FOLDER_H
#define TESTS_SUPPORT_FOLDER_H

#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct test_folder {
    char path[PATH_MAX];
};

/* False when the system refuses. */
static inline bool test_folder_make(struct test_folder *folder)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/haltrace-test-XXXXXX",
             parent && parent[0] ? parent : "/tmp");
    return mkdtemp(folder->path) != NULL;
}

static inline int test_folder_remove_entry(const char *path, const struct stat *status, int type,
                                           struct FTW *position)
{
    (void)status;
    (void)type;
    (void)position;
    return remove(path);
}

/* With everything in it. */
static inline void test_folder_remove(const struct test_folder *folder)
{
    nftw(folder->path, test_folder_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* "FOLDER/name", in `out`, which it returns. */
static inline const char *test_folder_file(const struct test_folder *folder, const char *name,
                                           char out[PATH_MAX])
{
    if (snprintf(out, PATH_MAX, "%s/%s", folder->path, name) >= PATH_MAX)
        abort();
    return out;
}

#endif
