/* SPDX-License-Identifier: Apache-2.0 */
/* What hal-replay says in the end, as lines for people or as one JSON object. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include "format/base/json.h"
#include "replay/search/bisect.h"
#include "replay/search/paired_run.h"
#include "replay/variant/whatif.h"

#include <stdio.h>

struct replay_program;
struct replay_inspect_result;
struct replay_benchmark_result;
struct replay_isolate_result;

struct replay_summary {
    enum replay_exit exit_code;
    const char *path;
    const char
        *sandbox;      /* protections that are missing, "": none; NULL: no sandbox was asked for */
    const char *error; /* "" or why the replay ended early */
    const struct replay_plan_info *plan;  /* NULL: not loaded */
    const struct hal_device_info *device; /* NULL: not opened */
    struct replay_report report;          /* of the first run that differed, or the first run */
    bool target_is_printed;               /* replay_print_target was called */
    uint64_t runs, different_runs;
    int64_t load_ns, prepare_ns;
    struct replay_times total, wait;           /* over the runs */
    bool has_prepare, has_total, has_wait;     /* these were measured */
    const struct replay_bisect_result *result; /* of a search; NULL: none */
    const char *against, *minimal;             /* of that */
    const struct replay_program *look;         /* what was looked at; NULL: nothing */
    const struct replay_inspect_result *inspect_result;
    const struct replay_benchmark_result *benchmark; /* NULL: none, as are */
    const struct replay_isolate_result *isolate;
    const char *compare; /* what the trial was against, in place of a what-if */
    double threshold_percent;
    bool slower;         /* than the threshold allows */
    const char *what_if; /* NULL: no trial; else all changes, as they were asked for */
    struct replay_what_if_info what_if_info;
    struct replay_paired_result paired;
};

/* No run of a comparison differs: its exit status is that of a difference for the time alone. */
bool replay_only_slower(const struct replay_summary *summary);

/* What is replayed on what, and what the device lacks or does in another way: before the replay.
 * Without control characters, whatever is in the summary. False: memory is out. */
bool replay_print_target(FILE *file, const struct replay_summary *summary);
bool replay_print_text(FILE *file, const struct replay_summary *summary);
void replay_json_times(struct trace_text *text, const char *key, const struct replay_times *times);
/* False: it could not be written. */
bool replay_print_json(FILE *file, const struct replay_summary *summary);

#endif
