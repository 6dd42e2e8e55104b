/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp for everything that a process can ask for. Two lists of what is allowed, the second a
 * part of the first: while kernels compile, and once it is locked, when their code may run. Paths
 * are Landlock's business, but for what it does not govern: modes, owners, times, attributes.
 *
 * Calls go by name and have their numbers from libseccomp, for any processor. */
#include "replay/sandbox/policy.h"
#include "replay/sandbox/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Once locked --------------------------------------------------------------------------- */

/* Each by need. What libraries ask for and live without is no need. */
static const char *const locked[] = {
    "read",            /* the trace, and what it refers to */
    "pread64",         /* the trace, in pieces */
    "lseek",           /* files given with --substitute-buffer and --map */
    "write",           /* the report, and results that are files */
    "writev",          /* messages of the C library and of a sanitizer */
    "pwrite64",        /* a trace that --record or --minimal writes */
    "close",           /* files that were read, objects that were shared */
    "fstat",           /* how long a file is that is loaded */
    "newfstatat",      /* whether a compiled kernel is there */
    "access",          /* the same */
    "faccessat",       /* the same, on systems without access */
    "faccessat2",      /* whether a path leads somewhere */
    "readlink",        /* where the libraries are, by /proc/self */
    "readlinkat",      /* the same, on systems without readlink */
    "getdents64",      /* which processors there are */
    "ftruncate",       /* how long memory is that is shared */
    "fallocate",       /* room for it, before it is used */
    "munmap",          /* its end */
    "mremap",          /* long lists that grow */
    "mprotect",        /* stacks with a guard, constants of compiled kernels */
    "madvise",         /* memory of buffers that is given back */
    "brk",             /* small pieces of memory */
    "futex",           /* threads that wait for each other */
    "set_robust_list", /* a new thread */
    "rseq",            /* a new thread */
    "exit",            /* the end of a thread */
    "exit_group",      /* of the process */
    "sched_yield",     /* threads that let others go first */
    "clock_gettime",   /* times, where they need a call */
    "clock_nanosleep", /* calls that come when they came in the recording */
    "rt_sigaction",    /* handlers of what kernels do wrong */
    "rt_sigprocmask",  /* threads that start without signals */
    "rt_sigreturn",    /* the end of a handler */
    "rt_sigpending",   /* a capture that finds no room for what it writes (--record) */
    "rt_sigtimedwait", /* the same */
    "sigaltstack",     /* its stack */
    "gettid",          /* the number of a thread, for messages */
    "getpid",          /* names of files on their way */
    "geteuid",         /* whether a compiled kernel is the user's */
    "getrusage",       /* how much memory there was at most */
    "sysinfo",         /* how much memory there is */
    "getrandom",       /* where lists of the C library begin */
    "getcpu",          /* which processor a worker is on */
    "restart_syscall", /* a sleep that a handler interrupted */
    "poll",            /* times to wait */
    "ppoll",           /* the same, on systems without poll */
};

/* What a sanitizer's runtime needs besides. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const char *const sanitizers[] = {"open",     "stat",   "lstat",   "sched_getaffinity",
                                         "getuid",   "getgid", "getppid", "gettimeofday",
                                         "nanosleep"};
#else
static const char *const sanitizers[] = {NULL};
#endif

/* Newer C libraries try these first, and continue without them: not reported. Numbers for versions
 * of seccomp that do not know the names; they are the same on all processors. */
struct probe {
    const char *name;
    int number;
};
static const struct probe probes[] = {
    {"clone3", 435}, /* then clone, whose flags can be looked at */
    {"futex_waitv", 449},   {"futex_wake", 454},   {"futex_wait", 455},
    {"futex_requeue", 456}, {"mseal", 462},                       /* memory that must not change */
    {"set_mempolicy", -1},  {"get_mempolicy", -1}, {"mbind", -1}, /* memory of one processor */
    {"membarrier", -1},     {"memfd_create", -1}, /* memory of buffers, which is private then */
    {"unlink", -1}, /* a capture's files beside its result: the parent does that */
};

/* ---- While kernels compile ----------------------------------------------------------------- */

