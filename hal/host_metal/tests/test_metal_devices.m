/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal, seen from Metal's side: what it holds, and how it calls. */
#import <Metal/Metal.h>

#include "tests/support/hal_fixture.h"

#include <sched.h>

/* ---- What is held --------------------------------------------------------------------------- */

enum { MAX_DEVICES = 8 };

static NSUInteger count_holders(NSUInteger out_counts[MAX_DEVICES])
{
    NSUInteger count;
    @autoreleasepool {
        NSArray<id<MTLDevice>> *devices = MTLCopyAllDevices();
        count = devices.count;
        for (NSUInteger i = 0; i < count && i < MAX_DEVICES; i++)
            out_counts[i] = ((NSObject *)[devices objectAtIndex:i]).retainCount;
        [devices release];
    }
    return count;
}

static void check_more_holders(const NSUInteger before[MAX_DEVICES], NSUInteger count, bool more)
{
    NSUInteger now[MAX_DEVICES] = {0};
    assert_int_equal(count_holders(now), count);
    for (NSUInteger i = 0; i < count; i++)
        if (more)
            assert_true(now[i] > before[i]);
        else
            assert_int_equal(now[i], before[i]);
}

/* All devices of Metal's are held while one is open, also those that nobody opened. */
TEST(all_devices_are_held)
{
    NSUInteger before[MAX_DEVICES] = {0};
    const NSUInteger count = count_holders(before);
    assert_true(count >= 3 && count <= MAX_DEVICES);
    struct hal_device *first = fixture_device("metal"), *second = fixture_device("metal");
    check_more_holders(before, count, true);
    hal_device_release(first);
    check_more_holders(before, count, true);
    hal_device_release(second);
    check_more_holders(before, count, false);
}

/* ---- Between devices ------------------------------------------------------------------------ */

/* Two devices of Metal's, not one that is opened twice, and memory of the host that both use. */
struct two {
    char uris[2][128];
    size_t count;
    struct hal_device *devices[2];
    struct hal_buffer *buffers[2];
};

static bool take_uri(void *user, const struct hal_device_entry *entry)
{
    struct two *two = user;
    snprintf(two->uris[two->count], sizeof two->uris[0], "%s?queues=2", entry->uri);
    return ++two->count < 2;
}

static void open_two(struct two *two, void *memory, size_t bytes)
{
    const struct hal_buffer_desc desc = {.label = "of both", .bytes = bytes};
    *two = (struct two){.count = 0};
    assert_ok(hal_devices_list("metal", take_uri, two));
    assert_int_equal(two->count, 2);
    assert_string_not_equal(two->uris[0], two->uris[1]);
    for (size_t i = 0; i < 2; i++) {
        two->devices[i] = fixture_device(two->uris[i]);
        assert_ok(hal_buffer_import(two->devices[i], &desc, memory, NULL, NULL, &two->buffers[i]));
    }
}

static void close_two(struct two *two)
{
    for (size_t i = 0; i < 2; i++) {
        hal_buffer_release(two->buffers[i]);
        hal_device_release(two->devices[i]);
    }
}

/* Link i, on both devices in turn, copies word i to word i + 1 when `turn` has come to i. */
static void add_link(const struct two *two, size_t i, struct hal_semaphore *turn)
{
    const struct hal_semaphore_value wait = {turn, i}, signal = {turn, i + 1};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = i ? 1 : 0, .signals = &signal, .signal_count = 1};
    struct hal_buffer *buffer = two->buffers[i % 2];
    assert_ok(hal_queue_copy(two->devices[i % 2], &desc, buffer, i * 4, buffer, i * 4 + 4, 4));
}

enum { LINKS = 24, WORDS = 4096 / sizeof(uint32_t) };

/* A semaphore of one of the two, and links that are submitted before what they wait for, or after:
 * then work of the other device, which promises the value, is still on its way. */
static void run_chain(size_t owner, bool backwards)
{
    static _Alignas(4096) uint32_t memory[WORDS];
    struct two two;
    memset(memory, 0, sizeof memory);
    memory[0] = 4711;
    open_two(&two, memory, sizeof memory);
    struct hal_semaphore *turn = fixture_semaphore(two.devices[owner], "turn", 0);
    for (size_t i = 0; i < LINKS; i++)
        add_link(&two, backwards ? LINKS - 1 - i : i, turn);
    assert_ok(hal_semaphore_wait(turn, LINKS, INT64_C(60000000000)));
    for (size_t i = 0; i < 2; i++)
        assert_ok(hal_device_wait_idle(two.devices[i], INT64_C(60000000000)));
    for (size_t i = 0; i <= LINKS; i++)
        assert_int_equal(memory[i], 4711);
    assert_int_equal(memory[LINKS + 1], 0);
    hal_semaphore_release(turn);
    close_two(&two);
}

