/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: several descriptor sets as argument buffers, dynamic offsets, what is refused. */
#include "tests/conformance/suite.h"

#include <stdio.h>

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct inputs { device const uint *a [[id(0)]]; device const uint *b [[id(1)]]; };\n"
    "struct outputs { device uint *sum [[id(0)]]; device uint *product [[id(1)]]; };\n"
    "struct single { device uint *x [[id(0)]]; };\n"
    "kernel void combine(constant inputs &in [[buffer(0)]], constant outputs &out [[buffer(1)]],\n"
    "                    constant uint &bias [[buffer(4)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    out.sum[i] = in.a[i] + in.b[i] + bias;\n"
    "    out.product[i] = in.a[i] * in.b[i];\n"
    "}\n"
    "kernel void four(constant single &s [[buffer(0)]], constant single &t [[buffer(1)]],\n"
    "                 constant single &u [[buffer(2)]], constant single &v [[buffer(3)]],\n"
    "                 uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    v.x[i] = s.x[i] + 10 * t.x[i] + 100 * u.x[i];\n"
    "}\n"
    "kernel void plain(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    x[i] += 1;\n"
    "}\n";

enum { COMBINE, FOUR, PLAIN, ENTRIES, WORDS = 32 };
static const struct hal_entry_point entries[ENTRIES] = {{"combine", {WORDS, 1, 1}, 4, 4},
                                                        {"four", {WORDS, 1, 1}, 0, 0},
                                                        {"plain", {WORDS, 1, 1}, 0, 0}};

/* Sets of two inputs and two outputs, and what they make. */
struct rig {
    struct hal_set_layout *in, *out, *single;
    struct hal_pipeline_layout *combine, *four;
    struct hal_executable *executable;
    struct hal_command_buffer *commands;
};

static struct hal_executable *executable_of(struct suite *suite, const struct rig *rig)
{
    struct hal_pipeline_layout *const layouts[ENTRIES] = {rig->combine, rig->four, NULL};
    const struct hal_executable_variant variant = suite_variant(suite, source, MODULE_CASES);
    return suite_executable(suite, &(struct hal_executable_desc){.label = "layouts.metal",
                                                                 .variants = &variant,
                                                                 .variant_count = 1,
                                                                 .entry_points = entries,
                                                                 .entry_point_count = ENTRIES,
                                                                 .layouts = layouts});
}

static void set_up(struct suite *suite, struct rig *rig, uint32_t flags)
{
    const struct hal_layout_binding in[] = {
        {1, HAL_BINDING_STORAGE, HAL_BINDING_READ_ONLY},
        {0, HAL_BINDING_STORAGE, HAL_BINDING_READ_ONLY | flags}};
    const struct hal_layout_binding out[] = {{0, HAL_BINDING_STORAGE, flags},
                                             {1, HAL_BINDING_STORAGE, 0}};
    rig->in = suite_set_layout(suite, "inputs", in, 2);
    rig->out = suite_set_layout(suite, "outputs", out, 2);
    rig->single = suite_set_layout(suite, "single",
                                   &(struct hal_layout_binding){0, HAL_BINDING_STORAGE, 0}, 1);
    struct hal_set_layout *const two[] = {rig->in, rig->out};
    struct hal_set_layout *const all[] = {rig->single, rig->single, rig->single, rig->single};
    rig->combine = suite_pipeline_layout(suite, "of combine", two, 2, 4);
    rig->four = suite_pipeline_layout(suite, "of four", all, 4, 0);
    rig->executable = executable_of(suite, rig);
    rig->commands = suite_commands(suite, "list", HAL_ONE_SHOT);
}

static struct hal_buffer *words(struct suite *suite, const char *label, uint32_t first,
                                uint32_t step, uint32_t count)
{
    uint32_t *list = suite_memory(suite, count * 4);
    struct hal_buffer *buffer = suite_buffer(suite, label, count * 4);
    for (uint32_t i = 0; i < count; i++)
        list[i] = first + i * step;
    suite_write(suite, buffer, 0, list, count * 4);
    return buffer;
}

static struct hal_binding whole(struct hal_buffer *buffer)
{
    return (struct hal_binding){buffer, 0, HAL_WHOLE_BUFFER};
}

#define BINDINGS(...) ((const struct hal_binding[2]){__VA_ARGS__})

