/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of hal-replay. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "replay/sandbox/sandbox.h"
#include "replay/search/inspect.h"
#include "replay/variant/whatif.h"

enum {
    REPLAY_MOST_MAPS = 16,
    REPLAY_MOST_TYPES = 64,
    REPLAY_MOST_SUBSTITUTES = 16,
    REPLAY_MOST_SYMBOLS = 16,
    REPLAY_WHAT_IF_BYTES = 192 /* of every change once */
};

/* All zero except for defaults; borrows the arguments. */
struct replay_program {
    const char *path, *device;
    uint64_t repeat, runs;
    bool has_runs, has_threshold; /* given explicitly */
    const char *what_if;          /* all changes, as given; NULL: none */
    char what_if_text[REPLAY_WHAT_IF_BYTES];
    struct replay_what_if change;
    bool json, quiet, trusted;
    bool selftest;
    bool bisect, verify_submissions, verify_unwritten;
    const char *against; /* a device's URI, or "recorded" */
    const char *minimal, *record;
    bool benchmark, isolate;
    int64_t benchmark_ns; /* the time limit of a benchmark */
    const char *compare;  /* a trace, or (compare_substitute) the last of the substitutes */
    bool compare_substitute;
    char *compare_text;
    double threshold_percent;
    struct replay_inspect look;                  /* locators only */
    struct replay_dump dumps[REPLAY_MOST_DUMPS]; /* with the user's paths */
    /* Results that are files; the members below index them. */
    const char *outputs[REPLAY_MOST_OUTPUTS];
    size_t output_count, repro_output, record_output, dump_outputs[REPLAY_MOST_DUMPS];
    int64_t time_limit_ns;
    struct replay_load_options load;
    const char *bases[TRACE_MAX_BASES];
    const char *symbols[REPLAY_MOST_SYMBOLS];
    struct replay_options replay; /* its lists are those below */
    struct replay_path_map maps[REPLAY_MOST_MAPS];
    struct replay_type_rule types[REPLAY_MOST_TYPES + 1]; /* the rule for all buffers comes last */
    struct replay_substitute substitutes[REPLAY_MOST_SUBSTITUTES];
    struct replay_buffer_substitute buffers[REPLAY_MOST_SUBSTITUTES];
};

/* HAL_OK: continue. HAL_NOT_FOUND: printed the help or the version. HAL_IO: could not print it, and
 * said so. HAL_INVALID: reported an error on standard error. Splits values in argv. */
enum hal_status replay_options_parse(char **argv, struct replay_program *out_program) HAL_CHECKED;

/* Frees what parsing allocated, also after a failure. */
void replay_options_finish(struct replay_program *program);

/* Whether the options ask to inspect anything. */
bool replay_options_inspect(const struct replay_program *program);

#endif
