/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of kernels.metal for devices that run SPIR-V: each is compiled with KERNEL_name
 * defined, under that name, and all are linked into one module. Buffer n is binding n. */
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

#define WORDS(n) layout(set = 0, binding = n, std430) buffer B##n { uint b##n[]; };
#define CONSTANTS(members) layout(push_constant) uniform Constants { members };
#define GROUP(x, y, z) layout(local_size_x = x, local_size_y = y, local_size_z = z) in;
#define I gl_GlobalInvocationID.x
#define T gl_LocalInvocationID.x

#if defined(KERNEL_copy_words)
GROUP(64, 1, 1)
WORDS(0)
WORDS(1)
void main()
{
    b1[I] = b0[I];
}
#elif defined(KERNEL_increment)
GROUP(64, 1, 1)
WORDS(0)
void main()
{
    b0[I] += 1;
}
#elif defined(KERNEL_affine)
GROUP(64, 1, 1)
WORDS(0)
CONSTANTS(uvec2 c;)
void main()
{
    b0[I] = b0[I] * c.x + c.y;
}
#elif defined(KERNEL_number)
GROUP(64, 1, 1)
WORDS(0)
CONSTANTS(uint first;)
void main()
{
    b0[I] = first + I;
}
#elif defined(KERNEL_bounded)
GROUP(32, 1, 1)
WORDS(0)
CONSTANTS(uint count;)
void main()
{
    if (I < count)
        b0[I] = I + 1;
}
#elif defined(KERNEL_positions)
#extension GL_KHR_shader_subgroup_basic : require
GROUP(3, 2, 2)
struct place {
    uint in_grid[3], in_group[3], group[3], workgroup_size[3], groups[3], grid[3];
    uint index_in_group, lane, simdgroup, simdgroups, visits;
};
layout(set = 0, binding = 0, std430) buffer Places
{
    place places[];
};
void main()
{
    const uvec3 at = gl_GlobalInvocationID, grid = gl_NumWorkGroups * gl_WorkGroupSize;
    const uint n = (at.z * grid.y + at.y) * grid.x + at.x;
    for (uint i = 0; i < 3; i++) {
        places[n].in_grid[i] = at[i];
        places[n].in_group[i] = gl_LocalInvocationID[i];
        places[n].group[i] = gl_WorkGroupID[i];
        places[n].workgroup_size[i] = gl_WorkGroupSize[i];
        places[n].groups[i] = gl_NumWorkGroups[i];
        places[n].grid[i] = grid[i];
    }
    places[n].index_in_group = gl_LocalInvocationIndex;
    places[n].lane = gl_SubgroupInvocationID;
    places[n].simdgroup = gl_SubgroupID;
    places[n].simdgroups = gl_NumSubgroups;
    places[n].visits += 1;
}
#elif defined(KERNEL_count_threads)
GROUP(64, 1, 1)
WORDS(0)
void main()
{
    atomicAdd(b0[0], 1);
}
#elif defined(KERNEL_gather)
GROUP(16, 1, 1)
WORDS(0) WORDS(1) WORDS(2) WORDS(3) WORDS(4) WORDS(5) WORDS(6) WORDS(7)
WORDS(8) WORDS(9) WORDS(10) WORDS(11) WORDS(12) WORDS(13) WORDS(14) WORDS(15)
WORDS(16) WORDS(17) WORDS(18) WORDS(19) WORDS(20) WORDS(21) WORDS(22) WORDS(23)
WORDS(24) WORDS(25) WORDS(26) WORDS(27) WORDS(28) WORDS(29) WORDS(30)
void main()
{
    b30[I] = 1 * b0[I] + 2 * b1[I] + 3 * b2[I] + 4 * b3[I] + 5 * b4[I] + 6 * b5[I] + 7 * b6[I] +
             8 * b7[I] + 9 * b8[I] + 10 * b9[I] + 11 * b10[I] + 12 * b11[I] + 13 * b12[I] +
             14 * b13[I] + 15 * b14[I] + 16 * b15[I] + 17 * b16[I] + 18 * b17[I] + 19 * b18[I] +
             20 * b19[I] + 21 * b20[I] + 22 * b21[I] + 23 * b22[I] + 24 * b23[I] + 25 * b24[I] +
             26 * b25[I] + 27 * b26[I] + 28 * b27[I] + 29 * b28[I] + 30 * b29[I];
}
#elif defined(KERNEL_bytes)
GROUP(16, 1, 1)
layout(set = 0, binding = 0, std430) buffer In { uint8_t given[]; };
layout(set = 0, binding = 1, std430) buffer Out { uint8_t made[]; };
void main()
{
    made[I] = uint8_t(uint(given[I]) ^ 0x5Au);
}
#elif defined(KERNEL_rotate_group)
GROUP(128, 1, 1)
WORDS(0)
shared uint kept[128];
void main()
{
    kept[T] = b0[I];
    barrier();
    b0[I] = kept[(T + 127) % 128];
}
#elif defined(KERNEL_reduce)
GROUP(256, 1, 1)
WORDS(0)
WORDS(1)
shared uint partial[256];
void main()
{
    partial[T] = b0[I];
    for (uint half_size = 128; half_size > 0; half_size /= 2) {
        barrier();
        if (T < half_size)
            partial[T] += partial[T + half_size];
    }
    if (T == 0)
        b1[gl_WorkGroupID.x] = partial[0];
}
#elif defined(KERNEL_transpose_tiles)
GROUP(16, 16, 1)
WORDS(0)
WORDS(1)
CONSTANTS(uvec2 size;)
shared uint tile[16][17];
void main()
{
    const uvec2 at = gl_GlobalInvocationID.xy, t = gl_LocalInvocationID.xy;
    tile[t.y][t.x] = b0[at.y * size.x + at.x];
    barrier();
    const uvec2 to = gl_WorkGroupID.yx * 16 + t;
    b1[to.y * size.y + to.x] = tile[t.x][t.y];
}
#elif defined(KERNEL_scan)
GROUP(256, 1, 1)
WORDS(0)
shared uint sums[256];
void main()
{
    sums[T] = b0[I];
    for (uint distance = 1; distance < 256; distance *= 2) {
        barrier();
        const uint other = T >= distance ? sums[T - distance] : 0;
        barrier();
        sums[T] += other;
    }
    b0[I] = sums[T];
}
#elif defined(KERNEL_histogram)
GROUP(64, 1, 1)
WORDS(0)
WORDS(1)
shared uint bins[16];
void main()
{
    if (T < 16)
        bins[T] = 0;
    barrier();
    atomicAdd(bins[b0[I] % 16], 1);
    barrier();
    if (T < 16)
        atomicAdd(b1[T], bins[T]);
}
#elif defined(KERNEL_simd_functions)
/* Made for 32 lanes, which a device of Vulkan need not have: its case asks for them. */
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
GROUP(64, 1, 1)
WORDS(0)
WORDS(1)
void main()
{
    const uint v = b0[I], lane = gl_SubgroupInvocationID, o = I * 12;
    b1[o] = subgroupAdd(v);
    b1[o + 1] = subgroupMin(v);
    b1[o + 2] = subgroupMax(v);
    b1[o + 3] = subgroupXor(v);
    b1[o + 4] = subgroupExclusiveAdd(v);
    b1[o + 5] = subgroupInclusiveAdd(v);
    b1[o + 6] = subgroupShuffleXor(v, 5);
    b1[o + 7] = subgroupBroadcast(v, 9);
    b1[o + 8] = subgroupShuffle(v, lane * 7 % 32);
    b1[o + 9] = uint(subgroupAny(v == 77)) + 2 * uint(subgroupAll(v < 1000000));
    b1[o + 10] = subgroupShuffle(v, (lane + 3) % 32);
    b1[o + 11] = subgroupBallot((v & 1) != 0).x;
}
#elif defined(KERNEL_words)
GROUP(1024, 1, 1)
WORDS(0)
CONSTANTS(uint all[1024];)
void main()
{
    b0[I] = all[I];
}
#elif defined(KERNEL_mixed_types)
GROUP(32, 1, 1)
layout(set = 0, binding = 0, std430) buffer B0 { int8_t c[]; };
layout(set = 0, binding = 1, std430) buffer B1 { uint16_t s[]; };
layout(set = 0, binding = 2, std430) buffer B2 { float16_t h[]; };
layout(set = 0, binding = 3, std430) buffer B3 { int64_t l[]; };
layout(set = 0, binding = 4, std430) buffer B4 { vec4 f[]; };
void main()
{
    c[I] = int8_t(-int(c[I]));
    s[I] = uint16_t(uint(s[I]) * 3u);
    h[I] = float16_t(float(h[I]) * 0.5);
    l[I] = l[I] * 1000003L;
    f[I] = f[I].wzyx * 2.0;
}
#elif defined(KERNEL_write_one)
GROUP(1, 1, 1)
WORDS(0)
CONSTANTS(uvec2 what;)
void main()
{
    b0[what.x] = what.y;
}
#elif defined(KERNEL_chain)
GROUP(1, 1, 1)
WORDS(0)
CONSTANTS(uint add;)
void main()
{
    b0[0] = b0[0] * 3 + add;
}
#elif defined(KERNEL_spin)
GROUP(64, 1, 1)
WORDS(0)
CONSTANTS(uint steps;)
void main()
{
    uint v = b0[I];
    for (uint n = 0; n < steps; n++)
        v = v * 1664525 + 1013904223;
    b0[I] = v;
}
#endif
