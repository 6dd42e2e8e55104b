/* SPDX-License-Identifier: Apache-2.0 */
/* bench-msl: what compiling costs. */
#include "tests/bench/bench_msl.h"

#include "hal/base/os.h"
#include "hal/compiler/msl/msl.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

/* ---- Compiling ------------------------------------------------------------------------------ */

/* By the clock, and what the compiler's processes took of the processors. */
struct cost {
    double ms, cpu_ms;
};

static double cpu_ms(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    const struct timeval *const times[] = {&own.ru_utime, &own.ru_stime, &children.ru_utime,
                                           &children.ru_stime};
    double sum = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        sum += (double)times[i]->tv_sec * 1e3 + (double)times[i]->tv_usec / 1e3;
    return sum;
}

/* Alone in the source's list of kernels: the one that is asked for. */
static struct cost compile(const char *text, const char *kernel, bool only)
{
    const struct msl_group_size size = {kernel, {256, 1, 1}};
    const struct msl_source source = {.text = text,
                                      .bytes = strlen(text),
                                      .group_sizes = &size,
                                      .group_size_count = 1,
                                      .only_listed = only};
    struct msl_library *library = NULL;
    const double cpu = cpu_ms();
    const int64_t begin = hal_clock_ns();
    if (msl_compile(&source, &library) != HAL_OK)
        bench_die("compiling");
    const struct cost cost = {(double)(hal_clock_ns() - begin) / 1e6, cpu_ms() - cpu};
    msl_library_destroy(library);
    return cost;
}

static void write_small(char *text, size_t bytes, const char *value, long long unique)
{
    snprintf(text, bytes,
             HEAD "kernel void k(device float* a, uint i [[thread_position_in_grid]])\n"
                  "{ a[i] = %s; } // %lld\n",
             value, unique);
}

static void add_rows(struct bench *bench, const char *what, double *ms, double *cpu, size_t count)
{
    char row[128];
    bench_row(bench, what, bench_median(ms, count), "ms", BENCH_LOWER, 200);
    snprintf(row, sizeof row, "%s, processor time", what);
    bench_row(bench, row, bench_median(cpu, count), "ms", BENCH_LOWER, 200);
}

static void run_small(struct bench *bench)
{
    enum { TIMES = 7, KINDS = 3 };
    static const char *const names[KINDS] = {"compile a small kernel, cold",
                                             "compile a small kernel with simd_sum, cold",
                                             "compile a small kernel with a macro, cold"};
    static const char *const values[KINDS] = {"a[i] + 1", "simd_sum(a[i])", "a[i] + INT_MAX"};
    double ms[KINDS][TIMES], cpu[KINDS][TIMES], warm[TIMES];
    char text[512];
    for (size_t i = 0; i < (size_t)bench_repeats(TIMES); i++)
        for (size_t k = 0; k < KINDS; k++) {
            write_small(text, sizeof text, values[k], (long long)hal_wall_clock_ns());
            const struct cost cost = compile(text, "k", false);
            ms[k][i] = cost.ms;
            cpu[k][i] = cost.cpu_ms;
            warm[i] = compile(text, "k", false).ms;
        }
    for (size_t k = 0; k < KINDS; k++)
        add_rows(bench, names[k], ms[k], cpu[k], (size_t)bench_repeats(TIMES));
    bench_row(bench, "the same from the disk cache",
              bench_median(warm, (size_t)bench_repeats(TIMES)), "ms", BENCH_LOWER, 1);
}

enum { SOURCES = 20 };

static void *compile_half(void *first)
{
    char text[512];
    for (size_t i = *(const size_t *)first; i < bench_size(SOURCES, 2); i += 2) {
        write_small(text, sizeof text, i % 4 < 2 ? "a[i] * 3" : "a[i] + simd_sum(a[i])",
                    (long long)hal_wall_clock_ns() * SOURCES + (long long)i);
        compile(text, "k", false);
    }
    return NULL;
}

static void run_twenty(struct bench *bench)
{
    size_t firsts[2] = {0, 1};
    pthread_t other;
    const double cpu = cpu_ms();
    const int64_t begin = hal_clock_ns();
    if (pthread_create(&other, NULL, compile_half, &firsts[1]) != 0)
        exit(1);
    compile_half(&firsts[0]);
    pthread_join(other, NULL);
    bench_row(bench, "compile 20 kernels, cold, on two threads",
              (double)(hal_clock_ns() - begin) / 1e6, "ms", BENCH_LOWER, 2000);
    bench_row(bench, "compile 20 kernels, cold, half of their processor time", (cpu_ms() - cpu) / 2,
              "ms", BENCH_LOWER, 2000);
}

/* 600 kernels that wait, of one template; one of them is asked for. */
static void run_library(struct bench *bench)
{
    enum { KERNELS = 600, BYTES = KERNELS * 128 + 1024 };
    const int kernels = (int)bench_size(KERNELS, 100);
    char *const text = malloc(BYTES);
    if (!text)
        exit(1);
    size_t length = (size_t)snprintf(
        text, BYTES,
        HEAD "// %lld\n"
             "template <int n> kernel void rotate(device float* a [[buffer(0)]],\n"
             "    uint i [[thread_index_in_threadgroup]])\n"
             "{ threadgroup float t[256]; t[i] = a[i] * n;\n"
             "  threadgroup_barrier(mem_flags::mem_threadgroup); a[i] = t[(i + n) %% 256]; }\n",
        (long long)hal_wall_clock_ns());
    for (int i = 0; i < kernels; i++)
        length += (size_t)snprintf(text + length, BYTES - length,
                                   "template [[host_name(\"rotate_%d\")]] kernel void "
                                   "rotate<%d>(device float*, uint);\n",
                                   i, i);
    const struct cost cost = compile(text, "rotate_77", true);
    bench_row(bench, "one of 600 kernels, cold", cost.ms, "ms", BENCH_LOWER, 400);
    bench_row(bench, "one of 600 kernels, cold, processor time", cost.cpu_ms, "ms", BENCH_LOWER,
              400);
    free(text);
}

void bench_msl_compile(struct bench *bench)
{
    run_small(bench);
    run_twenty(bench);
    run_library(bench);
}
