/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu/fault.c: faults that are none of a kernel's go where they went before there was a
 * device. Each in a process of its own, which the fault ends. */
#include "tests/support/hal_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANDLED = 42 };

static void leave(int number)
{
    _exit(number == SIGSEGV ? HANDLED : 1);
}

static void leave_with_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGSEGV && info->si_addr == (void *)16 ? HANDLED : 1);
}

/* Not in a kernel. */
static void fault(void)
{
    volatile int *volatile nowhere = (volatile int *)16;
    *nowhere = 1;
}

static void send(void)
{
    raise(SIGSEGV);
}

static int status_of(void (*install)(void), void (*go_wrong)(void))
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        install();
        struct hal_device *device = fixture_device("cpu?threads=2");
        go_wrong();
        hal_device_release(device);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void install_nothing(void)
{
    signal(SIGSEGV, SIG_DFL);
}

static void install_simple(void)
{
    signal(SIGSEGV, leave);
}

static void install_with_info(void)
{
    const struct sigaction action = {.sa_sigaction = leave_with_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
}

static void install_ignore(void)
{
    signal(SIGSEGV, SIG_IGN);
}

TEST(an_application_that_faults_ends_as_before)
{
    int status = status_of(install_nothing, fault);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    status = status_of(install_ignore, fault);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

TEST(the_applications_handlers_are_called)
{
    int status = status_of(install_simple, fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HANDLED);
    status = status_of(install_with_info, fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HANDLED);
}

TEST(a_signal_that_was_sent_goes_where_it_went)
{
    int status = status_of(install_nothing, send);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    status = status_of(install_ignore, send);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2); /* went on to its end */
    status = status_of(install_simple, send);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HANDLED);
}

int main(void)
{
    int64_t caught;
    struct hal_device *device = fixture_device("cpu?threads=1");
    const bool catches = hal_device_query(device, "kernel.faults.caught", &caught) == HAL_OK;
    hal_device_release(device);
    if (!catches)
        return 77; /* nothing is installed */
    return test_run();
}
