/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/spirv and its path in the CPU driver: where a SPIR-V kernel's data come from,
 * against plain C. The kernels: spirv/memory.comp. */
#include "tests/unit/spirv/memory.comp.h"
#include "tests/unit/spirv/nameless.spvasm.h"
#include "tests/unit/spirv/spirv_fixture.h"
#include "tests/unit/spirv/two_entries.spvasm.h"

enum { N = 256 };
#define FOUR_GROUPS .groups = {4, 1, 1}

TEST(adds_buffers)
{
    float a[N], b[N], c[N] = {0};
    for (int i = 0; i < N; i++) {
        a[i] = (float)i * 0.5F;
        b[i] = 1000.0F - (float)i;
    }
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_add), FOUR_GROUPS,
        .places = {SPIRV_PLACE(0, 0, a), SPIRV_PLACE(0, 1, b), SPIRV_PLACE(0, 2, c)}});
    for (int i = 0; i < N; i++)
        assert_float_equal(c[i], (float)i * 0.5F + 1000.0F - (float)i, 0);
}

TEST(push_constants)
{
    const struct {
        uint32_t count;
        float factor;
        int32_t shift[2];
    } push = {200, -1.5F, {7, -9}};
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_push), FOUR_GROUPS, .push = &push,
                                        .push_bytes = sizeof push,
                                        .places = {SPIRV_PLACE(0, 0, x)}});
    for (int i = 0; i < N; i++)
        assert_float_equal(x[i], i < 200 ? (float)i * -1.5F + 16.0F : (float)i, 0);
}

TEST(push_constants_of_all_widths)
{
    /* std430: bytes at 0, the half word at 4, the long at 8, the structs at 16 and 32. */
    struct {
        uint8_t small[4];
        uint16_t half_word, gap;
        int64_t big;
        float list[2][4];
    } push = {{1, 20, 200, 255}, 40000, 0, -(INT64_C(1) << 40), {{1, 2, 3, 4}, {5, 6, 7, 0.5F}}};
    float x[64] = {0};
    int64_t y[64] = {0};
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_push_layout), .push = &push,
                                        .push_bytes = sizeof push,
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < 64; i++) {
        assert_float_equal(x[i], push.list[i & 1][i % 3] + 0.5F, 0);
        assert_true(y[i] == push.big + 40000 * (int64_t)push.small[i & 3]);
    }
}

static void check_scalars(int number, uint32_t mask, float scale, bool negate,
                          const struct hal_constant *constants, size_t count)
{
    float x[64] = {0};
    uint32_t y[64] = {0};
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_spec_scalars), .constants = constants,
                                        .constant_count = count,
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (uint32_t i = 0; i < 64; i++) {
        const float value = (float)i * scale + (float)number;
        assert_float_equal(x[i], negate ? -value : value, 0);
        assert_int_equal(y[i], i * 0x0101 & mask);
    }
}

TEST(constants_have_defaults)
{
    check_scalars(-7, 0xff00, 0.5F, false, NULL, 0);
}

TEST(constants_have_values)
{
    static const struct hal_constant constants[] = {
        {0, HAL_CONSTANT_INT32, 12},
        {1, HAL_CONSTANT_UINT32, 0xff},
        {2, HAL_CONSTANT_FLOAT32, 0x40300000},
        {3, HAL_CONSTANT_BOOL, 1},
        {99, HAL_CONSTANT_BOOL, 1}, /* of another module */
    };
    check_scalars(12, 0xff, 2.75F, true, constants, 5);
    check_scalars(-7, 0xff, 0.5F, false, constants + 1, 1);
    check_scalars(-7, 0xff00, 0.5F, true, constants + 3, 1);
}

