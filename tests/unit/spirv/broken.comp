#version 450
// SPDX-License-Identifier: Apache-2.0
// Valid modules that are refused, each for one reason.
#extension GL_EXT_nonuniform_qualifier : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_atomic_int64 : enable
#extension GL_EXT_buffer_reference : enable
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer X { uint x[]; };
#if defined(CASE_image)
layout(set = 0, binding = 5, r32ui) uniform uimage2D picture;
void main() { imageStore(picture, ivec2(0), uvec4(x[0])); }
#elif defined(CASE_sampler)
layout(set = 2, binding = 1) uniform sampler2D photo;
void main() { x[0] = uint(textureLod(photo, vec2(0.5), 0.0).x); }
#elif defined(CASE_double)
void main() { x[0] = uint(double(x[0]) * 1.5lf); }
#elif defined(CASE_far_set)
layout(set = 4, binding = 0) buffer Y { uint distant[]; } far;
void main() { x[0] = far.distant[0]; }
#elif defined(CASE_far_binding)
layout(set = 0, binding = 31) buffer Y { uint distant[]; } far;
void main() { x[0] = far.distant[0]; }
#elif defined(CASE_buffer_array)
layout(set = 0, binding = 1) buffer Y { uint one[]; } many[3];
void main() { x[0] = many[1].one[0]; }
#elif defined(CASE_int64_atomics)
layout(set = 0, binding = 1) buffer Y { uint64_t big; };
void main() { atomicAdd(big, 1ul); }
#elif defined(CASE_address)
layout(buffer_reference) buffer Y { uint one; };
layout(push_constant) uniform P { Y pointer; };
void main() { x[0] = pointer.one; }
#elif defined(CASE_too_much_memory)
shared uint big[8193];
void main() { big[gl_LocalInvocationIndex] = x[0]; barrier(); x[1] = big[x[2] % 8193]; }
#endif
