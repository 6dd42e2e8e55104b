/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches: grids, bindings, constants. */
#include "tests/conformance/suite.h"

/* ---- Grids ---------------------------------------------------------------------------------- */

struct place {
    uint32_t in_grid[3], in_group[3], group[3], workgroup_size[3], groups[3], grid[3];
    uint32_t index_in_group, lane, simdgroup, simdgroups, visits;
};

/* What the thread at `at` should have written. */
static struct place expected_place(const uint32_t groups[3], const uint32_t at[3],
                                   uint32_t simd_width)
{
    static const uint32_t size[3] = {3, 2, 2};
    struct place place = {.visits = 1};
    for (size_t i = 0; i < 3; i++) {
        place.in_grid[i] = at[i];
        place.in_group[i] = at[i] % size[i];
        place.group[i] = at[i] / size[i];
        place.workgroup_size[i] = size[i];
        place.groups[i] = groups[i];
        place.grid[i] = groups[i] * size[i];
    }
    place.index_in_group =
        (place.in_group[2] * size[1] + place.in_group[1]) * size[0] + place.in_group[0];
    place.lane = place.index_in_group % simd_width;
    place.simdgroup = place.index_in_group / simd_width;
    place.simdgroups = (12 + simd_width - 1) / simd_width;
    return place;
}

/* Vulkan leaves open how threads are spread over subgroups. */
static void forget_lanes(struct place *got, const struct place *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        got[i].lane = wanted[i].lane;
        got[i].simdgroup = wanted[i].simdgroup;
        got[i].simdgroups = wanted[i].simdgroups;
    }
}

#define GRID(x, y, z) ((uint64_t)(x) | (uint64_t)(y) << 16 | (uint64_t)(z) << 32)

static void grid(struct suite *suite, uint64_t shape)
{
    const uint32_t groups[3] = {(uint32_t)(shape & 0xFFFF), (uint32_t)(shape >> 16 & 0xFFFF),
                                (uint32_t)(shape >> 32 & 0xFFFF)};
    const uint32_t size[3] = {groups[0] * 3, groups[1] * 2, groups[2] * 2};
    const size_t threads = (size_t)size[0] * size[1] * size[2],
                 bytes = threads * sizeof(struct place);
    struct place *wanted = suite_memory(suite, bytes + 64);
    struct hal_buffer *out = suite_buffer(suite, "places", bytes + 64);
    suite_clear(suite, out, 0);
    for (uint32_t z = 0, i = 0; z < size[2]; z++) {
        for (uint32_t y = 0; y < size[1]; y++) {
            for (uint32_t x = 0; x < size[0]; x++)
                wanted[i++] =
                    expected_place(groups, (uint32_t[3]){x, y, z}, suite_info(suite)->simd_width);
        }
    }
    suite_launch_alone(
        suite,
        &(struct suite_launch){KERNEL_POSITIONS, {groups[0], groups[1], groups[2]}, {out}, {0}, 0});
    struct place *got = suite_memory(suite, bytes + 64);
    suite_read(suite, out, 0, got, bytes + 64);
    if (!suite_runs(suite, HAL_FORMAT_MSL))
        forget_lanes(got, wanted, threads);
    check_bytes(suite, got, wanted, bytes + 64);
}

static void no_groups(struct suite *suite, uint64_t shape)
{
    const uint32_t groups[3] = {shape & 1 ? 0 : 7, shape & 2 ? 0 : UINT32_MAX, shape & 4 ? 0 : 5};
    const uint8_t wanted[4] = {1, 1, 1, 1};
    struct hal_buffer *x = suite_buffer(suite, "x", 4);
    suite_clear(suite, x, 1);
    suite_launch_alone(
        suite,
        &(struct suite_launch){KERNEL_INCREMENT, {groups[0], groups[1], groups[2]}, {x}, {0}, 0});
    check_buffer(suite, x, 0, wanted, 4);
}

