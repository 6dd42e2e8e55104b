// SPDX-License-Identifier: Apache-2.0
// A small inference engine's kernels, as such engines write them: one source of several files.
// This one: arguments, block formats of quantised numbers, and how they are read and written.
#include <metal_stdlib>

using namespace metal;

#define UNROLLED _Pragma("clang loop unroll(full)")
#define SIMD_LANES 32
#define SQUARE(x) ((x) * (x))

typedef matrix<bfloat, 4, 4> bfloat4x4;

// Function constants: which variant of a kernel a pipeline is made for.
constant bool edge_rows [[function_constant(0)]];
constant int operation_given [[function_constant(1)]];
constant float slope_given [[function_constant(2)]];
constant bool rope_neox_given [[function_constant(3)]];
constant uint pool_kind [[function_constant(4)]];

constant int operation = is_function_constant_defined(operation_given) ? operation_given : 0;
constant float slope = is_function_constant_defined(slope_given) ? slope_given : 0.25f;
constant bool rope_neox = is_function_constant_defined(rope_neox_given) && rope_neox_given;

// ---- Arguments ----------------------------------------------------------------------------------

struct args_matrix {
    int inner;      // numbers per row of the weights
    int rows;       // of the weights
    int columns;    // vectors that are multiplied
    int batch_rows; // rows of the weights per expert
    ulong row_bytes;
};

struct args_rows {
    int count; // numbers in a row
    int rows;
    float eps;
    float scale;
    int groups;
    int extra;
};

struct args_attention {
    int queries;
    int keys;
    int heads;
    int key_heads;
    float scale;
    float cap;
    float slope_base;
    int has_mask;
};

struct args_rope {
    int count;
    int rotated;
    int heads;
    int tokens;
    float base;
    float freq_scale;
    float ext_factor;
    float attn_factor;
    float corr_low;
    float corr_high;
};

struct args_image {
    int width, height, channels;
    int out_width, out_height;
    int kernel_width, kernel_height;
    int stride, padding, dilation;
};

struct args_sort {
    int count;
    int rows;
    int top;
    int padded;
};

struct args_copy {
    int ne[4];
    ulong from[4];
    ulong to[4];
};

// ---- Block formats ------------------------------------------------------------------------------

#define SMALL 32
#define LARGE 256

// Four bits around 8.
struct block_n4 {
    half d;
    uchar q[SMALL / 2];
};
static_assert(sizeof(block_n4) == 18, "no padding");

// Four bits above a minimum.
struct block_n4m {
    half d;
    half m;
    uchar q[SMALL / 2];
};
static_assert(sizeof(block_n4m) == 20, "no padding");

// Five bits around 16, the fifth ones together.
struct block_n5 {
    half d;
    uchar high[4];
    uchar q[SMALL / 2];
};
static_assert(sizeof(block_n5) == 22, "no padding");

// Five bits above a minimum.
struct block_n5m {
    half d;
    half m;
    uchar high[4];
    uchar q[SMALL / 2];
};
static_assert(sizeof(block_n5m) == 24, "no padding");

struct block_b8 {
    half d;
    int8_t q[SMALL];
};
static_assert(sizeof(block_b8) == 34, "no padding");

// Four bits as places in a table, a power of two as scale.
struct block_f4 {
    uchar exponent;
    uchar q[SMALL / 2];
};
static_assert(sizeof(block_f4) == 17, "no padding");

// 256 numbers: eight groups with four bits of scale and four of minimum each.
struct block_k4 {
    half d;
    half m;
    uchar scales[8];
    uchar q[LARGE / 2];
};
static_assert(sizeof(block_k4) == 140, "no padding");

// 256 numbers of six bits: sixteen groups with a byte of scale each.
struct block_k6 {
    uchar low[LARGE / 2];
    uchar high[LARGE / 4];
    int8_t scales[LARGE / 16];
    half d;
};
static_assert(sizeof(block_k6) == 210, "no padding");

// 256 numbers of two bits: sixteen groups with four bits of scale and four of minimum.
struct block_k2 {
    uchar scales[LARGE / 16];
    uchar q[LARGE / 4];
    half2 dm;
};
static_assert(sizeof(block_k2) == 84, "no padding");

// Three values, five to a byte.
struct block_t3 {
    uchar q[52];
    half d;
};
static_assert(sizeof(block_t3) == 54, "no padding");

