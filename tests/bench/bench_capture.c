/* SPDX-License-Identifier: Apache-2.0 */
/* bench-capture: what being captured costs a program. A call is one command or one barrier.
 *
 *   a   one submission of 100,000 tiny commands and as many barriers
 *   b   10,000 submissions of 5 and 5 that follow each other on one timeline semaphore
 *   mt  two threads, each with one submission of 50,000 and 50,000
 *   mt-warm
 *       the same threads again, in the same capture: they have the memory that they record into
 *   c   512 MiB of uploads into buffers of 16 MiB: random bytes; weights (bf16)
 *   cs  the same 16 MiB uploaded 32 times
 *   d   a persistently mapped buffer of 64 MiB, of which 4 KiB change before each of 1,000
 *       submissions, which copy them to where the device keeps them
 *   d-all
 *       the same, and each submission uses bytes at both ends, and so the whole buffer, as far as
 *       anybody can tell
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
#include "tests/bench/bench_workloads.h"
#include "tests/support/folder.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_REPEATS = 21,
    A_PAIRS = 100000,
    B_SUBMISSIONS = 10000,
    B_PAIRS = 5,
    UPLOADS = 32,
    D_SUBMISSIONS = 1000,
};

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
    result.begin_ns = bench_ns_since(begin_ns);
    begin_ns = hal_clock_ns();
    const double before_ns = bench_thread_ns();
    result.run_ns = workload->run(device, workload);
    result.thread_ns = bench_thread_ns() - before_ns + bench_others_ns;
    bench_try(hal_device_profiling_end(device));
    result.closed_ns = bench_ns_since(begin_ns);

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
        const double before_ns = bench_thread_ns(), plain_ns = workload->run(device, workload);
        const double plain_work_ns = bench_thread_ns() - before_ns + bench_others_ns;
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

static double typical(const struct workload *workload, double *values)
{
    return bench_median(values, (size_t)workload->repeats);
}

static void row(struct bench *bench, const char *what, double value, const char *unit,
                double target)
{
    bench_row(bench, what, value, unit, BENCH_LOWER, target_or_none(target));
}

static void report(struct bench *bench, const struct workload *workload, struct figures *figures)
{
    const double calls = (double)(workload->submissions * workload->pairs * 2);
    const double submissions = (double)workload->submissions;
    bench->subject = workload->name;
    if (workload->uploads) {
        const double bytes = (double)(workload->uploads * bench_upload_bytes());
        bench_row(bench, "until the file is closed",
                  bytes / typical(workload, figures->closed_ns) * 1e3, "MB/s", BENCH_HIGHER,
                  target_or_none(workload->target_mb_s));
        row(bench, "plain run", typical(workload, figures->plain) / 1e6, "ms", 0);
        row(bench, "file", typical(workload, figures->bytes) / 1e6, "MB",
            workload->target_bytes / 1e6);
    } else if (workload->target_us > 0) {
        row(bench, "plain run", typical(workload, figures->plain) / (1e3 * submissions),
            "us/submit", 0);
        row(bench, "cost of being captured", typical(workload, figures->cost) / (1e3 * submissions),
            "us/submit", workload->target_us);
        row(bench, "file", typical(workload, figures->bytes) / 1e6, "MB", 0);
    } else {
        row(bench, "plain run", typical(workload, figures->plain) / calls, "ns/call", 0);
        row(bench, "cost of being captured", typical(workload, figures->cost) / calls, "ns/call",
            workload->target_ns);
        row(bench, "of which the threads' own work", typical(workload, figures->work) / calls,
            "ns/call", 0);
        row(bench, "of which the trace says itself", typical(workload, figures->own) / calls,
            "ns/call", 0);
        row(bench, "file", typical(workload, figures->bytes) / calls, "bytes/call",
            workload->target_bytes);
    }
    row(bench, "captured / plain", typical(workload, figures->ratio), "", workload->target_ratio);
    row(bench, "captured / plain, until the file is closed", typical(workload, figures->closed), "",
        workload->target_closed);
    row(bench, "times that a thread waited for the writer", typical(workload, figures->stalls), "",
        0);
    row(bench, "beginning a capture", typical(workload, figures->begin) / 1e6, "ms", 0);
    bench->subject = NULL;
}

/* ---- The workloads ------------------------------------------------------------------------- */

static struct workload workloads[] = {
    {.name = "a",
     .run = bench_run_commands,
     .submissions = 1,
     .pairs = A_PAIRS,
     .repeats = 21,
     .target_ns = 30,
     .target_closed = 1.5,
     .target_bytes = 4},
    {.name = "b",
     .run = bench_run_commands,
     .submissions = B_SUBMISSIONS,
     .pairs = B_PAIRS,
     .repeats = 21,
     .target_ns = 60},
    {.name = "mt",
     .run = bench_run_threads,
     .submissions = BENCH_THREADS,
     .pairs = A_PAIRS / 2,
     .repeats = 21,
     .target_ratio = 1.3},
    {.name = "c-random",
     .run = bench_run_uploads,
     .uploads = UPLOADS,
     .distinct = UPLOADS,
     .repeats = 5,
     .target_ratio = 2,
     .target_mb_s = 700},
    {.name = "c-weights",
     .run = bench_run_uploads,
     .is_weights = true,
     .uploads = UPLOADS,
     .distinct = UPLOADS,
     .repeats = 5,
     .target_ratio = 2,
     .target_mb_s = 450},
    {.name = "cs",
     .run = bench_run_uploads,
     .uploads = UPLOADS,
     .distinct = 1,
     .repeats = 5,
     .target_ratio = 2,
     .target_bytes = 17e6},
    {.name = "d",
     .run = bench_run_mapped,
     .submissions = D_SUBMISSIONS,
     .pairs = 1,
     .repeats = 7,
     .target_us = 25},
    {.name = "d-all",
     .run = bench_run_mapped,
     .submissions = D_SUBMISSIONS,
     .pairs = 1,
     .uses_all = true,
     .repeats = 7,
     .target_us = 25},
    /* The last one: it changes malloc. */
    {.name = "mt-warm",
     .run = bench_run_threads,
     .submissions = BENCH_THREADS,
     .pairs = A_PAIRS / 2,
     .is_warm = true,
     .repeats = 21},
};

/* Smaller when it is tried alone whether the program works; and what a trace of it must have. */
static void prepare(struct workload *workload)
{
    workload->repeats = bench_repeats(workload->repeats);
    if (workload->uploads) {
        workload->uploads = bench_size(workload->uploads, 2);
        workload->written = workload->uploads * bench_upload_bytes();
    } else if (workload->run == bench_run_mapped) {
        workload->submissions = bench_size(workload->submissions, 3);
        /* The first submission uses everything, so that all of the buffer has been written. */
        workload->written = bench_mapped_bytes() + workload->submissions * BENCH_CHANGE;
        workload->more_calls = 4 + (workload->uses_all ? 2 * workload->submissions : 0);
    } else if (workload->pairs > B_PAIRS) {
        workload->pairs = bench_size(workload->pairs, 100);
        workload->more_calls = workload->is_warm ? workload->submissions * workload->pairs * 2 : 0;
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
    uint32_t *random = bench_upload_data(false), *weights = bench_upload_data(true);
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
