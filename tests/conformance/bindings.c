/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatch sees against what its kernel takes: bindings that are missing, too short or at
 * the wrong place, and constants beyond the layout's. The rules hold when the command buffer is
 * ended; what they allow is run. */
#include "tests/conformance/suite.h"

#include <stdio.h>

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct params { uint add; uint4 more; };\n" /* 32 bytes */
    "struct set { device uint *x [[id(0)]]; };\n"
    "kernel void three(device const uint *a [[buffer(0)]], device const uint *b [[buffer(3)]],\n"
    "                  device uint *c [[buffer(30)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void offset(device uint *x [[buffer(0)]], constant params &p [[buffer(1)]],\n"
    "                   uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += p.add + p.more.w;\n"
    "}\n"
    "kernel void bytes(device uchar *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += 1;\n"
    "}\n"
    "kernel void shorts(device ushort *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += 1;\n"
    "}\n"
    "kernel void words(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += 1;\n"
    "}\n"
    "kernel void vectors(device uint4 *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += 1;\n"
    "}\n"
    "kernel void small(constant set &s [[buffer(0)]], constant uint &c [[buffer(4)]],\n"
    "                  uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    s.x[i] += c;\n"
    "}\n"
    "kernel void large(constant set &s [[buffer(0)]], constant uint2 &c [[buffer(4)]],\n"
    "                  uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    s.x[i] += 100 * c.y;\n"
    "}\n";

enum { THREE, OFFSET, BYTES, SHORTS, WORDS, VECTORS, SMALL, LARGE, ENTRIES, N = 16 };
static const struct hal_entry_point entries[ENTRIES] = {
    {"three", {N, 1, 1}, 0, 0},  {"offset", {N, 1, 1}, 0, 0}, {"bytes", {N, 1, 1}, 0, 0},
    {"shorts", {N, 1, 1}, 0, 0}, {"words", {N, 1, 1}, 0, 0},  {"vectors", {N, 1, 1}, 0, 0},
    {"small", {N, 1, 1}, 4, 4},  {"large", {N, 1, 1}, 8, 4},
};
static const uint32_t one[3] = {1, 1, 1};

struct rig {
    struct hal_executable *executable;
    struct hal_command_buffer *commands;
};

static void set_up(struct suite *suite, struct rig *rig)
{
    const struct hal_device_info *info = suite_info(suite);
    bool runs_msl = false;
    for (uint32_t i = 0; i < info->format_count; i++)
        runs_msl |= info->formats[i] == HAL_FORMAT_MSL;
    if (!runs_msl)
        suite_skip(suite, "the device runs no MSL");
    struct hal_set_layout *set =
        suite_set_layout(suite, "set", &(struct hal_layout_binding){0, HAL_BINDING_STORAGE, 0}, 1);
    struct hal_pipeline_layout *const layouts[ENTRIES] = {
        [SMALL] = suite_pipeline_layout(suite, "of small", &set, 1, 4),
        [LARGE] = suite_pipeline_layout(suite, "of large", &set, 1, 8)};
    rig->executable =
        suite_executable(suite, &(struct hal_executable_desc){.label = "bindings.metal",
                                                              .format = HAL_FORMAT_MSL,
                                                              .data = source,
                                                              .bytes = sizeof source - 1,
                                                              .entry_points = entries,
                                                              .entry_point_count = ENTRIES,
                                                              .layouts = layouts});
    rig->commands = suite_commands(suite, "list", HAL_ONE_SHOT);
}

static struct hal_buffer *filled(struct suite *suite, const char *label, uint32_t word)
{
    uint32_t list[N];
    struct hal_buffer *buffer = suite_buffer(suite, label, sizeof list);
    for (uint32_t i = 0; i < N; i++)
        list[i] = word;
    suite_write(suite, buffer, 0, list, sizeof list);
    return buffer;
}

static void push(struct suite *suite, struct rig *rig, const struct hal_binding *bindings,
                 size_t count)
{
    check_ok(suite, hal_command_push_descriptor_set(rig->commands, 0, bindings, count));
}

static void dispatch(struct suite *suite, struct rig *rig, uint32_t entry)
{
    check_ok(suite, hal_command_dispatch(rig->commands, rig->executable, entry, one));
}

static void check_words(struct suite *suite, struct hal_buffer *buffer, uint32_t word)
{
    uint32_t wanted[N];
    for (uint32_t i = 0; i < N; i++)
        wanted[i] = word;
    check_buffer(suite, buffer, 0, wanted, sizeof wanted);
}

/* ---- Missing -------------------------------------------------------------------------------- */

