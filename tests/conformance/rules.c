/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of arguments that no other area has a case for: each refusal names the object, the value
 * and the limit. */
#include "tests/conformance/suite.h"

#include <stdio.h>

enum { MOST = HAL_MAX_LIST };

static struct hal_command_buffer *recording(struct suite *suite)
{
    return suite_commands(suite, "CMD", HAL_ONE_SHOT);
}

static void no_descriptions(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *buffer;
    struct hal_executable *executable;
    struct hal_device *device = suite_device(suite);
    check_fails(suite, hal_buffer_create(device, NULL, &buffer), HAL_INVALID,
                "a buffer needs a description");
    check_fails(suite, hal_executable_create(device, NULL, &executable), HAL_INVALID,
                "an executable needs a description");
    check_fails(suite, hal_queue_submit(device, NULL), HAL_INVALID,
                "a submission needs a description");
}

static void no_objects(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint64_t value;
    uint8_t byte;
    struct hal_mapping mapping = {0};
    struct hal_buffer *own = suite_buffer(suite, "own", 64);
    struct hal_command_buffer *commands = recording(suite);
    check_fails(suite, hal_buffer_map(NULL, HAL_MAP_READ, 0, 1, &mapping), HAL_INVALID,
                "the buffer is NULL");
    check_fails(suite, hal_buffer_read(NULL, 0, &byte, 1), HAL_INVALID, "the buffer is NULL");
    check_fails(suite, hal_command_fill(NULL, own, 0, 4, 0, 4), HAL_INVALID,
                "the command buffer is NULL");
    check_fails(suite, hal_command_fill(commands, NULL, 0, 4, 0, 4), HAL_INVALID,
                "the buffer is NULL");
    check_fails(suite, hal_command_buffer_end(NULL), HAL_INVALID, "the command buffer is NULL");
    check_fails(suite, hal_semaphore_query(NULL, &value), HAL_INVALID, "the semaphore is NULL");
    check_fails(suite, hal_semaphore_signal(NULL, 1), HAL_INVALID, "the semaphore is NULL");
    check_fails(suite, hal_semaphore_wait(NULL, 1, 0), HAL_INVALID, "the semaphore is NULL");
    check_fails(suite, hal_command_dispatch(commands, NULL, 0, (const uint32_t[3]){1, 1, 1}),
                HAL_INVALID, "the executable is NULL");
    hal_semaphore_fail(NULL, HAL_FAILED, "nobody");
}

/* Nobody can take the result: nothing happens. */
static void no_places(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static _Alignas(4096) uint8_t memory[4096];
    const struct hal_buffer_desc desc = {.label = "buffer", .bytes = sizeof memory};
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *own = suite_buffer(suite, "own", 64);
    struct hal_semaphore *semaphore = suite_semaphore(suite, "semaphore", 0);
    struct hal_memory_statistics before = {0}, after = {0};
    check_ok(suite, hal_device_memory_statistics(device, &before));
    check_fails(suite, hal_device_open(suite_info(suite)->driver, NULL), HAL_INVALID,
                "the out-parameter for the device is NULL");
    check_fails(suite, hal_buffer_create(device, &desc, NULL), HAL_INVALID,
                "the out-parameter for the buffer is NULL");
    const enum hal_status imported = hal_buffer_import(device, &desc, memory, NULL, NULL, NULL);
    if (imported != HAL_UNSUPPORTED) /* a device that imports none may say so first */
        check_fails(suite, imported, HAL_INVALID, "the out-parameter for the buffer is NULL");
    check_fails(suite, hal_buffer_subspan(own, 0, 8, NULL, NULL), HAL_INVALID,
                "the out-parameter for the subspan is NULL");
    check_fails(suite, hal_queue_alloca(device, NULL, &desc, NULL), HAL_INVALID,
                "the out-parameter for the buffer is NULL");
    check_fails(suite, hal_executable_create(device, suite_kernels_desc(), NULL), HAL_INVALID,
                "the out-parameter for the executable is NULL");
    check_fails(suite, hal_command_buffer_create(device, NULL, NULL), HAL_INVALID,
                "the out-parameter for the command buffer is NULL");
    check_fails(suite, hal_event_create(device, NULL, NULL), HAL_INVALID,
                "the out-parameter for the event is NULL");
    check_fails(suite, hal_semaphore_create(device, NULL, 0, NULL), HAL_INVALID,
                "the out-parameter for the semaphore is NULL");
    check_fails(suite, hal_semaphore_query(semaphore, NULL), HAL_INVALID,
                "the out-parameter for the value of a semaphore is NULL");
    check_fails(suite, hal_file_open("/nowhere", HAL_FILE_READ, NULL), HAL_INVALID,
                "the out-parameter for the file is NULL");
    check_u64(suite, hal_buffer_bytes(NULL), 0);
    check_ok(suite, hal_device_memory_statistics(device, &after));
    check_u64(suite, after.total.total_count, before.total.total_count);
}

