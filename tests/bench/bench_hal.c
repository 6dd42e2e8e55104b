/* SPDX-License-Identifier: Apache-2.0 */
/* bench-hal: what the HAL and the CPU driver add to the work itself: submissions, wake-ups, tiny
 * dispatches, transient memory, and how well independent dispatches use two cores. */
#include "hal/base/os.h"
#include "hal/hal.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    REPEATS = 15,
    SUBMISSIONS = 2000,
    WAKES = 300,
    TINY = 100000,
    SPIN_GROUPS = 64,
    SPIN_STEPS = 200000,
    GROUP = 64,
};

static const char source[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "kernel void add_one(device uint *x [[buffer(0)]]) { x[0] += 1; }\n"
                             "kernel void spin(device uint *x [[buffer(0)]],\n"
                             "                 constant uint &steps [[buffer(1)]],\n"
                             "                 uint i [[thread_position_in_grid]])\n"
                             "{\n"
                             "    uint v = x[i];\n"
                             "    for (uint n = 0; n < steps; n++)\n"
                             "        v = v * 1664525 + 1013904223;\n"
                             "    x[i] = v;\n"
                             "}\n";
enum entry { ADD_ONE, SPIN };
static const struct hal_entry_point entries[] = {{"add_one", {1, 1, 1}, 0, 0},
                                                 {"spin", {1, 1, 1}, 4, 1}};

/* A device with what the measurements use. */
struct rig {
    struct hal_device *device;
    struct hal_executable *executable;
    struct hal_buffer *buffer;
    struct hal_semaphore *done;
    uint64_t value; /* that `done` will have reached */
};

static void open_rig(struct rig *rig, const char *uri)
{
    static const struct hal_buffer_desc buffer = {.bytes = SPIN_GROUPS * 64};
    const struct hal_executable_desc executable = {
        .label = "bench",
        .format = HAL_FORMAT_MSL,
        .data = source,
        .bytes = sizeof source - 1,
        .entry_points = entries,
        .entry_point_count = sizeof entries / sizeof entries[0],
    };
    rig->value = 0;
    bench_try(hal_device_open(uri, &rig->device));
    bench_try(hal_executable_create(rig->device, &executable, &rig->executable));
    bench_try(hal_buffer_create(rig->device, &buffer, &rig->buffer));
    bench_try(hal_semaphore_create(rig->device, "done", 0, &rig->done));
}

static void close_rig(struct rig *rig)
{
    hal_semaphore_release(rig->done);
    hal_buffer_release(rig->buffer);
    hal_executable_release(rig->executable);
    hal_device_release(rig->device);
}

static struct hal_command_buffer *new_commands(const struct rig *rig)
{
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.mode = HAL_REUSABLE};
    bench_try(hal_command_buffer_create(rig->device, &desc, &commands));
    return commands;
}

static void submit(struct rig *rig, struct hal_command_buffer *commands)
{
    const struct hal_semaphore_value signal = {rig->done, ++rig->value};
    const struct hal_submit_desc desc = {
        .signals = &signal, .signal_count = 1, .commands = &commands, .command_count = 1};
    bench_try(hal_queue_submit(rig->device, &desc));
}

static void submit_and_wait(struct rig *rig, struct hal_command_buffer *commands)
{
    submit(rig, commands);
    bench_try(hal_semaphore_wait(rig->done, rig->value, HAL_FOREVER));
}

static double elapsed_ns(int64_t begin_ns)
{
    return (double)(hal_clock_ns() - begin_ns);
}

/* Of all threads: other programs do not add to it. */
static double processor_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- Submissions ---------------------------------------------------------------------------- */