TEST(constants_of_all_widths)
{
    static const struct hal_constant constants[] = {
        {0, HAL_CONSTANT_INT32, (uint32_t)-128}, {1, HAL_CONSTANT_UINT32, 65535},
        {2, HAL_CONSTANT_INT32, (uint32_t)-5},   {3, HAL_CONSTANT_FLOAT32, 0x3eaaaaab},
        {4, HAL_CONSTANT_UINT32, 0xfffffff0},
    };
    int64_t x[64] = {0};
    float y[64] = {0};
    struct spirv_launch launch = {SPIRV_MODULE(spv_spec_widths),
                                  .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}};
    spirv_launch(&launch);
    for (int i = 0; i < 64; i++) {
        assert_true(x[i] == i + 2 + 3 + 4);
        assert_float_equal(y[i], 0.25F * (float)i, 0);
    }
    launch.constants = constants;
    launch.constant_count = 5;
    spirv_launch(&launch);
    for (int i = 0; i < 64; i++) {
        assert_true(x[i] == (int64_t)-128 * i + 65535 - 5 + INT64_C(0xfffffff0));
        assert_float_equal(y[i], 0x1.554p-2F * (float)i, 0); /* a third in eleven bits */
    }
    static const struct hal_constant exact[] = {
        {0, HAL_CONSTANT_INT8, 0x80},
        {1, HAL_CONSTANT_UINT16, 65535},
        {2, HAL_CONSTANT_INT64, UINT64_C(0x8000000000000005)},
        {3, HAL_CONSTANT_FLOAT16, 0x8001}, /* the least below zero */
        {4, HAL_CONSTANT_UINT64, UINT64_C(0x8000000000000000)},
    };
    launch.constants = exact;
    spirv_launch(&launch);
    for (int i = 0; i < 64; i++) {
        assert_true(x[i] == (int64_t)-128 * i + 65535 + 5);
        assert_float_equal(y[i], -0x1p-24F * (float)i, 0);
    }
}

TEST(constants_size_arrays)
{
    for (uint32_t tiles = 1; tiles <= 7; tiles += 3) {
        const struct hal_constant constant = {5, HAL_CONSTANT_UINT32, tiles};
        uint32_t x[32 * 8], wanted = 0;
        for (uint32_t i = 0; i < 32 * 8; i++)
            x[i] = i * i;
        for (uint32_t i = 0; i < tiles * 32; i++)
            wanted = wanted * 3 + x[i] * (i / 32 + 1);
        spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_spec_array),
                                            .workgroup_size = {32, 1, 1}, .constants = &constant,
                                            .constant_count = 1, .places = {SPIRV_PLACE(0, 0, x)}});
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(x[i], wanted + tiles * 32 + 1);
        assert_int_equal(x[32], 32 * 32);
    }
}

TEST(constants_size_workgroups)
{
    static const struct hal_constant sizes[] = {{20, HAL_CONSTANT_UINT32, 8},
                                                {21, HAL_CONSTANT_UINT32, 4}};
    uint32_t x[16 * 8] = {0};
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_spec_group_size), .workgroup_size = {8, 4, 1}, .groups = {2, 2, 1},
        .constants = sizes, .constant_count = 2, .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < 16 * 8; i++)
        assert_int_equal(x[i], 840 + i / 16 % 4 * 8 + i % 8);
}

static void run_four_sets(bool with_layout)
{
    uint32_t a[64], b[64], c[4][4], d[64] = {0}, e[64];
    const uint32_t push = 5;
    for (uint32_t i = 0; i < 64; i++) {
        a[i] = i % 10;
        b[i] = i / 7;
        c[i / 16][i / 4 % 4] = i;
        e[i] = i * 3;
    }
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_sets), .push = &push, .push_bytes = 4,
                                        .places = {SPIRV_PLACE(0, 7, a), SPIRV_PLACE(1, 0, e),
                                                   SPIRV_PLACE(1, 2, b), SPIRV_PLACE(2, 0, c),
                                                   SPIRV_PLACE(3, 30, d)},
                                        .with_layout = with_layout});
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(d[i], i % 10 + 10 * (i / 7) + 100 * c[i & 3][1] + 1000 * i * 3 + 5);
}

TEST(four_descriptor_sets)
{
    run_four_sets(false);
}

TEST(four_sets_of_a_pipeline_layout)
{
    run_four_sets(true);
}

/* The layout has room for more than the module uses. */
TEST(a_layout_with_unused_bindings)
{
    uint32_t a[64], b[64], c[4][4] = {{0}}, d[64] = {0}, e[64] = {0}, unused[2][4] = {{0}};
    const uint32_t push = 7;
    for (uint32_t i = 0; i < 64; i++) {
        a[i] = 3 * i % 10;
        b[i] = i / 5;
    }
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_sets), .push = &push, .push_bytes = 4,
        .places = {SPIRV_PLACE(0, 2, unused[0]), SPIRV_PLACE(0, 7, a), SPIRV_PLACE(1, 0, e),
                   SPIRV_PLACE(1, 2, b), SPIRV_PLACE(2, 0, c), SPIRV_PLACE(2, 1, unused[1]),
                   SPIRV_PLACE(3, 30, d)},
        .with_layout = true});
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(d[i], 3 * i % 10 + 10 * (i / 5) + 7);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(unused[0][i] | unused[1][i], 0);
}

