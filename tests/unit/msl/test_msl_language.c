/* SPDX-License-Identifier: Apache-2.0 */
/* The language, feature by feature: what kernels write against values computed by hand or in
 * plain C. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>

#define HEAD   "#include <metal_stdlib>\nusing namespace metal;\n"
#define FLOATS HEAD "kernel void test(device float* o [[buffer(0)]]) {\n"
#define INTS   HEAD "kernel void test(device int* o [[buffer(0)]]) {\n"

enum { MAX_VALUES = 64 };

static void expect_floats(const char *source, const float *expected, size_t count)
{
    float out[MAX_VALUES];
    for (size_t i = 0; i < MAX_VALUES; i++)
        out[i] = -12345;
    fixture_run_source(source, "test", (void *[]){out}, 1, 1, 1);
    for (size_t i = 0; i < count; i++)
        if (out[i] != expected[i] || signbit(out[i]) != signbit(expected[i]))
            fail_msg("value %zu is %.9g, not %.9g", i, (double)out[i], (double)expected[i]);
    assert_true(out[count] == -12345);
}

static void expect_ints(const char *source, const int32_t *expected, size_t count)
{
    int32_t out[MAX_VALUES];
    for (size_t i = 0; i < MAX_VALUES; i++)
        out[i] = -12345;
    fixture_run_source(source, "test", (void *[]){out}, 1, 1, 1);
    for (size_t i = 0; i < count; i++)
        if (out[i] != expected[i])
            fail_msg("value %zu is %d, not %d", i, out[i], expected[i]);
    assert_int_equal(out[count], -12345);
}

#define EXPECT(kind, type, source, ...)                                                            \
    do {                                                                                           \
        static const type expected[] = {__VA_ARGS__};                                              \
        expect_##kind(source, expected, sizeof expected / sizeof *expected);                       \
    } while (0)
#define EXPECT_FLOATS(source, ...) EXPECT(floats, float, source, __VA_ARGS__)
#define EXPECT_INTS(source, ...)   EXPECT(ints, int32_t, source, __VA_ARGS__)

TEST(swizzles_read)
{
    EXPECT_FLOATS(FLOATS
                  "float4 v(1, 2, 3, 4); float2 a = v.wy; float3 b = v.zzx; float4 c = v.abgr;\n"
                  "o[0] = a.x; o[1] = a.y; o[2] = b.x; o[3] = b.y; o[4] = b.z;\n"
                  "o[5] = c.x; o[6] = c.y; o[7] = c.z; o[8] = c.w;\n"
                  "o[9] = v.xyz.zy.x; o[10] = v[2]; o[11] = v.xy.yx.yxyx.z; }\n",
                  4, 2, 3, 3, 1, 4, 3, 2, 1, 3, 3, 1);
}

TEST(swizzles_write)
{
    EXPECT_FLOATS(FLOATS
                  "float4 v(1, 2, 3, 4); v.xy = v.wz * 2.0; v.zw += float2(1, 2); v.x -= 1;\n"
                  "o[0] = v.x; o[1] = v.y; o[2] = v.z; o[3] = v.w;\n"
                  "float3 w(1, 2, 3); w.zxy = w; w[1] *= 10; w.rg = w.gr;\n"
                  "o[4] = w.x; o[5] = w.y; o[6] = w.z;\n"
                  "v.yw = 9; o[7] = v.y; o[8] = v.w; }\n",
                  7, 6, 4, 6, 30, 2, 1, 9, 9);
}

TEST(swizzles_in_templates)
{
    EXPECT_FLOATS(
        HEAD "template <typename T, int N> T sum_of(vec<T, N> v) { return v.x + v.y; }\n"
             "template <typename V> void turn(thread V &v) { v.xy = v.yx; v.x *= 2; }\n"
             "kernel void test(device float* o [[buffer(0)]]) {\n"
             "float3 a(1, 2, 3); turn(a); half2 h(5, 7); turn(h);\n"
             "o[0] = a.x; o[1] = a.y; o[2] = sum_of(a); o[3] = float(h.x); o[4] = sum_of(h); }\n",
        4, 1, 5, 14, 19);
}

TEST(vector_constructors)
{
    EXPECT_FLOATS(FLOATS
                  "float2 a(1, 2); float3 b(a, 3); float4 c(0, b), d(a, a), e(5), f(a, 7, 8);\n"
                  "float4 g(7, a, 8), h(7, 8, a), i = float4(b, 9); int3 j(b * 1.5f);\n"
                  "o[0] = b.z; o[1] = c.w; o[2] = d.w; o[3] = e.z; o[4] = f.y; o[5] = g.y;\n"
                  "o[6] = h.w; o[7] = i.w; o[8] = j.x; o[9] = j.y; o[10] = j.z;\n"
                  "float4 k{a, a}; float2 l = 3; o[11] = k.z + l.y; o[12] = float3(j).y; }\n",
                  3, 3, 2, 5, 2, 1, 2, 9, 1, 3, 4, 4, 3);
}

TEST(vector_operators)
{
    EXPECT_INTS(INTS "int4 a(7, -8, 9, 10), b(2, 3, 4, 5); int4 c = a % b, d = (a << 1) ^ b;\n"
                     "o[0] = c.x; o[1] = c.y; o[2] = d.z; o[3] = (~a).x; o[4] = (-a).y;\n"
                     "bool4 m = a > b; o[5] = m.x; o[6] = m.y; o[7] = any(!m); o[8] = all(m);\n"
                     "c = select(a, b, m); o[9] = c.x; o[10] = c.y; a++; ++a; o[11] = a.w;\n"
                     "a *= 3; o[12] = a.z; a = 100 - b; o[13] = a.w; o[14] = (b == b).x; }\n",
                1, -2, 18 ^ 4, -8, 8, 1, 0, 1, 0, 2, -8, 12, 33, 95, 1);
}

TEST(packed_vectors)
{
    float in[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    fixture_run_source(
        HEAD "kernel void test(device packed_float3* p [[buffer(0)]],\n"
             "                 uint i [[thread_position_in_grid]]) {\n"
             "    float3 v = p[i]; v *= 2; v.x = p[i].y; p[i] = v; p[i].z += 0.5;\n"
             "    p[i] = p[i] * 10.0f + 1;\n"
             "    static_assert(sizeof(packed_half4) == 8 && sizeof(packed_char3) == 3, \"\");\n"
             "}\n",
        "test", (void *[]){in}, 1, 1, 3);
    static const float expected[] = {21, 41, 66, 51, 101, 126, 81, 161, 186};
    assert_memory_equal(in, expected, sizeof in);
}

TEST(sizes_and_alignments)
{
    EXPECT_INTS(INTS
                "o[0] = sizeof(float3); o[1] = alignof(float3); o[2] = sizeof(packed_float3);\n"
                "o[3] = alignof(packed_float3); o[4] = sizeof(half2); o[5] = alignof(char4);\n"
                "o[6] = sizeof(bool4); o[7] = sizeof(long3); o[8] = sizeof(float3x3);\n"
                "o[9] = sizeof(half); o[10] = sizeof(bfloat4); o[11] = sizeof(long); }\n",
                16, 16, 12, 4, 4, 4, 4, 32, 48, 2, 8, 8);
}

TEST(half_rounds_each_operation)
{
    /* 2048 + 1 is a tie in half and goes to 2048; in float the sum would be 2050. */
    EXPECT_FLOATS(FLOATS "half a = 2048.0h, b = 1.0h; half c = a + b + b; o[0] = c;\n"
                         "half4 v(a); v += half4(b); v += half4(b); o[1] = float(v.y);\n"
                         "o[2] = 0.1h; o[3] = half(65504.0f) + 32.0h; o[4] = 1h; o[5] = -2.5e1h;\n"
                         "o[6] = fma(a, 1.0h, 3.0h); o[7] = sqrt(2.0h); }\n",
                  2048, 2048, 0x1.998p-4f, INFINITY, 1, -25, 2052, 0x1.6ap0f);
}

