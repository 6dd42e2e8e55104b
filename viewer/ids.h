/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dense index of a recorded number, object or submission. Keyed by a
 * random number, so that a file cannot choose numbers that collide. */
#ifndef VIEWER_IDS_H
#define VIEWER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty map. */
struct view_ids {
    struct view_ids_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    uint64_t seed;
};

void view_ids_finish(struct view_ids *map);

/* The index of `id`; gives it `fresh` when it has none yet. False when memory is out. */
bool view_ids_add(struct view_ids *map, uint64_t id, uint32_t fresh, uint32_t *out_index);

/* False when there is no such id. */
bool view_ids_find(const struct view_ids *map, uint64_t id, uint32_t *out_index);

#endif
