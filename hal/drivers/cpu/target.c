/* SPDX-License-Identifier: Apache-2.0 */
/* The processor as a target: what compiled kernels may use of it. */
#include "hal/drivers/cpu/cpu.h"

#include <stdio.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))
static void add(char *features, size_t bytes, const char *name, bool has)
{
    const size_t used = strlen(features);
    if (has)
        snprintf(features + used, bytes - used, "%s%s", used ? "," : "", name);
}
#endif

#if defined(__x86_64__)
/* The names must be literals. */
static void list_features(char *features, size_t bytes)
{
    __builtin_cpu_init();
    add(features, bytes, "avx", __builtin_cpu_supports("avx"));
    add(features, bytes, "avx2", __builtin_cpu_supports("avx2"));
    add(features, bytes, "avx512bw", __builtin_cpu_supports("avx512bw"));
    add(features, bytes, "avx512dq", __builtin_cpu_supports("avx512dq"));
    add(features, bytes, "avx512f", __builtin_cpu_supports("avx512f"));
    add(features, bytes, "avx512vl", __builtin_cpu_supports("avx512vl"));
    add(features, bytes, "bmi2", __builtin_cpu_supports("bmi2"));
    add(features, bytes, "fma", __builtin_cpu_supports("fma"));
    add(features, bytes, "sse4.2", __builtin_cpu_supports("sse4.2"));
}
static const char architecture[] = "x86_64";
#elif defined(__aarch64__) && defined(__linux__)
static void list_features(char *features, size_t bytes)
{
    const unsigned long has = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
    add(features, bytes, "asimd", has & HWCAP_ASIMD);
    add(features, bytes, "bf16", more & HWCAP2_BF16);
    add(features, bytes, "dotprod", has & HWCAP_ASIMDDP);
    add(features, bytes, "fp16", has & HWCAP_ASIMDHP);
    add(features, bytes, "i8mm", more & HWCAP2_I8MM);
    add(features, bytes, "sve", has & HWCAP_SVE);
}
static const char architecture[] = "aarch64";
#else
static void list_features(char *features, size_t bytes)
{
    (void)features;
    (void)bytes;
}
#if defined(__aarch64__)
static const char architecture[] = "aarch64";
#else
static const char architecture[] = "unknown";
#endif
#endif

void cpu_describe_target(struct hal_device_info *out_info)
{
    snprintf(out_info->architecture, sizeof out_info->architecture, "%s", architecture);
    out_info->features[0] = '\0';
    list_features(out_info->features, sizeof out_info->features);
}
