/* SPDX-License-Identifier: Apache-2.0 */
/* Whole kernels against plain C: the loops and the fibers of hal/compiler/msl/run.c. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fixture_random_float();
}

TEST(vector_add)
{
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

TEST(saxpy_with_guard_and_group_positions)
{
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

TEST(tiled_matmul_with_barriers)
{
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

/* One row of a decode step: int8 weights in blocks with half scales, half bias. */
TEST(int8_matrix_vector)
{
    enum { ROWS = 96, COLUMNS = 128, BATCH = 3, BLOCK = 32 };
    static int8_t weights[ROWS * COLUMNS];
    static uint16_t scales[ROWS * COLUMNS / BLOCK], input[COLUMNS * BATCH], bias[ROWS];
    static uint16_t output[ROWS * BATCH];
    uint32_t shape[4] = {ROWS, COLUMNS, BATCH, BLOCK};
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        weights[i] = (int8_t)fixture_random();
    for (size_t i = 0; i < ROWS * COLUMNS / BLOCK; i++)
        scales[i] = fixture_to_half((float)(fixture_random() % 100) / 5000.0f);
    for (size_t i = 0; i < COLUMNS * BATCH; i++)
        input[i] = fixture_to_half(fixture_random_float());
    for (size_t i = 0; i < ROWS; i++)
        bias[i] = fixture_to_half(fixture_random_float());
    struct fixture_kernel kernel = fixture_compile(
        HEAD "kernel void q8(device const int8_t* weights [[buffer(0)]],\n"
             " device const half* scales [[buffer(1)]], device const half* input [[buffer(2)]],\n"
             " device const half* bias [[buffer(3)]], device half* output [[buffer(4)]],\n"
             " constant uint4& shape [[buffer(5)]], uint2 gid [[thread_position_in_grid]])\n"
             "{\n"
             "    uint rows = shape.x, columns = shape.y, block = shape.w;\n"
             "    if (gid.x >= rows || gid.y >= shape.z) return;\n"
             "    float sum = 0.0f;\n"
             "    for (uint b = 0; b < columns / block; b++) {\n"
             "        float part = 0.0f;\n"
             "        for (uint j = 0; j < block; j++)\n"
             "            part += float(weights[gid.x * columns + b * block + j]) *\n"
             "                    float(input[gid.y * columns + b * block + j]);\n"
             "        sum += part * float(scales[gid.x * (columns / block) + b]);\n"
             "    }\n"
             "    output[gid.y * rows + gid.x] = half(sum) + bias[gid.x];\n"
             "}\n",
        "q8");
    assert_false(msl_function_get_info(kernel.function)->has_barriers);
    fixture_run(&kernel, (void *[]){weights, scales, input, bias, output, shape}, 6, NULL,
                (const uint32_t[]){ROWS / 32, BATCH, 1}, (const uint32_t[]){32, 1, 1});
    for (size_t y = 0; y < BATCH; y++)
        for (size_t x = 0; x < ROWS; x++) {
            float sum = 0;
            for (size_t b = 0; b < COLUMNS / BLOCK; b++) {
                float part = 0;
                for (size_t j = 0; j < BLOCK; j++)
                    part += (float)weights[x * COLUMNS + b * BLOCK + j] *
                            fixture_from_half(input[y * COLUMNS + b * BLOCK + j]);
                sum += part * fixture_from_half(scales[x * (COLUMNS / BLOCK) + b]);
            }
            const float rounded = fixture_from_half(fixture_to_half(sum));
            const uint16_t expected = fixture_to_half(rounded + fixture_from_half(bias[x]));
            assert_int_equal(output[y * ROWS + x], expected);
        }
    fixture_release(&kernel);
}

