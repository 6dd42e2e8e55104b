/* SPDX-License-Identifier: Apache-2.0 */
/* Making, mapping and removing the capture's sidecar, whose layout format/file/sidecar.h describes.
 * All of it is sparse; pages are reserved before they are touched, because a full file system must
 * become an error here and not a signal in the application. */
#ifndef CAPTURE_SIDECAR_H
#define CAPTURE_SIDECAR_H

#include "format/file/sidecar.h"
#include "hal/base/descriptor.h"

#include <stdbool.h>

enum { CAPTURE_LARGE_PAGE_BYTES = 2 << 20 };

struct capture_sidecar {
    struct hal_descriptor object; /* the program may close it */
    struct trace_sidecar_header *header;
    char *path;
};

struct capture_sidecar_desc {
    const char *folder; /* NULL: that of the destination */
    const char *destination;
    int64_t start_ns;
    uint64_t staging_bytes, rings_bytes; /* multiples of the page size */
    uint64_t least_room;                 /* bytes that the folder must have free */
};

enum hal_status capture_sidecar_open(const struct capture_sidecar_desc *desc,
                                     struct capture_sidecar *out_sidecar) HAL_CHECKED;

/* The trace has its name now: another file than before. */
void capture_sidecar_locate(struct capture_sidecar *sidecar);

/* From here on nobody finds it. */
void capture_sidecar_remove(struct capture_sidecar *sidecar);

/* Lets go of it; one that was not removed stays, to be recovered from. Accepts one that was never
 * opened (zeroed). */
void capture_sidecar_close(struct capture_sidecar *sidecar);

/* Gives [offset, offset + bytes) memory. May block in the system. HAL_NO_MEMORY; HAL_IO: the
 * program has closed the object. */
enum hal_status capture_sidecar_commit(const struct capture_sidecar *sidecar, uint64_t offset,
                                       uint64_t bytes) HAL_CHECKED;

/* The same in the system's large pages, which cost a tenth, also to touch and to give back. False:
 * it has none, or the range does not begin and end with one; any part may have memory then. Only
 * where a capture begins: the system visits all processors for it, and mappings wait. */
bool capture_sidecar_commit_large(const struct capture_sidecar *sidecar, uint64_t offset,
                                  uint64_t bytes);

/* Writes there, giving memory to what has none. False: not everything could be written. */
bool capture_sidecar_write(const struct capture_sidecar *sidecar, uint64_t offset, const void *data,
                           uint64_t bytes);

/* Maps the range twice, one mapping directly behind the other, so that what crosses the end is
 * contiguous. Large pages stay large. */
enum hal_status capture_sidecar_map_twice(const struct capture_sidecar *sidecar, uint64_t offset,
                                          uint64_t bytes, uint8_t **out_base) HAL_CHECKED;
void capture_sidecar_unmap_twice(uint8_t *base, uint64_t bytes);

/* Makes the pages of mapped, committed memory present, so that touching them faults no more. */
void capture_sidecar_prefault(uint8_t *base, uint64_t bytes);

#endif
