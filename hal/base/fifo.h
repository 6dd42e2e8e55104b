/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive FIFO; elements embed the link, so that push never allocates. The caller locks. */
#ifndef HAL_BASE_FIFO_H
#define HAL_BASE_FIFO_H

#include <stddef.h>
#include <stdint.h>

struct hal_link {
    struct hal_link *next;
};

/* All zero is empty. */
struct hal_fifo {
    struct hal_link *first, *last;
};

static inline void hal_fifo_push(struct hal_fifo *fifo, struct hal_link *link)
{
    link->next = NULL;
    if (fifo->last)
        fifo->last->next = link;
    else
        fifo->first = link;
    fifo->last = link;
}

/* The struct that embeds the first link at `offset`; NULL if empty. */
static inline void *hal_fifo_first(const struct hal_fifo *fifo, size_t offset)
{
    return fifo->first ? (uint8_t *)fifo->first - offset : NULL;
}

static inline void *hal_fifo_pop(struct hal_fifo *fifo, size_t offset)
{
    void *const first = hal_fifo_first(fifo, offset);
    if (first)
        fifo->first = fifo->first->next;
    if (!fifo->first)
        fifo->last = NULL;
    return first;
}

#endif
