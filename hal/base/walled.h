/* SPDX-License-Identifier: Apache-2.0 */
/* Include in the main file of a program that may run in a sandbox. A sanitizer's runtime disables
 * core dumps at start and stops all threads at exit to look for leaks; where these calls are
 * refused, it gives up. It also reads its variables from /proc, which is missing there. */
#ifndef HAL_BASE_WALLED_H
#define HAL_BASE_WALLED_H

#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "disable_coredump=0:detect_leaks=0";
}
#endif

#if defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
    return "disable_coredump=0";
}
#endif

#endif
