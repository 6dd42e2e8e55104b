/* SPDX-License-Identifier: Apache-2.0 */
/* Values that cross barriers in loops over threads (hal/compiler/msl/fission/contexts.c), and what
 * is done once for all threads (once.c): kernels in which a value that is kept in the wrong place,
 * or computed too early, shows. All must be split; what is expected is a model in C. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <sys/mman.h>

enum { MAX_THREADS = 96 };

#define KERNEL(name, body)                                                                         \
    "kernel void " name "(device uint* out [[buffer(0)]], device uint* in [[buffer(1)]],\n"        \
    "    constant uint4& n [[buffer(2)]], device const uint* none [[buffer(3)]],\n"                \
    "    uint i [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]])\n"         \
    "{\n" body "}\n"
#define SHARED "threadgroup uint s[96];\n"
#define WAIT   "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
#define NEXT   "s[i + 1 < size ? i + 1 : 0]"

static const char source[] = "#include <metal_stdlib>\nusing namespace metal;\n"
    /* The outer loop's value goes on as the inner one's, and is still used behind that. */
    KERNEL("outlives",
           SHARED "uint all = in[i], sum = 0;\n"
                  "for (uint r = 0; r < n.x; r++) {\n"
                  "    uint x = all;\n"
                  "    for (uint j = 0; j < n.y; j++) {\n"
                  "        s[i] = x;\n" WAIT "        x = x * 3 + " NEXT ";\n" WAIT "    }\n"
                  "    sum += all ^ x;\n"
                  "    all = x;\n"
                  "}\n"
                  "out[i] = sum + all;\n")
    /* The same, used only by what the next turn begins with. */
    KERNEL("before",
           SHARED "uint all = in[i], last = 7;\n"
                  "for (uint r = 0; r < n.x; r++) {\n"
                  "    uint x = all;\n"
                  "    for (uint j = 0; j < n.y; j++) {\n"
                  "        s[i] = x;\n" WAIT "        x = x * 3 + " NEXT ";\n" WAIT "    }\n"
                  "    last = all;\n"
                  "    all = x;\n"
                  "}\n"
                  "out[i] = last * 5 + all;\n")
    /* Values that are the same for all threads. */
    KERNEL("uniform", SHARED "uint all = n.z, sum = 0;\n"
                             "for (uint r = 0; r < n.x; r++) {\n"
                             "    uint x = all;\n"
                             "    for (uint j = 0; j < n.y; j++) {\n"
                             "        if (i == 0) s[0] = x + j;\n" WAIT
                             "        x = x * 3 + s[0];\n" WAIT "    }\n"
                             "    sum += all ^ x;\n"
                             "    all = x;\n"
                             "}\n"
                             "out[i] = sum + all + i;\n")
    /* Two values take each other's place. */
    KERNEL("exchange", SHARED "uint a = in[i], b = i * 7;\n"
                              "for (uint r = 0; r < n.x; r++) {\n"
                              "    s[i] = a;\n" WAIT "    const uint c = a + " NEXT ";\n"
                              "    a = b;\n    b = c;\n" WAIT "}\n"
                              "out[i] = a * 3 + b;\n")
    /* A value of one thread continues one that all share. */
    KERNEL("spread", SHARED
           "uint first = n.z, sum = 0;\n"
           "for (uint r = 0; r < n.x; r++) {\n"
           "    uint x = first;\n"
           "    for (uint j = 0; j < n.y; j++) {\n"
           "        s[i] = x;\n" WAIT "        x = x * 5 + in[i] + " NEXT ";\n" WAIT "    }\n"
           "    sum = sum * 3 + x;\n"
           "    if (i == 0) s[0] = r * 11 + 1;\n" WAIT "    first = s[0];\n" WAIT "}\n"
           "out[i] = sum;\n")
    /* What was chosen between two goes into a loop, and is used behind it. */
    KERNEL("chosen", SHARED "uint x = 9;\n"
                            "if (in[i] & 1) { out[i] = 1; x = in[i] / 3; } else { out[i] = 2; }\n"
                            "uint y = x;\n"
                            "for (uint j = 0; j < n.y; j++) {\n"
                            "    s[i] = y;\n" WAIT "    y = y * 3 + " NEXT ";\n" WAIT "}\n"
                            "out[i] += (x ^ y) * 4;\n")
    /* Two ways lead to the next turn. */
    KERNEL("ways", SHARED "uint t = n.z, k = 0;\n"
                          "while (k < n.x * 4) {\n"
                          "    s[i] = t + in[i];\n" WAIT "    in[i] = " NEXT ";\n" WAIT
                          "    if (t & 1) { out[i] = t; t = t * 5 + 1; k += 1; continue; }\n"
                          "    k += 3;\n    t = t / 2 + k;\n"
                          "}\n"
                          "out[i] = t * 100 + in[i];\n")
    /* Private memory whose size is no multiple of its alignment. */
    KERNEL("odd",
           SHARED "uint p[5] = {1, 2, 3, 4, 5};\n"
                  "for (uint r = 0; r < n.x; r++) {\n"
                  "    s[i] = p[r % 5];\n" WAIT "    p[(r + " NEXT ") % 5] += i + r;\n" WAIT "}\n"
                  "out[i] = p[0] + 10 * p[1] + 100 * p[2] + 1000 * p[3] + 10000 * p[4];\n")
    /* What was read stays what it was. */
    KERNEL("read", SHARED "s[i] = in[i];\n" WAIT "const uint v = s[i] , w = " NEXT ";\n" WAIT
                          "const bool odd = w & 1;\n"
                          "s[size - 1 - i] = v * 3;\n" WAIT
                          "out[i] = v + w * 2 + s[i] * 4 + (odd ? 1000 : 0);\n" WAIT
                          "if (odd) out[i] += 7;\n")
    /* Only some threads, or all or none, read what is the same for all. */
    KERNEL("some", SHARED "s[i] = in[i];\n" WAIT "uint x = " NEXT ";\n"
                          "if (i < n.w) x += none[0] + none[n.z];\n"
                          "if (n.w > 1) { out[i] = none[1]; x += none[n.z + 1]; }\n"
                          "out[i] = x;\n")
    /* A single thread reads again what it wrote. */
    KERNEL("alone", SHARED "s[0] = in[0];\n" WAIT "in[n.x + i] = s[0] + 1;\n"
                           "const uint x = in[n.y + 1];\n"
                           "in[n.x + i] = x + 5;\n"
                           "out[0] = x + in[n.y + 1] * 10;\n")
    /* Three ways meet, two of them from behind the same barrier. */
    KERNEL("meet", SHARED "uint x = n.z;\n"
                          "if (n.x & 1) {\n"
                          "    s[i] = in[i];\n" WAIT "    if (n.y & 1) { out[i] = " NEXT
                          "; x = n.x * 3; } else { out[i] = 5; x = n.y + 1; }\n"
                          "} else {\n"
                          "    s[i] = 1;\n" WAIT "    out[i] = s[0];\n"
                          "}\n" WAIT "out[i] += x * (i + 1);\n")
    /* Some threads leave, before something is read that is the same for the others. */
    KERNEL("leave", SHARED "uint x = n.z;\n"
                           "for (uint r = 0; r < n.x; r++) {\n"
                           "    s[i] = in[i] + r;\n" WAIT
                           "    if (in[i] % 7 == r + 2) { out[i] = 1000 + r; return; }\n"
                           "    x = s[(x + r) % size];\n" WAIT "}\n"
                           "out[i] = x + i;\n")
    /* Values of simdgroups, within and across what they do together. */
    KERNEL("lanes", SHARED "uint v = in[i], kept = in[i] * 5 + 1;\n"
                           "uint p[3] = {i, v, 1};\n"
                           "for (uint r = 0; r < n.x; r++) {\n"
                           "    const uint u = in[(i + r) % size];\n"
                           "    v += simd_sum(v ^ u);\n"
                           "    p[(v + r) % 3] += u;\n"
                           "    kept = kept * 3 + simd_max(u + p[r % 3]);\n"
                           "    s[i] = v;\n" WAIT "    v ^= " NEXT " + u;\n" WAIT "}\n"
                           "out[i] = v + kept * 3 + p[0] + p[1] * 5 + p[2] * 7;\n");

