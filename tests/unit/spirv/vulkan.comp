#version 450
// SPDX-License-Identifier: Apache-2.0
// Modules of test_vulkan_*.c, one per CASE_ macro.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };

#if defined(CASE_increment)
void main() { x[gl_GlobalInvocationID.x] += 1; }
#endif
