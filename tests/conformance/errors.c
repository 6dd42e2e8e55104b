/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule for arguments but those of commands: the status, and a message that names the object,
 * the value and the limit. A call that is refused changes nothing. */
#include "tests/conformance/suite.h"

#include <stdio.h>

/* ---- Buffers -------------------------------------------------------------------------------- */

static void buffer_descriptions(struct suite *suite, uint64_t which)
{
    static const struct {
        struct hal_buffer_desc desc;
        const char *says;
    } wrong[] = {
        {{.label = "B", .bytes = 0}, "0 bytes"},
        {{.label = "B", .bytes = 1, .memory = 0x40}, "0x40"},
        {{.label = "B", .bytes = 1, .usage = 0x100}, "0x100"},
        {{.label = "B", .bytes = 1, .memory = HAL_MEMORY_DEVICE_LOCAL, .usage = HAL_USAGE_MAPPING},
         "host-visible"},
    };
    struct hal_buffer *buffer;
    check_fails(suite, hal_buffer_create(suite_device(suite), &wrong[which].desc, &buffer),
                HAL_INVALID, "'B'", wrong[which].says);
}

static void buffer_too_large(struct suite *suite, uint64_t over)
{
    char size[32], limit[32];
    const uint64_t most = suite_info(suite)->max_buffer_bytes;
    const uint64_t bytes = over ? most + over : UINT64_MAX;
    const struct hal_buffer_desc desc = {.label = "too large", .bytes = bytes};
    struct hal_buffer *buffer;
    snprintf(size, sizeof size, "%llu", (unsigned long long)bytes);
    snprintf(limit, sizeof limit, "%llu", (unsigned long long)most);
    check_fails(suite, hal_buffer_create(suite_device(suite), &desc, &buffer), HAL_NO_MEMORY,
                "too large", size, limit);
}

static void null_handles(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *buffer;
    struct hal_semaphore *semaphore;
    struct hal_executable *executable;
    struct hal_command_buffer *commands;
    struct hal_mapping mapping;
    uint64_t value;
    uint32_t entry;
    int64_t answer;
    const struct hal_buffer_desc desc = {.bytes = 1};
    const struct hal_command_buffer_desc plain = {0};
    check_fails(suite, hal_buffer_create(NULL, &desc, &buffer), HAL_INVALID, "device");
    check_fails(suite, hal_buffer_create(suite_device(suite), NULL, &buffer), HAL_INVALID,
                "buffer");
    check_fails(suite, hal_buffer_map(NULL, HAL_MAP_READ, 0, 1, &mapping), HAL_INVALID, "buffer");
    check_fails(suite, hal_buffer_read(NULL, 0, &value, 1), HAL_INVALID, "buffer");
    check_fails(suite, hal_buffer_unmap(NULL), HAL_INVALID, "mapping");
    check_fails(suite, hal_executable_create(suite_device(suite), NULL, &executable), HAL_INVALID,
                "executable");
    check_fails(suite, hal_executable_create(NULL, suite_kernels_desc(), &executable), HAL_INVALID,
                "device");
    check_fails(suite, hal_executable_find(NULL, "x", &entry), HAL_INVALID, "executable");
    check_fails(suite, hal_command_buffer_create(NULL, &plain, &commands), HAL_INVALID, "device");
    check_fails(suite, hal_command_buffer_end(NULL), HAL_INVALID, "command buffer");
    check_fails(suite, hal_semaphore_create(NULL, NULL, 0, &semaphore), HAL_INVALID, "device");
    check_fails(suite, hal_semaphore_query(NULL, &value), HAL_INVALID, "semaphore");
    check_fails(suite, hal_semaphore_signal(NULL, 1), HAL_INVALID, "semaphore");
    check_fails(suite, hal_semaphore_wait(NULL, 1, 0), HAL_INVALID, "semaphore");
    check_fails(suite, hal_queue_submit(NULL, &(struct hal_submit_desc){0}), HAL_INVALID, "device");
    check_fails(suite, hal_queue_submit(suite_device(suite), NULL), HAL_INVALID, "submission");
    check_fails(suite, hal_device_wait_idle(NULL, 0), HAL_INVALID, "device");
    check_fails(suite, hal_device_query(NULL, "simd.width", &answer), HAL_INVALID, "device");
    hal_semaphore_fail(NULL, HAL_FAILED, "nobody");
    hal_semaphore_retain(NULL);
    hal_semaphore_release(NULL);
    hal_command_buffer_retain(NULL);
    hal_command_buffer_release(NULL);
    hal_device_retain(NULL);
    hal_device_release(NULL);
}

