/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dense index of a recorded id. Keyed by a number that changes from run to run, so that
 * a file cannot choose ids that collide. All zero is an empty map. One thread at a time. */
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

/* Ids are mostly numbered from 0: those that are small for how many there are have a table of their
 * own, a quarter as large. */
struct hal_idmap {
    uint32_t *small; /* by id: its index plus 1; 0: it has none here */
    size_t small_count;
    struct hal_idmap_slot *slots;
    size_t capacity;   /* a power of two, or 0 */
    size_t slot_count; /* that are taken */
    size_t total;      /* ids */
    uint64_t seed;
};

HAL_API void hal_idmap_finish(struct hal_idmap *map);

/* False when there is no such id. */
HAL_API bool hal_idmap_find(const struct hal_idmap *map, uint64_t id, uint32_t *out_index);

/* The index of `id`; gives it `fresh`, below UINT32_MAX, when it has none yet. False when memory
 * is out. */
HAL_API bool hal_idmap_add(struct hal_idmap *map, uint64_t id, uint32_t fresh, uint32_t *out_index);

/* Whether what has this index is what is looked for. */
typedef bool hal_idmap_same(const void *user, uint32_t index);

/* The index of what has this hash and is the same; `fresh` when there is none yet, which takes it.
 * False when memory is out. */
static inline bool hal_idmap_intern(struct hal_idmap *map, uint64_t hash, hal_idmap_same *same,
                                    const void *user, uint32_t fresh, uint32_t *out_index)
{
    do {
        if (!hal_idmap_add(map, hash++, fresh, out_index))
            return false;
    } while (*out_index != fresh && !same(user, *out_index));
    return true;
}

/* Takes the id out of the map; its index is free again. False when there is no such id. */
HAL_API bool hal_idmap_remove(struct hal_idmap *map, uint64_t id, uint32_t *out_index);

#endif
