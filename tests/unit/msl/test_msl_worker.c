/* SPDX-License-Identifier: Apache-2.0 */
/* What workers of hal/compiler/msl/run.c have and share: ranges of groups, threadgroup memory,
 * stacks, and atomics of several at once. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

/* Ranges of groups, for a loop kernel that is one long row, one that is not, and fibers. */
TEST(partial_ranges)
{
    static const char source[] = HEAD
        "kernel void row(device uint* out [[buffer(0)]], uint2 p [[thread_position_in_grid]],\n"
        "                uint2 n [[threads_per_grid]])\n"
        "{ out[p.y * n.x + p.x] = 1; }\n"
        "kernel void group(device uint* out [[buffer(0)]], uint2 p [[thread_position_in_grid]],\n"
        "    uint2 n [[threads_per_grid]], uint2 g [[threadgroup_position_in_grid]])\n"
        "{ out[p.y * n.x + p.x] = 1 + (g.x & 0); }\n"
        "kernel void fiber(device uint* out [[buffer(0)]], uint2 p [[thread_position_in_grid]],\n"
        "    uint2 n [[threads_per_grid]])\n"
        "{ threadgroup_barrier(mem_flags::mem_none); out[p.y * n.x + p.x] = 1; }\n";
    static const char *const names[] = {"row", "group", "fiber"};
    enum { GX = 5, GY = 3, SX = 4, SY = 2, COUNT = GX * GY * SX * SY };
    for (size_t n = 0; n < 3; n++) {
        struct fixture_kernel kernel = fixture_compile(source, names[n]);
        for (uint32_t first = 0; first <= GX * GY; first++)
            for (uint32_t last = first; last <= GX * GY; last++) {
                uint32_t out[COUNT] = {0};
                void *const buffers[MSL_MAX_BUFFERS] = {out};
                const struct msl_launch launch = {.buffers = buffers,
                                                  .workgroup_size = {SX, SY, 1},
                                                  .workgroup_count = {GX, GY, 1}};
                assert_int_equal(
                    msl_function_run(kernel.function, kernel.worker, &launch, first, last), HAL_OK);
                for (uint32_t i = 0; i < COUNT; i++) {
                    const uint32_t x = i % (GX * SX), y = i / (GX * SX);
                    const uint32_t group = y / SY * GX + x / SX;
                    assert_int_equal(out[i], group >= first && group < last);
                }
            }
        fixture_release(&kernel);
    }
}

/* A stack that is too small ends the process; it never writes into another thread's. */
TEST(too_deep_frames_hit_the_guard)
{
    static const char source[] =
        HEAD "__attribute__((noinline)) uint deep(device uint* out, uint i)\n"
             "{\n"
             "    uint own[102400];\n"
             "    own[i & 15] = i; own[out[0] & 63] += i;\n"
             "    return own[out[1] & 15];\n"
             "}\n"
             "kernel void big(device uint* out [[buffer(0)]],\n"
             "                uint i [[thread_index_in_threadgroup]])\n"
             "{\n"
             "    threadgroup_barrier(mem_flags::mem_none);\n"
             "    if (i == 63) out[i] = deep(out, i);\n"
             "}\n";
    struct fixture_kernel kernel = fixture_compile(source, "big");
    const pid_t child = fork();
    if (child == 0) {
        uint32_t out[64] = {0};
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        fixture_run(&kernel, (void *[]){out}, 1, NULL, (const uint32_t[]){1, 1, 1},
                    (const uint32_t[]){64, 1, 1});
        _exit(0);
    }
    int end = 0;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFSIGNALED(end));
    fixture_release(&kernel);
}

/* Declarations at different depths, a template's, an argument: each has memory of its own. */
TEST(group_memory_lies_apart)
{
    uint32_t out[64] = {0};
    struct fixture_kernel kernel = fixture_compile(
        HEAD
        "struct pair { char a; uint b; };\n"
        "template <typename T, int n, typename... Rest>\n"
        "kernel void apart(device uint* out, threadgroup uint* argument [[threadgroup(0)]],\n"
        "                  uint i [[thread_index_in_threadgroup]])\n"
        "{\n"
        "    threadgroup T first[n][2], single; alignas(16) threadgroup pair p;\n"
        "    uint sum = 0;\n"
        "    if (n > 2) {\n"
        "        threadgroup metal::vec<T, 4> inner[64]; inner[i] = i * 5;\n"
        "        first[i][1] = i * 3; if (i == 0) { single = 1000; p.b = 77; p.a = 1; }\n"
        "        argument[i] = i * 7;\n"
        "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "        sum = inner[63 - i].w;\n"
        "    }\n"
        "    {\n"
        "        threadgroup T inner[64]; inner[i] = i;\n"
        "        threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "        sum += inner[63 - i];\n"
        "    }\n"
        "    threadgroup T *pointer = &first[0][0];\n"
        "    out[i] = sum + pointer[(63 - i) * 2 + 1] + single + p.b + p.a + argument[63 - i];\n"
        "}\n"
        "template [[host_name(\"apart\")]] kernel void apart<uint, 64, int, float>(\n"
        "    device uint*, threadgroup uint*, uint);\n",
        "apart");
    assert_int_equal(msl_function_get_info(kernel.function)->static_group_memory_bytes,
                     528 + 16 + 1024 + 256);
    fixture_run(&kernel, (void *[]){out}, 1, (const uint32_t[]){256}, (const uint32_t[]){1, 1, 1},
                (const uint32_t[]){64, 1, 1});
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], (63 - i) * (5 + 1 + 3 + 7) + 1078);
    fixture_release(&kernel);
}

