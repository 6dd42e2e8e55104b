/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, while loading, which bytes of a buffer may be read before they are written: the player
 * fills only these, since a fill costs time, and may be the first to touch the memory. */
#ifndef REPLAY_UNINITIALISED_H
#define REPLAY_UNINITIALISED_H

#include <stddef.h>
#include <stdint.h>

struct replay_plan;
struct replay_object;

struct replay_range {
    uint64_t begin, end;
};

/* What is known about one buffer at one point of the trace. All zero: no byte is covered. */
struct replay_uninitialised {
    struct replay_range *covered; /* sorted, disjoint; these bytes were written or will be filled */
    size_t count, capacity;
    struct replay_range fill; /* contains every byte that must be filled; empty: begin == end */
};

/* Frees what only loading needs; keeps `fill`. */
void replay_uninitialised_finish(struct replay_uninitialised *uninitialised);

/* The whole range is written; if out of memory, or of too many ranges, it does not count. */
void replay_uninitialised_write(struct replay_uninitialised *uninitialised, uint64_t offset,
                                uint64_t bytes);

/* Any part of the range may be read or written. */
void replay_uninitialised_use(struct replay_uninitialised *uninitialised, uint64_t offset,
                              uint64_t bytes);

/* Call for the first submission of a decoded command buffer, which covers what later ones use. */
void replay_uninitialised_run(struct replay_plan *plan, const struct replay_object *commands);

#endif
