/* SPDX-License-Identifier: Apache-2.0 */
/* What SPIR-V kernels compute, against plain C, exact but where it says otherwise. The kernels:
 * spirv/values.comp. */
#include "tests/unit/spirv/spirv_fixture.h"
#include "tests/unit/spirv/values.comp.h"

#include <math.h>

enum { N = 64 };

TEST(int8)
{
    int8_t x[N], y[N] = {0};
    int32_t z[N] = {0};
    for (int i = 0; i < N; i++)
        x[i] = (int8_t)(i * 4 - 128);
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_int8),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        assert_int_equal(y[i], (int8_t)(x[i] * 3 + 100));
        assert_int_equal(z[i], x[i] < 0 ? -((1 - x[i]) / 2) : x[i] / 2);
    }
}

TEST(uint8)
{
    uint8_t x[N][4], before[N][4];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            before[i][k] = x[i][k] = (uint8_t)(i * 37 + k * 91);
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_uint8), .places = {SPIRV_PLACE(0, 0, x)}});
    for (int i = 0; i < N; i++) {
        const uint8_t *v = before[i];
        assert_int_equal(x[i][0], v[3] ^ 0x0f);
        for (int k = 0; k < 3; k++)
            assert_int_equal(x[i][1 + k], (uint8_t)(v[k] + v[k + 1]) ^ 0x0f);
    }
}

TEST(int16)
{
    int16_t x[N], x_before[N];
    uint16_t y[N], y_before[N];
    for (int i = 0; i < N; i++) {
        x_before[i] = x[i] = (int16_t)(i * 1021 - 32768);
        y_before[i] = y[i] = (uint16_t)(i * 1031);
    }
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_int16),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        assert_int_equal(x[i], (int16_t)(uint32_t)(x_before[i] * x_before[i] - 1));
        assert_int_equal(y[i], (uint16_t)(y_before[i] << 3 | y_before[i] >> 13));
    }
}

TEST(half_storage)
{
    uint16_t x[N], z[N][2] = {{0}};
    float y[N] = {0};
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)(0x3000 + i * 97);
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_half_storage),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        const float wanted = spirv_from_half(x[i]) * 3.0F, fraction = 1.0F / (1.0F + (float)i);
        assert_float_equal(y[i], wanted, 0);
        assert_float_equal(spirv_from_half(z[i][0]), wanted, fabsf(wanted) * 0x1p-11F);
        assert_float_equal(spirv_from_half(z[i][1]), fraction, fraction * 0x1p-11F);
    }
}

TEST(half)
{
    uint16_t x[N], y[N], z[N] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = (uint16_t)((i & 1 ? 0x8000 : 0) + 0x3c00 + i * 61);
        y[i] = (uint16_t)(0x3800 + i * 53);
    }
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_half),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        /* Each operation rounds to 11 bits. */
        const float a = spirv_from_half(x[i]), b = spirv_from_half(y[i]);
        const float wanted = fmaxf(a * b + b, -a);
        assert_float_equal(spirv_from_half(z[i]), wanted,
                           (fabsf(a * b) + fabsf(wanted)) * 0x1p-11F);
    }
}

TEST(int64)
{
    int64_t x[N], x_before[N];
    uint64_t y[N], y_before[N];
    for (int i = 0; i < N; i++) {
        x_before[i] = x[i] = (int64_t)((uint64_t)(i - 32) * UINT64_C(0x123456789ab));
        y_before[i] = y[i] = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i + 1);
    }
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_int64),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        const int64_t a = x_before[i];
        const uint64_t b = y_before[i];
        const int64_t shifted = (a - (a & 127)) / 128;
        const uint64_t product = (uint64_t)a * 1000003; /* wraps, as the shader's does */
        assert_true((uint64_t)x[i] == product + (uint64_t)shifted - (uint64_t)(a / 37));
        assert_true(y[i] == ((b << 5) ^ (b >> 40) ^ (b % 1000000007) ^ (uint64_t)i));
    }
}

