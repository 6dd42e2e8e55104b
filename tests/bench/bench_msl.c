/* SPDX-License-Identifier: Apache-2.0 */
/* bench-msl: kernels against loops written by hand and against PoCL, on one thread. */
#include "tests/bench/bench_msl.h"
#include "tests/bench/bench_pocl.h"
#include "tests/bench/msl_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 21, SIDE = 512, ROWS = 1024, COLUMNS = 2048, GROUPS = 64, CHUNKS = 16 };

static const char kernels[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],\n"
    "    device float* c [[buffer(2)]], uint i [[thread_position_in_grid]]) { c[i] = a[i] + b[i]; "
    "}\n"
    "kernel void saxpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],\n"
    "    constant float& a [[buffer(2)]], uint i [[thread_position_in_grid]])\n"
    "{ y[i] = a * x[i] + y[i]; }\n"
    "kernel void matmul(device const float* A [[buffer(0)]], device const float* B [[buffer(1)]],\n"
    "    device float* C [[buffer(2)]], constant uint& n [[buffer(3)]],\n"
    "    uint2 lid [[thread_position_in_threadgroup]], uint2 gid [[thread_position_in_grid]])\n"
    "{\n"
    "    threadgroup float a[16][16], b[16][16];\n"
    "    float sum = 0.0;\n"
    "    for (uint k = 0; k < n; k += 16) {\n"
    "        a[lid.y][lid.x] = A[gid.y * n + k + lid.x];\n"
    "        b[lid.y][lid.x] = B[(k + lid.y) * n + gid.x];\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "        for (uint j = 0; j < 16; j++) sum += a[lid.y][j] * b[j][lid.x];\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    }\n"
    "    C[gid.y * n + gid.x] = sum;\n"
    "}\n"
    "kernel void matrices(device const float* A [[buffer(0)]],\n"
    "    device const float* B [[buffer(1)]], device float* C [[buffer(2)]],\n"
    "    constant uint& n [[buffer(3)]], uint2 tile [[threadgroup_position_in_grid]])\n"
    "{\n"
    "    simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);\n"
    "    for (uint k = 0; k < n; k += 8) {\n"
    "        simdgroup_load(a, A + tile.y * 8 * n + k, n);\n"
    "        simdgroup_load(b, B + k * n + tile.x * 8, n);\n"
    "        simdgroup_multiply_accumulate(c, a, b, c);\n"
    "    }\n"
    "    simdgroup_store(c, C + tile.y * 8 * n + tile.x * 8, n);\n"
    "}\n"
    "kernel void reduce(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],\n"
    "    constant uint& chunks [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],\n"
    "    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],\n"
    "    uint simd [[simdgroup_index_in_threadgroup]], uint size [[threads_per_threadgroup]],\n"
    "    uint simds [[simdgroups_per_threadgroup]])\n"
    "{\n"
    "    threadgroup float part[32];\n"
    "    float total = 0.0;\n"
    "    for (uint c = 0; c < chunks; c++) {\n"
    "        uint at = (group * chunks + c) * size * 4 + tid;\n"
    "        float v = simd_sum(in[at] + in[at + size] + in[at + 2 * size] + in[at + 3 * size]);\n"
    "        if (lane == 0) part[simd] = v;\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "        if (simd == 0) {\n"
    "            float t = simd_sum(lane < simds ? part[lane] : 0.0f);\n"
    "            if (lane == 0) total += t;\n"
    "        }\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    }\n"
    "    if (tid == 0) out[group] = total;\n"
    "}\n"
    "kernel void tree(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],\n"
    "    uint tid [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],\n"
    "    uint size [[threads_per_threadgroup]])\n"
    "{\n"
    "    threadgroup float sum[256];\n"
    "    sum[tid] = in[group * size + tid];\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    for (uint half_size = size / 2; half_size > 0; half_size >>= 1) {\n"
    "        if (tid < half_size) sum[tid] += sum[tid + half_size];\n"
    "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    }\n"
    "    if (tid == 0) out[group] = sum[0];\n"
    "}\n"
    "kernel void vector_uniform(device const char* m [[buffer(0)]],\n"
    "    device const float* x [[buffer(1)]], device const half* scales [[buffer(2)]],\n"
    "    device float* y [[buffer(3)]], constant uint& columns [[buffer(4)]],\n"
    "    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],\n"
    "    uint simd [[simdgroup_index_in_threadgroup]],\n"
    "    uint simds [[simdgroups_per_threadgroup]])\n"
    "{\n"
    "    uint row = group * simds + simd;\n"
    "    float sum = 0.0;\n"
    "    for (uint i = 0; i < columns; i += 32)\n"
    "        sum += float(m[row * columns + i + lane]) * x[i + lane];\n"
    "    sum = simd_sum(sum);\n"
    "    if (lane == 0) y[row] = sum * float(scales[row]);\n"
    "}\n"
    "kernel void vector_strided(device const char* m [[buffer(0)]],\n"
    "    device const float* x [[buffer(1)]], device const half* scales [[buffer(2)]],\n"
    "    device float* y [[buffer(3)]], constant uint& columns [[buffer(4)]],\n"
    "    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],\n"
    "    uint simd [[simdgroup_index_in_threadgroup]],\n"
    "    uint simds [[simdgroups_per_threadgroup]])\n"
    "{\n"
    "    uint row = group * simds + simd;\n"
    "    float sum = 0.0;\n"
    "    for (uint i = lane; i < columns; i += 32) sum += float(m[row * columns + i]) * x[i];\n"
    "    sum = simd_sum(sum);\n"
    "    if (lane == 0) y[row] = sum * float(scales[row]);\n"
    "}\n";

static const struct msl_group_size sizes[] = {
    {"add", {256, 1, 1}},           {"saxpy", {256, 1, 1}},         {"matmul", {16, 16, 1}},
    {"matrices", {32, 1, 1}},       {"reduce", {256, 1, 1}},        {"tree", {256, 1, 1}},
    {"vector_uniform", {64, 1, 1}}, {"vector_strided", {64, 1, 1}},
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench-msl: %s: %s\n", what, hal_message());
    exit(1);
}

static void *numbers(size_t count)
{
    static uint32_t state = 1;
    float *const values = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!values)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)((int32_t)(state >> 20) - 2048) / 1024.0f;
    }
    return values;
}

