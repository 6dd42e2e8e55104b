#version 450
// SPDX-License-Identifier: Apache-2.0
// Where data comes from: sets, bindings, push and specialization constants, layouts, shared memory,
// atomics. One kernel per CASE_ macro; test_spirv_memory.c knows what each must compute.
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#if defined(CASE_spec_group_size)
layout(local_size_x_id = 20, local_size_y_id = 21) in;
#elif defined(CASE_tiled)
layout(local_size_x = 16, local_size_y = 16) in;
#elif defined(CASE_positions)
layout(local_size_x = 4, local_size_y = 3, local_size_z = 2) in;
#elif defined(CASE_spec_array)
layout(local_size_x = 32) in;
#else
layout(local_size_x = 64) in;
#endif

uint id() { return gl_GlobalInvocationID.x; }

#if defined(CASE_add)
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer C { float c[]; };
void main() { c[id()] = a[id()] + b[id()]; }

#elif defined(CASE_push)
layout(push_constant) uniform Push { uint count; float factor; ivec2 shift; } push;
layout(set = 0, binding = 0) buffer X { float x[]; };
void main()
{
    if (id() < push.count)
        x[id()] = x[id()] * push.factor + float(push.shift.x - push.shift.y);
}

#elif defined(CASE_push_layout)
struct inner { vec3 v; float w; };
layout(push_constant, std430) uniform Push { uint8_t small[4]; uint16_t half_word; int64_t big; inner list[2]; } push;
layout(set = 0, binding = 0) buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { int64_t y[]; };
void main()
{
    x[id()] = push.list[id() & 1].v[id() % 3] + push.list[1].w;
    y[id()] = push.big + int64_t(push.half_word) * int64_t(push.small[id() & 3]);
}

#elif defined(CASE_spec_scalars)
layout(constant_id = 0) const int number = -7;
layout(constant_id = 1) const uint mask = 0xff00u;
layout(constant_id = 2) const float scale = 0.5;
layout(constant_id = 3) const bool negate = false;
layout(set = 0, binding = 0) buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
void main()
{
    float value = float(id()) * scale + float(number);
    x[id()] = negate ? -value : value;
    y[id()] = (id() * 0x0101u) & mask;
}

#elif defined(CASE_spec_widths)
layout(constant_id = 0) const int8_t byte_value = int8_t(1);
layout(constant_id = 1) const uint16_t word_value = uint16_t(2);
layout(constant_id = 2) const int64_t long_value = 3l;
layout(constant_id = 3) const float16_t half_value = float16_t(0.25);
layout(constant_id = 4) const uint64_t other_value = 4ul;
layout(set = 0, binding = 0) buffer X { int64_t x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main()
{
    x[id()] = int64_t(byte_value) * int64_t(id()) + int64_t(word_value) + long_value + int64_t(other_value);
    y[id()] = float(half_value) * float(id());
}

#elif defined(CASE_spec_array)
layout(constant_id = 5) const uint tiles = 1;
layout(set = 0, binding = 0) buffer X { uint x[]; };
shared uint tile[tiles * 32 + 1];
void main()
{
    for (uint i = 0; i < tiles; i++)
        tile[i * 32 + gl_LocalInvocationIndex] = x[id() + i * 32] * (i + 1);
    barrier();
    uint sum = 0;
    for (uint i = 0; i < tiles * 32; i++)
        sum = sum * 3 + tile[i];
    x[id()] = sum + tile.length();
}

#elif defined(CASE_spec_group_size)
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main()
{
    uint width = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    x[gl_GlobalInvocationID.y * width + id()] = gl_WorkGroupSize.x * 100 + gl_WorkGroupSize.y * 10 + gl_LocalInvocationIndex;
}

#elif defined(CASE_sets)
layout(set = 3, binding = 30) buffer D { uint d[]; };
layout(set = 1, binding = 2) readonly buffer B { uint b[]; };
layout(set = 0, binding = 7) readonly buffer A { uint a[]; };
layout(set = 2, binding = 0) uniform C { uvec4 c[4]; };
layout(set = 1, binding = 0) readonly buffer E { uint e[]; };
layout(push_constant) uniform Push { uint add; };
void main() { d[id()] = a[id()] + 10 * b[id()] + 100 * c[id() & 3].y + 1000 * e[id()] + add; }

#elif defined(CASE_std140)
layout(set = 0, binding = 0, std140) uniform U { vec3 v; float w; mat3 m; float list[3]; vec2 pair; ivec4 numbers[2]; } u;
layout(set = 0, binding = 1) buffer X { float x[]; };
void main()
{
    vec3 r = u.m * u.v;
    float values[6] = float[](r.x, r.y, r.z, u.w + u.list[2], u.pair.y, float(u.numbers[1].z));
    x[id()] = values[id() % 6];
}

#elif defined(CASE_std430)
struct particle { vec3 position; float mass; vec2 pair[3]; mat2 turn; uint8_t tag; };
layout(set = 0, binding = 0, std430) buffer P { particle p[]; };
void main()
{
    particle one = p[id()];
    one.position += vec3(one.mass, one.pair[1]);
    one.pair[2] = one.turn * one.pair[0];
    one.tag = uint8_t(one.tag + uint8_t(200));
    p[id()] = one;
}

#elif defined(CASE_scalar_layout)
struct packed { vec3 v; uint8_t a; uint16_t b; vec3 w; };
layout(set = 0, binding = 0, scalar) buffer P { packed p[]; };
void main()
{
    p[id()].w = p[id()].v.zxy * 2.0;
    p[id()].b = uint16_t(p[id()].a) * uint16_t(257);
}

#elif defined(CASE_row_major)
layout(set = 0, binding = 0, std430) readonly buffer M { layout(row_major) mat4 m; layout(row_major) mat3 n; layout(column_major) mat4x3 k; };
layout(set = 0, binding = 1) buffer X { float x[]; };
void main()
{
    vec4 a = m * vec4(1, 2, 3, 4);
    vec3 b = n * vec3(1, 2, 3);
    vec3 c = k * vec4(4, 3, 2, 1);
    float values[10] = float[](a.x, a.y, a.z, a.w, b.x, b.y, b.z, c.x, c.y, c.z);
    if (id() < 10)
        x[id()] = values[id()];
}

#elif defined(CASE_length)
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 1, binding = 3) buffer B { uvec4 head; uvec2 b[]; };
layout(set = 0, binding = 1) buffer C { uint c[]; };
layout(push_constant) uniform Push { uint add; };
void main()
{
    if (id() == 0)
        head = uvec4(a.length(), b.length(), c.length(), add);
}

