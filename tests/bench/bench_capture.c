/* SPDX-License-Identifier: Apache-2.0 */
/* bench-capture: what being captured costs a program. A call is one command or one barrier.
 *
 *   a   one submission of 100,000 tiny commands and as many barriers
 *   b   10,000 submissions of 5 and 5 that follow each other on one timeline semaphore
 *   mt  two threads, each with one submission of 50,000 and 50,000
 *   c   512 MiB of uploads into buffers of 16 MiB: random bytes; weights (bf16)
 *   cs  the same 16 MiB uploaded 32 times
 *   d   a persistently mapped buffer of 64 MiB, of which 4 KiB change before each of 1,000
 *       submissions, which copy them to where the device keeps them
 *   d-all  the same, and each submission uses bytes at both ends, and so the whole buffer, as far
 * as anybody can tell
 *
 * Plain and captured runs take turns on one device, that of HAL_DEVICE or the CPU; a run records,
 * submits and waits. Beginning and ending a capture are not part of a run, except where the row
 * says "until the file is closed".
 *
 * decode: bench_decode.h.
 */
#include "format/trace.h"
#include "hal/base/os.h"
#include "hal/hal.h"
#include "tests/bench/bench.h"
#include "tests/bench/bench_decode.h"
#include "tests/support/folder.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_REPEATS = 21,
    A_PAIRS = 100000,
    MT_THREADS = 2,
    B_SUBMISSIONS = 10000,
    B_PAIRS = 5,
    FILL_BYTES = 64,
    UPLOADS = 32,
    UPLOAD_BYTES = 16 << 20,
    D_SUBMISSIONS = 1000,
    D_BYTES = 64 << 20,
    D_CHANGE = 4096,
    DISTINCT_WORDS = 1 << 18,
};

struct workload {
    const char *name;
    double (*run)(struct hal_device *device, const struct workload *workload);
    uint64_t submissions;
    uint64_t pairs;  /* a command and a barrier, in each submission */
    bool uses_all;   /* of d */
    bool is_weights; /* of uploads: as those of a model, else random */
    uint32_t *data;  /* of uploads */
    uint64_t uploads,
        distinct; /* how many, and how many of them differ; 0: these are not c or cs */
    uint64_t more_calls, written; /* beside those of the submissions; by the host */
    int repeats;
    double target_ns, target_us; /* cost per call, per submission */
    double target_ratio, target_closed, target_mb_s, target_bytes; /* 0: no target */
};

static uint64_t upload_bytes(void)
{
    return bench_size(UPLOAD_BYTES, 1 << 20);
}

static uint64_t mapped_bytes(void)
{
    return bench_size(D_BYTES, 1 << 20);
}

static double ns_since(int64_t begin_ns)
{
    return (double)(hal_clock_ns() - begin_ns);
}

/* What the calling thread itself has computed: says the same however busy the machine is. */
static double thread_ns(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e9 + (double)spent.tv_nsec;
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

static void hand_in(struct hal_device *device, struct hal_command_buffer *commands,
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
    hand_in(device, commands, semaphore, number);
}

static double run_commands(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffer = make_buffer(device, FILL_BYTES);
    struct hal_semaphore *semaphore = make_semaphore(device);
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 0; i < workload->submissions; i++)
        submit(device, buffer, semaphore, i, workload->pairs);
    bench_try(hal_semaphore_wait(semaphore, workload->submissions, HAL_FOREVER));
    const double ns = ns_since(begin_ns);
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    return ns;
}

struct part {
    struct hal_device *device;
    const struct workload *workload;
    double work_ns;
};

static double others_ns; /* what the threads of the last run have computed */

static void *run_part(void *argument)
{
    struct part *part = argument;
    struct workload share = *part->workload;
    share.submissions = 1;
    run_commands(part->device, &share);
    part->work_ns = thread_ns();
    return NULL;
}

/* As many submissions as threads. */
static double run_threads(struct hal_device *device, const struct workload *workload)
{
    pthread_t threads[MT_THREADS];
    struct part parts[MT_THREADS];
    const int64_t begin_ns = hal_clock_ns();
    for (int i = 0; i < MT_THREADS; i++) {
        parts[i] = (struct part){device, workload, 0};
        if (pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0)
            bench_die("a thread");
    }
    for (int i = 0; i < MT_THREADS; i++)
        pthread_join(threads[i], NULL);
    const double ns = ns_since(begin_ns);
    others_ns = 0;
    for (int i = 0; i < MT_THREADS; i++)
        others_ns += parts[i].work_ns;
    return ns;
}

