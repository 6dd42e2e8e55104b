/* SPDX-License-Identifier: Apache-2.0 */
/* Executables in several formats side by side, and what they say about themselves. */
#include "tests/conformance/suite.h"

#define KERNEL(text)                                                                               \
    "#include <metal_stdlib>\n"                                                                    \
    "using namespace metal;\n"                                                                     \
    "kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"            \
    "{ " text " }\n"

static const char plus_one[] = KERNEL("x[i] += 1;");
static const char plus_ten[] = KERNEL("x[i] += 10;");
static const char broken[] = KERNEL("x[i] += undeclared_name;");
static const char junk[] = "neither a library nor a module";
static const struct hal_entry_point entry_k = {"k", {4, 1, 1}, 0, 0};
static const struct hal_entry_point entry_main = {"main", {4, 1, 1}, 0, 0};

static struct hal_executable_variant variant_of(enum hal_executable_format format, const char *text)
{
    return (struct hal_executable_variant){format, text, strlen(text)};
}

static struct hal_executable_variant one(struct suite *suite)
{
    return suite_variant(suite, plus_one, MODULE_PLUS_ONE);
}

static struct hal_executable_variant ten(struct suite *suite)
{
    return suite_variant(suite, plus_ten, MODULE_PLUS_TEN);
}

static struct hal_executable_desc describe(const struct suite *suite, const char *label,
                                           const struct hal_executable_variant *variants,
                                           size_t count)
{
    return (struct hal_executable_desc){
        .label = label,
        .variants = variants,
        .variant_count = count,
        .entry_points = suite_runs(suite, HAL_FORMAT_MSL) ? &entry_k : &entry_main,
        .entry_point_count = 1};
}

/* Right in itself, but with more [[threadgroup(n)]] arguments than entry points have lengths for.
 */
