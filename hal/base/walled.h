/* SPDX-License-Identifier: Apache-2.0 */
/* For the main file of a program that may run in a sandbox. A sanitizer's runtime
 * begins by turning core dumps off and ends by stopping all threads to look for leaks; where these
 * calls are refused, it gives up. Its environment variables it reads from /proc, which is not there
 * either. */
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
