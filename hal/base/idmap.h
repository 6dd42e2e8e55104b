/* SPDX-License-Identifier: Apache-2.0 */
/* Maps recorded ids to dense indices. Keyed with a per-run random number, so that a file cannot
 * choose colliding ids. All zero is an empty map. One thread at a time. */
#ifndef HAL_BASE_IDMAP_H
#define HAL_BASE_IDMAP_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hal_idmap_slot {
    uint64_t id;
    uint32_t index; /* plus 1; 0: free */
};

/* Ids are mostly numbered from 0: those small for their count are in a direct, smaller table. */
struct hal_idmap {
    uint32_t *small; /* by id: its index plus 1; 0: not here */
    size_t small_count;
    struct hal_idmap_slot *slots;
    size_t capacity;   /* a power of two, or 0 */
    size_t slot_count; /* used slots */
    size_t total;      /* number of ids */
    uint64_t seed;
};

HAL_API void hal_idmap_finish(struct hal_idmap *map);

/* False if the id is not found. */
HAL_API bool hal_idmap_find(const struct hal_idmap *map, uint64_t id, uint32_t *out_index);

/* The index of `id`, added with index `fresh` (below UINT32_MAX) if new. False: out of memory. */
HAL_API bool hal_idmap_add(struct hal_idmap *map, uint64_t id, uint32_t fresh, uint32_t *out_index);

/* Whether the entry with this index equals the one sought. */
typedef bool hal_idmap_same(const void *user, uint32_t index);

/* The index of an equal entry with this hash, else `fresh`, which is added. False: no memory. */
static inline bool hal_idmap_intern(struct hal_idmap *map, uint64_t hash, hal_idmap_same *same,
                                    const void *user, uint32_t fresh, uint32_t *out_index)
{
    do {
        if (!hal_idmap_add(map, hash++, fresh, out_index))
            return false;
    } while (*out_index != fresh && !same(user, *out_index));
    return true;
}

/* Removes the id and frees its index. False if the id is not found. */
HAL_API bool hal_idmap_remove(struct hal_idmap *map, uint64_t id, uint32_t *out_index);

#endif
