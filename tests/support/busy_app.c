/* SPDX-License-Identifier: Apache-2.0 */
/* busy_app THREADS END AFTER: works without a break and tells after each round, through descriptor
 * 3, that everything up to there is done: two 32-bit numbers, the thread (from 0) and its round
 * (from 1). END is what the first thread does after so many rounds:
 *
 *   forever   nothing: somebody kills it
 *   abort, segv, _exit, exec   ends the process in that way
 *   leave-child   is killed, and leaves a child that lives until its standard input ends
 *   become-cat   goes on as another program, until its standard input ends
 *   fork      a child that uses the device and exits; then some more rounds, and a good end
 *   exit      a good end, by exit()
 *
 * A round writes a buffer whose first two words are thread and round, runs a command buffer (a
 * large one now and then), waits and reads back. */
#include "hal/hal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1024, BYTES = WORDS * 4, MOST_THREADS = 16, LARGE_EVERY = 16, LARGE = 5000 };

struct worker {
    struct hal_device *device;
    uint32_t number;
    const char *end;
    uint32_t after;
    struct hal_buffer *source, *target;
    struct hal_semaphore *done;
    uint32_t data[WORDS];
};

static void must(enum hal_status status)
{
    if (status == HAL_OK)
        return;
    fprintf(stderr, "busy_app: %s\n", hal_message());
    _exit(3);
}

static void record(struct worker *worker, struct hal_command_buffer *commands, uint32_t round)
{
    const uint32_t pairs = round % LARGE_EVERY == 0 ? LARGE : 3;
    for (uint32_t i = 0; i < pairs; i++) {
        must(hal_command_fill(commands, worker->target, BYTES, 64, round, 4));
        must(hal_command_barrier(commands, NULL));
    }
    must(hal_command_copy(commands, worker->source, 0, worker->target, 0, BYTES));
    must(hal_command_buffer_end(commands));
}

static void work(struct worker *worker, uint32_t round)
{
    struct hal_command_buffer *commands;
    const struct hal_semaphore_value done = {worker->done, round};
    char name[64];
    snprintf(name, sizeof name, "round %u of %u", round, worker->number);
    hal_scope_begin(worker->device, name);
    worker->data[0] = worker->number;
    worker->data[1] = round;
    worker->data[2 + round % (WORDS - 2)] = round;
    must(hal_buffer_write(worker->source, 0, worker->data, BYTES));
    must(hal_command_buffer_create(worker->device, NULL, &commands));
    record(worker, commands, round);
    must(hal_queue_submit(worker->device, &(struct hal_submit_desc){.signals = &done,
                                                                    .signal_count = 1,
                                                                    .commands = &commands,
                                                                    .command_count = 1}));
    hal_command_buffer_release(commands);
    must(hal_semaphore_wait(worker->done, round, HAL_FOREVER));
    must(hal_buffer_read(worker->target, 0, worker->data, BYTES));
    hal_scope_end(worker->device);
}

static void tell(const struct worker *worker, uint32_t round)
{
    const uint32_t words[2] = {worker->number, round};
    ssize_t written;
    do
        written = write(3, words, sizeof words);
    while (written < 0 && errno == EINTR);
    if (written != sizeof words)
        _exit(4);
}

/* Asked by the leak sanitizer at the end, which must be able to see it: what only threads knew that
 * a child does not have looks like a leak there. */
static int is_child;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_child;
}

static void use_in_child(struct worker *worker)
{
    const pid_t child = fork();
    int status = -1;
    if (child == 0) {
        is_child = 1;
        struct hal_command_buffer *commands = NULL;
        for (int i = 0; i < 100; i++) {
            if (hal_buffer_write(worker->source, 0, worker->data, BYTES) == HAL_OK)
                _exit(5); /* a forked child must not get at the device */
        }
        if (hal_command_buffer_create(worker->device, NULL, &commands) == HAL_OK)
            _exit(6);
        exit(0); /* with its handlers */
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(7);
}

static void leave_child(void)
{
    char byte;
    if (fork() == 0) {
        while (read(STDIN_FILENO, &byte, 1) > 0)
            continue;
        _exit(0);
    }
    raise(SIGKILL);
}

static void end(struct worker *worker)
{
    char *const arguments[] = {"true", NULL}, *const cat[] = {"cat", NULL};
    if (strcmp(worker->end, "abort") == 0)
        abort();
    if (strcmp(worker->end, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(worker->end, "_exit") == 0)
        _exit(0);
    if (strcmp(worker->end, "exec") == 0) {
        execvp("true", arguments);
        _exit(8);
    }
    if (strcmp(worker->end, "leave-child") == 0)
        leave_child();
    if (strcmp(worker->end, "become-cat") == 0) {
        execvp("cat", cat);
        _exit(8);
    }
    if (strcmp(worker->end, "exit") == 0)
        exit(0);
    use_in_child(worker);
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    const bool ends = worker->number == 0 && strcmp(worker->end, "forever") != 0;
    must(hal_buffer_create(worker->device, &(struct hal_buffer_desc){.bytes = BYTES},
                           &worker->source));
    must(hal_buffer_create(worker->device, &(struct hal_buffer_desc){.bytes = BYTES + 64},
                           &worker->target));
    must(hal_semaphore_create(worker->device, NULL, 0, &worker->done));
    for (uint32_t round = 1; !ends || round <= worker->after + 10; round++) {
        work(worker, round);
        tell(worker, round);
        if (ends && round == worker->after)
            end(worker);
    }
    hal_semaphore_release(worker->done);
    hal_buffer_release(worker->target);
    hal_buffer_release(worker->source);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    const int count = argc == 4 ? atoi(argv[1]) : 0;
    struct hal_device *device;
    pthread_t thread;
    if (count < 1 || count > MOST_THREADS) {
        fprintf(stderr, "usage: busy_app THREADS END AFTER\n");
        return 2;
    }
    must(hal_device_open(NULL, &device));
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.device = device,
                                     .number = (uint32_t)i,
                                     .end = argv[2],
                                     .after = (uint32_t)atoi(argv[3])};
        if (i > 0 && pthread_create(&thread, NULL, run, &workers[i]) != 0)
            return 2;
    }
    run(&workers[0]);
    hal_device_release(device);
    return 0;
}
