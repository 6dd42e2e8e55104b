/* SPDX-License-Identifier: Apache-2.0 */
/* bench-msl: two workers beside two plain threads.
 *
 * Each of the two threads stays on a processor of its own, and its time there alone is compared
 * with its time there beside the other one: processors differ, also from moment to moment, when
 * others share them, and a thread that is woken may be anywhere. Nothing but the product is
 * inside the time. */
#include "tests/bench/bench_msl.h"

#include "hal/base/os.h"
#include "hal/compiler/msl/msl.h"
#include "tests/bench/msl_reference.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SIDE = 512, TIMES = 31 };

/* A matrix product per thread, by the kernel or by the loop. */
struct product {
    const struct msl_function *function; /* NULL: the loop */
    struct msl_worker *worker;
    float *a, *b, *c;
};

struct time {
    double clock_ns, cpu_ns;
};

/* One thread's part of a measurement. */
struct part {
    const struct product *product;
    int processor; /* negative: any */
    atomic_uint *waiting;
    struct time time;
};

static void multiply(const struct product *product)
{
    uint32_t side = SIDE;
    void *buffers[MSL_MAX_BUFFERS] = {product->a, product->b, product->c, &side};
    const uint32_t tiles = SIDE / 16;
    const struct msl_launch launch = {
        .buffers = buffers, .workgroup_size = {16, 16, 1}, .workgroup_count = {tiles, tiles, 1}};
    if (!product->function)
        reference_matmul_16(product->a, product->b, product->c, SIDE);
    else
        bench_try(msl_function_run(product->function, product->worker, &launch, 0,
                                   (uint64_t)tiles * tiles));
}

static double own_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *run_part(void *user)
{
    struct part *const part = user;
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (part->processor >= 0) {
        CPU_SET((size_t)part->processor, &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
#endif
    atomic_fetch_sub(part->waiting, 1);
    while (atomic_load(part->waiting)) /* both start at once, and neither has to be woken */
        sched_yield();
    const int64_t begin_ns = hal_clock_ns();
    const double begin_cpu_ns = own_cpu_ns();
    multiply(part->product);
    part->time.cpu_ns = own_cpu_ns() - begin_cpu_ns;
    part->time.clock_ns = (double)(hal_clock_ns() - begin_ns);
    return NULL;
}

/* The first two processors that this program may use. */
static void find_processors(int out_processors[2])
{
    out_processors[0] = out_processors[1] = -1;
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
        return;
    for (int i = 0, found = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET((size_t)i, &set))
            out_processors[found++] = i;
#endif
}

/* Runs the threads [first, last) at the same time. */
static void run_parts(struct part parts[2], size_t first, size_t last, struct time *out_times)
{
    pthread_t threads[2];
    atomic_uint waiting = (unsigned)(last - first);
    for (size_t i = first; i < last; i++) {
        parts[i].waiting = &waiting;
        if (pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0)
            bench_die("a thread");
    }
    for (size_t i = first; i < last; i++) {
        pthread_join(threads[i], NULL);
        out_times[i] = parts[i].time;
    }
}

/* How much more two threads do than one, in the time of one: by the clock and by processor time. */
static struct time gain(const struct product products[2], const int processors[2])
{
    struct part parts[2];
    struct time alone[2], both[2];
    struct time sum = {0};
    for (size_t i = 0; i < 2; i++)
        parts[i] = (struct part){.product = &products[i], .processor = processors[i]};
    for (size_t i = 0; i < 2; i++)
        run_parts(parts, i, i + 1, alone);
    run_parts(parts, 0, 2, both);
    for (size_t i = 0; i < 2; i++) {
        sum.clock_ns += alone[i].clock_ns / both[i].clock_ns;
        sum.cpu_ns += alone[i].cpu_ns / both[i].cpu_ns;
    }
    return sum;
}

static void fill(struct product *product)
{
    product->a = malloc(3 * sizeof(float) * SIDE * SIDE);
    if (!product->a)
        bench_die("memory");
    for (size_t i = 0; i < 3 * (size_t)SIDE * SIDE; i++)
        product->a[i] = (float)(i % 31) / 16.0f - 1.0f;
    product->b = product->a + SIDE * SIDE;
    product->c = product->b + SIDE * SIDE;
}

void bench_msl_workers(struct bench *bench, const struct msl_function *matmul)
{
    struct product kernels[2], plain[2];
    double by_clock[TIMES], by_cpu[TIMES];
    int processors[2];
    find_processors(processors);
    for (size_t i = 0; i < 2; i++) {
        kernels[i] = (struct product){.function = matmul};
        bench_try(msl_worker_create(&kernels[i].worker));
        fill(&kernels[i]);
        plain[i] = kernels[i];
        plain[i].function = NULL;
    }
    const size_t times = (size_t)bench_repeats(TIMES);
    for (size_t i = 0; i < times; i++) {
        const struct time ours = gain(kernels, processors), theirs = gain(plain, processors);
        by_clock[i] = ours.clock_ns / theirs.clock_ns;
        by_cpu[i] = ours.cpu_ns / theirs.cpu_ns;
    }
    bench_row(bench, "two workers, gain as part of two plain threads'",
              bench_median(by_clock, times), "x", BENCH_HIGHER, 0.9);
    bench_row(bench, "the same, by processor time", bench_median(by_cpu, times), "x", BENCH_HIGHER,
              0.9);
    for (size_t i = 0; i < 2; i++) {
        msl_worker_destroy(kernels[i].worker);
        free(kernels[i].a);
    }
}
