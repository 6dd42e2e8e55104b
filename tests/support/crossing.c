/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled kernel 'cross' would be that somebody wrote who wants out: native code that asks
 * the system for what a replay must not have. The first word of its buffer says that it ran; then
 * an error number per attempt, 0: it succeeded, in the order of tests/support/crossing.h. No
 * function of a library is named, as nothing that names one is loaded: system calls are made by
 * their instruction, and the C library is found from an address on the stack. */
#include "tests/support/crossing.h"
#include "tests/support/planted.h"
#include "tests/support/system_call.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* ---- System calls -------------------------------------------------------------------------- */

static int32_t outcome(long result)
{
    return result < 0 ? (int32_t)-result : 0;
}

static int32_t close_again(long file)
{
    if (file >= 0)
        CALL1(SYS_close, file);
    return outcome(file);
}

/* ---- The C library ------------------------------------------------------------------------- */

/* By asking the system to read a path there. */
static bool is_readable(const void *at)
{
    return CALL4(SYS_faccessat, AT_FDCWD, at, 0, 0) != -EFAULT;
}

static bool is_called(const char *name, const char *wanted)
{
    while (*name && *name == *wanted) {
        name++;
        wanted++;
    }
    return *name == *wanted;
}

static const void *find_symbol(const uint8_t *image, const char *wanted)
{
    const Elf64_Ehdr *const header = (const void *)image;
    const Elf64_Phdr *const parts = (const void *)(image + header->e_phoff);
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (parts[i].p_type != PT_DYNAMIC)
            continue;
        for (const Elf64_Dyn *at = (const void *)(image + parts[i].p_vaddr); at->d_tag; at++) {
            if (at->d_tag == DT_SYMTAB)
                symbols = (const void *)at->d_un.d_ptr;
            if (at->d_tag == DT_STRTAB)
                names = (const void *)at->d_un.d_ptr;
        }
    }
    for (size_t i = 1; names && (const char *)&symbols[i] < names; i++)
        if (symbols[i].st_shndx && is_called(names + symbols[i].st_name, wanted))
            return image + symbols[i].st_value;
    return NULL;
}

/* Whose code called ours, at the far end: a thread's begin. */
static const void *find_in_library(const char *wanted)
{
    enum { PAGE = 4096, MOST_PAGES = 2048, MOST_WORDS = 1 << 20 };
    const uintptr_t *word = __builtin_frame_address(0);
    for (size_t i = 0; i < MOST_WORDS; i++, word++) {
        if (((uintptr_t)word & (PAGE - 1)) < sizeof *word && !is_readable(word))
            return NULL;
        const uint8_t *page = (const uint8_t *)(*word & ~(uintptr_t)(PAGE - 1));
        for (size_t k = 0; k < MOST_PAGES && page && is_readable(page); k++, page -= PAGE) {
            if (page[0] != 0x7f || page[1] != 'E' || page[2] != 'L' || page[3] != 'F')
                continue;
            const void *const found = ((const Elf64_Ehdr *)(const void *)page)->e_type == ET_DYN
                                          ? find_symbol(page, wanted)
                                          : NULL;
            if (found)
                return found;
            break;
        }
    }
    return NULL;
}

/* "PID (NAME) STATE PARENT ...". */
static long find_parent(void)
{
    char text[256];
    long parent = 0, file = CALL4(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY, 0);
    const long bytes = CALL3(SYS_read, file, text, sizeof text - 1);
    close_again(file);
    long at = bytes > 0 ? bytes : 0;
    text[at] = 0;
    while (at > 0 && text[at] != ')')
        at--;
    for (at += 4; text[at] >= '0' && text[at] <= '9'; at++)
        parent = 10 * parent + text[at] - '0';
    return parent;
}

/* ---- Attempts ------------------------------------------------------------------------------ */

static int32_t try_open(const char *path, int flags)
{
    return close_again(CALL4(SYS_openat, AT_FDCWD, path, flags, 0600));
}

/* Address space alone: nothing of it is touched. */
static int32_t try_memory(void)
{
    enum { TIB_BITS = 40 };
    const size_t bytes = (size_t)4 << TIB_BITS;
    const long at = call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at < 0 && at > -4096)
        return (int32_t)-at;
    CALL2(SYS_munmap, at, bytes);
    return 0;
}

