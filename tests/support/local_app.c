/* SPDX-License-Identifier: Apache-2.0 */
/* local_app THREADS TIMES END LIBRARY...: threads that each load the libraries in turn
 * (RTLD_LOCAL), use a device through them, and unload them again, so many times. A library is
 * libhal itself or a plugin (local_plugin.c). END: "release", or "keep" the device open when its
 * library is unloaded. Prints how many pieces of libraries of ours are mapped in the end. */
#include "tests/support/local_app.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, MOST_THREADS = 16 };

static int times, release;
static char **libraries;

static int fail(const char *what)
{
    fprintf(stderr, "local_app: %s\n", what);
    return 1;
}

/* 0x5a everywhere, by the device. */
static int fill(const struct local_hal *hal, struct hal_device *device, struct hal_buffer *buffer)
{
    uint8_t data[BYTES] = {0};
    struct hal_command_buffer *commands;
    struct hal_semaphore *done;
    if (hal->hal_semaphore_create(device, NULL, 0, &done) != HAL_OK ||
        hal->hal_command_buffer_create(device, NULL, &commands) != HAL_OK ||
        hal->hal_command_fill(commands, buffer, 0, BYTES, 0x5a, 1) != HAL_OK ||
        hal->hal_command_buffer_end(commands) != HAL_OK)
        return fail(hal->hal_message());
    const struct hal_semaphore_value signal = {done, 1};
    const struct hal_submit_desc submission = {
        .signals = &signal, .signal_count = 1, .commands = &commands, .command_count = 1};
    if (hal->hal_queue_submit(device, &submission) != HAL_OK ||
        hal->hal_semaphore_wait(done, 1, HAL_FOREVER) != HAL_OK ||
        hal->hal_buffer_read(buffer, 0, data, BYTES) != HAL_OK)
        return fail(hal->hal_message());
    hal->hal_command_buffer_release(commands);
    hal->hal_semaphore_release(done);
    for (int i = 0; i < BYTES; i++)
        if (data[i] != 0x5a)
            return fail("the device has not filled the buffer");
    return 0;
}

static int work(const struct local_hal *hal, int releases)
{
    struct hal_device *device;
    struct hal_buffer *buffer;
    if (hal->hal_device_open(NULL, &device) != HAL_OK)
        return fail(hal->hal_message());
    const struct hal_buffer_desc desc = {.bytes = BYTES};
    if (hal->hal_buffer_create(device, &desc, &buffer) != HAL_OK)
        return fail(hal->hal_message());
    const int result = fill(hal, device, buffer);
    if (releases) {
        hal->hal_buffer_release(buffer);
        hal->hal_device_release(device);
    }
    return result;
}

/* Of libhal, as a foreign function interface finds them. */
static int call_directly(void *library)
{
    struct local_hal hal;
    void *symbol;
#define LOCAL_HAL_FIND(name)                                                                       \
    if (!(symbol = dlsym(library, #name)))                                                         \
        return fail(dlerror());                                                                    \
    memcpy(&hal.name, &symbol, sizeof symbol);
    LOCAL_HAL_ALL(LOCAL_HAL_FIND)
    return work(&hal, release);
}

static int use(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(dlerror());
    local_plugin_call *call;
    void *symbol = dlsym(library, LOCAL_PLUGIN_SYMBOL);
    memcpy(&call, &symbol, sizeof symbol);
    const int result = symbol ? call(work, release) : call_directly(library);
    return dlclose(library) == 0 ? result : fail(dlerror());
}

static void *run(void *failed)
{
    for (int i = 0; i < times; i++)
        for (char **library = libraries; *library; library++)
            *(int *)failed |= use(*library);
    return NULL;
}

static void print_mapped(void)
{
    unsigned count = 0;
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "/libhal") || strstr(line, "plugin");
    if (maps)
        fclose(maps);
    printf("mapped: %u\n", count);
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    int failed[MOST_THREADS] = {0}, result = 0;
    const int count = argc > 4 ? atoi(argv[1]) : 0;
    if (count < 1 || count > MOST_THREADS)
        return fail("usage: local_app THREADS TIMES release|keep|signal LIBRARY...");
    times = atoi(argv[2]);
    release = strcmp(argv[3], "keep") != 0;
    libraries = argv + 4;
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run, &failed[i]) != 0)
            return fail("cannot start a thread");
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        result |= failed[i];
    }
    if (strcmp(argv[3], "signal") == 0)
        raise(SIGUSR1);
    print_mapped();
    return result;
}
