/* SPDX-License-Identifier: Apache-2.0 */
/* See archive.h. Metal finds in an archive what was compiled for this device and this build of the
 * system; both are in the name, too, so that other users' entries in a shared directory are not
 * discarded. A file is written beside its destination and renamed: readers see a complete one. */
#import "hal/drivers/metal/archive.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/store.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".mtlarchive";
static const char version[] = "haltrace-metal-3"; /* of what is in a name */

/* ---- The directory -------------------------------------------------------------------------- */

enum hal_status metal_cache_open(struct hal_driver_device *self, const char *wanted, char *out_path,
                                 size_t bytes)
{
    (void)self;
    return hal_store_open(wanted, "metal", out_path, bytes);
}

enum hal_status metal_cache_measure(struct hal_driver_device *self, const char *directory,
                                    uint64_t *out_bytes, uint64_t *out_entries)
{
    (void)self;
    return hal_store_measure(directory, suffix, out_bytes, out_entries);
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void add_system(struct hal_digest *digest, const struct metal_device *device)
{
    struct hal_device_info info;
    memset(&info, 0, sizeof info);
    metal_describe_target(device->device, &info);
    hal_digest_add_string(digest, version);
    hal_digest_add_string(digest, device->device.name.UTF8String);
    hal_digest_add_string(digest, info.features);
    hal_digest_add_string(digest,
                          [NSProcessInfo processInfo].operatingSystemVersionString.UTF8String);
    hal_digest_add(digest, &device->fast_math, sizeof device->fast_math);
}

/* Workgroup sizes and layouts have no part in a pipeline. */
static void add_executable(struct hal_digest *digest, const struct hal_executable_desc *desc,
                           const struct metal_executable *executable)
{
    const struct hal_executable_variant *variant = &desc->variants[executable->base.variant];
    const struct spirv_translation *spirv = executable->spirv;
    const uint32_t format = (uint32_t)variant->format;
    hal_digest_add(digest, &format, sizeof format);
    hal_digest_add(digest, spirv ? (const void *)spirv->text : variant->data,
                   spirv ? spirv->bytes : variant->bytes);
    for (size_t i = 0; i < desc->entry_point_count; i++)
        hal_digest_add_string(digest,
                              spirv ? spirv->entries[i].kernel : desc->entry_points[i].name);
    for (size_t i = 0; !spirv && i < desc->constant_count; i++) {
        const uint64_t words[] = {desc->constants[i].index, (uint64_t)desc->constants[i].type,
                                  desc->constants[i].bits};
        hal_digest_add(digest, words, sizeof words);
    }
}

static bool find_path(struct metal_archive *archive, const struct metal_device *device,
                      const struct hal_executable_desc *desc,
                      const struct metal_executable *executable)
{
    uint8_t key[HAL_STORE_KEY_BYTES];
    struct hal_digest digest = hal_digest_begin();
    add_system(&digest, device);
    add_executable(&digest, desc, executable);
    return hal_digest_end(&digest, key) == HAL_OK &&
           hal_store_path(archive->directory, key, suffix, archive->path, sizeof archive->path) ==
               HAL_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* A file that is damaged, or that someone else could have written, is made again. */
static id<MTLBinaryArchive> load(id<MTLDevice> device, const char *path) NS_RETURNS_RETAINED
{
    NSError *error = nil;
    if (access(path, R_OK) != 0)
        return nil;
    if (!hal_store_is_trusted(path)) {
        hal_log(HAL_LOG_WARN, "metal: '%s' belongs to other users too: it is not used", path);
        return nil;
    }
    MTLBinaryArchiveDescriptor *descriptor = [[MTLBinaryArchiveDescriptor alloc] init];
    descriptor.url = [NSURL fileURLWithPath:metal_string(path) isDirectory:NO];
    id<MTLBinaryArchive> archive = [device newBinaryArchiveWithDescriptor:descriptor error:&error];
    [descriptor release];
    if (!archive)
        hal_log(HAL_LOG_INFO, "metal: '%s' is rebuilt: %s", path, metal_error_text(error));
    return archive;
}

void metal_archive_open(struct metal_archive *archive, const struct metal_device *device,
                        const struct hal_executable_desc *desc,
                        const struct metal_executable *executable)
{
    if (!desc->cache || !desc->cache->directory)
        return;
    archive->directory = desc->cache->directory;
    archive->max_bytes = desc->cache->max_bytes;
    if (!find_path(archive, device, desc, executable)) {
        hal_log(HAL_LOG_WARN, "metal: no name in '%s' for executable '%s'", archive->directory,
                desc->label ? desc->label : "");
        archive->directory = NULL;
        return;
    }
    archive->found = load(device->device, archive->path);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static bool fill(id<MTLBinaryArchive> archive, MTLComputePipelineDescriptor *const *descriptors,
                 size_t count, NSError **error)
{
    for (size_t i = 0; i < count; i++) {
        if (![archive addComputePipelineFunctionsWithDescriptor:descriptors[i] error:error])
            return false;
    }
    return true;
}

/* Into its own directory, beside its destination. */
static bool publish(id<MTLBinaryArchive> archive, const struct metal_archive *place,
                    NSError **error)
{
    char folder[PATH_MAX + 16], file[PATH_MAX + 32];
    snprintf(folder, sizeof folder, "%s/tmp-XXXXXX", place->directory);
    if (!mkdtemp(folder))
        return false;
    snprintf(file, sizeof file, "%s/archive", folder);
    NSURL *url = [NSURL fileURLWithPath:metal_string(file) isDirectory:NO];
    const bool published = [archive serializeToURL:url error:error] && chmod(file, 0600) == 0 &&
                           rename(file, place->path) == 0;
    const int number = errno;
    if (!published)
        unlink(file);
    rmdir(folder);
    errno = number;
    return published;
}

static void store(const struct metal_archive *archive, id<MTLDevice> device,
                  MTLComputePipelineDescriptor *const *descriptors, size_t count)
{
    NSError *error = nil;
    MTLBinaryArchiveDescriptor *empty = [[MTLBinaryArchiveDescriptor alloc] init];
    id<MTLBinaryArchive> fresh = [device newBinaryArchiveWithDescriptor:empty error:&error];
    [empty release];
    errno = 0;
    if (!fresh || !fill(fresh, descriptors, count, &error) || !publish(fresh, archive, &error))
        hal_log(HAL_LOG_WARN, "metal: '%s' is not stored: %s", archive->path,
                error || !errno ? metal_error_text(error) : strerror(errno));
    else
        hal_store_trim(archive->directory, suffix, archive->max_bytes);
    [fresh release];
}

void metal_archive_close(struct metal_archive *archive, const struct metal_device *device,
                         MTLComputePipelineDescriptor *const *descriptors, size_t count)
{
    if (archive->directory && descriptors && atomic_load(&archive->is_incomplete))
        store(archive, device->device, descriptors, count);
    else if (archive->found && descriptors)
        hal_store_used(archive->path);
    [archive->found release];
    archive->found = nil;
}