/* ---- c, cs, d ----------------------------------------------------------------------------- */

static double run_uploads(struct hal_device *device, const struct workload *workload)
{
    struct hal_buffer *buffers[UPLOADS];
    for (uint64_t i = 0; i < workload->uploads; i++)
        buffers[i] = make_buffer(device, upload_bytes());
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 0; i < workload->uploads; i++) {
        for (size_t at = 0; at < upload_bytes() / sizeof *workload->data; at += DISTINCT_WORDS)
            workload->data[at] = (uint32_t)(i % workload->distinct); /* else they were the same */
        bench_try(hal_buffer_write(buffers[i], 0, workload->data, upload_bytes()));
    }
    const double ns = ns_since(begin_ns);
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
    bench_try(hal_command_copy(commands, mapped->source, at, mapped->target, 0, D_CHANGE));
    bench_try(hal_command_barrier(commands, NULL));
    for (int i = 0; i < 2 && mapped->uses_all; i++)
        bench_try(hal_command_copy(commands, mapped->source, i ? mapped_bytes() - FILL_BYTES : 0,
                                   mapped->target, 0, FILL_BYTES));
    bench_try(hal_command_buffer_end(commands));
    hand_in(mapped->device, commands, mapped->semaphore, number);
}

static double run_mapped(struct hal_device *device, const struct workload *workload)
{
    struct hal_mapping mapping;
    struct hal_buffer *buffer = make_buffer(device, mapped_bytes()), *target;
    const struct hal_buffer_desc private_desc = {.bytes = D_CHANGE,
                                                 .memory = HAL_MEMORY_DEVICE_LOCAL};
    bench_try(hal_buffer_create(device, &private_desc, &target));
    struct hal_semaphore *semaphore = make_semaphore(device);
    bench_try(
        hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, mapped_bytes(), &mapping));
    const struct mapped mapped = {device, buffer, target, semaphore, workload->uses_all};
    const struct mapped whole = {device, buffer, target, semaphore, true};
    memset(mapping.data, 1, mapped_bytes());
    submit_copy(&whole, 0, 0); /* everything is seen as written once */
    bench_try(hal_semaphore_wait(semaphore, 1, HAL_FOREVER));
    const enum hal_status flushed = hal_device_profiling_flush(device);
    if (flushed != HAL_OK && flushed != HAL_NOT_FOUND) /* that is: it is not captured */
        bench_die("flushing");
    const int64_t begin_ns = hal_clock_ns();
    for (uint64_t i = 1; i <= workload->submissions; i++) {
        const uint64_t at = i * 7919 % (mapped_bytes() / D_CHANGE) * D_CHANGE;
        memset((uint8_t *)mapping.data + at, (int)i, D_CHANGE);
        submit_copy(&mapped, i, at);
    }
    bench_try(hal_semaphore_wait(semaphore, workload->submissions + 1, HAL_FOREVER));
    const double ns = ns_since(begin_ns);
    bench_try(hal_buffer_unmap(&mapping));
    hal_semaphore_release(semaphore);
    hal_buffer_release(target);
    hal_buffer_release(buffer);
    return ns;
}

/* Random bytes; or numbers between -2 and 2, most of them small, cut to 16 bits: weights. */
static uint32_t *make_data(bool weights)
{
    uint32_t *data = malloc(upload_bytes());
    uint64_t random = 88172645463325252u;
    if (!data)
        bench_die("no memory");
    for (size_t i = 0; i < upload_bytes() / sizeof *data; i++) {
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

/* ---- Comparing ---------------------------------------------------------------------------- */

struct captured_run {
    double run_ns, thread_ns, closed_ns, begin_ns;
    double bytes, stalls, overhead_ns;
};

/* What the workload hands to the device must be in the trace: all of it, and nothing else. */
static void check_counts(const struct workload *workload, const struct trace_counts *counts,
                         const struct trace_health *health)
{
    const uint64_t calls = workload->submissions * workload->pairs * 2 + workload->more_calls;
    const struct {
        const char *what;
        uint64_t wanted, found;
    } checks[] = {
        {"commands and barriers", calls, counts->segments},
        {"bytes written by the host", workload->written, counts->host_write_bytes},
        {"records lost", 0, health->lost_records},
    };
    if (health->status) {
        fprintf(stderr, "bench-capture: %s: the capture failed: %s\n", workload->name,
                health->message);
        exit(1);
    }
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].found == checks[i].wanted)
            continue;
        fprintf(stderr, "bench-capture: %s: %s: wanted %llu, the trace has %llu\n", workload->name,
                checks[i].what, (unsigned long long)checks[i].wanted,
                (unsigned long long)checks[i].found);
        exit(1);
    }
}

