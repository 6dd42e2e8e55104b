/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU as a target: the families that it belongs to. */
#include "hal/drivers/metal/metal.h"

#include <stdio.h>

/* Sorted by name; the newest supported one of Apple's own is the architecture. */
static const struct {
    const char *name;
    MTLGPUFamily family;
} families[] = {
    {"apple1", MTLGPUFamilyApple1},   {"apple2", MTLGPUFamilyApple2},
    {"apple3", MTLGPUFamilyApple3},   {"apple4", MTLGPUFamilyApple4},
    {"apple5", MTLGPUFamilyApple5},   {"apple6", MTLGPUFamilyApple6},
    {"apple7", MTLGPUFamilyApple7},   {"apple8", MTLGPUFamilyApple8},
    {"apple9", MTLGPUFamilyApple9},   {"common1", MTLGPUFamilyCommon1},
    {"common2", MTLGPUFamilyCommon2}, {"common3", MTLGPUFamilyCommon3},
    {"mac2", MTLGPUFamilyMac2},       {"metal3", MTLGPUFamilyMetal3},
};

void metal_describe_target(id<MTLDevice> system, struct hal_device_info *out_info)
{
    const char *architecture = "metal";
    size_t used = 0;
    out_info->features[0] = '\0';
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (![system supportsFamily:families[i].family])
            continue;
        used += (size_t)snprintf(out_info->features + used, sizeof out_info->features - used,
                                 "%s%s", used ? "," : "", families[i].name);
        if (strncmp(families[i].name, "apple", 5) == 0 || strcmp(families[i].name, "mac2") == 0)
            architecture = families[i].name;
    }
    snprintf(out_info->architecture, sizeof out_info->architecture, "%s", architecture);
}
