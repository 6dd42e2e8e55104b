/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/terminal/signals.h"

#include <stddef.h>

struct view_signals view_signals;
static sigset_t waiting_mask;

static const int noted[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGWINCH, SIGTSTP};

static void note(int number)
{
    if (number == SIGWINCH)
        view_signals.resized = 1;
    else if (number == SIGTSTP)
        view_signals.stopped = 1;
    else
        view_signals.ended = number;
}

void view_signals_take(void)
{
    struct sigaction action = {.sa_handler = note};
    sigset_t blocked;
    sigemptyset(&action.sa_mask);
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++) {
        sigaddset(&blocked, noted[i]);
        sigaction(noted[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++)
        sigdelset(&waiting_mask, noted[i]);
}

const sigset_t *view_signals_while_waiting(void)
{
    return &waiting_mask;
}

void view_signals_stop(void)
{
    sigset_t set, before;
    view_signals.stopped = 0;
    signal(SIGTSTP, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, &before); /* stops here */
    sigprocmask(SIG_SETMASK, &before, NULL);
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTSTP, &action, NULL);
}

void view_signals_end(void)
{
    sigset_t set;
    const int number = view_signals.ended;
    if (!number)
        return;
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}
