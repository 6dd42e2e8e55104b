/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dense index of a recorded id. Keyed by a random number, so that a file cannot choose
 * ids that collide. All zero is an empty map. */
#ifndef REPLAY_IDMAP_H
#define REPLAY_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_idmap_slot {
    uint64_t id;
    uint32_t index; /* plus 1; 0: free */
};

struct replay_idmap {
    struct replay_idmap_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    uint64_t seed;
};

void replay_idmap_finish(struct replay_idmap *map);

/* False when there is no such id. */
bool replay_idmap_get(const struct replay_idmap *map, uint64_t id, uint32_t *out_index);

/* The id is not in the map yet, the index is below UINT32_MAX. False when memory is out. */
bool replay_idmap_put(struct replay_idmap *map, uint64_t id, uint32_t index);

#endif
