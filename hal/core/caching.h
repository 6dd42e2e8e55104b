/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of freed buffers in front of a driver (the device's `caching=` parameter). A destroyed
 * buffer keeps its memory, and the next creation of exactly its size, memory type and usage reuses
 * it as a new object with a new id. Beyond the limit the oldest entries are freed; all are freed if
 * the driver is out of memory, before a creation fails.
 *
 * It is behind all layers: a capture sees the same creations and destructions as without it.
 *
 * Threads: any. */
#ifndef HAL_CACHING_H
#define HAL_CACHING_H

#include "hal/driver.h"

struct hal_caching;

struct hal_caching_statistics {
    uint64_t cached_bytes, cached_count;
    uint64_t reused_count; /* buffers reused so far */
};

/* Adds a cache to the new device, to be freed with it; `limit_bytes` is not 0. */
enum hal_status hal_caching_create(struct hal_driver_device *driver, uint64_t limit_bytes,
                                   struct hal_caching **out_caching) HAL_CHECKED;

/* Frees all cached buffers. */
void hal_caching_trim(struct hal_caching *caching);
struct hal_caching_statistics hal_caching_measure(struct hal_caching *caching);

/* Parses "off" (0), or a number of bytes with an optional K, M or G. False: neither. */
bool hal_caching_parse(const char *text, uint64_t *out_bytes);

#endif
