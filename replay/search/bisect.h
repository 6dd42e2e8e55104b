/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first submission, and in it the first command, after which two replays of a trace do
 * not hold the same bytes; or, where only the recording is there to compare with, what may have
 * written the first read-back that differs. */
#ifndef REPLAY_BISECT_H
#define REPLAY_BISECT_H

#include "hal/base/locator.h"
#include "replay/compare/exit_code.h"

struct replay_bisect {
    struct replay_plan *plan;
    /* Two devices, or twice the same; NULL where the options name a remote one. Reference NULL, and
     * no remote one: against what was recorded. */
    struct hal_device *candidate, *reference;
    const struct replay_options *candidate_options, *reference_options;
    bool unwritten;      /* the two differ in what unwritten bytes hold: who reads them is sought */
    bool narrow;         /* to the command; else the submission is enough */
    const char *minimal; /* file for a trace of that command alone; NULL: none */
    /* Called when the players are there, before kernels run. NULL: nothing to do. */
    enum hal_status (*prepared)(void *user);
    void *user;
};

enum {
    REPLAY_BISECT_RANGES = 16,
    REPLAY_BISECT_FRAMES = 12,
    REPLAY_FRAME_BYTES = 96,
    REPLAY_BISECT_RACES = 4,
};

struct replay_bisect_range {
    char buffer[REPLAY_NAME_BYTES];
    uint64_t offset, bytes;
    uint64_t sample_offset; /* in the buffer */
    uint32_t sample_bytes;
    uint8_t expected[REPLAY_SAMPLE_BYTES]; /* of an input: what is in it */
    uint8_t actual[REPLAY_SAMPLE_BYTES];
    struct replay_errors errors; /* of an output */
    bool by_digest;              /* all that is known: it is not what was recorded */
};

/* A race that the suspect takes part in, or the first command that its inputs came from. */
struct replay_bisect_race {
    char before[REPLAY_NAME_BYTES], after[REPLAY_NAME_BYTES], buffer[REPLAY_NAME_BYTES];
    uint64_t offset, bytes;
    bool declared; /* else possible: format/analysis/races.h */
};

struct replay_bisect_result {
    bool found;
    bool narrowed;    /* it is one command; else all that is known is the submission */
    bool tried;       /* narrowing was tried: one by one, its commands agree */
    uint64_t writers; /* against the recording: how many commands may have written it since it was
                         last known to be right; 1: it was this one */
    /* And how many commands before may have written what that one, or those, read, directly or
     * through others, since it was last known to be right; where the first of them is. */
    uint64_t ancestors;
    struct hal_locator first_ancestor;
    char first_ancestor_what[REPLAY_NAME_BYTES];
    struct hal_locator where;
    char what[REPLAY_NAME_BYTES];  /* "dispatch of 'scale', segment 3" */
    char label[REPLAY_NAME_BYTES]; /* of the command buffer; "": none */
    uint32_t workgroups[3];        /* of a dispatch whose counts are in the trace; else 0 */
    char frames[REPLAY_BISECT_FRAMES][REPLAY_FRAME_BYTES]; /* of the submit call */
    size_t frame_count;
    struct replay_bisect_range inputs[REPLAY_BISECT_RANGES], outputs[REPLAY_BISECT_RANGES];
    size_t input_count, output_count;
    struct replay_bisect_race races[REPLAY_BISECT_RACES];
    uint64_t race_count;            /* in all */
    uint64_t steps, compared_bytes; /* until then */
    /* Against the recording: ranges behind submissions, with a digest and without, until then. */
    uint64_t written_ranges, written_unknown, written_unjudged;
    bool wrote_repro;
    bool read_back;              /* no command, but what the host read back shows a difference */
    bool abandoned;              /* work hangs: nothing may be freed */
    struct replay_report report; /* of the candidate's read-backs, up to there */
};

/* Blocks. HAL_OK: found, or everything agrees. Otherwise as replay_player_run. */
enum hal_status replay_bisect_run(const struct replay_bisect *bisect,
                                  struct replay_bisect_result *out_result) HAL_CHECKED;

/* The exit status of a search that ended, against the recording or against another run. Steps that
 * agree with the recording prove nothing about bytes that the host or a kernel may have written. */
enum replay_exit replay_bisect_exit_code(const struct replay_bisect_result *result,
                                         bool is_recorded);

#endif