static void push(struct suite *suite, struct rig *rig, struct hal_set_layout *layout, uint32_t set,
                 const struct hal_binding bindings[2], const uint64_t *offset)
{
    check_ok(suite,
             hal_command_push_set(rig->commands, &(struct hal_push_set_desc){
                                                     .layout = layout,
                                                     .set = set,
                                                     .bindings = bindings,
                                                     .binding_count = bindings[1].buffer ? 2 : 1,
                                                     .dynamic_offsets = offset,
                                                     .dynamic_offset_count = offset != NULL}));
}

static void dispatch(struct suite *suite, struct rig *rig, uint32_t entry)
{
    check_ok(suite,
             hal_command_dispatch(rig->commands, rig->executable, entry, (uint32_t[3]){1, 1, 1}));
}

static void two_sets(struct suite *suite, uint64_t by_indirect)
{
    struct rig rig;
    uint32_t sums[WORDS], products[WORDS];
    const uint32_t bias = 7, one[3] = {1, 1, 1};
    set_up(suite, &rig, 0);
    struct hal_buffer *sum = words(suite, "sum", 0, 0, WORDS);
    struct hal_buffer *product = words(suite, "product", 0, 0, WORDS);
    struct hal_buffer *counts = suite_buffer(suite, "counts", 12);
    suite_write(suite, counts, 0, one, 12);
    push(suite, &rig, rig.out, 1, BINDINGS(whole(sum), whole(product)), NULL);
    push(suite, &rig, rig.in, 0,
         BINDINGS(whole(words(suite, "a", 5, 3, WORDS)), whole(words(suite, "b", 100, 1, WORDS))),
         NULL);
    check_ok(suite, hal_command_push_constants(rig.commands, 0, &bias, 4));
    if (by_indirect)
        check_ok(suite,
                 hal_command_dispatch_indirect(rig.commands, rig.executable, COMBINE, counts, 0));
    else
        dispatch(suite, &rig, COMBINE);
    suite_run(suite, rig.commands);
    for (uint32_t i = 0; i < WORDS; i++) {
        sums[i] = 5 + 3 * i + 100 + i + 7;
        products[i] = (5 + 3 * i) * (100 + i);
    }
    check_buffer(suite, sum, 0, sums, sizeof sums);
    check_buffer(suite, product, 0, products, sizeof products);
}

static struct hal_buffer *lent(struct suite *suite, uint32_t *memory)
{
    const struct hal_buffer_desc desc = {.label = "imported", .bytes = WORDS * 4};
    struct hal_buffer *buffer;
    check_ok(suite, hal_buffer_import(suite_device(suite), &desc, memory, NULL, NULL, &buffer));
    return buffer;
}

/* Kernels reach the host's own memory through sets, again after the host has changed it. */
static void imported_memory_in_sets(struct suite *suite, uint64_t argument)
{
    static _Alignas(64) uint32_t memory[2][WORDS];
    struct rig rig;
    (void)argument;
    suite_need_import(suite);
    set_up(suite, &rig, 0);
    struct hal_buffer *in = lent(suite, memory[0]), *sum = lent(suite, memory[1]);
    for (uint32_t round = 0; round < 2; round++) {
        struct hal_buffer *product = words(suite, "product", 0, 0, WORDS);
        for (uint32_t i = 0; i < WORDS; i++)
            memory[0][i] = i + round;
        rig.commands = suite_commands(suite, "round", HAL_ONE_SHOT);
        push(suite, &rig, rig.in, 0, BINDINGS(whole(in), whole(words(suite, "b", 100, 1, WORDS))),
             NULL);
        push(suite, &rig, rig.out, 1, BINDINGS(whole(sum), whole(product)), NULL);
        check_ok(suite, hal_command_push_constants(rig.commands, 0, &round, 4));
        dispatch(suite, &rig, COMBINE);
        suite_run(suite, rig.commands);
        for (uint32_t i = 0; i < WORDS; i++)
            check_u64(suite, memory[1][i], i + round + 100 + i + round);
    }
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    hal_buffer_release(in);
    hal_buffer_release(sum);
}

/* All four sets; the last one is written. The plain push does the same as one with a layout. */
static void four_sets(struct suite *suite, uint64_t plainly)
{
    struct rig rig;
    uint32_t wanted[WORDS];
    set_up(suite, &rig, 0);
    struct hal_buffer *out = words(suite, "out", 0, 0, WORDS);
    for (uint32_t set = 0; set < 4; set++) {
        const struct hal_binding binding =
            whole(set < 3 ? words(suite, "part", set + 1, 1, WORDS) : out);
        if (plainly)
            check_ok(suite, hal_command_push_descriptor_set(rig.commands, set, &binding, 1));
        else
            push(suite, &rig, rig.single, set, BINDINGS(binding), NULL);
    }
    dispatch(suite, &rig, FOUR);
    suite_run(suite, rig.commands);
    for (uint32_t i = 0; i < WORDS; i++)
        wanted[i] = 1 + i + 10 * (2 + i) + 100 * (3 + i);
    check_buffer(suite, out, 0, wanted, sizeof wanted);
}

