/* SPDX-License-Identifier: Apache-2.0 */
/* Whole kernels against plain C: the loops and the fibers of hal/msl/run.c. */
#include "tests/unit/msl_fixture.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fixture_random_float();
}

static void vector_add(void **state)
{
    (void)state;
    enum { COUNT = 1000 * 64 };
    static float a[COUNT], b[COUNT], c[COUNT];
    fill(a, COUNT);
    fill(b, COUNT);
    fixture_run_source(HEAD "kernel void vadd(device const float* a [[buffer(0)]],\n"
                            "                 device const float* b [[buffer(1)]],\n"
                            "                 device float* c [[buffer(2)]],\n"
                            "                 uint i [[thread_position_in_grid]])\n"
                            "{ c[i] = a[i] + b[i]; }\n",
                       "vadd", (void *[]){a, b, c}, 3, COUNT / 64, 64);
    for (size_t i = 0; i < COUNT; i++)
        assert_float_equal(c[i], a[i] + b[i], 0);
}

static void saxpy_with_guard_and_group_positions(void **state)
{
    (void)state;
    enum { COUNT = 777, THREADS = 32, GROUPS = 25 };
    float x[COUNT], y[GROUPS * THREADS], before[GROUPS * THREADS], a = 1.5f;
    uint32_t count = COUNT;
    fill(x, COUNT);
    fill(y, GROUPS * THREADS);
    memcpy(before, y, sizeof y);
    fixture_run_source(
        HEAD "[[kernel]] void saxpy(device const float* x [[buffer(0)]],\n"
             " device float* y [[buffer(1)]], constant float& a [[buffer(2)]],\n"
             " constant uint& n [[buffer(3)]], uint tp [[thread_position_in_threadgroup]],\n"
             " uint tg [[threadgroup_position_in_grid]], uint tn [[threads_per_threadgroup]])\n"
             "{ uint i = tg * tn + tp; if (i >= n) return; y[i] = a * x[i] + y[i]; }\n",
        "saxpy", (void *[]){x, y, &a, &count}, 4, GROUPS, THREADS);
    for (size_t i = 0; i < GROUPS * THREADS; i++) {
        const float product = i < COUNT ? a * x[i] : 0;
        assert_float_equal(y[i], i < COUNT ? product + before[i] : before[i], 0);
    }
}

static const char tiled_matmul[] =
    HEAD "constant constexpr int tile = 16;\n"
         "kernel void matmul(device const float* A [[buffer(0)]],\n"
         "                   device const float* B [[buffer(1)]],\n"
         "                   device float* C [[buffer(2)]], constant uint3& shape [[buffer(3)]],\n"
         "                   uint2 lid [[thread_position_in_threadgroup]],\n"
         "                   uint2 gid [[thread_position_in_grid]])\n"
         "{\n"
         "    threadgroup float a[tile][tile], b[tile][tile];\n"
         "    float sum = 0.0;\n"
         "    for (uint k = 0; k < shape.z; k += tile) {\n"
         "        a[lid.y][lid.x] = A[gid.y * shape.z + k + lid.x];\n"
         "        b[lid.y][lid.x] = B[(k + lid.y) * shape.y + gid.x];\n"
         "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "        for (uint j = 0; j < tile; j++) sum += a[lid.y][j] * b[j][lid.x];\n"
         "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "    }\n"
         "    C[gid.y * shape.y + gid.x] = sum;\n"
         "}\n";

static void tiled_matmul_with_barriers(void **state)
{
    (void)state;
    enum { M = 48, N = 64, K = 80 };
    static float a[M * K], b[K * N], c[M * N];
    uint32_t shape[4] = {M, N, K, 0};
    fill(a, M * K);
    fill(b, K * N);
    struct fixture_kernel kernel = fixture_compile(tiled_matmul, "matmul");
    const struct msl_function_info *const info = msl_function_get_info(kernel.function);
    assert_true(info->has_barriers);
    assert_int_equal(info->static_group_memory_bytes, 2 * 16 * 16 * 4);
    assert_int_equal(info->buffer_mask, 0xf);
    assert_int_equal(info->buffer_access[1], MSL_READ);
    assert_int_equal(info->buffer_access[2], MSL_READ_WRITE);
    assert_int_equal(info->buffer_access[3], MSL_READ);
    fixture_run(&kernel, (void *[]){a, b, c, shape}, 4, NULL, (const uint32_t[]){N / 16, M / 16, 1},
                (const uint32_t[]){16, 16, 1});
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            float sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            assert_float_equal(c[i * N + j], sum, 0);
        }
    fixture_release(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add),
        cmocka_unit_test(saxpy_with_guard_and_group_positions),
        cmocka_unit_test(tiled_matmul_with_barriers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