TEST(uniform_layout)
{
    struct {
        float v[3], w, m[3][4], list[3][4], pair[2], gap[2];
        int32_t numbers[2][4];
    } u = {{1, 2, 3},
           40,
           {{1, 0, 2, 99}, {0, 1, 0, 99}, {4, 0, 1, 99}},
           {{7, 99, 99, 99}, {8, 99, 99, 99}, {9, 99, 99, 99}},
           {10, 11},
           {99, 99},
           {{1, 2, 3, 4}, {5, 6, 7, 8}}};
    float x[64] = {0};
    static const float wanted[6] = {1 * 1 + 4 * 3, 2, 2 * 1 + 3, 49, 11, 7};
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_std140),
                                        .places = {{0, 0, &u, sizeof u}, SPIRV_PLACE(0, 1, x)}});
    for (int i = 0; i < 64; i++)
        assert_float_equal(x[i], wanted[i % 6], 0);
}

TEST(storage_layout)
{
    struct particle {
        float position[3], mass, pair[3][2], turn[2][2];
        uint8_t tag, gap[7];
    } p[64], wanted[64];
    _Static_assert(sizeof(struct particle) == 64, "as std430 wants it");
    memset(p, 0, sizeof p);
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 3; k++)
            p[i].position[k] = (float)(i + k);
        p[i].mass = (float)(i % 5);
        for (int k = 0; k < 6; k++)
            p[i].pair[k / 2][k % 2] = (float)(k - i);
        for (int k = 0; k < 4; k++)
            p[i].turn[k / 2][k % 2] = (float)(k * 2 - 3);
        p[i].tag = (uint8_t)(i * 3);
    }
    memcpy(wanted, p, sizeof p);
    for (int i = 0; i < 64; i++) {
        struct particle *w = &wanted[i];
        w->position[0] += w->mass;
        w->position[1] += w->pair[1][0];
        w->position[2] += w->pair[1][1];
        for (int k = 0; k < 2; k++)
            w->pair[2][k] = w->turn[0][k] * w->pair[0][0] + w->turn[1][k] * w->pair[0][1];
        w->tag = (uint8_t)(w->tag + 200);
    }
    spirv_launch(
        &(struct spirv_launch){SPIRV_MODULE(spv_std430), .places = {SPIRV_PLACE(0, 0, p)}});
    for (int i = 0; i < 64; i++) {
        assert_memory_equal(&p[i], &wanted[i], offsetof(struct particle, tag) + 1);
    }
}

TEST(scalar_layout)
{
    struct one {
        float v[3];
        uint8_t a, gap;
        uint16_t b;
        float w[3];
    } p[64], wanted[64];
    _Static_assert(sizeof(struct one) == 28, "no gaps");
    memset(p, 0, sizeof p);
    for (int i = 0; i < 64; i++) {
        p[i] = (struct one){.v = {(float)i, (float)i + 0.5F, (float)-i}, .a = (uint8_t)(i * 4)};
        wanted[i] = p[i];
        wanted[i].w[0] = 2 * p[i].v[2];
        wanted[i].w[1] = 2 * p[i].v[0];
        wanted[i].w[2] = 2 * p[i].v[1];
        wanted[i].b = (uint16_t)(p[i].a * 257);
    }
    spirv_launch(
        &(struct spirv_launch){SPIRV_MODULE(spv_scalar_layout), .places = {SPIRV_PLACE(0, 0, p)}});
    for (int i = 0; i < 64; i++) {
        assert_memory_equal(p[i].v, wanted[i].v, sizeof p[i].v);
        assert_memory_equal(p[i].w, wanted[i].w, sizeof p[i].w);
        assert_int_equal(p[i].b, wanted[i].b);
        assert_int_equal(p[i].a, wanted[i].a);
    }
}