TEST(bfloat_rounds_to_nearest_even)
{
    EXPECT_FLOATS(FLOATS
                  "bfloat a = 256.0bf, b = bfloat(1.0f); o[0] = a + b; a += bfloat(3.0f);\n"
                  "o[1] = a; o[2] = bfloat(0x1.01p0f); o[3] = bfloat(0x1.03p0f);\n"
                  "bfloat2 v(1.5bf, 2.5bf); v *= v; o[4] = v.x; o[5] = v.y; o[6] = max(v.x, v.y);\n"
                  "o[7] = as_type<ushort>(bfloat(1.0f)); o[8] = -v.x; }\n",
                  256, 260, 1, 0x1.04p0f, 2.25f, 6.25f, 6.25f, 0x3f80, -2.25f);
}

TEST(literals_are_single_precision)
{
    EXPECT_FLOATS(FLOATS "o[0] = 0.1 + 0.2 - 0.3; o[1] = 1e-46; o[2] = 0x1p-3; o[3] = 1 / 3.0; }\n",
                  0.1f + 0.2f - 0.3f, 0, 0.125f, 1 / 3.0f);
}

TEST(constant_globals)
{
    EXPECT_FLOATS(HEAD "constant float table[4] = {1, 2, 4, 8};\n"
                       "constant int2 pair = int2(3, 4); constant constexpr int n = 2;\n"
                       "namespace deep { constant float3 v(1, 2, 3); }\n"
                       "struct entry { float a; int b; };\n"
                       "constant entry entries[] = {{1.5f, 2}, {2.5f, 3}};\n"
                       "float look(constant float *t, uint i) { return t[i]; }\n"
                       "kernel void test(device float* o [[buffer(0)]]) {\n"
                       "o[0] = table[3]; o[1] = pair.y; o[2] = look(table, n); o[3] = deep::v.z;\n"
                       "o[4] = entries[1].a * entries[0].b; }\n",
                  8, 4, 4, 3, 5);
}

