/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of several devices: what each rank receives, in any order of coming, and what becomes
 * of those whose partners fail, disagree, leave or never come. Expected values are made here, in
 * plain C. */
#include "tests/conformance/suite.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 8 };

/* Rank i on a device of its own, the first on the run's. */
struct group {
    uint32_t count;
    struct hal_device *devices[MOST];
    struct hal_channel *channels[MOST];
    struct hal_semaphore *done[MOST];
    uint64_t value; /* that the last of each rank signals */
};

static void need_collectives(struct suite *suite)
{
    int64_t has = -1;
    check_ok(suite, hal_device_query(suite_device(suite), "collectives", &has));
    check(suite, has == 0 || has == 1);
    if (!has)
        suite_skip(suite, "the driver has no collectives");
}

static struct group open_group(struct suite *suite, uint32_t count)
{
    struct group group = {.count = count};
    need_collectives(suite);
    for (uint32_t i = 0; i < count; i++) {
        group.devices[i] = i ? suite_open(suite, "threads=1") : suite_device(suite);
        group.done[i] = suite_semaphore_of(suite, group.devices[i], "done", 0);
    }
    const struct hal_channel_desc desc = {.label = "ring"};
    check_ok(suite, hal_channel_create(group.devices, count, &desc, group.channels));
    for (uint32_t i = 0; i < count; i++)
        suite_own_channel(suite, group.channels[i]);
    return group;
}

static struct hal_buffer *buffer_with(struct suite *suite, struct hal_device *device,
                                      const void *data, uint64_t bytes)
{
    struct hal_buffer *buffer = suite_buffer_of(
        suite, device, &(struct hal_buffer_desc){.label = "data", .bytes = bytes ? bytes : 1});
    if (bytes && data)
        check_ok(suite, hal_buffer_write(buffer, 0, data, bytes));
    return buffer;
}

/* The rank's next collective, which signals its semaphore; `gate` (may be NULL) is to reach 1. */
static enum hal_status submit(const struct group *group, uint32_t rank, uint64_t value,
                              struct hal_semaphore *gate, struct hal_collective_desc desc)
{
    const struct hal_semaphore_value wait = {gate, 1}, signal = {group->done[rank], value};
    desc.channel = group->channels[rank];
    return hal_queue_collective(
        group->devices[rank],
        &(struct hal_submit_desc){
            .waits = &wait, .wait_count = gate ? 1 : 0, .signals = &signal, .signal_count = 1},
        &desc);
}

static void wait_all(struct suite *suite, const struct group *group, uint64_t value)
{
    for (uint32_t i = 0; i < group->count; i++)
        suite_wait(suite, group->done[i], value);
}

static uint32_t element_bytes(int type)
{
    static const uint32_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
    return bytes[type];
}

/* ---- Reductions ----------------------------------------------------------------------------- */

/* A small integer as a number with so many bits of mantissa. */
static uint16_t short_float(int value, int mantissa, int bias)
{
    const unsigned sign = value < 0 ? 0x8000 : 0;
    unsigned magnitude = (unsigned)(value < 0 ? -value : value), exponent = 0;
    if (!magnitude)
        return 0;
    while (magnitude >> exponent > 1)
        exponent++;
    const unsigned rest = magnitude - (1u << exponent);
    return (uint16_t)(sign | ((exponent + (unsigned)bias) << mantissa) |
                      rest << ((unsigned)mantissa - exponent));
}

static void put(int type, int value, uint8_t *to)
{
    const int64_t integer = value;
    const float single = (float)value;
    const double twice = value;
    uint16_t half =
        short_float(value, type == HAL_ELEMENT_F16 ? 10 : 7, type == HAL_ELEMENT_F16 ? 15 : 127);
    if (type == HAL_ELEMENT_F16 || type == HAL_ELEMENT_BF16)
        memcpy(to, &half, 2);
    else if (type == HAL_ELEMENT_F32)
        memcpy(to, &single, 4);
    else if (type == HAL_ELEMENT_F64)
        memcpy(to, &twice, 8);
    else
        memcpy(to, &integer, element_bytes(type));
}

static int combine(int reduction, int a, int b)
{
    switch (reduction) {
    case HAL_REDUCTION_PRODUCT: return a * b;
    case HAL_REDUCTION_MINIMUM: return a < b ? a : b;
    case HAL_REDUCTION_MAXIMUM: return a > b ? a : b;
    default: return a + b;
    }
}