enum { SHARED_THREADS = 4, SHARED_GROUPS = 200 };
struct shared_run {
    const struct msl_function *function;
    const struct msl_launch *launch;
    uint64_t first, last;
};

static void *run_share(void *argument)
{
    const struct shared_run *const run = argument;
    struct msl_worker *worker;
    if (msl_worker_create(&worker) != HAL_OK)
        return "no worker";
    const enum hal_status status =
        msl_function_run(run->function, worker, run->launch, run->first, run->last);
    msl_worker_destroy(worker);
    return status == HAL_OK ? NULL : "failed";
}

static void run_shared(const struct msl_function *function, void *const *buffers)
{
    const struct msl_launch launch = {
        .buffers = buffers, .workgroup_size = {64, 1, 1}, .workgroup_count = {SHARED_GROUPS, 1, 1}};
    pthread_t threads[SHARED_THREADS];
    struct shared_run runs[SHARED_THREADS];
    for (uint64_t i = 0; i < SHARED_THREADS; i++) {
        runs[i] = (struct shared_run){function, &launch, i * SHARED_GROUPS / SHARED_THREADS,
                                      (i + 1) * SHARED_GROUPS / SHARED_THREADS};
        assert_int_equal(pthread_create(&threads[i], NULL, run_share, &runs[i]), 0);
    }
    for (size_t i = 0; i < SHARED_THREADS; i++) {
        void *error;
        pthread_join(threads[i], &error);
        assert_null(error);
    }
}

/* One dispatch, several threads that own parts of it; loop and fibers. */
TEST(atomics_from_several_workers)
{
    static const char body[] =
        "    atomic_fetch_add_explicit(&a[0], 1u, memory_order_relaxed);\n"
        "    atomic_fetch_max_explicit(&a[1], i, memory_order_relaxed);\n"
        "    atomic_fetch_min_explicit(&a[2], i + 5, memory_order_relaxed);\n"
        "    atomic_fetch_or_explicit(&a[3], 1u << (i % 32), memory_order_relaxed);\n"
        "    atomic_fetch_xor_explicit(&a[4], i, memory_order_relaxed);\n"
        "    atomic_fetch_add_explicit(f, 0.5f, memory_order_relaxed);\n"
        "    uint seen = 0;\n"
        "    while (!atomic_compare_exchange_weak_explicit(&a[5], &seen, seen + 2,\n"
        "               memory_order_relaxed, memory_order_relaxed)) {}\n"
        "}\n";
    static const char parameters[] = "(device atomic_uint* a [[buffer(0)]], device atomic_float* f"
                                     " [[buffer(1)]], uint i [[thread_position_in_grid]])\n{\n";
    char source[4096];
    snprintf(source, sizeof source,
             HEAD "kernel void loop%s%skernel void fiber%s"
                  "threadgroup_barrier(mem_flags::mem_device);\n%s",
             parameters, body, parameters, body);
    static const char *const names[] = {"loop", "fiber"};
    for (size_t n = 0; n < 2; n++) {
        struct fixture_kernel kernel = fixture_compile(source, names[n]);
        assert_int_equal(msl_function_get_info(kernel.function)->has_barriers, n == 1);
        const uint32_t count = SHARED_GROUPS * 64;
        uint32_t a[6] = {0, 0, UINT32_MAX, 0, 0, 0}, exclusive = 0;
        float sum = 0;
        run_shared(kernel.function, (void *[MSL_MAX_BUFFERS]){a, &sum});
        for (uint32_t i = 0; i < count; i++)
            exclusive ^= i;
        assert_int_equal(a[0], count);
        assert_int_equal(a[1], count - 1);
        assert_int_equal(a[2], 5);
        assert_int_equal(a[3], UINT32_MAX);
        assert_int_equal(a[4], exclusive);
        assert_int_equal(a[5], 2 * count);
        assert_float_equal(sum, 0.5f * (float)count, 0);
        fixture_release(&kernel);
    }
}

/* The largest group with deep private arrays: stacks hold what kernels commonly need. */
TEST(full_group_with_private_arrays)
{
    static uint32_t out[1024];
    fixture_run_source(HEAD "kernel void deep(device uint* out [[buffer(0)]],\n"
                            "                 uint i [[thread_index_in_threadgroup]])\n"
                            "{\n"
                            "    uint own[8192];\n"
                            "    for (uint k = 0; k < 8192; k++) own[(k * 7 + i) % 8192] = k ^ i;\n"
                            "    threadgroup_barrier(mem_flags::mem_none);\n"
                            "    out[i] = own[(i * 14) % 8192];\n"
                            "}\n",
                       "deep", (void *[]){out}, 1, 1, 1024);
    for (uint32_t i = 0; i < 1024; i++) {
        uint32_t k = 0; /* k * 7 + i == i * 14 modulo 8192 */
        while ((k * 7 + i) % 8192 != (i * 14) % 8192)
            k++;
        assert_int_equal(out[i], k ^ i);
    }
}
