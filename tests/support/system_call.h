/* SPDX-License-Identifier: Apache-2.0 */
/* System calls by their instruction: for native code that names no function of a library. Header
 * only. */
#ifndef TESTS_SUPPORT_SYSTEM_CALL_H
#define TESTS_SUPPORT_SYSTEM_CALL_H

#include <sys/syscall.h>

#if defined(__x86_64__)
/* As many as the kernel takes. NOLINTNEXTLINE(readability-function-size) */
static inline long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#else
/* As many as the kernel takes. NOLINTNEXTLINE(readability-function-size) */
static inline long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#endif

#define CALL1(n, a)          call(n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b)       call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c)    call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

#endif