/* Integers whose sums and products every type holds; averages come out even. */
static void each_type(struct suite *suite, uint64_t type)
{
    enum { RANKS = 3, COUNT = 1100 };
    struct group group = open_group(suite, RANKS);
    const uint32_t bytes = element_bytes((int)type);
    const int lowest = type == HAL_ELEMENT_U8 || type == HAL_ELEMENT_U16 ||
                               type == HAL_ELEMENT_U32 || type == HAL_ELEMENT_U64
                           ? 0
                           : -4;
    check_u64(suite, hal_element_bytes((enum hal_element_type)type), bytes);
    for (int reduction = HAL_REDUCTION_SUM; reduction <= HAL_REDUCTION_AVERAGE; reduction++) {
        uint8_t *wanted = suite_memory(suite, (size_t)COUNT * 8);
        uint8_t *sent[RANKS];
        struct hal_buffer *from[RANKS], *to[RANKS];
        for (uint32_t r = 0; r < RANKS; r++)
            sent[r] = suite_memory(suite, (size_t)COUNT * 8);
        for (uint32_t i = 0; i < COUNT; i++) {
            int values[RANKS], result = 0;
            for (uint32_t r = 0; r < RANKS; r++)
                values[r] = lowest + (int)suite_random_below(suite, (uint32_t)(5 - lowest));
            for (uint32_t r = 0; r < RANKS && reduction == HAL_REDUCTION_PRODUCT; r++)
                values[r] += values[r] == 0; /* a float's zero would have a sign */
            while (reduction == HAL_REDUCTION_AVERAGE &&
                   (values[0] + values[1] + values[2]) % RANKS)
                values[2]++;
            for (uint32_t r = 0; r < RANKS; r++) {
                result = r ? combine(reduction, result, values[r]) : values[r];
                put((int)type, values[r], sent[r] + i * bytes);
            }
            put((int)type, reduction == HAL_REDUCTION_AVERAGE ? result / RANKS : result,
                wanted + i * bytes);
        }
        group.value++;
        for (uint32_t r = 0; r < RANKS; r++) {
            from[r] = buffer_with(suite, group.devices[r], sent[r], COUNT * bytes);
            to[r] = buffer_with(suite, group.devices[r], NULL, COUNT * bytes);
            check_ok(suite,
                     submit(&group, r, group.value, NULL,
                            (struct hal_collective_desc){.operation = HAL_COLLECTIVE_ALL_REDUCE,
                                                         .type = (enum hal_element_type)type,
                                                         .reduction = (enum hal_reduction)reduction,
                                                         .count = COUNT,
                                                         .send = from[r],
                                                         .receive = to[r]}));
        }
        wait_all(suite, &group, group.value);
        suite_note(suite, "reduction %d", reduction);
        for (uint32_t r = 0; r < RANKS; r++) {
            check_buffer(suite, to[r], 0, wanted, COUNT * bytes);
            check_buffer(suite, from[r], 0, sent[r], COUNT * bytes);
        }
    }
}

/* Two ranks with one value each, as bits, and what comes out. */
struct edge {
    int type, reduction;
    uint64_t a, b, wanted;
};

static const struct edge edges[] = {
    /* rounded to the nearest even: 2048 + 1, 2048 + 3, the largest twice, the smallest twice */
    {HAL_ELEMENT_F16, HAL_REDUCTION_SUM, 0x6800, 0x3C00, 0x6800},
    {HAL_ELEMENT_F16, HAL_REDUCTION_SUM, 0x6800, 0x4200, 0x6802},
    {HAL_ELEMENT_F16, HAL_REDUCTION_SUM, 0x7BFF, 0x7BFF, 0x7C00},
    {HAL_ELEMENT_F16, HAL_REDUCTION_SUM, 0x0001, 0x0001, 0x0002},
    {HAL_ELEMENT_F16, HAL_REDUCTION_PRODUCT, 0x0001, 0x3800, 0x0000},
    {HAL_ELEMENT_F16, HAL_REDUCTION_PRODUCT, 0x0003, 0x3800, 0x0002},
    {HAL_ELEMENT_F16, HAL_REDUCTION_AVERAGE, 0x7BFF, 0x7BFF, 0x7BFF}, /* the sum is no f16 */
    {HAL_ELEMENT_F16, HAL_REDUCTION_SUM, 0x8000, 0x8000, 0x8000},
    {HAL_ELEMENT_BF16, HAL_REDUCTION_SUM, 0x4380, 0x3F80, 0x4380}, /* 256 + 1 */
    {HAL_ELEMENT_BF16, HAL_REDUCTION_SUM, 0x4380, 0x4040, 0x4382}, /* 256 + 3 */
    {HAL_ELEMENT_BF16, HAL_REDUCTION_SUM, 0x7F7F, 0x7F7F, 0x7F80},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MINIMUM, 0x00000000, 0x80000000, 0x80000000},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MINIMUM, 0x80000000, 0x00000000, 0x80000000},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MAXIMUM, 0x80000000, 0x00000000, 0x00000000},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MAXIMUM, 0x00000000, 0x80000000, 0x00000000},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MAXIMUM, 0x7FC00000, 0x3F800000, 0x7FC00000},
    {HAL_ELEMENT_F32, HAL_REDUCTION_MINIMUM, 0x3F800000, 0x7FC00000, 0x7FC00000},
    {HAL_ELEMENT_F64, HAL_REDUCTION_MINIMUM, 0x7FF8000000000000, 0xFFF0000000000000,
     0x7FF8000000000000},
    {HAL_ELEMENT_F64, HAL_REDUCTION_MAXIMUM, 0x8000000000000000, 0, 0},
    /* wrapped, or not */
    {HAL_ELEMENT_I8, HAL_REDUCTION_SUM, 0x7F, 0x01, 0x80},
    {HAL_ELEMENT_U16, HAL_REDUCTION_PRODUCT, 0xFFFF, 0xFFFF, 0x0001},
    {HAL_ELEMENT_I64, HAL_REDUCTION_SUM, INT64_MAX, 1, UINT64_C(1) << 63},
    {HAL_ELEMENT_I64, HAL_REDUCTION_AVERAGE, INT64_MAX, INT64_MAX - 2, INT64_MAX - 1},
    {HAL_ELEMENT_U64, HAL_REDUCTION_AVERAGE, UINT64_MAX, UINT64_MAX - 2, UINT64_MAX - 1},
    {HAL_ELEMENT_I32, HAL_REDUCTION_AVERAGE, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF}, /* -1.5 */
    {HAL_ELEMENT_I8, HAL_REDUCTION_MINIMUM, 0x80, 0x7F, 0x80},
    {HAL_ELEMENT_U8, HAL_REDUCTION_MINIMUM, 0x80, 0x7F, 0x7F},
    {HAL_ELEMENT_I64, HAL_REDUCTION_MAXIMUM, UINT64_MAX, 0, 0},
    {HAL_ELEMENT_U64, HAL_REDUCTION_MAXIMUM, UINT64_MAX, 0, UINT64_MAX},
};

