/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels are found and what they are given: names, arguments, constants, positions. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

TEST(structs_and_argument_kinds)
{
    struct params {
        uint32_t count;
        float scale;
        _Alignas(16) float offset[4];
    } params = {3, 2.5f, {1, 2, 3, 4}};
    float in[3] = {1, 2, 3}, out[3] = {0};
    struct fixture_kernel kernel = fixture_compile(
        HEAD "struct Params { uint count; float scale; float4 offset; };\n"
             "kernel void test(const device float* in, device float* out [[buffer(5)]],\n"
             "                 constant Params& params, constant Params* same [[buffer(7)]],\n"
             "                 uint i [[thread_position_in_grid]])\n"
             "{ if (i < params.count) out[i] = in[i] * same->scale + params.offset[i]; }\n",
        "test");
    const struct msl_function_info *const info = msl_function_get_info(kernel.function);
    assert_int_equal(info->buffer_mask, 1 << 0 | 1 << 1 | 1 << 5 | 1 << 7);
    assert_int_equal(info->buffer_access[0], MSL_READ);
    assert_int_equal(info->buffer_access[1], MSL_READ);
    assert_int_equal(info->buffer_access[5], MSL_READ_WRITE);
    assert_int_equal(info->buffer_access[2], MSL_UNUSED);
    assert_string_equal(info->name, "test");
    void *const buffers[] = {in, &params, NULL, NULL, NULL, out, NULL, &params};
    fixture_run(&kernel, buffers, 8, NULL, (const uint32_t[]){1, 1, 1},
                (const uint32_t[]){8, 1, 1});
    for (int i = 0; i < 3; i++)
        assert_float_equal(out[i], in[i] * 2.5f + params.offset[i], 0);
    fixture_release(&kernel);
}

TEST(host_name_templates)
{
    static const char source[] = HEAD
        "#define INSTANTIATE(type) \\\n"
        "  template [[host_name(\"fill_\" #type)]] [[kernel]] void fill<type, 3>(device type*, \\\n"
        "      constant type&, uint);\n"
        "template <typename T, int N = 2>\n"
        "[[kernel]] void fill(device T* out [[buffer(0)]], constant T& value [[buffer(1)]],\n"
        "                     uint i [[thread_position_in_grid]]) {\n"
        "    threadgroup T shared[N]; shared[0] = value; out[i] = shared[0] * N;\n"
        "}\n"
        "INSTANTIATE(float) INSTANTIATE(int)\n"
        "template [[host_name(\"other\")]] kernel decltype(fill<short, 5>) fill<short, 5>;\n"
        "namespace inner { kernel void plain(device int* o [[buffer(0)]]) { o[0] = 1; } }\n"
        "[[host_name(\"renamed\")]] kernel void named(device int* o [[buffer(0)]]) { o[0] = 2; }\n";
    const struct msl_source desc = {.text = source, .bytes = sizeof source - 1};
    struct msl_library *library;
    if (msl_compile(&desc, &library) != HAL_OK)
        fail_msg("%s", hal_message());
    static const struct {
        const char *name;
        uint32_t group_bytes;
    } expected[] = {
        {"fill_float", 12}, {"fill_int", 12}, {"other", 10}, {"inner::plain", 0}, {"renamed", 0}};
    assert_int_equal(msl_library_function_count(library), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct msl_function *function;
        assert_int_equal(msl_library_find(library, expected[i].name, &function), HAL_OK);
        assert_ptr_equal(function, msl_library_function(library, i));
        assert_int_equal(msl_function_get_info(function)->static_group_memory_bytes,
                         expected[i].group_bytes);
    }
    msl_library_destroy(library);

    int32_t out[2] = {0}, value = 7;
    int16_t short_out[2] = {0}, short_value = 7;
    fixture_run_source(source, "fill_int", (void *[]){out, &value}, 2, 1, 2);
    fixture_run_source(source, "other", (void *[]){short_out, &short_value}, 2, 1, 2);
    assert_int_equal(out[1], 21);
    assert_int_equal(short_out[1], 35);
    fixture_run_source(source, "renamed", (void *[]){out}, 1, 1, 1);
    assert_int_equal(out[0], 2);
}

