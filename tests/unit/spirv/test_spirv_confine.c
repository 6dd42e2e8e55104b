/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox of hal-spirv-cc: what they let through, what they do not, and that it is inside
 * them before it reads a module. */
#include "hal/base/os.h"
#include "hal/compiler/spirv/confine.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The number of the first step that went otherwise; 0: none. In a process that ends with it. */
static int try_everything(int to_parent)
{
    char *const arguments[] = {(char *)(uintptr_t) "/bin/true", NULL};
    enum { MUCH = 64 << 20 };
    if (!spirv_confine())
        return 1;
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EPERM)
        return 2;
    if (open("/tmp/haltrace-must-not-exist", O_WRONLY | O_CREAT, 0600) >= 0 || errno != EPERM)
        return 3;
    if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
        return 4;
    if (kill(getppid(), 0) == 0 || errno != EPERM)
        return 5;
    if (execve("/bin/true", arguments, environ) == 0 || errno != EPERM)
        return 6;
    if (unlink("/tmp/haltrace-must-not-exist") == 0 || errno != EPERM)
        return 7;
    volatile char *const memory = malloc(MUCH);
    if (!memory)
        return 8;
    memory[MUCH - 1] = 1;
    free((void *)(uintptr_t)memory);
    return write(to_parent, "x", 1) == 1 ? 0 : 9;
}

TEST(what_the_walls_let_through)
{
    int ends[2], result = 0;
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(try_everything(ends[1]));
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

/* "Seccomp: 2": a filter. */
static bool has_filter(pid_t pid)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *const file = fopen(path, "r");
    if (!file)
        return false;
    const size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = '\0';
    return strstr(text, "Seccomp:\t2") != NULL;
}

TEST(the_translator_waits_for_its_module_behind_walls)
{
    static const char *const arguments[] = {TEST_SPIRV_CC, "entry", "main", "1", "1", "1", NULL};
    int ends[2], result = 0;
    pid_t pid;
    posix_spawn_file_actions_t files;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, ends[0], 0), 0);
    assert_int_equal(posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0), 0);
    assert_int_equal(
        posix_spawn(&pid, TEST_SPIRV_CC, &files, NULL, (char *const *)arguments, environ), 0);
    close(ends[0]);
    const int64_t deadline_ns = hal_deadline_ns(INT64_C(60000000000));
    while (!has_filter(pid) && hal_clock_ns() < deadline_ns)
        poll(NULL, 0, 2);
    assert_true(has_filter(pid));
    close(ends[1]); /* an empty module: refused, by the usual way out */
    assert_int_equal(waitpid(pid, &result, 0), pid);
    assert_true(WIFEXITED(result));
    assert_int_not_equal(WEXITSTATUS(result), 0);
    posix_spawn_file_actions_destroy(&files);
}
