/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report for searches and measurements, as lines and as JSON. Private to replay/. */
#ifndef REPLAY_REPORT_PARTS_H
#define REPLAY_REPORT_PARTS_H

#include "format/base/json.h"
#include "replay/search/benchmark.h"
#include "replay/search/bisect.h"
#include "replay/search/inspect.h"

#include <stdio.h>

struct replay_program;

void replay_print_bisect(FILE *file, const struct replay_bisect_result *result, const char *against,
                         const char *minimal);
/* `,"bisect":{...}` */
void replay_print_bisect_json(struct trace_text *text, const struct replay_bisect_result *result,
                              const char *against);

/* What was inspected; the second as `,"look":{...}`. */
void replay_print_inspect(FILE *file, const struct replay_program *program,
                          const struct replay_inspect_result *result);
void replay_print_inspect_json(struct trace_text *text, const struct replay_program *program,
                               const struct replay_inspect_result *result);

void replay_print_benchmark(FILE *file, const struct replay_benchmark_result *result);
void replay_print_isolate(FILE *file, const struct replay_isolate_result *result);
/* `,"benchmark":{...}`, `,"isolate":{...}` */
void replay_print_benchmark_json(struct trace_text *text,
                                 const struct replay_benchmark_result *result);
void replay_print_isolate_json(struct trace_text *text, const struct replay_isolate_result *result);

#endif