TEST(reduction_over_simdgroups)
{
    enum { GROUPS = 5, THREADS = 320 };
    static float values[GROUPS * THREADS];
    float sums[GROUPS] = {0};
    uint32_t counter = 0;
    for (size_t i = 0; i < GROUPS * THREADS; i++)
        values[i] = (float)(fixture_random() % 64);
    struct fixture_kernel kernel = fixture_compile(
        HEAD "kernel void reduce(device const float* a [[buffer(0)]],\n"
             " device float* out [[buffer(1)]], device atomic_uint* count [[buffer(2)]],\n"
             " threadgroup float* shared [[threadgroup(0)]],\n"
             " uint gid [[thread_position_in_grid]], uint tg [[threadgroup_position_in_grid]],\n"
             " uint lane [[thread_index_in_simdgroup]],\n"
             " uint sg [[simdgroup_index_in_threadgroup]],\n"
             " uint groups [[simdgroups_per_threadgroup]])\n"
             "{\n"
             "    float v = simd_sum(a[gid]);\n"
             "    if (lane == 0) shared[sg] = v;\n"
             "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
             "    if (sg == 0) {\n"
             "        float t = simd_sum(lane < groups ? shared[lane] : 0.0f);\n"
             "        if (lane == 0) {\n"
             "            out[tg] = t;\n"
             "            atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);\n"
             "        }\n"
             "    }\n"
             "}\n",
        "reduce");
    assert_int_equal(msl_function_get_info(kernel.function)->threadgroup_mask, 1);
    fixture_run(&kernel, (void *[]){values, sums, &counter}, 3, (const uint32_t[]){32 * 4},
                (const uint32_t[]){GROUPS, 1, 1}, (const uint32_t[]){THREADS, 1, 1});
    assert_int_equal(counter, GROUPS);
    for (size_t g = 0; g < GROUPS; g++) {
        float sum = 0; /* whole numbers: any order gives the same */
        for (size_t i = 0; i < THREADS; i++)
            sum += values[g * THREADS + i];
        assert_float_equal(sums[g], sum, 0);
    }
    fixture_release(&kernel);
}

/* A tree in threadgroup memory with an early-returning half and a run-time width. */
TEST(rms_norm_with_group_reduction)
{
    enum { ROWS = 4, WIDTH = 500, THREADS = 128 };
    static float x[ROWS * WIDTH], weight[WIDTH], out[ROWS * WIDTH];
    uint32_t width = WIDTH;
    fill(x, ROWS * WIDTH);
    fill(weight, WIDTH);
    struct fixture_kernel kernel = fixture_compile(
        HEAD
        "kernel void rms(device const float* x [[buffer(0)]],\n"
        " device const float* weight [[buffer(1)]], device float* out [[buffer(2)]],\n"
        " constant uint& width [[buffer(3)]], uint row [[threadgroup_position_in_grid]],\n"
        " uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])\n"
        "{\n"
        "    threadgroup float partial[1024];\n"
        "    float sum = 0.0f;\n"
        "    for (uint i = t; i < width; i += n) sum += x[row * width + i] * x[row * width + i];\n"
        "    partial[t] = sum;\n"
        "    for (uint half_size = n / 2; half_size > 0; half_size /= 2) {\n"
        "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "        if (t < half_size) partial[t] += partial[t + half_size];\n"
        "    }\n"
        "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    float scale = rsqrt(partial[0] / float(width) + 1e-5f);\n"
        "    for (uint i = t; i < width; i += n)\n"
        "        out[row * width + i] = x[row * width + i] * scale * weight[i];\n"
        "}\n",
        "rms");
    fixture_run(&kernel, (void *[]){x, weight, out, &width}, 4, NULL,
                (const uint32_t[]){ROWS, 1, 1}, (const uint32_t[]){THREADS, 1, 1});
    for (size_t r = 0; r < ROWS; r++) {
        float partial[THREADS] = {0};
        for (size_t i = 0; i < WIDTH; i++)
            partial[i % THREADS] += x[r * WIDTH + i] * x[r * WIDTH + i];
        for (size_t half_size = THREADS / 2; half_size; half_size /= 2)
            for (size_t i = 0; i < half_size; i++)
                partial[i] += partial[i + half_size];
        const float scale = 1.0f / sqrtf(partial[0] / (float)WIDTH + 1e-5f);
        for (size_t i = 0; i < WIDTH; i++)
            assert_float_equal(out[r * WIDTH + i], x[r * WIDTH + i] * scale * weight[i], 0);
    }
    fixture_release(&kernel);
}

