/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the conformance suite; suite.h says what each does. */
#include <metal_stdlib>

using namespace metal;

kernel void copy_words(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]])
{
    out[i] = in[i];
}

kernel void increment(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    x[i] += 1;
}

kernel void affine(device uint *x [[buffer(0)]], constant uint2 &c [[buffer(4)]],
                   uint i [[thread_position_in_grid]])
{
    x[i] = x[i] * c.x + c.y;
}

kernel void number(device uint *out [[buffer(0)]], constant uint &first [[buffer(1)]],
                   uint i [[thread_position_in_grid]])
{
    out[i] = first + i;
}

kernel void bounded(device uint *out [[buffer(0)]], constant uint &count [[buffer(1)]],
                    uint i [[thread_position_in_grid]])
{
    if (i < count)
        out[i] = i + 1;
}

struct place {
    uint in_grid[3], in_group[3], group[3], workgroup_size[3], groups[3], grid[3];
    uint index_in_group, lane, simdgroup, simdgroups, visits;
};

kernel void positions(device place *out [[buffer(0)]], uint3 in_grid [[thread_position_in_grid]],
                      uint3 in_group [[thread_position_in_threadgroup]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint3 workgroup_size [[threads_per_threadgroup]],
                      uint3 groups [[threadgroups_per_grid]], uint3 grid [[threads_per_grid]],
                      uint index_in_group [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]])
{
    device place &p = out[(in_grid.z * grid.y + in_grid.y) * grid.x + in_grid.x];
    for (uint i = 0; i < 3; i++) {
        p.in_grid[i] = in_grid[i];
        p.in_group[i] = in_group[i];
        p.group[i] = group[i];
        p.workgroup_size[i] = workgroup_size[i];
        p.groups[i] = groups[i];
        p.grid[i] = grid[i];
    }
    p.index_in_group = index_in_group;
    p.lane = lane;
    p.simdgroup = simdgroup;
    p.simdgroups = simdgroups;
    p.visits += 1;
}

kernel void count_threads(device atomic_uint *out [[buffer(0)]])
{
    atomic_fetch_add_explicit(out, 1u, memory_order_relaxed);
}

#define INPUT(n) device const uint *b##n [[buffer(n)]]
kernel void gather(INPUT(0), INPUT(1), INPUT(2), INPUT(3), INPUT(4), INPUT(5), INPUT(6), INPUT(7),
                   INPUT(8), INPUT(9), INPUT(10), INPUT(11), INPUT(12), INPUT(13), INPUT(14),
                   INPUT(15), INPUT(16), INPUT(17), INPUT(18), INPUT(19), INPUT(20), INPUT(21),
                   INPUT(22), INPUT(23), INPUT(24), INPUT(25), INPUT(26), INPUT(27), INPUT(28),
                   INPUT(29), device uint *out [[buffer(30)]],
                   uint i [[thread_position_in_grid]])
{
    out[i] = 1 * b0[i] + 2 * b1[i] + 3 * b2[i] + 4 * b3[i] + 5 * b4[i] + 6 * b5[i] + 7 * b6[i] +
             8 * b7[i] + 9 * b8[i] + 10 * b9[i] + 11 * b10[i] + 12 * b11[i] + 13 * b12[i] +
             14 * b13[i] + 15 * b14[i] + 16 * b15[i] + 17 * b16[i] + 18 * b17[i] + 19 * b18[i] +
             20 * b19[i] + 21 * b20[i] + 22 * b21[i] + 23 * b22[i] + 24 * b23[i] + 25 * b24[i] +
             26 * b25[i] + 27 * b26[i] + 28 * b27[i] + 29 * b28[i] + 30 * b29[i];
}

kernel void bytes(device const uchar *in [[buffer(0)]], device uchar *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]])
{
    out[i] = in[i] ^ 0x5A;
}

kernel void rotate_group(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]])
{
    threadgroup uint shared[128];
    shared[t] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[(t + 127) % 128];
}

kernel void reduce(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]])
{
    threadgroup uint partial[256];
    partial[t] = in[i];
    for (uint half_size = 128; half_size > 0; half_size /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < half_size)
            partial[t] += partial[t + half_size];
    }
    if (t == 0)
        out[group] = partial[0];
}

kernel void transpose_tiles(device const uint *in [[buffer(0)]], device uint *out [[buffer(1)]],
                            constant uint2 &size [[buffer(2)]],
                            uint2 at [[thread_position_in_grid]],
                            uint2 t [[thread_position_in_threadgroup]],
                            uint2 group [[threadgroup_position_in_grid]])
{
    threadgroup uint tile[16][17];
    tile[t.y][t.x] = in[at.y * size.x + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint2 to = uint2(group.y * 16 + t.x, group.x * 16 + t.y);
    out[to.y * size.y + to.x] = tile[t.x][t.y];
}

kernel void scan(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]])
{
    threadgroup uint sums[256];
    sums[t] = x[i];
    for (uint distance = 1; distance < 256; distance *= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint other = t >= distance ? sums[t - distance] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sums[t] += other;
    }
    x[i] = sums[t];
}

kernel void histogram(device const uint *in [[buffer(0)]], device atomic_uint *out [[buffer(1)]],
                      uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]])
{
    threadgroup atomic_uint bins[16];
    if (t < 16)
        atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&bins[in[i] % 16], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 16)
        atomic_fetch_add_explicit(&out[t], atomic_load_explicit(&bins[t], memory_order_relaxed),
                                  memory_order_relaxed);
}

kernel void simd_functions(device const uint *x [[buffer(0)]], device uint *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]])
{
    uint v = x[i];
    device uint *o = out + i * 12;
    o[0] = simd_sum(v);
    o[1] = simd_min(v);
    o[2] = simd_max(v);
    o[3] = simd_xor(v);
    o[4] = simd_prefix_exclusive_sum(v);
    o[5] = simd_prefix_inclusive_sum(v);
    o[6] = simd_shuffle_xor(v, ushort(5));
    o[7] = simd_broadcast(v, ushort(9));
    o[8] = simd_shuffle(v, ushort((lane * 7) % 32));
    o[9] = uint(simd_any(v == 77)) + 2 * uint(simd_all(v < 1000000));
    o[10] = simd_shuffle_rotate_down(v, ushort(3));
    o[11] = uint(simd_vote::vote_t(simd_ballot((v & 1) != 0)));
}

kernel void words(device uint *out [[buffer(0)]], constant uint *all [[buffer(1)]],
                  uint i [[thread_position_in_grid]])
{
    out[i] = all[i];
}

kernel void mixed_types(device char *c [[buffer(0)]], device ushort *s [[buffer(1)]],
                        device half *h [[buffer(2)]], device long *l [[buffer(3)]],
                        device float4 *f [[buffer(4)]], uint i [[thread_position_in_grid]])
{
    c[i] = char(-c[i]);
    s[i] = ushort(s[i] * 3);
    h[i] = h[i] * half(0.5);
    l[i] = l[i] * 1000003;
    f[i] = f[i].wzyx * 2.0f;
}

kernel void write_one(device uint *out [[buffer(0)]], constant uint2 &what [[buffer(1)]])
{
    out[what.x] = what.y;
}

kernel void chain(device uint *x [[buffer(0)]], constant uint &add [[buffer(1)]])
{
    x[0] = x[0] * 3 + add;
}

kernel void spin(device uint *x [[buffer(0)]], constant uint &steps [[buffer(1)]],
                 uint i [[thread_position_in_grid]])
{
    uint v = x[i];
    for (uint n = 0; n < steps; n++)
        v = v * 1664525 + 1013904223;
    x[i] = v;
}
