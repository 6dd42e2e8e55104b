/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/watch.c: what is printed of a case that faults on a thread, aborts, or hangs.
 * Each happens in a process of its own. */
#include "tests/conformance/watch.h"
#include "tests/support/mortal.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 }; /* who print stacks themselves */
#else
enum { SANITIZED = 0 };
#endif

static struct {
    char text[32768];
    int status;
} printed;

static void run_child(void (*body)(void))
{
    int ends[2];
    size_t count = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        watch_init();
        body();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0; count += got > 0 ? (size_t)got : 0)
        got = read(ends[0], printed.text + count, sizeof printed.text - 1 - count);
    printed.text[count] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &printed.status, 0), child);
}

static void assert_printed(const char *text)
{
    if (!strstr(printed.text, text))
        fail_msg("'%s' is not in '%s'", text, printed.text);
}

int the_one_that_faults(volatile int *where);
__attribute__((noinline)) int the_one_that_faults(volatile int *where)
{
    return *where + 1;
}

static void *fault(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "faulty");
    return (void *)(intptr_t)the_one_that_faults((volatile int *)(uintptr_t)4096);
}

static void fault_on_a_thread(void)
{
    pthread_t thread;
    watch_begin("area.faults", 60);
    if (pthread_create(&thread, NULL, fault, NULL) == 0)
        pthread_join(thread, NULL);
}

TEST(a_fault_is_placed)
{
    run_child(fault_on_a_thread);
    assert_int_not_equal(printed.status, 0);
    assert_printed("CRASHES area.faults\n");
    assert_printed("signal 11");
    assert_printed("at address 0x1000, on thread 'faulty'\n");
    if (!SANITIZED)
        assert_printed(" the_one_that_faults+0x");
    if (!SANITIZED)
        assert_printed("test_watch+0x");
}

static void give_up(void)
{
    watch_begin("area.aborts", 60);
    abort();
}

TEST(an_abort_is_named)
{
    run_child(give_up);
    assert_true(WIFSIGNALED(printed.status) && WTERMSIG(printed.status) == SIGABRT);
    assert_printed("CRASHES area.aborts\n");
    assert_printed("signal 6, sent to thread 'test_watch'\n");
}

static void never_end(void)
{
    watch_begin("area.hangs", 1);
    for (;;)
        pause();
}

TEST(a_case_that_takes_too_long_is_named)
{
    run_child(never_end);
    assert_true(WIFEXITED(printed.status) && WEXITSTATUS(printed.status) == 4);
    assert_string_equal(printed.text, "HANGS area.hangs\n");
}

static void fault_between_cases(void)
{
    watch_begin("area.ends", 60);
    watch_end();
    (void)the_one_that_faults((volatile int *)(uintptr_t)4096);
}

TEST(a_fault_between_cases_is_placed)
{
    run_child(fault_between_cases);
    assert_int_not_equal(printed.status, 0);
    assert_null(strstr(printed.text, "CRASHES"));
    assert_printed("at address 0x1000, on thread 'test_watch'\n");
}
