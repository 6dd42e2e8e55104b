/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses that leave a buffer or threadgroup memory: what is caught, what is said, and that
 * nothing is caught that is inside. Each kernel is given the index of the last element and of the
 * one behind it. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

enum { THREADS = 64, GROUPS = 3, ELEMENTS = 100, ARGUMENT_BYTES = 256 };

static struct {
    int32_t o[THREADS * GROUPS];
    int32_t before[64], a[ELEMENTS], behind[64]; /* where a missed access would go */
    int32_t at;
    float constants[4];
} memory;

static struct fixture_kernel compile(const char *text)
{
    const struct msl_source source = {.text = text, .bytes = strlen(text), .check_bounds = true};
    struct fixture_kernel kernel = fixture_compile_with(&source, "k");
    assert_true(msl_function_get_info(kernel.function)->checks_bounds);
    return kernel;
}

static enum hal_status run(const struct fixture_kernel *kernel, int32_t at)
{
    void *const buffers[MSL_MAX_BUFFERS] = {memory.o, memory.a, &memory.at, memory.constants};
    const uint64_t bytes[MSL_MAX_BUFFERS] = {sizeof memory.o, sizeof memory.a, sizeof memory.at,
                                             sizeof memory.constants};
    const uint32_t group_bytes[MSL_MAX_THREADGROUP_ARGUMENTS] = {ARGUMENT_BYTES};
    const struct msl_launch launch = {.buffers = buffers,
                                      .buffer_bytes = bytes,
                                      .workgroup_argument_bytes = group_bytes,
                                      .workgroup_size = {THREADS, 1, 1},
                                      .workgroup_count = {GROUPS, 1, 1}};
    memset(&memory, 0, sizeof memory);
    memory.at = at;
    return msl_function_run(kernel->function, kernel->worker, &launch, 0, GROUPS);
}

static void nothing_else_was_written(void)
{
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(memory.before[i] | memory.behind[i], 0);
}

/* "i": position in the grid, "t": in the group; "p" is the pointer in question. */
#define KERNEL(body)                                                                               \
    HEAD "struct five { int v[5]; };\n"                                                            \
         "static int get(const device int *p, int n) { return p[n]; }\n"                           \
         "static void put(device int *p, int n) { for (int i = 0; i < 2; i++) p[n - i] = 3; }\n"   \
         "kernel void k(device int *o [[buffer(0)]], device int *a [[buffer(1)]],\n"               \
         " constant int &at [[buffer(2)]], constant float *c [[buffer(3)]],\n"                     \
         " threadgroup int *s [[threadgroup(0)]], uint i [[thread_position_in_grid]],\n"           \
         " uint t [[thread_index_in_threadgroup]]) {\n" body "\n}\n"

static const struct {
    const char *text;
    int32_t good, bad;
    const char *message;
} cases[] = {
    {KERNEL("o[i] = 1; if (i == 37) o[i] = a[at];"), ELEMENTS - 1, ELEMENTS,
     "thread (37, 0, 0): reads 4 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (i == 130) a[at] = 5;"), ELEMENTS - 1, ELEMENTS,
     "thread (130, 0, 0): writes 4 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (i == 0) a[at] = 5;"), 0, -1,
     "thread (0, 0, 0): writes 4 bytes at offset -4 of buffer 1, which has 400"},
    {KERNEL("o[i] = 0; if (i == 191) o[i + at] = 1;"), 0, 1,
     "thread (191, 0, 0): writes 4 bytes at offset 768 of buffer 0, which has 768"},
    {KERNEL("if (t == 5) o[i] = int(c[at]);"), 3, 4,
     "thread (5, 0, 0): reads 4 bytes at offset 16 of buffer 3, which has 16"},
    {KERNEL("if (t == 5) { device int4 *v = (device int4 *)a; v[at] = int4(1); }"), 24, 25,
     "thread (5, 0, 0): writes 16 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (t == 5) { device packed_int3 *v = (device packed_int3 *)(a + 1);"
            " packed_int3 x = v[at]; o[i] = x[0] + x[1] + x[2]; }"),
     32, 33, "of buffer 1, which has 400"},
    {KERNEL("if (t == 5) o[i] = get(a + 50, at - 50);"), ELEMENTS - 1, ELEMENTS,
     "thread (5, 0, 0): reads 4 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (t == 5) put(at > 1000 ? o : a, at);"), ELEMENTS - 1, ELEMENTS,
     "thread (5, 0, 0): writes 4 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (t == 5) atomic_fetch_add_explicit((device atomic_int *)&a[at], 1,"
            " memory_order_relaxed);"),
     ELEMENTS - 1, ELEMENTS, "writes 4 bytes at offset 400 of buffer 1, which has 400"},
    {KERNEL("if (t == 5) { five f = ((device five *)a)[at]; o[i] = f.v[at % 5]; }"), 19, 20,
     "of buffer 1, which has 400"},
    {KERNEL("s[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup);"
            " if (t == 9) o[i] = s[at];"),
     63, 64,
     "thread (9, 0, 0): reads 4 bytes at offset 256 of threadgroup argument 0, which has "
     "256"},
    {KERNEL("s[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); if (i == 73) s[at] = 2;"
            " threadgroup_barrier(mem_flags::mem_threadgroup); o[i] = s[t];"),
     63, 64,
     "thread (73, 0, 0): writes 4 bytes at offset 256 of threadgroup argument 0, which "
     "has 256"},
    {KERNEL("threadgroup int x[64]; threadgroup float y[64]; x[t] = 1; y[t] = 2;\n"
            "threadgroup_barrier(mem_flags::mem_threadgroup); if (t == 9)\no[i] = x[at];"),
     63, 64, "thread (9, 0, 0): kernel.metal:12: index 64 of an array of type 'int[64]'"},
    {KERNEL("threadgroup int x[64]; threadgroup int *p = x; p[t] = 1;\n"
            "threadgroup_barrier(mem_flags::mem_threadgroup); if (t == 9) p[at] = 1;"),
     63, 64,
     "thread (9, 0, 0): writes 4 bytes at offset 256 of the threadgroup variables, which "
     "have 256"},
    {KERNEL("int own[4] = {0, 1, 2, 3}; own[t % 4]++; if (t == 9)\no[i] = own[at];"), 3, 4,
     "thread (9, 0, 0): kernel.metal:11: index 4 of an array of type 'int[4]'"},
    {KERNEL("int sum = simd_sum(int(t)); if (t == 31) o[i] = a[at]; o[i] = simd_sum(sum);"),
     ELEMENTS - 1, ELEMENTS, "thread (31, 0, 0): reads 4 bytes at offset 400 of buffer 1"},
};

