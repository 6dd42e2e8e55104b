/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/contents.h"

struct test_folder contents_folder;
char contents_path[PATH_MAX];

int contents_setup(void **state)
{
    (void)state;
    if (!test_folder_make(&contents_folder))
        return -1;
    test_folder_file(&contents_folder, "trace.pb.zst", contents_path);
    return 0;
}

int contents_teardown(void **state)
{
    (void)state;
    test_folder_remove(&contents_folder);
    return 0;
}

int contents_by_pages(void **state)
{
    (void)state;
    unlink(contents_path);
    unsetenv("HAL_DEVICE_PROFILING_DIRTY");
    return 0;
}

int contents_by_comparison(void **state)
{
    contents_by_pages(state);
    setenv("HAL_DEVICE_PROFILING_DIRTY", "compare", 1);
    return 0;
}

void contents_random(uint8_t *data, size_t bytes, uint64_t *random)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)fixture_random(random);
}

struct hal_buffer *contents_buffer(struct hal_device *device, uint32_t memory, uint64_t bytes)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "b", .bytes = bytes, .memory = memory};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

uint64_t contents_ticket(const struct captured *captured, enum trace_event_kind kind, size_t n)
{
    const struct trace_event *event = captured_find(captured, kind, n);
    assert_non_null(event);
    return event->ticket;
}

/* Submits commands that read or write the buffer, and waits. */
void contents_fill(struct hal_device *device, struct hal_buffer *buffer, uint64_t offset,
                   uint64_t bytes, uint8_t value)
{
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffer, offset, bytes, value, 1));
    fixture_run(device, commands);
    hal_command_buffer_release(commands);
}

void contents_copy(struct hal_device *device, struct hal_buffer *source, uint64_t offset,
                   struct hal_buffer *target, uint64_t bytes)
{
    struct hal_command_buffer *commands = fixture_commands(device, "copy", HAL_ONE_SHOT);
    assert_ok(hal_command_copy(commands, source, offset, target, 0, bytes));
    fixture_run(device, commands);
    hal_command_buffer_release(commands);
}

struct hal_mapping contents_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                uint64_t bytes)
{
    struct hal_mapping mapping;
    assert_ok(hal_buffer_map(buffer, mode | HAL_MAP_PERSISTENT, offset, bytes, &mapping));
    return mapping;
}

const struct trace_content_event *contents_observed(const struct captured *captured, size_t n)
{
    for (size_t i = 0;; i++) {
        const struct trace_content_event *read = captured_find(captured, TRACE_HOST_READ, i);
        if (!read || (read->flags & TRACE_FLAG_OBSERVED && n-- == 0))
            return read;
    }
}
