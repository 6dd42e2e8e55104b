/* SPDX-License-Identifier: Apache-2.0 */
/* A device with Vulkan behind a loader that counts and fails on demand, for the tests of the
 * driver. Header only. */
#ifndef TESTS_UNIT_VULKAN_FIXTURE_H
#define TESTS_UNIT_VULKAN_FIXTURE_H

#include "hal/hal.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/vulkan_shim.h"
#include "tests/unit/vulkan/vulkan.comp.h"

#include <dlfcn.h>

enum { N_WORDS = 256, N_BYTES = 4 * N_WORDS, TIMEOUT_S = 60 };
#define TIMEOUT_NS ((int64_t)TIMEOUT_S * 1000000000)

static struct vulkan_shim *shim;

#define ok(expression) assert_string_equal(ok_or_message(expression), "ok")
static inline const char *ok_or_message(enum hal_status status)
{
    return status == HAL_OK ? "ok" : hal_message();
}

#define fails(expression, wanted, ...)                                                             \
    do {                                                                                           \
        assert_int_equal(expression, wanted);                                                      \
        says(__VA_ARGS__, NULL);                                                                   \
    } while (0)
static inline void says(const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    for (; text; text = va_arg(arguments, const char *)) {
        if (!strstr(hal_message(), text))
            fail_msg("the message '%s' does not say '%s'", hal_message(), text);
    }
    va_end(arguments);
}

/* Before the first device of the process. */
static inline int vulkan_fixture_load(void)
{
    vulkan_shim_get *get = NULL;
    void *library = dlopen(VULKAN_SHIM, RTLD_NOW | RTLD_GLOBAL);
    void *symbol = library ? dlsym(library, "vulkan_shim") : NULL;
    memcpy(&get, &symbol, sizeof get);
    if (!get)
        return -1;
    shim = get();
    return setenv("HAL_VULKAN_VALIDATION", "error", 1);
}

/* The test is skipped where there is no device. */
static inline struct hal_device *open_device(const char *uri)
{
    struct hal_device *device = NULL;
    const enum hal_status status = hal_device_open(uri, &device);
    if (status == HAL_NOT_FOUND)
        skip();
    ok(status);
    return device;
}

static inline struct hal_buffer *buffer_of(struct hal_device *device, const char *label)
{
    struct hal_buffer *buffer;
    ok(hal_buffer_create(device, &(struct hal_buffer_desc){.label = label, .bytes = N_BYTES},
                         &buffer));
    return buffer;
}

static inline struct hal_command_buffer *list_of(struct hal_device *device, const char *label,
                                                 enum hal_command_buffer_mode mode)
{
    struct hal_command_buffer *commands;
    ok(hal_command_buffer_create(
        device, &(struct hal_command_buffer_desc){.label = label, .mode = mode}, &commands));
    return commands;
}

static inline struct hal_executable_desc describe_module(const char *label, const void *data,
                                                         size_t bytes)
{
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    return (struct hal_executable_desc){.label = label,
                                        .format = HAL_FORMAT_SPIRV,
                                        .data = data,
                                        .bytes = bytes,
                                        .entry_points = &entry,
                                        .entry_point_count = 1};
}

static inline struct hal_executable_desc describe_increment(void)
{
    return describe_module("increment", spv_increment, sizeof spv_increment);
}

static inline struct hal_executable *increment_of(struct hal_device *device)
{
    struct hal_executable *executable;
    const struct hal_executable_desc desc = describe_increment();
    ok(hal_executable_create(device, &desc, &executable));
    return executable;
}

/* Adds 1 to each of the buffer's words. */
static inline void dispatch(struct hal_command_buffer *commands, struct hal_executable *increment,
                            struct hal_buffer *buffer)
{
    const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
    ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    ok(hal_command_dispatch(commands, increment, 0, (const uint32_t[3]){N_WORDS / 64, 1, 1}));
}

static inline enum hal_status submit(struct hal_device *device,
                                     struct hal_command_buffer *const *commands, size_t count,
                                     struct hal_semaphore *semaphore, uint64_t value)
{
    const struct hal_semaphore_value signal = {semaphore, value};
    const struct hal_submit_desc desc = {
        .signals = &signal, .signal_count = 1, .commands = commands, .command_count = count};
    return hal_queue_submit(device, &desc);
}

/* The word is everywhere. */
static inline void holds(struct hal_buffer *buffer, uint32_t word)
{
    uint32_t words[N_WORDS];
    ok(hal_buffer_read(buffer, 0, words, sizeof words));
    for (size_t i = 0; i < N_WORDS; i++)
        assert_int_equal(words[i], word);
}

#endif
