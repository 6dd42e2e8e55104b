/* SPDX-License-Identifier: Apache-2.0 */
/* Inspects a replay: stops at a locator, writes out buffers there, runs one dispatch repeatedly.
 * Submissions run one after the other; those that contain a locator run command by command. */
#ifndef REPLAY_INSPECT_H
#define REPLAY_INSPECT_H

#include "hal/base/locator.h"
#include "replay/compare/exit_code.h"

struct trace_text;

enum { REPLAY_MOST_DUMPS = 8 };

enum replay_dump_format { REPLAY_DUMP_RAW, REPLAY_DUMP_TEXT, REPLAY_DUMP_NPY };

struct replay_dump {
    const char *buffer; /* as in replay_type_rule; matches one that is alive there */
    struct hal_locator where;
    enum replay_dump_format format;
    const char *path;
};

struct replay_inspect {
    struct replay_plan *plan;
    struct hal_device *device;
    const struct replay_options *options;
    bool is_range; /* part of the trace was asked for: comparing nothing is then no success */
    bool has_begin, has_stop, has_loop;
    struct hal_locator begin; /* a submission; earlier read-backs are not compared */
    struct hal_locator stop;  /* the replay ends after it */
    struct hal_locator loop;  /* a dispatch */
    uint64_t loop_runs;
    const struct replay_dump *dumps;
    size_t dump_count;
    enum hal_status (*prepared)(void *user); /* before kernels run; NULL: no callback */
    void *user;
};

struct replay_inspect_result {
    struct replay_report report;
    uint64_t steps;
    uint64_t dump_bytes[REPLAY_MOST_DUMPS];
    enum replay_type dump_types[REPLAY_MOST_DUMPS];
    char loop_name[REPLAY_NAME_BYTES];
    uint64_t loop_runs;        /* completed */
    struct replay_times loop;  /* from submitting one dispatch until it has ended */
    struct replay_times empty; /* the same without a dispatch */
};

/* Checks that the locators and buffers exist, before anything is compiled. HAL_NOT_FOUND names what
 * is missing, or the buffers to choose from. */
enum hal_status replay_inspect_check(const struct replay_inspect *look) HAL_CHECKED;

/* Blocks. HAL_NOT_FOUND: a locator, or a buffer alive there, does not exist; otherwise like
 * replay_player_run. If the report says abandoned, nothing may be freed. */
enum hal_status replay_inspect_run(const struct replay_inspect *look,
                                   struct replay_inspect_result *out_result) HAL_CHECKED;

#endif
