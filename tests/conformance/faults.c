/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that fault: their submission fails, by name, what depends on it fails, and everything
 * else goes on. Only where the device says that it catches faults. */
#include "tests/conformance/suite.h"

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void wild_store(device uint *x [[buffer(0)]], constant uint &far [[buffer(1)]],\n"
    "                       uint i [[thread_position_in_grid]])\n"
    "{ x[(ulong(far) << 42) + i] = 1; }\n"
    "kernel void wild_load(device uint *x [[buffer(0)]], constant uint &far [[buffer(1)]],\n"
    "                      uint i [[thread_position_in_grid]])\n"
    "{ x[i] = x[(ulong(far) << 42) + i] + 1; }\n"
    "kernel void wild_group(device uint *x [[buffer(0)]], constant uint &far [[buffer(1)]],\n"
    "                       uint i [[thread_index_in_threadgroup]])\n"
    "{ threadgroup uint t[32]; t[i] = i; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  x[(ulong(far) << 42) + i] = t[31 - i]; }\n"
    "kernel void divide(device uint *x [[buffer(0)]], constant uint &by [[buffer(1)]],\n"
    "                   uint i [[thread_position_in_grid]])\n"
    "{ x[i] = (x[i] + 7) / by; }\n";

enum { WILD_STORE, WILD_LOAD, WILD_GROUP, DIVIDE, KERNELS };
static const char *const names[KERNELS] = {"wild_store", "wild_load", "wild_group", "divide"};

static struct hal_executable *faulty(struct suite *suite)
{
    static const struct hal_entry_point entries[KERNELS] = {
        {"wild_store", {32, 1, 1}, 4, 1},
        {"wild_load", {32, 1, 1}, 4, 1},
        {"wild_group", {32, 1, 1}, 4, 1},
        {"divide", {32, 1, 1}, 4, 1},
    };
    int64_t caught = 0;
    if (hal_device_query(suite_device(suite), "kernel.faults.caught", &caught) != HAL_OK)
        suite_skip(suite, "the device does not catch faults of kernels");
    const struct hal_executable_desc desc = {.label = "faulty",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = entries,
                                             .entry_point_count = KERNELS};
    return suite_executable(suite, &desc);
}

static struct hal_command_buffer *dispatch(struct suite *suite, struct hal_executable *executable,
                                           struct hal_buffer *x, uint32_t kernel, uint32_t constant,
                                           uint32_t groups)
{
    struct hal_command_buffer *commands = suite_commands(suite, "faulting", HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_push_constants(commands, 0, &constant, 4));
    check_ok(suite,
             hal_command_dispatch(commands, executable, kernel, (const uint32_t[3]){groups, 1, 1}));
    check_ok(suite, hal_command_buffer_end(commands));
    return commands;
}

/* The device works on: 64 words become those of a fill. */
static void check_alive(struct suite *suite, struct hal_buffer *x)
{
    uint32_t wanted[64];
    struct hal_command_buffer *commands = suite_commands(suite, "after", HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, x, 0, sizeof wanted, 0x12345678, 4));
    suite_run(suite, commands);
    for (size_t i = 0; i < 64; i++)
        wanted[i] = 0x12345678;
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

static void fails_by_name(struct suite *suite, uint64_t kernel)
{
    struct hal_executable *executable = faulty(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", 4096);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    suite_clear(suite, x, 0);
    check_ok(suite, suite_submit(suite, 0, dispatch(suite, executable, x, (uint32_t)kernel, 1, 32),
                                 SUITE_NONE, suite_at(done, 1)));
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED, names[kernel]);
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED,
                "command buffer 'faulting', dispatch 0: ");
    check_alive(suite, x);
}

/* Not every processor minds. */
static void division_by_zero(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable *executable = faulty(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", 4096);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    suite_clear(suite, x, 0);
    check_ok(suite, suite_submit(suite, 0, dispatch(suite, executable, x, DIVIDE, 0, 1), SUITE_NONE,
                                 suite_at(done, 1)));
    const enum hal_status status = hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS);
    if (status != HAL_OK)
        check_fails(suite, status, HAL_FAILED, "divide");
    check_alive(suite, x);
}