static void rounding_and_wrapping(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct group group = open_group(suite, 2);
    for (size_t i = 0; i < SUITE_COUNT(edges); i++) {
        const struct edge *edge = &edges[i];
        const uint64_t values[2] = {edge->a, edge->b}, bytes = element_bytes(edge->type);
        struct hal_buffer *buffers[2];
        suite_note(suite, "edge %zu", i);
        for (uint32_t r = 0; r < 2; r++) {
            buffers[r] = buffer_with(suite, group.devices[r], &values[r], bytes);
            check_ok(suite, submit(&group, r, i + 1, NULL,
                                   (struct hal_collective_desc){
                                       .operation = HAL_COLLECTIVE_ALL_REDUCE,
                                       .type = (enum hal_element_type)edge->type,
                                       .reduction = (enum hal_reduction)edge->reduction,
                                       .count = 1,
                                       .send = buffers[r],
                                       .receive = buffers[r]}));
        }
        wait_all(suite, &group, i + 1);
        check_buffer(suite, buffers[0], 0, &edge->wanted, bytes);
        check_buffer(suite, buffers[1], 0, &edge->wanted, bytes);
    }
}

/* Float sums depend on their order, which is that of the ranks, whoever comes first. */
static void order_of_the_ranks(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const float values[4] = {1e8f, 1.0f, -1e8f, 3.0f};
    struct group group = open_group(suite, 4);
    const volatile float first = values[0] + values[1], second = first + values[2];
    const float wanted = second + values[3];
    struct hal_buffer *from[4], *to[4];
    for (uint32_t r = 0; r < 4; r++) {
        from[r] = buffer_with(suite, group.devices[r], &values[r], sizeof values[r]);
        to[r] = buffer_with(suite, group.devices[r], NULL, sizeof values[r]);
    }
    for (uint64_t round = 1; round <= 16; round++) {
        const uint32_t begin = suite_random_below(suite, 4), step = 1 + 2 * (uint32_t)(round & 1);
        for (uint32_t i = 0, r = begin; i < 4; i++, r = (r + step) % 4)
            check_ok(suite,
                     submit(&group, r, round, NULL,
                            (struct hal_collective_desc){.operation = HAL_COLLECTIVE_ALL_REDUCE,
                                                         .type = HAL_ELEMENT_F32,
                                                         .reduction = HAL_REDUCTION_SUM,
                                                         .count = 1,
                                                         .send = from[r],
                                                         .receive = to[r]}));
        wait_all(suite, &group, round);
        for (uint32_t r = 0; r < 4; r++)
            check_buffer(suite, to[r], 0, &wanted, sizeof wanted);
    }
}

/* ---- Moves ---------------------------------------------------------------------------------- */

static const uint64_t counts[] = {0, 1, 7, 511, 512, 513, 5000};

static uint32_t *words(struct suite *suite, uint64_t count)
{
    return suite_random_words(suite, count ? (size_t)count : 1);
}