/* ---- Mappings ------------------------------------------------------------------------------- */

static void maps(struct suite *suite, uint64_t which)
{
    static const struct {
        uint32_t mode;
        uint64_t offset, bytes;
        const char *says[2];
    } wrong[] = {
        {HAL_MAP_READ, 0, 101, {"100", "101"}},
        {HAL_MAP_READ, 101, 0, {"100", "101"}},
        {HAL_MAP_READ, 101, HAL_WHOLE_BUFFER, {"100", "101"}},
        {HAL_MAP_READ, UINT64_MAX - 1, 3, {"100", "18446744073709551614"}},
        {HAL_MAP_READ, 50, 0, {"0 bytes", "at least 1"}},
        {HAL_MAP_READ, 100, HAL_WHOLE_BUFFER, {"0 bytes", "at least 1"}},
        {0, 0, 1, {"0x0", "neither"}},
        {HAL_MAP_PERSISTENT, 0, 1, {"0x8", "neither"}},
        {HAL_MAP_READ | HAL_MAP_DISCARD, 0, 1, {"0x5", "discard"}},
        {HAL_MAP_READ | 0x80, 0, 1, {"0x81", "0xf"}},
    };
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, "mapped", 100);
    check_fails(suite,
                hal_buffer_map(buffer, wrong[which].mode, wrong[which].offset, wrong[which].bytes,
                               &mapping),
                HAL_INVALID, "mapped", wrong[which].says[0], wrong[which].says[1]);
}

static void map_of_other_usage(struct suite *suite, uint64_t usage)
{
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "other", .bytes = 8, .usage = (uint32_t)usage});
    check_fails(suite, hal_buffer_map(buffer, HAL_MAP_READ, 0, 8, &mapping), HAL_INVALID, "other",
                "mapping");
}

static void host_ranges(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint8_t data[16] = {0};
    struct hal_buffer *buffer = suite_buffer(suite, "ten", 10);
    suite_clear(suite, buffer, 7);
    check_fails(suite, hal_buffer_write(buffer, 0, data, 11), HAL_INVALID, "ten", "10", "11");
    check_fails(suite, hal_buffer_write(buffer, 10, data, 1), HAL_INVALID, "ten", "10");
    check_fails(suite, hal_buffer_read(buffer, 3, data, 8), HAL_INVALID, "ten", "3", "8");
    check_fails(suite, hal_buffer_write(buffer, 2, NULL, 2), HAL_INVALID, "2 bytes", "null");
    check_fails(suite, hal_buffer_read(buffer, 2, NULL, 2), HAL_INVALID, "2 bytes", "null");
    check_buffer(suite, buffer, 0, "\7\7\7\7\7\7\7\7\7\7", 10);
}

static void open_mappings(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, "part", 100);
    suite_clear(suite, buffer, 0);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 30, 20, &mapping));
    check_fails(suite, hal_mapping_flush(&mapping, 0, 21), HAL_INVALID, "part", "20", "21");
    check_fails(suite, hal_mapping_flush(&mapping, 21, 0), HAL_INVALID, "part", "20", "21");
    check_fails(suite, hal_mapping_invalidate(&mapping, 19, 2), HAL_INVALID, "part", "19");
    check_fails(suite, hal_mapping_invalidate(&mapping, 1, UINT64_MAX - 1), HAL_INVALID, "part");
    check_ok(suite, hal_mapping_flush(&mapping, 20, 0));
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_fails(suite, hal_buffer_unmap(&mapping), HAL_INVALID, "not open");
    check_fails(suite, hal_mapping_flush(&mapping, 0, 1), HAL_INVALID, "not open");
    check_fails(suite, hal_mapping_invalidate(&mapping, 0, 1), HAL_INVALID, "not open");
}

/* ---- Executables ---------------------------------------------------------------------------- */

