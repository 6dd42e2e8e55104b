/* SPDX-License-Identifier: Apache-2.0 */
/* Overflow-checked sizes, zeroed memory, and string copies. Header only. */
#ifndef HAL_BASE_MEM_H
#define HAL_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* False if the sum or product overflows; *out is then unspecified. */
static inline bool hal_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool hal_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool hal_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline uint64_t hal_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t hal_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t hal_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t hal_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether [offset, offset + bytes) is inside [0, limit). */
static inline bool hal_range_fits(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* `alignment` is a power of two; the caller ensures that `value` does not overflow. */
static inline size_t hal_align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Zeroed memory for `count` objects; NULL if out of memory or on overflow. free() it. */
static inline void *hal_alloc(size_t count, size_t bytes_each)
{
    return calloc(count ? count : 1, bytes_each ? bytes_each : 1);
}

/* Grows the array (*array, *capacity) to at least `wanted` elements of `bytes_each`, by doubling.
 * New elements are not zeroed. False if out of memory: nothing changed. */
static inline bool hal_grow(void **array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    if (wanted <= *capacity)
        return true;
    size_t grown = *capacity ? *capacity : 16, bytes;
    while (grown < wanted) {
        if (!hal_mul_size(grown, 2, &grown))
            return false;
    }
    if (!hal_mul_size(grown, bytes_each, &bytes))
        return false;
    void *moved = realloc(*array, bytes);
    if (!moved)
        return false;
    *array = moved;
    *capacity = grown;
    return true;
}

/* The same for an array of any type: `array` is the address of its pointer. */
static inline bool hal_grow_typed(void *array, size_t *capacity, size_t wanted, size_t bytes_each)
{
    void *moved;
    memcpy(&moved, array, sizeof moved);
    if (!hal_grow(&moved, capacity, wanted, bytes_each))
        return false;
    memcpy(array, &moved, sizeof moved);
    return true;
}

#define HAL_GROW(array, capacity, wanted)                                                          \
    hal_grow_typed(&(array), capacity, wanted, sizeof *(array))

/* A copy to free(); NULL for NULL or if out of memory. */
static inline char *hal_copy_string(const char *text)
{
    if (!text)
        return NULL;
    const size_t bytes = strlen(text) + 1;
    char *copy = (char *)malloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

/* Whether the first `most` bytes of two texts are equal, ignoring ASCII case, in any locale:
 * strcasecmp in a Turkish one distinguishes I and i. */
static inline bool hal_same_letters(const char *a, const char *b, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        const char x = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] - 'A' + 'a') : a[i];
        const char y = b[i] >= 'A' && b[i] <= 'Z' ? (char)(b[i] - 'A' + 'a') : b[i];
        if (x != y)
            return false;
        if (!x)
            break;
    }
    return true;
}

#endif