/* `in_place`: what a rank sends lies in what it receives, or the other way round. */
static void all_gather(struct suite *suite, uint64_t in_place)
{
    enum { RANKS = 3 };
    struct group group = open_group(suite, RANKS);
    for (size_t i = 0; i < SUITE_COUNT(counts); i++) {
        const uint64_t count = counts[i], bytes = count * 4;
        uint32_t *wanted = words(suite, count * RANKS);
        struct hal_buffer *to[RANKS];
        for (uint32_t r = 0; r < RANKS; r++) {
            const void *own = wanted + r * count;
            to[r] = buffer_with(suite, group.devices[r], NULL, RANKS * bytes);
            if (in_place && bytes)
                check_ok(suite, hal_buffer_write(to[r], r * bytes, own, bytes));
            check_ok(suite,
                     submit(&group, r, i + 1, NULL,
                            (struct hal_collective_desc){
                                .operation = HAL_COLLECTIVE_ALL_GATHER,
                                .type = HAL_ELEMENT_U32,
                                .count = count,
                                .send = in_place ? to[r]
                                                 : buffer_with(suite, group.devices[r], own, bytes),
                                .send_offset = in_place && bytes ? r * bytes : 0,
                                .receive = to[r]}));
        }
        wait_all(suite, &group, i + 1);
        for (uint32_t r = 0; r < RANKS; r++)
            check_buffer(suite, to[r], 0, wanted, RANKS * bytes);
    }
}

static void reduce_scatter(struct suite *suite, uint64_t in_place)
{
    enum { RANKS = 3 };
    struct group group = open_group(suite, RANKS);
    for (size_t i = 0; i < SUITE_COUNT(counts); i++) {
        const uint64_t count = counts[i], bytes = count * 4;
        uint32_t *wanted = suite_memory(suite, (size_t)(RANKS * bytes) + 1);
        struct hal_buffer *to[RANKS];
        for (uint32_t r = 0; r < RANKS; r++) {
            uint32_t *sent = words(suite, RANKS * count);
            struct hal_buffer *from = buffer_with(suite, group.devices[r], sent, RANKS * bytes);
            for (uint64_t k = 0; k < RANKS * count; k++)
                wanted[k] += sent[k];
            to[r] = in_place ? from : buffer_with(suite, group.devices[r], NULL, bytes);
            check_ok(suite, submit(&group, r, i + 1, NULL,
                                   (struct hal_collective_desc){
                                       .operation = HAL_COLLECTIVE_REDUCE_SCATTER,
                                       .type = HAL_ELEMENT_U32,
                                       .reduction = HAL_REDUCTION_SUM,
                                       .count = count,
                                       .send = from,
                                       .receive = to[r],
                                       .receive_offset = in_place && bytes ? r * bytes : 0}));
        }
        wait_all(suite, &group, i + 1);
        for (uint32_t r = 0; r < RANKS; r++)
            check_buffer(suite, to[r], in_place ? r * bytes : 0, wanted + r * count, bytes);
    }
}

static void broadcast(struct suite *suite, uint64_t root)
{
    enum { RANKS = 4 };
    struct group group = open_group(suite, RANKS);
    for (size_t i = 0; i < SUITE_COUNT(counts); i++) {
        const uint64_t bytes = counts[i] * 4;
        uint32_t *wanted = words(suite, counts[i]);
        struct hal_buffer *to[RANKS];
        for (uint32_t r = 0; r < RANKS; r++) {
            to[r] = buffer_with(suite, group.devices[r], r == root ? wanted : NULL, bytes);
            check_ok(suite,
                     submit(&group, r, i + 1, NULL,
                            (struct hal_collective_desc){.operation = HAL_COLLECTIVE_BROADCAST,
                                                         .type = HAL_ELEMENT_F32,
                                                         .peer = (uint32_t)root,
                                                         .count = counts[i],
                                                         .send = r == root ? to[r] : NULL,
                                                         .receive = to[r]}));
        }
        wait_all(suite, &group, i + 1);
        for (uint32_t r = 0; r < RANKS; r++)
            check_buffer(suite, to[r], 0, wanted, bytes);
    }
}

/* Round the ring, with a third rank that has no part in a pair's business. */
static void send_and_receive(struct suite *suite, uint64_t rounds)
{
    enum { RANKS = 3, COUNT = 100 };
    struct group group = open_group(suite, RANKS);
    uint32_t *wanted = words(suite, COUNT);
    struct hal_buffer *buffers[RANKS];
    uint64_t values[RANKS] = {0};
    for (uint32_t r = 0; r < RANKS; r++)
        buffers[r] = buffer_with(suite, group.devices[r], r ? NULL : wanted, COUNT * 4);
    for (uint64_t i = 0; i < rounds; i++) {
        const uint32_t from = (uint32_t)(i % RANKS), to = (from + 1) % RANKS;
        const struct hal_collective_desc send = {.operation = HAL_COLLECTIVE_SEND,
                                                 .type = HAL_ELEMENT_I32,
                                                 .peer = to,
                                                 .count = COUNT,
                                                 .send = buffers[from]};
        const struct hal_collective_desc receive = {.operation = HAL_COLLECTIVE_RECEIVE,
                                                    .type = HAL_ELEMENT_I32,
                                                    .peer = from,
                                                    .count = COUNT,
                                                    .receive = buffers[to]};
        check_ok(suite, submit(&group, to, ++values[to], NULL, receive));
        check_ok(suite, submit(&group, from, ++values[from], NULL, send));
        suite_wait(suite, group.done[from], values[from]);
        suite_wait(suite, group.done[to], values[to]);
        check_buffer(suite, buffers[to], 0, wanted, COUNT * 4);
    }
}

