/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu/program.c, run.c: commands that no barrier orders do overlap. One kernel holds
 * its worker until a command that was recorded later has run; where the later one waits for it, it
 * gives up after a long while and says so. */
#include "tests/support/hal_fixture.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void hold(device atomic_uint *flag [[buffer(0)]], device uint *out [[buffer(1)]],\n"
    "                 constant uint &rounds [[buffer(2)]])\n"
    "{\n"
    "    uint seen = 0;\n"
    "    for (ulong i = 0; i < (ulong)rounds << 20 && !seen; i++)\n"
    "        seen = atomic_load_explicit(flag, memory_order_relaxed);\n"
    "    out[0] = seen ? 1 : 2;\n"
    "}\n"
    "kernel void let_go(device atomic_uint *flag [[buffer(0)]])\n"
    "{\n"
    "    atomic_store_explicit(flag, 1u, memory_order_relaxed);\n"
    "}\n"
    "kernel void touch(device uint *other [[buffer(3)]]) { other[0] += 1; }\n";

enum { HOLD, LET_GO, TOUCH };

struct rig {
    struct hal_device *device;
    struct hal_executable *executable;
    struct hal_buffer *flag, *out, *other;
    struct hal_event *event;
    struct hal_command_buffer *commands;
};

static void set_up(struct rig *rig)
{
    static const struct hal_entry_point entries[] = {
        {"hold", {1, 1, 1}, 4, 2}, {"let_go", {1, 1, 1}, 0, 0}, {"touch", {1, 1, 1}, 0, 0}};
    const struct hal_executable_desc desc = {.label = "order.metal",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = entries,
                                             .entry_point_count = 3};
    static const uint32_t zero = 0;
    rig->device = fixture_device("cpu?threads=2");
    rig->flag = fixture_buffer(rig->device, "flag", 4);
    rig->out = fixture_buffer(rig->device, "out", 4);
    rig->other = fixture_buffer(rig->device, "other", 4096);
    assert_ok(hal_executable_create(rig->device, &desc, &rig->executable));
    assert_ok(hal_event_create(rig->device, "event", &rig->event));
    assert_ok(hal_buffer_write(rig->flag, 0, &zero, 4));
    rig->commands = fixture_commands(rig->device, "list", HAL_ONE_SHOT);
    const struct hal_binding bindings[4] = {
        {rig->flag, 0, 4}, {rig->out, 0, 4}, {NULL, 0, 0}, {rig->other, 0, 4}};
    assert_ok(hal_command_push_descriptor_set(rig->commands, 0, bindings, 4));
}

static void tear_down(struct rig *rig)
{
    hal_command_buffer_release(rig->commands);
    hal_event_release(rig->event);
    hal_executable_release(rig->executable);
    hal_buffer_release(rig->other);
    hal_buffer_release(rig->out);
    hal_buffer_release(rig->flag);
    hal_device_release(rig->device);
}

static void dispatch(struct rig *rig, uint32_t entry)
{
    assert_ok(hal_command_dispatch(rig->commands, rig->executable, entry, (uint32_t[3]){1, 1, 1}));
}

static void set_rounds(struct rig *rig, uint32_t rounds)
{
    assert_ok(hal_command_push_constants(rig->commands, 0, &rounds, 4));
}

static void barrier(struct rig *rig, uint32_t source_stages, uint32_t target_stages)
{
    assert_ok(hal_command_barrier(rig->commands,
                                  &(struct hal_barrier_desc){.source_stages = source_stages,
                                                             .target_stages = target_stages}));
}

static void fill_flag(struct rig *rig)
{
    assert_ok(hal_command_fill(rig->commands, rig->flag, 0, 4, 1, 4));
}

/* What stands between `hold` and the command that sets the flag. */
enum between {
    NOTHING,
    TRANSFERS_TO_TRANSFERS,
    TRANSFERS_TO_ALL,
    ALL_TO_DISPATCHES,
    DISPATCHES_TO_HOST,
    EVENT_BEFORE,
    EVENT_OF_TRANSFERS,
    FULL_BARRIER,
    THROUGH_THE_HOST,
    EVENT_BEHIND,
};

