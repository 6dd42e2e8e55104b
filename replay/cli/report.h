/* SPDX-License-Identifier: Apache-2.0 */
/* The final report of hal-replay, as lines for people or as one JSON object. */
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
    const char *sandbox; /* missing protections, "": none; NULL: no sandbox requested */
    const char *error;   /* "" or why the replay ended early */
    const struct replay_plan_info *plan;  /* NULL: not loaded */
    const struct hal_device_info *device; /* NULL: not opened */
    struct replay_report report;          /* of the first run that differed, or the first run */
    bool target_is_printed;               /* replay_print_target was called */
    uint64_t runs, different_runs;
    int64_t load_ns, prepare_ns;
    struct replay_times total, wait;           /* over all runs */
    bool has_prepare, has_total, has_wait;     /* which of them were measured */
    const struct replay_bisect_result *result; /* of a search; NULL: none */
    const char *against, *minimal;             /* of the search */
    const struct replay_program *look;         /* what was inspected; NULL: nothing */
    const struct replay_inspect_result *inspect_result;
    const struct replay_benchmark_result *benchmark; /* NULL: none, as for */
    const struct replay_isolate_result *isolate;
    const char *compare; /* baseline of the paired run, instead of a what-if */
    double threshold_percent;
    bool slower;         /* than the threshold allows */
    const char *what_if; /* NULL: no paired run; else all changes, as requested */
    struct replay_what_if_info what_if_info;
    struct replay_paired_result paired;
};

/* Whether no run of a comparison differs and it fails by its time alone. */
bool replay_only_slower(const struct replay_summary *summary);

/* Prints, before the replay, what is replayed on which device, and what the device lacks or does
 * differently. Removes control characters from everything in the summary. False: out of memory. */
bool replay_print_target(FILE *file, const struct replay_summary *summary);
bool replay_print_text(FILE *file, const struct replay_summary *summary);
void replay_json_times(struct trace_text *text, const char *key, const struct replay_times *times);
/* False: it could not be written. */
bool replay_print_json(FILE *file, const struct replay_summary *summary);

#endif