/* Groups of 32; the kernel leaves threads beyond `count` idle. */
static void partial_group(struct suite *suite, uint64_t count)
{
    const uint32_t groups = (uint32_t)(count + 31) / 32;
    const size_t words = groups * 32 + 1;
    uint32_t *wanted = suite_memory(suite, words * 4);
    struct hal_buffer *out = suite_buffer(suite, "out", words * 4);
    suite_clear(suite, out, 0);
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = i + 1;
    suite_launch_alone(
        suite, &(struct suite_launch){KERNEL_BOUNDED, {groups, 1, 1}, {out}, {(uint32_t)count}, 1});
    check_buffer(suite, out, 0, wanted, words * 4);
}

static void count_groups(struct suite *suite, uint64_t groups)
{
    const uint32_t wanted = (uint32_t)groups * 64;
    struct hal_buffer *out = suite_buffer(suite, "count", 4);
    suite_clear(suite, out, 0);
    suite_launch_alone(suite, &(struct suite_launch){
                                  KERNEL_COUNT_THREADS, {(uint32_t)groups, 1, 1}, {out}, {0}, 0});
    check_buffer(suite, out, 0, &wanted, 4);
}

/* The whole buffer is one dispatch's, to its last word. */
static void every_size(struct suite *suite, uint64_t groups)
{
    const size_t words = groups * 64;
    uint32_t *in = suite_random_words(suite, words);
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, words * 4);
    struct hal_buffer *y = suite_buffer(suite, "out", words * 4);
    suite_launch_alone(
        suite, &(struct suite_launch){KERNEL_COPY, {(uint32_t)groups, 1, 1}, {x, y}, {0}, 0});
    check_buffer(suite, y, 0, in, words * 4);
}

/* Many dispatches without a barrier, each on its own words. */
static void many_dispatches(struct suite *suite, uint64_t count)
{
    const size_t words = count * 64;
    uint32_t *wanted = suite_memory(suite, words * 4);
    struct hal_buffer *out = suite_buffer(suite, "out", words * 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t i = 0; i < count; i++) {
        const struct hal_binding binding = {out, (uint64_t)i * 256, 256};
        const uint32_t first = i * 1000;
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
        check_ok(suite, hal_command_push_constants(commands, 0, &first, 4));
        check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_NUMBER,
                                             (uint32_t[3]){1, 1, 1}));
        for (uint32_t w = 0; w < 64; w++)
            wanted[i * 64 + w] = first + w;
    }
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, words * 4);
}

/* ---- Bindings ------------------------------------------------------------------------------- */

static void all_31_bindings(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_binding bindings[HAL_MAX_BINDINGS];
    uint32_t wanted[16] = {0};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t b = 0; b < 30; b++) {
        const uint32_t *words = suite_random_words(suite, 16);
        bindings[b] = (struct hal_binding){suite_buffer_with(suite, "input", words, 64), 0, 64};
        for (size_t i = 0; i < 16; i++)
            wanted[i] += (b + 1) * words[i];
    }
    bindings[30] = (struct hal_binding){suite_buffer(suite, "output", 64), 0, HAL_WHOLE_BUFFER};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, HAL_MAX_BINDINGS));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_GATHER,
                                         (uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    check_buffer(suite, bindings[30].buffer, 0, wanted, 64);
}

/* All inputs are parts of one buffer, which is bound 31 times. */
static void one_buffer_bound_31_times(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_binding bindings[HAL_MAX_BINDINGS];
    uint32_t *words = suite_random_words(suite, 31 * 16);
    struct hal_buffer *buffer = suite_buffer_with(suite, "all", words, 31 * 64);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    memset(words + 30 * 16, 0, 64);
    for (uint32_t b = 0; b < HAL_MAX_BINDINGS; b++) {
        bindings[b] = (struct hal_binding){buffer, b * 64, 64};
        for (size_t i = 0; b < 30 && i < 16; i++)
            words[30 * 16 + i] += (b + 1) * words[b * 16 + i];
    }
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, HAL_MAX_BINDINGS));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_GATHER,
                                         (uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    check_buffer(suite, buffer, 0, words, 31 * 64);
}

