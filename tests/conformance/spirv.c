/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V executables, where the driver runs them: the path through the HAL; what such kernels
 * compute is tests/unit/spirv/test_spirv_*. */
#include "tests/conformance/spirv.comp.h"
#include "tests/conformance/suite.h"

#include <stdio.h>

enum { N = 256 };

/* One buffer per place. */
struct place {
    uint32_t set, binding;
    const void *before;
    uint64_t bytes;
    struct hal_buffer *buffer; /* of run */
};

static struct hal_executable_desc describe(const struct hal_executable_variant *module,
                                           const struct hal_entry_point *entry)
{
    return (struct hal_executable_desc){.label = "module",
                                        .variants = module,
                                        .variant_count = 1,
                                        .entry_points = entry,
                                        .entry_point_count = 1};
}
#define MODULE(name)                                                                               \
    &(const struct hal_executable_variant)                                                         \
    {                                                                                              \
        HAL_FORMAT_SPIRV, name, sizeof name                                                        \
    }

static void push(struct suite *suite, struct hal_command_buffer *commands, uint32_t set,
                 const struct place *places, size_t count)
{
    struct hal_binding bindings[HAL_MAX_BINDINGS] = {{0}};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (places[i].set != set)
            continue;
        bindings[places[i].binding] = (struct hal_binding){places[i].buffer, 0, HAL_WHOLE_BUFFER};
        used = places[i].binding + 1 > used ? places[i].binding + 1 : used;
    }
    if (used)
        check_ok(suite, hal_command_push_descriptor_set(commands, set, bindings, used));
}

/* Dispatches `groups` of the only entry point. */
static void run(struct suite *suite, const struct hal_executable_desc *desc, uint32_t groups,
                uint32_t constant, struct place *places, size_t count)
{
    struct hal_executable *executable = suite_executable(suite, desc);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (size_t i = 0; i < count; i++) {
        places[i].buffer = suite_buffer(suite, NULL, places[i].bytes);
        suite_write(suite, places[i].buffer, 0, places[i].before, places[i].bytes);
    }
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++)
        push(suite, commands, set, places, count);
    if (desc->entry_points[0].constant_bytes)
        check_ok(suite, hal_command_push_constants(commands, 0, &constant, sizeof constant));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (uint32_t[3]){groups, 1, 1}));
    suite_run(suite, commands);
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static void add(struct suite *suite, uint64_t constant)
{
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 4, 0};
    uint32_t x[N], wanted[N];
    suite_need(suite, HAL_FORMAT_SPIRV);
    for (uint32_t i = 0; i < N; i++) {
        x[i] = i * i;
        wanted[i] = i * i + (uint32_t)constant;
    }
    struct place place = {0, 0, x, sizeof x};
    const struct hal_executable_desc desc = describe(MODULE(spv_add), &entry);
    run(suite, &desc, N / 64, (uint32_t)constant, &place, 1);
    check_buffer(suite, place.buffer, 0, wanted, sizeof wanted);
}

static void specialized(struct suite *suite, uint64_t factor)
{
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    const struct hal_constant constant = {7, HAL_CONSTANT_UINT32, (uint32_t)factor};
    uint32_t x[64], wanted[64];
    suite_need(suite, HAL_FORMAT_SPIRV);
    for (uint32_t i = 0; i < 64; i++) {
        x[i] = i + 1;
        wanted[i] = (i + 1) * (factor ? (uint32_t)factor : 3);
    }
    struct place place = {0, 0, x, sizeof x};
    struct hal_executable_desc desc = describe(MODULE(spv_scale), &entry);
    desc.constants = &constant;
    desc.constant_count = factor ? 1 : 0;
    run(suite, &desc, 1, 0, &place, 1);
    check_buffer(suite, place.buffer, 0, wanted, sizeof wanted);
}

static void sets(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    uint32_t a[64], b[64], c[64], d[64] = {0}, wanted[64];
    suite_need(suite, HAL_FORMAT_SPIRV);
    for (uint32_t i = 0; i < 64; i++) {
        a[i] = i;
        b[i] = 100 * i;
        c[i] = 7;
        wanted[i] = 1000 * a[i] + b[i] - c[i];
    }
    struct place places[4] = {
        {0, 3, a, sizeof a}, {1, 0, b, sizeof b}, {2, 30, c, sizeof c}, {3, 1, d, sizeof d}};
    const struct hal_executable_desc desc = describe(MODULE(spv_sets), &entry);
    run(suite, &desc, 1, 0, places, 4);
    check_buffer(suite, places[3].buffer, 0, wanted, sizeof wanted);
}

/* Sums of workgroups through shared memory and subgroups. */
static void sums(struct suite *suite, uint64_t groups)
{
    static const struct hal_entry_point entry = {"main", {128, 1, 1}, 0, 0};
    uint32_t *x = suite_memory(suite, groups * 128 * 4), *y = suite_memory(suite, groups * 4);
    uint32_t *wanted = suite_memory(suite, groups * 4);
    suite_need(suite, HAL_FORMAT_SPIRV);
    suite_random_bytes(suite, x, groups * 128 * 4);
    for (uint64_t i = 0; i < groups * 128; i++)
        wanted[i / 128] += x[i];
    struct place places[2] = {{0, 0, x, groups * 128 * 4}, {0, 1, y, groups * 4}};
    const struct hal_executable_desc desc = describe(MODULE(spv_sum), &entry);
    run(suite, &desc, (uint32_t)groups, 0, places, 2);
    check_buffer(suite, places[1].buffer, 0, wanted, groups * 4);
}