#elif defined(CASE_alias)
layout(set = 0, binding = 0) buffer A { uint words[]; };
layout(set = 0, binding = 0) buffer B { float floats[]; };
void main()
{
    float f = floats[id()];
    words[id()] = floatBitsToUint(f * 2.0) ^ 0x80000000u;
}

#elif defined(CASE_shared)
layout(set = 0, binding = 0) buffer X { uint x[]; };
shared uint line[64];
void main()
{
    uint here = gl_LocalInvocationIndex;
    line[here] = x[id()];
    barrier();
    x[id()] = line[63 - here] + line[(here + 1) & 63];
}

#elif defined(CASE_reduce)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { uint y[]; };
shared uint line[64];
void main()
{
    uint here = gl_LocalInvocationIndex;
    line[here] = x[id()];
    barrier();
    for (uint step = 32; step > 0; step >>= 1) {
        if (here < step)
            line[here] += line[here + step];
        barrier();
    }
    if (here == 0)
        y[gl_WorkGroupID.x] = line[0];
}

#elif defined(CASE_tiled)
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; };
shared float at[16][16];
shared float bt[16][17];
void main()
{
    uvec2 l = gl_LocalInvocationID.xy, g = gl_GlobalInvocationID.xy;
    float sum = 0.0;
    for (uint k = 0; k < n; k += 16) {
        at[l.y][l.x] = a[g.y * n + k + l.x];
        bt[l.y][l.x] = b[(k + l.y) * n + g.x];
        barrier();
        for (uint j = 0; j < 16; j++)
            sum += at[l.y][j] * bt[j][l.x];
        barrier();
    }
    c[g.y * n + g.x] = sum;
}

#elif defined(CASE_shared_atomics)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer H { uint h[16]; };
shared uint bins[16];
void main()
{
    if (gl_LocalInvocationIndex < 16)
        bins[gl_LocalInvocationIndex] = 0;
    barrier();
    atomicAdd(bins[x[id()] & 15], 1);
    barrier();
    if (gl_LocalInvocationIndex < 16)
        atomicAdd(h[gl_LocalInvocationIndex], bins[gl_LocalInvocationIndex]);
}

#elif defined(CASE_atomics)
layout(set = 0, binding = 0) buffer U { uint u[8]; };
layout(set = 0, binding = 1) buffer I { int n[4]; };
layout(set = 0, binding = 2) buffer X { uint seen[]; };
void main()
{
    uint i = id();
    uint old = atomicAdd(u[0], 1);
    atomicAdd(seen[old], 1);
    atomicMin(u[1], i + 5);
    atomicMax(u[2], i + 5);
    atomicAnd(u[3], ~(1u << (i & 31)));
    atomicOr(u[4], 1u << (i & 31));
    atomicXor(u[5], i);
    if (i == 9)
        atomicExchange(u[6], 77);
    atomicCompSwap(u[7], i, 1000 + i);
    atomicMin(n[0], 3 - int(i));
    atomicMax(n[1], int(i) - 300);
    atomicAdd(n[2], -int(i));
    memoryBarrierBuffer();
}

#elif defined(CASE_positions)
layout(set = 0, binding = 0) buffer X { uvec4 x[]; };
void main()
{
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
    uvec3 g = gl_GlobalInvocationID;
    uint at = (g.z * size.y + g.y) * size.x + g.x;
    x[at] = uvec4(gl_WorkGroupID.x + 10 * gl_WorkGroupID.y + 100 * gl_WorkGroupID.z,
                  gl_LocalInvocationID.x + 10 * gl_LocalInvocationID.y + 100 * gl_LocalInvocationID.z,
                  gl_LocalInvocationIndex, gl_NumWorkGroups.x + 10 * gl_NumWorkGroups.y + 100 * gl_NumWorkGroups.z);
}

#elif defined(CASE_coherent)
layout(set = 0, binding = 0) coherent buffer X { uint x[]; };
shared uint first;
void main()
{
    if (gl_LocalInvocationIndex == 0)
        first = x[gl_WorkGroupID.x * 64];
    memoryBarrierShared();
    barrier();
    x[id()] += first;
    memoryBarrier();
    groupMemoryBarrier();
}
#endif
