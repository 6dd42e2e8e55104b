/* SPDX-License-Identifier: Apache-2.0 */
/* Which member of which table record (strings, stacks, modules, threads) is stored in which column;
 * what kinds are called. */
#include "format/columns/layout_columns.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");
_Static_assert(sizeof(void *) == 8, "records and columns are 64-bit");

static const struct trace_column string[] = {
    COLUMN_OF(Haltrace__String, id, struct trace_string, id, NONE),
    COLUMN_OF(Haltrace__String, length, struct trace_string, length, NONE),
};

static const struct trace_part string_parts[] = {
    BYTES(Haltrace__String, text, struct trace_string, length, TRACE_MAX_STRING_BYTES, true),
};

static const struct trace_column stack[] = {
    COLUMN_OF(Haltrace__Stack, id, struct trace_stack, id, NONE),
    COLUMN_OF(Haltrace__Stack, frame_count, struct trace_stack, frame_count, NONE),
};

static const struct trace_column stack_frames[] = {
    COLUMN_OF(Haltrace__Stack, frame, struct number, value, NONE),
};

static const struct trace_part stack_parts[] = {
    LIST("frames", struct trace_stack, frame_count, struct number, TRACE_MAX_STACK_FRAMES,
         stack_frames),
};

static const struct trace_column module[] = {
    COLUMN_OF(Haltrace__Module, load_address, struct trace_module, base, NONE),
    COLUMN_OF(Haltrace__Module, size, struct trace_module, size, NONE),
    COLUMN_OF(Haltrace__Module, path, struct trace_module, path, NONE),
    COLUMN_OF(Haltrace__Module, build_id_bytes, struct trace_module, build_id_bytes, NONE),
};

static const struct trace_part module_parts[] = {
    BYTES(Haltrace__Module, build_id, struct trace_module, build_id_bytes, 256, false),
};

static const struct trace_column thread[] = {
    COLUMN_OF(Haltrace__Thread, id, struct trace_thread, id, NONE),
    COLUMN_OF(Haltrace__Thread, system_id, struct trace_thread, system_id, NONE),
    COLUMN_OF(Haltrace__Thread, name, struct trace_thread, name, NONE),
};

#define TABLE(field, R, message, list)                                                             \
    &(const struct trace_layout)LAYOUT(Haltrace__Tables, field, struct R, message, list)
#define TABLE_PARTS(field, R, message, list, variable)                                             \
    &(const struct trace_layout)LAYOUT_PARTS(Haltrace__Tables, field, struct R, message, list,     \
                                             variable)

const struct trace_family trace_table_family = {
    .name = "table record",
    .head_bytes = sizeof(struct trace_event),
    .kind_count_at = offsetof(Haltrace__Tables, n_kind),
    .kinds_at = offsetof(Haltrace__Tables, kind),
    .layouts =
        {
            [TRACE_STRING] = TABLE_PARTS(string, trace_string, string, string, string_parts),
            [TRACE_STACK] = TABLE_PARTS(stack, trace_stack, stack, stack, stack_parts),
            [TRACE_MODULE] = TABLE_PARTS(module, trace_module, module, module, module_parts),
            [TRACE_THREAD] = TABLE(thread, trace_thread, thread, thread),
        },
};

/* ---- Names -------------------------------------------------------------------------------- */

const char *trace_event_name(uint32_t kind)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, kind);
    if (!layout)
        layout = trace_family_layout(&trace_table_family, kind);
    return layout ? layout->name : "unknown event";
}

const char *trace_segment_name(uint32_t kind)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, kind);
    return layout ? layout->name : "unknown segment";
}