struct group {
    uint32_t size, n[4];
    uint32_t out[MAX_THREADS], in[2 * MAX_THREADS], s[MAX_THREADS];
};

static uint32_t next(const struct group *g, uint32_t i)
{
    return g->s[i + 1 < g->size ? i + 1 : 0];
}

static void share(struct group *g, const uint32_t *values)
{
    memcpy(g->s, values, g->size * sizeof *values);
}

/* x = x * by + the neighbour's x, so often, in all threads. */
static void turn(struct group *g, uint32_t *x, uint32_t times)
{
    for (uint32_t j = 0; j < times; j++) {
        share(g, x);
        for (uint32_t i = 0; i < g->size; i++)
            x[i] = x[i] * 3 + next(g, i);
    }
}

static void outlives(struct group *g)
{
    uint32_t all[MAX_THREADS], x[MAX_THREADS], sum[MAX_THREADS] = {0};
    memcpy(all, g->in, sizeof all);
    for (uint32_t r = 0; r < g->n[0]; r++) {
        memcpy(x, all, sizeof x);
        turn(g, x, g->n[1]);
        for (uint32_t i = 0; i < g->size; i++)
            sum[i] += all[i] ^ x[i];
        memcpy(all, x, sizeof x);
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = sum[i] + all[i];
}

static void before(struct group *g)
{
    uint32_t all[MAX_THREADS], x[MAX_THREADS], last[MAX_THREADS];
    memcpy(all, g->in, sizeof all);
    for (uint32_t i = 0; i < MAX_THREADS; i++)
        last[i] = 7;
    for (uint32_t r = 0; r < g->n[0]; r++) {
        memcpy(x, all, sizeof x);
        turn(g, x, g->n[1]);
        memcpy(last, all, sizeof last);
        memcpy(all, x, sizeof x);
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = last[i] * 5 + all[i];
}

static void uniform(struct group *g)
{
    uint32_t all = g->n[2], sum = 0;
    for (uint32_t r = 0; r < g->n[0]; r++) {
        uint32_t x = all;
        for (uint32_t j = 0; j < g->n[1]; j++)
            x = x * 3 + (x + j);
        sum += all ^ x;
        all = x;
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = sum + all + i;
}

static void exchange(struct group *g)
{
    uint32_t a[MAX_THREADS], b[MAX_THREADS], c[MAX_THREADS] = {0};
    memcpy(a, g->in, sizeof a);
    for (uint32_t i = 0; i < MAX_THREADS; i++)
        b[i] = i * 7;
    for (uint32_t r = 0; r < g->n[0]; r++) {
        share(g, a);
        for (uint32_t i = 0; i < g->size; i++)
            c[i] = a[i] + next(g, i);
        memcpy(a, b, sizeof a);
        memcpy(b, c, sizeof b);
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = a[i] * 3 + b[i];
}

static void spread(struct group *g)
{
    uint32_t first = g->n[2], x[MAX_THREADS], sum[MAX_THREADS] = {0};
    for (uint32_t r = 0; r < g->n[0]; r++) {
        for (uint32_t i = 0; i < g->size; i++)
            x[i] = first;
        for (uint32_t j = 0; j < g->n[1]; j++) {
            share(g, x);
            for (uint32_t i = 0; i < g->size; i++)
                x[i] = x[i] * 5 + g->in[i] + next(g, i);
        }
        for (uint32_t i = 0; i < g->size; i++)
            sum[i] = sum[i] * 3 + x[i];
        first = r * 11 + 1;
    }
    memcpy(g->out, sum, sizeof sum);
}

static void chosen(struct group *g)
{
    uint32_t x[MAX_THREADS] = {0}, y[MAX_THREADS];
    for (uint32_t i = 0; i < g->size; i++)
        x[i] = g->in[i] & 1 ? g->in[i] / 3 : 9;
    memcpy(y, x, sizeof y);
    turn(g, y, g->n[1]);
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = (g->in[i] & 1 ? 1 : 2) + (x[i] ^ y[i]) * 4;
}

static void ways(struct group *g)
{
    uint32_t t = g->n[2], k = 0;
    while (k < g->n[0] * 4) {
        for (uint32_t i = 0; i < g->size; i++)
            g->s[i] = t + g->in[i];
        for (uint32_t i = 0; i < g->size; i++)
            g->in[i] = next(g, i);
        if (t & 1) {
            t = t * 5 + 1;
            k += 1;
        } else {
            k += 3;
            t = t / 2 + k;
        }
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = t * 100 + g->in[i];
}

static void odd(struct group *g)
{
    uint32_t p[MAX_THREADS][5];
    for (uint32_t i = 0; i < g->size; i++)
        memcpy(p[i], (const uint32_t[]){1, 2, 3, 4, 5}, sizeof p[i]);
    for (uint32_t r = 0; r < g->n[0]; r++) {
        for (uint32_t i = 0; i < g->size; i++)
            g->s[i] = p[i][r % 5];
        for (uint32_t i = 0; i < g->size; i++)
            p[i][(r + next(g, i)) % 5] += i + r;
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = p[i][0] + 10 * p[i][1] + 100 * p[i][2] + 1000 * p[i][3] + 10000 * p[i][4];
}

static void read(struct group *g)
{
    memcpy(g->s, g->in, sizeof g->s);
    for (uint32_t i = 0; i < g->size; i++) {
        const uint32_t w = next(g, i);
        g->out[i] = g->in[i] + w * 2 + g->in[g->size - 1 - i] * 3 * 4 + (w & 1 ? 1007 : 0);
    }
}

/* Nobody reads what is not there. */
static void some(struct group *g)
{
    memcpy(g->s, g->in, sizeof g->s);
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = next(g, i);
}

static void lanes(struct group *g)
{
    uint32_t v[MAX_THREADS], kept[MAX_THREADS], p[MAX_THREADS][3], u[MAX_THREADS];
    for (uint32_t i = 0; i < g->size; i++) {
        v[i] = g->in[i];
        kept[i] = g->in[i] * 5 + 1;
        memcpy(p[i], (const uint32_t[]){i, v[i], 1}, sizeof p[i]);
    }
    for (uint32_t r = 0; r < g->n[0]; r++) {
        uint32_t sum[MAX_THREADS / 32] = {0}, most[MAX_THREADS / 32] = {0};
        for (uint32_t i = 0; i < g->size; i++) {
            u[i] = g->in[(i + r) % g->size];
            sum[i / 32] += v[i] ^ u[i];
        }
        for (uint32_t i = 0; i < g->size; i++) {
            v[i] += sum[i / 32];
            p[i][(v[i] + r) % 3] += u[i];
            const uint32_t value = u[i] + p[i][r % 3];
            most[i / 32] = value > most[i / 32] ? value : most[i / 32];
        }
        for (uint32_t i = 0; i < g->size; i++)
            kept[i] = kept[i] * 3 + most[i / 32];
        share(g, v);
        for (uint32_t i = 0; i < g->size; i++)
            v[i] ^= next(g, i) + u[i];
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = v[i] + kept[i] * 3 + p[i][0] + p[i][1] * 5 + p[i][2] * 7;
}

static void meet(struct group *g)
{
    memcpy(g->s, g->in, sizeof g->s);
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = g->n[1] & 1 ? next(g, i) + 3 * 3 * (i + 1) : 5 + (2 + 1) * (i + 1);
}

static void leave(struct group *g)
{
    uint32_t x = g->n[2];
    bool gone[MAX_THREADS] = {false};
    for (uint32_t r = 0; r < g->n[0]; r++) {
        for (uint32_t i = 0; i < g->size; i++)
            g->s[i] = gone[i] ? g->s[i] : g->in[i] + r;
        for (uint32_t i = 0; i < g->size; i++)
            if (!gone[i] && g->in[i] % 7 == r + 2) {
                gone[i] = true;
                g->out[i] = 1000 + r;
            }
        x = g->s[(x + r) % g->size];
    }
    for (uint32_t i = 0; i < g->size; i++)
        g->out[i] = gone[i] ? g->out[i] : x + i;
}

static void alone(struct group *g)
{
    const uint32_t x = g->in[0] + 1;
    g->out[0] = x + (x + 5) * 10;
}

static const struct {
    const char *name;
    void (*expect)(struct group *group);
} kernels[] = {{"outlives", outlives}, {"before", before}, {"uniform", uniform},
               {"exchange", exchange}, {"spread", spread}, {"chosen", chosen},
               {"ways", ways},         {"odd", odd},       {"read", read},
               {"some", some},         {"alone", alone},   {"lanes", lanes},
               {"meet", meet},         {"leave", leave}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void *nowhere; /* whoever reads it dies */

static void fill(struct group *g, uint32_t size)
{
    *g = (struct group){.size = size, .n = {3, size == 40 ? 3 : 2, 5, 0}};
    for (uint32_t i = 0; i < MAX_THREADS; i++)
        g->in[i] = i * 2654435761u >> 20;
}

static void check(size_t k, uint32_t size, bool known, const char *lowering)
{
    struct msl_group_size all[KERNELS]; /* of all: the source is compiled once */
    for (size_t i = 0; i < KERNELS; i++)
        all[i] = (struct msl_group_size){kernels[i].name, {size, 1, 1}};
    const struct msl_source desc = {.text = source,
                                    .bytes = sizeof source - 1,
                                    .group_sizes = all,
                                    .group_size_count = known ? KERNELS : 0};
    struct group expected, found;
    fill(&expected, size);
    fill(&found, size);
    kernels[k].expect(&expected);
    setenv("HAL_MSL_LOWERING", lowering, 1);
    struct fixture_kernel kernel = fixture_compile_with(&desc, kernels[k].name);
    unsetenv("HAL_MSL_LOWERING");
    fixture_run(&kernel, (void *[]){found.out, found.in, found.n, nowhere}, 4, NULL,
                (const uint32_t[]){1, 1, 1}, (const uint32_t[]){size, 1, 1});
    fixture_release(&kernel);
    for (uint32_t i = 0; i < size; i++)
        if (found.out[i] != expected.out[i])
            fail_msg("%s (%s), a group of %u%s: thread %u gave %u, not %u", kernels[k].name,
                     lowering, size, known ? ", known" : "", i, found.out[i], expected.out[i]);
}

TEST(values_are_those_of_their_thread_and_time)
{
    static const uint32_t sizes[] = {1, 40, 96};
    for (size_t k = 0; k < KERNELS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (kernels[k].expect == alone && sizes[i] != 1)
                continue;
            check(k, sizes[i], false, "fibers");
            check(k, sizes[i], false, "fission");
            check(k, sizes[i], true, "fission");
        }
}

static int set_up(void **state)
{
    (void)state;
    nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return nowhere == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(nowhere, 4096);
}

TEST_SUITE_FIXTURE(set_up, tear_down);
