#version 450
// SPDX-License-Identifier: Apache-2.0
// Modules of spirv.c, one per CASE_ macro.
#extension GL_KHR_shader_subgroup_arithmetic : require
#if defined(CASE_sum)
layout(local_size_x = 128) in;
#else
layout(local_size_x = 64) in;
#endif
uint id() { return gl_GlobalInvocationID.x; }

#if defined(CASE_add)
layout(push_constant) uniform P { uint more; };
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[id()] += more; }
#elif defined(CASE_scale)
layout(constant_id = 7) const uint factor = 3;
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[id()] *= factor; }
#elif defined(CASE_sets)
layout(set = 3, binding = 1) buffer D { uint d[]; };
layout(set = 2, binding = 30) readonly buffer C { uint c[]; };
layout(set = 0, binding = 3) readonly buffer A { uint a[]; };
layout(set = 1, binding = 0) readonly buffer B { uint b[]; };
void main() { d[id()] = 1000 * a[id()] + b[id()] - c[id()]; }
#elif defined(CASE_sum)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
shared uint parts[4];
void main()
{
    uint part = subgroupAdd(x[id()]);
    if (gl_SubgroupInvocationID == 0)
        parts[gl_SubgroupID] = part;
    barrier();
    if (gl_LocalInvocationIndex == 0)
        y[gl_WorkGroupID.x] = parts[0] + parts[1] + parts[2] + parts[3];
}
#elif defined(CASE_access)
layout(set = 0, binding = 0) buffer A { uint a[]; }; // read, though it might be written
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(set = 0, binding = 2) buffer C { uint c; };
layout(set = 0, binding = 3, std140) uniform U { uvec4 u; uint v; }; // 20 bytes
uint twice(uint x) { return 2 * x; }
void main()
{
    b[id()] = twice(a[id()]) + u.x + v;
    atomicAdd(c, 1);
}
#elif defined(CASE_length)
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y; };
void main() { y = x.length(); }
#endif
