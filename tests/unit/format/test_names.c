/* SPDX-License-Identifier: Apache-2.0 */
/* format/columns/names.c against hal/hal.h, which it cannot see. */
#include "format/columns/names.h"
#include "hal/hal.h"
#include "tests/support/test.h"

static const struct trace_column *find_column(const struct trace_layout *layout, const char *name)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (strcmp(layout->columns[i].name, name) == 0)
            return &layout->columns[i];
    }
    for (uint32_t p = 0; p < layout->part_count; p++) {
        for (uint32_t i = 0; layout->parts[p].columns && i < layout->parts[p].column_count; i++) {
            if (strcmp(layout->parts[p].columns[i].name, name) == 0)
                return &layout->parts[p].columns[i];
        }
    }
    fail_msg("%s has no column %s", layout->name, name);
    return NULL;
}

static void check(const struct trace_family *family, uint32_t kind, const char *column,
                  uint64_t number, const char *expected)
{
    char text[128];
    const struct trace_layout *layout = trace_family_layout(family, kind);
    const struct trace_names *names = trace_column_names(layout->name, find_column(layout, column));
    assert_non_null(names);
    assert_string_equal(trace_number_text(names, number, text, sizeof text), expected);
}

TEST(names_are_those_of_the_hal)
{
    const struct trace_family *e = &trace_event_family, *s = &trace_segment_family;
    check(e, TRACE_BUFFER_CREATE, "memory",
          HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT |
              HAL_MEMORY_HOST_CACHED,
          "device_local|host_visible|host_coherent|host_cached");
    check(e, TRACE_BUFFER_CREATE, "usage",
          HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH | HAL_USAGE_MAPPING, "transfer|dispatch|mapping");
    check(e, TRACE_BUFFER_MAP, "mode",
          HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_DISCARD | HAL_MAP_PERSISTENT,
          "read|write|discard|persistent");
    check(e, TRACE_SEMAPHORE_WAIT, "mode", HAL_WAIT_ALL, "all");
    check(e, TRACE_SEMAPHORE_WAIT, "mode", HAL_WAIT_ANY, "any");
    check(e, TRACE_COMMAND_BUFFER_CREATE, "mode", HAL_ONE_SHOT, "one_shot");
    check(e, TRACE_COMMAND_BUFFER_CREATE, "mode", HAL_REUSABLE, "reusable");
    check(e, TRACE_COMMAND_BUFFER_CREATE, "categories", HAL_COMMANDS_TRANSFER, "transfer");
    check(e, TRACE_COMMAND_BUFFER_CREATE, "categories", HAL_COMMANDS_DISPATCH, "dispatch");
    check(e, TRACE_EXECUTABLE_CREATE, "format", HAL_FORMAT_MSL, "msl");
    check(e, TRACE_EXECUTABLE_CREATE, "format", HAL_FORMAT_METALLIB, "metallib");
    check(e, TRACE_EXECUTABLE_CREATE, "format", HAL_FORMAT_SPIRV, "spirv");
    check(e, TRACE_EXECUTABLE_CREATE, "constant_type", HAL_CONSTANT_FLOAT32, "float32");
    check(e, TRACE_EXECUTABLE_CREATE, "constant_type", HAL_CONSTANT_BOOL, "bool");
    check(e, TRACE_EXECUTABLE_CREATE, "binding_access", HAL_ACCESS_READ | HAL_ACCESS_WRITE,
          "read|write");
    check(e, TRACE_SET_LAYOUT_CREATE, "kind", HAL_BINDING_STORAGE, "storage");
    check(e, TRACE_SET_LAYOUT_CREATE, "kind", HAL_BINDING_UNIFORM, "uniform");
    check(e, TRACE_SET_LAYOUT_CREATE, "flags", HAL_BINDING_READ_ONLY | HAL_BINDING_DYNAMIC,
          "read_only|dynamic");
    check(s, TRACE_BARRIER, "source_stages",
          HAL_STAGE_TRANSFER | HAL_STAGE_DISPATCH | HAL_STAGE_HOST, "transfer|dispatch|host");
    check(s, TRACE_BARRIER, "target_access", HAL_ACCESS_READ, "read");
    check(s, TRACE_EVENTS_WAIT, "buffer_source_access", HAL_ACCESS_WRITE, "write");
    check(e, TRACE_SUBMIT, "operation", TRACE_OPERATION_DEALLOCA, "dealloca");
    check(e, TRACE_SUBMIT, "operation", TRACE_OPERATION_WRITE, "write");
    check(e, TRACE_HOST_READ, "flags", TRACE_FLAG_OBSERVED | TRACE_FLAG_DIGEST, "observed|digest");
    check(e, TRACE_HOST_WRITE, "flags", TRACE_FLAG_FILE | TRACE_FLAG_SNAPSHOT, "snapshot|file");
    check(e, TRACE_EXECUTABLE_CREATE, "flags", TRACE_FLAG_REFLECTED, "reflected");
    check(e, TRACE_SEMAPHORE_CREATE, "flags", TRACE_FLAG_EXTERNAL, "external");
}

TEST(what_has_no_name_is_a_number)
{
    const struct trace_family *e = &trace_event_family;
    check(e, TRACE_BUFFER_CREATE, "memory", 0, "0");
    check(e, TRACE_BUFFER_CREATE, "memory", 0x81, "device_local|0x80");
    check(e, TRACE_BUFFER_CREATE, "memory", 0xFFFFFFFF,
          "device_local|host_visible|host_coherent|host_cached|0xfffffff0");
    check(e, TRACE_SUBMIT, "operation", 77, "77");
}
