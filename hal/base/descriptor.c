/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that are recognized again. */
#include "hal/base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the search for a high number begins. The system's table grows with the largest number, so
 * high is not higher than needed. */
static int high_number(void)
{
    static const rlim_t most = 4096;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    const rlim_t numbers = limit.rlim_cur < most ? limit.rlim_cur : most;
    return (int)(numbers - numbers / 4);
}

void hal_descriptor_take(int number, struct hal_descriptor *out_descriptor)
{
    struct stat info;
    *out_descriptor = (struct hal_descriptor){.number = -1};
    if (number < 0)
        return;
    const int high = fcntl(number, F_DUPFD_CLOEXEC, high_number());
    if (high >= 0)
        close(number);
    else
        fcntl(number, F_SETFD, FD_CLOEXEC);
    out_descriptor->number = high >= 0 ? high : number;
    out_descriptor->is_open = true;
    if (fstat(out_descriptor->number, &info) == 0) {
        out_descriptor->device = info.st_dev;
        out_descriptor->file = info.st_ino;
    }
}

bool hal_descriptor_holds(const struct hal_descriptor *descriptor)
{
    struct stat info;
    return descriptor->is_open && fstat(descriptor->number, &info) == 0 &&
           info.st_dev == descriptor->device && info.st_ino == descriptor->file;
}

enum hal_status hal_descriptor_check(const struct hal_descriptor *descriptor, const char *what)
{
    if (hal_descriptor_holds(descriptor))
        return HAL_OK;
    return hal_fail(HAL_IO, "the program has closed descriptor %d of %s", descriptor->number, what);
}

int hal_descriptor_close(struct hal_descriptor *descriptor)
{
    const bool holds = hal_descriptor_holds(descriptor);
    descriptor->is_open = false;
    return holds && close(descriptor->number) != 0 && errno != EINTR ? errno : 0;
}

int hal_descriptor_of_path(const char *path)
{
    static const char folder[] = "/dev/fd/";
    enum { MOST_DIGITS = 9 };
    if (strncmp(path, folder, sizeof folder - 1) != 0)
        return -1;
    const char *const digits = path + sizeof folder - 1;
    const size_t count = strspn(digits, "0123456789");
    return count && count <= MOST_DIGITS && !digits[count] ? (int)strtol(digits, NULL, 10) : -1;
}