/* ---- Order and threads ---------------------------------------------------------------------- */

static struct hal_collective_desc sum_of(struct hal_buffer *buffer, uint64_t count)
{
    return (struct hal_collective_desc){.operation = HAL_COLLECTIVE_ALL_REDUCE,
                                        .type = HAL_ELEMENT_U32,
                                        .reduction = HAL_REDUCTION_SUM,
                                        .count = count,
                                        .send = buffer,
                                        .receive = buffer};
}

/* Many that wait at once, rank by rank, far more than a driver has threads: each rank's wait for
 * the one before, since they work on the same bytes. */
static void many_pending(struct suite *suite, uint64_t length)
{
    struct group group = open_group(suite, 2);
    static const uint32_t one = 1;
    uint32_t wanted = 1;
    struct hal_buffer *buffers[2];
    for (uint32_t r = 0; r < 2; r++) {
        buffers[r] = buffer_with(suite, group.devices[r], &one, sizeof one);
        for (uint64_t i = 1; i <= length; i++) {
            struct hal_collective_desc desc = sum_of(buffers[r], 1);
            desc.channel = group.channels[r];
            const struct hal_semaphore_value wait = {group.done[r], i - 1},
                                             signal = {group.done[r], i};
            check_ok(suite, hal_queue_collective(group.devices[r],
                                                 &(struct hal_submit_desc){.waits = &wait,
                                                                           .wait_count = 1,
                                                                           .signals = &signal,
                                                                           .signal_count = 1},
                                                 &desc));
        }
    }
    wait_all(suite, &group, length);
    for (uint64_t i = 0; i < length; i++)
        wanted *= 2;
    check_buffer(suite, buffers[0], 0, &wanted, sizeof wanted);
    check_buffer(suite, buffers[1], 0, &wanted, sizeof wanted);
}

/* None waits for another: they may end in any order, and each still meets its like. */
static void many_at_once(struct suite *suite, uint64_t length)
{
    struct group group = open_group(suite, 2);
    struct hal_buffer *buffers[2];
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t *values = suite_memory(suite, (size_t)length * 4);
        for (uint64_t i = 0; i < length; i++)
            values[i] = (uint32_t)(i * (r + 1));
        buffers[r] = buffer_with(suite, group.devices[r], values, length * 4);
        for (uint64_t i = 0; i < length; i++) {
            struct hal_collective_desc desc = sum_of(buffers[r], 1);
            desc.channel = group.channels[r];
            desc.send_offset = desc.receive_offset = 4 * i;
            check_ok(suite, hal_queue_collective(group.devices[r], NULL, &desc));
        }
    }
    for (uint32_t r = 0; r < 2; r++)
        check_ok(suite, hal_device_wait_idle(group.devices[r], SUITE_TIMEOUT_NS));
    uint32_t *wanted = suite_memory(suite, (size_t)length * 4);
    for (uint64_t i = 0; i < length; i++)
        wanted[i] = (uint32_t)(3 * i);
    for (uint32_t r = 0; r < 2; r++)
        check_buffer(suite, buffers[r], 0, wanted, length * 4);
}

struct rank {
    struct group *group;
    uint32_t rank;
    uint64_t rounds;
    struct hal_buffer *buffer;
};

static void run_rank(struct suite *suite, void *user)
{
    const struct rank *rank = user;
    for (uint64_t i = 1; i <= rank->rounds; i++) {
        check_ok(suite, submit(rank->group, rank->rank, i, NULL, sum_of(rank->buffer, 300)));
        suite_wait(suite, rank->group->done[rank->rank], i);
    }
}

static void a_thread_each(struct suite *suite, uint64_t rounds)
{
    enum { RANKS = 4 };
    struct group group = open_group(suite, RANKS);
    struct rank ranks[RANKS];
    uint32_t *wanted = words(suite, 300);
    for (uint32_t r = 0; r < RANKS; r++)
        ranks[r] =
            (struct rank){&group, r, rounds, buffer_with(suite, group.devices[r], wanted, 300 * 4)};
    for (uint32_t r = 0; r < RANKS; r++)
        suite_thread(suite, run_rank, &ranks[r]);
    suite_join(suite);
    for (uint64_t i = 0; i < rounds; i++) {
        for (uint32_t k = 0; k < 300; k++)
            wanted[k] *= RANKS;
    }
    for (uint32_t r = 0; r < RANKS; r++)
        check_buffer(suite, ranks[r].buffer, 0, wanted, 300 * 4);
}

