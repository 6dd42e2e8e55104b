/* SPDX-License-Identifier: Apache-2.0 */
/* Specialization constants, and the slots that push constants arrive in. */
#include "tests/conformance/executables.h"

#include <stdio.h>

/* ---- Specialization constants ---------------------------------------------------------------- */

static const char specialized[] = "#include <metal_stdlib>\n"
                                  "using namespace metal;\n"
                                  "constant bool flag [[function_constant(0)]];\n"
                                  "constant int number [[function_constant(1)]];\n"
                                  "constant uint bits [[function_constant(7)]];\n"
                                  "constant float scale [[function_constant(60)]];\n"
                                  "kernel void show(device uint *x [[buffer(0)]])\n"
                                  "{\n"
                                  "    x[0] = flag ? 1 : 0;\n"
                                  "    x[1] = uint(number);\n"
                                  "    x[2] = bits;\n"
                                  "    x[3] = as_type<uint>(scale);\n"
                                  "}\n";
static const struct hal_entry_point show = {"show", {1, 1, 1}, 0, 0};
static const struct hal_entry_point show_main = {"main", {1, 1, 1}, 0, 0};

static const struct hal_entry_point *show_of(const struct suite *suite)
{
    return suite_runs(suite, HAL_FORMAT_MSL) ? &show : &show_main;
}

static void constants(struct suite *suite, uint64_t which)
{
    static const struct hal_constant values[3][4] = {
        {{0, HAL_CONSTANT_BOOL, 1},
         {1, HAL_CONSTANT_INT32, (uint32_t)-77},
         {7, HAL_CONSTANT_UINT32, UINT32_MAX},
         {60, HAL_CONSTANT_FLOAT32, 0xC0490FDB}},
        {{60, HAL_CONSTANT_FLOAT32, 0x7F800000},
         {7, HAL_CONSTANT_UINT32, 0},
         {1, HAL_CONSTANT_INT32, 0x80000000},
         {0, HAL_CONSTANT_BOOL, 0}},
        {{1, HAL_CONSTANT_INT32, INT32_MAX},
         {60, HAL_CONSTANT_FLOAT32, 0x00000001},
         {0, HAL_CONSTANT_BOOL, 1},
         {7, HAL_CONSTANT_UINT32, 0x80000001}},
    };
    static const uint32_t wanted[3][4] = {{1, (uint32_t)-77, UINT32_MAX, 0xC0490FDB},
                                          {0, 0x80000000, 0, 0x7F800000},
                                          {1, INT32_MAX, 0x80000001, 0x00000001}};
    uint32_t words[4] = {9, 9, 9, 9};
    struct hal_executable_desc desc =
        executable_any(suite, "specialized", specialized, MODULE_SHOW, show_of(suite), 1);
    desc.constants = values[which];
    desc.constant_count = 4;
    executable_run_words(suite, suite_executable(suite, &desc), 0, 1, words, 4);
    check_bytes(suite, words, wanted[which], sizeof words);
}

/* Every scalar type of the language, with its sign bit set; and they are described as what they
 * are. */
static void constants_of_all_types(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char source[] = "#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "constant char a [[function_constant(0)]];\n"
                                 "constant uchar b [[function_constant(1)]];\n"
                                 "constant short c [[function_constant(2)]];\n"
                                 "constant ushort d [[function_constant(3)]];\n"
                                 "constant half e [[function_constant(4)]];\n"
                                 "constant bfloat f [[function_constant(5)]];\n"
                                 "constant long g [[function_constant(6)]];\n"
                                 "constant ulong h [[function_constant(7)]];\n"
                                 "kernel void show(device int *x [[buffer(0)]])\n"
                                 "{\n"
                                 "    x[0] = a; x[1] = b; x[2] = c; x[3] = d;\n"
                                 "    x[4] = int(float(e) * 4); x[5] = int(float(f) * 4);\n"
                                 "    x[6] = int(g >> 32); x[7] = int(g);\n"
                                 "    x[8] = int(h >> 32); x[9] = int(h);\n"
                                 "}\n";
    static const struct hal_constant values[8] = {
        {0, HAL_CONSTANT_INT8, 0x85},
        {1, HAL_CONSTANT_UINT8, 0x85},
        {2, HAL_CONSTANT_INT16, 0x8001},
        {3, HAL_CONSTANT_UINT16, 0x8001},
        {4, HAL_CONSTANT_FLOAT16, 0xc100},
        {5, HAL_CONSTANT_BFLOAT16, 0xc020},
        {6, HAL_CONSTANT_INT64, UINT64_C(0x8000000300000005)},
        {7, HAL_CONSTANT_UINT64, UINT64_C(0x9000000700000009)},
    };
    /* 0xc100 is -2.5 as a half, 0xc020 is -2.5 as a bfloat. */
    static const int32_t wanted[10] = {-123, 133,           -32767, 32769,       -10,
                                       -10,  INT32_MIN + 3, 5,      -0x6ffffff9, 9};
    int32_t words[10] = {0};
    struct hal_executable_info info = {0};
    suite_need(suite, HAL_FORMAT_MSL);
    struct hal_executable_desc desc = executable_msl("all types", source, &show, 1);
    desc.constants = values;
    desc.constant_count = 8;
    struct hal_executable *executable = suite_executable(suite, &desc);
    executable_run_words(suite, executable, 0, 1, (uint32_t *)words, 10);
    check_bytes(suite, words, wanted, sizeof words);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.constant_count, 8);
    for (size_t i = 0; i < info.constant_count; i++) {
        suite_note(suite, "constant '%s'", info.constants[i].name);
        check_u64(suite, info.constants[i].type, values[i].type);
    }
}

