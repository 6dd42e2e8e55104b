/* SPDX-License-Identifier: Apache-2.0 */
/* bench-view: how long until a trace is seen, and what a frame costs, on made-up decode traces. */
#include "hal/base/os.h"
#include "tests/bench/bench.h"
#include "tests/viewer/decode_trace.h"
#include "viewer/ui/follow.h"
#include "viewer/ui/job.h"
#include "viewer/ui/preview.h"
#include "viewer/ui/view.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* Of this thread: what other programs do is not counted. */
static double processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
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
    struct view_preview preview = {0};
    struct view_screen screen = {0};
    const int64_t begin_ns = hal_clock_ns();
    bench_try(trace_reader_open(path, &reader));
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view_preview_draw(&preview, &screen, reader, path, 0, 1);
    const double seconds = seconds_since(begin_ns);
    view_screen_finish(&screen);
    trace_reader_close(reader);
    return seconds;
}

static void bench_opening(struct bench *bench, const struct subject *subject)
{
    double seconds[REPEATS], processor_s[REPEATS];
    const size_t usual = (size_t)bench_repeats(REPEATS);
    const size_t repeats = subject->is_large ? (size_t)bench_repeats(LONG_REPEATS) : usual;
    for (size_t i = 0; i < usual; i++)
        seconds[i] = first_preview(subject->path);
    bench_row(bench, "first frame, from the index", bench_median(seconds, usual), "s", BENCH_LOWER,
              FIRST_FRAME_S);
    for (size_t i = 0; i < repeats; i++) {
        const double begin_ms = processor_ms();
        seconds[i] = first_frame(subject->path);
        processor_s[i] = (processor_ms() - begin_ms) / 1e3;
    }
    bench_row(bench, "opened and first frame drawn", bench_median(seconds, repeats), "s",
              BENCH_LOWER, subject->open_target_s);
    bench_row(bench, "processor time of that", bench_median(processor_s, repeats), "s", BENCH_LOWER,
              subject->open_target_s);
}

/* Median milliseconds of a frame after `keys`, which are hit once, then `step` before each. */
static void bench_frames(struct bench *bench, struct view *view, const char *what, const char *keys,
                         const char *step, double target_ms)
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
    bench_row(bench, what, bench_median(milliseconds, frames), "ms", BENCH_LOWER, target_ms);
}

/* As the program does it: steps until the next frame is due, each of which may be the last before a
 * key is answered. Milliseconds of the longest. */
static double longest_step(struct view *view, bool *more)
{
    const int64_t until_ns = hal_clock_ns() + (int64_t)FRAME_MS * 1000000;
    double longest_ms = 0;
    do {
        const double begin_ms = processor_ms();
        *more = view_poll(view);
        const double ms = processor_ms() - begin_ms;
        longest_ms = ms > longest_ms ? ms : longest_ms;
    } while (view_has_steps(view) && hal_clock_ns() < until_ns);
    return longest_ms;
}

/* What takes longer than a frame: until it is there, and the longest frame meanwhile with the key
 * or the step before it. */
static void bench_long(struct bench *bench, const struct view_model *model, const char *what,
                       const char *keys)
{
    struct view *view;
    struct view_screen screen = {0};
    char name[80];
    double longest_ms = 0;
    bool more = true;
    bench_try(view_create(model, &view));
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view->is_live = true;
    view_draw(view, &screen);
    const int64_t begin_ns = hal_clock_ns();
    for (int frame = 0; more || frame < 2; frame++) {
        double begin_ms = processor_ms(), step_ms = 0;
        if (frame == 0)
            bench_try(view_type(view, keys));
        else
            step_ms = longest_step(view, &more);
        begin_ms = frame == 0 ? begin_ms : processor_ms();
        view_draw(view, &screen);
        const double ms = processor_ms() - begin_ms + step_ms;
        longest_ms = ms > longest_ms ? ms : longest_ms;
        usleep(1000);
    }
    snprintf(name, sizeof name, "%s: longest frame", what);
    bench_row(bench, name, longest_ms, "ms", BENCH_LOWER, FRAME_MS);
    bench_row(bench, what, seconds_since(begin_ns), "s", BENCH_LOWER, NAN);
    view_screen_finish(&screen);
    view_destroy(view);
}