/* Byte kernels, both buffers bound at this offset and one of the other parity, in units of what the
 * device asks for. */
static void bound_at(struct suite *suite, uint64_t number)
{
    enum { BYTES = 16 * 20 };
    const uint64_t unit = suite_alignment(suite), offset = number * unit, to = (15 - number) * unit;
    const size_t bytes = BYTES + 16 * unit;
    uint8_t *in = suite_memory(suite, bytes), *wanted = suite_memory(suite, bytes);
    suite_random_bytes(suite, in, bytes);
    memset(wanted, 0xEE, bytes);
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, bytes);
    struct hal_buffer *y = suite_buffer_with(suite, "out", wanted, bytes);
    const struct hal_binding bindings[2] = {{x, offset, BYTES}, {y, to, BYTES}};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 2));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_BYTES,
                                         (uint32_t[3]){20, 1, 1}));
    suite_run(suite, commands);
    for (size_t i = 0; i < BYTES; i++)
        wanted[to + i] = in[offset + i] ^ 0x5A;
    check_buffer(suite, y, 0, wanted, bytes);
}

/* A later push replaces the whole set; between them, dispatches keep what they saw. */
static void bindings_are_replaced(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { STEPS = 6 };
    uint32_t *words = suite_random_words(suite, 64);
    struct hal_buffer *in = suite_buffer_with(suite, "in", words, 256), *outs[STEPS];
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const uint32_t one[3] = {1, 1, 1};
    for (size_t i = 0; i < STEPS; i++) {
        outs[i] = suite_buffer(suite, "out", 256);
        const struct hal_binding bindings[2] = {{in, 0, 256}, {outs[i], 0, 256}};
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 2));
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 2));
        check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_COPY, one));
    }
    suite_run(suite, commands);
    for (size_t i = 0; i < STEPS; i++)
        check_buffer(suite, outs[i], 0, words, 256);
}

/* Bindings outlive dispatches of kernels that do not use them, and holes are allowed. */
static void unused_bindings(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted[2] = {1, 7};
    struct hal_buffer *x = suite_buffer(suite, "x", 256), *y = suite_buffer(suite, "y", 256);
    struct hal_binding bindings[HAL_MAX_BINDINGS] = {{0}};
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const uint32_t one[3] = {1, 1, 1}, constants[2] = {1, 7};
    suite_clear(suite, x, 0);
    suite_clear(suite, y, 0);
    bindings[0].buffer = x;
    bindings[0].bytes = HAL_WHOLE_BUFFER;
    bindings[30].buffer = y;
    bindings[30].bytes = 8;
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, HAL_MAX_BINDINGS));
    check_ok(suite, hal_command_push_descriptor_set(commands, 3, bindings, 1));
    check_ok(suite, hal_command_push_constants(commands, 0, constants, 8));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_INCREMENT, one));
    check_ok(suite, hal_command_barrier(commands, NULL));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_WRITE_ONE, one));
    suite_run(suite, commands);
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

/* ---- Constants ------------------------------------------------------------------------------ */

/* In so many pieces; 0: word by word. */
static void all_constants(struct suite *suite, uint64_t wanted_pieces)
{
    const uint32_t bytes = (uint32_t)HAL_MAX_CONSTANT_BYTES;
    const uint32_t pieces = wanted_pieces ? (uint32_t)wanted_pieces : bytes / 4;
    const uint32_t each = bytes / pieces;
    uint32_t *words = suite_memory(suite, 4096);
    suite_random_bytes(suite, words, bytes);
    struct hal_buffer *out = suite_buffer(suite, "out", 4096);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t i = 0; i < pieces; i++) {
        const uint32_t at = (i * 3 + 1) % pieces * each; /* `pieces` is no multiple of 3 */
        check_ok(suite, hal_command_push_constants(commands, at, words + at / 4, each));
    }
    suite_dispatch(suite, commands, &(struct suite_launch){KERNEL_WORDS, {1, 1, 1}, {out}, {0}, 0});
    suite_run(suite, commands);
    check_buffer(suite, out, 0, words, 4096);
}

