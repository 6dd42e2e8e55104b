/* SPDX-License-Identifier: Apache-2.0 */
/* Executables: entry points, limits of groups, and what a user who wrote something wrong is told.
 */
#include "tests/conformance/executables.h"

#include <stdio.h>

static const char two_kernels[] = "#include <metal_stdlib>\n"
                                  "using namespace metal;\n"
                                  "kernel void plus_one(device uint *x [[buffer(0)]],\n"
                                  "                     uint i [[thread_position_in_grid]])\n"
                                  "{ x[i] += 1; }\n"
                                  "kernel void plus_ten(device uint *x [[buffer(0)]],\n"
                                  "                     uint i [[thread_position_in_grid]])\n"
                                  "{ x[i] += 10; }\n";

struct hal_executable_desc executable_msl(const char *label, const char *source,
                                          const struct hal_entry_point *entries, size_t count)
{
    return (struct hal_executable_desc){.label = label,
                                        .format = HAL_FORMAT_MSL,
                                        .data = source,
                                        .bytes = strlen(source),
                                        .entry_points = entries,
                                        .entry_point_count = count};
}

struct hal_executable_desc executable_any(struct suite *suite, const char *label,
                                          const char *source, enum suite_module module,
                                          const struct hal_entry_point *entries, size_t count)
{
    const struct hal_executable_variant variant = suite_variant(suite, source, module);
    return (struct hal_executable_desc){.label = label,
                                        .format = variant.format,
                                        .data = variant.data,
                                        .bytes = variant.bytes,
                                        .entry_points = entries,
                                        .entry_point_count = count};
}

void executable_run_words(struct suite *suite, struct hal_executable *executable, uint32_t entry,
                          uint32_t groups, uint32_t *words, size_t count)
{
    struct hal_buffer *x = suite_buffer(suite, "x", count * 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    suite_write(suite, x, 0, words, count * 4);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_dispatch(commands, executable, entry, (uint32_t[3]){groups, 1, 1}));
    suite_run(suite, commands);
    suite_read(suite, x, 0, words, count * 4);
}

/* ---- Threadgroup arguments ------------------------------------------------------------------ */

/* Each group turns its words around and adds what its other argument holds. */
static void group_arguments(struct suite *suite, uint64_t threads)
{
    suite_need(suite, HAL_FORMAT_MSL);
    static const char source[] =
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "kernel void turn(device uint *x [[buffer(0)]], threadgroup uint *all [[threadgroup(0)]],\n"
        "                 threadgroup ushort *more [[threadgroup(2)]],\n"
        "                 uint i [[thread_position_in_grid]],\n"
        "                 uint t [[thread_index_in_threadgroup]],\n"
        "                 uint n [[threads_per_threadgroup]])\n"
        "{\n"
        "    all[t] = x[i];\n"
        "    more[t] = ushort(t * 3);\n"
        "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    x[i] = all[n - 1 - t] + more[(t + 1) % n];\n"
        "}\n";
    enum { MAX_WORDS = 3 * 256 };
    uint32_t words[MAX_WORDS], wanted[MAX_WORDS];
    const uint32_t count = (uint32_t)threads;
    const struct hal_entry_point entry = {
        .name = "turn",
        .workgroup_size = {count, 1, 1},
        .workgroup_argument_bytes = {(count * 4 + 15) & ~15U, 0, (count * 2 + 15) & ~15U},
    };
    const struct hal_executable_desc desc = executable_msl("turn", source, &entry, 1);
    struct hal_executable *executable = suite_executable(suite, &desc);
    for (uint32_t i = 0; i < 3 * count; i++) {
        const uint32_t group = i / count, t = i % count;
        words[i] = i * 1000;
        wanted[i] = (group * count + count - 1 - t) * 1000 + (t + 1) % count * 3;
    }
    executable_run_words(suite, executable, 0, 3, words, 3 * count);
    check_bytes(suite, words, wanted, 3 * count * sizeof *words);
}