/* Not more than there is: who may set a limit at all, may set this one. */
static int32_t try_limits(long process)
{
    struct rlimit limit;
    const long got = CALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    return got < 0 ? outcome(got)
                   : outcome(CALL4(SYS_prlimit64, process, RLIMIT_NOFILE, &limit, NULL));
}

static long wait_for(long child)
{
    int state = 0;
    return CALL4(SYS_wait4, child, &state, 0, NULL) == child ? state : -1;
}

static int32_t try_clone(unsigned long flags)
{
    const long child = call(SYS_clone, (long)flags, 0, 0, 0, 0, 0);
    if (child == 0)
        CALL1(SYS_exit_group, 0);
    if (child > 0)
        wait_for(child);
    return outcome(child);
}

#if defined(SYS_fork)
static int32_t try_old_fork(void)
{
    const long child = CALL1(SYS_fork, 0);
    if (child == 0)
        CALL1(SYS_exit_group, 0);
    if (child > 0)
        wait_for(child);
    return outcome(child);
}
#endif

static int32_t try_clone3(void)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    const long child = CALL2(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0)
        CALL1(SYS_exit_group, 0);
    if (child > 0)
        wait_for(child);
    return outcome(child);
}

/* Where a process can be made, in that one. */
static int32_t try_program(void)
{
    static const char *const arguments[] = {"true", NULL}, *const nothing[] = {NULL};
    const long child = call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (child < 0)
        return outcome(CALL3(SYS_execve, "/usr/bin/true", arguments, nothing));
    if (child == 0) {
        CALL3(SYS_execve, "/usr/bin/true", arguments, nothing);
        CALL1(SYS_exit_group, 126);
    }
    return wait_for(child) == 0 ? 0 : EACCES;
}