/* The same buffers at the same set, first by a layout for reading alone, then by one for writing:
 * what the driver tells the device of them changes though the addresses do not. */
static void read_and_then_written(struct suite *suite, uint64_t unused)
{
    struct rig rig;
    uint32_t seen[WORDS], sums[WORDS];
    const uint32_t bias = 7;
    const struct hal_layout_binding shown[] = {{0, HAL_BINDING_STORAGE, HAL_BINDING_READ_ONLY},
                                               {1, HAL_BINDING_STORAGE, HAL_BINDING_READ_ONLY}};
    (void)unused;
    set_up(suite, &rig, 0);
    struct hal_set_layout *reading = suite_set_layout(suite, "shown", shown, 2);
    struct hal_set_layout *const all[] = {rig.single, reading, rig.single, rig.single};
    rig.four = suite_pipeline_layout(suite, "of four, reading", all, 4, 0);
    rig.executable = executable_of(suite, &rig);
    struct hal_buffer *sum = words(suite, "sum", 2, 1, WORDS),
                      *out = words(suite, "out", 0, 0, WORDS);
    struct hal_buffer *product = words(suite, "product", 0, 0, WORDS);
    const struct hal_binding part = whole(words(suite, "part", 1, 1, WORDS));
    push(suite, &rig, rig.single, 0, BINDINGS(part), NULL);
    push(suite, &rig, reading, 1, BINDINGS(whole(sum), whole(product)), NULL);
    push(suite, &rig, rig.single, 2, BINDINGS(part), NULL);
    push(suite, &rig, rig.single, 3, BINDINGS(whole(out)), NULL);
    dispatch(suite, &rig, FOUR);
    check_ok(suite, hal_command_barrier(rig.commands, NULL));
    push(suite, &rig, rig.in, 0, BINDINGS(part, whole(words(suite, "b", 100, 1, WORDS))), NULL);
    push(suite, &rig, rig.out, 1, BINDINGS(whole(sum), whole(product)), NULL);
    check_ok(suite, hal_command_push_constants(rig.commands, 0, &bias, 4));
    dispatch(suite, &rig, COMBINE);
    suite_run(suite, rig.commands);
    for (uint32_t i = 0; i < WORDS; i++) {
        seen[i] = 1 + i + 10 * (2 + i) + 100 * (1 + i);
        sums[i] = 1 + i + 100 + i + 7;
    }
    check_buffer(suite, out, 0, seen, sizeof seen);
    check_buffer(suite, sum, 0, sums, sizeof sums);
}

/* The same sets again and again with other offsets, and one set replaced while the other stays. */
static void dynamic_offsets(struct suite *suite, uint64_t rounds)
{
    struct rig rig;
    uint32_t *wanted = suite_memory(suite, rounds * WORDS * 4);
    const uint32_t bias = 0;
    set_up(suite, &rig, HAL_BINDING_DYNAMIC);
    struct hal_buffer *a = words(suite, "a", 1, 1, (uint32_t)rounds * WORDS);
    struct hal_buffer *b = words(suite, "b", 1000, 0, WORDS);
    struct hal_buffer *sum = words(suite, "sum", 0, 0, (uint32_t)rounds * WORDS);
    struct hal_buffer *product = words(suite, "product", 0, 0, WORDS * (uint32_t)rounds);
    check_ok(suite, hal_command_push_constants(rig.commands, 0, &bias, 4));
    for (uint32_t i = 0; i < rounds; i++) {
        const uint64_t from = (rounds - 1 - i) * WORDS * 4, to = i * WORDS * 4;
        push(suite, &rig, rig.in, 0, BINDINGS((struct hal_binding){a, 0, WORDS * 4}, whole(b)),
             &from);
        push(suite, &rig, rig.out, 1,
             BINDINGS(whole(sum), (struct hal_binding){product, to, WORDS * 4}), &to);
        dispatch(suite, &rig, COMBINE);
        for (uint32_t w = 0; w < WORDS; w++)
            wanted[i * WORDS + w] = 1 + (uint32_t)(rounds - 1 - i) * WORDS + w + 1000;
    }
    suite_run(suite, rig.commands);
    check_buffer(suite, sum, 0, wanted, rounds * WORDS * 4);
}

