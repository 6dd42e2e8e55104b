/* SPDX-License-Identifier: Apache-2.0 */
/* What Metal's compiler refuses is refused here as well: the message is about the construct, in the
 * user's line, and holds no name of our own making. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"
#define AT   "kernel.metal:"

struct wrong {
    const char *source; /* behind HEAD, which takes two lines */
    const char *message;
};

/* The message is exactly that. */
static void expect(enum hal_status status, const struct wrong *wrong)
{
    char *const source = malloc(strlen(wrong->source) + sizeof HEAD);
    sprintf(source, HEAD "%s", wrong->source);
    const enum hal_status got = fixture_status(source);
    free(source);
    if (got != status)
        fail_msg("'%s': the status is %s: %s", wrong->source, hal_status_name(got),
                 got ? hal_message() : "");
    if (strcmp(hal_message(), wrong->message) != 0)
        fail_msg("'%s': the message is \"%s\", not \"%s\"", wrong->source, hal_message(),
                 wrong->message);
}

TEST(kernels)
{
    static const struct wrong cases[] = {
        {"\nkernel float f(device float *o)\n{\n return o[0];\n}\n",
         AT "4: error: kernel 'f' returns a value: kernels are void"},
        {"template <typename T>\nkernel T f(device T *o) { return o[0]; }\n\n"
         "template [[host_name(\"x\")]] kernel float f<float>(device float *);\n",
         AT "4: error: kernel 'f' returns a value: kernels are void"},
        {"kernel void f(device int *o) { o[0] = 1; }\n"
         "kernel void f(device int *o, uint i [[thread_position_in_grid]]) { o[i] = 2; }\n",
         AT "4: error: there is another kernel 'f', in line 3"},
        {"template <typename T> kernel void f(device T *o) { o[0] = 1; }\n"
         "template [[host_name(\"one\")]] kernel void f<int>(device int *);\n"
         "template [[host_name(\"one\")]] kernel void f<float>(device float *);\n",
         AT "5: error: there is another kernel 'one', in line 4"},
        {"namespace a {\nkernel void f(device int *o) { o[0] = 1; }\n"
         "kernel void f(device int *o, uint i [[thread_position_in_grid]]) { o[i] = 2; } }\n",
         AT "5: error: there is another kernel 'a::f', in line 4"},
        {"namespace a { extern \"C\" kernel void f(device int *o) { o[0] = 1; } }\n"
         "extern \"C\" { kernel void f(device int *o) { o[0] = 2; } }\n",
         AT "4: error: there is another kernel 'f', in line 3"},
        {"namespace a {\nkernel void f(device int *o) { o[0] = 1; }\n"
         "float f(float x) { return x; } }\n",
         AT "5: error: function 'a::f' has the name of the kernel in line 4"},
        {"kernel void f(device int *o) { o[0] = 1; }\nfloat f(float x) { return x; }\n",
         AT "4: error: function 'f' has the name of the kernel in line 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
    /* By its bare name it is not in the kernel's namespace. */
    assert_int_equal(
        fixture_status(HEAD
                       "namespace a { extern \"C\" kernel void f(device int *o) { o[0] = 1; } }\n"
                       "float f(float x) { return x; }\n"),
        HAL_OK);
}

TEST(indices)
{
    static const struct wrong cases[] = {
        {"kernel void f(device int *o [[buffer(0)]],\n device int *p [[buffer(0)]]) { *o = *p; }\n",
         AT "4: error: parameter 'p': another one has [[buffer(0)]] as well"},
        {"kernel void f(device int *o [[buffer(-1)]]) { o[0] = 1; }\n",
         AT "3: error: parameter 'o': [[buffer(-1)]] is out of range: indices are 0 to 30"},
        {"kernel void f(device int *o,\n\n const device int *p [[buffer(31)]]) { o[0] = p[0]; }\n",
         AT "5: error: parameter 'p': [[buffer(31)]] is out of range: indices are 0 to 30"},
        {"constant int at = 4000000000 / 2;\n"
         "kernel void f(device int *o [[buffer(at)]]) { o[0] = 1; }\n",
         AT "4: error: parameter 'o': [[buffer(at)]] is out of range: indices are 0 to 30"},
        {"kernel void f(device int *o, threadgroup int *t [[threadgroup(31)]]) { o[0] = t[0]; }\n",
         AT "3: error: parameter 't': [[threadgroup(31)]] is out of range: indices are 0 to 30"},
        {"kernel void f(device int *o, threadgroup int *t [[threadgroup(2)]],\n"
         " threadgroup int *v [[threadgroup(2)]]) { o[0] = t[0] + v[0]; }\n",
         AT "4: error: parameter 'v': another one has [[threadgroup(2)]] as well"},
        {"\nconstant int c [[function_constant(65536)]];\n"
         "kernel void f(device int *o) { o[0] = c; }\n",
         AT "4: error: [[function_constant(65536)]] is out of range: indices are 0 to 65535"},
        {"constant int c [[function_constant(-1)]];\nkernel void f(device int *o) { o[0] = c; }\n",
         AT "3: error: [[function_constant(-1)]] is out of range: indices are 0 to 65535"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
}

/* 32 buffers that number themselves. */
TEST(too_many_buffers)
{
    char source[2048];
    int length = sprintf(source, "kernel void f(device int *o0");
    for (int i = 1; i < 32; i++)
        length += sprintf(source + length, ", device int *o%d", i);
    sprintf(source + length, ") { o0[0] = 1; }\n");
    expect(HAL_INVALID, &(struct wrong){source, AT "3: error: more than 31 buffers or "
                                                   "threadgroup arguments"});
}

TEST(types_of_parameters)
{
    static const struct wrong cases[] = {
        {"kernel void f(device int *o,\n float x [[thread_position_in_grid]]) { o[0] = x; }\n",
         AT "4: error: parameter 'x': [[thread_position_in_grid]] is a ushort or uint, or 2 or 3 "
            "of them"},
        {"kernel void f(device int *o, int x [[thread_position_in_grid]]) { o[0] = x; }\n",
         AT "3: error: parameter 'x': [[thread_position_in_grid]] is a ushort or uint, or 2 or 3 "
            "of them"},
        {"kernel void f(device int *o, uint4 x [[threads_per_grid]]) { o[0] = x.x; }\n",
         AT "3: error: parameter 'x': [[threads_per_grid]] is a ushort or uint, or 2 or 3 of them"},
        {"kernel void f(device int *o, uint2 x [[thread_index_in_simdgroup]]) { o[0] = x.x; }\n",
         AT "3: error: parameter 'x': [[thread_index_in_simdgroup]] is a ushort or uint"},
        {"kernel void f(device int *o, ulong x [[thread_execution_width]]) { o[0] = x; }\n",
         AT "3: error: parameter 'x': [[thread_execution_width]] is a ushort or uint"},
        {"kernel void f(device int *o,\n uint x) { o[0] = x; }\n",
         AT "4: error: parameter 'x' is a value, without an attribute of a position or size"},
        {"kernel void f(device int *o, uint x [[buffer(1)]]) { o[0] = x; }\n",
         AT "3: error: parameter 'x' is a value, without an attribute of a position or size"},
        {"kernel void f(\n float *o) { o[0] = 1; }\n",
         AT "4: error: parameter 'o' has no address space: 'device', 'constant' or 'threadgroup'"},
        {"struct s { int a; };\nkernel void f(device int *o, thread s &x [[buffer(1)]])\n"
         "{ o[0] = x.a; }\n",
         AT "4: error: parameter 'x' has no address space: 'device', 'constant' or 'threadgroup'"},
        {"kernel void f(device int *o, device int *t [[threadgroup(0)]]) { o[0] = t[0]; }\n",
         AT "3: error: parameter 't': [[threadgroup]] in another address space"},
        {"kernel void f(device int *o, threadgroup int *t [[buffer(1)]]) { o[0] = t[0]; }\n",
         AT "3: error: parameter 't': [[buffer]] in the threadgroup address space"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
    assert_int_equal(fixture_status(HEAD
                                    "kernel void f(device int *o [[maybe_unused]],\n"
                                    "  ushort2 i [[maybe_unused, thread_position_in_grid]]) {}\n"),
                     HAL_OK);
}

/* Also in a template, by the line where its kernel declares the parameter. */
TEST(parameters_of_templates)
{
    expect(
        HAL_INVALID,
        &(struct wrong){"template <typename T>\nkernel void f(device T *o,\n"
                        " T x [[thread_index_in_threadgroup]]) { o[x] = 1; }\n\n"
                        "template [[host_name(\"a\")]] kernel void f<uint>(device uint *, uint);\n"
                        "template [[host_name(\"b\")]] kernel void f<int>(device int *, int);\n",
                        AT "5: error: parameter 'x': [[thread_index_in_threadgroup]] is a "
                           "ushort or uint"});
}

/* What an instantiation says is compared with its template. */
TEST(instances_that_do_not_fit)
{
    static const struct wrong cases[] = {
        {"template <typename T, int N>\nkernel void f(device T *o) { o[0] = N; }\n\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device int *);\n",
         AT "6: error: kernel 'f<int>': its arguments do not match 'template <typename T, int N>' "
            "in line 3"},
        {"template <typename T, int N> kernel void f(device T *o) { o[0] = N; }\n"
         "template [[host_name(\"a\")]]\nkernel void f<int, float>(device int *);\n",
         AT "5: error: kernel 'f<int, float>': its arguments do not match 'template <typename T, "
            "int N>' in line 3"},
        {"template <typename T> kernel void f(device typename T::one *o) { o[0] = 1; }\n"
         "template kernel decltype(f<int>) f<int>;\n",
         AT "4: error: kernel 'f<int>': its arguments do not match 'template <typename T>' in "
            "line 3"},
        {"template <typename T> kernel void f(device T *o, constant int &n) { o[n] = 1; }\n"
         "template kernel void f<int>(device int *);\n",
         AT "4: error: kernel 'f<int>': parameters: 1 here, 2 in its template, in line 3"},
        {"template <typename T> kernel void f() {}\ntemplate kernel void f<int>(device int *);\n",
         AT "4: error: kernel 'f<int>': parameters: 1 here, 0 in its template, in line 3"},
        {"template <typename T>\nkernel void f(device T *o, constant T &n) { o[0] = n; }\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device int *,\n"
         "  constant float &);\n",
         AT "6: error: kernel 'f<int>': parameter 2 is of another type than in its template, in "
            "line 4"},
        {"namespace a { template <typename T> kernel void g(device T *o) { o[0] = 1; } }\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device int *);\n",
         AT "4: error: there is no kernel template 'f' before its instantiation"},
        {"template [[host_name(\"a\")]] kernel void f<int>(device int *);\n"
         "template <typename T> kernel void f(device T *o) { o[0] = 1; }\n",
         AT "3: error: there is no kernel template 'f' before its instantiation"},
        {"template <typename T> kernel void f(device T *);\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device int *);\n",
         AT "4: error: there is no kernel template 'f' before its instantiation"},
        {"template <typename T> kernel void f(device T *);\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device float *);\n"
         "template <typename T> kernel void f(device T *o) { o[0] = 1; }\n",
         AT "4: error: kernel 'f<int>': parameter 1 is of another type than in its template, in "
            "line 5"},
        {"template <typename T> kernel void f(device T *o) { o[0] = 1; }\n"
         "template <typename T> kernel void f(device T *o, constant T &n) { o[0] = n; }\n\n"
         "template [[host_name(\"a\")]] kernel void f<int>(device int *, constant int &);\n",
         AT "6: error: kernel 'f<int>': several templates have its name (in lines 4 and "
            "3), and its arguments match none, or more than one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
}

TEST(instances_that_fit)
{
    assert_int_equal(
        fixture_status(
            HEAD "template <typename T, char Q = '\"', char Z = '\\0'>\n"
                 "kernel void quotes(device T *o) { o[0] = Q + Z; }\n"
                 "template [[host_name(\"q\")]] kernel void quotes<int, '\"'>(device int *);\n"
                 "template <typename T, int N>\n"
                 "kernel void f(device T *o [[buffer(0)]], constant array<T, N> &p,\n"
                 "  threadgroup T *t [[threadgroup(0)]], uint2 i [[thread_position_in_grid]])\n"
                 "{ threadgroup T x[N]; x[0] = N; o[i.x] = x[0] + t[0] + p[0]; }\n"
                 "template [[host_name(\"a\")]] kernel void f<int, 3>(device int *,\n"
                 "  constant array<int, 3> &q [[buffer(1)]], threadgroup int *,\n"
                 "  const uint2 j [[thread_position_in_grid]]);\n"
                 "namespace n { struct s { int a; };\n"
                 "template <typename T> [[kernel]] void g() {}\n"
                 "template <typename T> [[kernel]] void h(constant T &x) {}\n"
                 "template [[host_name(\"b\")]] [[kernel]] void g<int>(void);\n"
                 "template [[kernel]] void h<s>(constant s &);\n"
                 "template [[host_name(\"c\")]] [[kernel]] decltype(g<float>) g<float>; }\n"
                 "typedef decltype(f<int, 4>) f_t;\n"
                 "template [[host_name(\"d\")]] kernel f_t f<int, 4>;\n"),
        HAL_OK);
}

TEST(words_of_other_languages)
{
    static const struct wrong cases[] = {
        {"kernel void f(device int *o) {\n goto end; end: o[0] = 1; }\n",
         AT "4: error: 'goto' is not part of the language"},
        {"kernel void f(device int *o) {\n\n o[0] = *new int(3); }\n",
         AT "5: error: 'new' is not part of the language"},
        {"struct s { virtual int a() { return 1; } };\n",
         AT "3: error: 'virtual' is not part of the language"},
        {"kernel void f(device int *o) { try { o[0] = 1; } catch (...) {} }\n",
         AT "3: error: 'try' is not part of the language"},
        {"kernel void f(device int *o) { delete o; }\n",
         AT "3: error: 'delete' is not part of the language"},
        {"thread_local int x;\n", AT "3: error: 'thread_local' is not part of the language"},
        {"kernel void f(device bfloat *o, device half *h) {\n o[0] = o[1] + h[0]; }\n",
         AT "4: error: half and bfloat do not mix: convert one of them"},
        {"kernel void f(device bfloat *o, device half *h) {\n\n o[0] *= h[0]; }\n",
         AT "5: error: half and bfloat do not mix: convert one of them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
    assert_int_equal(fixture_status(HEAD "struct s { s(int) = delete; s() = default; int a; };\n"
                                         "kernel void f(device int *o) { s x; o[0] = x.a = 1; }\n"),
                     HAL_OK);
}

/* What the C library has is not the language's, by whatever name. */
TEST(functions_of_the_process)
{
    static const struct wrong cases[] = {
        {"extern \"C\" void abort();\nkernel void f(device int *o) { if (o[0]) abort(); }\n",
         AT "3: error: 'abort' is declared but not defined"},
        {"extern \"C\" {\n int system(const char *);\n}\n"
         "kernel void f(device int *o) { o[0] = system(\"true\"); }\n",
         AT "4: error: 'system' is declared but not defined"},
        {"extern \"C\" {\nnamespace a {\n extern int *environ; } }\n",
         AT "5: error: 'environ' is declared but not defined"},
        {"kernel void f(device int *o) {\n __builtin_abort(); }\n",
         AT "4: error: '__builtin_abort' is not part of the language"},
        {"kernel void f(device int *o) {\n o[0] = __builtin_printf(\"x\"); }\n",
         AT "4: error: '__builtin_printf' is not part of the language"},
        {"int getpid();\nkernel void f(device int *o) { o[0] = getpid(); }\n",
         "kernel.metal: error: 'getpid()' is declared but not defined"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_INVALID, &cases[i]);
    assert_int_equal(fixture_status(HEAD "extern \"C\" int one(int x);\n"
                                         "extern \"C\" { int one(int x) { return x + 1; } }\n"
                                         "kernel void f(device int *o) { o[0] = one(1); }\n"),
                     HAL_OK);
}

/* What is asked for is compiled, and a name that is not there found before anything is. */
TEST(names_among_many)
{
    enum { KERNELS = 600 };
    char *const source = malloc((size_t)1 << 20), name[32];
    int length = sprintf(source, HEAD);
    for (int i = 0; i < KERNELS; i++)
        length += sprintf(source + length,
                          "kernel void kernel_number_%d(device int *o) { o[0] = %d; }\n", i, i);
    struct msl_group_size wanted = {.kernel = name, .size = {1, 1, 1}};
    const struct msl_source desc = {.text = source,
                                    .bytes = (size_t)length,
                                    .group_sizes = &wanted,
                                    .group_size_count = 1,
                                    .only_listed = true};
    struct msl_library *library;
    strcpy(name, "kernel_number_417");
    assert_int_equal(msl_compile(&desc, &library), HAL_OK);
    assert_int_equal(msl_library_function_count(library), 1);
    msl_library_destroy(library);
    strcpy(name, "kernel_numbr_417");
    assert_int_equal(msl_compile(&desc, &library), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "'kernel.metal' has no kernel 'kernel_numbr_417'; it has "
                                          "'kernel_number_417', "));
    assert_non_null(strstr(hal_message(), "and 592 more"));
    free(source);
}

/* The nearest first, and of those that are as near, in the order of the source. */
TEST(names_as_near)
{
    static const char source[] = HEAD "kernel void three(device int *o) { o[0] = 3; }\n"
                                      "kernel void ab(device int *o) { o[0] = 0; }\n"
                                      "kernel void b(device int *o) { o[0] = 1; }\n"
                                      "kernel void ac(device int *o) { o[0] = 2; }\n";
    const struct msl_group_size wanted = {.kernel = "a", .size = {1, 1, 1}};
    const struct msl_source desc = {.text = source,
                                    .bytes = sizeof source - 1,
                                    .group_sizes = &wanted,
                                    .group_size_count = 1,
                                    .only_listed = true};
    struct msl_library *library;
    assert_int_equal(msl_compile(&desc, &library), HAL_INVALID);
    assert_string_equal(hal_message(),
                        "'kernel.metal' has no kernel 'a'; it has 'ab', 'b', 'ac', 'three'");
}

TEST(functions_of_other_stages)
{
    static const struct wrong cases[] = {
        {"[[mesh]] void f(device int *o) { o[0] = 1; }\n",
         AT "3: error: 'mesh': graphics functions exist on a GPU only"},
        {"\n[[object]] void f(device int *o) { o[0] = 1; }\n",
         AT "4: error: 'object': graphics functions exist on a GPU only"},
        {"[[intersection(triangle)]] bool f(device int *o) { return o[0]; }\n",
         AT "3: error: 'intersection': graphics functions exist on a GPU only"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_UNSUPPORTED, &cases[i]);
    /* Their headers are there, what these declare is not. */
    expect(HAL_UNSUPPORTED,
           &(struct wrong){"#include <metal_raytracing>\n"
                           "kernel void f(device int *o) {\n raytracing::ray r; }\n",
                           AT "5: error: 'raytracing': ray tracing exists on a GPU only"});
    expect(HAL_UNSUPPORTED,
           &(struct wrong){"#include <metal_tensor>\nkernel void f(device int *o,\n"
                           " tensor<device half, dextents<int, 2>, tensor_handle> t) {}\n",
                           AT "5: error: 'tensor_handle': tensors exist on a GPU only"});
    static const struct wrong others[] = {
        {"#include <metal_logging>\nkernel void f(device int *o) {\n os_log_default.log(\"x\"); "
         "}\n",
         AT "5: error: 'os_log_default': logs exist on a GPU only"},
        {"kernel void f(device int *o,\n visible_function_table<int(int)> t [[buffer(1)]]) {}\n", AT
         "4: error: 'visible_function_table': function tables and pipeline states exist on a GPU "
         "only"},
        {"struct s { int a; };\n\nkernel void f(imageblock<s> b) {}\n",
         AT "5: error: 'imageblock': tile and mesh shading exist on a GPU only"},
        {"kernel void f(device int *o, depth2d_array<float> d) {}\n",
         AT "3: error: 'depth2d_array': textures exist on a GPU only"},
        {"kernel void f(device int *o,\n device int *p [[sampler(0)]]) {}\n",
         AT "4: error: '[[sampler]]': textures exist on a GPU only"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(HAL_UNSUPPORTED, &others[i]);
    /* Names that only begin like those. */
    assert_int_equal(fixture_status(HEAD "int texture2d(int sampler) { return sampler; }\n"
                                         "kernel void f(device int *o) {\n"
                                         "  int imageblocks = 3, command_buffer = 4;\n"
                                         "  o[0] = texture2d(imageblocks) < command_buffer; }\n"),
                     HAL_OK);
    /* What others may call is still a function. */
    assert_int_equal(fixture_status(HEAD "[[visible]] int one(int x) { return x + 1; }\n"
                                         "[[stitchable]] int two(int x) { return x + 2; }\n"
                                         "kernel void f(device int *o) { o[0] = one(two(0)); }\n"),
                     HAL_OK);
}

/* On a processor members are found by their place. */
TEST(members_of_argument_buffers)
{
    static const struct wrong cases[] = {
        {"struct s { device int *p [[id(1)]]; };\n",
         AT "3: error: member 0 of an argument buffer has [[id(1)]]: on a processor, ids count the "
            "members from 0"},
        {"struct s { device int *p [[id(0)]], q[2];\n array<device int *, 2> r [[id(1)]];\n"
         " device int *t [[id(4)]]; };\n",
         AT "5: error: member 2 of an argument buffer has [[id(4)]]: on a processor, ids count the "
            "members from 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_UNSUPPORTED, &cases[i]);
    assert_int_equal(
        fixture_status(HEAD "struct s { device int *p [[id(0)]]; struct { int a; int b; } q;\n"
                            " constant int *r [[id(2)]]; };\n"
                            "kernel void f(constant s &x) { x.p[0] = x.r[0] + x.q.b; }\n"),
        HAL_OK);
}

/* Where a constant leaves one of them out, two parameters share an index. */
TEST(indices_that_are_shared_rightly)
{
    assert_int_equal(fixture_status(HEAD "constant bool c [[function_constant(0)]];\n"
                                         "constant bool d = !c;\n"
                                         "kernel void f(device int *o [[buffer(0)]],\n"
                                         "  device int *a [[buffer(1), function_constant(c)]],\n"
                                         "  device float *b [[buffer(1), function_constant(d)]])\n"
                                         "{ o[0] = c ? a[0] : int(b[0]); }\n"),
                     HAL_OK);
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
