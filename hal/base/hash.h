/* SPDX-License-Identifier: Apache-2.0 */
/* Mixes numbers for in-memory tables. Hashes are never stored, and a file can choose colliding
 * numbers: compare on lookup, and use a random seed where collisions cost time. */
#ifndef HAL_BASE_HASH_H
#define HAL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Fibonacci hashing: the high bits are the most random. */
static inline uint64_t hal_hash_u64(uint64_t value)
{
    return value * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint64_t hal_hash_add(uint64_t hash, uint64_t value)
{
    hash = hal_hash_u64(hash ^ value);
    return hash ^ hash >> 29;
}

#endif
