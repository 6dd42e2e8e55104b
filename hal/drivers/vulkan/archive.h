/* SPDX-License-Identifier: Apache-2.0 */
/* What an executable cache stores for an executable: its Vulkan pipeline cache, in a file of the
 * cache's directory named by a digest of all inputs. */
#ifndef HAL_VULKAN_ARCHIVE_H
#define HAL_VULKAN_ARCHIVE_H

#include "hal/compiler/spirv/module.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <limits.h>

/* Initialise to zero. */
struct vulkan_archive {
    const char *directory; /* borrowed from the executable cache; NULL: no caching */
    uint64_t max_bytes;    /* of the directory */
    char path[PATH_MAX];   /* of the file */
    VkPipelineCache cache; /* the executable's own; VK_NULL_HANDLE: uses the device's */
    size_t found_bytes;    /* size of Vulkan's data in the file; 0: none usable */
};

/* Loads cached data. Unreadable files count as missing; the reason is logged. */
void vulkan_archive_open(struct vulkan_archive *archive, const struct vulkan_device *device,
                         const struct hal_executable_desc *desc, const struct spirv_module *module);

/* Stores new data, if the pipelines were created. Write failures are only logged: the executable
 * works without. True: the data found was complete. */
bool vulkan_archive_close(struct vulkan_archive *archive, const struct vulkan_device *device,
                          bool are_made);

#endif
