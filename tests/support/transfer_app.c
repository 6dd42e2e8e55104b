/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_app WHAT [...]: a program that knows nothing of captures.
 *
 *   work [MIB]   fills, copies and reads back, checks the result, says "right"; MIB of random bytes
 *                are uploaded besides
 *   scopes       opens scopes of two names, the first one three times
 *   exit N       ends with that status
 *   kill N       ends by that signal
 *   twice        opens two devices, one after the other
 *   daemon       closes all descriptors that it does not know while its device is open, opens
 *                files of its own under the same numbers; says "right" when they stay as they are
 *   environment  prints the profiling settings */
#include "hal/hal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 64 << 10, MIB = 1 << 20 };

struct objects {
    struct hal_device *device;
    struct hal_buffer *source, *target;
    struct hal_semaphore *done;
    struct hal_command_buffer *commands;
};

static enum hal_status record(struct objects *objects)
{
    const struct hal_buffer_desc source = {.label = "source", .bytes = BYTES};
    const struct hal_buffer_desc target = {.label = "target", .bytes = BYTES};
    const struct hal_command_buffer_desc commands = {.label = "work"};
    HAL_TRY(hal_device_open(NULL, &objects->device));
    HAL_TRY(hal_buffer_create(objects->device, &source, &objects->source));
    HAL_TRY(hal_buffer_create(objects->device, &target, &objects->target));
    HAL_TRY(hal_semaphore_create(objects->device, "done", 0, &objects->done));
    HAL_TRY(hal_command_buffer_create(objects->device, &commands, &objects->commands));
    HAL_TRY(hal_command_fill(objects->commands, objects->source, 0, BYTES, 0x5a, 1));
    HAL_TRY(hal_command_barrier(objects->commands, NULL));
    HAL_TRY(hal_command_copy(objects->commands, objects->source, 0, objects->target, 0, BYTES));
    return hal_command_buffer_end(objects->commands);
}

static enum hal_status upload(struct objects *objects, unsigned mib)
{
    struct hal_buffer *buffer = NULL;
    uint32_t *data = malloc(MIB), random = 1;
    enum hal_status status = hal_buffer_create(
        objects->device, &(struct hal_buffer_desc){.label = "upload", .bytes = MIB}, &buffer);
    for (unsigned i = 0; data && status == HAL_OK && i < mib; i++) {
        for (size_t k = 0; k < MIB / sizeof *data; k++)
            data[k] = random = random * 1664525 + 1013904223;
        status = hal_buffer_write(buffer, 0, data, MIB);
    }
    hal_buffer_release(buffer);
    free(data);
    return status;
}

static enum hal_status run(struct objects *objects, unsigned mib)
{
    static uint8_t result[BYTES];
    const struct hal_semaphore_value done = {objects->done, 1};
    const struct hal_submit_desc submit = {
        .signals = &done, .signal_count = 1, .commands = &objects->commands, .command_count = 1};
    HAL_TRY(hal_queue_submit(objects->device, &submit));
    HAL_TRY(hal_semaphore_wait(objects->done, 1, HAL_FOREVER));
    HAL_TRY(hal_buffer_read(objects->target, 0, result, BYTES));
    for (size_t i = 0; i < BYTES; i++) {
        if (result[i] != 0x5a)
            return hal_fail(HAL_FAILED, "byte %zu is %u", i, result[i]);
    }
    return upload(objects, mib);
}

static void release(struct objects *objects)
{
    hal_command_buffer_release(objects->commands);
    hal_semaphore_release(objects->done);
    hal_buffer_release(objects->target);
    hal_buffer_release(objects->source);
    hal_device_release(objects->device);
}

static int work(unsigned mib)
{
    struct objects objects = {0};
    enum hal_status status = record(&objects);
    if (status == HAL_OK)
        status = run(&objects, mib);
    release(&objects);
    if (status == HAL_OK)
        puts("right");
    else
        fprintf(stderr, "transfer_app: %s\n", hal_message());
    return status == HAL_OK ? 0 : 1;
}

static int open_scopes(void)
{
    static const char *const names[] = {"again", "again", "once", "again"};
    struct hal_device *device;
    if (hal_device_open(NULL, &device) != HAL_OK)
        return 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hal_scope_begin(device, names[i]);
        hal_scope_end(device);
    }
    hal_device_release(device);
    return 0;
}

enum { MOST_DESCRIPTORS = 8192, MOST_FILES = 64 };

static const char precious[] = "precious";

static void name_file(int number, char out_name[32])
{
    snprintf(out_name, 32, "user.%d", number);
}

/* Every descriptor that was open gets a file of its own; their number. */
static int replace_descriptors(int *out_files)
{
    int count = 0;
    for (int number = 3; number < MOST_DESCRIPTORS && count < MOST_FILES; number++) {
        char name[32];
        if (close(number) != 0)
            continue;
        name_file(number, name);
        const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
        if (file < 0 || (file != number && (dup2(file, number) < 0 || close(file) != 0)) ||
            write(number, precious, sizeof precious) != (ssize_t)sizeof precious)
            exit(3);
        out_files[count++] = number;
    }
    return count;
}

static int check_file(int number)
{
    char name[32], found[2 * sizeof precious];
    const ssize_t bytes = pread(number, found, sizeof found, 0);
    const int closed = close(number);
    name_file(number, name);
    unlink(name);
    if (closed == 0 && bytes == (ssize_t)sizeof precious &&
        memcmp(found, precious, sizeof precious) == 0)
        return 0;
    printf("descriptor %d: %zd bytes, close: %d\n", number, bytes, closed);
    return 1;
}

static int work_as_daemon(void)
{
    struct objects objects = {0};
    int files[MOST_FILES], wrong = 0;
    enum hal_status status = record(&objects);
    const int count = replace_descriptors(files);
    if (status == HAL_OK)
        status = run(&objects, 40);
    release(&objects);
    for (int i = 0; i < count; i++)
        wrong += check_file(files[i]);
    if (status != HAL_OK || wrong)
        return 1;
    printf("right, %d\n", count);
    return 0;
}

static int print_environment(void)
{
    static const char *const names[] = {"MODE", "FILE", "FORCE", "STACKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "HAL_DEVICE_PROFILING_%s", names[i]);
        const char *value = getenv(name);
        printf("%s=%s\n", names[i], value ? value : "");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(what, "scopes") == 0)
        return open_scopes();
    if (strcmp(what, "work") == 0)
        return work((unsigned)number);
    if (strcmp(what, "twice") == 0)
        return work(0) || work(0);
    if (strcmp(what, "daemon") == 0)
        return work_as_daemon();
    if (strcmp(what, "exit") == 0)
        return number;
    if (strcmp(what, "kill") == 0)
        return raise(number);
    if (strcmp(what, "environment") == 0)
        return print_environment();
    fprintf(stderr, "transfer_app: which of work, exit, kill, twice, daemon, environment?\n");
    return 2;
}
