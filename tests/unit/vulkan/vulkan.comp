#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
// SPDX-License-Identifier: Apache-2.0
// Modules of test_vulkan_*.c, one per CASE_ macro.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };

#if defined(CASE_increment)
void main() { x[gl_GlobalInvocationID.x] += 1; }
#endif

#if defined(CASE_wide)
void main()
{
    uint64_t wide = uint64_t(x[gl_GlobalInvocationID.x]) << 33;
    x[gl_GlobalInvocationID.x] = uint(wide >> 32);
}
#endif

#if defined(CASE_sharing)
shared uint y[1024];
void main()
{
    y[gl_LocalInvocationIndex] = x[gl_GlobalInvocationID.x];
    barrier();
    x[gl_GlobalInvocationID.x] = y[63 - gl_LocalInvocationIndex];
}
#endif

#if defined(CASE_pushing)
layout(push_constant) uniform Constants { uint a, b; };
void main() { x[gl_GlobalInvocationID.x] = 10 * a + b; }
#endif