TEST(integers)
{
    int32_t x[N], y[N], z[N][4] = {{0}};
    uint32_t w[N][4] = {{0}};
    for (int i = 0; i < N; i++) {
        x[i] = (int32_t)spirv_random() / 3;
        y[i] = (i % 9 - 4 ? i % 9 - 4 : 7) * (i + 1);
    }
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_integers),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y),
                                                   SPIRV_PLACE(0, 2, z), SPIRV_PLACE(0, 3, w)}});
    for (int i = 0; i < N; i++) {
        const uint32_t a = (uint32_t)x[i], b = (uint32_t)y[i];
        assert_int_equal(z[i][0], x[i] / y[i]);
        assert_int_equal(z[i][1], (int32_t)(a * b));
        assert_int_equal(z[i][2], (int32_t)(a - b));
        assert_int_equal(z[i][3], abs(x[i]) + (y[i] > 0) - (y[i] < 0));
        assert_int_equal(w[i][0], a / b);
        assert_int_equal(w[i][1], a % b);
        assert_int_equal(w[i][2], a >> (b & 31));
        const int64_t floored = (int64_t)floor(ldexp((double)x[i], -(int)(b & 31)));
        assert_int_equal(w[i][3], (uint32_t)floored);
    }
}

static uint32_t field_mask(int bits)
{
    return (uint32_t)((UINT64_C(1) << bits) - 1);
}

TEST(bits)
{
    uint32_t x[N], y[N][4] = {{0}};
    int32_t z[N][4] = {{0}};
    spirv_fill_random(x, N);
    x[0] = 0;
    x[1] = UINT32_MAX;
    x[2] = 1;
    x[3] = 0x80000000;
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_bits),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        const int offset = i % 20, width = i % 12;
        const uint32_t mask = field_mask(width), field = x[i] >> offset & mask;
        uint32_t reversed = 0, count = 0, lowest = UINT32_MAX, highest = UINT32_MAX;
        uint32_t highest_signed = UINT32_MAX;
        for (uint32_t k = 0; k < 32; k++) {
            const uint32_t bit = x[i] >> k & 1;
            reversed |= bit << (31 - k);
            count += bit;
            if (bit && lowest == UINT32_MAX)
                lowest = k;
            if (bit)
                highest = k;
            if (bit != x[i] >> 31)
                highest_signed = k;
        }
        assert_int_equal(y[i][0], field);
        assert_int_equal(y[i][1], (x[i] & ~(mask << offset)) | (~x[i] & mask) << offset);
        assert_int_equal(y[i][2], reversed);
        assert_int_equal(y[i][3], count);
        const bool negative = width && field >> (width - 1);
        assert_int_equal(z[i][0], (int32_t)(negative ? field | ~mask : field));
        assert_int_equal(z[i][1], (int32_t)lowest);
        assert_int_equal(z[i][2], (int32_t)highest);
        assert_int_equal(z[i][3], (int32_t)highest_signed);
    }
}

TEST(carries)
{
    uint32_t x[N], y[N], z[N][8] = {{0}};
    spirv_fill_random(x, N);
    spirv_fill_random(y, N);
    x[0] = y[0] = UINT32_MAX;
    x[1] = y[1] = 0;
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_carries),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        const uint64_t sum = (uint64_t)x[i] + y[i], product = (uint64_t)x[i] * y[i];
        const uint64_t other = (uint64_t)((int64_t)(int32_t)x[i] * (int32_t)y[i]);
        const uint32_t wanted[8] = {(uint32_t)sum,
                                    (uint32_t)(sum >> 32),
                                    x[i] - y[i],
                                    x[i] < y[i],
                                    (uint32_t)(product >> 32),
                                    (uint32_t)product,
                                    (uint32_t)(other >> 32),
                                    (uint32_t)other};
        assert_memory_equal(z[i], wanted, sizeof wanted);
    }
}

