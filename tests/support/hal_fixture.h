/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that use the HAL: assertions on statuses, and short ways to the usual objects. Every
 * object is created without fail or the test ends. */
#ifndef TESTS_SUPPORT_HAL_FIXTURE_H
#define TESTS_SUPPORT_HAL_FIXTURE_H

#include "hal/base/os.h"
#include "hal/hal.h"
#include "tests/support/test.h"

#define assert_ok(expression)                                                                      \
    do {                                                                                           \
        const enum hal_status assert_status = (expression);                                        \
        if (assert_status != HAL_OK)                                                               \
            fail_msg("%s: %s: %s", #expression, hal_status_name(assert_status), hal_message());    \
    } while (0)

/* The call fails with that status, and the message contains `text`. */
#define assert_fails(expression, wanted, text)                                                     \
    do {                                                                                           \
        const enum hal_status assert_status = (expression);                                        \
        if (assert_status != (wanted))                                                             \
            fail_msg("%s: %s, not %s", #expression, hal_status_name(assert_status),                \
                     hal_status_name(wanted));                                                     \
        if (!strstr(hal_message(), (text)))                                                        \
            fail_msg("%s: '%s' does not contain '%s'", #expression, hal_message(), (text));        \
    } while (0)

static inline struct hal_device *fixture_device(const char *uri)
{
    struct hal_device *device;
    assert_ok(hal_device_open(uri, &device));
    return device;
}

static inline struct hal_buffer *fixture_buffer(struct hal_device *device, const char *label,
                                                uint64_t bytes)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = label, .bytes = bytes};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

static inline struct hal_semaphore *fixture_semaphore(struct hal_device *device, const char *label,
                                                      uint64_t value)
{
    struct hal_semaphore *semaphore;
    assert_ok(hal_semaphore_create(device, label, value, &semaphore));
    return semaphore;
}

static inline struct hal_command_buffer *fixture_commands(struct hal_device *device,
                                                          const char *label,
                                                          enum hal_command_buffer_mode mode)
{
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.label = label, .mode = mode};
    assert_ok(hal_command_buffer_create(device, &desc, &commands));
    return commands;
}

/* MSL with one kernel, `f`, whose groups are one thread. */
static inline struct hal_executable *fixture_executable(struct hal_device *device,
                                                        const char *source)
{
    static const struct hal_entry_point entry = {.name = "f", .workgroup_size = {1, 1, 1}};
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device,
                                    &(struct hal_executable_desc){.label = "f",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = strlen(source),
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &executable));
    return executable;
}

/* Skips the case where there is no compiler for the device's kernels. */
static inline void fixture_need_compiler(struct hal_device *device)
{
    static const char source[] = "kernel void nothing() {}\n";
    static const struct hal_entry_point point = {.name = "nothing", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_desc desc = {.format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = &point,
                                             .entry_point_count = 1};
    struct hal_executable *executable = NULL;
    const enum hal_status status = hal_executable_create(device, &desc, &executable);
    hal_executable_release(executable);
    if (status == HAL_NOT_FOUND || status == HAL_UNSUPPORTED) {
        print_message("skipped: %s\n", hal_message());
        skip();
    }
    assert_ok(status);
}

/* Waits for at most one value and signals at most one; NULL: none. */
static inline enum hal_status fixture_submit(struct hal_device *device,
                                             struct hal_command_buffer *commands,
                                             struct hal_semaphore *wait, uint64_t wait_value,
                                             struct hal_semaphore *signal, uint64_t signal_value)
{
    const struct hal_semaphore_value waits = {wait, wait_value}, signals = {signal, signal_value};
    return hal_queue_submit(device, &(struct hal_submit_desc){
                                        .waits = &waits,
                                        .wait_count = wait ? 1 : 0,
                                        .signals = &signals,
                                        .signal_count = signal ? 1 : 0,
                                        .commands = &commands,
                                        .command_count = commands ? 1 : 0,
                                    });
}

/* Seals, submits and waits; the command buffer stays the caller's. */
static inline void fixture_run(struct hal_device *device, struct hal_command_buffer *commands)
{
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_semaphore_release(done);
}

/* A small generator whose sequence is the same everywhere. */
static inline uint32_t fixture_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*state >> 33);
}

/* HAL_TEST_SEED or a fixed seed; printed, so that a failure can be repeated. */
static inline uint64_t fixture_seed(void)
{
    const char *text = getenv("HAL_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : 20240607;
    print_message("HAL_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif
