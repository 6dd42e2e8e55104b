#version 450
// SPDX-License-Identifier: Apache-2.0
// Modules of spirv.c, one per CASE_ macro.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#if defined(CASE_sum)
layout(local_size_x = 128) in;
#elif defined(CASE_plus_one) || defined(CASE_plus_ten) || defined(CASE_adder)
layout(local_size_x = 4) in;
#elif defined(CASE_show) || defined(CASE_tell) || defined(CASE_answer)
layout(local_size_x = 1) in;
#elif defined(CASE_largest)
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
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
shared uint parts[128]; // subgroups may have one thread each
void main()
{
    parts[gl_LocalInvocationIndex] = 0;
    barrier();
    uint part = subgroupAdd(x[id()]);
    if (subgroupElect())
        parts[gl_SubgroupID] = part;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        uint all = 0;
        for (uint i = 0; i < 128; i++)
            all += parts[i];
        y[gl_WorkGroupID.x] = all;
    }
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
// What other areas write in MSL, for devices that do not run that.
#elif defined(CASE_plus_one)
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[id()] += 1; }
#elif defined(CASE_plus_ten)
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[id()] += 10; }
#elif defined(CASE_adder)
layout(constant_id = 0) const uint number = 0;
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[id()] += number; }
#elif defined(CASE_answer)
layout(constant_id = 0) const uint number = 0;
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[0] = number; }
#elif defined(CASE_tell)
layout(constant_id = 0) const int c = 7;
layout(constant_id = 1) const int d = 8;
layout(set = 0, binding = 0) buffer X { int x[]; };
void main() { x[0] = c * 100 + d; }
#elif defined(CASE_show)
layout(constant_id = 0) const bool flag = false;
layout(constant_id = 1) const int number = 0;
layout(constant_id = 7) const uint bits = 0;
layout(constant_id = 60) const float scale = 0;
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main()
{
    x[0] = flag ? 1 : 0;
    x[1] = uint(number);
    x[2] = bits;
    x[3] = floatBitsToUint(scale);
}
#elif defined(CASE_largest)
layout(set = 0, binding = 0) buffer X { uint x[]; };
void main() { x[gl_LocalInvocationIndex] = gl_LocalInvocationIndex + 1; }
#elif defined(CASE_greedy)
layout(constant_id = 0) const uint words = 1;
layout(set = 0, binding = 0) buffer X { uint x[]; };
shared uint s[words];
void main()
{
    for (uint k = gl_LocalInvocationIndex; k < words; k += 64)
        s[k] = k;
    barrier();
    x[gl_LocalInvocationIndex] = s[words - 1 - gl_LocalInvocationIndex];
}
#endif