TEST(devices_wait_for_each_other)
{
    for (size_t owner = 0; owner < 2; owner++) {
        run_chain(owner, false);
        run_chain(owner, true);
    }
}

/* Says that it runs, in word 0, until somebody writes word 1; then writes word 2. */
static const char hold_source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void hold(device atomic_uint *words [[buffer(0)]])\n"
    "{\n"
    "    atomic_store_explicit(words, 1, memory_order_relaxed);\n"
    "    while (atomic_load_explicit(words + 1, memory_order_relaxed) == 0) {}\n"
    "    atomic_store_explicit(words + 2, 4711, memory_order_relaxed);\n"
    "}\n";

static struct hal_executable *make_hold(struct hal_device *device)
{
    static const struct hal_entry_point entry = {.name = "hold", .workgroup_size = {1, 1, 1}};
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device,
                                    &(struct hal_executable_desc){.label = "hold",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = hold_source,
                                                                  .bytes = sizeof hold_source - 1,
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &executable));
    return executable;
}

/* What the other device has promised is on its way for as long as this test wants. */
TEST(running_work_of_the_other_is_waited_for)
{
    static _Alignas(4096) uint32_t memory[WORDS];
    struct two two;
    open_two(&two, memory, sizeof memory);
    struct hal_semaphore *held = fixture_semaphore(two.devices[0], "held", 0);
    struct hal_semaphore *done = fixture_semaphore(two.devices[1], "done", 0);
    struct hal_semaphore *behind = fixture_semaphore(two.devices[0], "behind", 0);
    const struct hal_semaphore_value wait = {held, 1}, signal = {done, 1}, after = {behind, 1};
    struct hal_executable *hold = make_hold(two.devices[0]);
    struct hal_command_buffer *commands = fixture_commands(two.devices[0], "holds", HAL_ONE_SHOT);
    const struct hal_binding binding = {two.buffers[0], 0, 12};
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, hold, 0, (uint32_t[3]){1, 1, 1}));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(two.devices[0], commands, NULL, 0, held, 1));
    while (__atomic_load_n(&memory[0], __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    /* Handed to Metal in one line: what was before is promised when this is done. */
    assert_ok(hal_queue_barrier(
        two.devices[0],
        &(struct hal_submit_desc){.queues = 2, .signals = &after, .signal_count = 1}));
    assert_ok(hal_semaphore_wait(behind, 1, INT64_C(60000000000)));
    assert_ok(
        hal_queue_copy(two.devices[1],
                       &(struct hal_submit_desc){
                           .waits = &wait, .wait_count = 1, .signals = &signal, .signal_count = 1},
                       two.buffers[1], 8, two.buffers[1], 12, 4));
    __atomic_store_n(&memory[1], 1, __ATOMIC_RELEASE);
    assert_ok(hal_semaphore_wait(done, 1, INT64_C(60000000000)));
    for (size_t i = 0; i < 2; i++)
        assert_ok(hal_device_wait_idle(two.devices[i], INT64_C(60000000000)));
    assert_int_equal(memory[3], 4711);
    hal_command_buffer_release(commands);
    hal_executable_release(hold);
    hal_semaphore_release(done);
    hal_semaphore_release(behind);
    hal_semaphore_release(held);
    close_two(&two);
}

/* ---- In parallel ---------------------------------------------------------------------------- */

/* Metal waits with each pipeline until a second one is being made (HOST_METAL=pipelines-meet). */
TEST(pipelines_are_made_in_parallel)
{
    enum { KERNELS = 7 };
    char source[KERNELS * 64] = "", names[KERNELS][8];
    struct hal_entry_point entries[KERNELS];
    cpu_set_t processors;
    struct hal_executable *executable;
    struct hal_device *device = fixture_device("metal");
    for (size_t i = 0; i < KERNELS; i++) {
        snprintf(names[i], sizeof names[i], "k%zu", i);
        snprintf(source + strlen(source), sizeof source - strlen(source), "kernel void k%zu() {}\n",
                 i);
        entries[i] = (struct hal_entry_point){.name = names[i], .workgroup_size = {1, 1, 1}};
    }
    const struct hal_executable_desc desc = {.label = "many",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = strlen(source),
                                             .entry_points = entries,
                                             .entry_point_count = KERNELS};
    if (sched_getaffinity(0, sizeof processors, &processors) != 0 || CPU_COUNT(&processors) > 1) {
        assert_ok(hal_executable_create(device, &desc, &executable));
        hal_executable_release(executable);
    } else {
        print_message("one processor: nothing is made in parallel\n");
    }
    hal_device_release(device);
}