TEST(one_behind_is_caught)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture_kernel kernel = compile(cases[i].text);
        /* Twice: a worker goes on after a failure as if there had been none. */
        for (int round = 0; round < 2; round++) {
            if (run(&kernel, cases[i].good) != HAL_OK)
                fail_msg("case %zu: %s", i, hal_message());
            if (run(&kernel, cases[i].bad) != HAL_INVALID)
                fail_msg("case %zu is not caught", i);
            if (!strstr(hal_message(), cases[i].message) ||
                strncmp(hal_message(), "kernel 'k', thread (", 20) != 0)
                fail_msg("case %zu: the message is \"%s\"", i, hal_message());
            nothing_else_was_written();
        }
        fixture_release(&kernel);
    }
}

/* A constant structure that is longer than what is bound. */
TEST(short_constants_are_caught)
{
    struct fixture_kernel kernel =
        compile(HEAD "struct wide { float v[4]; int last; };\n"
                     "kernel void k(device int *o [[buffer(0)]], constant wide &w [[buffer(3)]],\n"
                     " uint i [[thread_position_in_grid]]) { o[i] = w.last; }\n");
    assert_int_equal(run(&kernel, 0), HAL_INVALID);
    assert_string_equal(hal_message(),
                        "kernel 'k', thread (0, 0, 0): reads 4 bytes at offset 16 of "
                        "buffer 3, which has 16");
    fixture_release(&kernel);
}

/* Groups after the one that failed do not run, those before it have. */
TEST(the_rest_does_not_run)
{
    struct fixture_kernel kernel = compile(KERNEL("o[i] = 7; if (i == 70) o[i] = a[at];"));
    assert_int_equal(run(&kernel, ELEMENTS), HAL_INVALID);
    for (size_t i = 0; i < THREADS * GROUPS; i++)
        if (i < THREADS || i >= 2 * THREADS)
            assert_int_equal(memory.o[i], i < THREADS ? 7 : 0);
    fixture_release(&kernel);
}

TEST(lengths_may_be_unknown)
{
    struct fixture_kernel kernel = compile(
        "kernel void k(device int *o [[buffer(0)]], uint i [[thread_position_in_grid]]) { o[i] = "
        "int(i); }");
    void *const buffers[MSL_MAX_BUFFERS] = {memory.o};
    const struct msl_launch launch = {
        .buffers = buffers, .workgroup_size = {THREADS, 1, 1}, .workgroup_count = {GROUPS, 1, 1}};
    assert_int_equal(msl_function_run(kernel.function, kernel.worker, &launch, 0, GROUPS), HAL_OK);
    assert_int_equal(memory.o[THREADS * GROUPS - 1], THREADS * GROUPS - 1);
    fixture_release(&kernel);
}

TEST(checks_need_their_program)
{
    static const char text[] = "kernel void k(device int *o) { o[0] = 1; }";
    const struct msl_source source = {.text = text, .bytes = sizeof text - 1, .check_bounds = true};
    struct msl_library *library;
    setenv("HAL_MSL_CC", "/nonexistent/hal-msl-cc", 1);
    assert_int_equal(msl_compile(&source, &library), HAL_NOT_FOUND);
    assert_non_null(strstr(hal_message(), "bounds cannot be checked"));
    unsetenv("HAL_MSL_CC");
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
