/* SPDX-License-Identifier: Apache-2.0 */
/* A line: who joins it first is taken first. What stands in one carries the link for it, so that
 * joining needs no memory. Whoever has the line has the lock for it, too. */
#ifndef HAL_BASE_LINE_H
#define HAL_BASE_LINE_H

#include <stddef.h>
#include <stdint.h>

struct hal_link {
    struct hal_link *next;
};

/* All zero: nobody is there. */
struct hal_line {
    struct hal_link *first, *last;
};

static inline void hal_line_join(struct hal_line *line, struct hal_link *link)
{
    link->next = NULL;
    if (line->last)
        line->last->next = link;
    else
        line->first = link;
    line->last = link;
}

/* The struct whose link, `offset` bytes from its begin, is the line's first; NULL: nobody is there.
 */
static inline void *hal_line_first(const struct hal_line *line, size_t offset)
{
    return line->first ? (uint8_t *)line->first - offset : NULL;
}

static inline void *hal_line_take(struct hal_line *line, size_t offset)
{
    void *const first = hal_line_first(line, offset);
    if (first)
        line->first = line->first->next;
    if (!line->first)
        line->last = NULL;
    return first;
}

#endif