TEST(divergent_simd_operations)
{
    float out[32];
    uint32_t trips[32];
    fixture_run_source(
        HEAD
        "kernel void diverge(device float* out [[buffer(0)]], device uint* trips [[buffer(1)]],\n"
        "                    uint lane [[thread_index_in_simdgroup]])\n"
        "{\n"
        "    float x = lane;\n"
        "    if (lane < 16) x = simd_sum(x); else x = simd_max(x * 2);\n"
        "    x += simd_shuffle_xor(x, 1);\n"
        "    out[lane] = x;\n"
        "    uint i = 0, sum = 0;\n"
        "    while (i < lane) { sum += simd_sum(1u); i++; }\n"
        "    trips[lane] = sum;\n"
        "}\n",
        "diverge", (void *[]){out, trips}, 2, 1, 32);
    for (uint32_t lane = 0; lane < 32; lane++) {
        assert_float_equal(out[lane], lane < 16 ? 240 : 124, 0);
        /* In round i the lanes above i take part. */
        uint32_t sum = 0;
        for (uint32_t i = 0; i < lane; i++)
            sum += 31 - i;
        assert_int_equal(trips[lane], sum);
    }
}

TEST(simdgroup_matrices)
{
    float a[8 * 32], c[64];
    uint16_t b[32 * 8];
    fill(a, 8 * 32);
    for (size_t i = 0; i < 32 * 8; i++)
        b[i] = fixture_to_half(fixture_random_float());
    fixture_run_source(
        HEAD "kernel void mma(device const float* A [[buffer(0)]],\n"
             "                device const half* B [[buffer(1)]], device float* C [[buffer(2)]])\n"
             "{\n"
             "    simdgroup_float8x8 a; simdgroup_half8x8 b;\n"
             "    simdgroup_float8x8 c = make_filled_simdgroup_matrix<float, 8, 8>(0.f);\n"
             "    for (int k = 0; k < 4; k++) {\n"
             "        simdgroup_load(a, A + 8 * k, 32);\n"
             "        simdgroup_load(b, B + 64 * k, 8);\n"
             "        simdgroup_multiply_accumulate(c, a, b, c);\n"
             "    }\n"
             "    simdgroup_store(c, C, 8);\n"
             "}\n",
        "mma", (void *[]){a, b, c}, 3, 1, 32);
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            float sum = 0; /* products of multiples of 2^-10: exact in a double, close in floats */
            for (size_t k = 0; k < 32; k++)
                sum += a[i * 32 + k] * fixture_from_half(b[k * 8 + j]);
            assert_float_equal(c[i * 8 + j], sum, 1e-5);
        }
}

/* All lanes' expected values by hand: lane numbers through every way of moving them. */
TEST(shuffles_and_prefix_sums)
{
    enum { WAYS = 16 };
    static int32_t out[WAYS][32];
    fixture_run_source(
        HEAD
        "kernel void move(device int* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]])\n"
        "{\n"
        "    int x = lane; device int* o = out + lane;\n"
        "    o[0 * 32] = simd_shuffle_up(x, 3);\n"
        "    o[1 * 32] = simd_shuffle_down(x, 3);\n"
        "    o[2 * 32] = simd_shuffle_rotate_up(x, 3);\n"
        "    o[3 * 32] = simd_shuffle_rotate_down(x, 3);\n"
        "    o[4 * 32] = simd_broadcast(x, 7);\n"
        "    o[5 * 32] = simd_prefix_inclusive_sum(x);\n"
        "    o[6 * 32] = simd_prefix_exclusive_sum(x);\n"
        "    o[7 * 32] = int(uint(simd_vote::vote_t(simd_ballot(lane % 3 == 0))));\n"
        "    o[8 * 32] = simd_shuffle_and_fill_up(x, 100 + x, 2);\n"
        "    o[9 * 32] = simd_shuffle_and_fill_down(x, 100 + x, 2);\n"
        "    o[10 * 32] = quad_sum(x);\n"
        "    o[11 * 32] = quad_shuffle_xor(x, 2);\n"
        "    o[12 * 32] = simd_product(lane < 4 ? x + 1 : 1);\n"
        "    o[13 * 32] = simd_min(100 - x) * 1000 + simd_max(x);\n"
        "    o[14 * 32] = simd_all(x < 32) + 2 * simd_any(x == 31) + 4 * simd_any(x == 32);\n"
        "    o[15 * 32] = simd_is_first() ? 1 : simd_broadcast_first(x + 5);\n"
        "}\n",
        "move", (void *[]){out}, 1, 1, 32);
    int32_t sum = 0, thirds = 0;
    for (int lane = 0; lane < 32; lane += 3)
        thirds |= (int32_t)(UINT32_C(1) << lane);
    for (int lane = 0; lane < 32; lane++) {
        const int quad = lane / 4 * 4;
        assert_int_equal(out[0][lane], lane < 3 ? lane : lane - 3);
        assert_int_equal(out[1][lane], lane > 28 ? lane : lane + 3);
        assert_int_equal(out[2][lane], (lane + 29) % 32);
        assert_int_equal(out[3][lane], (lane + 3) % 32);
        assert_int_equal(out[4][lane], 7);
        assert_int_equal(out[6][lane], sum);
        sum += lane;
        assert_int_equal(out[5][lane], sum);
        assert_int_equal(out[7][lane], thirds);
        assert_int_equal(out[8][lane], lane < 2 ? 130 + lane : lane - 2);
        assert_int_equal(out[9][lane], lane > 29 ? 100 + lane - 30 : lane + 2);
        assert_int_equal(out[10][lane], 4 * quad + 6);
        assert_int_equal(out[11][lane], lane ^ 2);
        assert_int_equal(out[12][lane], 24);
        assert_int_equal(out[13][lane], 69031);
        assert_int_equal(out[14][lane], 3);
        assert_int_equal(out[15][lane], lane ? 6 : 1); /* lane 0 went the other way */
    }
}

