/* SPDX-License-Identifier: Apache-2.0 */
/* What an executable cache keeps of an executable: an archive of Metal with its pipelines, in a
 * file of the cache's directory whose name is a digest of everything that they follow from. */
#ifndef HAL_METAL_ARCHIVE_H
#define HAL_METAL_ARCHIVE_H

#import "hal/drivers/metal/metal.h"

#include <limits.h>

/* Starts as zeros. */
struct metal_archive {
    const char *directory;      /* borrowed from the cache; NULL: nothing is kept */
    uint64_t max_bytes;         /* of the directory */
    char path[PATH_MAX];        /* of the file */
    id<MTLBinaryArchive> found; /* nil: it has to be made */
    _Atomic bool is_incomplete; /* something had to be compiled */
};

/* The library has been made. What cannot be read counts as not there; why, is logged. */
void metal_archive_open(struct metal_archive *archive, const struct metal_device *device,
                        const struct hal_executable_desc *desc,
                        const struct metal_executable *executable);

/* Keeps what was compiled: the pipelines with these descriptors (NULL: there are none to be kept).
 * What cannot be written is logged: the executable is as good without. */
void metal_archive_close(struct metal_archive *archive, const struct metal_device *device,
                         MTLComputePipelineDescriptor *const *descriptors, size_t count);

#endif