static void bind_three(struct suite *suite, struct hal_binding out_bindings[31])
{
    memset(out_bindings, 0, 31 * sizeof *out_bindings);
    out_bindings[0] = (struct hal_binding){filled(suite, "a", 1), 0, HAL_WHOLE_BUFFER};
    out_bindings[3] = (struct hal_binding){filled(suite, "b", 20), 0, HAL_WHOLE_BUFFER};
    out_bindings[30] = (struct hal_binding){filled(suite, "c", 300), 0, HAL_WHOLE_BUFFER};
}

static void missing(struct suite *suite, uint64_t index)
{
    struct rig rig;
    struct hal_binding bindings[31];
    char text[64];
    set_up(suite, &rig);
    bind_three(suite, bindings);
    struct hal_buffer *c = bindings[30].buffer;
    push(suite, &rig, bindings, 31);
    dispatch(suite, &rig, THREE); /* this one has all */
    bindings[index].buffer = NULL;
    push(suite, &rig, bindings, 31);
    dispatch(suite, &rig, THREE);
    snprintf(text, sizeof text, "binding %u of descriptor set 0", (unsigned)index);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "dispatch 1",
                "'three'", text, "31 bindings");
    check_words(suite, c, 300);
}

/* A set that is replaced takes all its bindings along. */
static void a_shorter_set_replaces_a_longer(struct suite *suite, uint64_t count)
{
    struct rig rig;
    struct hal_binding bindings[31];
    char text[64];
    set_up(suite, &rig);
    bind_three(suite, bindings);
    push(suite, &rig, bindings, 31);
    push(suite, &rig, bindings, count);
    dispatch(suite, &rig, THREE);
    snprintf(text, sizeof text, "the set has %u bindings", (unsigned)count);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "dispatch 0",
                text);
}

static void missing_for_an_indirect_dispatch(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    set_up(suite, &rig);
    struct hal_buffer *counts = suite_buffer(suite, "counts", 12);
    suite_clear(suite, counts, 0); /* no workgroups: it is wrong all the same */
    check_ok(suite, hal_command_dispatch_indirect(rig.commands, rig.executable, WORDS, counts, 0));
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "dispatch 0",
                "'words'", "binding 0 of descriptor set 0");
}

static void missing_on_a_queue(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    set_up(suite, &rig);
    const struct hal_dispatch_desc desc = {
        .executable = rig.executable, .entry = WORDS, .workgroup_count = {1, 1, 1}};
    check_fails(suite, hal_queue_dispatch(suite_device(suite), NULL, &desc), HAL_INVALID, "'words'",
                "binding 0 of descriptor set 0", "nothing is bound");
}

/* In another set than the kernel's. */
static void bound_in_another_set(struct suite *suite, uint64_t set)
{
    struct rig rig;
    set_up(suite, &rig);
    const struct hal_binding binding = {filled(suite, "x", 1), 0, HAL_WHOLE_BUFFER};
    check_ok(suite, hal_command_push_descriptor_set(rig.commands, (uint32_t)set, &binding, 1));
    dispatch(suite, &rig, WORDS);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'words'",
                "binding 0 of descriptor set 0", "the set has 0 bindings");
}

/* What a kernel does not take may be bound or not, at any place. */
static void more_than_it_takes(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_binding bindings[31];
    set_up(suite, &rig);
    bind_three(suite, bindings);
    bindings[7] = (struct hal_binding){bindings[0].buffer, 3, 1};
    struct hal_buffer *c = bindings[30].buffer;
    push(suite, &rig, bindings, 31);
    dispatch(suite, &rig, THREE);
    suite_run(suite, rig.commands);
    check_words(suite, c, 21);
}

/* ---- Too short ------------------------------------------------------------------------------ */

static uint64_t least_bytes(struct suite *suite, const struct rig *rig, uint32_t entry,
                            uint32_t binding)
{
    struct hal_entry_info info = {0};
    check_ok(suite, hal_executable_get_entry(rig->executable, entry, &info));
    check(suite, binding < info.binding_count);
    return info.bindings[binding].bytes;
}

/* Where the device knows how long a parameter is: one byte less is refused. */
static void short_by(struct suite *suite, uint64_t less)
{
    struct rig rig;
    const uint32_t params[8] = {5, 0, 0, 0, 0, 0, 0, 37};
    set_up(suite, &rig);
    const uint64_t least = least_bytes(suite, &rig, OFFSET, 1);
    if (least == 0)
        suite_skip(suite, "the device does not tell how long a parameter is");
    check_u64(suite, least, sizeof params);
    struct hal_buffer *x = filled(suite, "x", 1), *p = suite_buffer(suite, "parameters", 96);
    suite_write(suite, p, 32, params, sizeof params);
    const struct hal_binding bindings[2] = {{x, 0, HAL_WHOLE_BUFFER}, {p, 32, least - less}};
    push(suite, &rig, bindings, 2);
    dispatch(suite, &rig, OFFSET);
    if (less) {
        char wanted[32], got[32];
        snprintf(wanted, sizeof wanted, "at least %u bytes", (unsigned)least);
        snprintf(got, sizeof got, "%u of buffer", (unsigned)(least - less));
        check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "'offset'",
                    "'parameters'", "binding 1 of descriptor set 0", wanted, got);
        return;
    }
    suite_run(suite, rig.commands);
    check_words(suite, x, 1 + 5 + 37);
}