/* Of this thread alone: other processes do not count. */
static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One kernel beside its reference. */
struct pair {
    struct bench *bench;
    struct msl_library *library;
    struct msl_worker *worker;
    struct bench_pocl *pocl; /* NULL: without */
    const char *row, *kernel;
    double target, operations; /* floating-point operations of one run; 0: not shown */
    void *buffers[MSL_MAX_BUFFERS];
    uint32_t groups[3];
    const float *expected, *result;
    size_t result_count;
    void (*reference)(void *const *buffers, size_t size);
    size_t size;
};

static const uint32_t *size_of(const char *kernel)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].kernel, kernel) == 0)
            return sizes[i].size;
    return NULL;
}

static void check(const struct pair *pair)
{
    for (size_t i = 0; i < pair->result_count; i++)
        if (!(fabsf(pair->expected[i] - pair->result[i]) <=
              1e-3f * (1.0f + fabsf(pair->expected[i])))) {
            fprintf(stderr, "bench-msl: %s: element %zu is %g instead of %g\n", pair->row, i,
                    (double)pair->result[i], (double)pair->expected[i]);
            exit(1);
        }
}

#if BENCH_HAS_OPENCL
/* PoCL's time as a multiple of ours, both right after each other. */
static double run_pocl(const struct pair *pair, const struct msl_launch *launch,
                       const struct msl_function *function)
{
    struct bench_pocl_launch other = {.kernel = pair->kernel, .buffers = pair->buffers};
    memcpy(other.groups, launch->workgroup_count, sizeof other.groups);
    memcpy(other.workgroup_size, launch->workgroup_size, sizeof other.workgroup_size);
    const double theirs = bench_pocl_run(pair->pocl, &other);
    const double begin = cpu_ns();
    if (msl_function_run(function, pair->worker, launch, 0,
                         (uint64_t)other.groups[0] * other.groups[1] * other.groups[2]) != HAL_OK)
        die(pair->kernel);
    return theirs / (cpu_ns() - begin);
}
#else
static double run_pocl(const struct pair *pair, const struct msl_launch *launch,
                       const struct msl_function *function)
{
    (void)pair, (void)launch, (void)function;
    return NAN; /* never asked for: there is no `pocl` */
}
#endif