static const char beyond_a_limit[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void k(device uint *x [[buffer(0)]], threadgroup uint *s [[threadgroup(8)]],\n"
    "              uint i [[thread_position_in_grid]])\n"
    "{ s[i] = x[i]; x[i] = s[i]; }\n";

/* Four words of 0 after one workgroup. */
static void check_adds(struct suite *suite, struct hal_executable *executable, uint32_t each)
{
    const uint32_t wanted[4] = {each, each, each, each};
    struct hal_buffer *x = suite_buffer(suite, "x", sizeof wanted);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    suite_clear(suite, x, 0);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

/* A format that the device says it does not run; 0: it runs all. */
static enum hal_executable_format foreign_format(const struct suite *suite)
{
    const struct hal_device_info *info = suite_info(suite);
    for (int format = HAL_FORMAT_SPIRV; format >= HAL_FORMAT_MSL; format--) {
        bool runs = false;
        for (uint32_t i = 0; i < info->format_count; i++)
            runs |= (int)info->formats[i] == format;
        if (!runs)
            return (enum hal_executable_format)format;
    }
    return (enum hal_executable_format)0;
}

static enum hal_executable_format need_foreign_format(struct suite *suite)
{
    const enum hal_executable_format format = foreign_format(suite);
    if (!format)
        suite_skip(suite, "the device runs every format");
    return format;
}

/* ---- Choosing ------------------------------------------------------------------------------- */

static void formats_make_sense(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_device_info *info = suite_info(suite);
    check(suite, info->format_count >= 1 && info->format_count <= HAL_MAX_FORMATS);
    for (uint32_t i = 0; i < info->format_count; i++) {
        check(suite, info->formats[i] >= HAL_FORMAT_MSL && info->formats[i] <= HAL_FORMAT_SPIRV);
        for (uint32_t k = 0; k < i; k++)
            check(suite, info->formats[k] != info->formats[i]);
    }
}

static void one_in_a_list(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable_info info = {0};
    const struct hal_executable_variant variant = one(suite);
    const struct hal_executable_desc desc = describe(suite, "list of one", &variant, 1);
    struct hal_executable *executable = suite_executable(suite, &desc);
    check_adds(suite, executable, 1);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check(suite, strcmp(info.label, "list of one") == 0);
    check_u64(suite, info.variant_count, 1);
    check_u64(suite, info.variant, 0);
    check_u64(suite, info.format, one(suite).format);
    check_u64(suite, info.entry_point_count, 1);
}

static void first_of_a_format(struct suite *suite, uint64_t ten_first)
{
    struct hal_executable_info info = {0};
    const struct hal_executable_variant variants[2] = {ten_first ? ten(suite) : one(suite),
                                                       ten_first ? one(suite) : ten(suite)};
    const struct hal_executable_desc desc = describe(suite, "two", variants, 2);
    struct hal_executable *executable = suite_executable(suite, &desc);
    check_adds(suite, executable, ten_first ? 10 : 1);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.variant_count, 2);
    check_u64(suite, info.variant, 0);
}

/* What the device cannot run stands at each place of a list of eight. */
static void foreign_are_passed_over(struct suite *suite, uint64_t at)
{
    struct hal_executable_info info = {0};
    const enum hal_executable_format foreign = need_foreign_format(suite);
    struct hal_executable_variant variants[8];
    for (uint64_t i = 0; i < 8; i++)
        variants[i] = i == at ? ten(suite) : variant_of(foreign, junk);
    const struct hal_executable_desc desc = describe(suite, "many", variants, 8);
    struct hal_executable *executable = suite_executable(suite, &desc);
    check_adds(suite, executable, 10);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.variant, at);
    check_u64(suite, info.variant_count, 8);
    check_u64(suite, info.format, one(suite).format);
}

static void none_is_possible(struct suite *suite, uint64_t count)
{
    struct hal_executable *executable;
    const enum hal_executable_format foreign = need_foreign_format(suite);
    struct hal_executable_variant variants[HAL_MAX_VARIANTS];
    for (uint64_t i = 0; i < count; i++)
        variants[i] = variant_of(foreign, junk);
    const struct hal_executable_desc desc = describe(suite, "stranger", variants, count);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable),
                HAL_UNSUPPORTED, "stranger",
                foreign == HAL_FORMAT_METALLIB ? "metallib"
                : foreign == HAL_FORMAT_SPIRV  ? "SPIR-V"
                                               : "MSL");
}

/* A mistake in what the device runs is told, not passed over. */
static void mistakes_are_told(struct suite *suite, uint64_t unused)
{
    (void)unused;
    suite_need(suite, HAL_FORMAT_MSL);
    struct hal_executable *executable;
    const struct hal_executable_variant variants[2] = {variant_of(HAL_FORMAT_MSL, broken),
                                                       one(suite)};
    const struct hal_executable_desc desc = describe(suite, "mistaken", variants, 2);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "mistaken", "undeclared_name");
}

static void data_are_copied(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable_variant variants[2] = {ten(suite), one(suite)};
    const size_t bytes = variants[0].bytes;
    void *copy = suite_memory(suite, bytes);
    memcpy(copy, variants[0].data, bytes);
    variants[0].data = copy;
    const struct hal_executable_desc desc = describe(suite, "copied", variants, 2);
    struct hal_executable *executable = suite_executable(suite, &desc);
    memset(copy, 'x', bytes);
    memset(variants, 0, sizeof variants);
    check_adds(suite, executable, 10);
}

static void as_many_as_allowed(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable_info info = {0};
    struct hal_executable_variant variants[HAL_MAX_VARIANTS];
    for (size_t i = 0; i < HAL_MAX_VARIANTS; i++)
        variants[i] = i == 0 ? one(suite) : ten(suite);
    const struct hal_executable_desc desc = describe(suite, "sixteen", variants, HAL_MAX_VARIANTS);
    struct hal_executable *executable = suite_executable(suite, &desc);
    check_adds(suite, executable, 1);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.variant_count, HAL_MAX_VARIANTS);
}

