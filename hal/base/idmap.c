/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "hal/base/idmap.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

/* Where `id` is, or where it would go. There is always a free slot. */
static struct hal_idmap_slot *slot_of(const struct hal_idmap *map, uint64_t id)
{
    enum { NEIGHBOURS = 4 }; /* ids in a row lie in one line of the cache */
    uint64_t mixed = (id / NEIGHBOURS) ^ map->seed;
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdull;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53ull;
    mixed = (mixed ^ (mixed >> 33)) * NEIGHBOURS + id % NEIGHBOURS;
    size_t slot = (size_t)mixed & (map->capacity - 1);
    while (map->slots[slot].index && map->slots[slot].id != id)
        slot = (slot + 1) & (map->capacity - 1);
    return &map->slots[slot];
}

static bool grow(struct hal_idmap *map)
{
    struct hal_idmap grown = {
        .capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count, .seed = map->seed};
    if (!map->capacity)
        grown.seed = (uint64_t)hal_clock_ns() * 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)map;
    grown.slots = hal_alloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].index)
            *slot_of(&grown, map->slots[i].id) = map->slots[i];
    }
    free(map->slots);
    *map = grown;
    return true;
}

void hal_idmap_finish(struct hal_idmap *map)
{
    free(map->slots);
    *map = (struct hal_idmap){0};
}

bool hal_idmap_find(const struct hal_idmap *map, uint64_t id, uint32_t *out_index)
{
    if (!map->capacity)
        return false;
    const struct hal_idmap_slot *slot = slot_of(map, id);
    if (slot->index)
        *out_index = slot->index - 1;
    return slot->index != 0;
}

bool hal_idmap_add(struct hal_idmap *map, uint64_t id, uint32_t fresh, uint32_t *out_index)
{
    if (2 * (map->count + 1) > map->capacity && !grow(map))
        return false;
    struct hal_idmap_slot *slot = slot_of(map, id);
    if (!slot->index) {
        *slot = (struct hal_idmap_slot){.id = id, .index = fresh + 1};
        map->count++;
    }
    *out_index = slot->index - 1;
    return true;
}
