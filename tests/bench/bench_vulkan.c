/* SPDX-License-Identifier: Apache-2.0 */
/* bench-vulkan: one load on a device with Vulkan, timed from inside, so that whatever records it
 * can be compared with whatever else does: vulkan_recorders.sh runs it plainly, captured, and below
 * a recording layer of Vulkan.
 *
 *   bench-vulkan commands N ROUNDS   lists of N fills and N barriers, each one command of Vulkan's
 *   bench-vulkan uploads N           N writes of 16 MiB, random bytes, each to a buffer of its own
 *
 * Prints the nanoseconds of the load: of the quickest round; of all uploads. */
#include "hal/base/os.h"
#include "hal/hal.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILL_BYTES = 64, UPLOAD_BYTES = 16 << 20, MOST_COMMANDS = 1 << 22, MOST_UPLOADS = 256 };

static struct hal_buffer *make_buffer(struct hal_device *device, uint64_t bytes)
{
    struct hal_buffer *buffer;
    bench_try(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = bytes}, &buffer));
    return buffer;
}

/* Something that a replay can be compared by. */
static void read_back(struct hal_buffer *buffer)
{
    uint8_t bytes[FILL_BYTES];
    bench_try(hal_buffer_read(buffer, 0, bytes, sizeof bytes));
}

/* Recorded, submitted and waited for. */
static int64_t run_round(struct hal_device *device, struct hal_buffer *buffer,
                         struct hal_semaphore *done, uint64_t value, unsigned long pairs)
{
    const int64_t begin_ns = hal_clock_ns();
    struct hal_command_buffer *commands;
    bench_try(hal_command_buffer_create(device, NULL, &commands));
    for (unsigned long i = 0; i < pairs; i++) {
        bench_try(hal_command_fill(commands, buffer, 0, FILL_BYTES, (uint32_t)i, 4));
        bench_try(hal_command_barrier(commands, NULL));
    }
    bench_try(hal_command_buffer_end(commands));
    const struct hal_semaphore_value signal = {done, value};
    bench_try(hal_queue_submit(device, &(struct hal_submit_desc){.signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = &commands,
                                                                 .command_count = 1}));
    hal_command_buffer_release(commands);
    bench_try(hal_semaphore_wait(done, value, HAL_FOREVER));
    return hal_clock_ns() - begin_ns;
}

static int64_t run_commands(struct hal_device *device, unsigned long pairs, unsigned long rounds)
{
    struct hal_buffer *buffer = make_buffer(device, FILL_BYTES);
    struct hal_semaphore *done;
    int64_t best_ns = INT64_MAX;
    bench_try(hal_semaphore_create(device, NULL, 0, &done));
    for (unsigned long i = 1; i <= rounds; i++) {
        const int64_t ns = run_round(device, buffer, done, i, pairs);
        best_ns = ns < best_ns ? ns : best_ns;
    }
    read_back(buffer);
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    return best_ns;
}

/* The device copies a little of each, so that whoever records has to take it. */
static int64_t run_uploads(struct hal_device *device, unsigned long count)
{
    struct hal_buffer *target = make_buffer(device, FILL_BYTES), *buffers[MOST_UPLOADS];
    uint32_t *data = malloc(UPLOAD_BYTES), random = 88172645;
    struct hal_command_buffer *commands;
    struct hal_semaphore *done;
    if (!data)
        bench_die("no memory");
    for (size_t i = 0; i < UPLOAD_BYTES / sizeof *data; i++)
        data[i] = random = random * 1664525 + 1013904223;
    bench_try(hal_semaphore_create(device, NULL, 0, &done));
    for (unsigned long i = 0; i < count; i++)
        buffers[i] = make_buffer(device, UPLOAD_BYTES);
    const int64_t begin_ns = hal_clock_ns();
    bench_try(hal_command_buffer_create(device, NULL, &commands));
    for (unsigned long i = 0; i < count; i++) {
        for (size_t at = 0; at < UPLOAD_BYTES / sizeof *data; at += 64)
            data[at] += 1; /* else they were the same */
        bench_try(hal_buffer_write(buffers[i], 0, data, UPLOAD_BYTES));
        bench_try(hal_command_copy(commands, buffers[i], 0, target, 0, FILL_BYTES));
        bench_try(hal_command_barrier(commands, NULL));
    }
    bench_try(hal_command_buffer_end(commands));
    const struct hal_semaphore_value signal = {done, 1};
    bench_try(hal_queue_submit(device, &(struct hal_submit_desc){.signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = &commands,
                                                                 .command_count = 1}));
    bench_try(hal_semaphore_wait(done, 1, HAL_FOREVER));
    const int64_t ns = hal_clock_ns() - begin_ns;
    read_back(target);
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    for (unsigned long i = 0; i < count; i++)
        hal_buffer_release(buffers[i]);
    hal_buffer_release(target);
    free(data);
    return ns;
}

static unsigned long read_number(const char *text, unsigned long most)
{
    char *end = NULL;
    const unsigned long number = text ? strtoul(text, &end, 10) : 0;
    if (!text || !*text || *end || number > most) {
        fprintf(stderr, "usage: bench-vulkan commands N ROUNDS | uploads N\n");
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    struct hal_device *device;
    int64_t ns = 0;
    bench_try(hal_flags_parse(&argc, argv));
    const bool uploads = argc == 3 && strcmp(argv[1], "uploads") == 0;
    const unsigned long count =
        read_number(argc > 2 ? argv[2] : NULL, uploads ? MOST_UPLOADS : MOST_COMMANDS);
    const unsigned long rounds = uploads ? 1 : read_number(argc > 3 ? argv[3] : NULL, 1000);
    bench_try(hal_device_open("vulkan", &device));
    ns = uploads ? run_uploads(device, count) : run_commands(device, count, rounds);
    hal_device_release(device);
    printf("%lld\n", (long long)ns);
    return 0;
}
