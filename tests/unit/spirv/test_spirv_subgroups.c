/* SPDX-License-Identifier: Apache-2.0 */
/* Subgroup operations of SPIR-V kernels, against plain C. The kernels: spirv/subgroups.comp. */
#include "tests/unit/spirv/spirv_fixture.h"
#include "tests/unit/spirv/subgroups.comp.h"

enum { N = 128, WIDTH = 32, RESULTS = 8 };

static uint32_t x[N], y[N * RESULTS];
static float z[N * 4];

static void run(const uint32_t *words, size_t bytes, uint32_t limit)
{
    for (uint32_t i = 0; i < N; i++)
        x[i] = spirv_random() % limit;
    memset(y, 0xee, sizeof y);
    memset(z, 0xee, sizeof z);
    spirv_launch(&(struct spirv_launch){
        .words = words,
        .bytes = bytes,
        .groups = {2, 1, 1},
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
}
#define RUN(name, limit) run(spv_##name, sizeof spv_##name, limit)

/* The subgroup that the thread belongs to. */
static const uint32_t *subgroup(uint32_t i)
{
    return x + i / WIDTH * WIDTH;
}

TEST(places)
{
    RUN(places, 10);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t lane = i % WIDTH, bit = UINT32_C(1) << lane;
        const uint32_t wanted[8] = {WIDTH,     2,       i / WIDTH % 2, lane,
                                    lane == 0, bit - 1, ~(bit - 1),    bit};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(reductions)
{
    RUN(reductions, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t wanted[8] = {0, 1, UINT32_MAX, 0, UINT32_MAX, 0, 0, INT32_MAX};
        for (uint32_t k = 0; k < WIDTH; k++) {
            const uint32_t v = subgroup(i)[k];
            wanted[0] += v;
            wanted[1] *= v | 1;
            wanted[2] = v < wanted[2] ? v : wanted[2];
            wanted[3] = v > wanted[3] ? v : wanted[3];
            wanted[4] &= v | 0xff00ff;
            wanted[5] |= v & 0xff00ff;
            wanted[6] ^= v;
            wanted[7] = (int32_t)v < (int32_t)wanted[7] ? v : wanted[7];
        }
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(scans)
{
    RUN(scans, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t sum = 0, product = 1;
        for (uint32_t k = 0; k < i % WIDTH; k++) {
            sum += subgroup(i)[k];
            product *= subgroup(i)[k] | 1;
        }
        const uint32_t wanted[4] = {sum + x[i], sum, product * (x[i] | 1), product};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(floats)
{
    RUN(floats, 256);
    for (uint32_t i = 0; i < N; i++) {
        float total = 0, before = 0, highest = -1000; /* small integers: exact in any order */
        for (uint32_t k = 0; k < WIDTH; k++) {
            const float v = (float)subgroup(i)[k];
            total += v;
            before += k <= i % WIDTH ? v : 0;
            highest = v * -0.5F > highest ? v * -0.5F : highest;
        }
        const float wanted[4] = {total, highest, before, (float)subgroup(i)[31 - i % WIDTH]};
        assert_memory_equal(&z[i * 4], wanted, sizeof wanted);
    }
}

TEST(votes)
{
    RUN(votes, 2);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t any = 0, all = 1, equal = 1;
        for (uint32_t k = 0; k < WIDTH; k++) {
            any |= subgroup(i)[k] & 1;
            all &= subgroup(i)[k] & 1;
            equal &= subgroup(i)[k] == subgroup(i)[0];
        }
        const uint32_t wanted[4] = {any, i < WIDTH ? all : 1, 1, equal};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(ballots)
{
    RUN(ballots, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t ballot = 0, count = 0, before = 0, lowest = 0, highest = 0;
        const uint32_t lane = i % WIDTH;
        for (uint32_t k = 0; k < WIDTH; k++) {
            const uint32_t bit = subgroup(i)[k] & 1;
            lowest = bit && !ballot ? k : lowest;
            highest = bit ? k : highest;
            ballot |= bit << k;
            count += bit;
            before += k < lane ? bit : 0;
        }
        const uint32_t wanted[8] = {ballot,
                                    0,
                                    count,
                                    before + (x[i] & 1),
                                    before,
                                    x[i] & 1,
                                    ballot >> (i * 5 & 31) & 1,
                                    ballot ? lowest * 100 + highest : 0};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(shuffles)
{
    RUN(shuffles, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t *const all = subgroup(i), lane = i % WIDTH;
        const uint32_t wanted[8] = {all[(i * 7 + 3) % WIDTH],
                                    all[lane ^ 5],
                                    lane >= 3 ? all[lane - 3] : 0,
                                    lane < 28 ? all[lane + 4] : 0,
                                    all[9],
                                    all[0],
                                    all[lane ^ 1],
                                    ~all[lane ^ 1]};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(quads)
{
    RUN(quads, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t wanted[4] = {x[(i & ~3U) + 2], x[i ^ 1], x[i ^ 2], x[i ^ 3]};
        assert_memory_equal(&y[i * 8], wanted, sizeof wanted);
    }
}

TEST(divergence)
{
    RUN(divergent, 1000);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t sum = 0, count = 0, highest = 0, first = UINT32_MAX, wanted = 0;
        for (uint32_t k = 0; k < WIDTH; k++) {
            const uint32_t v = subgroup(i)[k];
            sum += v % 4 == 1 ? v : 0;
            count += v % 4 == 1;
            highest = v % 4 == 2 && v > highest ? v : highest;
            first = v % 4 == 2 && first == UINT32_MAX ? k : first;
        }
        if (x[i] % 4 == 1)
            wanted = sum + count * 1000000;
        else if (x[i] % 4 == 2)
            wanted = highest + (i % WIDTH == first);
        for (uint32_t round = 0; round < x[i] % 8; round++)
            for (uint32_t k = 0; k < WIDTH; k++)
                wanted += subgroup(i)[k] % 8 > round;
        assert_int_equal(y[i], wanted);
    }
}

TEST(barriers)
{
    RUN(barriers, UINT32_MAX);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(y[i * 8 + 1], x[i ^ 1]);
}

TEST_SUITE_FIXTURE(spirv_set_up, spirv_tear_down);