/* To the end of a subspan, which ends before the buffer does. */
static void short_subspan(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_buffer *subspan;
    set_up(suite, &rig);
    if (least_bytes(suite, &rig, OFFSET, 1) == 0)
        suite_skip(suite, "the device does not tell how long a parameter is");
    struct hal_buffer *whole = suite_buffer(suite, "whole", 4096);
    check_ok(suite, hal_buffer_subspan(whole, 256, 48, "part", &subspan));
    suite_own_buffer(suite, subspan);
    const struct hal_binding bindings[2] = {{filled(suite, "x", 1), 0, HAL_WHOLE_BUFFER},
                                            {subspan, 32, HAL_WHOLE_BUFFER}};
    push(suite, &rig, bindings, 2);
    dispatch(suite, &rig, OFFSET);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'offset'", "16 of");
}

/* A pointer's range has as many bytes as the kernel accesses: nobody knows before. */
static void pointers_take_any_range(struct suite *suite, uint64_t bytes)
{
    struct rig rig;
    struct hal_buffer *counts = suite_buffer(suite, "counts", 12);
    set_up(suite, &rig);
    suite_clear(suite, counts, 0);
    const struct hal_binding binding = {filled(suite, "x", 7), 0, bytes};
    push(suite, &rig, &binding, 1);
    check_ok(suite,
             hal_command_dispatch_indirect(rig.commands, rig.executable, VECTORS, counts, 0));
    suite_run(suite, rig.commands);
    check_words(suite, binding.buffer, 7);
}

/* ---- At the wrong place ---------------------------------------------------------------------- */

/* Kernels on elements of 1, 2, 4 and 16 bytes, at each offset from 0 to 15: where it is no multiple
 * of what the device tells, it is refused; elsewhere the kernel finds its elements there. */
static void at_offset(struct suite *suite, uint64_t offset)
{
    static const uint32_t sizes[4] = {1, 2, 4, 16};
    for (uint32_t k = 0; k < 4; k++) {
        struct rig rig;
        struct hal_entry_info info = {0};
        uint8_t before[16 + N * 16], wanted[sizeof before];
        char text[48];
        set_up(suite, &rig);
        suite_note(suite, "elements of %u bytes at %u", sizes[k], (unsigned)offset);
        check_ok(suite, hal_executable_get_entry(rig.executable, BYTES + k, &info));
        const uint32_t alignment = info.bindings[0].alignment;
        check_u64(suite, alignment % sizes[k], 0); /* what the type asks for, or more */
        check(suite, alignment > 0 && alignment <= 256);
        struct hal_buffer *x = suite_buffer(suite, "elements", sizeof before);
        suite_random_bytes(suite, before, sizeof before);
        suite_write(suite, x, 0, before, sizeof before);
        const struct hal_binding binding = {x, offset, HAL_WHOLE_BUFFER};
        push(suite, &rig, &binding, 1);
        dispatch(suite, &rig, BYTES + k);
        if (offset % alignment) {
            snprintf(text, sizeof text, "offset %u of buffer 'elements'", (unsigned)offset);
            check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'",
                        "dispatch 0", entries[BYTES + k].name, "multiple of", text);
            continue;
        }
        memcpy(wanted, before, sizeof before);
        for (uint32_t i = 0; i < N; i++) {
            uint8_t *element = wanted + offset + i * sizes[k];
            const uint32_t width = sizes[k] < 4 ? sizes[k] : 4;
            for (uint32_t part = 0; part < sizes[k]; part += width) {
                uint32_t value = 0;
                memcpy(&value, element + part, width);
                value++;
                memcpy(element + part, &value, width);
            }
        }
        suite_run(suite, rig.commands);
        check_buffer(suite, x, 0, wanted, sizeof wanted);
    }
}

/* Offsets count from the buffer behind a subspan. */
static void subspan_at_the_wrong_place(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_buffer *subspan;
    set_up(suite, &rig);
    struct hal_buffer *whole = suite_buffer(suite, "whole", 1024);
    check_ok(suite, hal_buffer_subspan(whole, 4, 512, "part", &subspan));
    suite_own_buffer(suite, subspan);
    const struct hal_binding binding = {subspan, 4, HAL_WHOLE_BUFFER};
    push(suite, &rig, &binding, 1);
    dispatch(suite, &rig, VECTORS);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'vectors'",
                "multiple of", "offset 8 of");
}

