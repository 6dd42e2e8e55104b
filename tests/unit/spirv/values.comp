#version 450
// SPDX-License-Identifier: Apache-2.0
// What is computed: types of all widths, integers, floats, vectors, matrices, control flow. One
// kernel per CASE_ macro; test_spirv_values.c knows what each must compute.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 64) in;
uint id() { return gl_GlobalInvocationID.x; }

#if defined(CASE_int8)
layout(set = 0, binding = 0) readonly buffer X { int8_t x[]; };
layout(set = 0, binding = 1) buffer Y { int8_t y[]; };
layout(set = 0, binding = 2) buffer Z { int z[]; };
void main()
{
    int8_t v = x[id()];
    y[id()] = v * int8_t(3) + int8_t(100);
    z[id()] = int(v) >> 1;
}

#elif defined(CASE_uint8)
layout(set = 0, binding = 0) buffer X { u8vec4 x[]; };
void main()
{
    u8vec4 v = x[id()];
    x[id()] = u8vec4(v.w, v.xyz + v.yzw) ^ u8vec4(0x0f);
}

#elif defined(CASE_int16)
layout(set = 0, binding = 0) buffer X { int16_t x[]; };
layout(set = 0, binding = 1) buffer Y { uint16_t y[]; };
void main()
{
    x[id()] = x[id()] * x[id()] - int16_t(1);
    y[id()] = uint16_t(y[id()] << 3us) | (y[id()] >> 13us);
}

#elif defined(CASE_half_storage)
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
layout(set = 0, binding = 2) buffer Z { f16vec2 z[]; };
void main()
{
    y[id()] = float(x[id()]) * 3.0;
    z[id()] = f16vec2(vec2(y[id()], 1.0 / (1.0 + float(id()))));
}

#elif defined(CASE_half)
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer Y { float16_t y[]; };
layout(set = 0, binding = 2) buffer Z { float16_t z[]; };
void main()
{
    float16_t product = x[id()] * y[id()];
    z[id()] = max(product + y[id()], -x[id()]);
}

#elif defined(CASE_int64)
layout(set = 0, binding = 0) buffer X { int64_t x[]; };
layout(set = 0, binding = 1) buffer Y { uint64_t y[]; };
void main()
{
    int64_t a = x[id()];
    uint64_t b = y[id()];
    x[id()] = a * 1000003l + (a >> 7) - a / 37l;
    y[id()] = (b << 5) ^ (b >> 40) ^ (b % 1000000007ul) ^ uint64_t(id());
}

#elif defined(CASE_integers)
layout(set = 0, binding = 0) readonly buffer X { int x[]; };
layout(set = 0, binding = 1) readonly buffer Y { int y[]; };
layout(set = 0, binding = 2) buffer Z { ivec4 z[]; };
layout(set = 0, binding = 3) buffer W { uvec4 w[]; };
void main()
{
    int a = x[id()], b = y[id()];
    z[id()] = ivec4(a / b, a * b, a - b, abs(a) + sign(b));
    w[id()] = uvec4(uint(a) / uint(b), uint(a) % uint(b), uint(a) >> (uint(b) & 31), uint(a >> (b & 31)));
}

#elif defined(CASE_bits)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(set = 0, binding = 2) buffer Z { int z[]; };
void main()
{
    uint v = x[id()];
    int offset = int(id() % 20), bits = int(id() % 12);
    y[id() * 4] = bitfieldExtract(v, offset, bits);
    y[id() * 4 + 1] = bitfieldInsert(v, ~v, offset, bits);
    y[id() * 4 + 2] = bitfieldReverse(v);
    y[id() * 4 + 3] = uint(bitCount(v));
    z[id() * 4] = bitfieldExtract(int(v), offset, bits);
    z[id() * 4 + 1] = findLSB(v);
    z[id() * 4 + 2] = findMSB(v);
    z[id() * 4 + 3] = findMSB(int(v));
}

