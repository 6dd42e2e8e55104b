/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary folders and files of cases, which go with the case, however it ends. */
#include "tests/conformance/runner.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

char *suite_folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/hal-conformance-XXXXXX", parent && parent[0] ? parent : "/tmp");
    return mkdtemp(path) ? strdup(path) : NULL;
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void suite_folder_remove(const char *path)
{
    enum { MOST_DESCRIPTORS = 8 };
    (void)nftw(path, remove_entry, MOST_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
