/* SPDX-License-Identifier: Apache-2.0 */
/* What an executable cache keeps of an executable: Vulkan's pipeline cache of it, in a file of the
 * cache's directory whose name is a digest of everything that it follows from. */
#ifndef HAL_VULKAN_ARCHIVE_H
#define HAL_VULKAN_ARCHIVE_H

#include "hal/compiler/spirv/module.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <limits.h>

/* Starts as zeros. */
struct vulkan_archive {
    const char *directory; /* borrowed from the executable cache; NULL: nothing is kept */
    uint64_t max_bytes;    /* of the directory */
    char path[PATH_MAX];   /* of the file */
    VkPipelineCache cache; /* the executable's own; VK_NULL_HANDLE: the device's serves */
    size_t found_bytes;    /* of Vulkan's, in the file; 0: there was none of use */
};

/* Finds what was kept. What cannot be read counts as not there; why, is logged. */
void vulkan_archive_open(struct vulkan_archive *archive, const struct vulkan_device *device,
                         const struct hal_executable_desc *desc, const struct spirv_module *module);

/* Keeps what was compiled, if the pipelines are made. What cannot be written is logged: the
 * executable is as good without. True: nothing had to be added to what was found. */
bool vulkan_archive_close(struct vulkan_archive *archive, const struct vulkan_device *device,
                          bool are_made);

#endif
