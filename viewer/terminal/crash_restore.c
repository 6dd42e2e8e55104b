/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the signals that end a program by its own fault. They do only what a handler may. */
#include "viewer/terminal/crash_restore.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { CRASHES = sizeof crashes / sizeof *crashes };

static struct {
    bool ready;
    struct termios modes;
    char text[256];
    size_t length;
    struct sigaction before[CRASHES];
} rescue;

/* Leaves the terminal usable, then lets the crash happen as it would have. */
static void crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (rescue.ready) {
        ssize_t ignored = write(STDOUT_FILENO, rescue.text, rescue.length);
        (void)ignored;
        tcsetattr(STDIN_FILENO, TCSANOW, &rescue.modes);
    }
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &rescue.before[i], NULL);
    if (info->si_code <= 0 || number == SIGABRT) /* sent, not caused by an instruction */
        raise(number);
}

bool view_crash_restore_keep_modes(void)
{
    return tcgetattr(STDIN_FILENO, &rescue.modes) == 0;
}

void view_crash_restore_prepare(const char *sequence)
{
    struct sigaction action = {.sa_sigaction = crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    snprintf(rescue.text, sizeof rescue.text, "%s", sequence);
    rescue.length = strlen(rescue.text);
    rescue.ready = true;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &action, &rescue.before[i]);
}

void view_crash_restore_end(void)
{
    rescue.ready = false;
}