static void mapping_is_not_open(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_mapping none = {0};
    check_fails(suite, hal_buffer_unmap(&none), HAL_INVALID, "the mapping is not open");
    check_fails(suite, hal_buffer_unmap(NULL), HAL_INVALID, "the mapping is not open");
    check_fails(suite, hal_mapping_flush(&none, 0, 0), HAL_INVALID, "the mapping is not open");
    check_fails(suite, hal_mapping_invalidate(NULL, 0, 0), HAL_INVALID, "the mapping is not open");
}

static void usage_is_missing(struct suite *suite, uint64_t which)
{
    static const char *const names[3] = {"transfer", "dispatch", "mapping"};
    struct hal_mapping mapping;
    const uint32_t missing = 1U << which, usage = 7U & ~missing;
    const struct hal_buffer_desc desc = {.label = "LACKING", .bytes = 64, .usage = usage};
    struct hal_buffer *buffer = suite_buffer_of(suite, suite_device(suite), &desc);
    const struct hal_binding binding = {buffer, 0, 64};
    enum hal_status status;
    if (missing == HAL_USAGE_TRANSFER)
        status = hal_command_fill(recording(suite), buffer, 0, 4, 0, 4);
    else if (missing == HAL_USAGE_DISPATCH)
        status = hal_command_push_descriptor_set(recording(suite), 0, &binding, 1);
    else
        status = hal_buffer_map(buffer, HAL_MAP_READ, 0, 1, &mapping);
    check_fails(suite, status, HAL_INVALID, "LACKING", "which lacks", names[which]);
}

static void ended_cannot_change(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *own = suite_buffer(suite, "own", 64);
    struct hal_command_buffer *commands = recording(suite);
    check_ok(suite, hal_command_buffer_end(commands));
    check_fails(suite, hal_command_fill(commands, own, 0, 4, 0, 4), HAL_INVALID, "CMD",
                "has been ended and cannot change");
    check_fails(suite, hal_command_barrier(commands, NULL), HAL_INVALID, "CMD", "ended");
    check_fails(suite, hal_command_debug_begin(commands, "x", 0), HAL_INVALID, "CMD", "ended");
    check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "CMD");
}

static void updates_and_sets(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *own = suite_buffer(suite, "own", 64);
    struct hal_command_buffer *commands = recording(suite);
    check_fails(suite, hal_command_update(commands, NULL, own, 0, 5), HAL_INVALID, "CMD",
                "an update of 5 bytes from NULL");
    check_fails(suite, hal_command_push_descriptor_set(commands, HAL_MAX_SETS, NULL, 0),
                HAL_INVALID, "CMD", "descriptor set 4", "the last is 3");
    check_fails(suite, hal_command_push_descriptor_set(commands, 1, NULL, 3), HAL_INVALID, "CMD",
                "descriptor set 1", "3 bindings at NULL");
    check_fails(suite, hal_command_push_constants(commands, 0, NULL, 8), HAL_INVALID, "CMD",
                "8 bytes from NULL");
    check_fails(suite, hal_command_fill(commands, own, 0, 4, 0, 3), HAL_INVALID, "CMD",
                "pattern of 3 bytes");
}

