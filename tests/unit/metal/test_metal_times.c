/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal/times.m: dispatches that a layer wants timed, on a Metal that samples its clock
 * as HOST_METAL says. What is expected follows from that: which samples there are, and how long an
 * encoder takes at least. */
#include "tests/support/fake_layer.h"
#include "tests/support/hal_fixture.h"

#include <dlfcn.h>
#include <limits.h>

enum { THREADS = 64, MOST = 6000 };

static struct fake_layer *fake;

/* What the layer was told of the last submission; written before it is signalled. */
static struct {
    int64_t begin_ns, end_ns;
    struct hal_dispatch_time times[MOST];
    size_t count;
    bool is_isolated;
} told;

static void on_retired(void *user, const struct hal_submission_result *result)
{
    (void)user;
    told.begin_ns = result->begin_ns;
    told.end_ns = result->end_ns;
    told.count = result->dispatch_count < MOST ? result->dispatch_count : MOST;
    told.is_isolated = result->is_isolated;
    if (told.count)
        memcpy(told.times, result->dispatches, told.count * sizeof told.times[0]);
}

static bool has_mode(const char *word)
{
    const char *modes = getenv("HOST_METAL");
    return modes && strstr(modes, word);
}

/* ---- Work ----------------------------------------------------------------------------------- */

static const char source[] =
    "kernel void step(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ x[i] = x[i] * 3 + 1; }\n";

static const uint32_t one[3] = {1, 1, 1};

struct work {
    struct hal_device *device;
    struct hal_buffer *buffer, *counts;
    struct hal_executable *executable;
};

