/* SPDX-License-Identifier: Apache-2.0 */
/* Children that end with the process that made them, so that a test that is killed leaves nothing
 * behind. Header only. */
#ifndef TESTS_SUPPORT_MORTAL_H
#define TESTS_SUPPORT_MORTAL_H

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

/* In a child: ends with its parent, more precisely with the thread that made it. Changing the user
 * takes that back. Systems other than Linux know no such thing. */
static inline void test_end_with_parent(void)
{
#if defined(__linux__)
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(EXIT_FAILURE);
#endif
}

/* As fork(). Not in a sandbox, which allows no such settings. */
static inline pid_t test_fork(void)
{
    const pid_t child = fork();
    if (child == 0)
        test_end_with_parent();
    return child;
}

/* In a child whose parent ends at once: returns when another process has adopted it. */
static inline void test_await_adoption(pid_t parent)
{
    while (getppid() == parent)
        sched_yield();
}

/* In a child of `parent`, in a sandbox, too: does nothing while that is its parent, and ends then.
 */
static inline _Noreturn void test_stay(pid_t parent)
{
    const struct timespec while_looking = {0, 50000000};
    while (getppid() == parent)
        nanosleep(&while_looking, NULL);
    _exit(EXIT_FAILURE);
}

#endif