/* Groups that no multiple of the SIMD width fills, three dimensions, early returns. */
TEST(odd_groups_with_early_returns)
{
    enum { X = 5, Y = 3, Z = 4, GROUPS = 2 * 3 * 2, THREADS = X * Y * Z };
    uint32_t out[GROUPS][THREADS];
    memset(out, 0xff, sizeof out);
    struct fixture_kernel kernel = fixture_compile(
        HEAD
        "kernel void odd(device uint* out [[buffer(0)]], uint3 p [[thread_position_in_grid]],\n"
        " uint3 n [[threads_per_grid]], uint i [[thread_index_in_threadgroup]],\n"
        " ushort3 g [[threadgroup_position_in_grid]], uint3 gs [[threadgroups_per_grid]],\n"
        " uint3 size [[threads_per_threadgroup]])\n"
        "{\n"
        "    threadgroup atomic_uint total;\n"
        "    if (i == 0) atomic_store_explicit(&total, 0u, memory_order_relaxed);\n"
        "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    if (i % 2 == 1) return;\n"
        "    atomic_fetch_add_explicit(&total, 1u, memory_order_relaxed);\n"
        "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "    uint group = (g.z * gs.y + g.y) * gs.x + g.x;\n"
        "    uint linear = (p.z * n.y + p.y) * n.x + p.x;\n"
        "    out[group * size.x * size.y * size.z + i] =\n"
        "        linear + 10000 * atomic_load_explicit(&total, memory_order_relaxed);\n"
        "}\n",
        "odd");
    fixture_run(&kernel, (void *[]){out}, 1, NULL, (const uint32_t[]){2, 3, 2},
                (const uint32_t[]){X, Y, Z});
    for (uint32_t g = 0; g < GROUPS; g++)
        for (uint32_t i = 0; i < THREADS; i++) {
            const uint32_t x = g % 2 * X + i % X, y = g / 2 % 3 * Y + i / X % Y;
            const uint32_t z = g / 6 * Z + i / X / Y, linear = (z * 9 + y) * 10 + x;
            assert_int_equal(out[g][i], i % 2 ? UINT32_MAX : linear + 10000 * (THREADS / 2));
        }
    fixture_release(&kernel);
}

/* An array at the end of what is only read may be longer than its type says. */
TEST(open_arrays_are_read_where_they_are)
{
    uint32_t in[65], out[64] = {0};
    for (uint32_t i = 0; i < 65; i++)
        in[i] = i * i;
    fixture_run_source("#include <metal_stdlib>\n"
                       "struct list { uint factor; uint items[1]; };\n"
                       "kernel void k(const device list& in [[buffer(0)]],\n"
                       "              device uint* out [[buffer(1)]],\n"
                       "              uint i [[thread_position_in_grid]])\n"
                       "{ out[i] = in.items[i] + in.factor; }\n",
                       "k", (void *[]){in, out}, 2, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], (i + 1) * (i + 1));
}
