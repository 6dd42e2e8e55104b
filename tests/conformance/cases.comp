/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of executables.c and layouts.c for devices that run SPIR-V but no MSL: each is compiled
 * with KERNEL_name defined, under that name, and all are linked into one module. */
#version 450

#define WORDS(s, n, name) layout(set = s, binding = n, std430) buffer name##_buffer { uint name[]; };
#define READ(s, n, name)                                                                           \
    layout(set = s, binding = n, std430) readonly buffer name##_buffer { uint name[]; };
#define GROUP(x) layout(local_size_x = x, local_size_y = 1, local_size_z = 1) in;
#define I gl_GlobalInvocationID.x

#if defined(KERNEL_plus_one)
GROUP(4)
WORDS(0, 0, x)
void main()
{
    x[I] += 1;
}
#elif defined(KERNEL_plus_ten)
GROUP(4)
WORDS(0, 0, x)
void main()
{
    x[I] += 10;
}
#elif defined(KERNEL_combine)
GROUP(32)
READ(0, 0, a)
READ(0, 1, b)
WORDS(1, 0, sum)
WORDS(1, 1, product)
layout(push_constant) uniform Constants { uint bias; };
void main()
{
    sum[I] = a[I] + b[I] + bias;
    product[I] = a[I] * b[I];
}
#elif defined(KERNEL_four)
GROUP(32)
READ(0, 0, s)
READ(1, 0, t)
READ(2, 0, u)
WORDS(3, 0, v)
void main()
{
    v[I] = s[I] + 10 * t[I] + 100 * u[I];
}
#elif defined(KERNEL_plain)
GROUP(32)
WORDS(0, 0, x)
void main()
{
    x[I] += 1;
}
#endif
