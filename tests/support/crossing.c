/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled kernel 'cross' would be that somebody wrote who wants out: native code that asks
 * the system for what a replay must not have. The first word of its buffer says that it ran; then
 * an error number per attempt, 0: it succeeded. No function of a library is asked, which might be
 * in between. */
#include "hal/msl/include/msl/abi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int32_t outcome(long result)
{
    return result < 0 ? errno : 0;
}

static int32_t try_open(const char *path, int flags)
{
    const long file = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    const int32_t error = outcome(file);
    if (file >= 0)
        syscall(SYS_close, file);
    return error;
}

/* Into the folder where everybody's compiled kernels are, which is only read. */
static int32_t try_cache(void)
{
    char path[4096];
    const char *folder = getenv("HAL_CACHE_DIR");
    snprintf(path, sizeof path, "%s/crossed", folder ? folder : "/");
    return try_open(path, O_WRONLY | O_CREAT);
}

/* Address space alone: nothing of it is touched. */
static int32_t try_memory(void)
{
    enum { TIB_BITS = 40 };
    const size_t bytes = (size_t)4 << TIB_BITS;
    const long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const int32_t error = at == -1 ? errno : 0;
    if (at != -1)
        syscall(SYS_munmap, at, bytes);
    return error;
}

/* Not more than there is: who may set a limit at all, may set this one. */
static int32_t try_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return errno;
    return outcome(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL));
}

static int32_t try_socket(int family)
{
    const long made = syscall(SYS_socket, family, SOCK_STREAM, 0);
    const int32_t error = outcome(made);
    if (made >= 0)
        syscall(SYS_close, made);
    return error;
}

static long start_program(void)
{
    static const char *const arguments[] = {"true", NULL}, *const nothing[] = {NULL};
    return syscall(SYS_execve, "/usr/bin/true", arguments, nothing);
}

/* Where a process can be made, in that one. */
static void try_processes(int32_t *out_fork, int32_t *out_exec)
{
    int state = 0;
    const long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    *out_fork = outcome(child);
    if (child < 0) {
        *out_exec = outcome(start_program());
        return;
    }
    if (child == 0) {
        start_program();
        syscall(SYS_exit_group, 126);
    }
    syscall(SYS_wait4, child, &state, 0, NULL);
    *out_exec = state == 0 ? 0 : EACCES;
}

static void cross(const struct msl_abi_launch *launch, uint64_t first, uint64_t last)
{
    int32_t *const out = launch->buffers[0];
    (void)first;
    (void)last;
    out[0] = 4711;
    out[1] = try_socket(AF_INET);
    out[2] = try_socket(AF_UNIX);
    out[3] = try_open("/etc/passwd", O_RDONLY);
    out[4] = try_open("crossed", O_WRONLY | O_CREAT);
    try_processes(&out[5], &out[6]);
    out[7] = outcome(syscall(SYS_kill, (long)getppid(), 0));
    out[8] = try_cache();
    out[9] = try_limits();
    out[10] = try_memory();
}

static const char tag;
static const struct msl_abi_kernel kernel = {.name = "cross",
                                             .tag = &tag,
                                             .run_groups = cross,
                                             .road = "",
                                             .buffer_mask = 1,
                                             .buffer_access = {2},
                                             .buffer_alignment = {4}};
static const struct msl_abi_runtime *runtime;
extern const struct msl_abi_module msl_abi_module;
__attribute__((visibility("default"))) const struct msl_abi_module msl_abi_module = {
    .first_kernel = &kernel, .last_kernel = &kernel + 1, .runtime = &runtime};
