/* SPDX-License-Identifier: Apache-2.0 */
/* Random access in a large trace: how long until the first event, an event in the middle, and a
 * submission, in a file that was just opened; and how much of the file was read for it. And how
 * fast hal-trace prints all of it. BENCH_TRACE_EVENTS: how many events (default 10 million). */
#include "format/trace.h"
#include "hal/base/os.h"
#include "tests/bench/bench.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, AT_ONCE = 1000, DUMPS = 3 };

/* A submission, its end, and the wait for it. */
struct step {
    struct trace_submit submit;
    struct trace_semaphore_value signal;
    struct trace_submission_done done;
    struct trace_semaphore_wait wait;
    struct trace_semaphore_value value;
};

static void fill_step(struct step *step, uint64_t number)
{
    const int64_t begin_ns = 1000 + (int64_t)number * 3000;
    memset(step, 0, sizeof *step);
    step->submit.head = (struct trace_event){.kind = TRACE_SUBMIT,
                                             .bytes = sizeof step->submit + sizeof step->signal,
                                             .ticket = 2 * number + 1,
                                             .begin_ns = begin_ns,
                                             .end_ns = begin_ns + 700 + (int64_t)(number % 97)};
    step->submit.submission = number;
    step->submit.signal_count = 1;
    step->signal = step->value = (struct trace_semaphore_value){7, number + 1};
    step->done.head = (struct trace_event){.kind = TRACE_SUBMISSION_DONE,
                                           .bytes = sizeof step->done,
                                           .begin_ns = begin_ns + 900,
                                           .end_ns = begin_ns + 2000 + (int64_t)(number % 61)};
    step->done.submission = number;
    step->done.ready_ns = begin_ns + 800;
    step->wait.head = (struct trace_event){.kind = TRACE_SEMAPHORE_WAIT,
                                           .bytes = sizeof step->wait + sizeof step->value,
                                           .ticket = 2 * number + 2,
                                           .begin_ns = begin_ns + 850,
                                           .end_ns = begin_ns + 2500};
    step->wait.timeout_ns = INT64_MAX;
    step->wait.value_count = 1;
}

static void write_large(const char *path, uint64_t steps)
{
    static struct step some[AT_ONCE];
    const struct trace_header header = {.program = "bench", .start_ns = 1000};
    struct trace_writer *writer;
    bench_try(trace_writer_open(&(struct trace_writer_options){.path = path, .force = true},
                                &header, &writer));
    for (uint64_t number = 0; number < steps;) {
        size_t count = 0;
        for (; count < AT_ONCE && number < steps; count++)
            fill_step(&some[count], number++);
        bench_try(trace_writer_records(writer, 1, some, count * sizeof *some));
    }
    bench_try(trace_writer_close(writer, NULL));
}

/* Bytes that this process has read so far. */
static double bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "r");
    if (!file || fscanf(file, "rchar: %llu", &bytes) != 1)
        bytes = 0;
    if (file)
        fclose(file);
    return (double)bytes;
}

enum goal { FIRST_EVENT, A_TIME, A_SUBMISSION };

static bool is_there(const struct trace_event *event, enum goal goal, uint64_t wanted)
{
    const int64_t ns = (int64_t)(1000 + wanted * 3000);
    if (goal == A_SUBMISSION)
        return event->kind == TRACE_SUBMIT &&
               ((const struct trace_submit *)(const void *)event)->submission == wanted;
    return goal == FIRST_EVENT || event->begin_ns >= ns;
}

static bool may_be_there(const struct trace_reader *reader, size_t chunk, enum goal goal,
                         uint64_t wanted)
{
    const struct trace_span span = trace_reader_chunk_span(reader, chunk);
    const int64_t ns = (int64_t)(1000 + wanted * 3000);
    if (goal == A_TIME)
        return span.last_ns >= ns;
    return goal == FIRST_EVENT ||
           (span.first_submission <= wanted && wanted <= span.last_submission);
}

/* From a closed file to the event. */
static void find(const char *path, enum goal goal, uint64_t wanted)
{
    struct trace_reader *reader;
    struct trace_chunk chunk;
    bench_try(trace_reader_open(path, &reader));
    for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
        if (!may_be_there(reader, i, goal, wanted))
            continue;
        bench_try(trace_reader_chunk(reader, i, &chunk));
        const struct trace_event *event = chunk.events;
        for (uint32_t k = 0; k < chunk.event_count; k++, event = trace_next_event(event)) {
            if (!is_there(event, goal, wanted))
                continue;
            trace_chunk_free(&chunk);
            trace_reader_close(reader);
            return;
        }
        trace_chunk_free(&chunk);
    }
    bench_die("finding the event");
}