/* An entry point without a layout stands beside those that have one. */
static void without_layout(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    uint32_t wanted[WORDS];
    set_up(suite, &rig, 0);
    struct hal_buffer *x = words(suite, "x", 9, 2, WORDS);
    const struct hal_binding binding = whole(x);
    check_ok(suite, hal_command_push_descriptor_set(rig.commands, 0, &binding, 1));
    dispatch(suite, &rig, PLAIN);
    suite_run(suite, rig.commands);
    for (uint32_t i = 0; i < WORDS; i++)
        wanted[i] = 10 + 2 * i;
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

static void reflected(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_entry_info info = {0};
    set_up(suite, &rig, 0);
    check_ok(suite, hal_executable_get_entry(rig.executable, COMBINE, &info));
    check_u64(suite, info.binding_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        check_u64(suite, info.bindings[i].set, i / 2);
        check_u64(suite, info.bindings[i].index, i % 2);
        check_u64(suite, info.bindings[i].access,
                  i < 2 ? HAL_ACCESS_READ : HAL_ACCESS_READ | HAL_ACCESS_WRITE);
    }
}

/* ---- Errors --------------------------------------------------------------------------------- */

static void wrong_set_layouts(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_layout_binding far[] = {{31, HAL_BINDING_STORAGE, 0}};
    const struct hal_layout_binding twice[] = {{3, HAL_BINDING_STORAGE, 0},
                                               {3, HAL_BINDING_UNIFORM, 0}};
    const struct hal_layout_binding kind[] = {{0, (enum hal_binding_kind)9, 0}};
    const struct hal_layout_binding flags[] = {{0, HAL_BINDING_STORAGE, 0x40}};
    const struct {
        struct hal_set_layout_desc desc;
        const char *a, *b;
    } wrong[] = {
        {{0, "L", far, 1}, "binding 31", "30"},     {{0, "L", twice, 2}, "binding 3", "twice"},
        {{0, "L", kind, 1}, "binding 0", "kind 9"}, {{0, "L", flags, 1}, "0x40", "0x3"},
        {{0, "L", NULL, 2}, "2 bindings", "NULL"},  {{0, "L", far, 32}, "32 bindings", "31"},
    };
    struct hal_set_layout *layout;
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++)
        check_fails(suite, hal_set_layout_create(suite_device(suite), &wrong[i].desc, &layout),
                    HAL_INVALID, "'L'", wrong[i].a, wrong[i].b);
    check_fails(suite, hal_set_layout_create(NULL, &wrong[0].desc, &layout), HAL_INVALID, "device");
    check_fails(suite, hal_set_layout_create(suite_device(suite), NULL, &layout), HAL_INVALID,
                "description");
    hal_set_layout_retain(NULL);
    hal_set_layout_release(NULL);
}

static void wrong_pipeline_layouts(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_pipeline_layout *layout;
    set_up(suite, &rig, 0);
    const uint32_t most = suite_info(suite)->max_constant_bytes;
    char over[32], limit[32];
    snprintf(over, sizeof over, "%u bytes", most + 4);
    snprintf(limit, sizeof limit, "up to %u", most);
    struct hal_set_layout *const null = NULL, *const five[5] = {rig.in, rig.in, rig.in, rig.in,
                                                                rig.in};
    const struct {
        struct hal_pipeline_layout_desc desc;
        const char *a, *b;
    } wrong[] = {
        {{0, "P", five, 5, 0}, "5 sets", "4"},         {{0, "P", NULL, 1, 0}, "1 set", "NULL"},
        {{0, "P", &null, 1, 0}, "set layout", "NULL"}, {{0, "P", five, 1, 6}, "6 bytes", limit},
        {{0, "P", five, 1, most + 4}, over, limit},
    };
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++)
        check_fails(suite, hal_pipeline_layout_create(suite_device(suite), &wrong[i].desc, &layout),
                    HAL_INVALID, wrong[i].a, wrong[i].b);
    hal_pipeline_layout_retain(NULL);
    hal_pipeline_layout_release(NULL);
}