static void run(const struct pair *pair)
{
    const struct msl_function *function;
    if (msl_library_find(pair->library, pair->kernel, &function) != HAL_OK)
        die(pair->kernel);
    struct msl_launch launch = {.buffers = pair->buffers};
    memcpy(launch.workgroup_count, pair->groups, sizeof launch.workgroup_count);
    memcpy(launch.workgroup_size, size_of(pair->kernel), sizeof launch.workgroup_size);
    const uint64_t groups = (uint64_t)pair->groups[0] * pair->groups[1] * pair->groups[2];
    double ratios[REPEATS], times[REPEATS], others[REPEATS];
    for (size_t i = 0; i < (size_t)bench_repeats(REPEATS); i++) {
        const double begin = cpu_ns();
        pair->reference(pair->buffers, pair->size);
        const double middle = cpu_ns();
        if (msl_function_run(function, pair->worker, &launch, 0, groups) != HAL_OK)
            die(pair->kernel);
        times[i] = cpu_ns() - middle;
        ratios[i] = times[i] / (middle - begin);
    }
    check(pair);
    for (size_t i = 0; pair->pocl && i < (size_t)bench_repeats(REPEATS); i++)
        others[i] = run_pocl(pair, &launch, function);
    char row[128];
    snprintf(row, sizeof row, "%s, ratio to C (%s)", pair->row,
             msl_function_get_info(function)->lowering);
    bench_row(pair->bench, row, bench_median(ratios, (size_t)bench_repeats(REPEATS)), "x",
              BENCH_LOWER, pair->target);
    snprintf(row, sizeof row, "%s", pair->row);
    if (pair->operations > 0)
        bench_row(pair->bench, row,
                  pair->operations / bench_median(times, (size_t)bench_repeats(REPEATS)), "GFLOP/s",
                  BENCH_HIGHER, NAN);
    snprintf(row, sizeof row, "%s, PoCL's time to ours", pair->row);
    if (pair->pocl)
        bench_row(pair->bench, row, bench_median(others, (size_t)bench_repeats(REPEATS)), "x",
                  BENCH_HIGHER, 1);
}

/* ---- The table
 * ------------------------------------------------------------------------------------ */

static float *expected; /* what the reference wrote */

static void add(void *const *b, size_t n)
{
    reference_add(b[0], b[1], expected, n);
}
static void saxpy(void *const *b, size_t n)
{
    reference_saxpy(*(const float *)b[2], b[0], expected, n);
}
static void matmul_16(void *const *b, size_t n)
{
    reference_matmul_16(b[0], b[1], expected, n);
}
static void matmul_8(void *const *b, size_t n)
{
    reference_matmul_8(b[0], b[1], expected, n);
}
static void reduce(void *const *b, size_t length)
{
    reference_reduce(b[0], expected, GROUPS, length);
}
static void reduce_folded(void *const *b, size_t length)
{
    reference_reduce_folded(b[0], expected, GROUPS, length);
}
static void tree(void *const *b, size_t groups)
{
    reference_tree(b[0], expected, groups);
}
static void matrix_vector(void *const *b, size_t columns)
{
    reference_matrix_vector(b[0], b[1], b[2], expected, ROWS, columns);
}

static void run_elementwise(const struct pair *base, size_t count, const char *add_row,
                            const char *saxpy_row)
{
    struct pair pair = *base;
    float *const a = numbers(count), *const b = numbers(count), *const c = numbers(count);
    float factor = 0.5f;
    expected = numbers(count);
    pair.row = add_row;
    pair.kernel = "add";
    pair.target = 1.1;
    pair.buffers[0] = a, pair.buffers[1] = b, pair.buffers[2] = c;
    pair.groups[0] = (uint32_t)(count / 256);
    pair.reference = add;
    pair.size = pair.result_count = count;
    pair.expected = expected, pair.result = c;
    run(&pair);
    memcpy(expected, c, count * sizeof *c);
    pair.row = saxpy_row;
    pair.kernel = "saxpy";
    pair.buffers[1] = c, pair.buffers[2] = &factor;
    pair.reference = saxpy;
    run(&pair);
    free(a), free(b), free(c), free(expected);
}

static void run_matrices(const struct pair *base)
{
    struct pair pair = *base;
    const size_t count = (size_t)SIDE * SIDE;
    float *const a = numbers(count), *const b = numbers(count), *const c = numbers(count);
    uint32_t side = SIDE;
    expected = numbers(count);
    pair.operations = 2.0 * SIDE * SIDE * SIDE;
    pair.buffers[0] = a, pair.buffers[1] = b, pair.buffers[2] = c, pair.buffers[3] = &side;
    pair.expected = expected, pair.result = c;
    pair.size = SIDE;
    pair.result_count = count;
    pair.row = "tiled 16x16 matmul 512^3";
    pair.kernel = "matmul";
    pair.target = 1.5;
    pair.groups[0] = pair.groups[1] = SIDE / 16;
    pair.reference = matmul_16;
    run(&pair);
    pair.row = "simdgroup_matrix 8x8 matmul 512^3";
    pair.kernel = "matrices";
    pair.target = 2;
    pair.groups[0] = pair.groups[1] = SIDE / 8;
    pair.reference = matmul_8;
    run(&pair);
    free(a), free(b), free(c), free(expected);
}