/* As many of them as there may be, each with a number of its own. */
static void all_group_arguments(struct suite *suite, uint64_t unused)
{
    suite_need(suite, HAL_FORMAT_MSL);
    (void)unused;
    char source[1200];
    struct hal_entry_point entry = {.name = "all", .workgroup_size = {1, 1, 1}};
    uint32_t words[HAL_MAX_WORKGROUP_ARGUMENTS] = {0}, wanted[HAL_MAX_WORKGROUP_ARGUMENTS];
    int length = snprintf(source, sizeof source,
                          "#include <metal_stdlib>\nusing namespace metal;\n"
                          "kernel void all(device uint *x [[buffer(0)]]");
    for (int i = 0; i < HAL_MAX_WORKGROUP_ARGUMENTS; i++)
        length += snprintf(source + length, sizeof source - (size_t)length,
                           ",\n    threadgroup uint *g%d [[threadgroup(%d)]]", i, i);
    length += snprintf(source + length, sizeof source - (size_t)length, ")\n{\n");
    for (int i = 0; i < HAL_MAX_WORKGROUP_ARGUMENTS; i++)
        length += snprintf(source + length, sizeof source - (size_t)length, "    g%d[3] = %d;\n", i,
                           1000 + i);
    for (int i = 0; i < HAL_MAX_WORKGROUP_ARGUMENTS; i++) {
        length += snprintf(source + length, sizeof source - (size_t)length, "    x[%d] = g%d[3];\n",
                           i, i);
        entry.workgroup_argument_bytes[i] = 16;
        wanted[i] = 1000 + (uint32_t)i;
    }
    snprintf(source + length, sizeof source - (size_t)length, "}\n");
    const struct hal_executable_desc desc = executable_msl("all", source, &entry, 1);
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, words,
                         HAL_MAX_WORKGROUP_ARGUMENTS);
    check_bytes(suite, words, wanted, sizeof words);
}

/* ---- Entry points --------------------------------------------------------------------------- */

static void entries_in_any_order(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_entry_point entries[3] = {{"plus_ten", {4, 1, 1}, 0, 0},
                                         {"plus_one", {4, 1, 1}, 0, 0},
                                         {"plus_ten", {2, 1, 1}, 0, 0}};
    uint32_t wanted[3][4] = {{10, 10, 10, 10}, {1, 1, 1, 1}, {10, 10, 0, 0}};
    if (!suite_runs(suite, HAL_FORMAT_MSL)) { /* a module fixes the size */
        entries[2].workgroup_size[0] = 4;
        wanted[2][2] = wanted[2][3] = 10;
    }
    const struct hal_executable_desc desc =
        executable_any(suite, "two", two_kernels, MODULE_CASES, entries, 3);
    struct hal_executable *executable = suite_executable(suite, &desc);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t words[4] = {0};
        executable_run_words(suite, executable, i, 1, words, 4);
        suite_note(suite, "entry point %u", i);
        check_bytes(suite, words, wanted[i], sizeof words);
    }
}

static void find(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint32_t entry = 99;
    static const struct hal_entry_point entries[2] = {{"plus_ten", {4, 1, 1}, 0, 0},
                                                      {"plus_one", {4, 1, 1}, 0, 0}};
    const struct hal_executable_desc desc =
        executable_any(suite, "two", two_kernels, MODULE_CASES, entries, 2);
    struct hal_executable *executable = suite_executable(suite, &desc);
    check_ok(suite, hal_executable_find(executable, "plus_one", &entry));
    check_u64(suite, entry, 1);
    check_ok(suite, hal_executable_find(executable, "plus_ten", &entry));
    check_u64(suite, entry, 0);
    check_fails(suite, hal_executable_find(executable, "plus_two", &entry), HAL_NOT_FOUND, "two",
                "plus_two");
    check_fails(suite, hal_executable_find(executable, "", &entry), HAL_NOT_FOUND, "two");
    check_fails(suite, hal_executable_find(executable, NULL, &entry), HAL_NOT_FOUND, "two");
    check_u64(suite, entry, 0);
}