/* The same kernel with a sane argument, before and after. */
static void the_kernel_works_on(struct suite *suite, uint64_t rounds)
{
    uint32_t wanted[32];
    struct hal_executable *executable = faulty(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", sizeof wanted);
    for (uint64_t i = 0; i < rounds; i++) {
        struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
        suite_note(suite, "round %llu", (unsigned long long)i);
        suite_clear(suite, x, 0);
        suite_submit_and_wait(suite, dispatch(suite, executable, x, WILD_GROUP, 0, 1));
        for (uint32_t k = 0; k < 32; k++)
            wanted[k] = 31 - k;
        check_buffer(suite, x, 0, wanted, sizeof wanted);
        check_ok(suite, suite_submit(suite, 0, dispatch(suite, executable, x, WILD_GROUP, 1, 100),
                                     SUITE_NONE, suite_at(done, 1)));
        check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "wild_group");
    }
}

/* What waits for it does not run, and gets the same message. */
static void dependents_fail(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint32_t before = 0x55555555;
    struct hal_executable *executable = faulty(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", 4096);
    struct hal_semaphore *first = suite_semaphore(suite, "first", 0);
    struct hal_semaphore *second = suite_semaphore(suite, "second", 0);
    struct hal_command_buffer *fill = suite_commands(suite, "fill", HAL_ONE_SHOT);
    suite_write(suite, x, 0, &before, 4);
    check_ok(suite, hal_command_fill(fill, x, 0, 4, 7, 1));
    check_ok(suite, hal_command_buffer_end(fill));
    check_ok(suite, suite_submit(suite, 0, fill, suite_at(first, 1), suite_at(second, 1)));
    check_ok(suite, suite_submit(suite, 0, dispatch(suite, executable, x, WILD_LOAD, 1, 4),
                                 SUITE_NONE, suite_at(first, 1)));
    check_fails(suite, hal_semaphore_wait(second, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "wild_load");
    check_buffer(suite, x, 0, &before, 4);
}

/* Work beside it, which nothing connects, is right. */
static void others_go_on(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint32_t wanted[4096];
    struct hal_executable *executable = faulty(suite);
    struct hal_buffer *x = suite_buffer(suite, "x", 4096);
    struct hal_buffer *y = suite_buffer(suite, "y", sizeof wanted);
    struct hal_semaphore *bad = suite_semaphore(suite, "bad", 0);
    struct hal_semaphore *good = suite_semaphore(suite, "good", 0);
    struct hal_command_buffer *numbers = suite_commands(suite, "numbers", HAL_REUSABLE);
    suite_dispatch(suite, numbers,
                   &(struct suite_launch){.kernel = KERNEL_NUMBER,
                                          .groups = {64, 1, 1},
                                          .buffers = {y},
                                          .constants = {5},
                                          .constant_count = 1});
    check_ok(suite, hal_command_buffer_end(numbers));
    for (uint64_t i = 1; i <= 20; i++) {
        check_ok(suite, suite_submit(suite, 0, dispatch(suite, executable, x, WILD_STORE, 1, 64),
                                     SUITE_NONE, suite_at(i == 20 ? bad : NULL, 1)));
        check_ok(suite, suite_submit(suite, 0, numbers, suite_at(good, i - 1), suite_at(good, i)));
    }
    suite_wait(suite, good, 20);
    check_fails(suite, hal_semaphore_wait(bad, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "wild_store");
    for (uint32_t i = 0; i < 4096; i++)
        wanted[i] = 5 + i;
    check_buffer(suite, y, 0, wanted, sizeof wanted);
}

static const struct suite_case cases[] = {
    {"store", fails_by_name, WILD_STORE},
    {"load", fails_by_name, WILD_LOAD},
    {"between_barriers", fails_by_name, WILD_GROUP},
    {"division_by_zero", division_by_zero, 0},
    {"the_kernel_works_on", the_kernel_works_on, 10},
    {"dependents_fail", dependents_fail, 0},
    {"others_go_on", others_go_on, 0},
};
const struct suite_area area_faults = {"faults", cases, SUITE_COUNT(cases)};