static void wrong_lists(struct suite *suite, uint64_t which)
{
    struct hal_executable *executable;
    struct hal_executable_variant variants[HAL_MAX_VARIANTS + 1];
    const char *text = "", *more = "";
    for (size_t i = 0; i <= HAL_MAX_VARIANTS; i++)
        variants[i] = one(suite);
    struct hal_executable_desc desc = describe(suite, "EXE", variants, 2);
    switch (which) {
    case 0: desc.data = plus_one, text = "2 variants", more = "its own data"; break;
    case 1: desc.bytes = 1, text = "2 variants", more = "its own data"; break;
    case 2: desc.format = HAL_FORMAT_MSL, text = "2 variants", more = "its own data"; break;
    case 3: desc.variant_count = HAL_MAX_VARIANTS + 1, text = "17 variants", more = "16"; break;
    case 4: desc.variants = NULL, text = "2 variants", more = "NULL"; break;
    case 5:
        variants[1].format = (enum hal_executable_format)9, text = "variant 1", more = "9";
        break;
    case 6: variants[1].data = NULL, text = "variant 1", more = "no data"; break;
    default: variants[0].bytes = 0, text = "variant 0", more = "no data"; break;
    }
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "EXE", text, more);
}

/* What cannot be run for a reason that only the compiled kernel shows is passed over, too. */
static void beyond_a_limit_is_passed_over(struct suite *suite, uint64_t alone)
{
    suite_need(suite, HAL_FORMAT_MSL);
    const struct hal_executable_variant variants[] = {variant_of(HAL_FORMAT_MSL, beyond_a_limit),
                                                      variant_of(HAL_FORMAT_MSL, beyond_a_limit),
                                                      ten(suite), one(suite)};
    const struct hal_executable_desc desc = describe(suite, "limits", variants, alone ? 2 : 4);
    struct hal_executable *executable = NULL;
    struct hal_executable_info info = {0};
    if (alone) {
        check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable),
                    HAL_UNSUPPORTED, "'k'", "[[threadgroup(8)]]");
        return;
    }
    executable = suite_executable(suite, &desc);
    check_adds(suite, executable, 10);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.variant, 2);
}

static const struct suite_case variant_cases[] = {
    {"beyond_a_limit_is_passed_over", beyond_a_limit_is_passed_over, 0},
    {"beyond_a_limit_alone", beyond_a_limit_is_passed_over, 1},
    {"formats_make_sense", formats_make_sense, 0},
    {"one_in_a_list", one_in_a_list, 0},
    {"first_of_a_format_one", first_of_a_format, 0},
    {"first_of_a_format_ten", first_of_a_format, 1},
    {"foreign_are_passed_over_0", foreign_are_passed_over, 0},
    {"foreign_are_passed_over_1", foreign_are_passed_over, 1},
    {"foreign_are_passed_over_7", foreign_are_passed_over, 7},
    {"none_is_possible_1", none_is_possible, 1},
    {"none_is_possible_16", none_is_possible, 16},
    {"mistakes_are_told", mistakes_are_told, 0},
    {"data_are_copied", data_are_copied, 0},
    {"as_many_as_allowed", as_many_as_allowed, 0},
    {"wrong_list_and_data", wrong_lists, 0},
    {"wrong_list_and_bytes", wrong_lists, 1},
    {"wrong_list_and_format", wrong_lists, 2},
    {"wrong_list_too_long", wrong_lists, 3},
    {"wrong_list_at_null", wrong_lists, 4},
    {"wrong_list_format", wrong_lists, 5},
    {"wrong_list_no_data", wrong_lists, 6},
    {"wrong_list_no_bytes", wrong_lists, 7},
};
const struct suite_area area_variants = {"variants", variant_cases, SUITE_COUNT(variant_cases)};

/* ---- Reflection ----------------------------------------------------------------------------- */

