/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report that searches and measurements fill, as lines for people and as JSON
 * members. Private to replay/. */
#ifndef REPLAY_REPORT_PARTS_H
#define REPLAY_REPORT_PARTS_H

#include "format/base/json.h"
#include "replay/search/bisect.h"
#include "replay/search/look.h"
#include "replay/search/measure.h"

#include <stdio.h>

struct replay_program;

void replay_print_finding(FILE *file, const struct replay_finding *finding, const char *against,
                          const char *minimal);
/* `,"bisect":{...}` */
void replay_print_finding_json(struct trace_text *text, const struct replay_finding *finding,
                               const char *against);

/* What there was to see; `,"look":{...}`. */
void replay_print_look(FILE *file, const struct replay_program *program,
                       const struct replay_look_result *result);
void replay_print_look_json(struct trace_text *text, const struct replay_program *program,
                            const struct replay_look_result *result);

void replay_print_benchmark(FILE *file, const struct replay_benchmark_result *result);
void replay_print_isolate(FILE *file, const struct replay_isolate_result *result);
/* `,"benchmark":{...}`, `,"isolate":{...}` */
void replay_print_benchmark_json(struct trace_text *text,
                                 const struct replay_benchmark_result *result);
void replay_print_isolate_json(struct trace_text *text, const struct replay_isolate_result *result);

#endif
