/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/bench_workloads.h"

#include "hal/base/os.h"
#include "tests/bench/bench.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FILL_BYTES = 64,
    UPLOADS = 32,
    UPLOAD_BYTES = 16 << 20,
    D_BYTES = 64 << 20,
    DISTINCT_WORDS = 1 << 18,
};

uint64_t bench_upload_bytes(void)
{
    return bench_size(UPLOAD_BYTES, 1 << 20);
}

uint64_t bench_mapped_bytes(void)
{
    return bench_size(D_BYTES, 1 << 20);
}

double bench_ns_since(int64_t begin_ns)
{
    return (double)(hal_clock_ns() - begin_ns);
}

double bench_thread_ns(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
}

static void flush(struct hal_device *device)
{
    const enum hal_status flushed = hal_device_profiling_flush(device);
    if (flushed != HAL_OK && flushed != HAL_NOT_FOUND) /* that is: it is not captured */
        bench_die("flushing");
}

static struct hal_buffer *make_buffer(struct hal_device *device, uint64_t bytes)
{
    struct hal_buffer *buffer;
    bench_try(hal_buffer_create(device, &(struct hal_buffer_desc){.bytes = bytes}, &buffer));
    return buffer;
}

static struct hal_semaphore *make_semaphore(struct hal_device *device)
{
    struct hal_semaphore *semaphore;
    bench_try(hal_semaphore_create(device, NULL, 0, &semaphore));
    return semaphore;
}

/* ---- a, b, mt ----------------------------------------------------------------------------- */

static void record(struct hal_command_buffer *commands, struct hal_buffer *buffer, uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++) {
        bench_try(hal_command_fill(commands, buffer, 0, FILL_BYTES, (uint32_t)i, 4));
        bench_try(hal_command_barrier(commands, NULL));
    }
    bench_try(hal_command_buffer_end(commands));
}

static void submit_number(struct hal_device *device, struct hal_command_buffer *commands,
                          struct hal_semaphore *semaphore, uint64_t number)
{
    const struct hal_semaphore_value wait = {semaphore, number}, signal = {semaphore, number + 1};
    bench_try(hal_queue_submit(device, &(struct hal_submit_desc){.waits = &wait,
                                                                 .wait_count = 1,
                                                                 .signals = &signal,
                                                                 .signal_count = 1,
                                                                 .commands = &commands,
                                                                 .command_count = 1}));
    hal_command_buffer_release(commands);
}

static void submit(struct hal_device *device, struct hal_buffer *buffer,
                   struct hal_semaphore *semaphore, uint64_t number, uint64_t pairs)
{
    struct hal_command_buffer *commands;
    bench_try(hal_command_buffer_create(device, NULL, &commands));
    record(commands, buffer, pairs);
    submit_number(device, commands, semaphore, number);
}

double bench_run_commands(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffer = make_buffer(device, FILL_BYTES);
    struct hal_semaphore *semaphore = make_semaphore(device);
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 0; i < workload->submissions; i++)
        submit(device, buffer, semaphore, i, workload->pairs);
    bench_try(hal_semaphore_wait(semaphore, workload->submissions, HAL_FOREVER));
    const double ns = bench_ns_since(begin_ns);
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    return ns;
}

struct part {
    struct hal_device *device;
    const struct workload *workload;
    double work_ns;
};

double bench_others_ns;

/* Threads whose rings are warm record once before: each says that it has, and waits for all. */
static _Atomic uint32_t warm_threads, may_begin;

static void warm_up(struct hal_device *device, const struct workload *share)
{
    bench_run_commands(device, share);
    atomic_fetch_add(&warm_threads, 1);
    hal_word_wake(&warm_threads, 1);
    while (!atomic_load(&may_begin))
        hal_word_wait(&may_begin, 0, HAL_FOREVER);
}

static void *run_part(void *argument)
{
    struct part *part = argument;
    struct workload share = *part->workload;
    share.submissions = 1;
    if (share.is_warm)
        warm_up(part->device, &share);
    const double before_ns = bench_thread_ns();
    bench_run_commands(part->device, &share);
    part->work_ns = bench_thread_ns() - before_ns;
    return NULL;
}

/* glibc moves the size from which memory is mapped by itself when such a piece is freed. While it
 * does, plain threads compute more in their second recording than captured ones, by 26 to 36 ns per
 * call: the difference says nothing about a capture then. */
