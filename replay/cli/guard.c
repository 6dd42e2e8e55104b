/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/guard.h"

#include "hal/base/moment.h"
#include "hal/base/status.h"
#include "replay/cli/report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const int numbers[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP};
enum { COUNT = sizeof numbers / sizeof *numbers };

static struct {
    char *object; /* for --json; NULL: none */
    size_t bytes;
    struct sigaction before;
} guards[COUNT];
static char message[256]; /* of the time limit */

/* Calls nothing but what a signal may. */
static void end(int number)
{
    if (number == SIGALRM)
        (void)!write(STDERR_FILENO, message, strlen(message));
    for (size_t i = 0; i < COUNT; i++)
        if (numbers[i] == number && guards[i].object)
            (void)!write(STDOUT_FILENO, guards[i].object, guards[i].bytes);
    if (number == SIGALRM)
        _exit(REPLAY_EXIT_DIFFERENT);
    signal(number, SIG_DFL);
    raise(number);
}

static void make_object(const struct replay_program *program, size_t i, const char *error)
{
    const struct replay_summary summary = {
        .path = program->path, .error = error, .exit_code = REPLAY_EXIT_DIFFERENT};
    FILE *file = open_memstream(&guards[i].object, &guards[i].bytes);
    if (!file)
        return;
    const bool good = replay_print_json(file, &summary);
    if (fclose(file) != 0 || !good) {
        free(guards[i].object);
        guards[i].object = NULL;
    }
}

static void set_timer(int64_t ns)
{
    const struct itimerval timer = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000),
                     .tv_usec = (suseconds_t)(ns % 1000000000 / 1000 + (ns > 0))}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void replay_guard_begin(const struct replay_program *program)
{
    struct sigaction action = {.sa_handler = end};
    char error[128];
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT; i++) {
        const bool is_timer = numbers[i] == SIGALRM;
        if (is_timer)
            snprintf(error, sizeof error, "the replay exceeded its limit of %s (--time-limit)",
                     hal_duration_text(program->time_limit_ns).text);
        else
            snprintf(error, sizeof error, "interrupted by signal %d (%s)", numbers[i],
                     strsignal(numbers[i]));
        if (is_timer)
            snprintf(message, sizeof message, "hal-replay: %s\n", error);
        if (program->json)
            make_object(program, i, error);
        sigaction(numbers[i], NULL, &guards[i].before);
        if (is_timer || (guards[i].object && guards[i].before.sa_handler != SIG_IGN))
            sigaction(numbers[i], &action, NULL);
    }
    if (program->time_limit_ns < HAL_FOREVER)
        set_timer(program->time_limit_ns);
}

void replay_guard_end(void)
{
    set_timer(0);
    for (size_t i = 0; i < COUNT; i++) {
        sigaction(numbers[i], &guards[i].before, NULL);
        free(guards[i].object);
        guards[i].object = NULL;
    }
}