/* Of this process, so that what else the machine does is not measured. */
static double processor_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0)
        bench_die("reading the processor's time");
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void measure(struct bench *bench, const char *path, const char *name, enum goal goal,
                    uint64_t wanted, double target_ms)
{
    char row[80];
    double times[ROUNDS], processor[ROUNDS], bytes = 0;
    for (size_t i = 0; i < (size_t)bench_repeats(ROUNDS); i++) {
        const double before = bytes_read();
        const int64_t begin_ns = hal_clock_ns();
        const double begin_ms = processor_ms();
        find(path, goal, wanted + i);
        processor[i] = processor_ms() - begin_ms;
        times[i] = (double)(hal_clock_ns() - begin_ns) / 1e6;
        bytes = bytes_read() - before;
    }
    bench_row(bench, name, bench_median(processor, (size_t)bench_repeats(ROUNDS)), "ms (CPU)",
              BENCH_LOWER, target_ms);
    snprintf(row, sizeof row, "%s: by the clock", name);
    bench_row(bench, row, bench_median(times, (size_t)bench_repeats(ROUNDS)), "ms", BENCH_LOWER,
              NAN);
    snprintf(row, sizeof row, "%s: read of the file", name);
    bench_row(bench, row, bytes / 1024, "KiB", BENCH_LOWER, NAN);
}

static double children_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        bench_die("getrusage");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Processor time of the whole program, by events. */
static void measure_dump(struct bench *bench, const char *path, const char *name,
                         const char *option, double events, double target)
{
    char program[PATH_MAX], command[3 * PATH_MAX];
    double rates[DUMPS];
    const int repeats = bench_repeats(DUMPS);
    bench_try(hal_program_path(program, sizeof program));
    snprintf(strrchr(program, '/'), 16, "/hal-trace");
    snprintf(command, sizeof command, "'%s' dump %s '%s' >/dev/null", program, option, path);
    for (int i = 0; i < repeats; i++) {
        const double before = children_seconds();
        if (system(command) != 0) /* NOLINT(cert-env33-c) */
            bench_die(command);
        rates[i] = events / (children_seconds() - before) / 1e6;
    }
    bench_row(bench, name, bench_median(rates, (size_t)repeats), "M events/s", BENCH_HIGHER,
              target);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    char path[] = "/tmp/haltrace-bench-XXXXXX";
    const char *text = getenv("BENCH_TRACE_EVENTS");
    bench_begin(&bench, "bench-trace", argc, argv);
    const uint64_t steps = (text ? strtoull(text, NULL, 10) : bench_size(10000000, 30000)) / 3;
    const int file = mkstemp(path);
    if (file < 0 || close(file) != 0)
        bench_die("making a file");
    const int64_t begin_ns = hal_clock_ns();
    write_large(path, steps);
    const double seconds = (double)(hal_clock_ns() - begin_ns) / 1e9;
    struct trace_reader *reader;
    bench_try(trace_reader_open(path, &reader));
    bench_row(&bench, "events", (double)trace_reader_counts(reader)->events / 1e6, "million",
              BENCH_HIGHER, NAN);
    bench_row(&bench, "the file", (double)trace_reader_counts(reader)->file_bytes / 1024, "KiB",
              BENCH_LOWER, NAN);
    trace_reader_close(reader);
    bench_row(&bench, "writing", (double)(3 * steps) / seconds / 1e6, "million events/s",
              BENCH_HIGHER, NAN);
    measure(&bench, path, "first event", FIRST_EVENT, 0, 5);
    measure(&bench, path, "an event by its time", A_TIME, steps / 2, 10);
    measure(&bench, path, "a submission in the middle", A_SUBMISSION, steps / 2, 10);
    measure(&bench, path, "a submission near the end", A_SUBMISSION, steps - 100, 10);
    measure_dump(&bench, path, "dump --json, processor", "--json", (double)(3 * steps), 2);
    measure_dump(&bench, path, "dump, processor", "", (double)(3 * steps), NAN);
    unlink(path);
    return bench_end(&bench);
}