static void host_name(struct suite *suite, uint64_t unused)
{
    suite_need(suite, HAL_FORMAT_MSL);
    (void)unused;
    static const char source[] =
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "template <typename T> kernel void fill_with(device T *x [[buffer(0)]],\n"
        "                                            uint i [[thread_position_in_grid]])\n"
        "{ x[i] = T(i * 3); }\n"
        "template [[host_name(\"fill_uint\")]] kernel void fill_with<uint>(device uint *, uint);\n";
    static const struct hal_entry_point entry = {"fill_uint", {4, 1, 1}, 0, 0};
    static const uint32_t wanted[4] = {0, 3, 6, 9};
    uint32_t words[4] = {7, 7, 7, 7};
    const struct hal_executable_desc desc = executable_msl("templates", source, &entry, 1);
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, words, 4);
    check_bytes(suite, words, wanted, sizeof words);
}

static void many_entry_points(struct suite *suite, uint64_t count)
{
    suite_need(suite, HAL_FORMAT_MSL);
    char *source = suite_memory(suite, 200 + count * 120), (*names)[16];
    struct hal_entry_point *entries = suite_memory(suite, count * sizeof *entries);
    names = suite_memory(suite, count * sizeof *names);
    size_t used =
        (size_t)snprintf(source, 100, "#include <metal_stdlib>\nusing namespace metal;\n");
    for (uint64_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "add_%u", (unsigned)i);
        used += (size_t)snprintf(source + used, 120,
                                 "kernel void %s(device uint *x [[buffer(0)]]) { x[0] += %u; }\n",
                                 names[i], (unsigned)i * 7);
        entries[i] = (struct hal_entry_point){names[i], {1, 1, 1}, 0, 0};
    }
    const struct hal_executable_desc desc = executable_msl("many", source, entries, count);
    struct hal_executable *executable = suite_executable(suite, &desc);
    for (uint32_t i = 0; i < count; i += 13) {
        uint32_t word = 1000, entry = 0;
        check_ok(suite, hal_executable_find(executable, names[i], &entry));
        executable_run_words(suite, executable, entry, 1, &word, 1);
        check_u64(suite, word, 1000 + i * 7);
    }
}

/* The description may go when the call returns. */
static void description_is_copied(struct suite *suite, uint64_t unused)
{
    (void)unused;
    char name[16] = "plus_ten";
    struct hal_entry_point entry = {name, {4, 1, 1}, 0, 0};
    uint32_t words[4] = {1, 2, 3, 4}, index = 7;
    const uint32_t wanted[4] = {11, 12, 13, 14};
    struct hal_executable_desc desc =
        executable_any(suite, "copied", two_kernels, MODULE_CASES, &entry, 1);
    void *copy = suite_memory(suite, desc.bytes);
    memcpy(copy, desc.data, desc.bytes);
    desc.data = copy;
    struct hal_executable *executable = suite_executable(suite, &desc);
    memset(copy, '?', desc.bytes);
    memset(name, 'z', 4);
    memset(entry.workgroup_size, 0, sizeof entry.workgroup_size);
    check_ok(suite, hal_executable_find(executable, "plus_ten", &index));
    executable_run_words(suite, executable, index, 1, words, 4);
    check_bytes(suite, words, wanted, sizeof words);
}

