/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before everything else into hal-replay: says of each compiled kernel that is loaded
 * whether it was before the sandbox was locked. Making a process is what only an open one may. */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int can_make_processes(void)
{
    const long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        syscall(SYS_exit_group, 0);
    return child > 0 && waitpid((pid_t)child, NULL, 0) == child;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
    void *(*next)(const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    if (path && strstr(path, "/msl/"))
        say(can_make_processes() ? "kernel loaded: open\n" : "kernel loaded: locked\n");
    return next(path, flags);
}