/* Vectors, each of their components in its place; they are described as what they are. */
static void constants_that_are_vectors(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const char source[] = "#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "constant float2 a [[function_constant(0)]];\n"
                                 "constant int one [[function_constant(1)]];\n"
                                 "constant uint3 b [[function_constant(2)]];\n"
                                 "constant half4 c [[function_constant(3)]];\n"
                                 "constant bool2 d [[function_constant(4)]];\n"
                                 "constant char3 e [[function_constant(5)]];\n"
                                 "constant long2 f [[function_constant(6)]];\n"
                                 "kernel void show(device int *x [[buffer(0)]])\n"
                                 "{\n"
                                 "    x[0] = int(a.x * 4); x[1] = int(a.y * 4); x[2] = one;\n"
                                 "    x[3] = b.x; x[4] = b.y; x[5] = b.z;\n"
                                 "    x[6] = int(c.x * 2.0h); x[7] = int(c.y); x[8] = int(c.z);\n"
                                 "    x[9] = int(c.w); x[10] = d.x ? 1 : 0; x[11] = d.y ? 1 : 0;\n"
                                 "    x[12] = e.x; x[13] = e.y; x[14] = e.z;\n"
                                 "    x[15] = int(f.x >> 32); x[16] = int(f.y >> 32);\n"
                                 "}\n";
    static const struct hal_constant values[] = {
        {0, HAL_CONSTANT_FLOAT32, 0x3f400000},
        {0, HAL_CONSTANT_FLOAT32, 0xc0200000},
        {1, HAL_CONSTANT_INT32, 77},
        {2, HAL_CONSTANT_UINT32, 5},
        {2, HAL_CONSTANT_UINT32, 6},
        {2, HAL_CONSTANT_UINT32, 7},
        {3, HAL_CONSTANT_FLOAT16, 0xc100},
        {3, HAL_CONSTANT_FLOAT16, 0x3c00},
        {3, HAL_CONSTANT_FLOAT16, 0x4000},
        {3, HAL_CONSTANT_FLOAT16, 0x4400},
        {4, HAL_CONSTANT_BOOL, 0},
        {4, HAL_CONSTANT_BOOL, 1},
        {5, HAL_CONSTANT_INT8, 0x85},
        {5, HAL_CONSTANT_INT8, 0x7f},
        {5, HAL_CONSTANT_INT8, 0xff},
        {6, HAL_CONSTANT_INT64, UINT64_C(3) << 32},
        {6, HAL_CONSTANT_INT64, UINT64_C(4) << 32},
    };
    /* 0x3f400000 is 0.75, 0xc0200000 is -2.5; halves: -2.5, 1, 2, 4. */
    static const int32_t wanted[17] = {3, -10, 77, 5, 6, 7, -5, 1, 2, 4, 0, 1, -123, 127, -1, 3, 4};
    static const uint32_t components[7] = {2, 1, 3, 4, 2, 3, 2};
    int32_t words[17] = {0};
    struct hal_executable_info info = {0};
    suite_need(suite, HAL_FORMAT_MSL);
    struct hal_executable_desc desc = executable_msl("vectors", source, &show, 1);
    desc.constants = values;
    desc.constant_count = sizeof values / sizeof *values;
    struct hal_executable *executable = suite_executable(suite, &desc);
    executable_run_words(suite, executable, 0, 1, (uint32_t *)words, 17);
    check_bytes(suite, words, wanted, sizeof words);
    check_ok(suite, hal_executable_get_info(executable, &info));
    check_u64(suite, info.constant_count, 7);
    size_t first = 0;
    for (size_t i = 0; i < info.constant_count; first += components[i++]) {
        suite_note(suite, "constant '%s'", info.constants[i].name);
        check_u64(suite, info.constants[i].type, values[first].type);
        check_u64(suite, info.constants[i].components, components[i]);
    }
}

