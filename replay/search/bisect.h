/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the first submission, and in it the first command, after which two replays of a trace hold
 * different bytes; or, compared with the recording only, what may have written the first read-back
 * that differs. */
#ifndef REPLAY_BISECT_H
#define REPLAY_BISECT_H

#include "hal/base/locator.h"
#include "replay/compare/exit_code.h"

struct replay_bisect {
    struct replay_plan *plan;
    /* Two devices, since a run ends when its device is idle; NULL if the options name a remote one.
     * Without reference: compares with the recording. */
    struct hal_device *candidate, *reference;
    const struct replay_options *candidate_options, *reference_options;
    bool unwritten;      /* they differ in the fill of unwritten bytes: finds what reads these */
    bool narrow;         /* to the command; else only to the submission */
    const char *minimal; /* output file for a trace of that command alone; NULL: none */
    /* Called once the players exist, before kernels run. NULL: no callback. */
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
    uint8_t expected[REPLAY_SAMPLE_BYTES]; /* of an input: its contents */
    uint8_t actual[REPLAY_SAMPLE_BYTES];
    struct replay_errors errors; /* of an output */
    bool by_digest;              /* only the digest is known to differ from the recording */
};

/* A race in which the suspect takes part, or the first command that its inputs came from. */
struct replay_bisect_race {
    char before[REPLAY_NAME_BYTES], after[REPLAY_NAME_BYTES], buffer[REPLAY_NAME_BYTES];
    uint64_t offset, bytes;
    bool declared; /* else possible: format/analysis/races.h */
};

struct replay_bisect_result {
    bool found;
    bool narrowed;    /* to one command; else only the submission is known */
    bool tried;       /* narrowing was tried: its commands agree one by one */
    uint64_t writers; /* against the recording: how many commands may have written it since it was
                         last known to be right; 1: this one did */
    /* And how many earlier commands may have written what those read, directly or indirectly, since
     * it was last known to be right; and the first of them. */
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
    uint64_t race_count;            /* total */
    uint64_t steps, compared_bytes; /* until then */
    /* Against the recording: ranges after submissions, with a digest and without, until then. */
    uint64_t written_ranges, written_unknown, written_unjudged;
    bool wrote_repro;
    bool read_back;              /* no command differs, but a host read-back does */
    bool abandoned;              /* work hangs: nothing may be freed */
    struct replay_report report; /* of the candidate's read-backs, up to there */
};

/* Blocks. HAL_OK: found, or everything agrees. Otherwise like replay_player_run. */
enum hal_status replay_bisect_run(const struct replay_bisect *bisect,
                                  struct replay_bisect_result *out_result) HAL_CHECKED;

/* The exit status of a completed search, against the recording or another run. Steps that agree
 * with the recording prove nothing about bytes that the host or a kernel may have written. */
enum replay_exit replay_bisect_exit_code(const struct replay_bisect_result *result,
                                         bool is_recorded);

#endif