#elif defined(CASE_carries)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Y { uint y[]; };
layout(set = 0, binding = 2) buffer Z { uint z[]; };
void main()
{
    uint a = x[id()], b = y[id()], carry, borrow, high, low;
    int signed_high, signed_low;
    z[id() * 8] = uaddCarry(a, b, carry);
    z[id() * 8 + 1] = carry;
    z[id() * 8 + 2] = usubBorrow(a, b, borrow);
    z[id() * 8 + 3] = borrow;
    umulExtended(a, b, high, low);
    imulExtended(int(a), int(b), signed_high, signed_low);
    z[id() * 8 + 4] = high;
    z[id() * 8 + 5] = low;
    z[id() * 8 + 6] = uint(signed_high);
    z[id() * 8 + 7] = uint(signed_low);
}

#elif defined(CASE_packing)
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) buffer Y { uvec4 y[]; };
layout(set = 0, binding = 2) buffer Z { vec4 z[]; };
void main()
{
    vec4 v = x[id()];
    y[id()] = uvec4(packHalf2x16(v.xy), packUnorm4x8(v), packSnorm4x8(v), packUnorm2x16(v.zw));
    z[id()] = unpackUnorm4x8(y[id()].y) + vec4(unpackHalf2x16(y[id()].x), unpackSnorm2x16(0x7fff8001u));
}

#elif defined(CASE_float_exact)
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main()
{
    float v = x[id()], whole;
    int exponent;
    uint at = id() * 16;
    y[at] = floor(v);
    y[at + 1] = ceil(v);
    y[at + 2] = trunc(v);
    y[at + 3] = roundEven(v);
    y[at + 4] = abs(v);
    y[at + 5] = sign(v);
    y[at + 6] = clamp(v, -1.0, 2.0);
    y[at + 7] = step(0.5, v);
    y[at + 8] = modf(v, whole);
    y[at + 9] = whole;
    y[at + 10] = frexp(v, exponent);
    y[at + 11] = float(exponent);
    y[at + 12] = ldexp(v, 3);
    y[at + 13] = min(v, 0.25);
    y[at + 14] = sqrt(abs(v));
    y[at + 15] = fma(v, v, 1.0);
}

#elif defined(CASE_float_near)
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main()
{
    float v = x[id()];
    uint at = id() * 16;
    y[at] = sin(v);
    y[at + 1] = cos(v);
    y[at + 2] = tan(v * 0.25);
    y[at + 3] = exp(v);
    y[at + 4] = log(abs(v) + 0.5);
    y[at + 5] = exp2(v);
    y[at + 6] = log2(abs(v) + 0.5);
    y[at + 7] = pow(abs(v) + 0.5, 1.5);
    y[at + 8] = inversesqrt(abs(v) + 0.5);
    y[at + 9] = atan(v, 2.0);
    y[at + 10] = asin(v * 0.1);
    y[at + 11] = sinh(v * 0.5);
    y[at + 12] = tanh(v);
    y[at + 13] = mix(v, 3.0, 0.25);
    y[at + 14] = smoothstep(-1.0, 1.0, v);
    y[at + 15] = mod(v, 0.75);
}

#elif defined(CASE_geometry)
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main()
{
    vec3 a = x[id()].xyz, b = x[id()].wzy;
    vec3 c = cross(a, b), n = normalize(a + vec3(3.0)), r = reflect(a, n), f = faceforward(a, b, n);
    uint at = id() * 16;
    y[at] = dot(a, b);
    y[at + 1] = length(a);
    y[at + 2] = distance(a, b);
    for (int i = 0; i < 3; i++) {
        y[at + 3 + i] = c[i];
        y[at + 6 + i] = n[i];
        y[at + 9 + i] = r[i];
        y[at + 12 + i] = f[i];
    }
    y[at + 15] = determinant(mat3(a, b, vec3(1, 2, 3)));
}

