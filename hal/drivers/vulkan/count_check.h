/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that checks the counts of indirect dispatches. */
#ifndef HAL_VULKAN_COUNT_CHECK_H
#define HAL_VULKAN_COUNT_CHECK_H

#include "hal/drivers/vulkan/vulkan.h"

/* Layout as in count_check.comp. */
struct vulkan_count_check_constants {
    uint32_t limits[3];
    uint32_t word,
        index; /* position of the counts in the first buffer; of the result in the second */
};

struct vulkan_count_check_constants vulkan_count_check_constants_of(
    const struct vulkan_device *device, const struct hal_entry_point *entry, uint32_t word,
    uint32_t index);

/* HAL_INVALID: exceeds the HAL's limits. HAL_UNSUPPORTED: exceeds the device's. */
enum hal_status vulkan_check_counts(const struct vulkan_device *device,
                                    const struct hal_entry_point *entry,
                                    const uint32_t counts[3]) HAL_CHECKED;

#endif