/* On top of those: programs, folders to write, what a device is opened with. */
static const char *const compiling[] = {
    /* files */ "readv",
    "preadv",
    "pwritev",
    "stat",
    "lstat",
    "statx",
    "statfs",
    "fstatfs",
    "getcwd",
    "fadvise64",
    "flock",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "mkdir",
    "mkdirat",
    "unlink",
    "unlinkat",
    "rmdir",
    "rename",
    "renameat",
    "renameat2",
    "umask",
    "select",
    "pselect6",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "eventfd2",
    "close_range",
    /* memory */ "memfd_create" /* of a device, as it is opened */,
    "msync",
    "mincore",
    "mlock",
    "munlock",
    /* threads and time */ "get_robust_list",
    "set_tid_address",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "membarrier",
    "clock_getres",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "arch_prctl",
    "seccomp" /* the lock */,
    /* signals */ "rt_sigsuspend",
    "tgkill",
    "kill",
    /* facts */ "getppid",
    "getpgrp",
    "getpgid",
    "getuid",
    "getgid",
    "getegid",
    "uname",
    "getrlimit",
    /* the compiler */ "execve",
    "fork",
    "vfork",
    "wait4",
    "waitid",
    "setpgid"};

/* ---- Rules --------------------------------------------------------------------------------- */

enum { NAME_CALLS = 0x53564d41 /* PR_SET_VMA */, ASK_TERMINAL = 0x5401 /* TCGETS */ };
#define ASK_TERMINAL_ANEW UINT64_C(0x802c542a) /* TCGETS2, of newer C libraries */
#define THREAD                                                                                     \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |            \
     CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)
#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

static int add(scmp_filter_ctx filter, uint32_t action, const char *name, unsigned count,
               const struct scmp_arg_cmp *arguments)
{
    const int number = seccomp_syscall_resolve_name(name);
    return number < 0 ? 0 : seccomp_rule_add_array(filter, action, number, count, arguments);
}

static int allow(scmp_filter_ctx filter, const char *const *names, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && names[i] && !error; i++)
        error = add(filter, SCMP_ACT_ALLOW, names[i], 0, NULL);
    return error;
}

static int allow_if(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp argument)
{
    return add(filter, SCMP_ACT_ALLOW, name, 1, &argument);
}

static int allow_each(scmp_filter_ctx filter, const char *name, unsigned argument,
                      const uint64_t *values, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = allow_if(filter, name, SCMP_CMP(argument, SCMP_CMP_EQ, values[i]));
    return error;
}

/* Questions about a terminal and a pipe; names of threads and memory; reading one's limits. */
static int allow_questions(scmp_filter_ctx filter)
{
    static const uint64_t requests[] = {ASK_TERMINAL, ASK_TERMINAL_ANEW, TIOCGWINSZ, FIONREAD};
    static const uint64_t names[] = {PR_SET_NAME, PR_GET_NAME, NAME_CALLS};
    static const struct scmp_arg_cmp own_limits[] = {SCMP_A0(SCMP_CMP_EQ, 0),
                                                     SCMP_A2(SCMP_CMP_EQ, 0)};
    int error = allow_each(filter, "ioctl", 1, requests, sizeof requests / sizeof *requests);
    if (!error)
        error = allow_each(filter, "prctl", 0, names, sizeof names / sizeof *names);
    if (!error)
        error = add(filter, SCMP_ACT_ALLOW, "prlimit64", 2, own_limits);
    return error;
}

/* Memory, compiled kernels. Shared memory without a file outlives mappings, out of all accounts. */
static int allow_mmap(scmp_filter_ctx filter)
{
    int error = allow_if(filter, "mmap", SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0));
    if (!error)
        error = allow_if(filter, "mmap", SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE));
    return error;
}

static enum hal_status load(scmp_filter_ctx filter, int error)
{
    /* Numbers of another processor, or of another ABI of this one: legitimate code uses none. */
    if (filter && !error)
        error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (filter && !error)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return filter && !error
               ? HAL_OK
               : hal_fail(HAL_FAILED, "system calls cannot be restricted: %s", strerror(-error));
}

/* Landlock of Linux before 6.2 lets a process with read access truncate a file on opening. */
static int allow_open(scmp_filter_ctx filter, const char *name, unsigned flags)
{
    const uint64_t mask = O_TRUNC | O_ACCMODE;
    int error = allow_if(filter, name, SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, O_TRUNC, 0));
    if (!error)
        error =
            allow_if(filter, name, SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, mask, O_TRUNC | O_WRONLY));
    if (!error)
        error = allow_if(filter, name, SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, mask, O_TRUNC | O_RDWR));
    return error;
}

