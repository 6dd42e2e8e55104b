/* SPDX-License-Identifier: Apache-2.0 */
/* The names of hal/hal.h's enumerations, which this folder does not see: a test compares. */
#include "format/columns/names.h"
#include "format/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct trace_number_name memory[] = {
    {1, "device_local"}, {2, "host_visible"}, {4, "host_coherent"}, {8, "host_cached"}};
static const struct trace_number_name usage[] = {{1, "transfer"}, {2, "dispatch"}, {4, "mapping"}};
static const struct trace_number_name map_mode[] = {
    {1, "read"}, {2, "write"}, {4, "discard"}, {8, "persistent"}};
static const struct trace_number_name wait_mode[] = {{0, "all"}, {1, "any"}};
static const struct trace_number_name reuse[] = {{0, "one_shot"}, {1, "reusable"}};
static const struct trace_number_name categories[] = {{1, "transfer"}, {2, "dispatch"}};
static const struct trace_number_name format[] = {{1, "msl"}, {2, "metallib"}, {3, "spirv"}};
static const struct trace_number_name stages[] = {{1, "transfer"}, {2, "dispatch"}, {4, "host"}};
static const struct trace_number_name access[] = {{1, "read"}, {2, "write"}};
static const struct trace_number_name binding_kind[] = {{1, "storage"}, {2, "uniform"}};
static const struct trace_number_name binding_flags[] = {{1, "read_only"}, {2, "dynamic"}};
static const struct trace_number_name constant_type[] = {
    {1, "bool"},  {2, "int32"},  {3, "uint32"},  {4, "float32"},   {5, "int8"},   {6, "uint8"},
    {7, "int16"}, {8, "uint16"}, {9, "float16"}, {10, "bfloat16"}, {11, "int64"}, {12, "uint64"}};
static const struct trace_number_name operation[] = {
    {0, "execute"}, {1, "barrier"},  {2, "fill"}, {3, "copy"},  {4, "update"},     {5, "dispatch"},
    {6, "alloca"},  {7, "dealloca"}, {8, "read"}, {9, "write"}, {10, "collective"}};
static const struct trace_number_name collective[] = {{1, "all_reduce"},     {2, "all_gather"},
                                                      {3, "reduce_scatter"}, {4, "broadcast"},
                                                      {5, "send"},           {6, "receive"}};
static const struct trace_number_name element_type[] = {
    {1, "i8"},  {2, "u8"},  {3, "i16"}, {4, "u16"},   {5, "i32"},  {6, "u32"},
    {7, "i64"}, {8, "u64"}, {9, "f16"}, {10, "bf16"}, {11, "f32"}, {12, "f64"}};
static const struct trace_number_name reduction[] = {
    {0, "none"}, {1, "sum"}, {2, "product"}, {3, "minimum"}, {4, "maximum"}, {5, "average"}};
static const struct trace_number_name object_flags[] = {{1, "snapshot"}, {4, "external"}};
static const struct trace_number_name content_flags[] = {
    {1, "snapshot"}, {2, "observed"}, {4, "digest"}, {8, "file"}};
static const struct trace_number_name executable_flags[] = {{1, "snapshot"}, {16, "reflected"}};

static const struct trace_number_name times_flags[] = {{1, "isolated"}};
static const struct trace_number_name written_state[] = {
    {0, "known"}, {1, "shared"}, {2, "host"}, {3, "unseen"}};

#define NAMES(in, of, bits, list)                                                                  \
    {                                                                                              \
        .column = (of), .record = (in), .are_bits = (bits),                                        \
        .count = sizeof(list) / sizeof(list)[0], .names = (list)                                   \
    }

static const struct trace_names known[] = {
    NAMES("buffer_create", "memory", true, memory),
    NAMES("buffer_create", "usage", true, usage),
    NAMES("buffer_create", "flags", true, object_flags),
    NAMES("semaphore_create", "flags", true, object_flags),
    NAMES("subspan_create", "flags", true, object_flags),
    NAMES("semaphore_query", "flags", true, object_flags),
    NAMES("semaphore_signal", "flags", true, object_flags),
    NAMES("semaphore_fail", "flags", true, object_flags),
    NAMES("host_write", "flags", true, content_flags),
    NAMES("host_read", "flags", true, content_flags),
    NAMES("executable_create", "flags", true, executable_flags),
    NAMES("executable_create", "format", false, format),
    NAMES("executable_create", "variant_format", false, format),
    NAMES("executable_create", "constant_type", false, constant_type),
    NAMES("executable_create", "binding_access", true, access),
    NAMES("buffer_map", "mode", true, map_mode),
    NAMES("buffer_unmap", "mode", true, map_mode),
    NAMES("mapping_flush", "mode", true, map_mode),
    NAMES("mapping_invalidate", "mode", true, map_mode),
    NAMES("command_buffer_create", "mode", false, reuse),
    NAMES("command_buffer_create", "categories", true, categories),
    NAMES("semaphore_wait", "mode", false, wait_mode),
    NAMES("set_layout_create", "kind", false, binding_kind),
    NAMES("set_layout_create", "flags", true, binding_flags),
    NAMES("dispatch_times", "flags", true, times_flags),
    NAMES("submission_outputs", "state", false, written_state),
    NAMES("channel_create", "flags", true, object_flags),
    NAMES("collective", "collective", false, collective),
    NAMES("collective", "type", false, element_type),
    NAMES("collective", "reduction", false, reduction),
    NAMES(NULL, "operation", false, operation),
    NAMES(NULL, "source_stages", true, stages),
    NAMES(NULL, "target_stages", true, stages),
    NAMES(NULL, "source_access", true, access),
    NAMES(NULL, "target_access", true, access),
    NAMES(NULL, "buffer_source_access", true, access),
    NAMES(NULL, "buffer_target_access", true, access),
};

static const struct trace_names *names_of(const char *record, const char *column)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].column, column) == 0 &&
            (!known[i].record || strcmp(known[i].record, record) == 0))
            return &known[i];
    }
    return NULL;
}

const struct trace_names *trace_column_names(const char *record, const struct trace_column *column)
{
    return names_of(record, column->name);
}

static const char *name_of(const struct trace_names *names, uint64_t number)
{
    for (uint32_t i = 0; i < names->count; i++) {
        if (names->names[i].number == number)
            return names->names[i].name;
    }
    return NULL;
}

const char *trace_number_text(const struct trace_names *names, uint64_t number, char *out,
                              size_t bytes)
{
    const char *whole = name_of(names, number);
    if (whole || !names->are_bits || !number) {
        if (whole)
            snprintf(out, bytes, "%s", whole);
        else
            snprintf(out, bytes, "%" PRIu64, number);
        return out;
    }
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < names->count && used < bytes; i++) {
        if (number & names->names[i].number) {
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "|" : "",
                                     names->names[i].name);
            number &= ~(uint64_t)names->names[i].number;
        }
    }
    if (number && used < bytes)
        snprintf(out + used, bytes - used, "%s%#" PRIx64, used ? "|" : "", number);
    return out;
}

const char *trace_column_text(const char *record, const char *column, uint64_t number, char *out,
                              size_t bytes)
{
    const struct trace_names *names = names_of(record ? record : "", column);
    if (names)
        return trace_number_text(names, number, out, bytes);
    snprintf(out, bytes, "%" PRIu64, number);
    return out;
}