static void array_length(struct suite *suite, uint64_t words)
{
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    uint32_t *x = suite_memory(suite, words * 4), y = 0;
    suite_need(suite, HAL_FORMAT_SPIRV);
    struct place places[2] = {{0, 0, x, words * 4}, {0, 1, &y, 4}};
    const struct hal_executable_desc desc = describe(MODULE(spv_length), &entry);
    const uint32_t wanted = (uint32_t)words;
    run(suite, &desc, 1, 0, places, 2);
    check_buffer(suite, places[1].buffer, 0, &wanted, 4);
}

static void reflection(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    static const uint32_t places[4][2] = {{0, 3}, {1, 0}, {2, 30}, {3, 1}};
    struct hal_entry_info info = {0};
    struct hal_executable_info about = {0};
    suite_need(suite, HAL_FORMAT_SPIRV);
    struct hal_executable_desc desc = describe(MODULE(spv_sets), &entry);
    check_ok(suite, hal_executable_get_entry(suite_executable(suite, &desc), 0, &info));
    check_u64(suite, info.binding_count, 4);
    for (size_t i = 0; i < 4; i++) {
        check_u64(suite, info.bindings[i].set, places[i][0]);
        check_u64(suite, info.bindings[i].index, places[i][1]);
        check(suite, !info.bindings[i].access || info.bindings[i].access & HAL_ACCESS_READ);
    }
    desc = describe(MODULE(spv_scale), &entry);
    check_ok(suite, hal_executable_get_info(suite_executable(suite, &desc), &about));
    check_u64(suite, about.constant_count, 1);
    check_u64(suite, about.constants[0].index, 7);
    check_u64(suite, about.constants[0].type, HAL_CONSTANT_UINT32);
    check(suite, strcmp(about.constants[0].name, "factor") == 0);
    check(suite, !about.constants[0].is_given);
}

static void refusals(struct suite *suite, uint64_t which)
{
    static const struct {
        struct hal_entry_point entry;
        const char *text;
    } wrong[] = {
        {{"main", {32, 1, 1}, 4, 0}, "64 x 1 x 1"},
        {{"other", {64, 1, 1}, 4, 0}, "other"},
        {{"main", {64, 1, 1}, 0, 0}, "push constants"},
    };
    struct hal_executable *executable = NULL;
    suite_need(suite, HAL_FORMAT_SPIRV);
    const struct hal_executable_desc desc = describe(MODULE(spv_add), &wrong[which].entry);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "module", wrong[which].text);
}

static void missing_binding(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_entry_point entry = {"main", {64, 1, 1}, 0, 0};
    suite_need(suite, HAL_FORMAT_SPIRV);
    const struct hal_executable_desc desc = describe(MODULE(spv_sets), &entry);
    struct hal_executable *executable = suite_executable(suite, &desc);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    struct hal_buffer *x = suite_buffer(suite, NULL, 256);
    const struct hal_binding bindings[4] = {[3] = {x, 0, HAL_WHOLE_BUFFER}};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 4));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    check_fails(suite, hal_command_buffer_end(commands), HAL_INVALID, "list",
                "binding 0 of descriptor set 1");
}

/* ---- What a module does with its buffers ----------------------------------------------------- */

static const struct hal_entry_point access_entry = {"main", {64, 1, 1}, 0, 0};

static void access_is_what_the_code_does(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct {
        uint32_t access;
        uint64_t bytes;
    } wanted[4] = {{HAL_ACCESS_READ, 0},
                   {HAL_ACCESS_READ | HAL_ACCESS_WRITE, 0},
                   {HAL_ACCESS_READ | HAL_ACCESS_WRITE, 0},
                   {HAL_ACCESS_READ, 20}};
    struct hal_entry_info info = {0};
    suite_need(suite, HAL_FORMAT_SPIRV);
    const struct hal_executable_desc desc = describe(MODULE(spv_access), &access_entry);
    check_ok(suite, hal_executable_get_entry(suite_executable(suite, &desc), 0, &info));
    check_u64(suite, info.binding_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        suite_note(suite, "binding %u", i);
        check_u64(suite, info.bindings[i].index, i);
        check_u64(suite, info.bindings[i].access, wanted[i].access);
        check_u64(suite, info.bindings[i].bytes, wanted[i].bytes);
        check(suite, info.bindings[i].alignment > 0);
    }
}

