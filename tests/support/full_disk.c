/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program (LD_PRELOAD): a disk that is full once FULL_DISK_BYTES bytes were written
 * to files whose name ends in ".pb.zst", or to those that will get such a name. The last write is a
 * partial one, as on a real disk. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t write_function(int descriptor, const void *data, size_t bytes);

__attribute__((visibility("default"))) write_function write;

static bool is_trace(int descriptor)
{
    static const char extension[] = ".pb.zst";
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < (ssize_t)sizeof extension)
        return false;
    path[length] = '\0';
    static const char nameless[] = " (deleted)"; /* "/folder/#1234 (deleted)": of O_TMPFILE */
    const char *end = path + length - (sizeof nameless - 1);
    if (strstr(path, "/.haltrace-") ||
        (end > path && strstr(path, "/#") && strcmp(end, nameless) == 0))
        return true;
    return strcmp(path + (size_t)length - (sizeof extension - 1), extension) == 0;
}

ssize_t write(int descriptor, const void *data, size_t bytes)
{
    static _Atomic size_t used;
    write_function *next;
    void *symbol = dlsym(RTLD_NEXT, "write");
    memcpy(&next, &symbol, sizeof next);
    const char *limit = getenv("FULL_DISK_BYTES");
    if (limit && bytes > 0 && is_trace(descriptor)) {
        const size_t most = (size_t)strtoull(limit, NULL, 10), before = used;
        if (before >= most) {
            errno = ENOSPC;
            return -1;
        }
        bytes = bytes < most - before ? bytes : most - before;
        used += bytes;
    }
    return next(descriptor, data, bytes);
}