TEST(packing)
{
    /* Multiples that every format holds exactly, or whose neighbours are far. */
    static const float values[4][4] = {
        {0, 1, -1, 0.5F}, {1.5F, -0.25F, 2, 1}, {0.2F, 0.4F, 0.6F, 0.8F}, {-2, 100, 0, 0.1F}};
    static const uint32_t halves[4] = {0x3c000000, 0xb4003e00, 0x36663266, 0x5640c000};
    static const uint32_t unorms[4] = {0x8000ff00, 0xffff00ff, 0xcc996633, 0x1a00ff00};
    static const uint32_t snorms[4] = {0x40817f00, 0x7f7fe07f, 0x664c3319, 0x0d007f81};
    static const uint32_t words[4] = {0x80000000, 0xffffffff, 0xcccc9999, 0x199a0000};
    float x[N][4], z[N][4] = {{0}};
    uint32_t y[N][4] = {{0}};
    for (int i = 0; i < N; i++)
        memcpy(x[i], values[i % 4], sizeof x[i]);
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_packing),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        assert_int_equal(y[i][0], halves[i % 4]);
        assert_int_equal(y[i][1], unorms[i % 4]);
        assert_int_equal(y[i][2], snorms[i % 4]);
        assert_int_equal(y[i][3], words[i % 4]);
        for (int k = 0; k < 4; k++) {
            const float byte = (float)(y[i][1] >> 8 * k & 255) / 255.0F;
            const float other = k < 2    ? spirv_from_half((uint16_t)(y[i][0] >> 16 * k))
                                : k == 2 ? -1.0F
                                         : 1.0F;
            assert_float_equal(z[i][k], byte + other, 1e-6F);
        }
    }
}

TEST(exact_floats)
{
    float x[N], y[N][16] = {{0}};
    for (int i = 0; i < N; i++)
        x[i] = ((float)i - 30.0F) * 0.375F;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_float_exact),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        const float v = x[i];
        int exponent;
        const float fraction = frexpf(v, &exponent);
        const float wanted[16] = {floorf(v),
                                  ceilf(v),
                                  truncf(v),
                                  rintf(v),
                                  fabsf(v),
                                  v > 0   ? 1.0F
                                  : v < 0 ? -1.0F
                                          : 0.0F,
                                  v < -1  ? -1.0F
                                  : v > 2 ? 2.0F
                                          : v,
                                  v < 0.5F ? 0.0F : 1.0F,
                                  v - truncf(v),
                                  truncf(v),
                                  fraction,
                                  (float)exponent,
                                  v * 8,
                                  v < 0.25F ? v : 0.25F,
                                  sqrtf(fabsf(v)),
                                  fmaf(v, v, 1)};
        for (int k = 0; k < 16; k++)
            if (y[i][k] != wanted[k])
                fail_msg("%g, function %d: %g, not %g", (double)v, k, (double)y[i][k],
                         (double)wanted[k]);
    }
}

TEST(near_floats)
{
    float x[N], y[N][16] = {{0}};
    for (int i = 0; i < N; i++)
        x[i] = ((float)i - 30.0F) * 0.21F;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_float_near),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        const double v = (double)x[i], up = fabs(v) + 0.5, t = fmin(fmax((v + 1) / 2, 0), 1);
        const double wanted[16] = {sin(v),
                                   cos(v),
                                   tan(v / 4),
                                   exp(v),
                                   log(up),
                                   exp2(v),
                                   log2(up),
                                   pow(up, 1.5),
                                   1 / sqrt(up),
                                   atan2(v, 2),
                                   asin(v * 0.1),
                                   sinh(v / 2),
                                   tanh(v),
                                   v + (3 - v) / 4,
                                   t * t * (3 - 2 * t),
                                   v - 0.75 * floor(v / 0.75)};
        for (int k = 0; k < 16; k++)
            if (!(fabs((double)y[i][k] - wanted[k]) <= 2e-6 * (1 + fabs(wanted[k]))))
                fail_msg("%g, function %d: %g, not %g", v, k, (double)y[i][k], wanted[k]);
    }
}

