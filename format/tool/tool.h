/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: one file per subcommand, one entry each in main.c's table. */
#ifndef FORMAT_TOOL_TOOL_H
#define FORMAT_TOOL_TOOL_H

#include "format/json.h"
#include "format/trace.h"

/* Exit statuses of hal-trace. */
enum tool_exit { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_UNREADABLE = 3 };

struct tool_command {
    const char *name;
    const char *summary; /* for --help, one line */
    const char *help;
    /* argv[0] is the subcommand; returns an exit status after it said what is wrong. */
    int (*run)(int argc, char **argv);
};

extern const struct tool_command tool_info;
extern const struct tool_command tool_dump;
extern const struct tool_command tool_recover;
extern const struct tool_command tool_stats;
extern const struct tool_command tool_verify;
extern const struct tool_command tool_extract;

/* "hal-trace: " and the text on standard error. */
void tool_error(const char *format, ...) HAL_PRINTF(1, 2);

/* Says the calling thread's message; the exit status that fits. */
int tool_fail(enum hal_status status);

/* The only argument that is left after options; NULL: said that there is none, or more. */
const char *tool_one_file(int argc, char **argv, int first);

/* Writes to standard output and empties `text` once it is large, or when `is_end`. */
enum hal_status tool_write(struct trace_text *text, bool is_end) HAL_CHECKED;

/* How far long work has come, on standard error, when that is a terminal. */
struct tool_progress {
    const char *name;
    uint64_t total;
    unsigned shown; /* percent */
    bool on;
};
void tool_progress_begin(struct tool_progress *progress, const char *name, uint64_t total);
void tool_progress(struct tool_progress *progress, uint64_t done);
/* Clears the line. */
void tool_progress_end(struct tool_progress *progress);

#endif