/* Two ranks of one device. */
static void twice_on_one_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const uint32_t values[2] = {5, 9}, wanted = 14;
    struct group group = {.count = 2};
    need_collectives(suite);
    for (uint32_t r = 0; r < 2; r++) {
        group.devices[r] = suite_device(suite);
        group.done[r] = suite_semaphore(suite, "done", 0);
    }
    check_ok(suite, hal_channel_create(group.devices, 2, NULL, group.channels));
    struct hal_buffer *buffers[2];
    for (uint32_t r = 0; r < 2; r++) {
        struct hal_channel_info info = {0};
        suite_own_channel(suite, group.channels[r]);
        check_ok(suite, hal_channel_get_info(group.channels[r], &info));
        check(suite, info.rank == r && info.count == 2 && !info.label && info.group);
        buffers[r] = buffer_with(suite, group.devices[r], &values[r], sizeof values[r]);
        check_ok(suite, submit(&group, r, 1, NULL, sum_of(buffers[r], 1)));
    }
    wait_all(suite, &group, 1);
    for (uint32_t r = 0; r < 2; r++)
        check_buffer(suite, buffers[r], 0, &wanted, sizeof wanted);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void disagreement(struct suite *suite, uint64_t what)
{
    struct group group = open_group(suite, 2);
    static const uint32_t zeros[4] = {0};
    static const char *const texts[][2] = {
        {"all-reduce of 3 u32 (sum)", "all-reduce of 2 u32 (sum)"},
        {"u32 (sum)", "u32 (maximum)"},
        {"3 u32", "3 i32"},
        {"broadcast from rank 0", "broadcast from rank 1"}};
    struct hal_buffer *buffers[2];
    for (uint32_t r = 0; r < 2; r++) {
        buffers[r] = buffer_with(suite, group.devices[r], zeros, sizeof zeros);
        struct hal_collective_desc desc = sum_of(buffers[r], 3);
        if (what == 0 && r)
            desc.count = 2;
        if (what == 1 && r)
            desc.reduction = HAL_REDUCTION_MAXIMUM;
        if (what == 2 && r)
            desc.type = HAL_ELEMENT_I32;
        if (what == 3)
            desc = (struct hal_collective_desc){.operation = HAL_COLLECTIVE_BROADCAST,
                                                .type = HAL_ELEMENT_U32,
                                                .peer = r,
                                                .count = 3,
                                                .send = buffers[r],
                                                .receive = buffers[r]};
        check_ok(suite, submit(&group, r, 1, NULL, desc));
    }
    for (uint32_t r = 0; r < 2; r++)
        check_fails(suite, hal_semaphore_wait(group.done[r], 1, SUITE_TIMEOUT_NS), HAL_INVALID,
                    "'ring'", "rank 0 has", "rank 1 has", texts[what][0], texts[what][1]);
    /* the next one works */
    for (uint32_t r = 0; r < 2; r++) {
        group.done[r] = suite_semaphore_of(suite, group.devices[r], "again", 0);
        check_ok(suite, submit(&group, r, 1, NULL, sum_of(buffers[r], 4)));
    }
    wait_all(suite, &group, 1);
}

/* One rank's gate fails, before the others come or after. */
static void a_rank_fails(struct suite *suite, uint64_t late)
{
    struct group group = open_group(suite, 3);
    struct hal_semaphore *gate = suite_semaphore_of(suite, group.devices[1], "gate", 0);
    static const uint32_t zero = 0;
    if (!late)
        hal_semaphore_fail(gate, HAL_FAILED, "struck by lightning");
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t r = late ? (i + 2) % 3 : (i + 1) % 3;
        check_ok(suite, submit(&group, r, 1, r == 1 ? gate : NULL,
                               sum_of(buffer_with(suite, group.devices[r], &zero, 4), 1)));
    }
    if (late)
        hal_semaphore_fail(gate, HAL_FAILED, "struck by lightning");
    for (uint32_t r = 0; r < 3; r++) {
        const enum hal_status status = hal_semaphore_wait(group.done[r], 1, SUITE_TIMEOUT_NS);
        if (r == 1)
            check_fails(suite, status, HAL_FAILED, "struck by lightning");
        else
            check_fails(suite, status, HAL_FAILED, "'ring'", "rank 1 failed",
                        "struck by lightning");
    }
}

/* Rank 1 is released and has not submitted what rank 0 waits in, or will submit. */
static void a_rank_leaves(struct suite *suite, uint64_t late)
{
    static const uint32_t zero = 0;
    struct hal_device *devices[2] = {suite_device(suite), NULL};
    struct hal_channel *channels[2];
    need_collectives(suite);
    devices[1] = suite_open(suite, "threads=1");
    const struct hal_channel_desc desc = {.label = "ring"};
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    struct hal_buffer *buffer = buffer_with(suite, devices[0], &zero, sizeof zero);
    check_ok(suite, hal_channel_create(devices, 2, &desc, channels));
    suite_own_channel(suite, channels[0]);
    const struct group group = {
        .count = 1, .devices = {devices[0]}, .channels = {channels[0]}, .done = {done}};
    if (!late)
        hal_channel_release(channels[1]);
    const enum hal_status status = submit(&group, 0, 1, NULL, sum_of(buffer, 1));
    if (late)
        hal_channel_release(channels[1]);
    check_ok(suite, status);
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "'ring'",
                "rank 1 was released");
}

