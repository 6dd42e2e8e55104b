/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the loader in tests (vulkan_shim.h) through which a device tells of itself and gives
 * memory, queues and times. */
#ifndef TESTS_SUPPORT_VULKAN_FACTS_H
#define TESTS_SUPPORT_VULKAN_FACTS_H

#include "tests/support/vulkan_shim.h"

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

/* In a function that is asked for the function `name`, of which `found` is the real one. */
#define STAND_BEFORE(function)                                                                     \
    if (strcmp(name, "vk" #function) == 0) {                                                       \
        next_##function = (PFN_vk##function)found;                                                 \
        return (PFN_vkVoidFunction)(function);                                                     \
    }

__attribute__((visibility("default"))) vulkan_shim_get vulkan_shim;

/* What stands before `found`; that one itself if nothing does. */
PFN_vkVoidFunction vulkan_facts_before(const char *name, PFN_vkVoidFunction found);

/* What a call that gets this queue hands on. */
VkQueue vulkan_facts_queue(VkQueue queue);

#endif
