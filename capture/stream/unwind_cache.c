/* SPDX-License-Identifier: Apache-2.0 */
/* Cached walks: made by walking slowly, which tells where registers were saved. */
#include "capture/stream/unwind_cache.h"

#include "hal/base/mem.h"

#include <stdbool.h>

#if defined(__x86_64__) && !defined(__APPLE__)

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum {
    LINES = 16,
    MOST_FRAMES = 64,
    MOST_PLACES = 2 * MOST_FRAMES,
    LEAST_INTERVAL = 16,
    MOST_INTERVAL = 1 << 16,
};

struct place {
    const uintptr_t *address;
    uintptr_t value;
};

struct cached_walk {
    const void *frame;
    uint32_t id;
    uint32_t place_count;
    struct place places[];
};

/* A slow walk takes as long as dozens of fast ones: so many stacks must have been unknown before
 * one is cached, and more and more while none is found again. */
struct capture_unwind_cache {
    uint32_t unknown, interval;
    struct cached_walk *lines[LINES];
};

/* The frame pointer and the return address of the caller's caller are at the frame's address. */
static unsigned line_of(const void *frame)
{
    const uintptr_t *saved = frame;
    return (unsigned)(((uintptr_t)frame >> 4 ^ saved[1]) % LINES);
}

/* The stack is the calling thread's own, parts of which sanitizers forbid to functions. */
__attribute__((no_sanitize("address", "thread"))) static bool is_unchanged(
    const struct place *place)
{
    return *place->address == place->value;
}

uint32_t capture_unwind_cache_find(struct capture_unwind_cache *cache, const void *frame)
{
    const struct cached_walk *walk = cache ? cache->lines[line_of(frame)] : NULL;
    if (!walk || walk->frame != frame)
        return 0;
    for (uint32_t i = 0; i < walk->place_count; i++) {
        if (!is_unchanged(&walk->places[i]))
            return 0;
    }
    cache->interval = LEAST_INTERVAL;
    return walk->id;
}

/* False: it is not in memory, or not where a caller of `frame` keeps it. */
static bool add_place(unw_cursor_t *cursor, int number, const void *frame, struct place *places,
                      uint32_t *count)
{
    unw_save_loc_t saved;
    unw_word_t value;
    if (unw_get_save_loc(cursor, number, &saved) != 0 || saved.type != UNW_SLT_MEMORY ||
        unw_get_reg(cursor, number, &value) != 0)
        return false;
    const uintptr_t *address = (const uintptr_t *)(uintptr_t)saved.u.addr;
    if (address < (const uintptr_t *)frame || *count == MOST_PLACES)
        return false;
    places[(*count)++] = (struct place){address, value};
    return true;
}

/* The locations of all frames from the caller of the function with `frame` on. False: the walk
 * differs from the other one, or depends on something that is not in memory. */
static bool follow(const void *frame, void *const *frames, int frame_count, struct place *places,
                   uint32_t *out_count)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t address;
    const uintptr_t *saved = frame;
    const uintptr_t caller = saved[1];
    int first = 0;
    *out_count = 0;
    while (first < frame_count && (uintptr_t)frames[first] != caller)
        first++;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return false;
    do { /* functions of this file, and the one with the frame */
        if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &address) != 0)
            return false;
    } while (address != caller);
    for (int i = first;; i++) {
        unw_word_t begin, pointer, end;
        if (i == frame_count || (uintptr_t)frames[i] != address ||
            !add_place(&cursor, UNW_X86_64_RIP, frame, places, out_count) ||
            unw_get_reg(&cursor, UNW_REG_SP, &begin) != 0)
            return false;
        const uint32_t count = *out_count;
        const bool is_saved = unw_get_reg(&cursor, UNW_X86_64_RBP, &pointer) == 0 &&
                              add_place(&cursor, UNW_X86_64_RBP, frame, places, out_count);
        const int more = unw_step(&cursor);
        if (more <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || !address)
            return i + 1 == frame_count;
        /* Where it does not point into its function's frame it is a register like any other. */
        if (!is_saved || unw_get_reg(&cursor, UNW_REG_SP, &end) != 0)
            return false;
        if (pointer < begin || pointer >= end)
            *out_count = count;
    }
}

void capture_unwind_cache_add(struct capture_unwind_cache **cache, const void *frame,
                              void *const *frames, int count, uint32_t id)
{
    struct place places[MOST_PLACES];
    uint32_t place_count;
    if (!*cache)
        *cache = hal_alloc(1, sizeof **cache);
    struct capture_unwind_cache *kept = *cache;
    if (!kept || ++kept->unknown < kept->interval)
        return;
    kept->unknown = 0;
    kept->interval = kept->interval < LEAST_INTERVAL ? LEAST_INTERVAL : 2 * kept->interval;
    if (kept->interval > MOST_INTERVAL)
        kept->interval = MOST_INTERVAL;
    if (count > MOST_FRAMES || !follow(frame, frames, count, places, &place_count))
        return;
    struct cached_walk *walk = malloc(sizeof *walk + place_count * sizeof *places);
    if (!walk)
        return;
    *walk = (struct cached_walk){.frame = frame, .id = id, .place_count = place_count};
    memcpy(walk->places, places, place_count * sizeof *places);
    struct cached_walk **line = &kept->lines[line_of(frame)];
    free(*line);
    *line = walk;
}

void capture_unwind_cache_free(struct capture_unwind_cache *cache)
{
    for (unsigned i = 0; cache && i < LINES; i++)
        free(cache->lines[i]);
    free(cache);
}

#else

uint32_t capture_unwind_cache_find(struct capture_unwind_cache *cache, const void *frame)
{
    (void)cache;
    (void)frame;
    return 0;
}

void capture_unwind_cache_add(struct capture_unwind_cache **cache, const void *frame,
                              void *const *frames, int count, uint32_t id)
{
    (void)cache;
    (void)frame;
    (void)frames;
    (void)count;
    (void)id;
}

void capture_unwind_cache_free(struct capture_unwind_cache *cache)
{
    (void)cache;
}

#endif