/* Who looks for what a device waits for is told the ranks; two channels that ranks use in different
 * orders look the same. */
static void never_comes(struct suite *suite, uint64_t unused)
{
    (void)unused;
    static const uint32_t zero = 0;
    struct group group = open_group(suite, 4);
    struct hal_semaphore *gate = suite_semaphore_of(suite, group.devices[2], "gate", 0);
    struct hal_buffer *buffers[4];
    enum hal_status status = HAL_OK;
    for (uint32_t r = 0; r < 4; r++)
        buffers[r] = buffer_with(suite, group.devices[r], &zero, sizeof zero);
    for (uint32_t r = 0; r < 3 && status == HAL_OK; r++)
        status = submit(&group, r, 1, r == 2 ? gate : NULL, sum_of(buffers[r], 1));
    check_ok(suite, status);
    do /* until ranks 0 and 1 are there */
        status = hal_device_wait_idle(group.devices[1], 1000000);
    while (status == HAL_TIMEOUT && !strstr(hal_message(), "waits for ranks 2, 3 in"));
    check_fails(suite, status, HAL_TIMEOUT, "ranks 2, 3", "all-reduce", "number 0", "'ring'");
    check_ok(suite, submit(&group, 3, 1, NULL, sum_of(buffers[3], 1)));
    check_ok(suite, hal_semaphore_signal(gate, 1));
    wait_all(suite, &group, 1);
}

