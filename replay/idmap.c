/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "replay/idmap.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

static size_t slot_of(const struct replay_idmap *map, uint64_t id)
{
    uint64_t mixed = id ^ map->seed;
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdull;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return (size_t)(mixed ^ (mixed >> 33)) & (map->capacity - 1);
}

static void insert(struct replay_idmap *map, uint64_t id, uint32_t stored)
{
    size_t slot = slot_of(map, id);
    while (map->slots[slot].index)
        slot = (slot + 1) & (map->capacity - 1);
    map->slots[slot] = (struct replay_idmap_slot){.id = id, .index = stored};
}

static bool grow(struct replay_idmap *map)
{
    struct replay_idmap grown = {
        .capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count, .seed = map->seed};
    if (!map->capacity)
        grown.seed = (uint64_t)hal_clock_ns() * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)map;
    grown.slots = hal_alloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].index)
            insert(&grown, map->slots[i].id, map->slots[i].index);
    }
    free(map->slots);
    *map = grown;
    return true;
}

void replay_idmap_finish(struct replay_idmap *map)
{
    free(map->slots);
    *map = (struct replay_idmap){0};
}

bool replay_idmap_get(const struct replay_idmap *map, uint64_t id, uint32_t *out_index)
{
    if (!map->capacity)
        return false;
    for (size_t slot = slot_of(map, id); map->slots[slot].index;
         slot = (slot + 1) & (map->capacity - 1)) {
        if (map->slots[slot].id == id) {
            *out_index = map->slots[slot].index - 1;
            return true;
        }
    }
    return false;
}

bool replay_idmap_put(struct replay_idmap *map, uint64_t id, uint32_t index)
{
    if (2 * (map->count + 1) > map->capacity && !grow(map))
        return false;
    insert(map, id, index + 1);
    map->count++;
    return true;
}