#elif defined(CASE_matrices)
layout(set = 0, binding = 0) readonly buffer X { mat4 x[]; };
layout(set = 0, binding = 1) buffer Y { mat4 y[]; };
layout(set = 0, binding = 2) buffer Z { mat4 z[]; };
void main()
{
    mat4 m = x[id()];
    y[id()] = m * transpose(m) + outerProduct(m[0], m[1]) - matrixCompMult(m, m) * 2.0;
    z[id()] = inverse(m);
}

#elif defined(CASE_vectors)
layout(set = 0, binding = 0) buffer X { ivec4 x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
void main()
{
    ivec4 v = x[id()];
    bvec4 small = lessThan(v, ivec4(0)), even = equal(v & 1, ivec4(0));
    y[id()] = uint(any(small)) | uint(all(even)) << 1 | uint(small.z) << 2 | uint(any(not(even))) << 3;
    v.xw = v.wx + 1;
    v.y = mix(v, ivec4(9), small)[1];
    v[id() & 3] *= 5;
    x[id()] = v.zyxw;
}

#elif defined(CASE_special_floats)
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
void main()
{
    float v = x[id()];
    y[id()] = uint(isnan(v)) | uint(isinf(v)) << 1 | uint(v == v) << 2 | uint(v < 1.0) << 3 |
              uint(!(v >= 1.0)) << 4 | uint(v != 0.0) << 5;
}

#elif defined(CASE_conversions)
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { ivec4 y[]; };
layout(set = 0, binding = 2) buffer Z { vec4 z[]; };
void main()
{
    float v = x[id()];
    y[id()] = ivec4(int(v), int(uint(abs(v))), floatBitsToInt(v), int(int16_t(int(v))));
    z[id()] = vec4(float(id() * 16777259u), float(int(id()) - 1000), intBitsToFloat(y[id()].z), v > 0.5 ? 1.0 : 0.0);
}

#elif defined(CASE_control)
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main()
{
    uint v = x[id()], steps = 0;
    if (id() % 7 == 3)
        return;
    while (v != 1 && steps < 200) {
        v = (v & 1) == 0 ? v / 2 : v * 3 + 1;
        steps++;
        if (v > 100000)
            break;
    }
    for (uint i = 0; i < 10; i++) {
        if (i == v % 10)
            continue;
        steps += i;
    }
    switch (id() % 5) {
    case 0: steps += 1000;
    case 1: steps += 2000; break;
    case 2: steps *= 2;
    default: steps ^= 5; break;
    case 4: do { steps -= 3; } while (steps > 20); break;
    }
    x[id()] = steps;
}

#elif defined(CASE_functions)
struct pair { uint first; uint list[3]; };
layout(set = 0, binding = 0) buffer X { uint x[]; };
uint state = 7;
uint step_state(inout uint counter, out uint doubled)
{
    counter += 1;
    state = state * 5 + counter;
    doubled = state * 2;
    return state ^ 3;
}
pair make(uint seed)
{
    pair p;
    p.first = seed;
    for (uint i = 0; i < 3; i++)
        p.list[i] = step_state(p.first, p.list[(i + 1) % 3]);
    return p;
}
uint sum(pair p) { return p.first + p.list[0] * 3 + p.list[1] * 5 + p.list[2] * 7; }
void main()
{
    pair p = make(x[id()]), q = p;
    q.list[id() % 3] = 1;
    x[id()] = sum(p) ^ sum(q);
}

#elif defined(CASE_arrays)
const uint table[8] = uint[](2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u);
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main()
{
    uint scratch[2][8], copy[2][8];
    for (uint i = 0; i < 16; i++)
        scratch[i / 8][i % 8] = table[(i + id()) & 7] * (i + 1);
    copy = scratch;
    scratch[1] = copy[0];
    scratch[0][id() & 7] = 0;
    uint sum = 0;
    for (uint i = 0; i < 16; i++)
        sum = sum * 31 + scratch[i / 8][i % 8] + copy[i % 2][i / 2];
    x[id()] = sum;
}
#endif