static void bench_all_long(struct bench *bench, const struct view_model *model)
{
    static const struct {
        const char *what, *keys;
    } cases[] = {{"search that finds nothing", "/no such label<Enter>"},
                 {"filter by name", "&name~mul<Enter>"},
                 {"filter by duration", "&dur>50us<Enter>"},
                 {"kernels", "6"},
                 {"iterations", "8"},
                 {"kernels of a range", "g10%<Enter>vg90%<Enter>v"},
                 {"critical path", "c"},
                 {"counters", "i"},
                 {"submissions sorted", "3S"},
                 {"gaps sorted", "4S"},
                 {"findings", "5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_long(bench, model, cases[i].what, cases[i].keys);
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
    bench_row(bench, "events and segments", events, "", BENCH_HIGHER, NAN);
    bench_row(bench, "read and arranged", events / seconds / 1e6, "M/s", BENCH_HIGHER, NAN);
    if (subject->is_large) {
        bench_row(bench, "memory of the model", mib, "MiB", BENCH_LOWER,
                  subject->open_target_s >= TEN_MILLION_S ? TEN_MILLION_MIB : NAN);
        bench_row(bench, "memory per event", mib * (1 << 20) / events, "B", BENCH_LOWER, NAN);
    }
    bench_frames(bench, view, "frame of the whole trace", "0", "j", FRAME_MS);
    bench_frames(bench, view, "frame while panning, zoomed in", "g50%<Enter>wwwwwwww", "d",
                 FRAME_MS);
    bench_frames(bench, view, "frame of another event", "", "]", FRAME_MS);
    view_destroy(view);
    bench_all_long(bench, model);
    view_model_close(model);
}

/* As the program's loop does it. Milliseconds of the longest frame until nothing is done any more,
 * and with `model` replaced until it was. */
static double longest_frame(struct view_follow *follow, struct view_model **model,
                            struct view **view, struct view_screen *screen, bool replaced)
{
    const struct view_model *const before = *model;
    double longest_ms = 0;
    bool more = true;
    while (replaced ? *model == before : more) {
        const double begin_ms = processor_ms();
        if (replaced)
            view_follow_look(follow, model, view);
        more = view_poll(*view);
        view_draw(*view, screen);
        const double ms = processor_ms() - begin_ms;
        longest_ms = ms > longest_ms ? ms : longest_ms;
        usleep(1000);
    }
    return longest_ms;
}

/* Of the beginning of the file, without its end: nine tenths of it, or less of a small one. */
static void open_beginning(const struct subject *subject, const char *path,
                           struct view_model **out_model)
{
    struct stat whole;
    char command[256];
    if (stat(subject->path, &whole) != 0)
        bench_die("stat");
    for (long long bytes = (long long)whole.st_size / 10 * 9;; bytes /= 2) {
        snprintf(command, sizeof command, "head -c %lld '%s' >'%s'", bytes, subject->path, path);
        if (system(command) != 0)
            bench_die("head");
        bench_try(view_model_open(path, out_model));
        if (!(*out_model)->health)
            return;
        view_model_close(*out_model);
    }
}

/* The rest of the file comes while it is looked at, with a filter, an order and findings. Takes the
 * file away. */
static void bench_following(struct bench *bench, const struct subject *subject, const char *folder)
{
    struct view_model *model;
    struct view *view;
    struct view_follow follow;
    struct view_screen screen = {0};
    char grows[80];
    snprintf(grows, sizeof grows, "%s/grows.pb.zst", folder);
    open_beginning(subject, grows, &model);
    view_follow_begin(&follow, grows, model, 0);
    bench_try(view_create(model, &view));
    bench_try(view_screen_resize(&screen, ROWS, COLUMNS));
    view->is_live = true;
    view_draw(view, &screen);
    bench_try(view_type(view, "&name~mul<Enter>3S5"));
    (void)longest_frame(NULL, &model, &view, &screen, false);
    if (rename(subject->path, grows) != 0)
        bench_die("rename");
    const int64_t begin_ns = hal_clock_ns();
    const double reading_ms = longest_frame(&follow, &model, &view, &screen, true);
    const double seconds = seconds_since(begin_ns);
    const double after_ms = longest_frame(NULL, &model, &view, &screen, false);
    bench_row(bench, "a file that grew: longest frame",
              reading_ms > after_ms ? reading_ms : after_ms, "ms", BENCH_LOWER, FRAME_MS);
    bench_row(bench, "a file that grew", seconds, "s", BENCH_LOWER, NAN);
    view_screen_finish(&screen);
    view_destroy(view);
    view_model_close(model);
    unlink(grows);
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
        bench.subject = subject.name;
        if (bench_is_quick())
            options.tokens = 4;
        bench_try(decode_trace_write(path, &options, true));
        bench_opening(&bench, &subject);
        bench_using(&bench, &subject);
        bench_following(&bench, &subject, folder);
    }
    unlink(path);
    rmdir(folder);
    return bench_end(&bench);
}
