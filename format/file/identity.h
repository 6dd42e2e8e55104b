/* SPDX-License-Identifier: Apache-2.0 */
/* What contents are recognised by in memory: their SHA-256, or a code under a secret key (GMAC with
 * AES-128), which is five times as fast. Codes mean nothing to anybody else: key and codes are
 * never written. Without them nobody can make two contents of one code but by chance. Zeros are
 * recognised by their number. */
#ifndef FORMAT_IDENTITY_H
#define FORMAT_IDENTITY_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_IDENTITY_BYTES = 32, TRACE_KEY_BYTES = 16 };

/* All zero: by SHA-256. For one thread at a time. */
struct trace_identity {
    void *cipher; /* NULL: no code */
    uint8_t key[TRACE_KEY_BYTES];
};

/* By a code under a new random key. HAL_NO_MEMORY: the system has no random numbers, or no memory.
 */
enum hal_status trace_identity_init_code(struct trace_identity *identity) HAL_CHECKED;

/* One for another thread that says the same of the same bytes. */
enum hal_status trace_identity_copy(const struct trace_identity *from,
                                    struct trace_identity *out_identity) HAL_CHECKED;

void trace_identity_finish(struct trace_identity *identity);

/* Evenly spread. */
enum hal_status trace_identify(struct trace_identity *identity, const void *data, size_t bytes,
                               uint8_t out_identity[TRACE_IDENTITY_BYTES]) HAL_CHECKED;

static inline bool trace_identity_is_sha256(const struct trace_identity *identity)
{
    return !identity->cipher;
}

#endif
