/* SPDX-License-Identifier: Apache-2.0 */
/* Walls of system calls. Those around hal-replay are wider, because kernels are compiled and files
 * read inside them; a translator that has its module on standard input needs no path at all. */
#include "hal/compiler/spirv/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <unistd.h>

static const char *const allowed[] = {
    "brk",          "clock_gettime",   "close",        "exit",
    "exit_group",   "fstat",           "futex",        "getpid",
    "getrandom",    "gettid",          "lseek",        "madvise",
    "mmap",         "mprotect",        "mremap",       "munmap",
    "read",         "restart_syscall", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "sched_yield",     "write",        "writev",
};

static int allow(scmp_filter_ctx filter, const char *name, unsigned count,
                 const struct scmp_arg_cmp *arguments)
{
    const int number = seccomp_syscall_resolve_name(name);
    return number < 0 ? 0
                      : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, count, arguments);
}

bool spirv_confine(void)
{
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int error = filter ? 0 : -ENOMEM;
    for (size_t i = 0; !error && i < sizeof allowed / sizeof *allowed; i++)
        error = allow(filter, allowed[i], 0, NULL);
    /* What is open already, not what has a name. */
    if (!error)
        error = allow(filter, "newfstatat", 1,
                      &SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
    /* abort() */
    if (!error)
        error = allow(filter, "tgkill", 1, &SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    if (!error)
        error = seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    return error == 0;
}