/* Only the given bytes belong to the source: no terminating zero is looked for. */
static void source_without_an_end(struct suite *suite, uint64_t unused)
{
    suite_need(suite, HAL_FORMAT_MSL);
    (void)unused;
    static const struct hal_entry_point entry = {"plus_one", {1, 1, 1}, 0, 0};
    char *source = suite_memory(suite, sizeof two_kernels + 40);
    uint32_t word = 5;
    memcpy(source, two_kernels, sizeof two_kernels - 1);
    memset(source + sizeof two_kernels - 1, '(', 40);
    struct hal_executable_desc desc = executable_msl("cut", two_kernels, &entry, 1);
    desc.data = source;
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, &word, 1);
    check_u64(suite, word, 6);
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* As many threads as a group may have, along one dimension. */
static void largest_group(struct suite *suite, uint64_t dimension)
{
    static const char source[] = "#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "kernel void number(device uint *x [[buffer(0)]],\n"
                                 "                   uint i [[thread_index_in_threadgroup]])\n"
                                 "{ x[i] = i + 1; }\n";
    const struct hal_device_info *info = suite_info(suite);
    struct hal_entry_point entry = {suite_entry(suite, "number"), {1, 1, 1}, 0, 0};
    uint32_t size = info->max_workgroup_size[dimension];
    if (size > info->max_workgroup_threads)
        size = info->max_workgroup_threads;
    entry.workgroup_size[dimension] = size;
    uint32_t *words = suite_memory(suite, (size_t)size * 4);
    struct hal_executable_desc desc =
        executable_any(suite, "largest", source, MODULE_LARGEST, &entry, 1);
    const struct hal_constant sizes[3] = {{0, HAL_CONSTANT_UINT32, entry.workgroup_size[0]},
                                          {1, HAL_CONSTANT_UINT32, entry.workgroup_size[1]},
                                          {2, HAL_CONSTANT_UINT32, entry.workgroup_size[2]}};
    desc.constants = sizes;
    desc.constant_count = desc.format == HAL_FORMAT_SPIRV ? 3 : 0;
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, words, size);
    for (uint32_t i = 0; i < size; i++)
        check_u64(suite, words[i], i + 1);
}

static void group_memory(struct suite *suite, uint64_t over)
{
    char source[500];
    const uint64_t bytes = suite_info(suite)->max_workgroup_memory_bytes + over;
    const struct hal_entry_point entry = {suite_entry(suite, "use_much"), {64, 1, 1}, 0, 0};
    const struct hal_constant words_of = {0, HAL_CONSTANT_UINT32, (uint32_t)(bytes / 4)};
    struct hal_executable *executable;
    uint32_t words[64] = {0};
    snprintf(source, sizeof source,
             "#include <metal_stdlib>\n"
             "using namespace metal;\n"
             "kernel void use_much(device uint *x [[buffer(0)]],\n"
             "                     uint i [[thread_index_in_threadgroup]])\n"
             "{\n"
             "    threadgroup uint s[%u];\n"
             "    for (uint k = i; k < %u; k += 64) s[k] = k;\n"
             "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
             "    x[i] = s[%u - 1 - i];\n"
             "}\n",
             (unsigned)bytes / 4, (unsigned)bytes / 4, (unsigned)bytes / 4);
    struct hal_executable_desc desc =
        executable_any(suite, "greedy", source, MODULE_GREEDY, &entry, 1);
    desc.constants = &words_of;
    desc.constant_count = desc.format == HAL_FORMAT_SPIRV;
    if (over) {
        check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable),
                    HAL_INVALID, "greedy", entry.name);
        return;
    }
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, words, 64);
    for (uint32_t i = 0; i < 64; i++)
        check_u64(suite, words[i], bytes / 4 - 1 - i);
}

/* ---- What is wrong -------------------------------------------------------------------------- */

/* The message has the label and the user's line. */
struct mistake {
    const char *source;
    const char *place; /* "LABEL:LINE" */
    const char *says;
};

static const struct mistake mistakes[] = {
    {"#include <metal_stdlib>\nusing namespace metal;\n\nkernel void f(device uint *x "
     "[[buffer(0)]])\n{\n    x[0] = missing;\n}\n",
     "wrong.metal:6", "missing"},
    {"kernel void f(\n", "wrong.metal:", "error"},
    {"#include <metal_stdlib>\nusing namespace metal;\nkernel void f(device uint *x [[buffer(0)]])"
     " { x[0] = 1 }\n",
     "wrong.metal:3", ";"},
    {"#include \"nowhere.h\"\nkernel void f() {}\n", "wrong.metal:1", "nowhere.h"},
    {"#include <metal_stdlib>\nusing namespace metal;\n#error stop here\nkernel void f() {}\n",
     "wrong.metal:3", "stop here"},
    {"#include <metal_stdlib>\nusing namespace metal;\n\n\n\nkernel void f(device uint *x "
     "[[buffer(0)]]) { x[0] = float3(1, 2); }\n",
     "wrong.metal:6", "error"},
};