static void wrong_pushes(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    set_up(suite, &rig, HAL_BINDING_DYNAMIC);
    struct hal_buffer *x = words(suite, "x", 0, 0, WORDS);
    const uint64_t zero = 0, far = 128, huge = UINT64_MAX;
    const struct hal_binding both[3] = {{x, 4, 4}, {x, 0, 4}, {x, 0, 4}}, one[2] = {{x, 0, 4}};
    const struct {
        struct hal_push_set_desc desc;
        const char *a, *b;
    } wrong[] = {
        {{0, NULL, 0, both, 2, &zero, 1}, "set layout", "NULL"},
        {{0, rig.in, 0, both, 2, NULL, 0}, "'inputs'", "1 dynamic"},
        {{0, rig.in, 0, both, 2, &zero, 2}, "2 dynamic offsets", "1 dynamic"},
        {{0, rig.in, 0, one, 2, &zero, 1}, "'inputs'", "lacks binding 1"},
        {{0, rig.in, 0, one, 0, &zero, 1}, "'inputs'", "lacks binding 0"},
        {{0, rig.in, 0, both, 3, &zero, 1}, "'inputs'", "no binding 2"},
        {{0, rig.in, 4, both, 2, &zero, 1}, "set 4", "3"},
        {{0, rig.in, 0, both, 2, &far, 1}, "'x'", "132 + 4"},
        {{0, rig.in, 0, both, 2, &huge, 1}, "binding 0", "2^64-1"},
        {{0, rig.in, 0, NULL, 2, &zero, 1}, "2 bindings", "NULL"},
        {{0, rig.in, 0, both, 40, &zero, 1}, "40 bindings", "31"},
    };
    for (size_t i = 0; i < SUITE_COUNT(wrong); i++) {
        suite_note(suite, "push %zu", i);
        check_fails(suite, hal_command_push_set(rig.commands, &wrong[i].desc), HAL_INVALID,
                    wrong[i].a, wrong[i].b);
    }
    check_fails(suite, hal_command_push_set(rig.commands, NULL), HAL_INVALID, "description");
    suite_run(suite, rig.commands);
}

static void missing_binding(struct suite *suite, uint64_t set)
{
    struct rig rig;
    set_up(suite, &rig, 0);
    struct hal_buffer *x = words(suite, "x", 0, 0, WORDS);
    const struct hal_binding binding = whole(x);
    for (uint32_t i = 0; i < 4; i++) {
        if (i != set)
            check_ok(suite, hal_command_push_descriptor_set(rig.commands, i, &binding, 1));
    }
    dispatch(suite, &rig, FOUR);
    check_fails(suite, hal_command_buffer_end(rig.commands), HAL_INVALID, "'list'", "dispatch 0",
                "'four'", "'of four'");
}

static void wrong_executables(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct rig rig;
    struct hal_executable *executable;
    set_up(suite, &rig, 0);
    const bool is_msl = suite_runs(suite, HAL_FORMAT_MSL);
    const struct hal_executable_variant variant = suite_variant(suite, source, MODULE_CASES);
    struct hal_pipeline_layout *none = suite_pipeline_layout(suite, "none", NULL, 0, 0);
    struct hal_pipeline_layout *one = suite_pipeline_layout(suite, "one", &rig.in, 1, 4);
    struct hal_executable_desc desc = {.label = "wrong.metal",
                                       .variants = &variant,
                                       .variant_count = 1,
                                       .entry_points = entries,
                                       .entry_point_count = 1,
                                       .layouts = &none};
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "wrong.metal", "combine", "4 bytes", "'none'");
    desc.layouts = &one;
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "combine", is_msl ? "[[buffer(1)]]" : "descriptor set 1", "'one'",
                is_msl ? "1 descriptor set" : "");
    if (!is_msl)
        return; /* slots are Metal's */
    struct hal_entry_point slot = entries[0];
    slot.constants_slot = 1;
    desc.entry_points = &slot;
    desc.layouts = &rig.combine;
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "combine", "slot 1", "'of combine'");
}

static const struct suite_case cases[] = {
    {"two_sets", two_sets, false},
    {"two_sets_indirect", two_sets, true},
    {"imported_memory_in_sets", imported_memory_in_sets, 0},
    {"four_sets", four_sets, false},
    {"four_sets_pushed_plainly", four_sets, true},
    {"read_and_then_written", read_and_then_written, 0},
    {"dynamic_offset", dynamic_offsets, 1},
    {"dynamic_offsets", dynamic_offsets, 50},
    {"without_layout", without_layout, 0},
    {"reflected", reflected, 0},
    {"wrong_set_layouts", wrong_set_layouts, 0},
    {"wrong_pipeline_layouts", wrong_pipeline_layouts, 0},
    {"wrong_pushes", wrong_pushes, 0},
    {"missing_first_set", missing_binding, 0},
    {"missing_last_set", missing_binding, 3},
    {"wrong_executables", wrong_executables, 0},
};

const struct suite_area area_layouts = {"layouts", cases, SUITE_COUNT(cases)};
