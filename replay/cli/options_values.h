/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers for option values: each stores one in the program, or fails with a message and returns
 * false. `text` is borrowed and modified. Private to replay/. */
#ifndef REPLAY_OPTIONS_VALUES_H
#define REPLAY_OPTIONS_VALUES_H

#include "replay/cli/options.h"

/* hal_fail with "--option=value: wanted"; always false. */
bool replay_option_error(const char *option, const char *value, const char *wanted);

/* ---- options_values.c: numbers, words, lists ------------------------------------------------ */

bool replay_take_repeat(char *text, struct replay_program *program);
bool replay_take_runs(char *text, struct replay_program *program);
bool replay_take_fill(char *text, struct replay_program *program);
bool replay_take_benchmark(char *text, struct replay_program *program);
bool replay_take_pace(char *text, struct replay_program *program);
bool replay_take_threshold(char *text, struct replay_program *program);
bool replay_take_timeout(char *text, struct replay_program *program);
bool replay_take_time_limit(char *text, struct replay_program *program);
bool replay_take_memory_limit(char *text, struct replay_program *program);
bool replay_take_tolerance(char *text, struct replay_program *program);
bool replay_take_type(char *text, struct replay_program *program);
bool replay_take_verify(char *text, struct replay_program *program);
bool replay_take_against(char *text, struct replay_program *program);
bool replay_take_what_if(char *text, struct replay_program *program);

/* ---- options_files.c: files, locators ------------------------------------------------------- */

bool replay_take_base(char *text, struct replay_program *program);
bool replay_take_symbols(char *text, struct replay_program *program);
bool replay_take_map(char *text, struct replay_program *program);
bool replay_take_substitute(char *text, struct replay_program *program);
bool replay_take_substitute_buffer(char *text, struct replay_program *program);
bool replay_take_compare(char *text, struct replay_program *program);
/* Sets the KERNEL=FILE to compare with, once all options are parsed: the first of the substitutes,
 * which takes precedence for its kernel. The recorded variant uses the others. */
bool replay_take_other_kernel(struct replay_program *program);
/* Reports an output file that is the trace or holds contents of it. */
bool replay_keeps_its_input(const struct replay_program *program);
bool replay_take_stop(char *text, struct replay_program *program);
bool replay_take_loop(char *text, struct replay_program *program);
bool replay_take_range(char *text, struct replay_program *program);
bool replay_take_dump(char *text, struct replay_program *program);
bool replay_take_record(char *text, struct replay_program *program);
bool replay_take_minimal(char *text, struct replay_program *program);

#endif
