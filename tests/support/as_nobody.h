/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that root runs once more as nobody, who has fewer rights and other limits. Header only. */
#ifndef TESTS_SUPPORT_AS_NOBODY_H
#define TESTS_SUPPORT_AS_NOBODY_H

#include "tests/support/mortal.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns how many tests failed, as `run` does; of other users than root those of `run` alone. */
static inline int test_run_also_as_nobody(int (*run)(void))
{
    enum { NOBODY = 65534 };
    int status = 0;
    fflush(NULL);
    const pid_t child = geteuid() == 0 ? fork() : -1;
    if (child == 0) {
        if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(1);
        test_end_with_parent();
#if defined(__linux__)
        prctl(PR_SET_DUMPABLE, 1); /* as after a login; else /proc/self is root's */
#endif
        printf("As nobody:\n");
        exit(run() != 0);
    }
    if (child > 0 && waitpid(child, &status, 0) != child)
        return 1;
    return run() + (status != 0);
}

#endif