static const char many[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "constant bool quick [[function_constant(4)]];\n"
    "constant float scale [[function_constant(1)]];\n"
    "constant int low [[function_constant(9)]];\n"
    "constant uint high [[function_constant(3)]];\n"
    "struct params { uint a, b; };\n"
    "kernel void reader(device const uint *in [[buffer(3)]], device uint *out [[buffer(17)]],\n"
    "                   constant params &p [[buffer(30)]], uint i [[thread_position_in_grid]])\n"
    "{ const bool fast = is_function_constant_defined(quick) ? quick : false;\n"
    "  const uint most = is_function_constant_defined(high) ? high : 7;\n"
    "  out[i] = in[i] + p.a + p.b + (fast ? uint(scale) : 0) + uint(low) + most; }\n"
    "kernel void lonely() {}\n"
    "kernel void grouped(device uint *x, uint i [[thread_index_in_threadgroup]])\n"
    "{ threadgroup uint t[64]; t[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "  x[i] = t[63 - i]; }\n"
    "kernel void uniform_only(constant uint &c [[buffer(0)]], constant uint &d [[buffer(1)]],\n"
    "                         device atomic_uint *n [[buffer(2)]])\n"
    "{ atomic_fetch_add_explicit(n, c + d, memory_order_relaxed); }\n";

static const struct hal_entry_point many_entries[] =
    {
        {"reader", {32, 2, 1}, 8, 30}, {"lonely", {1, 1, 1}, 0, 0},
        {"grouped", {64, 1, 1}, 0, 0}, {"uniform_only", {1, 2, 3}, 4, 0},
        {"reader", {1, 1, 1}, 0, 0}, /* the same kernel with its parameters in a buffer */
};

static struct hal_executable *reflected(struct suite *suite)
{
    static const struct hal_constant constants[2] = {{1, HAL_CONSTANT_FLOAT32, 0x40000000},
                                                     {9, HAL_CONSTANT_INT32, 7}};
    suite_need(suite, HAL_FORMAT_MSL); /* spirv.c asks modules */
    const struct hal_executable_desc desc = {.label = "many",
                                             .format = HAL_FORMAT_MSL,
                                             .data = many,
                                             .bytes = sizeof many - 1,
                                             .entry_points = many_entries,
                                             .entry_point_count = SUITE_COUNT(many_entries),
                                             .constants = constants,
                                             .constant_count = 2};
    return suite_executable(suite, &desc);
}

/* What each entry point says; access 0 as a device's answer means that it cannot tell. */
static void entries_are_described(struct suite *suite, uint64_t entry)
{
    enum { R = HAL_ACCESS_READ, W = HAL_ACCESS_WRITE };
    static const struct {
        uint32_t workgroup_memory_bytes, binding_count;
        struct hal_entry_binding bindings[3];
    } wanted[] = {
        {0, 2, {{0, 3, R}, {0, 17, R | W}}},
        {0, 0, {{0}}},
        {256, 1, {{0, 0, R | W}}},
        {0, 2, {{0, 1, R}, {0, 2, R | W}}},
        {0, 3, {{0, 3, R}, {0, 17, R | W}, {0, 30, R}}},
    };
    struct hal_entry_info info = {0};
    check_ok(suite, hal_executable_get_entry(reflected(suite), (uint32_t)entry, &info));
    check(suite, strcmp(info.name, many_entries[entry].name) == 0);
    check_bytes(suite, info.workgroup_size, many_entries[entry].workgroup_size,
                sizeof info.workgroup_size);
    check_u64(suite, info.constant_bytes, many_entries[entry].constant_bytes);
    check_u64(suite, info.constants_slot, many_entries[entry].constants_slot);
    check_u64(suite, info.workgroup_memory_bytes, wanted[entry].workgroup_memory_bytes);
    check_u64(suite, info.binding_count, wanted[entry].binding_count);
    for (size_t i = 0; i < info.binding_count; i++) {
        const struct hal_entry_binding *binding = &info.bindings[i];
        suite_note(suite, "binding %zu", i);
        check_u64(suite, binding->set, wanted[entry].bindings[i].set);
        check_u64(suite, binding->index, wanted[entry].bindings[i].index);
        if (binding->access)
            check_u64(suite, binding->access, wanted[entry].bindings[i].access);
    }
}