static double dot3(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

TEST(geometry)
{
    float x[N][4], y[N][16] = {{0}};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            x[i][k] = (float)((i * 5 + k * 3) % 17) * 0.25F - 2;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_geometry),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        const double a[3] = {(double)x[i][0], (double)x[i][1], (double)x[i][2]};
        const double b[3] = {(double)x[i][3], (double)x[i][2], (double)x[i][1]};
        double away[3], c[3], n[3], wanted[16];
        for (int k = 0; k < 3; k++) {
            away[k] = a[k] - b[k];
            c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
            n[k] = a[k] + 3;
        }
        const double length = sqrt(dot3(n, n));
        for (int k = 0; k < 3; k++)
            n[k] /= length;
        const double row[3] = {1, 2, 3};
        wanted[0] = dot3(a, b);
        wanted[1] = sqrt(dot3(a, a));
        wanted[2] = sqrt(dot3(away, away));
        wanted[15] = dot3(c, row);
        for (int k = 0; k < 3; k++) {
            wanted[3 + k] = c[k];
            wanted[6 + k] = n[k];
            wanted[9 + k] = a[k] - 2 * dot3(n, a) * n[k];
            wanted[12 + k] = dot3(n, b) < 0 ? a[k] : -a[k];
        }
        for (int k = 0; k < 16; k++)
            if (!(fabs((double)y[i][k] - wanted[k]) <= 4e-6 * (1 + fabs(wanted[k]))))
                fail_msg("thread %d, function %d: %g, not %g", i, k, (double)y[i][k], wanted[k]);
    }
}

TEST(matrices)
{
    static float x[N][4][4], y[N][4][4], z[N][4][4];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 16; k++)
            x[i][k / 4][k % 4] = (float)((i * 7 + k * k) % 9 - 4) + (k % 5 ? 0 : 11.0F);
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_matrices),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 4; r++) {
                double sum = 0, unit = 0;
                for (int k = 0; k < 4; k++) {
                    sum += (double)x[i][k][r] * (double)x[i][k][c];
                    unit += (double)x[i][k][r] * (double)z[i][c][k];
                }
                sum += (double)(x[i][0][r] * x[i][1][c]);
                sum -= 2 * (double)(x[i][c][r] * x[i][c][r]);
                assert_float_equal(y[i][c][r], (float)sum, 0);
                assert_true(fabs(unit - (r == c)) < 1e-4);
            }
}

TEST(vectors)
{
    int32_t x[N][4], before[N][4];
    uint32_t y[N] = {0};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++)
            before[i][k] = x[i][k] = (i * 13 + k * 7) % 11 - (i % 3 ? 5 : 0);
    for (int k = 0; k < 4; k++)
        before[5][k] = x[5][k] = 2 * k;
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_vectors),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++) {
        const int32_t *v = before[i];
        int32_t changed[4] = {v[3] + 1, v[1] < 0 ? 9 : v[1], v[2], v[0] + 1};
        uint32_t any = 0, odd = 0;
        for (int k = 0; k < 4; k++) {
            any |= v[k] < 0;
            odd |= (uint32_t)v[k] & 1;
        }
        assert_int_equal(y[i], any | (1 - odd) << 1 | (uint32_t)(v[2] < 0) << 2 | odd << 3);
        changed[i & 3] *= 5;
        const int32_t wanted[4] = {changed[2], changed[1], changed[0], changed[3]};
        assert_memory_equal(x[i], wanted, sizeof wanted);
    }
}

TEST(special_floats)
{
    static const uint32_t bits_of[8] = {0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000,
                                        0,          0x80000000, 0x3f800000, 1};
    static const uint32_t wanted[8] = {0x31, 0x31, 0x26, 0x3e, 0x1c, 0x1c, 0x24, 0x3c};
    uint32_t x[N], y[N] = {0};
    for (int i = 0; i < N; i++)
        x[i] = bits_of[i % 8];
    spirv_launch(&(struct spirv_launch){SPIRV_MODULE(spv_special_floats),
                                        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y)}});
    for (int i = 0; i < N; i++)
        assert_int_equal(y[i], wanted[i % 8]);
}

