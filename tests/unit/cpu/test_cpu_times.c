/* SPDX-License-Identifier: Apache-2.0 */
/* Times of dispatches on the CPU driver, as a layer asks for them: each that ran has one, inside
 * its submission's time and in the order that barriers make. */
#include "hal/core/core.h"
#include "tests/support/hal_fixture.h"

enum { GROUPS = 40, GROUP = 32, MOST = 64, MANY = 3000 };

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void spin(device uint *x [[buffer(0)]], constant uint &steps [[buffer(1)]],\n"
    "                 uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint v = x[i];\n"
    "    for (uint n = 0; n < steps; n++)\n"
    "        v = v * 1664525 + 1013904223;\n"
    "    x[i] = v;\n"
    "}\n";

struct told {
    enum hal_status status;
    int64_t begin_ns, end_ns;
    size_t count;
    struct hal_dispatch_time times[MOST];
    size_t all; /* that came, however many fit */
};

struct rig {
    struct hal_device *device;
    struct hal_executable *executable;
    struct hal_buffer *x, *counts;
    struct hal_semaphore *done;
    struct told told;
};

static void set_up_rig(struct rig *rig, const char *uri)
{
    static const uint32_t counts[3] = {GROUPS, 1, 1};
    static const struct hal_entry_point entry = {"spin", {GROUP, 1, 1}, 4, 1};
    memset(rig, 0, sizeof *rig);
    rig->device = fixture_device(uri);
    rig->x = fixture_buffer(rig->device, "x", GROUPS * GROUP * 4);
    rig->counts = fixture_buffer(rig->device, "counts", sizeof counts);
    rig->done = fixture_semaphore(rig->device, "done", 0);
    assert_ok(hal_buffer_write(rig->counts, 0, counts, sizeof counts));
    assert_ok(hal_executable_create(rig->device,
                                    &(struct hal_executable_desc){.label = "spin",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = sizeof source - 1,
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &rig->executable));
}

static void tear_down_rig(struct rig *rig)
{
    hal_executable_release(rig->executable);
    hal_semaphore_release(rig->done);
    hal_buffer_release(rig->counts);
    hal_buffer_release(rig->x);
    hal_device_release(rig->device);
}

static struct hal_command_buffer *begin_commands(struct rig *rig, uint32_t steps)
{
    const struct hal_binding binding = {rig->x, 0, HAL_WHOLE_BUFFER};
    struct hal_command_buffer *commands = fixture_commands(rig->device, "timed", HAL_REUSABLE);
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_push_constants(commands, 0, &steps, 4));
    return commands;
}

static void dispatch(struct rig *rig, struct hal_command_buffer *commands, uint32_t groups)
{
    assert_ok(hal_command_dispatch(commands, rig->executable, 0, (uint32_t[3]){groups, 1, 1}));
}

static void barrier(struct hal_command_buffer *commands)
{
    assert_ok(hal_command_barrier(commands, NULL));
}

static void tell(void *user, const struct hal_submission_result *result)
{
    struct told *told = user;
    told->status = result->status;
    told->begin_ns = result->begin_ns;
    told->end_ns = result->end_ns;
    told->all = result->dispatch_count;
    told->count = result->dispatch_count < MOST ? result->dispatch_count : MOST;
    if (told->count)
        memcpy(told->times, result->dispatches, told->count * sizeof told->times[0]);
}

static void submit(struct rig *rig, struct hal_command_buffer *const *batch, size_t count,
                   bool time_dispatches)
{
    const struct hal_semaphore_value signal = {rig->done, 1};
    const struct hal_submission submission = {.signals = &signal,
                                              .signal_count = 1,
                                              .commands = batch,
                                              .command_count = count,
                                              .time_dispatches = time_dispatches,
                                              .retired = tell,
                                              .user = &rig->told};
    assert_ok(rig->device->driver->ops->queue_submit(rig->device->driver, &submission));
    (void)!hal_semaphore_wait(rig->done, 1, HAL_FOREVER);
}

static const struct hal_dispatch_time *find(const struct told *told, uint32_t command_buffer,
                                            uint32_t number)
{
    const struct hal_dispatch_time *found = NULL;
    for (size_t i = 0; i < told->count; i++) {
        const struct hal_dispatch_time *time = &told->times[i];
        if (time->command_buffer != command_buffer || time->dispatch != number)
            continue;
        assert_null(found); /* each once */
        found = time;
        assert_true(told->begin_ns <= time->begin_ns);
        assert_true(time->begin_ns < time->end_ns);
        assert_true(time->end_ns <= told->end_ns);
    }
    return found;
}

/* Three in a row, with one that runs nothing and an indirect one, twice in a batch, and two that
 * may overlap between. */
static void record_and_submit(struct rig *rig, bool time_dispatches)
{
    struct hal_command_buffer *row = begin_commands(rig, 300),
                              *free_ones = begin_commands(rig, 300);
    dispatch(rig, row, GROUPS);
    barrier(row);
    dispatch(rig, row, 0);
    assert_ok(hal_command_dispatch_indirect(row, rig->executable, 0, rig->counts, 0));
    barrier(row);
    assert_ok(hal_command_fill(row, rig->counts, 4, 4, 1, 4));
    dispatch(rig, row, 1);
    assert_ok(hal_command_buffer_end(row));
    dispatch(rig, free_ones, GROUPS);
    dispatch(rig, free_ones, GROUPS);
    assert_ok(hal_command_buffer_end(free_ones));
    struct hal_command_buffer *const batch[3] = {row, free_ones, row};
    submit(rig, batch, 3, time_dispatches);
    hal_command_buffer_release(row);
    hal_command_buffer_release(free_ones);
}

static void check_row(const struct told *told, uint32_t command_buffer)
{
    const struct hal_dispatch_time *first = find(told, command_buffer, 0);
    const struct hal_dispatch_time *indirect = find(told, command_buffer, 2);
    const struct hal_dispatch_time *last = find(told, command_buffer, 3);
    assert_non_null(first);
    assert_null(find(told, command_buffer, 1));
    assert_non_null(indirect);
    assert_non_null(last);
    assert_true(first->end_ns <= indirect->begin_ns);
    assert_true(indirect->end_ns <= last->begin_ns);
}

TEST(each_dispatch_that_ran_has_its_time)
{
    static const char *const uris[] = {"cpu?threads=1", "cpu?threads=3"};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        set_up_rig(&rig, uris[i]);
        record_and_submit(&rig, true);
        const struct told *told = &rig.told;
        assert_int_equal(told->status, HAL_OK);
        assert_int_equal(told->all, 3 + 2 + 3);
        check_row(told, 0);
        check_row(told, 2);
        for (uint32_t k = 0; k < 2; k++) {
            const struct hal_dispatch_time *time = find(told, 1, k);
            assert_non_null(time);
            assert_true(find(told, 0, 3)->end_ns <= time->begin_ns);
            assert_true(time->end_ns <= find(told, 2, 0)->begin_ns);
        }
        tear_down_rig(&rig);
    }
}