static void refuse_executable(struct suite *suite, const struct hal_executable_desc *desc,
                              enum hal_status status, const char *a, const char *b)
{
    struct hal_executable *executable;
    check_fails(suite, hal_executable_create(suite_device(suite), desc, &executable), status, "EXE",
                a, b);
}

static struct hal_executable_desc plain_executable(const struct hal_entry_point *entry)
{
    static const char source[] = "kernel void f() {}\n";
    return (struct hal_executable_desc){.label = "EXE",
                                        .format = HAL_FORMAT_MSL,
                                        .data = source,
                                        .bytes = sizeof source - 1,
                                        .entry_points = entry,
                                        .entry_point_count = 1};
}

static void executable_descriptions(struct suite *suite, uint64_t which)
{
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    static const struct hal_constant constants[2] = {{3, HAL_CONSTANT_BOOL, 2},
                                                     {4, (enum hal_constant_type)99, 0}};
    struct hal_executable_desc desc = plain_executable(&entry);
    switch (which) {
    case 0:
        desc.format = (enum hal_executable_format)0;
        refuse_executable(suite, &desc, HAL_INVALID, "format", "0");
        desc.format = (enum hal_executable_format)77;
        refuse_executable(suite, &desc, HAL_INVALID, "format", "77");
        return;
    case 1:
        desc.data = NULL;
        refuse_executable(suite, &desc, HAL_INVALID, "no data", "");
        desc = plain_executable(&entry);
        desc.bytes = 0;
        refuse_executable(suite, &desc, HAL_INVALID, "no data", "");
        return;
    case 2:
        desc.entry_point_count = 0;
        refuse_executable(suite, &desc, HAL_INVALID, "0 entry points", "");
        desc.entry_point_count = 1;
        desc.entry_points = NULL;
        refuse_executable(suite, &desc, HAL_INVALID, "0 entry points", "");
        return;
    default:
        desc.constant_count = 1;
        refuse_executable(suite, &desc, HAL_INVALID, "1 specialization constant", "NULL");
        desc.constants = &constants[0];
        refuse_executable(suite, &desc, HAL_INVALID, "constant 3", "0x2");
        desc.constants = &constants[1];
        refuse_executable(suite, &desc, HAL_INVALID, "constant 4", "type 99");
        return;
    }
}

static void other_formats(struct suite *suite, uint64_t format)
{
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    static const uint8_t noise[64] = {1, 2, 3};
    struct hal_executable *executable;
    struct hal_executable_desc desc = plain_executable(&entry);
    desc.format = (enum hal_executable_format)format;
    desc.data = noise;
    desc.bytes = sizeof noise;
    const enum hal_status status = hal_executable_create(suite_device(suite), &desc, &executable);
    check(suite, status == HAL_UNSUPPORTED || status == HAL_INVALID);
    check(suite, strstr(hal_message(), "EXE") != NULL);
}

static void entry_points(struct suite *suite, uint64_t which)
{
    const struct hal_device_info *info = suite_info(suite);
    char limit[16], value[16];
    struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    const struct hal_executable_desc desc = plain_executable(&entry);
    switch (which) {
    case 0:
        entry.name = NULL;
        refuse_executable(suite, &desc, HAL_INVALID, "entry point 0", "no name");
        entry.name = "";
        refuse_executable(suite, &desc, HAL_INVALID, "entry point 0", "no name");
        return;
    case 1:
    case 2:
    case 3:
        entry.workgroup_size[which - 1] = 0;
        refuse_executable(suite, &desc, HAL_INVALID, "'f'", "size of 0");
        entry.workgroup_size[which - 1] = info->max_workgroup_size[which - 1] + 1;
        snprintf(value, sizeof value, "%u", entry.workgroup_size[which - 1]);
        snprintf(limit, sizeof limit, "%u", info->max_workgroup_size[which - 1]);
        refuse_executable(suite, &desc, HAL_INVALID, value, limit);
        return;
    case 4:
        entry.workgroup_size[0] = info->max_workgroup_size[0];
        entry.workgroup_size[1] = info->max_workgroup_size[1];
        if ((uint64_t)entry.workgroup_size[0] * entry.workgroup_size[1] <=
            info->max_workgroup_threads)
            suite_skip(suite, "no group can have too many threads");
        snprintf(limit, sizeof limit, "%u", info->max_workgroup_threads);
        refuse_executable(suite, &desc, HAL_INVALID, "'f'", limit);
        return;
    case 5:
        entry.constant_bytes = 6;
        refuse_executable(suite, &desc, HAL_INVALID, "6 bytes", "multiple of 4");
        entry.constant_bytes = info->max_constant_bytes + 4;
        snprintf(value, sizeof value, "%u bytes", entry.constant_bytes);
        snprintf(limit, sizeof limit, "up to %u", info->max_constant_bytes);
        refuse_executable(suite, &desc, HAL_INVALID, value, limit);
        return;
    default:
        entry.constants_slot = HAL_MAX_BINDINGS;
        refuse_executable(suite, &desc, HAL_INVALID, "slot 31", "30");
        return;
    }
}

