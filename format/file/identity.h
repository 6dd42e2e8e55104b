/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies contents in memory: by SHA-256, or by a code under a secret key (GMAC with AES-128),
 * which is five times as fast. Key and codes are never written: they mean nothing outside this
 * process, and without the key equal codes are chance. Zeros are identified by their number. */
#ifndef FORMAT_IDENTITY_H
#define FORMAT_IDENTITY_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_IDENTITY_BYTES = 32, TRACE_KEY_BYTES = 16 };

/* All zero: SHA-256. One thread at a time. */
struct trace_identity {
    void *cipher; /* NULL: no code */
    uint8_t key[TRACE_KEY_BYTES];
};

/* Uses a code under a new random key. HAL_NO_MEMORY: no random numbers, or out of memory. */
enum hal_status trace_identity_init_code(struct trace_identity *identity) HAL_CHECKED;

/* Copies it for another thread; both identify the same bytes alike. */
enum hal_status trace_identity_copy(const struct trace_identity *from,
                                    struct trace_identity *out_identity) HAL_CHECKED;

void trace_identity_finish(struct trace_identity *identity);

/* Uniformly distributed. */
enum hal_status trace_identify(struct trace_identity *identity, const void *data, size_t bytes,
                               uint8_t out_identity[TRACE_IDENTITY_BYTES]) HAL_CHECKED;

static inline bool trace_identity_is_sha256(const struct trace_identity *identity)
{
    return !identity->cipher;
}

#endif
