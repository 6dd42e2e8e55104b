/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of freed buffers in front of a driver (the device's `caching=` parameter). A buffer that
 * goes is kept with its memory, and whoever creates one of exactly its size, memory type and usage
 * gets it as a new object with another id. What is kept beyond the limit goes, the oldest first;
 * all of it does when the driver has no memory left, before a creation fails.
 *
 * It stands behind all layers: a capture sees objects come and go as ever.
 *
 * Threads: any, at any time. */
#ifndef HAL_CACHING_H
#define HAL_CACHING_H

#include "hal/driver.h"

struct hal_caching;

struct hal_caching_statistics {
    uint64_t cached_bytes, cached_count;
    uint64_t reused_count; /* buffers that were handed out again */
};

/* The driver's device has a cache from now on, before anything else uses it; `limit_bytes` is not
 * 0. It goes when the device is destroyed. */
enum hal_status hal_caching_create(struct hal_driver_device *driver, uint64_t limit_bytes,
                                   struct hal_caching **out_caching) HAL_CHECKED;

/* Gives everything back that is kept. */
void hal_caching_trim(struct hal_caching *caching);
struct hal_caching_statistics hal_caching_measure(struct hal_caching *caching);

/* "off" (0), or a number of bytes, with K, M or G behind it. False: neither. */
bool hal_caching_parse(const char *text, uint64_t *out_bytes);

#endif