/* ---- Queues and semaphores ------------------------------------------------------------------ */

static void submissions(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = suite_device(suite);
    struct hal_command_buffer *open = suite_commands(suite, "open", HAL_ONE_SHOT);
    struct hal_command_buffer *none = NULL;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "sema", 0);
    const struct hal_semaphore_value null = {NULL, 1}, last = {semaphore, UINT64_MAX};
    const struct {
        struct hal_submit_desc desc;
        const char *a, *b;
    } wrong[] = {
        {{.commands = &open, .command_count = 1}, "open", "not been ended"},
        {{.commands = &none, .command_count = 1}, "command buffer", "NULL"},
        {{.command_count = 2}, "2 command buffers", "NULL"},
        {{.waits = &null, .wait_count = 1}, "semaphore", "NULL"},
        {{.signals = &null, .signal_count = 1}, "semaphore", "NULL"},
        {{.wait_count = 3}, "3 semaphore values", "wait"},
        {{.signal_count = 4}, "4 semaphore values", "signal"},
        {{.waits = &last, .wait_count = 1}, "sema", "reserved"},
        {{.signals = &last, .signal_count = 1}, "sema", "reserved"},
    };
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        suite_note(suite, "submission %zu", i);
        check_fails(suite, hal_queue_submit(device, &wrong[i].desc), HAL_INVALID, wrong[i].a,
                    wrong[i].b);
    }
    check_ok(suite, suite_submit(suite, 0, NULL, SUITE_NONE, suite_at(semaphore, 1)));
    suite_wait(suite, semaphore, 1);
}

static void queue_that_does_not_exist(struct suite *suite, uint64_t unused)
{
    (void)unused;
    char count[16];
    const uint32_t queues = suite_info(suite)->queue_count;
    if (queues == HAL_MAX_QUEUES)
        suite_skip(suite, "every queue exists");
    snprintf(count, sizeof count, "%u queue", queues);
    check_fails(suite, suite_submit(suite, UINT64_C(1) << queues, NULL, SUITE_NONE, SUITE_NONE),
                HAL_INVALID, "affinity", count);
    check_fails(suite, suite_submit(suite, UINT64_MAX, NULL, SUITE_NONE, SUITE_NONE), HAL_INVALID,
                "0xffffffffffffffff", count);
}

static void reserved_value(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *other, *semaphore = suite_semaphore(suite, "sema", 0);
    check_fails(suite, hal_semaphore_create(suite_device(suite), "begins", UINT64_MAX, &other),
                HAL_INVALID, "begins", "reserved");
    check_fails(suite, hal_semaphore_signal(semaphore, UINT64_MAX), HAL_INVALID, "sema",
                "reserved");
    check_fails(suite, hal_semaphore_wait(semaphore, UINT64_MAX, 0), HAL_INVALID, "sema",
                "reserved");
}

static void semaphore_lists(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = suite_device(suite);
    const struct hal_semaphore_value values[2] = {{suite_semaphore(suite, "sema", 5), 1},
                                                  {NULL, 1}};
    check_fails(suite, hal_semaphores_wait(NULL, HAL_WAIT_ALL, values, 1, 0), HAL_INVALID,
                "device");
    check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ALL, values, 2, 0), HAL_INVALID,
                "semaphore", "NULL");
    check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, NULL, 7, 0), HAL_INVALID, "7");
    check_fails(suite, hal_semaphores_wait(device, (enum hal_wait_mode)9, values, 1, 0),
                HAL_INVALID, "9");
    check_ok(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, values, 1, 0));
}