enum hal_status replay_limit_system_calls(void)
{
    static const uint64_t more_names[] = {PR_GET_DUMPABLE, PR_SET_NO_NEW_PRIVS,
                                          PR_GET_NO_NEW_PRIVS};
    /* Libraries handle "does not exist" gracefully. */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int error = filter ? 0 : -ENOMEM;
    if (!error)
        error = allow(filter, locked, sizeof locked / sizeof *locked);
    if (!error)
        error = allow(filter, compiling, sizeof compiling / sizeof *compiling);
    if (!error)
        error = add(filter, SCMP_ACT_ALLOW, "mmap", 0, NULL);
    if (!error)
        error = allow_open(filter, "open", 1);
    if (!error)
        error = allow_open(filter, "openat", 2);
    if (!error) /* what a pipe holds is memory */
        error = allow_if(filter, "fcntl", SCMP_A1(SCMP_CMP_NE, F_SETPIPE_SZ));
    if (!error)
        error = allow_questions(filter);
    if (!error)
        error = allow_each(filter, "prctl", 0, more_names, sizeof more_names / sizeof *more_names);
    if (!error)
        error = allow_if(filter, "ioctl", SCMP_A1(SCMP_CMP_EQ, FIOCLEX));
    if (!error)
        error = allow_if(filter, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
    return load(filter, error);
}

enum hal_status replay_policy_compile(void)
{
    static const struct scmp_arg_cmp shared[] = {
        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS | MAP_TYPE, MAP_ANONYMOUS | MAP_SHARED)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;
    if (!error)
        error = add(filter, SCMP_ACT_ERRNO(ENOSYS), "memfd_create", 0, NULL);
    if (!error)
        error = add(filter, SCMP_ACT_ERRNO(ENOSYS), "mmap", 1, shared);
    return load(filter, error);
}

/* ---- What is refused ----------------------------------------------------------------------- */

static _Atomic uint32_t *refused; /* 1 + the number of the first one */

/* As if the call did not exist. A kernel can take this handler away, and then ends the process. */
static void refuse(int signal, siginfo_t *info, void *context)
{
    ucontext_t *const stopped = context;
    uint32_t none = 0;
    (void)signal;
    atomic_compare_exchange_strong(refused, &none, (uint32_t)info->si_syscall + 1);
#if defined(__x86_64__)
    stopped->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#elif defined(__aarch64__)
    stopped->uc_mcontext.regs[0] = (uint64_t)-ENOSYS;
#else
#error "where is the result of a system call?"
#endif
}

static void watch_refused(_Atomic uint32_t *out_refused)
{
    static _Atomic uint32_t nobody;
    const struct sigaction action = {.sa_sigaction = refuse,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigset_t set;
    refused = out_refused ? out_refused : &nobody;
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    sigaction(SIGSYS, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

const char *replay_system_call_name(uint32_t number, char out_name[REPLAY_CALL_BYTES])
{
    char *const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
    if (name)
        snprintf(out_name, REPLAY_CALL_BYTES, "%s", name);
    else
        snprintf(out_name, REPLAY_CALL_BYTES, "number %u", number);
    free(name);
    return out_name;
}

/* ---- The lock ------------------------------------------------------------------------------ */

static int ignore_probes(scmp_filter_ctx filter)
{
    int error = 0;
    for (size_t i = 0; i < sizeof probes / sizeof *probes && !error; i++) {
        const int known = seccomp_syscall_resolve_name(probes[i].name);
        const int number = known >= 0 ? known : probes[i].number;
        if (number >= 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
    }
    return error;
}

/* What is allowed in part: files are opened to be read, descriptors asked about, signals sent to
 * oneself, threads made and no processes. */
static int allow_parts(scmp_filter_ctx filter)
{
    static const uint64_t commands[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC};
    const uint64_t self = (uint64_t)getpid();
    int error = allow_if(filter, "openat", SCMP_A2(SCMP_CMP_MASKED_EQ, WRITING, 0));
    if (!error)
        error = allow_each(filter, "fcntl", 1, commands, sizeof commands / sizeof *commands);
    if (!error)
        error = allow_if(filter, "clone", SCMP_A0(SCMP_CMP_EQ, THREAD));
    if (!error)
        error = allow_if(filter, "tgkill", SCMP_A0(SCMP_CMP_EQ, self));
    if (!error)
        error = allow_if(filter, "sched_getaffinity", SCMP_A0(SCMP_CMP_EQ, 0));
    return error ? error : allow_questions(filter);
}

enum hal_status replay_policy_lock(bool has_results, _Atomic uint32_t *out_refused)
{
    (void)has_results; /* which are open */
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
    int error = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;
    if (!error)
        error = allow(filter, locked, sizeof locked / sizeof *locked);
    if (!error)
        error = allow(filter, sanitizers, sizeof sanitizers / sizeof *sanitizers);
    if (!error)
        error = allow_mmap(filter);
    if (!error)
        error = allow_parts(filter);
    if (!error)
        error = ignore_probes(filter);
    watch_refused(out_refused);
    return load(filter, error);
}