TEST(matrix_orders)
{
    struct {
        float m[4][4]; /* rows */
        float n[3][4]; /* rows of three */
        float k[4][4]; /* columns of three */
    } matrices;
    float x[64] = {0}, wanted[10] = {0};
    for (int i = 0; i < 16; i++) {
        matrices.m[i / 4][i % 4] = (float)(i * i % 11);
        matrices.k[i / 4][i % 4] = (float)(i * 7 % 13);
        if (i < 12)
            matrices.n[i / 4][i % 4] = (float)(i * 5 % 9);
    }
    for (int row = 0; row < 4; row++)
        for (int i = 0; i < 4; i++)
            wanted[row] += matrices.m[row][i] * (float)(i + 1);
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 3; i++)
            wanted[4 + row] += matrices.n[row][i] * (float)(i + 1);
        for (int i = 0; i < 4; i++)
            wanted[7 + row] += matrices.k[i][row] * (float)(4 - i);
    }
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_row_major),
        .places = {{0, 0, &matrices, sizeof matrices}, SPIRV_PLACE(0, 1, x)}});
    for (int i = 0; i < 10; i++)
        assert_float_equal(x[i], wanted[i], 0);
}

TEST(array_lengths)
{
    for (uint32_t length = 1; length < 40; length += 13) {
        uint32_t a[64] = {0}, b[4 + 80] = {0}, c[64] = {0};
        const uint32_t push = 77;
        spirv_launch(&(struct spirv_launch){
            SPIRV_MODULE(spv_length), .push = &push, .push_bytes = 4,
            .places = {
                {0, 0, a, length * 4}, {0, 1, c, (length + 2) * 4}, {1, 3, b, 16 + length * 8}}});
        const uint32_t wanted[4] = {length, length, length + 2, 77};
        assert_memory_equal(b, wanted, sizeof wanted);
    }
}

TEST(one_buffer_as_two_types)
{
    float x[64], wanted[64];
    for (int i = 0; i < 64; i++) {
        x[i] = (float)i + 0.25F;
        wanted[i] = -2.0F * x[i];
    }
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_alias), .places = {SPIRV_PLACE(0, 0, x)}});
    assert_memory_equal(x, wanted, sizeof x);
}

TEST(shared_memory)
{
    uint32_t x[N], before[N];
    spirv_fill_random(x, N);
    memcpy(before, x, sizeof x);
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_shared), FOUR_GROUPS,
                                        .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t *group = before + i / 64 * 64;
        assert_int_equal(x[i], group[63 - i % 64] + group[(i + 1) % 64]);
    }
}

TEST(reduction)
{
    uint32_t x[N], y[4] = {0};
    spirv_fill_random(x, N);
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_reduce), FOUR_GROUPS,
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < 64; i++)
            sum += x[group * 64 + i];
        assert_int_equal(y[group], sum);
    }
}

TEST(tiled_matrix_product)
{
    enum { SIDE = 48 };
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    const uint32_t side = SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)(i % 17) - 8;
        b[i] = (float)(i % 23) - 11;
    }
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_tiled), .workgroup_size = {16, 16, 1}, .groups = {3, 3, 1}, .push = &side,
        .push_bytes = 4,
        .places = {SPIRV_PLACE(0, 0, a), SPIRV_PLACE(0, 1, b), SPIRV_PLACE(0, 2, c)}});
    for (int i = 0; i < SIDE * SIDE; i++) {
        float sum = 0; /* small integers: exact in any order */
        for (int k = 0; k < SIDE; k++)
            sum += a[i / SIDE * SIDE + k] * b[k * SIDE + i % SIDE];
        assert_float_equal(c[i], sum, 0);
    }
}

TEST(shared_atomics)
{
    uint32_t x[N], h[16] = {0}, wanted[16] = {0};
    spirv_fill_random(x, N);
    for (uint32_t i = 0; i < N; i++)
        wanted[x[i] & 15]++;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_shared_atomics), FOUR_GROUPS,
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, h)}});
    assert_memory_equal(h, wanted, sizeof h);
}

TEST(atomics)
{
    uint32_t u[8] = {0, 1000, 0, UINT32_MAX, 0, 0, 5, 200}, seen[N] = {0};
    int32_t n[4] = {100, -1000, 0, 1};
    uint32_t all_xor = 0;
    for (uint32_t i = 0; i < N; i++)
        all_xor ^= i;
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_atomics), FOUR_GROUPS,
        .places = {SPIRV_PLACE(0, 0, u), SPIRV_PLACE(0, 1, n), SPIRV_PLACE(0, 2, seen)}});
    const uint32_t wanted[8] = {N, 5, N + 4, 0, UINT32_MAX, all_xor, 77, 1200};
    const int32_t wanted_n[4] = {3 - (N - 1), N - 1 - 300, -(N * (N - 1) / 2), 1};
    assert_memory_equal(u, wanted, sizeof u);
    assert_memory_equal(n, wanted_n, sizeof n);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(seen[i], 1);
}

