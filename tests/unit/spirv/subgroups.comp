#version 450
// SPDX-License-Identifier: Apache-2.0
// Subgroups of 32 threads. One kernel per CASE_ macro; test_spirv_subgroups.c knows what each must
// compute.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_quad : require

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
layout(set = 0, binding = 2) buffer Z { float z[]; };
uint id() { return gl_GlobalInvocationID.x; }

void main()
{
    uint v = x[id()], at = id() * 8;
#if defined(CASE_places)
    y[at] = gl_SubgroupSize;
    y[at + 1] = gl_NumSubgroups;
    y[at + 2] = gl_SubgroupID;
    y[at + 3] = gl_SubgroupInvocationID;
    y[at + 4] = subgroupElect() ? 1u : 0u;
    y[at + 5] = gl_SubgroupLtMask.x;
    y[at + 6] = gl_SubgroupGeMask.x;
    y[at + 7] = gl_SubgroupEqMask.x;
#elif defined(CASE_reductions)
    y[at] = subgroupAdd(v);
    y[at + 1] = subgroupMul(v | 1u);
    y[at + 2] = subgroupMin(v);
    y[at + 3] = subgroupMax(v);
    y[at + 4] = subgroupAnd(v | 0xff00ffu);
    y[at + 5] = subgroupOr(v & 0xff00ffu);
    y[at + 6] = subgroupXor(v);
    y[at + 7] = uint(subgroupMin(int(v)));
#elif defined(CASE_scans)
    y[at] = subgroupInclusiveAdd(v);
    y[at + 1] = subgroupExclusiveAdd(v);
    y[at + 2] = subgroupInclusiveMul(v | 1u);
    y[at + 3] = subgroupExclusiveMul(v | 1u);
#elif defined(CASE_floats)
    float f = float(v & 255u);
    z[id() * 4] = subgroupAdd(f);
    z[id() * 4 + 1] = subgroupMax(f * -0.5);
    z[id() * 4 + 2] = subgroupInclusiveAdd(f);
    z[id() * 4 + 3] = subgroupShuffle(f, 31u - gl_SubgroupInvocationID);
#elif defined(CASE_votes)
    bool odd = (v & 1u) != 0u;
    y[at] = subgroupAny(odd) ? 1u : 0u;
    y[at + 1] = subgroupAll(odd || id() > 31u) ? 1u : 0u;
    y[at + 2] = subgroupAllEqual(gl_SubgroupID) ? 1u : 0u;
    y[at + 3] = subgroupAllEqual(v) ? 1u : 0u;
#elif defined(CASE_ballots)
    uvec4 ballot = subgroupBallot((v & 1u) != 0u);
    y[at] = ballot.x;
    y[at + 1] = ballot.y | ballot.z | ballot.w;
    y[at + 2] = subgroupBallotBitCount(ballot);
    y[at + 3] = subgroupBallotInclusiveBitCount(ballot);
    y[at + 4] = subgroupBallotExclusiveBitCount(ballot);
    y[at + 5] = subgroupInverseBallot(ballot) ? 1u : 0u;
    y[at + 6] = subgroupBallotBitExtract(ballot, (id() * 5u) & 31u) ? 1u : 0u;
    y[at + 7] = ballot.x != 0u ? subgroupBallotFindLSB(ballot) * 100u + subgroupBallotFindMSB(ballot) : 0u;
#elif defined(CASE_shuffles)
    y[at] = subgroupShuffle(v, (id() * 7u + 3u) & 31u);
    y[at + 1] = subgroupShuffleXor(v, 5u);
    uint up = subgroupShuffleUp(v, 3u), down = subgroupShuffleDown(v, 4u);
    y[at + 2] = gl_SubgroupInvocationID >= 3u ? up : 0u;
    y[at + 3] = gl_SubgroupInvocationID < 28u ? down : 0u;
    y[at + 4] = subgroupBroadcast(v, 9u);
    y[at + 5] = subgroupBroadcastFirst(v);
    uvec2 both = subgroupShuffleXor(uvec2(v, ~v), 1u);
    y[at + 6] = both.x;
    y[at + 7] = both.y;
#elif defined(CASE_quads)
    y[at] = subgroupQuadBroadcast(v, 2u);
    y[at + 1] = subgroupQuadSwapHorizontal(v);
    y[at + 2] = subgroupQuadSwapVertical(v);
    y[at + 3] = subgroupQuadSwapDiagonal(v);
#elif defined(CASE_divergent)
    uint sum = 0u;
    if ((v & 3u) == 1u)
        sum = subgroupAdd(v) + subgroupBallotBitCount(subgroupBallot(true)) * 1000000u;
    else if ((v & 3u) == 2u)
        sum = subgroupMax(v) + (subgroupElect() ? 1u : 0u);
    for (uint i = 0u; i < (v & 7u); i++)
        sum += subgroupAdd(1u);
    y[id()] = sum;
#elif defined(CASE_barriers)
    y[at] = v;
    subgroupBarrier();
    subgroupMemoryBarrierBuffer();
    y[at + 1] = y[(id() ^ 1u) * 8u];
#endif
}