/* Two executables of one source live side by side. */
static void constants_do_not_mix(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable *both[2];
    for (uint32_t i = 0; i < 2; i++) {
        const struct hal_constant values[4] = {{0, HAL_CONSTANT_BOOL, i},
                                               {1, HAL_CONSTANT_INT32, 100 + i},
                                               {7, HAL_CONSTANT_UINT32, 200 + i},
                                               {60, HAL_CONSTANT_FLOAT32, 0x3F800000 + i}};
        struct hal_executable_desc desc =
            executable_any(suite, "one of two", specialized, MODULE_SHOW, show_of(suite), 1);
        desc.constants = values;
        desc.constant_count = 4;
        both[i] = suite_executable(suite, &desc);
    }
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t k = i % 2, wanted[4] = {k, 100 + k, 200 + k, 0x3F800000 + k};
        uint32_t words[4] = {0};
        executable_run_words(suite, both[k], 0, 1, words, 4);
        check_bytes(suite, words, wanted, sizeof words);
    }
}

/* ---- Constants slots ------------------------------------------------------------------------ */

static void constants_slot(struct suite *suite, uint64_t slot)
{
    suite_need(suite, HAL_FORMAT_MSL);
    char source[400];
    const struct hal_entry_point entry = {"take", {1, 1, 1}, 12, (uint32_t)slot};
    const uint32_t out_slot = slot == 0 ? 1 : 0, constants[3] = {5, 6, 7};
    struct hal_buffer *out = suite_buffer(suite, "out", 12);
    struct hal_binding bindings[2] = {{0}};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    snprintf(source, sizeof source,
             "#include <metal_stdlib>\n"
             "using namespace metal;\n"
             "struct three { uint a, b, c; };\n"
             "kernel void take(device uint *x [[buffer(%u)]], constant three &t [[buffer(%u)]])\n"
             "{ x[0] = t.c; x[1] = t.b; x[2] = t.a; }\n",
             (unsigned)out_slot, (unsigned)slot);
    const struct hal_executable_desc desc = executable_msl("slot", source, &entry, 1);
    bindings[out_slot] = (struct hal_binding){out, 0, 12};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 2));
    check_ok(suite, hal_command_push_constants(commands, 0, constants, 12));
    check_ok(suite, hal_command_dispatch(commands, suite_executable(suite, &desc), 0,
                                         (uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    check_buffer(suite, out, 0, ((const uint32_t[3]){7, 6, 5}), 12);
}

static void constants_slot_that_is_no_argument(struct suite *suite, uint64_t unused)
{
    suite_need(suite, HAL_FORMAT_MSL);
    (void)unused;
    static const char source[] =
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "kernel void plus_one(device uint *x [[buffer(0)]]) { x[0] += 1; }\n";
    static const struct hal_entry_point entry = {"plus_one", {1, 1, 1}, 16, 5};
    struct hal_executable *executable;
    const struct hal_executable_desc desc = executable_msl("slots", source, &entry, 1);
    check_fails(suite, hal_executable_create(suite_device(suite), &desc, &executable), HAL_INVALID,
                "slots", "plus_one", "5");
}

static const struct suite_case cases[] = {
    {"values", constants, 0},
    {"in_any_order", constants, 1},
    {"at_their_limits", constants, 2},
    {"of_all_types", constants_of_all_types, 0},
    {"that_are_vectors", constants_that_are_vectors, 0},
    {"do_not_mix", constants_do_not_mix, 0},
    {"slot_0", constants_slot, 0},
    {"slot_9", constants_slot, 9},
    {"slot_30", constants_slot, 30},
    {"slot_that_is_no_argument", constants_slot_that_is_no_argument, 0},
};

const struct suite_area area_constants = {"constants", cases, SUITE_COUNT(cases)};
