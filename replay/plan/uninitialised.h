/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out, while loading, which bytes of a buffer may be looked at before anybody has written
 * them: those a player fills, and no others, since a fill costs time and touches memory that the
 * program may never have touched. */
#ifndef REPLAY_UNINITIALISED_H
#define REPLAY_UNINITIALISED_H

#include <stddef.h>
#include <stdint.h>

struct replay_plan;
struct replay_object;

struct replay_range {
    uint64_t begin, end;
};

/* What is known about one buffer at one point of the trace. All zero: nothing is covered. */
struct replay_uninitialised {
    struct replay_range *covered; /* sorted, apart; their bytes were written or will be filled */
    size_t count, capacity;
    struct replay_range fill; /* holds every byte that must be filled; empty: begin == end */
};

/* Releases what only loading needs: the fill stays. */
void replay_uninitialised_finish(struct replay_uninitialised *uninitialised);

/* Somebody writes all of the range. When memory is out or there are too many ranges, it does not
 * count as written. */
void replay_uninitialised_write(struct replay_uninitialised *uninitialised, uint64_t offset,
                                uint64_t bytes);

/* Somebody may read or write any of the range. */
void replay_uninitialised_use(struct replay_uninitialised *uninitialised, uint64_t offset,
                              uint64_t bytes);

/* The first submission of a decoded command buffer. Later ones find all that they use covered. */
void replay_uninitialised_run(struct replay_plan *plan, const struct replay_object *commands);

#endif