TEST(nobody_asked)
{
    struct rig rig;
    set_up_rig(&rig, "cpu?threads=2");
    record_and_submit(&rig, false);
    assert_int_equal(rig.told.status, HAL_OK);
    assert_int_equal(rig.told.all, 0);
    tear_down_rig(&rig);
}

TEST(many_dispatches)
{
    struct rig rig;
    set_up_rig(&rig, "cpu?threads=2");
    struct hal_command_buffer *commands = begin_commands(&rig, 1);
    for (uint32_t i = 0; i < MANY; i++)
        dispatch(&rig, commands, i % 2);
    assert_ok(hal_command_buffer_end(commands));
    submit(&rig, &commands, 1, true);
    assert_int_equal(rig.told.all, MANY / 2);
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(rig.told.times[i].dispatch, 2 * i + 1);
    hal_command_buffer_release(commands);
    tear_down_rig(&rig);
}

/* The work fails before its second dispatch, whose counts are over the limit. */
TEST(what_did_not_run_has_none)
{
    struct rig rig;
    set_up_rig(&rig, "cpu?threads=2");
    struct hal_command_buffer *commands = begin_commands(&rig, 100);
    dispatch(&rig, commands, GROUPS);
    assert_ok(hal_command_fill(commands, rig.counts, 0, 12, UINT32_MAX, 4));
    barrier(commands);
    assert_ok(hal_command_dispatch_indirect(commands, rig.executable, 0, rig.counts, 0));
    barrier(commands);
    dispatch(&rig, commands, GROUPS);
    assert_ok(hal_command_buffer_end(commands));
    submit(&rig, &commands, 1, true);
    assert_int_equal(rig.told.status, HAL_INVALID);
    assert_int_equal(rig.told.all, 1);
    assert_non_null(find(&rig.told, 0, 0));
    hal_command_buffer_release(commands);
    tear_down_rig(&rig);
}
