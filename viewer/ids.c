/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing, at most half full. */
#include "viewer/ids.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

struct view_ids_slot {
    uint64_t id;
    uint32_t index;
    bool used;
};

static size_t slot_of(const struct view_ids *map, uint64_t id)
{
    uint64_t mixed = (id ^ map->seed) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ull;
    size_t slot = (size_t)(mixed ^ (mixed >> 32)) & (map->capacity - 1);
    while (map->slots[slot].used && map->slots[slot].id != id)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static bool grow(struct view_ids *map)
{
    struct view_ids grown = {
        .capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count, .seed = map->seed};
    if (!map->capacity)
        grown.seed = (uint64_t)hal_clock_ns() ^ (uint64_t)(uintptr_t)map << 20;
    grown.slots = hal_alloc(grown.capacity, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].used)
            grown.slots[slot_of(&grown, map->slots[i].id)] = map->slots[i];
    }
    free(map->slots);
    *map = grown;
    return true;
}

void view_ids_finish(struct view_ids *map)
{
    free(map->slots);
    *map = (struct view_ids){0};
}

bool view_ids_add(struct view_ids *map, uint64_t id, uint32_t fresh, uint32_t *out_index)
{
    if (2 * (map->count + 1) > map->capacity && !grow(map))
        return false;
    struct view_ids_slot *slot = &map->slots[slot_of(map, id)];
    if (!slot->used) {
        *slot = (struct view_ids_slot){.id = id, .index = fresh, .used = true};
        map->count++;
    }
    *out_index = slot->index;
    return true;
}

bool view_ids_find(const struct view_ids *map, uint64_t id, uint32_t *out_index)
{
    if (!map->capacity)
        return false;
    const struct view_ids_slot *slot = &map->slots[slot_of(map, id)];
    if (slot->used)
        *out_index = slot->index;
    return slot->used;
}