constant float table_f4[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                               -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

// ---- Sixteen numbers of a block at a time -------------------------------------------------------

template <typename M> void read_f32(device const float4x4 *from, short part, thread M &reg)
{
    reg = M(*from);
}

template <typename M> void read_f16(device const half4x4 *from, short part, thread M &reg)
{
    reg = M(*from);
}

template <typename M> void read_bf16(device const bfloat4x4 *from, short part, thread M &reg)
{
    reg = M(*from);
}

template <typename M> void read_n4(device const block_n4 *from, short part, thread M &reg)
{
    device const ushort *pairs = ((device const ushort *)from + 1);
    const float d1 = part ? (from->d / 16.h) : from->d;
    const float d2 = d1 / 256.f;
    const float md = -8.h * from->d;
    const ushort mask0 = part ? 0x00F0 : 0x000F;
    const ushort mask1 = mask0 << 8;
    float4x4 all;
    for (int i = 0; i < 8; i++) {
        all[i / 2][2 * (i % 2) + 0] = d1 * (pairs[i] & mask0) + md;
        all[i / 2][2 * (i % 2) + 1] = d2 * (pairs[i] & mask1) + md;
    }
    reg = (M)all;
}

template <typename M> void read_n4m(device const block_n4m *from, short part, thread M &reg)
{
    const float d = from->d;
    const float m = from->m;
    UNROLLED for (short i = 0; i < 16; ++i)
    {
        const uchar two = from->q[i];
        reg[i / 4][i % 4] = d * (part ? two >> 4 : two & 0xF) + m;
    }
}

template <typename B> static inline int fifth_bit(device const B *from, short i)
{
    return ((from->high[i / 8] >> (i % 8)) & 1) << 4;
}

template <typename M> void read_n5(device const block_n5 *from, short part, thread M &reg)
{
    const float d = from->d;
    for (short i = 0; i < 16; ++i) {
        const int four = part ? from->q[i] >> 4 : from->q[i] & 15;
        reg[i / 4][i % 4] = d * ((four | fifth_bit(from, i + 16 * part)) - 16);
    }
}

template <typename M> void read_n5m(device const block_n5m *from, short part, thread M &reg)
{
    const float2 dm = float2(from->d, from->m);
    for (short i = 0; i < 16; ++i) {
        const int four = part ? from->q[i] >> 4 : from->q[i] & 15;
        reg[i / 4][i % 4] = dm.x * (four | fifth_bit(from, i + 16 * part)) + dm.y;
    }
}

template <typename M> void read_b8(device const block_b8 *from, short part, thread M &reg)
{
    device const int8_t *q = from->q + 16 * part;
    const float d = from->d;
    for (short i = 0; i < 16; ++i)
        reg[i / 4][i % 4] = q[i] * d;
}

static inline float power_of_two(uchar exponent)
{
    return as_type<float>(exponent ? uint(exponent) << 23 : 0x00400000u);
}

template <typename M> void read_f4(device const block_f4 *from, short part, thread M &reg)
{
    const float d = power_of_two(from->exponent);
    const uchar shift = part ? 4 : 0;
    float4x4 all;
    for (short i = 0; i < 4; ++i)
        all[i] = d * float4(table_f4[(from->q[4 * i + 0] >> shift) & 15],
                            table_f4[(from->q[4 * i + 1] >> shift) & 15],
                            table_f4[(from->q[4 * i + 2] >> shift) & 15],
                            table_f4[(from->q[4 * i + 3] >> shift) & 15]);
    reg = M(all);
}

template <typename M> void read_k4(device const block_k4 *from, short part, thread M &reg)
{
    const short group = part / 2;
    const uchar both = from->scales[group];
    const float scale = float(from->d) * (both & 15);
    const float low = float(from->m) * (both >> 4);
    device const uchar *q = from->q + 32 * (group / 2) + 16 * (part & 1);
    const ushort mask = group & 1 ? 0xF0 : 0x0F;
    const float dl = group & 1 ? scale / 16.f : scale;
    for (short i = 0; i < 16; ++i)
        reg[i / 4][i % 4] = dl * (q[i] & mask) - low;
}

template <typename M> void read_k6(device const block_k6 *from, short part, thread M &reg)
{
    device const uchar *low = from->low + 16 * (part % 8);
    device const uchar *high = from->high + 16 * (part % 4);
    const float scale = float(from->d) * from->scales[part];
    const short nibble = part < 8 ? 0 : 4, pair = 2 * (part / 4);
    for (short i = 0; i < 16; ++i) {
        const int six = ((low[i] >> nibble) & 15) | (((high[i] >> pair) & 3) << 4);
        reg[i / 4][i % 4] = scale * (six - 32);
    }
}

template <typename M> void read_k2(device const block_k2 *from, short part, thread M &reg)
{
    const uchar both = from->scales[part];
    const float dl = float(from->dm.x) * (both & 15), ml = float(from->dm.y) * (both >> 4);
    device const uchar *q = from->q + 16 * (part % 4);
    for (short i = 0; i < 16; ++i)
        reg[i / 4][i % 4] = dl * ((q[i] >> (2 * (part / 4))) & 3) - ml;
}

// The digits of a number to the base of three, the highest first.
constant uchar powers_of_three[5] = {81, 27, 9, 3, 1};

template <typename M> void read_t3(device const block_t3 *from, short part, thread M &reg)
{
    const float d = from->d;
    for (short i = 0; i < 16; ++i) {
        const short at = 16 * part + i;
        const int digit = from->q[at / 5] / powers_of_three[at % 5] % 3;
        reg[i / 4][i % 4] = d * (digit - 1);
    }
}

// ---- Numbers to blocks --------------------------------------------------------------------------

static inline int nearest(float x)
{
    return int(rint(x));
}

// The value with the largest magnitude, with its sign.
static inline float farthest(device const float *from, short count)
{
    float best = 0.0f;
    for (short i = 0; i < count; ++i)
        best = fabs(from[i]) > fabs(best) ? from[i] : best;
    return best;
}

static inline float2 bounds_of(device const float *from, short count)
{
    float2 both = float2(FLT_MAX, -FLT_MAX);
    for (short i = 0; i < count; ++i) {
        both.x = min(both.x, from[i]);
        both.y = max(both.y, from[i]);
    }
    return both;
}

void write_n4(device const float *from, device block_n4 &to)
{
    const float d = farthest(from, SMALL) / -8;
    const float id = d ? 1.0f / d : 0.0f;
    to.d = d;
    for (short i = 0; i < 16; ++i) {
        const uchar a = uchar(min(15, int(from[i] * id + 8.5f)));
        const uchar b = uchar(min(15, int(from[i + 16] * id + 8.5f)));
        to.q[i] = a | (b << 4);
    }
}

void write_n4m(device const float *from, device block_n4m &to)
{
    const float2 both = bounds_of(from, SMALL);
    const float d = (both.y - both.x) / 15;
    const float id = d ? 1.0f / d : 0.0f;
    to.d = d;
    to.m = both.x;
    for (short i = 0; i < 16; ++i) {
        const uchar a = uchar(min(15, int((from[i] - both.x) * id + 0.5f)));
        const uchar b = uchar(min(15, int((from[i + 16] - both.x) * id + 0.5f)));
        to.q[i] = a | (b << 4);
    }
}

void write_n5(device const float *from, device block_n5 &to)
{
    const float d = farthest(from, SMALL) / -16;
    const float id = d ? 1.0f / d : 0.0f;
    to.d = d;
    uint fifths = 0;
    for (short i = 0; i < 16; ++i) {
        const uchar a = uchar(min(31, int(from[i] * id + 16.5f)));
        const uchar b = uchar(min(31, int(from[i + 16] * id + 16.5f)));
        to.q[i] = (a & 15) | ((b & 15) << 4);
        fifths |= (a >> 4 & 1u) << i;
        fifths |= (b >> 4 & 1u) << (i + 16);
    }
    thread const uchar *bytes = (thread const uchar *)&fifths;
    for (short k = 0; k < 4; ++k)
        to.high[k] = bytes[k];
}

void write_b8(device const float *from, device block_b8 &to)
{
    float largest = 0.0f;
    for (short i = 0; i < SMALL; ++i)
        largest = max(largest, fabs(from[i]));
    const float d = largest / 127;
    const float id = d ? 1.0f / d : 0.0f;
    to.d = d;
    for (short i = 0; i < SMALL; ++i)
        to.q[i] = int8_t(nearest(from[i] * id));
}