/* From the call to the end of the wait; nothing has to wake. */
static void empty_submission(struct bench *bench, struct rig *rig)
{
    double us[REPEATS];
    const int submissions = (int)bench_size(SUBMISSIONS, 10);
    struct hal_command_buffer *commands = new_commands(rig);
    bench_try(hal_command_buffer_end(commands));
    for (int i = -1; i < bench_repeats(REPEATS); i++) { /* -1 warms up */
        const int64_t begin_ns = hal_clock_ns();
        for (int n = 0; n < submissions; n++)
            submit_and_wait(rig, commands);
        if (i >= 0)
            us[i] = elapsed_ns(begin_ns) / submissions / 1000;
    }
    bench_row(bench, "empty submission, inline", bench_median(us, (size_t)bench_repeats(REPEATS)),
              "us", BENCH_LOWER, 2);
    hal_command_buffer_release(commands);
}

struct sleeper {
    struct rig *rig;
    int wakes;
    struct hal_semaphore *start, *woken;
    double us[WAKES];
};

/* Its time runs from the submission, whose begin `now` holds, to its waking. */
static _Atomic int64_t submitted_ns;

static void *sleep_and_wake(void *argument)
{
    struct sleeper *sleeper = argument;
    for (int i = 0; i < sleeper->wakes; i++) {
        bench_try(hal_semaphore_wait(sleeper->start, (uint64_t)i + 1, HAL_FOREVER));
        sleeper->us[i] = elapsed_ns(atomic_load(&submitted_ns)) / 1000;
        bench_try(hal_semaphore_signal(sleeper->woken, (uint64_t)i + 1));
    }
    return NULL;
}