/* Kernels of one name in several namespaces, templates too, and one without any. */
static const char namespaces[] = HEAD
    "namespace a { kernel void k(device int *o) { o[0] = 1; }\n"
    " template <int n> kernel void t(device int *o) { o[0] = n; }\n"
    " template [[host_name(\"a_t\")]] kernel void t<10>(device int *);\n"
    " namespace b { kernel void k(device int *o) { threadgroup int x[2]; x[1] = 2; o[0] = x[1]; }\n"
    "  template <int n> kernel void t(device int *o) { o[0] = n + 1; }\n"
    "  extern \"C\" kernel void c1(device int *o) { o[0] = 5; } } }\n"
    "namespace d { kernel void only(device int *o) { o[0] = 3; } }\n"
    "template [[host_name(\"d_t\")]] kernel void a::b::t<10>(device int *);\n"
    "template [[host_name(\"e_t\")]] kernel void a::t<20>(device int *);\n"
    "extern \"C\" [[kernel]] void c2(device int *o) { o[0] = 6; }\n"
    "extern \"C\" { kernel void c3(device int *o) { o[0] = 7; } }\n"
    "kernel void k(device int *o) { o[0] = 4; }\n";

TEST(names_in_namespaces)
{
    static const struct {
        const char *wanted, *name;
        int result;
    } cases[] = {{"a::k", "a::k", 1},
                 {"a::b::k", "a::b::k", 2},
                 {"k", "k", 4},
                 {"only", "d::only", 3},
                 {"d::only", "d::only", 3},
                 {"a_t", "a_t", 10},
                 {"d_t", "d_t", 11},
                 {"e_t", "e_t", 20},
                 {"c1", "c1", 5},
                 {"c2", "c2", 6},
                 {"c3", "c3", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int out = 0;
        const struct msl_group_size size = {cases[i].wanted, {1, 1, 1}};
        const struct msl_source source = {.text = namespaces,
                                          .bytes = sizeof namespaces - 1,
                                          .group_sizes = &size,
                                          .group_size_count = 1,
                                          .only_listed = i % 2 == 0};
        struct fixture_kernel kernel = fixture_compile_with(&source, cases[i].wanted);
        assert_string_equal(msl_function_get_info(kernel.function)->name, cases[i].name);
        fixture_run(&kernel, (void *[]){&out}, 1, NULL, (uint32_t[]){1, 1, 1},
                    (uint32_t[]){1, 1, 1});
        assert_int_equal(out, cases[i].result);
        fixture_release(&kernel);
    }
}

/* A bare name that two namespaces have is neither's. */
/* Of templates of one name, the one that the instantiation sees. */
TEST(templates_in_namespaces)
{
    static const char source[] =
        HEAD "template <typename T> kernel void f(device T *o) { o[0] = 1; }\n"
             "namespace a { template <typename T> kernel void f(device T *o) { o[0] = 2; }\n"
             "namespace b { template <typename T> kernel void f(device T *o) { o[0] = 3; } } }\n"
             "namespace c { template <typename T> kernel void f(device T *o) { o[0] = 4; } }\n"
             "template [[host_name(\"1\")]] kernel void f<int>(device int *);\n"
             "template [[host_name(\"2\")]] kernel void a::f<int>(device int *);\n"
             "template [[host_name(\"3\")]] kernel void a::b::f<int>(device int *);\n"
             "namespace a { template [[host_name(\"5\")]] kernel void f<uint>(device uint *);\n"
             "template [[host_name(\"6\")]] kernel void b::f<uint>(device uint *); }\n"
             "template [[host_name(\"4\")]] kernel void c::f<int>(device int *);\n";
    static const char *const names[] = {"1", "2", "3", "4", "5", "6"};
    static const int32_t expected[] = {1, 2, 3, 4, 2, 3};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int32_t out = 0;
        fixture_run_source(source, names[i], (void *[]){&out}, 1, 1, 1);
        assert_int_equal(out, expected[i]);
    }
}

TEST(names_that_are_ambiguous)
{
    static const char text[] = "namespace a { kernel void k(device int *o) { o[0] = 1; } }\n"
                               "namespace b { kernel void k(device int *o) { o[0] = 2; } }\n";
    const struct msl_group_size size = {"k", {1, 1, 1}};
    struct msl_source source = {.name = "two.metal", .text = text, .bytes = sizeof text - 1};
    struct msl_library *library = NULL;
    const struct msl_function *function = NULL;
    assert_int_equal(msl_compile(&source, &library), HAL_OK);
    assert_int_equal(msl_library_find(library, "k", &function), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "'two.metal': kernel 'k' could be 'a::k' or 'b::k'");
    assert_int_equal(msl_library_find(library, "c::k", &function), HAL_NOT_FOUND);
    assert_int_equal(msl_library_find(library, "b::k", &function), HAL_OK);
    msl_library_destroy(library);
    source.group_sizes = &size;
    source.group_size_count = 1;
    source.only_listed = true;
    assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
    assert_string_equal(hal_message(), "'two.metal': kernel 'k' could be 'a::k' or 'b::k'");
}