TEST(positions)
{
    enum { X = 4 * 2, Y = 3 * 3, Z = 2 * 2 };
    static uint32_t x[X * Y * Z][4];
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_positions), .workgroup_size = {4, 3, 2},
                                        .groups = {2, 3, 2}, .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < X * Y * Z; i++) {
        const uint32_t gx = i % X, gy = i / X % Y, gz = i / X / Y;
        assert_int_equal(x[i][0], gx / 4 + 10 * (gy / 3) + 100 * (gz / 2));
        assert_int_equal(x[i][1], gx % 4 + 10 * (gy % 3) + 100 * (gz % 2));
        assert_int_equal(x[i][2], gx % 4 + 4 * (gy % 3) + 12 * (gz % 2));
        assert_int_equal(x[i][3], 2 + 30 + 200);
    }
}

TEST(memory_barriers)
{
    uint32_t x[N], before[N];
    spirv_fill_random(x, N);
    memcpy(before, x, sizeof x);
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_coherent), FOUR_GROUPS,
                                        .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(x[i], before[i] + before[i / 64 * 64]);
}

/* ---- Several entry points ------------------------------------------------------------------- */

static void run_two(const void *words, size_t bytes)
{
    static const struct hal_constant constants[] = {{11, HAL_CONSTANT_UINT32, 3},
                                                    {12, HAL_CONSTANT_UINT32, 4}};
    static const struct hal_entry_point entries[] = {{"kernel", {4, 1, 1}, 8, 0},
                                                     {"add numbers!", {8, 1, 1}, 0, 0},
                                                     {"kernel", {4, 1, 1}, 4, 0}};
    const struct hal_executable_desc desc = {.label = "two.spv",
                                             .format = HAL_FORMAT_SPIRV,
                                             .data = words,
                                             .bytes = bytes,
                                             .entry_points = entries,
                                             .entry_point_count = 3,
                                             .constants = constants,
                                             .constant_count = 2};
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_executable *executable;
    uint32_t x[8], push = 100;
    assert_ok(hal_executable_create(device, &desc, &executable));
    struct hal_buffer *buffer = fixture_buffer(device, NULL, sizeof x);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    struct hal_binding bindings[5] = {{0}};
    bindings[4] = (struct hal_binding){buffer, 0, HAL_WHOLE_BUFFER};
    for (uint32_t i = 0; i < 8; i++)
        x[i] = i;
    assert_ok(hal_buffer_write(buffer, 0, x, sizeof x));
    assert_ok(hal_command_push_descriptor_set(commands, 1, bindings, 5));
    assert_ok(hal_command_push_constants(commands, 0, &push, sizeof push));
    const uint32_t order[] = {1, 0, 2};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(hal_command_dispatch(commands, executable, order[i], (uint32_t[3]){1, 1, 1}));
        assert_ok(hal_command_barrier(commands, NULL));
    }
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffer, 0, x, sizeof x));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(x[i], i < 4 ? ((i + 3) * 6 + 100) * 6 + 100 : i + 3);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    hal_device_release(device);
}

TEST(two_entry_points)
{
    run_two(two_entries, sizeof two_entries);
}

TEST(other_byte_order_and_alignment)
{
    static unsigned char swapped[sizeof two_entries + 1];
    const unsigned char *const bytes = (const unsigned char *)two_entries;
    for (size_t i = 0; i < sizeof two_entries; i++)
        swapped[1 + i] = bytes[i / 4 * 4 + 3 - i % 4];
    run_two(swapped + 1, sizeof two_entries);
}

#define NAMELESS .words = (const void *)nameless, .bytes = sizeof nameless

/* Nobody can ask for it; the one beside it works, and is told of. */
TEST(an_entry_point_without_a_name)
{
    uint32_t x[N];
    for (uint32_t i = 0; i < N; i++)
        x[i] = i;
    spirv_launch(&(struct spirv_launch){NAMELESS, FOUR_GROUPS, .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(x[i], i + 1);
    assert_fails(spirv_status(&(struct spirv_launch){NAMELESS, .entry = ""}), HAL_INVALID,
                 "entry point 0 has no name");
    assert_fails(spirv_status(&(struct spirv_launch){NAMELESS, .entry = "first"}), HAL_INVALID,
                 "2 compute entry points: '', 'main'");
}

TEST_SUITE_FIXTURE(spirv_set_up, spirv_tear_down);