static void mistake(struct suite *suite, uint64_t which)
{
    suite_need(suite, HAL_FORMAT_MSL);
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    struct hal_executable *executable;
    const struct hal_executable_desc desc =
        executable_msl("wrong.metal", mistakes[which].source, &entry, 1);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                mistakes[which].place, mistakes[which].says);
}

static void no_such_entry_point(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_entry_point entries[2] = {{"plus_one", {4, 1, 1}, 0, 0},
                                                      {"plus_two", {4, 1, 1}, 0, 0}};
    struct hal_executable *executable;
    const struct hal_executable_desc desc =
        executable_any(suite, "two", two_kernels, MODULE_CASES, entries, 2);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "two", "plus_two");
}

/* A mistake leaves nothing behind: what was right before is so afterwards. */
static void right_after_wrong(struct suite *suite, uint64_t unused)
{
    static const struct hal_entry_point entry = {"plus_one", {1, 1, 1}, 0, 0};
    uint32_t word = 1;
    mistake(suite, unused);
    const struct hal_executable_desc desc = executable_msl("wrong.metal", two_kernels, &entry, 1);
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, &word, 1);
    check_u64(suite, word, 2);
}

static void not_a_source(struct suite *suite, uint64_t bytes)
{
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    struct hal_executable *executable;
    uint8_t *data = suite_memory(suite, bytes);
    struct hal_executable_desc desc = executable_msl("noise", "", &entry, 1);
    suite_random_bytes(suite, data, bytes);
    desc.format = suite_variant(suite, "", MODULE_CASES).format;
    desc.data = data;
    desc.bytes = bytes;
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "noise");
}

static void no_label(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_entry_point entry = {"plus_one", {4, 1, 1}, 0, 0};
    uint32_t words[4] = {1, 1, 1, 1}, index;
    const struct hal_executable_desc desc =
        executable_any(suite, NULL, two_kernels, MODULE_CASES, &entry, 1);
    struct hal_executable *executable = suite_executable(suite, &desc);
    executable_run_words(suite, executable, 0, 1, words, 4);
    check_u64(suite, words[3], 2);
    check_fails(suite, hal_executable_find(executable, "other", &index), HAL_NOT_FOUND, "other");
    hal_executable_retain(executable);
    hal_executable_release(executable);
    hal_executable_retain(NULL);
    hal_executable_release(NULL);
}

static const struct suite_case cases[] = {
    {"entries_in_any_order", entries_in_any_order, 0},
    {"find", find, 0},
    {"group_arguments_of_32", group_arguments, 32},
    {"group_arguments_of_7", group_arguments, 7},
    {"group_arguments_of_256", group_arguments, 256},
    {"all_group_arguments", all_group_arguments, 0},
    {"host_name", host_name, 0},
    {"many_entry_points", many_entry_points, 100},
    {"description_is_copied", description_is_copied, 0},
    {"source_without_an_end", source_without_an_end, 0},
    {"largest_group_in_x", largest_group, 0},
    {"largest_group_in_y", largest_group, 1},
    {"largest_group_in_z", largest_group, 2},
    {"all_group_memory", group_memory, 0},
    {"too_much_group_memory", group_memory, 4},
    {"unknown_name", mistake, 0},
    {"unfinished_source", mistake, 1},
    {"missing_semicolon", mistake, 2},
    {"missing_header", mistake, 3},
    {"error_directive", mistake, 4},
    {"wrong_types", mistake, 5},
    {"no_such_entry_point", no_such_entry_point, 0},
    {"right_after_wrong", right_after_wrong, 0},
    {"not_a_source", not_a_source, 3000},
    {"one_byte_of_source", not_a_source, 1},
    {"no_label", no_label, 0},
};

const struct suite_area area_executables = {"executables", cases, SUITE_COUNT(cases)};
