/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 over length-prefixed parts, whose boundaries are unambiguous: names of cache entries. */
#ifndef HAL_BASE_DIGEST_H
#define HAL_BASE_DIGEST_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAL_DIGEST_BYTES = 32 };

/* Always end it. The end reports failures. */
struct hal_digest {
    void *context;
    bool failed;
};

HAL_API struct hal_digest hal_digest_begin(void);
HAL_API void hal_digest_add(struct hal_digest *digest, const void *bytes, size_t count);
HAL_API void hal_digest_add_string(struct hal_digest *digest, const char *string);

/* HAL_NO_MEMORY: could not be computed. */
HAL_API enum hal_status hal_digest_end(struct hal_digest *digest,
                                       uint8_t out_sum[HAL_DIGEST_BYTES]) HAL_CHECKED;

/* SHA-256 of the bytes alone, without a length prefix; `bytes` may be NULL if `count` is 0. Any
 * thread. HAL_NO_MEMORY: could not be computed. */
HAL_API enum hal_status hal_sha256(const void *bytes, size_t count,
                                   uint8_t out_sum[HAL_DIGEST_BYTES]) HAL_CHECKED;

#endif