TEST(address_space_overloads)
{
    EXPECT_FLOATS(
        HEAD
        "float first(device const float *p) { return p[0]; }\n"
        "float first(const device float *p, int);\n"
        "float first(threadgroup const float *p) { return p[0]; }\n"
        "float first(constant float *p) { return p[0]; }\n"
        "float first(thread const float *p) { return p[0]; }\n"
        "void set(device float *p) { *p = 1; }\n"
        "void set(thread float *p) { *p = 1; }\n"
        "struct pair { float a, b;\n"
        "    float sum() const device { return a + b; }\n"
        "    float sum() const thread { return a + b; }\n"
        "    float sum() const constant { return a + b; }\n"
        "    pair() thread : a(1), b(2) {}\n"
        "};\n"
        "namespace one { float get(device float *p) { return *p + 10; } }\n"
        "namespace two { float get(device float *p) { return *p + 20; } }\n"
        "kernel void test(device float* o [[buffer(0)]]) {\n"
        "threadgroup float shared[4]; shared[0] = 3; float own = 2; threadgroup float *p = "
        "shared;\n"
        "set(&own); pair both; o[0] = 5; o[1] = first(o); o[2] = first(p); o[3] = first(&own);\n"
        "o[4] = both.sum(); o[5] = one::get(o); o[6] = two::get(o); }\n",
        5, 5, 3, 1, 3, 15, 25);
}