static struct captured_run run_captured(struct hal_device *device, const struct workload *workload,
                                        const char *path)
{
    struct captured_run result;
    struct trace_reader *reader;
    const struct hal_profiling_options options = {.file = path, .force = true};
    unlink(
        path); /* removing the last trace, of half a gigabyte, is no part of the next one's begin */
    int64_t begin_ns = hal_clock_ns();
    bench_try(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    result.begin_ns = ns_since(begin_ns);
    begin_ns = hal_clock_ns();
    const double before_ns = thread_ns();
    result.run_ns = workload->run(device, workload);
    result.thread_ns = thread_ns() - before_ns + others_ns;
    bench_try(hal_device_profiling_end(device));
    result.closed_ns = ns_since(begin_ns);

    bench_try(trace_reader_open(path, &reader));
    const struct trace_counts *counts = trace_reader_counts(reader);
    const struct trace_health *health = trace_reader_health(reader);
    check_counts(workload, counts, health);
    result.bytes = (double)counts->file_bytes;
    result.stalls = (double)health->ring_stalls;
    result.overhead_ns = (double)health->overhead_ns;
    trace_reader_close(reader);
    return result;
}

struct figures {
    double plain[MOST_REPEATS], cost[MOST_REPEATS], work[MOST_REPEATS], own[MOST_REPEATS],
        ratio[MOST_REPEATS];
    double closed[MOST_REPEATS], closed_ns[MOST_REPEATS], bytes[MOST_REPEATS];
    double stalls[MOST_REPEATS], begin[MOST_REPEATS];
};

static void measure(struct hal_device *device, const char *path, const struct workload *workload,
                    struct figures *figures)
{
    for (int i = -1; i < workload->repeats; i++) { /* -1 warms up */
        const double before_ns = thread_ns(), plain_ns = workload->run(device, workload);
        const double plain_work_ns = thread_ns() - before_ns + others_ns;
        const struct captured_run captured = run_captured(device, workload, path);
        if (i < 0)
            continue;
        figures->plain[i] = plain_ns;
        figures->cost[i] = captured.run_ns - plain_ns;
        figures->work[i] = captured.thread_ns - plain_work_ns;
        figures->own[i] = captured.overhead_ns;
        figures->ratio[i] = captured.run_ns / plain_ns;
        figures->closed[i] = captured.closed_ns / plain_ns;
        figures->closed_ns[i] = captured.closed_ns;
        figures->bytes[i] = captured.bytes;
        figures->stalls[i] = captured.stalls;
        figures->begin[i] = captured.begin_ns;
    }
}

static double target_or_none(double target)
{
    return target > 0 ? target : NAN;
}

static void row(struct bench *bench, const struct workload *workload, const char *what,
                double *values, double divisor, const char *unit, double target)
{
    char name[96];
    snprintf(name, sizeof name, "%s: %s", workload->name, what);
    bench_row(bench, name, bench_median(values, (size_t)workload->repeats) / divisor, unit,
              BENCH_LOWER, target_or_none(target));
}

static void report(struct bench *bench, const struct workload *workload, struct figures *figures)
{
    const double calls = (double)(workload->submissions * workload->pairs * 2);
    const double submissions = (double)workload->submissions;
    if (workload->uploads) {
        char name[96];
        const double bytes = (double)(workload->uploads * upload_bytes());
        snprintf(name, sizeof name, "%s: until the file is closed", workload->name);
        bench_row(bench, name,
                  bytes / bench_median(figures->closed_ns, (size_t)workload->repeats) * 1e3, "MB/s",
                  BENCH_HIGHER, target_or_none(workload->target_mb_s));
        row(bench, workload, "plain run", figures->plain, 1e6, "ms", 0);
        row(bench, workload, "file", figures->bytes, 1e6, "MB", workload->target_bytes / 1e6);
    } else if (workload->target_us > 0) {
        row(bench, workload, "plain run", figures->plain, 1e3 * submissions, "us/submit", 0);
        row(bench, workload, "cost of being captured", figures->cost, 1e3 * submissions,
            "us/submit", workload->target_us);
        row(bench, workload, "file", figures->bytes, 1e6, "MB", 0);
    } else {
        row(bench, workload, "plain run", figures->plain, calls, "ns/call", 0);
        row(bench, workload, "cost of being captured", figures->cost, calls, "ns/call",
            workload->target_ns);
        row(bench, workload, "of which the threads' own work", figures->work, calls, "ns/call", 0);
        row(bench, workload, "of which the trace says itself", figures->own, calls, "ns/call", 0);
        row(bench, workload, "file", figures->bytes, calls, "bytes/call", workload->target_bytes);
    }
    row(bench, workload, "captured / plain", figures->ratio, 1, "", workload->target_ratio);
    row(bench, workload, "captured / plain, until the file is closed", figures->closed, 1, "",
        workload->target_closed);
    row(bench, workload, "times that a thread waited for the writer", figures->stalls, 1, "", 0);
    row(bench, workload, "beginning a capture", figures->begin, 1e6, "ms", 0);
}

/* ---- The workloads ------------------------------------------------------------------------- */

static struct workload workloads[] = {
    {.name = "a",
     .run = run_commands,
     .submissions = 1,
     .pairs = A_PAIRS,
     .repeats = 21,
     .target_ns = 30,
     .target_closed = 1.5,
     .target_bytes = 4},
    {.name = "b",
     .run = run_commands,
     .submissions = B_SUBMISSIONS,
     .pairs = B_PAIRS,
     .repeats = 21,
     .target_ns = 60},
    {.name = "mt",
     .run = run_threads,
     .submissions = MT_THREADS,
     .pairs = A_PAIRS / 2,
     .repeats = 21,
     .target_ratio = 1.3},
    {.name = "c-random",
     .run = run_uploads,
     .uploads = UPLOADS,
     .distinct = UPLOADS,
     .repeats = 5,
     .target_ratio = 2,
     .target_mb_s = 700},
    {.name = "c-weights",
     .run = run_uploads,
     .is_weights = true,
     .uploads = UPLOADS,
     .distinct = UPLOADS,
     .repeats = 5,
     .target_ratio = 2,
     .target_mb_s = 450},
    {.name = "cs",
     .run = run_uploads,
     .uploads = UPLOADS,
     .distinct = 1,
     .repeats = 5,
     .target_ratio = 2,
     .target_bytes = 17e6},
    {.name = "d",
     .run = run_mapped,
     .submissions = D_SUBMISSIONS,
     .pairs = 1,
     .repeats = 7,
     .target_us = 25},
    {.name = "d-all",
     .run = run_mapped,
     .submissions = D_SUBMISSIONS,
     .pairs = 1,
     .uses_all = true,
     .repeats = 7,
     .target_us = 25},
};

/* Smaller when it is tried alone whether the program works; and what a trace of it must have. */
static void prepare(struct workload *workload)
{
    workload->repeats = bench_repeats(workload->repeats);
    if (workload->uploads) {
        workload->uploads = bench_size(workload->uploads, 2);
        workload->written = workload->uploads * upload_bytes();
    } else if (workload->run == run_mapped) {
        workload->submissions = bench_size(workload->submissions, 3);
        /* The first submission uses everything, so that all of the buffer has been written. */
        workload->written = mapped_bytes() + workload->submissions * D_CHANGE;
        workload->more_calls = 4 + (workload->uses_all ? 2 * workload->submissions : 0);
    } else if (workload->pairs > B_PAIRS) {
        workload->pairs = bench_size(workload->pairs, 100);
    } else {
        workload->submissions = bench_size(workload->submissions, 10);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct test_folder folder;
    struct hal_device *device;
    char path[PATH_MAX];
    bench_begin(&bench, "bench-capture", argc, argv);
    uint32_t *random = make_data(false), *weights = make_data(true);
    if (!test_folder_make(&folder)) {
        perror("bench-capture: a temporary folder");
        return 1;
    }
    test_folder_file(&folder, "bench.pb.zst", path);
    bench_try(hal_device_open(NULL, &device));
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        struct figures figures;
        if (!bench_wants(&bench, workloads[i].name))
            continue;
        workloads[i].data = workloads[i].is_weights ? weights : random;
        prepare(&workloads[i]);
        measure(device, path, &workloads[i], &figures);
        report(&bench, &workloads[i], &figures);
    }
    hal_device_release(device);
    if (bench_wants(&bench, "decode"))
        bench_decode(&bench, path);
    free(random);
    free(weights);
    test_folder_remove(&folder);
    return bench_end(&bench);
}
