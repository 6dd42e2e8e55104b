/* SPDX-License-Identifier: Apache-2.0 */
/* Runs two players of a serialized plan in lockstep, comparing what each step may have written. */
#ifndef REPLAY_LOCKSTEP_H
#define REPLAY_LOCKSTEP_H

#include "replay/plan/accesses.h"
#include "replay/player/player.h"
#include "replay/variant/serialized.h"

/* The copied bytes of a range. */
struct replay_bytes {
    struct replay_touch range;
    uint8_t *data;
};

struct replay_bytes_list {
    struct replay_bytes *list;
    size_t count;
};

enum { REPLAY_MOST_PLACES = 16 };

/* A range in which the two differ. */
struct replay_place {
    struct replay_touch range; /* that the step may have written */
    struct replay_errors errors;
    uint64_t sample_offset; /* in the buffer */
    uint32_t sample_bytes;
    uint8_t expected[REPLAY_SAMPLE_BYTES], actual[REPLAY_SAMPLE_BYTES];
};

struct replay_divergence {
    bool found;
    size_t step;
    struct replay_place places[REPLAY_MOST_PLACES];
    size_t place_count;
    uint64_t compared_bytes;
};

struct replay_lockstep {
    const struct replay_serialized *serialized;
    struct replay_player *candidate, *reference; /* of the serialized plan */
    struct trace_reflection *reflection;
    /* Bytes that hold each player's own fill were never written, and do not differ. */
    bool ignore_unwritten;
    uint8_t *masked; /* space for that; the caller frees it, like everything kept */
    /* Of split submissions: each step's inputs in the candidate, and the reference's outputs. */
    bool keep;
    struct replay_report report, reference_report;
    struct replay_bytes_list inputs, outputs; /* of the last step, if kept; the caller frees them */
};

/* Runs until the first step after which they differ, or to the end, and ends both runs. */
enum hal_status replay_lockstep_run(struct replay_lockstep *lockstep,
                                    struct replay_divergence *out_divergence) HAL_CHECKED;

void replay_bytes_finish(struct replay_bytes_list *bytes);

/* Copies the ranges from a player's buffers. */
enum hal_status replay_bytes_take(struct replay_player *player,
                                  const struct replay_accesses *ranges,
                                  struct replay_bytes_list *out_bytes) HAL_CHECKED;

/* What the step may access, by kind (accesses.h); merged. */
enum hal_status replay_step_accesses(const struct replay_serialized *serialized,
                                     struct trace_reflection *reflection,
                                     const struct replay_step *step, uint32_t kinds,
                                     struct replay_accesses *out_accesses) HAL_CHECKED;

#endif
