/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, maps and removes the capture's sidecar; format/file/sidecar.h describes its layout. The
 * file is sparse; pages are reserved before they are touched, so that a full file system causes an
 * error here and not a signal in the application. */
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
    const char *folder; /* NULL: the destination's folder */
    const char *destination;
    int64_t start_ns;
    uint64_t staging_bytes, rings_bytes; /* multiples of the page size */
    uint64_t least_room;                 /* bytes that must be free in the folder */
};

enum hal_status capture_sidecar_open(const struct capture_sidecar_desc *desc,
                                     struct capture_sidecar *out_sidecar) HAL_CHECKED;

/* Records the trace's place again, once it has taken its name from another file. */
void capture_sidecar_locate(struct capture_sidecar *sidecar);

/* Unlinks it: no process can open it any more. */
void capture_sidecar_remove(struct capture_sidecar *sidecar);

/* Closes it; if it was not removed it stays for recovery. Accepts a zeroed one. */
void capture_sidecar_close(struct capture_sidecar *sidecar);

/* Allocates memory for [offset, offset + bytes). May block in the system. HAL_NO_MEMORY; HAL_IO:
 * the program has closed the object. */
enum hal_status capture_sidecar_commit(const struct capture_sidecar *sidecar, uint64_t offset,
                                       uint64_t bytes) HAL_CHECKED;

/* The same with large pages, which cost a tenth, also to touch and to release. False: there are
 * none, or the range is not aligned to them; part of it may then have memory. Use only at the begin
 * of a capture: the system interrupts all processors for it and blocks mappings. */
bool capture_sidecar_commit_large(const struct capture_sidecar *sidecar, uint64_t offset,
                                  uint64_t bytes);

/* Writes there, allocating memory as needed. False: not everything was written. */
bool capture_sidecar_write(const struct capture_sidecar *sidecar, uint64_t offset, const void *data,
                           uint64_t bytes);

/* Maps the range twice, the second mapping directly after the first, so that data crossing the end
 * is contiguous. Preserves large pages. */
enum hal_status capture_sidecar_map_twice(const struct capture_sidecar *sidecar, uint64_t offset,
                                          uint64_t bytes, uint8_t **out_base) HAL_CHECKED;
void capture_sidecar_unmap_twice(uint8_t *base, uint64_t bytes);

/* Makes the pages of mapped, committed memory present, so that touching them does not fault. */
void capture_sidecar_prefault(uint8_t *base, uint64_t bytes);

#endif
