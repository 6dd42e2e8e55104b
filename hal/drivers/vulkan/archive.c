/* SPDX-License-Identifier: Apache-2.0 */
/* See archive.h. A Vulkan driver trusts its input: a file is used only if it belongs to this user
 * alone, matches its digest, and was made by this device with this driver. A file is written beside
 * its destination and renamed, so that readers see a complete one. */
#include "hal/drivers/vulkan/archive.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".vkpipelines";
static const char version[] = "haltrace-vulkan-1"; /* of what is in a name */

enum { MAX_BYTES = 256 << 20 };

/* The header before Vulkan's bytes. */
struct file_head {
    char magic[8];
    uint64_t bytes;
    uint8_t digest[HAL_DIGEST_BYTES]; /* SHA-256 of those */
};
static const char magic[8] = "HALVKPC1";

/* ---- The directory -------------------------------------------------------------------------- */

enum hal_status vulkan_cache_open(struct hal_driver_device *self, const char *wanted,
                                  char *out_path, size_t bytes)
{
    (void)self;
    return hal_store_open(wanted, "vulkan", out_path, bytes);
}

enum hal_status vulkan_cache_measure(struct hal_driver_device *self, const char *directory,
                                     uint64_t *out_bytes, uint64_t *out_entries)
{
    (void)self;
    return hal_store_measure(directory, suffix, out_bytes, out_entries);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void add_device(struct hal_digest *digest, const struct vulkan_device *device)
{
    const VkPhysicalDeviceProperties *properties = &device->properties;
    const uint32_t numbers[] = {properties->vendorID, properties->deviceID,
                                properties->driverVersion, properties->apiVersion,
                                device->has_push};
    hal_digest_add(digest, version, sizeof version);
    hal_digest_add(digest, numbers, sizeof numbers);
    hal_digest_add(digest, properties->pipelineCacheUUID, VK_UUID_SIZE);
    hal_digest_add_string(digest, properties->deviceName);
}

/* The module has its constants' values by now. */
static bool find_path(struct vulkan_archive *archive, const struct vulkan_device *device,
                      const struct hal_executable_desc *desc, const struct spirv_module *module)
{
    uint8_t key[HAL_STORE_KEY_BYTES];
    struct hal_digest digest = hal_digest_begin();
    add_device(&digest, device);
    hal_digest_add(&digest, module->words, module->count * sizeof *module->words);
    for (size_t i = 0; i < desc->entry_point_count; i++)
        hal_digest_add_string(&digest, desc->entry_points[i].name);
    return hal_digest_end(&digest, key) == HAL_OK &&
           hal_store_path(archive->directory, key, suffix, archive->path, sizeof archive->path) ==
               HAL_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Vulkan's own header: drivers should check it, but not all do. */
static const char *check_data(const struct vulkan_device *device, const void *data, size_t bytes)
{
    VkPipelineCacheHeaderVersionOne head;
    if (bytes < sizeof head)
        return "it is too short";
    memcpy(&head, data, sizeof head);
    if (head.headerSize < sizeof head || head.headerSize > bytes ||
        head.headerVersion != VK_PIPELINE_CACHE_HEADER_VERSION_ONE)
        return "it has another kind of header";
    if (head.vendorID != device->properties.vendorID ||
        head.deviceID != device->properties.deviceID ||
        memcmp(head.pipelineCacheUUID, device->properties.pipelineCacheUUID, VK_UUID_SIZE) != 0)
        return "it belongs to another device or driver";
    return NULL;
}

/* Allocates *out_data; returns what is wrong with the file. */
static const char *read_file(const struct vulkan_device *device, int file, uint8_t **out_data,
                             size_t *out_bytes)
{
    struct file_head head;
    struct stat facts;
    uint8_t digest[HAL_DIGEST_BYTES];
    if (fstat(file, &facts) != 0 || !hal_read_all(file, &head, sizeof head) ||
        memcmp(head.magic, magic, sizeof magic) != 0)
        return "it has no header";
    if (head.bytes == 0 || head.bytes > MAX_BYTES ||
        (uint64_t)facts.st_size != sizeof head + head.bytes)
        return "its size does not match its header";
    *out_data = hal_alloc(1, head.bytes);
    *out_bytes = head.bytes;
    if (!*out_data)
        return "there is no memory for it";
    if (!hal_read_all(file, *out_data, head.bytes) ||
        hal_sha256(*out_data, head.bytes, digest) != HAL_OK ||
        memcmp(digest, head.digest, sizeof digest) != 0)
        return "its checksum is wrong";
    return check_data(device, *out_data, head.bytes);
}

static void load(struct vulkan_archive *archive, const struct vulkan_device *device,
                 uint8_t **out_data)
{
    const int file = open(archive->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t bytes = 0;
    if (file < 0)
        return;
    const char *problem = hal_store_is_trusted(archive->path)
                              ? read_file(device, file, out_data, &bytes)
                              : "it belongs to other users too";
    close(file);
    archive->found_bytes = problem ? 0 : bytes;
    if (problem)
        hal_log(HAL_LOG_WARN, "vulkan: '%s' is rebuilt: %s", archive->path, problem);
}

void vulkan_archive_open(struct vulkan_archive *archive, const struct vulkan_device *device,
                         const struct hal_executable_desc *desc, const struct spirv_module *module)
{
    if (!desc->cache || !desc->cache->directory)
        return;
    archive->directory = desc->cache->directory;
    archive->max_bytes = desc->cache->max_bytes;
    if (!find_path(archive, device, desc, module)) {
        hal_log(HAL_LOG_WARN, "vulkan: no name in '%s' for executable '%s'", archive->directory,
                desc->label ? desc->label : "");
        archive->directory = NULL;
        return;
    }
    uint8_t *data = NULL;
    load(archive, device, &data);
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = archive->found_bytes,
        .pInitialData = archive->found_bytes ? data : NULL,
    };
    if (vk.CreatePipelineCache(device->device, &info, NULL, &archive->cache) != VK_SUCCESS) {
        archive->cache = VK_NULL_HANDLE;
        archive->directory = NULL;
    }
    free(data);
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* A file of its own, readable by this user alone, then into its place. */
static bool publish(const struct vulkan_archive *archive, const struct file_head *head,
                    const void *data)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/tmp-XXXXXX", archive->directory);
    const int file = mkstemp(path);
    if (file < 0)
        return false;
    const bool written =
        hal_write_all(file, head, sizeof *head) && hal_write_all(file, data, head->bytes);
    const bool published = close(file) == 0 && written && rename(path, archive->path) == 0;
    const int number = errno;
    if (!published)
        unlink(path);
    errno = number;
    return published;
}

static void store(const struct vulkan_archive *archive, const void *data, size_t bytes)
{
    struct file_head head = {.bytes = bytes};
    memcpy(head.magic, magic, sizeof magic);
    errno = 0;
    if (hal_sha256(data, bytes, head.digest) != HAL_OK || !publish(archive, &head, data))
        hal_log(errno == EACCES || errno == EROFS ? HAL_LOG_INFO : HAL_LOG_WARN, /* only to read */
                "vulkan: '%s' is not stored: %s", archive->path, strerror(errno));
    else
        hal_store_trim(archive->directory, suffix, archive->max_bytes);
}

bool vulkan_archive_close(struct vulkan_archive *archive, const struct vulkan_device *device,
                          bool are_made)
{
    size_t bytes = 0;
    bool is_whole = false;
    if (!archive->cache)
        return false;
    if (are_made &&
        vk.GetPipelineCacheData(device->device, archive->cache, &bytes, NULL) == VK_SUCCESS &&
        bytes > 0 && bytes <= MAX_BYTES) {
        uint8_t *data = hal_alloc(1, bytes);
        is_whole = bytes == archive->found_bytes;
        if (is_whole)
            hal_store_used(archive->path);
        else if (data && vk.GetPipelineCacheData(device->device, archive->cache, &bytes, data) ==
                             VK_SUCCESS)
            store(archive, data, bytes);
        free(data);
    }
    vk.DestroyPipelineCache(device->device, archive->cache, NULL);
    archive->cache = VK_NULL_HANDLE;
    return is_whole;
}