/* ---- Constants ------------------------------------------------------------------------------ */

static void push_constants(struct suite *suite, struct rig *rig, uint32_t offset, uint32_t first,
                           uint32_t bytes)
{
    uint32_t words[HAL_MAX_CONSTANT_BYTES / 4] = {0};
    for (uint32_t i = 0; i < bytes / 4; i++)
        words[i] = first + i;
    check_ok(suite, hal_command_push_constants(rig->commands, offset, words, bytes));
}

static struct hal_buffer *bind_one(struct suite *suite, struct rig *rig)
{
    const struct hal_binding binding = {filled(suite, "x", 1000), 0, HAL_WHOLE_BUFFER};
    push(suite, rig, &binding, 1);
    return binding.buffer;
}

static void constants_beyond(struct suite *suite, uint64_t which)
{
    const uint32_t most = suite_info(suite)->max_constant_bytes;
    const struct {
        uint32_t offset, bytes;
    } pushes[] = {{0, 8}, {4, 4}, {0, most}, {most - 4, 4}};
    struct rig rig;
    char text[48];
    set_up(suite, &rig);
    (void)bind_one(suite, &rig);
    push_constants(suite, &rig, 0, 5, 4);
    dispatch(suite, &rig, SMALL);
    push_constants(suite, &rig, pushes[which].offset, 5, pushes[which].bytes);
    push_constants(suite, &rig, 0, 6, 4);
    dispatch(suite, &rig, SMALL);
    snprintf(text, sizeof text, "%u bytes of constants",
             pushes[which].offset + pushes[which].bytes);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "dispatch 1",
                "'small'", text, "'of small' has 4");
}

/* What was pushed for an earlier dispatch stays, and does no harm. */
static void constants_of_an_earlier_dispatch(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    set_up(suite, &rig);
    struct hal_buffer *x = bind_one(suite, &rig);
    push_constants(suite, &rig, 0, 1, 8);
    dispatch(suite, &rig, LARGE); /* + 100 * 2 */
    check_ok(suite, hal_command_barrier(rig.commands, NULL));
    dispatch(suite, &rig, SMALL); /* + 1 */
    check_ok(suite, hal_command_barrier(rig.commands, NULL));
    push_constants(suite, &rig, 0, 7, 4);
    dispatch(suite, &rig, SMALL); /* + 7 */
    check_ok(suite, hal_command_barrier(rig.commands, NULL));
    dispatch(suite, &rig, LARGE); /* + 100 * 2 */
    suite_run(suite, rig.commands);
    check_words(suite, x, 1000 + 200 + 1 + 7 + 200);
}

/* Without a layout nobody has promised anything. */
static void constants_without_a_layout(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    set_up(suite, &rig);
    struct hal_buffer *x = bind_one(suite, &rig);
    push_constants(suite, &rig, 0, 5, suite_info(suite)->max_constant_bytes);
    dispatch(suite, &rig, WORDS);
    suite_run(suite, rig.commands);
    check_words(suite, x, 1001);
}

static const struct suite_case cases[] = {
    {"missing_first", missing, 0},
    {"missing_middle", missing, 3},
    {"missing_last", missing, 30},
    {"no_set_at_all", a_shorter_set_replaces_a_longer, 0},
    {"shorter_set", a_shorter_set_replaces_a_longer, 30},
    {"missing_indirect", missing_for_an_indirect_dispatch, 0},
    {"missing_on_a_queue", missing_on_a_queue, 0},
    {"bound_in_set_1", bound_in_another_set, 1},
    {"bound_in_set_3", bound_in_another_set, 3},
    {"more_than_it_takes", more_than_it_takes, 0},
    {"long_enough", short_by, 0},
    {"short_by_1", short_by, 1},
    {"short_by_31", short_by, 31},
    {"short_subspan", short_subspan, 0},
    {"pointer_to_1_byte", pointers_take_any_range, 1},
    {"pointer_to_15_bytes", pointers_take_any_range, 15},
    SUITE_SIXTEEN("at_offset_", at_offset),
    {"subspan_at_the_wrong_place", subspan_at_the_wrong_place, 0},
    {"constants_by_4", constants_beyond, 0},
    {"constants_behind", constants_beyond, 1},
    {"all_constants", constants_beyond, 2},
    {"last_constants", constants_beyond, 3},
    {"constants_of_an_earlier_dispatch", constants_of_an_earlier_dispatch, 0},
    {"constants_without_a_layout", constants_without_a_layout, 0},
};
const struct suite_area area_bindings = {"bindings", cases, SUITE_COUNT(cases)};