/* Bytes that one rank writes and another one uses. */
static void shared_bytes(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *devices[2] = {suite_device(suite), suite_device(suite)};
    struct group group = {.count = 2, .devices = {devices[0], devices[1]}};
    need_collectives(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "shared", 64);
    const struct hal_channel_desc desc = {.label = "ring"};
    check_ok(suite, hal_channel_create(devices, 2, &desc, group.channels));
    for (uint32_t r = 0; r < 2; r++) {
        suite_own_channel(suite, group.channels[r]);
        group.done[r] = suite_semaphore(suite, "done", 0);
        check_ok(suite, submit(&group, r, 1, NULL, sum_of(buffer, 1)));
    }
    for (uint32_t r = 0; r < 2; r++)
        check_fails(suite, hal_semaphore_wait(group.done[r], 1, SUITE_TIMEOUT_NS), HAL_INVALID,
                    "'ring'", "overlaps");
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static void wrong_channels(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *devices[65];
    struct hal_channel *channels[65];
    struct hal_channel_info info = {0};
    for (size_t i = 0; i < SUITE_COUNT(devices); i++)
        devices[i] = suite_device(suite);
    check_fails(suite, hal_channel_create(devices, 0, NULL, channels), HAL_INVALID, "0 ranks",
                "64");
    check_fails(suite, hal_channel_create(devices, 65, NULL, channels), HAL_INVALID, "65 ranks",
                "64");
    check_fails(suite, hal_channel_create(NULL, 2, NULL, channels), HAL_INVALID, "NULL");
    check_fails(suite, hal_channel_get_info(NULL, &info), HAL_INVALID, "channel");
    const struct hal_channel_desc wide = {.label = "wide", .group_id = "x", .group_id_bytes = 1};
    check_fails(suite, hal_channel_create(devices, 2, &wide, channels), HAL_UNSUPPORTED, "wide",
                "several processes");
    hal_channel_release(NULL);
    hal_channel_retain(NULL);
    int64_t has = 0;
    check_ok(suite, hal_device_query(suite_device(suite), "collectives", &has));
    const struct hal_channel_desc plain = {.label = "plain"};
    if (!has) {
        check_fails(suite, hal_channel_create(devices, 2, &plain, channels), HAL_UNSUPPORTED,
                    "plain", "does not support collectives");
        return;
    }
    check_fails(suite, hal_channel_create(devices, 2, NULL, NULL), HAL_INVALID, "NULL");
    devices[1] = NULL;
    check_fails(suite, hal_channel_create(devices, 2, &plain, channels), HAL_INVALID, "plain",
                "rank 1");
}

static void collective_of_no_channel(struct suite *suite, const struct group *group,
                                     struct hal_collective_desc desc)
{
    struct hal_device *device = group->devices[0];
    desc.channel = group->channels[1];
    check_fails(suite, hal_queue_collective(device, NULL, &desc), HAL_INVALID, "another device");
    desc.channel = NULL;
    check_fails(suite, hal_queue_collective(device, NULL, &desc), HAL_INVALID, "channel");
    check_fails(suite, hal_queue_collective(device, NULL, NULL), HAL_INVALID, "description");
}

static void wrong_collectives(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct group group = open_group(suite, 2);
    struct hal_buffer *here = buffer_with(suite, group.devices[0], NULL, 64);
    struct hal_buffer *there = buffer_with(suite, group.devices[1], NULL, 64);
    const struct hal_collective_desc good = sum_of(here, 4);
    struct hal_collective_desc bad[16];
    static const char *const texts[] = {"no collective 7",
                                        "no element type 13",
                                        "reduction 6",
                                        "reduction 1",
                                        "peer 1",
                                        "peer 2",
                                        "itself",
                                        "no buffer to send",
                                        "no buffer to receive",
                                        "multiple",
                                        "outside",
                                        "2^64",
                                        "another device",
                                        "not in place",
                                        "a buffer to receive"};
    for (size_t i = 0; i < SUITE_COUNT(bad); i++)
        bad[i] = good;
    bad[0].operation = (enum hal_collective)7;
    bad[1].type = (enum hal_element_type)13;
    bad[2].reduction = (enum hal_reduction)6;
    bad[3].operation = HAL_COLLECTIVE_ALL_GATHER;
    bad[4].peer = 1;
    bad[5] = (struct hal_collective_desc){
        .operation = HAL_COLLECTIVE_BROADCAST, .type = HAL_ELEMENT_U8, .peer = 2, .count = 1};
    bad[6] = (struct hal_collective_desc){
        .operation = HAL_COLLECTIVE_SEND, .type = HAL_ELEMENT_U8, .count = 1, .send = here};
    bad[7].send = NULL;
    bad[8].receive = NULL;
    bad[9].send_offset = 2;
    bad[10].count = 17;
    bad[11].count = UINT64_MAX / 2;
    bad[12].receive = there;
    bad[13].receive_offset = 4;
    bad[14] = (struct hal_collective_desc){.operation = HAL_COLLECTIVE_SEND,
                                           .type = HAL_ELEMENT_U8,
                                           .peer = 1,
                                           .count = 1,
                                           .send = here,
                                           .receive = here};
    for (size_t i = 0; i < SUITE_COUNT(texts); i++) {
        suite_note(suite, "wrong collective %zu", i);
        check_fails(suite, submit(&group, 0, 1, NULL, bad[i]), HAL_INVALID, texts[i]);
    }
    collective_of_no_channel(suite, &group, good);
    /* what was refused does not count: the first of one is the first of the other */
    check_ok(suite, hal_semaphore_signal(group.done[0], 1));
    check_fails(suite, submit(&group, 0, 1, NULL, good), HAL_INVALID, "done");
    check_ok(suite, submit(&group, 0, 2, NULL, good));
    check_ok(suite, submit(&group, 1, 2, NULL, sum_of(there, 4)));
    wait_all(suite, &group, 2);
}

static const struct suite_case cases[] = {
    {"all_reduce_i8", each_type, HAL_ELEMENT_I8},
    {"all_reduce_u8", each_type, HAL_ELEMENT_U8},
    {"all_reduce_i16", each_type, HAL_ELEMENT_I16},
    {"all_reduce_u16", each_type, HAL_ELEMENT_U16},
    {"all_reduce_i32", each_type, HAL_ELEMENT_I32},
    {"all_reduce_u32", each_type, HAL_ELEMENT_U32},
    {"all_reduce_i64", each_type, HAL_ELEMENT_I64},
    {"all_reduce_u64", each_type, HAL_ELEMENT_U64},
    {"all_reduce_f16", each_type, HAL_ELEMENT_F16},
    {"all_reduce_bf16", each_type, HAL_ELEMENT_BF16},
    {"all_reduce_f32", each_type, HAL_ELEMENT_F32},
    {"all_reduce_f64", each_type, HAL_ELEMENT_F64},
    {"rounding_and_wrapping", rounding_and_wrapping, 0},
    {"order_of_the_ranks", order_of_the_ranks, 0},
    {"all_gather", all_gather, 0},
    {"all_gather_in_place", all_gather, 1},
    {"reduce_scatter", reduce_scatter, 0},
    {"reduce_scatter_in_place", reduce_scatter, 1},
    {"broadcast_0", broadcast, 0},
    {"broadcast_3", broadcast, 3},
    {"send_and_receive", send_and_receive, 12},
    {"many_pending", many_pending, 40},
    {"many_at_once", many_at_once, 200},
    {"a_thread_each", a_thread_each, 30},
    {"twice_on_one_device", twice_on_one_device, 0},
    {"disagree_in_count", disagreement, 0},
    {"disagree_in_reduction", disagreement, 1},
    {"disagree_in_type", disagreement, 2},
    {"disagree_in_root", disagreement, 3},
    {"a_rank_fails_first", a_rank_fails, 0},
    {"a_rank_fails_last", a_rank_fails, 1},
    {"a_rank_leaves_before", a_rank_leaves, 0},
    {"a_rank_leaves_after", a_rank_leaves, 1},
    {"never_comes", never_comes, 0},
    {"shared_bytes", shared_bytes, 0},
    {"wrong_channels", wrong_channels, 0},
    {"wrong_collectives", wrong_collectives, 0},
};
const struct suite_area area_channels = {"channels", cases, SUITE_COUNT(cases)};