static void begin(struct work *work, const char *uri, bool time_dispatches)
{
    static const struct hal_entry_point entry = {"step", {THREADS, 1, 1}, 0, 0};
    memset(&told, 0, sizeof told);
    fake->time_dispatches = time_dispatches;
    work->device = fixture_device(uri);
    assert_ok(hal_device_profiling_begin(
        work->device, &(struct hal_profiling_options){.file = "x.pb.zst"}, HAL_FOREVER));
    work->buffer = fixture_buffer(work->device, "x", THREADS * 4);
    work->counts = fixture_buffer(work->device, "counts", sizeof one);
    assert_ok(hal_buffer_write(work->counts, 0, one, sizeof one));
    assert_ok(hal_executable_create(work->device,
                                    &(struct hal_executable_desc){.label = "step",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = sizeof source - 1,
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &work->executable));
}

static void end(struct work *work)
{
    hal_executable_release(work->executable);
    hal_buffer_release(work->counts);
    hal_buffer_release(work->buffer);
    hal_device_release(work->device);
    assert_int_equal(fake->violations, 0);
}

static void record(const struct work *work, struct hal_command_buffer *commands, size_t count)
{
    const struct hal_binding binding = {work->buffer, 0, THREADS * 4};
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    for (size_t i = 0; i < count; i++) {
        if (i % 3 == 1)
            assert_ok(
                hal_command_dispatch_indirect(commands, work->executable, 0, work->counts, 0));
        else
            assert_ok(hal_command_dispatch(commands, work->executable, 0, one));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    assert_ok(hal_command_buffer_end(commands));
}

/* The buffer starts from 1; two command buffers in one batch. */
static void run(const struct work *work, const size_t counts[2])
{
    struct hal_command_buffer *batch[2];
    struct hal_semaphore *done = fixture_semaphore(work->device, "done", 0);
    const struct hal_semaphore_value signal = {done, 1};
    for (size_t i = 0; i < 2; i++) {
        batch[i] = fixture_commands(work->device, "timed", HAL_ONE_SHOT);
        if (i == 0) {
            assert_ok(hal_command_fill(batch[i], work->buffer, 0, THREADS * 4, 1, 4));
            assert_ok(hal_command_barrier(batch[i], NULL));
        }
        record(work, batch[i], counts[i]);
    }
    assert_ok(hal_queue_submit(work->device, &(struct hal_submit_desc){.signals = &signal,
                                                                       .signal_count = 1,
                                                                       .commands = batch,
                                                                       .command_count = 2}));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_semaphore_release(done);
    for (size_t i = 0; i < 2; i++)
        hal_command_buffer_release(batch[i]);
}

static void check_values(const struct work *work, size_t steps)
{
    uint32_t words[THREADS], wanted = 1;
    for (size_t i = 0; i < steps; i++)
        wanted = wanted * 3 + 1;
    assert_ok(hal_buffer_read(work->buffer, 0, words, sizeof words));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(words[i], wanted);
}

/* ---- What was told -------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct hal_dispatch_time *first = a, *second = b;
    if (first->command_buffer != second->command_buffer)
        return first->command_buffer < second->command_buffer ? -1 : 1;
    return first->dispatch < second->dispatch ? -1 : first->dispatch > second->dispatch;
}

/* Barriers stand between all dispatches, so that each begins when the one before has ended: but for
 * a tick of the device's clock at 24 MHz, and what its ratio to the host's is known to. */
static void check_order(void)
{
    enum { ROUNDING_NS = 2000 };
    for (size_t i = 0; i < told.count; i++) {
        const struct hal_dispatch_time *time = &told.times[i];
        assert_true(time->begin_ns >= told.begin_ns);
        assert_true(time->end_ns >= time->begin_ns);
        assert_true(time->end_ns <= told.end_ns);
        if (i)
            assert_true(time->begin_ns >= time[-1].end_ns - ROUNDING_NS);
    }
}

/* HOST_METAL=slow: each encoder takes so much longer, by the host's clock. */
static void check_lengths(void)
{
    const char *slow = getenv("HOST_METAL") ? strstr(getenv("HOST_METAL"), "slow=") : NULL;
    const int64_t least_ns = slow ? strtoll(slow + 5, NULL, 10) * 999000 : 0;
    for (size_t i = 0; i < told.count; i++)
        assert_true(told.times[i].end_ns - told.times[i].begin_ns >= least_ns);
}

/* Each dispatch once; all of them, if no sample is lost. */
static void check_places(const size_t counts[2])
{
    qsort(told.times, told.count, sizeof told.times[0], by_place);
    for (size_t i = 0; i < told.count; i++) {
        assert_true(told.times[i].command_buffer < 2);
        assert_true(told.times[i].dispatch < counts[told.times[i].command_buffer]);
        assert_true(i == 0 || by_place(&told.times[i - 1], &told.times[i]) < 0);
    }
    if (has_mode("nocounters") || has_mode("stopped-clock")) {
        assert_int_equal(told.count, 0);
    } else if (has_mode("lost-samples")) {
        /* Every third sample: of each two dispatches, about four in nine keep both. */
        assert_true(told.count < counts[0] + counts[1]);
        assert_true(counts[0] + counts[1] < 9 || told.count > 0);
    } else {
        assert_int_equal(told.count, counts[0] + counts[1]);
    }
    assert_int_equal(told.is_isolated, told.count > 0);
}

static void run_and_check(const struct work *work, size_t first, size_t second)
{
    const size_t counts[2] = {first, second};
    run(work, counts);
    check_values(work, first + second);
    check_places(counts);
    check_order();
    check_lengths();
}

/* ---- Tests ---------------------------------------------------------------------------------- */

TEST(each_dispatch_has_its_time)
{
    static const char *const uris[] = {"metal", "metal?isolate=1", "metal?queues=2"};
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        struct work work;
        begin(&work, uris[i], true);
        run_and_check(&work, 10, 7);
        end(&work);
    }
}

/* More than a sample buffer of Metal takes. */
TEST(there_may_be_many)
{
    struct work work;
    if (has_mode("slow") || has_mode("shuffle"))
        return; /* for half a minute, or with a choice among too many */
    begin(&work, "metal", true);
    run_and_check(&work, 2500, 2100);
    end(&work);
}

/* Metal has 32 sample buffers: what is over gives its own back. */
TEST(samples_are_given_back)
{
    enum { ROUNDS = 40 };
    struct work work;
    begin(&work, "metal", true);
    for (size_t i = 0; i < ROUNDS; i++)
        run_and_check(&work, 1, i % 2 + 3);
    end(&work);
}

TEST(nobody_is_told_who_did_not_ask)
{
    const size_t counts[2] = {5, 5};
    struct work work;
    begin(&work, "metal", false);
    run(&work, counts);
    check_values(&work, 10);
    assert_int_equal(told.count, 0);
    assert_false(told.is_isolated);
    end(&work);
}

static int load_fake(void **state)
{
    (void)state;
    setenv("HAL_CAPTURE_MODULE", FAKE_LAYER_PATH, 1);
    void *module = dlopen(FAKE_LAYER_PATH, RTLD_NOW | RTLD_LOCAL);
    fake = module ? dlsym(module, FAKE_LAYER_SYMBOL) : NULL;
    if (fake)
        fake->on_retired = on_retired;
    return fake ? 0 : -1;
}

TEST_SUITE_FIXTURE(load_fake, NULL);