static void command_buffer_descriptions(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.label = "CB",
                                                 .mode = (enum hal_command_buffer_mode)5};
    check_fails(suite, hal_command_buffer_create(suite_device(suite), &desc, &commands),
                HAL_INVALID, "CB", "5");
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void statuses_have_names(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const enum hal_status all[] = {
        HAL_OK, HAL_INVALID, HAL_NOT_FOUND, HAL_EXISTS,      HAL_UNSUPPORTED, HAL_NO_MEMORY,
        HAL_IO, HAL_CORRUPT, HAL_VERSION,   HAL_DEVICE_LOST, HAL_TIMEOUT,     HAL_FAILED,
    };
    for (size_t i = 0; i < SUITE_COUNT(all); i++) {
        for (size_t k = 0; k < i; k++)
            check(suite, strcmp(hal_status_name(all[i]), hal_status_name(all[k])) != 0);
    }
    check(suite, hal_status_name((enum hal_status)1000) != NULL);
}

/* The message stays until the next failure; what works leaves it alone. */
static void message_stays(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint64_t value;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "first", 5);
    check_fails(suite, hal_semaphore_signal(semaphore, 5), HAL_INVALID, "first");
    check_ok(suite, hal_semaphore_query(semaphore, &value));
    check(suite, strstr(hal_message(), "first") != NULL);
    check_fails(suite, hal_semaphore_query(NULL, &value), HAL_INVALID, "semaphore");
    check(suite, strstr(hal_message(), "first") == NULL);
}

static const struct suite_case cases[] = {
    {"buffer_of_0_bytes", buffer_descriptions, 0},
    {"buffer_of_unknown_memory", buffer_descriptions, 1},
    {"buffer_of_unknown_usage", buffer_descriptions, 2},
    {"buffer_mapped_but_hidden", buffer_descriptions, 3},
    {"buffer_too_large", buffer_too_large, 1},
    {"buffer_of_all_bytes", buffer_too_large, 0},
    {"null_handles", null_handles, 0},
    {"map_too_many_bytes", maps, 0},
    {"map_behind_the_end", maps, 1},
    {"map_the_rest_behind_the_end", maps, 2},
    {"map_around_the_end_of_numbers", maps, 3},
    {"map_nothing", maps, 4},
    {"map_an_empty_rest", maps, 5},
    {"map_without_mode", maps, 6},
    {"map_persistent_only", maps, 7},
    {"map_discard_without_write", maps, 8},
    {"map_of_unknown_mode", maps, 9},
    {"map_for_transfer", map_of_other_usage, HAL_USAGE_TRANSFER},
    {"map_for_dispatch", map_of_other_usage, HAL_USAGE_DISPATCH},
    {"host_ranges", host_ranges, 0},
    {"open_mappings", open_mappings, 0},
    {"executable_of_unknown_format", executable_descriptions, 0},
    {"executable_without_data", executable_descriptions, 1},
    {"executable_without_entry_points", executable_descriptions, 2},
    {"executable_with_wrong_constants", executable_descriptions, 3},
    {"metallib_of_noise", other_formats, HAL_FORMAT_METALLIB},
    {"spirv_of_noise", other_formats, HAL_FORMAT_SPIRV},
    {"entry_point_without_name", entry_points, 0},
    {"group_size_in_x", entry_points, 1},
    {"group_size_in_y", entry_points, 2},
    {"group_size_in_z", entry_points, 3},
    {"group_of_too_many_threads", entry_points, 4},
    {"entry_point_with_wrong_constants", entry_points, 5},
    {"entry_point_with_wrong_slot", entry_points, 6},
    {"submissions", submissions, 0},
    {"queue_that_does_not_exist", queue_that_does_not_exist, 0},
    {"reserved_value", reserved_value, 0},
    {"semaphore_lists", semaphore_lists, 0},
    {"command_buffer_descriptions", command_buffer_descriptions, 0},
    {"statuses_have_names", statuses_have_names, 0},
    {"message_stays", message_stays, 0},
};

const struct suite_area area_errors = {"errors", cases, SUITE_COUNT(cases)};