static void run_reductions(const struct pair *base)
{
    struct pair pair = *base;
    const size_t length = 256 * 4 * CHUNKS, count = GROUPS * length;
    float *const in = numbers(count), *const out = numbers(count / 256);
    uint32_t chunks = CHUNKS;
    expected = numbers(count / 256);
    pair.buffers[0] = in, pair.buffers[1] = out, pair.buffers[2] = &chunks;
    pair.expected = expected, pair.result = out;
    pair.row = "reduction with simd_sum";
    pair.kernel = "reduce";
    pair.target = 1.3;
    pair.groups[0] = GROUPS;
    pair.reference = reduce;
    pair.size = length;
    pair.result_count = GROUPS;
    run(&pair);
    pair.row = "reduction with simd_sum, C in the same steps";
    pair.reference = reduce_folded;
    run(&pair);
    pair.row = "tree reduction";
    pair.kernel = "tree";
    pair.target = 3;
    pair.groups[0] = (uint32_t)(count / 256);
    pair.reference = tree;
    pair.size = pair.result_count = count / 256;
    run(&pair);
    free(in), free(out), free(expected);
}

static void run_matrix_vector(const struct pair *base)
{
    struct pair pair = *base;
    int8_t *const weights = malloc((size_t)ROWS * COLUMNS);
    uint16_t scales[ROWS];
    float *const x = numbers(COLUMNS), *const y = numbers(ROWS);
    uint32_t columns = COLUMNS;
    if (!weights)
        exit(1);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        weights[i] = (int8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < ROWS; i++)
        scales[i] = 0x2c00; /* 1/16 as a half */
    expected = numbers(ROWS);
    pair.buffers[0] = weights, pair.buffers[1] = x, pair.buffers[2] = scales;
    pair.buffers[3] = y, pair.buffers[4] = &columns;
    pair.expected = expected, pair.result = y;
    pair.result_count = ROWS;
    pair.groups[0] = ROWS / 2;
    pair.reference = matrix_vector;
    pair.size = COLUMNS;
    pair.operations = 2.0 * ROWS * COLUMNS;
    pair.row = "int8 matrix-vector, uniform loop";
    pair.kernel = "vector_uniform";
    pair.target = 1.3;
    run(&pair);
    pair.row = "int8 matrix-vector, i = lane; i += 32";
    pair.kernel = "vector_strided";
    pair.target = 3;
    run(&pair);
    free(weights), free(x), free(y), free(expected);
}

int main(int argc, char **argv)
{
    struct bench bench;
    bench_begin(&bench, "bench-msl", argc, argv);
    const struct msl_source source = {.text = kernels,
                                      .bytes = sizeof kernels - 1,
                                      .group_sizes = sizes,
                                      .group_size_count = sizeof sizes / sizeof *sizes};
    struct pair base = {.bench = &bench, .groups = {1, 1, 1}};
    if (msl_compile(&source, &base.library) != HAL_OK)
        die("the kernels");
    if (msl_worker_create(&base.worker) != HAL_OK)
        die("a worker");
    const char *reason = "bench-msl was built without OpenCL (Debian: ocl-icd-opencl-dev)";
#if BENCH_HAS_OPENCL
    if (!bench_is_quick())
        base.pocl = bench_pocl_open(&reason);
#endif
    if (!base.pocl && !bench_is_quick())
        fprintf(stderr, "bench-msl: skipped: PoCL: %s\n", reason);
    if (bench_wants(&bench, "elementwise")) {
        run_elementwise(&base, 1 << 16, "vector add, 64 k", "saxpy, 64 k");
        run_elementwise(&base, (size_t)bench_size(1 << 24, 1 << 16), "vector add, 16 M",
                        "saxpy, 16 M");
    }
    if (bench_wants(&bench, "matrices"))
        run_matrices(&base);
    if (bench_wants(&bench, "reductions"))
        run_reductions(&base);
    if (bench_wants(&bench, "matrix-vector"))
        run_matrix_vector(&base);
#if BENCH_HAS_OPENCL
    bench_pocl_close(base.pocl);
#endif
    const struct msl_function *matmul;
    if (msl_library_find(base.library, "matmul", &matmul) != HAL_OK)
        die("matmul");
    if (bench_wants(&bench, "workers"))
        bench_msl_workers(&bench, matmul);
    msl_worker_destroy(base.worker);
    msl_library_destroy(base.library);
    if (bench_wants(&bench, "compile"))
        bench_msl_compile(&bench);
    return bench_end(&bench);
}
