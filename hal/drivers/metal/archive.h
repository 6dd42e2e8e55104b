/* SPDX-License-Identifier: Apache-2.0 */
/* What an executable cache stores for an executable: a Metal binary archive with its pipelines, in
 * a file of the cache's directory named by a digest of all inputs. */
#ifndef HAL_METAL_ARCHIVE_H
#define HAL_METAL_ARCHIVE_H

#import "hal/drivers/metal/metal.h"

#include <limits.h>

/* Initialise to zero. */
struct metal_archive {
    const char *directory;      /* borrowed from the cache; NULL: no caching */
    uint64_t max_bytes;         /* of the directory */
    char path[PATH_MAX];        /* of the file */
    id<MTLBinaryArchive> found; /* nil: must be created */
    _Atomic bool is_incomplete; /* something had to be compiled */
};

/* Call once the library exists. Unreadable files count as missing; the reason is logged. */
void metal_archive_open(struct metal_archive *archive, const struct metal_device *device,
                        const struct hal_executable_desc *desc,
                        const struct metal_executable *executable);

/* Stores newly compiled pipelines, with these descriptors (NULL: none to store). Write failures are
 * only logged: the executable works without. */
void metal_archive_close(struct metal_archive *archive, const struct metal_device *device,
                         MTLComputePipelineDescriptor *const *descriptors, size_t count);

#endif