static void constants_are_described(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const struct hal_constant_info wanted[4] = {
        {"scale", 1, HAL_CONSTANT_FLOAT32, 1, true},
        {"high", 3, HAL_CONSTANT_UINT32, 1, false},
        {"quick", 4, HAL_CONSTANT_BOOL, 1, false},
        {"low", 9, HAL_CONSTANT_INT32, 1, true},
    };
    struct hal_executable_info info = {0};
    check_ok(suite, hal_executable_get_info(reflected(suite), &info));
    check_u64(suite, info.entry_point_count, SUITE_COUNT(many_entries));
    check_u64(suite, info.constant_count, 4);
    for (size_t i = 0; i < 4; i++) {
        suite_note(suite, "constant '%s'", info.constants[i].name);
        check(suite, strcmp(info.constants[i].name, wanted[i].name) == 0);
        check_u64(suite, info.constants[i].index, wanted[i].index);
        check_u64(suite, info.constants[i].type, wanted[i].type);
        check_u64(suite, info.constants[i].components, wanted[i].components);
        check_u64(suite, info.constants[i].is_given, wanted[i].is_given);
    }
}

static void no_constants(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable_info info = {0};
    const struct hal_executable_variant variant = one(suite);
    const struct hal_executable_desc desc = describe(suite, NULL, &variant, 1);
    check_ok(suite, hal_executable_get_info(suite_executable(suite, &desc), &info));
    check(suite, info.label == NULL);
    check_u64(suite, info.constant_count, 0);
}

static void reflection_is_refused(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_entry_info entry = {0};
    struct hal_executable_info info = {0};
    struct hal_executable *executable = reflected(suite);
    check_fails(suite, hal_executable_get_entry(executable, 5, &entry), HAL_INVALID, "many",
                "5 entry points", "number 5");
    check_fails(suite, hal_executable_get_entry(executable, UINT32_MAX, &entry), HAL_INVALID,
                "4294967295");
    check_fails(suite, hal_executable_get_entry(executable, 0, NULL), HAL_INVALID, "NULL");
    check_fails(suite, hal_executable_get_entry(NULL, 0, &entry), HAL_INVALID, "executable");
    check_fails(suite, hal_executable_get_info(executable, NULL), HAL_INVALID, "NULL");
    check_fails(suite, hal_executable_get_info(NULL, &info), HAL_INVALID, "executable");
    check_fails(suite, hal_executable_find(executable, "lonely", NULL), HAL_INVALID, "NULL");
    check_fails(suite, hal_executable_find(NULL, "lonely", &(uint32_t){0}), HAL_INVALID,
                "executable");
}

/* From several threads at once, while the executable runs. */
static void ask_again_and_again(struct suite *suite, void *user)
{
    for (uint32_t i = 0; i < 200; i++) {
        struct hal_entry_info entry = {0};
        struct hal_executable_info info = {0};
        check_ok(suite, hal_executable_get_entry(user, i % 5, &entry));
        check(suite, strcmp(entry.name, many_entries[i % 5].name) == 0);
        check_ok(suite, hal_executable_get_info(user, &info));
        check_u64(suite, info.constant_count, 4);
    }
}

static void from_several_threads(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable *executable = reflected(suite);
    for (int i = 0; i < 4; i++)
        suite_thread(suite, ask_again_and_again, executable);
    suite_join(suite);
}

static const struct suite_case reflection_cases[] = {
    {"slots_and_constants", entries_are_described, 0},
    {"no_arguments", entries_are_described, 1},
    {"group_memory", entries_are_described, 2},
    {"constants_in_slot_0", entries_are_described, 3},
    {"same_kernel_again", entries_are_described, 4},
    {"constants_are_described", constants_are_described, 0},
    {"no_constants", no_constants, 0},
    {"refused", reflection_is_refused, 0},
    {"from_several_threads", from_several_threads, 0},
};
const struct suite_area area_reflection = {"reflection", reflection_cases,
                                           SUITE_COUNT(reflection_cases)};