/* Of overlapping pushes, the later one counts; what was never pushed is zero; each dispatch sees
 * what was pushed before it. */
static void constants_over_time(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { STEPS = 40 };
    const uint32_t words = (uint32_t)HAL_MAX_CONSTANT_BYTES / 4;
    uint32_t *model = suite_memory(suite, 4096), *wanted = suite_memory(suite, STEPS * 4096);
    struct hal_buffer *out = suite_buffer(suite, "out", STEPS * 4096);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t at = suite_random_below(suite, words);
        const uint32_t count = suite_random_below(suite, step % 4 ? 5 : words + 1 - at);
        const uint32_t fits = at + count > words ? words - at : count;
        suite_random_bytes(suite, model + at, (size_t)fits * 4);
        check_ok(suite, hal_command_push_constants(commands, at * 4, model + at, fits * 4));
        const struct hal_binding binding = {out, step * 4096, 4096};
        check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
        check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_WORDS,
                                             (uint32_t[3]){1, 1, 1}));
        memcpy(wanted + step * 1024, model, 4096);
    }
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, STEPS * 4096);
}

static void constants_are_copied(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint32_t constants[2] = {2, 99};
    const uint32_t wanted[3] = {0, 0, 99};
    struct hal_buffer *out = suite_buffer(suite, "out", 12);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_clear(suite, out, 0);
    check_ok(suite, hal_command_push_constants(commands, 0, constants, 8));
    constants[0] = 1;
    constants[1] = 1;
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_WRITE_ONE, {1, 1, 1}, {out}, {0}, 0});
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, 12);
}

static const struct suite_case cases[] = {
    {"grid_1_1_1", grid, GRID(1, 1, 1)},
    {"grid_17_1_1", grid, GRID(17, 1, 1)},
    {"grid_1_17_1", grid, GRID(1, 17, 1)},
    {"grid_1_1_17", grid, GRID(1, 1, 17)},
    {"grid_3_4_5", grid, GRID(3, 4, 5)},
    {"grid_33_7_2", grid, GRID(33, 7, 2)},
    {"grid_500_1_2", grid, GRID(500, 1, 2)},
    {"no_groups_in_x", no_groups, 1},
    {"no_groups_in_y", no_groups, 2},
    {"no_groups_in_z", no_groups, 4},
    {"no_groups_at_all", no_groups, 7},
    {"partial_group_of_0", partial_group, 0},
    {"partial_group_of_1", partial_group, 1},
    {"partial_group_of_31", partial_group, 31},
    {"full_group_of_32", partial_group, 32},
    {"partial_group_of_33", partial_group, 33},
    {"partial_group_of_1000", partial_group, 1000},
    {"count_1_group", count_groups, 1},
    {"count_10000_groups", count_groups, 10000},
    {"one_group", every_size, 1},
    {"127_groups", every_size, 127},
    {"4097_groups", every_size, 4097},
    {"many_dispatches", many_dispatches, 2000},
    {"all_31_bindings", all_31_bindings, 0},
    {"one_buffer_bound_31_times", one_buffer_bound_31_times, 0},
    SUITE_SIXTEEN("bound_at_", bound_at),
    {"bindings_are_replaced", bindings_are_replaced, 0},
    {"unused_bindings", unused_bindings, 0},
    {"all_constants_at_once", all_constants, 1},
    {"all_constants_by_half", all_constants, 2},
    {"all_constants_by_word", all_constants, 0},
    {"constants_over_time", constants_over_time, 0},
    {"constants_are_copied", constants_are_copied, 0},
};

const struct suite_area area_dispatch = {"dispatch", cases, SUITE_COUNT(cases)};
