/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of sorted arrays, and the search in them. Header only. */
#ifndef HAL_BASE_ORDER_H
#define HAL_BASE_ORDER_H

#include <stddef.h>

#define HAL_ORDER(x, y) (((x) > (y)) - ((x) < (y)))

/* Each defines a static function for qsort: ascending numbers, or structs in the ascending order of
 * a member and, where it is equal, of the next one. */
#define HAL_COMPARE_VALUES(name, type)                                                             \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *const a = left, *const b = right;                                              \
        return HAL_ORDER(*a, *b);                                                                  \
    }
#define HAL_COMPARE(name, type, first)                                                             \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *const a = left, *const b = right;                                              \
        return HAL_ORDER(a->first, b->first);                                                      \
    }
#define HAL_COMPARE_2(name, type, first, second)                                                   \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *const a = left, *const b = right;                                              \
        const int order = HAL_ORDER(a->first, b->first);                                           \
        return order ? order : HAL_ORDER(a->second, b->second);                                    \
    }
#define HAL_COMPARE_3(name, type, first, second, third)                                            \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *const a = left, *const b = right;                                              \
        const int order = HAL_ORDER(a->first, b->first);                                           \
        const int next = order ? order : HAL_ORDER(a->second, b->second);                          \
        return next ? next : HAL_ORDER(a->third, b->third);                                        \
    }

/* Raises the size_t `low` to the first number of [low, high) for which `before`, an expression with
 * `middle` that is true for all smaller ones, is false, or to `high`, which it changes. */
#define HAL_BISECT(low, high, middle, before)                                                      \
    while ((low) < (high)) {                                                                       \
        const size_t middle = (low) + ((high) - (low)) / 2;                                        \
        if (before)                                                                                \
            (low) = middle + 1;                                                                    \
        else                                                                                       \
            (high) = middle;                                                                       \
    }

#endif