/* Of four bindings, those of `read_only` are read-only in the layout; number 3 is uniform. */
static struct hal_pipeline_layout *lay_out(struct suite *suite, uint32_t read_only, size_t count)
{
    struct hal_layout_binding bindings[4];
    for (uint32_t i = 0; i < 4; i++)
        bindings[i] =
            (struct hal_layout_binding){i, i == 3 ? HAL_BINDING_UNIFORM : HAL_BINDING_STORAGE,
                                        read_only >> i & 1 ? (uint32_t)HAL_BINDING_READ_ONLY : 0U};
    struct hal_set_layout *set = suite_set_layout(suite, "set", bindings, count);
    return suite_pipeline_layout(suite, "promises", &set, 1, 0);
}

static void run_access(struct suite *suite, struct hal_executable *executable,
                       uint64_t uniform_bytes, enum hal_status wanted_status)
{
    uint32_t a[64], wanted[64], c = 5;
    const uint32_t uniform[8] = {10, 0, 0, 0, 3};
    const uint64_t bytes[4] = {256, 256, 4, 32};
    struct hal_binding bindings[4];
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    for (uint32_t i = 0; i < 64; i++) {
        a[i] = 100 * i;
        wanted[i] = 200 * i + 13;
    }
    const void *const contents[4] = {a, a, &c, uniform};
    for (uint32_t i = 0; i < 4; i++) {
        struct hal_buffer *buffer = suite_buffer(suite, i == 3 ? "uniform" : NULL, bytes[i]);
        suite_write(suite, buffer, 0, contents[i], bytes[i]);
        bindings[i] = (struct hal_binding){buffer, 0, i == 3 ? uniform_bytes : HAL_WHOLE_BUFFER};
    }
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 4));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    if (wanted_status != HAL_OK) {
        check_fails(suite, hal_command_buffer_end(commands), wanted_status, "'list'", "dispatch 0",
                    "'main'", "binding 3 of descriptor set 0", "at least 20 bytes", "'uniform'");
        return;
    }
    c += 64;
    suite_run(suite, commands);
    check_buffer(suite, bindings[1].buffer, 0, wanted, sizeof wanted);
    check_buffer(suite, bindings[2].buffer, 0, &c, sizeof c);
}

static void read_only_is_kept(struct suite *suite, uint64_t read_only)
{
    suite_need(suite, HAL_FORMAT_SPIRV);
    struct hal_pipeline_layout *const layout = lay_out(suite, (uint32_t)read_only, 4);
    struct hal_executable_desc desc = describe(MODULE(spv_access), &access_entry);
    desc.layouts = &layout;
    run_access(suite, suite_executable(suite, &desc), 32, HAL_OK);
}

static void read_only_is_broken(struct suite *suite, uint64_t binding)
{
    struct hal_executable *executable = NULL;
    char text[48];
    suite_need(suite, HAL_FORMAT_SPIRV);
    struct hal_pipeline_layout *const layout = lay_out(suite, 1U << binding, 4);
    struct hal_executable_desc desc = describe(MODULE(spv_access), &access_entry);
    desc.layouts = &layout;
    snprintf(text, sizeof text, "writes binding %u of descriptor set 0", (unsigned)binding);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "module", "'main'", text, "'promises'", "0x1");
}

static void layout_lacks(struct suite *suite, uint64_t count)
{
    struct hal_executable *executable = NULL;
    char text[48];
    suite_need(suite, HAL_FORMAT_SPIRV);
    struct hal_pipeline_layout *const layout = lay_out(suite, 0, count);
    struct hal_executable_desc desc = describe(MODULE(spv_access), &access_entry);
    desc.layouts = &layout;
    snprintf(text, sizeof text, "takes binding %u of descriptor set 0", (unsigned)count);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "module", "'main'", text, "'promises'");
}

static void uniform_of(struct suite *suite, uint64_t bytes)
{
    suite_need(suite, HAL_FORMAT_SPIRV);
    const struct hal_executable_desc desc = describe(MODULE(spv_access), &access_entry);
    run_access(suite, suite_executable(suite, &desc), bytes, bytes < 20 ? HAL_INVALID : HAL_OK);
}

static const struct suite_case cases[] = {
    {"add_5", add, 5},
    {"add_nothing", add, 0},
    {"specialized", specialized, 11},
    {"specialized_by_default", specialized, 0},
    {"sets", sets, 0},
    {"sum_of_1_group", sums, 1},
    {"sums_of_100_groups", sums, 100},
    {"array_of_1", array_length, 1},
    {"array_of_1000", array_length, 1000},
    {"reflection", reflection, 0},
    {"other_workgroup_size", refusals, 0},
    {"other_name", refusals, 1},
    {"other_push_constants", refusals, 2},
    {"missing_binding", missing_binding, 0},
    {"access_is_what_the_code_does", access_is_what_the_code_does, 0},
    {"read_only_nowhere", read_only_is_kept, 0},
    {"read_only_where_it_is_read", read_only_is_kept, 1 | 8},
    {"read_only_is_stored_to", read_only_is_broken, 1},
    {"read_only_is_added_to", read_only_is_broken, 2},
    {"layout_without_a_binding", layout_lacks, 3},
    {"layout_without_any", layout_lacks, 0},
    {"uniform_of_19_bytes", uniform_of, 19},
    {"uniform_of_20_bytes", uniform_of, 20},
};

const struct suite_area area_spirv = {"spirv", cases, SUITE_COUNT(cases)};