static void keep_malloc_as_it_is(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

/* Nothing of before is still to be written when the threads go on. */
static void let_begin(struct hal_device *device)
{
    for (uint32_t ready; (ready = atomic_load(&warm_threads)) < BENCH_THREADS;)
        hal_word_wait(&warm_threads, ready, HAL_FOREVER);
    flush(device);
}

/* As many submissions as threads. */
double bench_run_threads(struct hal_device *device, const struct workload *workload)
{
    pthread_t threads[BENCH_THREADS];
    struct part parts[BENCH_THREADS];
    if (workload->is_warm)
        keep_malloc_as_it_is();
    atomic_store(&warm_threads, 0);
    atomic_store(&may_begin, 0);
    int64_t begin_ns = hal_clock_ns();
    for (int i = 0; i < BENCH_THREADS; i++) {
        parts[i] = (struct part){device, workload, 0};
        if (pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0)
            bench_die("a thread");
    }
    if (workload->is_warm) {
        let_begin(device);
        begin_ns = hal_clock_ns();
        atomic_store(&may_begin, 1);
        hal_word_wake(&may_begin, BENCH_THREADS);
    }
    for (int i = 0; i < BENCH_THREADS; i++)
        pthread_join(threads[i], NULL);
    const double ns = bench_ns_since(begin_ns);
    bench_others_ns = 0;
    for (int i = 0; i < BENCH_THREADS; i++)
        bench_others_ns += parts[i].work_ns;
    return ns;
}

/* ---- c, cs, d ----------------------------------------------------------------------------- */

double bench_run_uploads(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffers[UPLOADS];
    for (uint64_t i = 0; i < workload->uploads; i++)
        buffers[i] = make_buffer(device, bench_upload_bytes());
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 0; i < workload->uploads; i++) {
        for (size_t at = 0; at < bench_upload_bytes() / sizeof *workload->data;
             at += DISTINCT_WORDS)
            workload->data[at] = (uint32_t)(i % workload->distinct); /* else they were the same */
        bench_try(hal_buffer_write(buffers[i], 0, workload->data, bench_upload_bytes()));
    }
    const double ns = bench_ns_since(begin_ns);
    for (uint64_t i = 0; i < workload->uploads; i++)
        hal_buffer_release(buffers[i]);
    return ns;
}

struct mapped {
    struct hal_device *device;
    struct hal_buffer *source, *target;
    struct hal_semaphore *semaphore;
    bool uses_all;
};

static void submit_copy(const struct mapped *mapped, uint64_t number, uint64_t at)
{
    struct hal_command_buffer *commands;
    bench_try(hal_command_buffer_create(mapped->device, NULL, &commands));
    bench_try(hal_command_copy(commands, mapped->source, at, mapped->target, 0, BENCH_CHANGE));
    bench_try(hal_command_barrier(commands, NULL));
    for (int i = 0; i < 2 && mapped->uses_all; i++)
        bench_try(hal_command_copy(commands, mapped->source,
                                   i ? bench_mapped_bytes() - FILL_BYTES : 0, mapped->target, 0,
                                   FILL_BYTES));
    bench_try(hal_command_buffer_end(commands));
    submit_number(mapped->device, commands, mapped->semaphore, number);
}

double bench_run_mapped(struct hal_device *device, const struct workload *workload)
{
    struct hal_mapping mapping;
    struct hal_buffer *buffer = make_buffer(device, bench_mapped_bytes()), *target;
    const struct hal_buffer_desc private_desc = {.bytes = BENCH_CHANGE,
                                                 .memory = HAL_MEMORY_DEVICE_LOCAL};
    bench_try(hal_buffer_create(device, &private_desc, &target));
    struct hal_semaphore *semaphore = make_semaphore(device);
    bench_try(hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, bench_mapped_bytes(),
                             &mapping));
    const struct mapped mapped = {device, buffer, target, semaphore, workload->uses_all};
    const struct mapped whole = {device, buffer, target, semaphore, true};
    memset(mapping.data, 1, bench_mapped_bytes());
    submit_copy(&whole, 0, 0); /* everything is seen as written once */
    bench_try(hal_semaphore_wait(semaphore, 1, HAL_FOREVER));
    flush(device);
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 1; i <= workload->submissions; i++) {
        const uint64_t at = i * 7919 % (bench_mapped_bytes() / BENCH_CHANGE) * BENCH_CHANGE;
        /* Never what is there: where pages are compared, that is no change. */
        memset((uint8_t *)mapping.data + at, 2 + (int)(i % 250), BENCH_CHANGE);
        submit_copy(&mapped, i, at);
    }
    bench_try(hal_semaphore_wait(semaphore, workload->submissions + 1, HAL_FOREVER));
    const double ns = bench_ns_since(begin_ns);
    bench_try(hal_buffer_unmap(&mapping));
    hal_semaphore_release(semaphore);
    hal_buffer_release(target);
    hal_buffer_release(buffer);
    return ns;
}

uint32_t *bench_upload_data(bool weights)
{
    uint32_t *data = malloc(bench_upload_bytes());
    uint64_t random = 88172645463325252u;
    if (!data)
        bench_die("no memory");
    for (size_t i = 0; i < bench_upload_bytes() / sizeof *data; i++) {
        uint32_t halves = 0;
        for (int k = 0; k < 2 && weights; k++) {
            float sum = 0;
            uint32_t bits;
            for (int j = 0; j < 4; j++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                sum += (float)(int32_t)(random >> 32) * 0x1p-33f;
            }
            memcpy(&bits, &sum, sizeof bits);
            halves = halves << 16 | bits >> 16;
        }
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        data[i] = weights ? halves : (uint32_t)(random >> 16);
    }
    return data;
}