static void workgroup_counts(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_command_buffer *commands = recording(suite);
    struct hal_executable *kernels = suite_kernels(suite);
    const uint32_t wide[3] = {UINT32_MAX, 1, 1};
    const uint32_t many[3] = {1U << 22, 1U << 22, 1U << 22};
    check_fails(suite, hal_command_dispatch(commands, kernels, KERNEL_COPY, NULL), HAL_INVALID,
                "copy_words", "without workgroup counts", "command buffer 'CMD'", "kernels.metal");
    check_fails(suite, hal_command_dispatch(commands, kernels, KERNEL_COPY, wide), HAL_INVALID,
                "copy_words", "4294967295 workgroups of 64", "limit is 4294967295", "'CMD'",
                "kernels.metal");
    check_fails(suite, hal_command_dispatch(commands, kernels, KERNEL_COPY, many), HAL_INVALID,
                "copy_words", "4194304 x 4194304 x 4194304");
    check_fails(suite,
                hal_command_dispatch(commands, kernels, KERNEL_TOTAL, (const uint32_t[3]){1, 1, 1}),
                HAL_INVALID, "kernels.metal", "there is no number");
}

/* Lists of a submission: at most 65536, and not at NULL. */
static void long_lists(struct suite *suite, uint64_t which)
{
    struct hal_device *device = suite_device(suite);
    struct hal_semaphore *semaphore = suite_semaphore(suite, "SEM", 0);
    struct hal_semaphore_value *values = suite_memory(suite, (MOST + 1) * sizeof *values);
    for (size_t i = 0; i <= MOST; i++)
        values[i] = (struct hal_semaphore_value){semaphore, 0};
    struct hal_submit_desc desc = {0};
    const char *text = "65537 semaphore values to wait", *more = "65536";
    switch (which) {
    case 0: desc.waits = values, desc.wait_count = MOST + 1; break;
    case 1:
        desc.signals = values, desc.signal_count = MOST + 1;
        text = "65537 semaphore values to signal";
        break;
    case 2: desc.command_count = MOST + 1, text = "65537 command buffers"; break;
    case 3: desc.wait_count = 2, text = "2 semaphore values to wait", more = "NULL"; break;
    case 4: desc.signal_count = 3, text = "3 semaphore values to signal", more = "NULL"; break;
    default: desc.command_count = 4, text = "4 command buffers", more = "NULL"; break;
    }
    check_fails(suite, hal_queue_submit(device, &desc), HAL_INVALID, text, more);
    if (which == 0)
        check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ALL, values, MOST + 1, 0),
                    HAL_INVALID, text, more);
}

static void waits_and_queues(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = suite_device(suite);
    const uint32_t queues = suite_info(suite)->queue_count;
    const struct hal_submit_desc beyond = {.queues = queues < 64 ? UINT64_C(1) << queues : 0};
    check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, NULL, 0, 0), HAL_INVALID,
                "any of 0 semaphore values would never end");
    check_fails(suite, hal_semaphores_wait(device, (enum hal_wait_mode)5, NULL, 0, 0), HAL_INVALID,
                "no mode 5");
    if (beyond.queues)
        check_fails(suite, hal_queue_submit(device, &beyond), HAL_INVALID, "queue affinity 0x",
                    suite_info(suite)->uri);
}