TEST(conversions)
{
    float x[N], z[N][4] = {{0}};
    int32_t y[N][4] = {{0}};
    for (int i = 0; i < N; i++)
        x[i] = ((float)i - 31.5F) * 900.7F;
    x[7] = 0.5F;
    spirv_launch(&(struct spirv_launch){
        SPIRV_MODULE(spv_conversions),
        .places = {SPIRV_PLACE(0, 0, x), SPIRV_PLACE(0, 1, y), SPIRV_PLACE(0, 2, z)}});
    for (int i = 0; i < N; i++) {
        int32_t as_int;
        memcpy(&as_int, &x[i], 4);
        assert_int_equal(y[i][0], (int32_t)x[i]);
        assert_int_equal(y[i][1], (int32_t)(uint32_t)fabsf(x[i]));
        assert_int_equal(y[i][2], as_int);
        assert_int_equal(y[i][3], (int16_t)(int32_t)x[i]);
        assert_float_equal(z[i][0], (float)((uint32_t)i * 16777259U), 0);
        assert_float_equal(z[i][1], (float)(i - 1000), 0);
        assert_float_equal(z[i][2], x[i], 0);
        assert_float_equal(z[i][3], x[i] > 0.5F ? 1.0F : 0.0F, 0);
    }
}

static uint32_t controlled(uint32_t id, uint32_t v)
{
    uint32_t steps = 0;
    if (id % 7 == 3)
        return v;
    while (v != 1 && steps < 200) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        steps++;
        if (v > 100000)
            break;
    }
    steps += 45 - v % 10;
    if (id % 5 == 0)
        return steps + 3000;
    if (id % 5 == 1)
        return steps + 2000;
    if (id % 5 == 2)
        return (steps * 2) ^ 5;
    if (id % 5 == 3)
        return steps ^ 5;
    steps -= 3;
    while (steps > 20)
        steps -= 3;
    return steps;
}

TEST(control_flow)
{
    uint32_t x[N], before[N];
    for (uint32_t i = 0; i < N; i++)
        before[i] = x[i] = 1 + spirv_random() % 5000;
    spirv_launch(
        &(struct spirv_launch){SPIRV_MODULE(spv_control), .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(x[i], controlled(i, before[i]));
}

struct pair {
    uint32_t first, list[3];
};

static uint32_t sum(const struct pair *p)
{
    return p->first + p->list[0] * 3 + p->list[1] * 5 + p->list[2] * 7;
}

TEST(functions)
{
    uint32_t x[N], before[N];
    spirv_fill_random(x, N);
    memcpy(before, x, sizeof x);
    spirv_launch(
        &(struct spirv_launch){SPIRV_MODULE(spv_functions), .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++) {
        struct pair p = {before[i], {0, 0, 0}};
        uint32_t private_state = 7;
        for (uint32_t k = 0; k < 3; k++) {
            p.first++;
            private_state = private_state * 5 + p.first;
            p.list[(k + 1) % 3] = private_state * 2;
            p.list[k] = private_state ^ 3;
        }
        struct pair q = p;
        q.list[i % 3] = 1;
        assert_int_equal(x[i], sum(&p) ^ sum(&q));
    }
}

TEST(arrays)
{
    static const uint32_t table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    uint32_t x[N] = {0};
    spirv_launch(
        &(struct spirv_launch){SPIRV_MODULE(spv_arrays), .places = {SPIRV_PLACE(0, 0, x)}});
    for (uint32_t i = 0; i < N; i++) {
        uint32_t scratch[16], copy[16], wanted = 0;
        for (uint32_t k = 0; k < 16; k++)
            copy[k] = scratch[k] = table[(k + i) % 8] * (k + 1);
        for (uint32_t k = 0; k < 8; k++)
            scratch[8 + k] = copy[k];
        scratch[i % 8] = 0;
        for (uint32_t k = 0; k < 16; k++)
            wanted = wanted * 31 + scratch[k] + copy[k % 2 * 8 + k / 2];
        assert_int_equal(x[i], wanted);
    }
}

TEST_SUITE_FIXTURE(spirv_set_up, spirv_tear_down);