static int32_t try_owner(void)
{
    const long file = CALL4(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
    const int32_t error = outcome(CALL3(SYS_fcntl, file, F_SETOWN, find_parent()));
    CALL1(SYS_close, file);
    return error;
}

static int32_t try_library(const char *path)
{
    int (*found)(const char *, unsigned);
    *(const void **)&found = find_in_library("chmod");
    int *(*error)(void);
    *(const void **)&error = find_in_library("__errno_location");
    if (!found || !error)
        return -1;
    return found(path, 0644) == 0 ? 0 : *error();
}

/* The mode of a file that is open to be read. */
static int32_t try_descriptor(const char *path)
{
    const long file = CALL4(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    const int32_t error = outcome(CALL2(SYS_fchmod, file < 0 ? STDOUT_FILENO : file, 0600));
    close_again(file);
    return error;
}

/* One line for each kind. NOLINTNEXTLINE(readability-function-size) */
static int32_t attempt(enum crossing which)
{
    static const char path[] = "victim", other[] = "other";
    static const struct timespec times[2] = {{1, 0}, {1, 0}};
    const long parent = find_parent();
    uint64_t mask = ~UINT64_C(0);
    switch (which) {
    case CROSSING_RAN: return CROSSING_PROOF;
    case CROSSING_SOCKET: return close_again(CALL3(SYS_socket, AF_INET, SOCK_STREAM, 0));
    case CROSSING_UNIX_SOCKET: return close_again(CALL3(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
    case CROSSING_SECRET: return try_open("/etc/passwd", O_RDONLY);
    case CROSSING_CREATE: return try_open("crossed", O_WRONLY | O_CREAT);
    case CROSSING_NAMELESS: return try_open(".", O_WRONLY | O_TMPFILE);
    case CROSSING_FORK: return try_clone(SIGCHLD);
    case CROSSING_OLD_FORK:
#if defined(SYS_fork)
        return try_old_fork();
#else
        return try_clone(SIGCHLD);
#endif
    case CROSSING_VFORK: return try_clone(CLONE_VM | CLONE_VFORK | SIGCHLD);
    case CROSSING_CLONE3: return try_clone3();
    case CROSSING_PROGRAM: return try_program();
    case CROSSING_KILL: return outcome(CALL2(SYS_kill, parent, 0));
    case CROSSING_TGKILL: return outcome(CALL3(SYS_tgkill, parent, parent, 0));
    case CROSSING_LIMITS: return try_limits(0);
    case CROSSING_LIMITS_OF_OTHERS: return try_limits(parent);
    case CROSSING_MEMORY: return try_memory();
    case CROSSING_CHMOD:
#if defined(SYS_chmod)
        return outcome(CALL2(SYS_chmod, path, 0644));
#endif
    case CROSSING_FCHMODAT: return outcome(CALL3(SYS_fchmodat, AT_FDCWD, path, 0644));
    case CROSSING_FCHMODAT2: return outcome(CALL4(452, AT_FDCWD, path, 0644, 0));
    case CROSSING_FCHMOD: return try_descriptor(path);
    case CROSSING_LIBRARY: return try_library(path);
    case CROSSING_CHOWN: return outcome(call(SYS_fchownat, AT_FDCWD, (long)path, -1, -1, 0, 0));
    case CROSSING_TIMES: return outcome(CALL4(SYS_utimensat, AT_FDCWD, path, times, 0));
    case CROSSING_ATTRIBUTE:
        return outcome(call(SYS_setxattr, (long)path, (long)"user.x", (long)"y", 1, 0, 0));
    case CROSSING_TRUNCATE: return outcome(CALL2(SYS_truncate, path, 6));
    case CROSSING_LINK:
        return outcome(call(SYS_linkat, AT_FDCWD, (long)path, AT_FDCWD, (long)"second", 0, 0));
    case CROSSING_RENAME:
        return outcome(call(SYS_renameat2, AT_FDCWD, (long)other, AT_FDCWD, (long)"again", 0, 0));
    case CROSSING_UNLINK: return outcome(CALL3(SYS_unlinkat, AT_FDCWD, "again", 0));
    case CROSSING_SYMLINK: return outcome(CALL3(SYS_symlinkat, "/etc/passwd", AT_FDCWD, "link"));
    case CROSSING_FOLDER: return outcome(CALL3(SYS_mkdirat, AT_FDCWD, "folder", 0700));
    case CROSSING_AFFINITY:
        return outcome(CALL3(SYS_sched_setaffinity, parent, sizeof mask, &mask));
    case CROSSING_OWN_AFFINITY: return outcome(CALL3(SYS_sched_setaffinity, 0, sizeof mask, &mask));
    case CROSSING_PRIORITY: /* to what it is: the call returns 20 less that */
        return outcome(CALL3(SYS_setpriority, PRIO_PROCESS, parent,
                             20 - CALL2(SYS_getpriority, PRIO_PROCESS, parent)));
    case CROSSING_OWNER: return try_owner();
    case CROSSING_CLOSE_RANGE: return outcome(CALL3(SYS_close_range, 1000, 1001, 0));
    case CROSSING_MEMORY_FILE: return close_again(CALL2(SYS_memfd_create, "x", 0));
    case CROSSING_PRCTL: return outcome(CALL2(SYS_prctl, PR_SET_DUMPABLE, 1));
    case CROSSING_PIDFD: return close_again(CALL2(SYS_pidfd_open, parent, 0));
    case CROSSING_SPY: return outcome(call(SYS_process_vm_readv, parent, 0, 0, 0, 0, 0));
    case CROSSING_NAMESPACE: return outcome(CALL1(SYS_unshare, 0));
    case CROSSING_SECCOMP: return outcome(CALL3(SYS_seccomp, 2, 0, &(uint32_t){0}));
    case CROSSING_IO_URING: return outcome(CALL2(425, 0, NULL)) == EFAULT ? 0 : ENOSYS;
    case CROSSING_SHARED_MEMORY: return outcome(CALL3(SYS_shmget, 0, 0, 0)) == EINVAL ? 0 : ENOSYS;
    case CROSSING_SHARED_PAGES:
        return outcome(call(SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    case CROSSING_COUNT: break;
    }
    return -1;
}

static void cross(int32_t *out)
{
    for (int i = 0; i < CROSSING_COUNT; i++)
        out[i] = attempt((enum crossing)i);
}

PLANT("cross", cross);