static enum hal_status make_executable(struct suite *suite, const char *label,
                                       struct hal_executable **out_executable)
{
    const struct hal_entry_point entry = {suite_entry(suite, "plus_one"), {4, 1, 1}, 0, 0};
    const struct hal_executable_variant source =
        suite_variant(suite, "kernel void plus_one(device uint *x [[buffer(0)]]) { x[0] += 1; }\n",
                      MODULE_PLUS_ONE);
    const struct hal_executable_desc desc = {.label = label,
                                             .format = source.format,
                                             .data = source.data,
                                             .bytes = source.bytes,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    return hal_executable_create(suite_device(suite), &desc, out_executable);
}

/* Labels are kept whole or refused, whatever they name. */
static void labels(struct suite *suite, uint64_t bytes)
{
    const bool fits = bytes <= HAL_MAX_LABEL_BYTES;
    const enum hal_status wanted = fits ? HAL_OK : HAL_INVALID;
    struct hal_device *device = suite_device(suite);
    struct hal_command_buffer *commands = recording(suite), *named = NULL;
    struct hal_command_buffer_info info = {0};
    struct hal_buffer *buffer = NULL, *subspan = NULL;
    struct hal_semaphore *semaphore = NULL;
    struct hal_event *event = NULL;
    struct hal_set_layout *set = NULL;
    struct hal_pipeline_layout *pipeline = NULL;
    struct hal_executable_cache *cache = NULL;
    struct hal_executable *executable = NULL;
    char *label = suite_memory(suite, bytes + 1), length[32];
    memset(label, 'n', bytes);
    snprintf(length, sizeof length, "%llu bytes", (unsigned long long)bytes);
    const struct hal_buffer_desc of_buffer = {.label = label, .bytes = 64};
    const struct hal_command_buffer_desc of_commands = {.label = label};
    const struct hal_set_layout_desc of_set = {.label = label};
    const struct hal_pipeline_layout_desc of_pipeline = {.label = label};
    const struct hal_executable_cache_desc of_cache = {.label = label};
    const enum hal_status statuses[] = {
        hal_set_layout_create(device, &of_set, &set),
        hal_pipeline_layout_create(device, &of_pipeline, &pipeline),
        hal_executable_cache_create(device, &of_cache, &cache),
        make_executable(suite, label, &executable),
        hal_buffer_create(device, &of_buffer, &buffer),
        hal_buffer_subspan(suite_buffer(suite, "whole", 64), 0, 8, label, &subspan),
        hal_semaphore_create(device, label, 0, &semaphore),
        hal_event_create(device, label, &event),
        hal_command_buffer_create(device, &of_commands, &named),
        hal_command_debug_begin(commands, label, 0xFFFFFF),
    };
    if (!fits)
        check_fails(suite, hal_command_debug_begin(commands, label, 0), HAL_INVALID, "CMD", "'nnnn",
                    length, "limit is 4095");
    for (size_t i = 0; i < SUITE_COUNT(statuses); i++)
        check_u64(suite, statuses[i], wanted);
    if (fits) {
        check_ok(suite, hal_command_debug_end(commands));
        check_ok(suite, hal_command_buffer_end(named));
        check_ok(suite, hal_command_buffer_get_info(named, &info));
        check_u64(suite, strlen(info.label), bytes);
    }
    suite_run(suite, commands);
    hal_buffer_release(buffer);
    hal_buffer_release(subspan);
    hal_semaphore_release(semaphore);
    hal_event_release(event);
    hal_set_layout_release(set);
    hal_pipeline_layout_release(pipeline);
    hal_executable_cache_release(cache);
    hal_executable_release(executable);
    hal_command_buffer_release(named);
}

static void colors(struct suite *suite, uint64_t color)
{
    struct hal_command_buffer *commands = recording(suite);
    char text[32];
    snprintf(text, sizeof text, "color 0x%x", (uint32_t)color);
    check_fails(suite, hal_command_debug_begin(commands, "tinted", (uint32_t)color), HAL_INVALID,
                "CMD", "'tinted'", text, "0xffffff");
    check_fails(suite, hal_command_debug_end(commands), HAL_INVALID, "no open debug group");
    check_ok(suite, hal_command_debug_begin(commands, NULL, 0xFFFFFF));
    check_ok(suite, hal_command_debug_end(commands));
    suite_run(suite, commands);
}

static const struct suite_case cases[] = {
    {"no_descriptions", no_descriptions, 0},
    {"no_objects", no_objects, 0},
    {"no_places", no_places, 0},
    {"mapping_is_not_open", mapping_is_not_open, 0},
    {"usage_transfer", usage_is_missing, 0},
    {"usage_dispatch", usage_is_missing, 1},
    {"usage_mapping", usage_is_missing, 2},
    {"ended_cannot_change", ended_cannot_change, 0},
    {"updates_and_sets", updates_and_sets, 0},
    {"workgroup_counts", workgroup_counts, 0},
    {"too_many_waits", long_lists, 0},
    {"too_many_signals", long_lists, 1},
    {"too_many_command_buffers", long_lists, 2},
    {"waits_at_null", long_lists, 3},
    {"signals_at_null", long_lists, 4},
    {"command_buffers_at_null", long_lists, 5},
    {"waits_and_queues", waits_and_queues, 0},
    {"label_of_0_bytes", labels, 0},
    {"label_of_4095_bytes", labels, 4095},
    {"label_of_4096_bytes", labels, 4096},
    {"label_of_70000_bytes", labels, 70000},
    {"color_of_25_bits", colors, 0x1000000},
    {"color_of_32_bits", colors, 0xFFFFFFFF},
};
const struct suite_area area_rules = {"rules", cases, SUITE_COUNT(cases)};