TEST(function_constants)
{
    static const char source[] = HEAD
        "constant int size [[function_constant(0)]];\n"
        "constant bool fast_way [[function_constant(1)]];\n"
        "constant float scale [[function_constant(2)]];\n"
        "constant uint limit [[function_constant(3)]];\n"
        "constant int missing [[function_constant(9)]];\n"
        "constant bool has_missing = is_function_constant_defined(missing);\n"
        "constant int chosen = has_missing ? missing : 77;\n"
        "kernel void test(device float* o [[buffer(0)]],\n"
        "                 device int* extra [[buffer(1), function_constant(fast_way)]],\n"
        "                 device int* absent [[buffer(2), function_constant(has_missing)]]) {\n"
        "    o[0] = size; o[1] = fast_way ? 1 : 0; o[2] = scale; o[3] = limit; o[4] = chosen;\n"
        "    o[5] = is_function_constant_defined(size);\n"
        "    if (fast_way) extra[0] = 5;\n"
        "    if (is_function_constant_defined(missing)) absent[0] = 1;\n"
        "}\n";
    const struct msl_constant constants[] = {{0, MSL_INT32, (uint32_t)-3},
                                             {1, MSL_BOOL, 1},
                                             {2, MSL_FLOAT32, 0x3fc00000},
                                             {3, MSL_UINT32, 4000000000u}};
    const struct msl_source desc = {
        .text = source, .bytes = sizeof source - 1, .constants = constants, .constant_count = 4};
    struct fixture_kernel kernel = fixture_compile_with(&desc, "test");
    assert_int_equal(msl_function_get_info(kernel.function)->buffer_mask, 3);
    float out[6] = {0};
    int32_t extra = 0;
    fixture_run(&kernel, (void *[]){out, &extra}, 2, NULL, (const uint32_t[]){1, 1, 1},
                (const uint32_t[]){1, 1, 1});
    static const float expected[] = {-3, 1, 1.5f, 4e9f, 77, 1};
    assert_memory_equal(out, expected, sizeof out);
    assert_int_equal(extra, 5);
    fixture_release(&kernel);

    kernel = fixture_compile(source, "test"); /* none given: other code from the same source */
    assert_int_equal(msl_function_get_info(kernel.function)->buffer_mask, 1);
    fixture_release(&kernel);
}

TEST(wide_attribute_types)
{
    uint32_t out[24] = {0};
    struct fixture_kernel kernel = fixture_compile(
        HEAD
        "kernel void test(device uint* o [[buffer(0)]], ushort2 p [[thread_position_in_grid]],\n"
        " ushort i [[thread_index_in_threadgroup]], uint w [[threads_per_simdgroup]],\n"
        " uint e [[thread_execution_width]], uint3 g [[threadgroups_per_grid]],\n"
        " uint q [[thread_index_in_quadgroup]], ushort lane [[thread_index_in_simdgroup]],\n"
        " uint d [[dispatch_threads_per_threadgroup]], uint qi "
        "[[quadgroup_index_in_threadgroup]])\n"
        "{ o[p.y * 6 + p.x] = i + 100 * w + 10000 * g.y + 100000 * q + 1000000 * (e == w)\n"
        "      + 10000000 * d + (lane == i && qi == i / 4 ? 1000000000u : 0u); }\n",
        "test");
    fixture_run(&kernel, (void *[]){out}, 1, NULL, (const uint32_t[]){2, 2, 1},
                (const uint32_t[]){3, 2, 1});
    for (uint32_t n = 0; n < 24; n++) {
        const uint32_t i = n % 3 + n / 6 % 2 * 3;
        assert_int_equal(out[n],
                         i + 3200 + 20000 + 100000 * (i % 4) + 1000000 + 30000000 + 1000000000u);
    }
    fixture_release(&kernel);
}