static void pause_for(int64_t ns)
{
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* A thread sleeps in a wait for what an empty submission signals. */
static void sleeping_waiter(struct bench *bench, struct rig *rig)
{
    static struct sleeper sleeper;
    pthread_t thread;
    struct hal_command_buffer *commands = new_commands(rig);
    sleeper.rig = rig;
    sleeper.wakes = (int)bench_size(WAKES, 5);
    bench_try(hal_command_buffer_end(commands));
    bench_try(hal_semaphore_create(rig->device, "start", 0, &sleeper.start));
    bench_try(hal_semaphore_create(rig->device, "woken", 0, &sleeper.woken));
    bench_try(hal_thread_start("sleeper", sleep_and_wake, &sleeper, &thread));
    for (uint64_t i = 1; i <= (uint64_t)sleeper.wakes; i++) {
        const struct hal_semaphore_value signal = {sleeper.start, i};
        const struct hal_submit_desc desc = {
            .signals = &signal, .signal_count = 1, .commands = &commands, .command_count = 1};
        pause_for(500000); /* until it sleeps */
        atomic_store(&submitted_ns, hal_clock_ns());
        bench_try(hal_queue_submit(rig->device, &desc));
        bench_try(hal_semaphore_wait(sleeper.woken, i, HAL_FOREVER));
    }
    pthread_join(thread, NULL);
    bench_row(bench, "empty submission, to a sleeping waiter",
              bench_median(sleeper.us, (size_t)sleeper.wakes), "us", BENCH_LOWER, 20);
    hal_semaphore_release(sleeper.start);
    hal_semaphore_release(sleeper.woken);
    hal_command_buffer_release(commands);
}

/* ---- Dispatches ----------------------------------------------------------------------------- */

static void bind(const struct rig *rig, struct hal_command_buffer *commands, uint32_t place)
{
    const struct hal_binding binding = {rig->buffer, (uint64_t)place * 64, 64};
    bench_try(hal_command_push_descriptor_set(commands, 0, &binding, 1));
}

static void tiny_dispatches(struct bench *bench)
{
    struct rig rig;
    double record_ns[REPEATS], run_ns[REPEATS], processor_ns[REPEATS];
    const uint32_t one[3] = {1, 1, 1};
    const int tiny = (int)bench_size(TINY, 100);
    open_rig(&rig, "cpu?threads=1");
    for (int i = -1; i < bench_repeats(REPEATS); i++) {
        struct hal_command_buffer *commands = new_commands(&rig);
        int64_t begin_ns = hal_clock_ns();
        bind(&rig, commands, 0);
        for (int n = 0; n < tiny; n++)
            bench_try(hal_command_dispatch(commands, rig.executable, ADD_ONE, one));
        bench_try(hal_command_buffer_end(commands));
        if (i >= 0)
            record_ns[i] = elapsed_ns(begin_ns) / tiny;
        begin_ns = hal_clock_ns();
        const double before_ns = processor_time_ns();
        submit_and_wait(&rig, commands);
        if (i >= 0) {
            run_ns[i] = elapsed_ns(begin_ns) / tiny;
            processor_ns[i] = (processor_time_ns() - before_ns) / tiny;
        }
        hal_command_buffer_release(commands);
    }
    bench_row(bench, "100,000 tiny dispatches, recording and ending",
              bench_median(record_ns, (size_t)bench_repeats(REPEATS)), "ns/each", BENCH_LOWER, NAN);
    bench_row(bench, "100,000 tiny dispatches, one worker",
              bench_median(run_ns, (size_t)bench_repeats(REPEATS)), "ns/each", BENCH_LOWER, 150);
    bench_row(bench, "the same, processor's time",
              bench_median(processor_ns, (size_t)bench_repeats(REPEATS)), "ns/each", BENCH_LOWER,
              150);
    close_rig(&rig);
}

/* Switches that the process made by itself: each is a thread that went to sleep. */
static long sleeps(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void one_workgroup(struct bench *bench)
{
    struct rig rig;
    double us[WAKES];
    const int wakes = (int)bench_size(WAKES, 5);
    const uint32_t one[3] = {1, 1, 1};
    open_rig(&rig, "cpu?threads=8");
    struct hal_command_buffer *commands = new_commands(&rig);
    bind(&rig, commands, 0);
    bench_try(hal_command_dispatch(commands, rig.executable, ADD_ONE, one));
    bench_try(hal_command_buffer_end(commands));
    submit_and_wait(&rig, commands);
    pause_for(5000000);
    const long before = sleeps();
    for (int i = 0; i < wakes; i++) {
        pause_for(200000); /* until the workers sleep */
        const int64_t begin_ns = hal_clock_ns();
        submit_and_wait(&rig, commands);
        us[i] = elapsed_ns(begin_ns) / 1000;
    }
    pause_for(1000000);
    bench_row(bench, "dispatch of one workgroup, workers asleep", bench_median(us, (size_t)wakes),
              "us", BENCH_LOWER, NAN);
    /* This thread pauses once and may sleep once in its wait; one worker goes back to sleep. */
    bench_row(bench, "dispatch of one workgroup, sleeps of 9 threads",
              (double)(sleeps() - before) / wakes, "each", BENCH_LOWER, 4);
    hal_command_buffer_release(commands);
    close_rig(&rig);
}

/* ---- Transient memory ----------------------------------------------------------------------- */

/* What it costs to take and give back does not grow with what is alive. */
static void transient_memory(struct bench *bench)
{
    enum { LIVE = 20000 };
    static struct hal_buffer *buffers[LIVE];
    static const struct hal_buffer_desc desc = {.bytes = 1000};
    struct rig rig;
    double take_us[3], give_us[3];
    const int live = (int)bench_size(LIVE, 50);
    open_rig(&rig, "cpu?threads=1");
    for (int i = 0; i < bench_repeats(3); i++) {
        int64_t begin_ns = hal_clock_ns();
        for (int n = 0; n < live; n++)
            bench_try(hal_queue_alloca(rig.device, NULL, &desc, &buffers[n]));
        take_us[i] = elapsed_ns(begin_ns) / live / 1000;
        begin_ns = hal_clock_ns();
        for (int n = 0; n < live; n++) /* `live` is no multiple of 7919 */
            bench_try(hal_queue_dealloca(rig.device, NULL, buffers[n * 7919ll % live]));
        give_us[i] = elapsed_ns(begin_ns) / live / 1000;
        for (int n = 0; n < live; n++)
            hal_buffer_release(buffers[n]);
    }
    bench_row(bench, "alloca, up to 20,000 alive", bench_median(take_us, (size_t)bench_repeats(3)),
              "us/each", BENCH_LOWER, NAN);
    bench_row(bench, "dealloca, in another order", bench_median(give_us, (size_t)bench_repeats(3)),
              "us/each", BENCH_LOWER, NAN);
    close_rig(&rig);
}

/* ---- Two cores ------------------------------------------------------------------------------ */

/* As much as a workgroup of `spin` computes; the plain C twin of the kernel. */
static void *spin_plainly(void *argument)
{
    const int groups = *(const int *)argument;
    const uint32_t steps = (uint32_t)bench_size(SPIN_STEPS, 1000);
    for (int g = 0; g < groups; g++) {
        uint32_t v = (uint32_t)g;
        for (uint32_t n = 0; n < steps; n++) {
            v = v * 1664525 + 1013904223;
            __asm__ volatile("" : "+r"(v)); /* neither unrolled away nor folded */
        }
    }
    return NULL;
}

static double plain_speedup(void)
{
    int all = SPIN_GROUPS, half = SPIN_GROUPS / 2;
    pthread_t thread;
    int64_t begin_ns = hal_clock_ns();
    spin_plainly(&all);
    const double one_ns = elapsed_ns(begin_ns);
    begin_ns = hal_clock_ns();
    bench_try(hal_thread_start("plain", spin_plainly, &half, &thread));
    spin_plainly(&half);
    pthread_join(thread, NULL);
    return one_ns / elapsed_ns(begin_ns);
}

/* Independent dispatches of one workgroup each. */
static struct hal_command_buffer *independent(const struct rig *rig)
{
    const uint32_t one[3] = {1, 1, 1}, steps = (uint32_t)bench_size(SPIN_STEPS, 1000);
    struct hal_command_buffer *commands = new_commands(rig);
    bench_try(hal_command_push_constants(commands, 0, &steps, 4));
    for (uint32_t i = 0; i < SPIN_GROUPS; i++) {
        bind(rig, commands, i);
        bench_try(hal_command_dispatch(commands, rig->executable, SPIN, one));
    }
    bench_try(hal_command_buffer_end(commands));
    return commands;
}

static void two_cores(struct bench *bench)
{
    struct rig one, two;
    double plain[REPEATS], device[REPEATS], ratio[REPEATS];
    open_rig(&one, "cpu?threads=1");
    open_rig(&two, "cpu?threads=2");
    struct hal_command_buffer *alone = independent(&one), *shared = independent(&two);
    for (int i = -1; i < bench_repeats(REPEATS); i++) {
        const double threads = plain_speedup();
        int64_t begin_ns = hal_clock_ns();
        submit_and_wait(&one, alone);
        const double alone_ns = elapsed_ns(begin_ns);
        begin_ns = hal_clock_ns();
        submit_and_wait(&two, shared);
        const double speedup = alone_ns / elapsed_ns(begin_ns);
        if (i < 0)
            continue;
        plain[i] = threads;
        device[i] = speedup;
        ratio[i] = speedup / threads;
    }
    bench_row(bench, "two plain threads / one", bench_median(plain, (size_t)bench_repeats(REPEATS)),
              "times", BENCH_HIGHER, NAN);
    bench_row(bench, "independent dispatches, two workers / one",
              bench_median(device, (size_t)bench_repeats(REPEATS)), "times", BENCH_HIGHER, NAN);
    bench_row(bench, "the same, of what plain threads reach",
              bench_median(ratio, (size_t)bench_repeats(REPEATS)), "", BENCH_HIGHER, 0.9);
    hal_command_buffer_release(alone);
    hal_command_buffer_release(shared);
    close_rig(&one);
    close_rig(&two);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct rig rig;
    bench_begin(&bench, "bench-hal", argc, argv);
    open_rig(&rig, "cpu?threads=2");
    empty_submission(&bench, &rig);
    sleeping_waiter(&bench, &rig);
    close_rig(&rig);
    tiny_dispatches(&bench);
    one_workgroup(&bench);
    transient_memory(&bench);
    two_cores(&bench);
    return bench_end(&bench);
}