/* Whether it should overlap, and whether a fill or a dispatch sets the flag. */
static const struct {
    enum between between;
    bool overlaps, by_fill;
} tries[] = {
    {NOTHING, true, false},
    {NOTHING, true, true},
    {TRANSFERS_TO_TRANSFERS, true, true},
    {TRANSFERS_TO_ALL, true, false},
    {TRANSFERS_TO_ALL, true, true},
    {ALL_TO_DISPATCHES, true, true},
    {DISPATCHES_TO_HOST, true, true},
    {DISPATCHES_TO_HOST, true, false},
    {EVENT_BEFORE, true, true},
    {EVENT_BEFORE, true, false},
    {EVENT_OF_TRANSFERS, true, true},
    {EVENT_OF_TRANSFERS, true, false},
    {FULL_BARRIER, false, true},
    {FULL_BARRIER, false, false},
    {ALL_TO_DISPATCHES, false, false},
    {THROUGH_THE_HOST, false, true},
    {EVENT_BEHIND, false, true},
    {EVENT_BEHIND, false, false},
};

static void signal_event(struct rig *rig, uint32_t stages)
{
    assert_ok(hal_command_event_signal(rig->commands, rig->event, stages));
}

static void stand_between(struct rig *rig, enum between between)
{
    switch (between) {
    case NOTHING: return;
    case TRANSFERS_TO_TRANSFERS: barrier(rig, HAL_STAGE_TRANSFER, HAL_STAGE_TRANSFER); return;
    case TRANSFERS_TO_ALL: barrier(rig, HAL_STAGE_TRANSFER, HAL_STAGE_ALL); return;
    case ALL_TO_DISPATCHES: barrier(rig, HAL_STAGE_ALL, HAL_STAGE_DISPATCH); return;
    case DISPATCHES_TO_HOST: barrier(rig, HAL_STAGE_DISPATCH, HAL_STAGE_HOST); return;
    case FULL_BARRIER: barrier(rig, 0, 0); return;
    case THROUGH_THE_HOST:
        barrier(rig, HAL_STAGE_DISPATCH, HAL_STAGE_HOST);
        barrier(rig, HAL_STAGE_HOST, HAL_STAGE_TRANSFER);
        return;
    case EVENT_OF_TRANSFERS: signal_event(rig, HAL_STAGE_TRANSFER); break;
    case EVENT_BEHIND: signal_event(rig, 0); break;
    case EVENT_BEFORE: break;
    }
    assert_ok(hal_command_events_wait(rig->commands, &rig->event, 1, NULL));
}

static void one_try(size_t index)
{
    struct rig rig;
    uint32_t got = 0;
    const bool overlaps = tries[index].overlaps;
    set_up(&rig);
    set_rounds(&rig, overlaps ? 1 << 20 : 1); /* a first transfer and dispatch, done long ago */
    dispatch(&rig, TOUCH);
    assert_ok(hal_command_fill(rig.commands, rig.other, 1024, 1024, 1, 1));
    if (tries[index].between == EVENT_BEFORE)
        signal_event(&rig, 0);
    dispatch(&rig, HOLD);
    stand_between(&rig, tries[index].between);
    if (tries[index].by_fill)
        fill_flag(&rig);
    else
        dispatch(&rig, LET_GO);
    fixture_run(rig.device, rig.commands);
    assert_ok(hal_buffer_read(rig.out, 0, &got, 4));
    if (got != (overlaps ? 1 : 2))
        fail_msg("try %zu: the later command %s", index,
                 got == 1 ? "did not wait" : "waited for the earlier one");
    tear_down(&rig);
}

TEST(only_what_is_ordered_waits)
{
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++)
        one_try(i);
}

/* Chains with two barriers of other stages: transfer, dispatch, transfer. */
TEST(chains_hold)
{
    struct rig rig;
    uint32_t got = 0;
    set_up(&rig);
    set_rounds(&rig, 1);
    dispatch(&rig, HOLD);
    barrier(&rig, HAL_STAGE_DISPATCH, HAL_STAGE_TRANSFER);
    barrier(&rig, HAL_STAGE_TRANSFER, HAL_STAGE_DISPATCH);
    dispatch(&rig, LET_GO);
    fixture_run(rig.device, rig.commands);
    assert_ok(hal_buffer_read(rig.out, 0, &got, 4));
    assert_int_equal(got, 2);
    tear_down(&rig);
}
