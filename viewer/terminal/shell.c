/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/terminal/shell.h"

#include "hal/base/os.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The folder of this program before the others. Here and not in the child, which may do next to
 * nothing: other threads of this process may hold any lock. */
static void put_own_folder_first(void)
{
    static bool done;
    char own[4096], path[8192];
    const char *before = getenv("PATH");
    if (done)
        return;
    done = true;
    if (hal_program_path(own, sizeof own) != HAL_OK)
        return;
    char *slash = strrchr(own, '/');
    if (!slash || slash == own)
        return;
    *slash = '\0';
    if (snprintf(path, sizeof path, "%s%s%s", own, before ? ":" : "", before ? before : "") <
        (int)sizeof path)
        setenv("PATH", path, 1);
}

static void become(const char *command)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGWINCH};
    sigset_t none;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    hal_size_signal_restore();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What interrupts the command is for the command alone. */
int view_shell_run(const char *command)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN}, interrupt, quit;
    printf("$ %s\n", command);
    fflush(stdout);
    sigaction(SIGINT, &ignored, &interrupt);
    sigaction(SIGQUIT, &ignored, &quit);
    put_own_folder_first();
    const pid_t child = fork();
    if (child == 0)
        become(command);
    const int result = child < 0 ? -1 : wait_for(child);
    const int error = errno;
    if (result > 0)
        printf("exit status %d\n", result);
    printf("Press Enter to return to the timeline\n");
    fflush(stdout);
    char c = 0;
    while (c != '\n' && c != '\r') {
        const ssize_t got = read(STDIN_FILENO, &c, 1);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
    }
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    errno = error;
    return result;
}