TEST(scalar_math)
{
    EXPECT_FLOATS(FLOATS
                  "o[0] = clamp(5.0f, 0.0f, 2.0f); o[1] = mix(1.0f, 3.0f, 0.25f);\n"
                  "o[2] = step(1.0f, 0.5f); o[3] = smoothstep(0.0f, 2.0f, 1.0f);\n"
                  "o[4] = sign(-3.0f); o[5] = saturate(1.5f); o[6] = fract(-0.25f);\n"
                  "o[7] = rint(2.5f); o[8] = round(2.5f); o[9] = trunc(-2.7f);\n"
                  "o[10] = fmin(NAN, 1.0f); o[11] = max(2, 7); o[12] = abs(-4);\n"
                  "o[13] = pow(2.0f, 10.0f); o[14] = exp2(3.0f); o[15] = rsqrt(4.0f);\n"
                  "o[16] = fma(2.0f, 3.0f, 4.0f); o[17] = ldexp(1.5f, 4); int e;\n"
                  "o[18] = frexp(10.0f, e); o[19] = e; float w; o[20] = modf(3.25f, w);\n"
                  "o[21] = w; o[22] = precise::sqrt(9.0f); o[23] = metal::fast::fabs(-1.0f);\n"
                  "o[24] = cospi(1.0f); o[25] = copysign(3.0f, -0.0f); o[26] = median3(3, 1, 2);\n"
                  "o[27] = fmod(7.5f, 2.0f); o[28] = isnan(NAN); o[29] = isinf(INFINITY);\n"
                  "o[30] = select(1.0f, 2.0f, true); o[31] = min3(3.0f, 1.0f, 2.0f); }\n",
                  2, 1.5f, 0, 0.5f, -1, 1, 0.75f, 2, 3, -2, 1, 7, 4, 1024, 8, 0.5f, 10, 24, 0.625f,
                  4, 0.25f, 3, 3, 1, -1, -3, 2, 1.5f, 1, 1, 2, 1);
}

TEST(vector_math)
{
    EXPECT_FLOATS(FLOATS
                  "float3 a(1, 2, 2), b(3, 0, 4); float3 c = cross(a, b), n = normalize(b);\n"
                  "o[0] = dot(a, b); o[1] = length(a); o[2] = c.x; o[3] = c.y; o[4] = c.z;\n"
                  "o[5] = n.z; o[6] = distance(a, a); float3 m = max(a, 1.5f); o[7] = m.x;\n"
                  "o[8] = floor(float2(1.5, -1.5)).y; o[9] = mix(a, b, 0.5f).z;\n"
                  "o[10] = clamp(b, 1.0f, 3.0f).y; o[11] = sqrt(float4(4)).w;\n"
                  "o[12] = isfinite(float2(1, INFINITY)).y; o[13] = length_squared(b);\n"
                  "o[14] = reflect(float2(1, -1), float2(0, 1)).y; }\n",
                  11, 3, 8, 2, -6, 0.8f, 0, 1.5f, -2, 3, 1, 2, 0, 25, 1);
}

TEST(integer_functions)
{
    EXPECT_INTS(INTS
                "o[0] = popcount(0xf0f0u); o[1] = clz(1); o[2] = ctz(8u); o[3] = clz(ushort(1));\n"
                "o[4] = reverse_bits(1u) >> 31; o[5] = rotate(0x80000001u, 4u);\n"
                "o[6] = mulhi(0x40000000, 16); o[7] = mulhi(0xffffffffu, 0xffffffffu) >> 4;\n"
                "o[8] = addsat(2147483647, 5); o[9] = subsat(3u, 5u); o[10] = absdiff(-5, 7);\n"
                "o[11] = hadd(5, 8); o[12] = rhadd(5, 8); o[13] = extract_bits(0xabcdu, 4, 8);\n"
                "o[14] = extract_bits(0xf0, 4, 4); o[15] = insert_bits(0u, 5u, 4, 4);\n"
                "o[16] = madsat(100000, 100000, 1); o[17] = clz(0); o[18] = mad24(3, 4, 5);\n"
                "o[19] = popcount(uint2(3, 7)).y; o[20] = ctz(0u); o[21] = hadd(-3, -4); }\n",
                8, 31, 3, 15, 1, 0x18, 4, 0x0fffffff, 2147483647, 0, 12, 6, 7, 0xbc, -1, 0x50,
                2147483647, 32, 17, 3, 32, -4);
}

