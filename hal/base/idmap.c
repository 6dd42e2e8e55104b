/* SPDX-License-Identifier: Apache-2.0 */
/* A table of small ids; for the others, open addressing with linear probing, at most half full. */
#include "hal/base/idmap.h"

#include "hal/base/hash.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <stdlib.h>
#include <string.h>

/* Where the search for `id` begins. */
static size_t first_slot(const struct hal_idmap *map, uint64_t id)
{
    enum { NEIGHBOURS = 4 }; /* consecutive ids share a cache line */
    uint64_t mixed = (id / NEIGHBOURS) ^ map->seed;
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdull;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53ull;
    mixed = (mixed ^ (mixed >> 33)) * NEIGHBOURS + id % NEIGHBOURS;
    return (size_t)mixed & (map->capacity - 1);
}

/* Where `id` is, or where it would go. There is always a free slot. */
static struct hal_idmap_slot *slot_of(const struct hal_idmap *map, uint64_t id)
{
    size_t slot = first_slot(map, id);
    while (map->slots[slot].index && map->slots[slot].id != id)
        slot = (slot + 1) & (map->capacity - 1);
    return &map->slots[slot];
}

static bool grow(struct hal_idmap *map)
{
    struct hal_idmap grown = *map;
    grown.capacity = map->capacity ? 2 * map->capacity : 64;
    if (!map->capacity)
        grown.seed = hal_hash_u64((uint64_t)hal_clock_ns()) ^ (uint64_t)(uintptr_t)map;
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
    free(map->small);
    *map = (struct hal_idmap){0};
}

/* Room in the table of small ids, which grows with the number of ids: a file cannot make it large
 * by naming few. False: memory is out. */
static bool make_small(struct hal_idmap *map, uint64_t id)
{
    size_t count = map->small_count ? map->small_count : 64;
    while (count <= id)
        count *= 2;
    uint32_t *grown = realloc(map->small, count * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + map->small_count, 0, (count - map->small_count) * sizeof *grown);
    map->small = grown;
    map->small_count = count;
    return true;
}

bool hal_idmap_find(const struct hal_idmap *map, uint64_t id, uint32_t *out_index)
{
    if (id < map->small_count && map->small[id]) {
        *out_index = map->small[id] - 1;
        return true;
    }
    if (!map->slot_count) /* some small ids came when they were not small yet */
        return false;
    const struct hal_idmap_slot *slot = slot_of(map, id);
    if (slot->index)
        *out_index = slot->index - 1;
    return slot->index != 0;
}

bool hal_idmap_add(struct hal_idmap *map, uint64_t id, uint32_t fresh, uint32_t *out_index)
{
    enum { SPREAD = 2, LEAST = 64 };
    if (hal_idmap_find(map, id, out_index))
        return true;
    *out_index = fresh;
    if (id < map->small_count || id / SPREAD < map->total + LEAST) {
        if (id >= map->small_count && !make_small(map, id))
            return false;
        map->small[id] = fresh + 1;
    } else {
        if (2 * (map->slot_count + 1) > map->capacity && !grow(map))
            return false;
        *slot_of(map, id) = (struct hal_idmap_slot){.id = id, .index = fresh + 1};
        map->slot_count++;
    }
    map->total++;
    return true;
}

/* Moves later entries up, unless their own search begins after the gap. */
static void close_gap(struct hal_idmap *map, size_t gap)
{
    const size_t mask = map->capacity - 1;
    for (size_t at = (gap + 1) & mask; map->slots[at].index; at = (at + 1) & mask) {
        const size_t wanted = first_slot(map, map->slots[at].id);
        if (((at - wanted) & mask) < ((at - gap) & mask))
            continue;
        map->slots[gap] = map->slots[at];
        gap = at;
    }
    map->slots[gap] = (struct hal_idmap_slot){0};
}

bool hal_idmap_remove(struct hal_idmap *map, uint64_t id, uint32_t *out_index)
{
    if (!hal_idmap_find(map, id, out_index))
        return false;
    if (id < map->small_count && map->small[id]) {
        map->small[id] = 0;
    } else {
        close_gap(map, (size_t)(slot_of(map, id) - map->slots));
        map->slot_count--;
    }
    map->total--;
    return true;
}
