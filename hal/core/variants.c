/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant of an executable a driver takes. */
#include "hal/driver.h"

#include <stdio.h>
#include <string.h>

/* Each format once, in the order in which they are offered. */
static void list_offered(const struct hal_executable_desc *desc, char *out_text, size_t bytes)
{
    uint32_t seen = 0;
    out_text[0] = '\0';
    for (size_t i = 0; i < desc->variant_count; i++) {
        const enum hal_executable_format format = desc->variants[i].format;
        const size_t used = strlen(out_text);
        if (seen >> format & 1)
            continue;
        seen |= 1U << format;
        snprintf(out_text + used, bytes - used, "%s%s", used ? ", " : "",
                 hal_executable_format_name(format));
    }
}

/* "MSL", "MSL and SPIR-V", "metallib, MSL and SPIR-V". */
static void list_known(const struct hal_variant_builder *builder, char *out_text, size_t bytes)
{
    out_text[0] = '\0';
    for (size_t i = 0; i < builder->format_count; i++) {
        const size_t used = strlen(out_text);
        const bool last = i + 1 == builder->format_count;
        snprintf(out_text + used, bytes - used, "%s%s",
                 i == 0 ? ""
                 : last ? " and "
                        : ", ",
                 hal_executable_format_name(builder->formats[i]));
    }
}

enum hal_status hal_variants_build(const struct hal_variant_builder *builder, void *user,
                                   const struct hal_executable_desc *desc, size_t *out_variant)
{
    char known[64], offered[64];
    enum hal_status status = HAL_UNSUPPORTED;
    bool tried = false;
    for (size_t f = 0; f < builder->format_count; f++) {
        for (size_t i = 0; i < desc->variant_count && status == HAL_UNSUPPORTED; i++) {
            if (desc->variants[i].format != builder->formats[f])
                continue;
            tried = true;
            *out_variant = i;
            status = builder->build(user, desc, &desc->variants[i]);
        }
    }
    if (tried)
        return status;
    list_known(builder, known, sizeof known);
    list_offered(desc, offered, sizeof offered);
    return hal_fail(HAL_UNSUPPORTED, "the %s driver runs %s, not %s", builder->driver, known,
                    offered);
}
