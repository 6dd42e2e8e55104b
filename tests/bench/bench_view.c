/* SPDX-License-Identifier: Apache-2.0 */
/* bench-view: how long until a trace is seen, and what a frame costs, on made-up decode traces. */
#include "hal/base/os.h"
#include "tests/bench/bench.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/preview.h"
#include "viewer/view.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 50, COLUMNS = 200, REPEATS = 15, FRAMES = 60, FRAME_MS = 16 };
#define FIRST_FRAME_S 0.3
enum { TEN_MILLION_S = 2, TEN_MILLION_MIB = 400, LONG_REPEATS = 3 };

struct subject {
    const char *name, *path;
    double open_target_s;
    bool is_large; /* its memory can be told from noise */
};

static double seconds_since(int64_t begin_ns)
{
    return (double)(hal_clock_ns() - begin_ns) / 1e9;
}

/* Resident memory of this process in MiB. */
static double resident_mib(void)
{
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        fclose(file);
    const char *second = strchr(text, ' ');
    const long pages = second ? strtol(second, NULL, 10) : 0;
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void row(struct bench *bench, const struct subject *subject, const char *what, double value,
                const char *unit, enum bench_better better, double target)
{
    char name[96];
    snprintf(name, sizeof name, "%s: %s", subject->name, what);
    bench_row(bench, name, value, unit, better, target);
}

/* From nothing to a drawn frame, as the program does it. */
static double first_frame(const char *path)
{
    struct view_model *model;
    struct view *view;
    struct view_screen screen = {0};
    const int64_t begin_ns = hal_clock_ns();
    bench_try(view_model_open(path, &model));
    bench_try(view_create(model, &view));
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view_draw(view, &screen);
    const double seconds = seconds_since(begin_ns);
    view_screen_finish(&screen);
    view_destroy(view);
    view_model_close(model);
    return seconds;
}

/* From nothing to what the index alone tells: what a large file shows while it is read. */
static double first_preview(const char *path)
{
    struct trace_reader *reader;
    struct view_screen screen = {0};
    const int64_t begin_ns = hal_clock_ns();
    bench_try(trace_reader_open(path, &reader));
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view_preview_draw(&screen, reader, path, 0, 1);
    const double seconds = seconds_since(begin_ns);
    view_screen_finish(&screen);
    trace_reader_close(reader);
    return seconds;
}

static void bench_opening(struct bench *bench, const struct subject *subject)
{
    double seconds[REPEATS];
    const size_t usual = (size_t)bench_repeats(REPEATS);
    const size_t repeats = subject->is_large ? (size_t)bench_repeats(LONG_REPEATS) : usual;
    for (size_t i = 0; i < usual; i++)
        seconds[i] = first_preview(subject->path);
    row(bench, subject, "first frame, from the index", bench_median(seconds, usual), "s",
        BENCH_LOWER, FIRST_FRAME_S);
    for (size_t i = 0; i < repeats; i++)
        seconds[i] = first_frame(subject->path);
    row(bench, subject, "opened and first frame drawn", bench_median(seconds, repeats), "s",
        BENCH_LOWER, subject->open_target_s);
}

/* Median milliseconds of a frame after `keys`, which are hit once, then `step` before each. */
static void bench_frames(struct bench *bench, const struct subject *subject, struct view *view,
                         const char *what, const char *keys, const char *step, double target_ms)
{
    double milliseconds[FRAMES];
    const size_t frames = (size_t)bench_size(isnan(target_ms) ? LONG_REPEATS : FRAMES, 2);
    struct view_screen screen = {0};
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view_draw(view, &screen);
    bench_try(view_type(view, keys));
    for (size_t i = 0; i < frames; i++) {
        const int64_t begin_ns = hal_clock_ns();
        bench_try(view_type(view, step));
        view_draw(view, &screen);
        milliseconds[i] = seconds_since(begin_ns) * 1e3;
    }
    view_screen_finish(&screen);
    row(bench, subject, what, bench_median(milliseconds, frames), "ms", BENCH_LOWER, target_ms);
}

static void bench_using(struct bench *bench, const struct subject *subject)
{
    struct view_model *model;
    struct view *view;
    const double before_mib = resident_mib();
    const int64_t begin_ns = hal_clock_ns();
    bench_try(view_model_open(subject->path, &model));
    const double seconds = seconds_since(begin_ns), mib = resident_mib() - before_mib;
    const struct trace_counts *counts = trace_reader_counts(model->reader);
    const double events = (double)(counts->events + counts->segments);
    bench_try(view_create(model, &view));
    row(bench, subject, "events and segments", events, "", BENCH_HIGHER, NAN);
    row(bench, subject, "read and arranged", events / seconds / 1e6, "M/s", BENCH_HIGHER, NAN);
    if (subject->is_large) {
        row(bench, subject, "memory of the model", mib, "MiB", BENCH_LOWER,
            subject->open_target_s >= TEN_MILLION_S ? TEN_MILLION_MIB : NAN);
        row(bench, subject, "memory per event", mib * (1 << 20) / events, "B", BENCH_LOWER, NAN);
    }
    bench_frames(bench, subject, view, "frame of the whole trace", "0", "j", FRAME_MS);
    bench_frames(bench, subject, view, "frame while panning, zoomed in", "g50%<Enter>wwwwwwww", "d",
                 FRAME_MS);
    bench_frames(bench, subject, view, "frame of another event", "", "]", FRAME_MS);
    bench_frames(bench, subject, view, "search that finds nothing", "/no such label<Enter>", "n",
                 NAN);
    view_destroy(view);
    view_model_close(model);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/bench-view.XXXXXX", path[64];
    struct bench bench;
    bench_begin(&bench, "bench-view", argc, argv);
    if (!mkdtemp(folder))
        bench_die("mkdtemp");
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);

    static const struct {
        struct subject subject;
        struct decode_options options;
    } cases[] = {
        {{"demo", NULL, 0.2, false}, {.tokens = 32, .layers = 4, .sync = DECODE_SYNC_TOKEN}},
        {{"calls", NULL, NAN, true}, {.tokens = 800, .layers = 24, .sync = DECODE_SYNC_OP}},
        {{"segments", NULL, NAN, true}, {.tokens = 8000, .layers = 48, .sync = DECODE_SYNC_TOKEN}},
        {{"10 M", NULL, TEN_MILLION_S, true},
         {.tokens = 7000, .layers = 24, .sync = DECODE_SYNC_OP}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject subject = cases[i].subject;
        struct decode_options options = cases[i].options;
        if (!bench_wants(&bench, subject.name))
            continue;
        subject.path = path;
        if (bench_is_quick())
            options.tokens = 4;
        bench_try(decode_trace_write(path, &options, true));
        bench_opening(&bench, &subject);
        bench_using(&bench, &subject);
    }
    unlink(path);
    rmdir(folder);
    return bench_end(&bench);
}