TEST(packing)
{
    EXPECT_FLOATS(FLOATS
                  "float4 u = unpack_unorm4x8_to_float(0xff008033u);\n"
                  "o[0] = u.x; o[1] = u.y; o[2] = u.z; o[3] = u.w;\n"
                  "float2 s = unpack_snorm2x16_to_float(0x80007fffu); o[4] = s.x; o[5] = s.y;\n"
                  "o[6] = pack_float_to_unorm4x8(float4(0.2f, 0, 0, 0));\n"
                  "o[7] = pack_float_to_snorm4x8(float4(-1, 0, 0, 0));\n"
                  "o[8] = as_type<uint>(1.0f) >> 16; o[9] = as_type<float>(0x40490fdb);\n"
                  "o[10] = as_type<half2>(0x3c004000u).x; }\n",
                  0.2f, 128 / 255.0f, 0, 1, 1, -1, 51, 129, 0x3f80, 0x1.921fb6p1f, 2);
}

TEST(matrices)
{
    EXPECT_FLOATS(FLOATS
                  "float2x2 a(float2(1, 2), float2(3, 4)), b(2.0f); float2x2 c = a * b;\n"
                  "float2 v = a * float2(1, 1), w = float2(1, 1) * a;\n"
                  "o[0] = c[1].x; o[1] = v.x; o[2] = v.y; o[3] = w.x; o[4] = w.y;\n"
                  "o[5] = transpose(a)[0].y; o[6] = determinant(a); float3x2 d(1, 2, 3, 4, 5, 6);\n"
                  "float3x3 e = transpose(d) * d; o[7] = e[0][0]; o[8] = e[2][1]; a += b;\n"
                  "o[9] = a[0][0]; float4x4 f(1); f[3] = float4(1, 2, 3, 1);\n"
                  "o[10] = (f * float4(1, 1, 1, 1)).y; o[11] = half2x2(a)[1][0]; }\n",
                  6, 4, 6, 3, 7, 3, -2, 5, 39, 3, 3, 3);
}

TEST(sixty_four_bits)
{
    EXPECT_INTS(INTS "long a = 1L << 40; ulong b = 0xffffffffffffffffUL; long2 v(a, -a);\n"
                     "o[0] = int(a >> 38); o[1] = int(b >> 60); o[2] = int((v.x + v.y * 2) / a);\n"
                     "o[3] = int(mulhi(b, b) >> 60); o[4] = popcount(b); o[5] = clz(a); }\n",
                4, 15, -1, 15, 64, 23);
}

TEST(lambdas_and_control_flow)
{
    EXPECT_INTS(
        HEAD "template <typename F> int apply(F f, int n) {\n"
             "    int sum = 0; for (int i = 0; i < n; i++) { if (i == 3) continue; sum += f(i); }\n"
             "    return sum; }\n"
             "enum class op : uint { add, mul };\n"
             "int run(op o, int a, int b) { switch (o) { case op::add: return a + b;\n"
             "    case op::mul: return a * b; } return 0; }\n"
             "kernel void test(device int* o [[buffer(0)]]) {\n"
             "int k = 2; o[0] = apply([&](int i) { return i * k; }, 6);\n"
             "o[1] = run(op::mul, 6, 7); do { k++; } while (k < 10); o[2] = k;\n"
             "#pragma unroll(UNKNOWN)\n"
             "for (short i = 0; i < 3; i++) o[3] = i;\n"
             "#pragma clang loop unroll(full)\n"
             "for (int i = 0; i < 4; i++) o[4] = i; }\n",
        24, 42, 10, 2, 3);
}
