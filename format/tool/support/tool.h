/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: one file per subcommand, one entry each in main.c's table. */
#ifndef FORMAT_TOOL_TOOL_H
#define FORMAT_TOOL_TOOL_H

#include "format/base/json.h"
#include "format/file/rewrite.h"
#include "format/trace.h"

#include <getopt.h>

/* Exit statuses, as of all programs (docs/scripting.md). */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_DIFFERENT = 1, /* the answer is no */
    TOOL_USAGE = 2,
    TOOL_FAILED = 3, /* a file cannot be read or written, or has not got what was asked for */
};

enum tool_group { TOOL_LOOKS, TOOL_MAKES, TOOL_CONVERTS, TOOL_GROUPS };

struct tool_command {
    const char *name;
    enum tool_group group; /* in --help */
    const char *summary;   /* for --help, one line */
    const char *help;
    /* argv[0] is the subcommand; returns an exit status after it said what is wrong. */
    int (*run)(int argc, char **argv);
};

extern const struct tool_command tool_info;
extern const struct tool_command tool_diff;
extern const struct tool_command tool_dump;
extern const struct tool_command tool_recover;
extern const struct tool_command tool_stats;
extern const struct tool_command tool_verify;
extern const struct tool_command tool_export;
extern const struct tool_command tool_extract;
extern const struct tool_command tool_merge;
extern const struct tool_command tool_races;
extern const struct tool_command tool_recompress;
extern const struct tool_command tool_strip;
extern const struct tool_command trace_symbolize;
extern const struct tool_command tool_trim;

extern const struct tool_command *const tool_commands[]; /* NULL behind the last */

/* "hal-trace: " and the text on standard error. Here alone the program itself has a part (main.c).
 */
void tool_error(const char *format, ...) HAL_PRINTF(1, 2);

/* Says the calling thread's message, if it is a failure; the exit status that fits. */
int tool_fail(enum hal_status status);

/* The only argument that is left after options; NULL: said that there is none, or more. */
const char *tool_one_file(int argc, char **argv, int first);

/* The traces that --base named; TOOL_BASE_OPTION has the letter 'B'. */
struct tool_bases {
    const char *paths[TRACE_MAX_BASES];
    size_t count;
};
#define TOOL_BASE_OPTION                                                                           \
    {                                                                                              \
        "base", required_argument, NULL, 'B'                                                       \
    }
#define TOOL_BASE_HELP "      --base=TRACE     has contents that FILE refers to; may be repeated\n"
/* False: said that it is one too many. */
bool tool_base(const char *command, const char *path, struct tool_bases *bases);
/* As trace_reader_open, with the bases. */
enum hal_status tool_open(const char *path, const struct tool_bases *bases,
                          struct trace_reader **out_reader) HAL_CHECKED;

/* Says that argv[optind - 1] is no option, unless tool_output_option has said what is wrong.
 * TOOL_USAGE. */
int tool_wrong_option(const char *command, char **argv);

/* Writes to standard output and empties `text` once it is large, or when `is_end`. Whatever is in
 * it: of control characters only ends of lines and tabs come out. */
enum hal_status tool_write(struct trace_text *text, bool is_end) HAL_CHECKED;
/* The same for what is no text: every byte comes out. */
enum hal_status tool_write_bytes(struct trace_text *text, bool is_end) HAL_CHECKED;

/* ---- Commands that write a trace ---------------------------------------------------------- */

/* Their options: -o, -f and --level. */
#define TOOL_OUTPUT_OPTIONS                                                                        \
    {"output", required_argument, NULL, 'o'}, {"force", no_argument, NULL, 'f'},                   \
    {                                                                                              \
        "level", required_argument, NULL, 'L'                                                      \
    }
#define TOOL_OUTPUT_LETTERS "o:f"
#define TOOL_OUTPUT_HELP                                                                           \
    "  -o, --output=OUTPUT  the trace to write; needed\n"                                          \
    "  -f, --force          replace it if it exists\n"                                             \
    "      --level=N        of zstd, 1 to 19; default 3\n"

/* Takes one of the options above; false: it is another one, or (said) its value is wrong. */
bool tool_output_option(const char *command, int option, struct trace_rewrite_options *out);

/* Whether there is an output that is none of the inputs; says what is missing. */
bool tool_output_check(const char *command, const struct trace_rewrite_options *output,
                       char *const *inputs, int input_count);

/* The header with one edit more; `edits` is the caller's to free. HAL_NO_MEMORY. */
enum hal_status tool_add_edit(struct trace_header *header, const char *edit,
                              const char ***out_edits) HAL_CHECKED;

/* Says what failed, and which exit status fits; HAL_OK: `words` on standard output. */
int tool_written(enum hal_status status, const char *path, const char *words);

/* 1234567 as "1.2 MiB". */
void tool_size(struct trace_text *text, uint64_t bytes);

/* How far long work has come, on standard error, when that is a terminal. */
struct tool_progress {
    const char *name;
    uint64_t total;
    uint64_t done;
    unsigned shown; /* percent */
    bool on;
};
void tool_progress_begin(struct tool_progress *progress, const char *name, uint64_t total);
void tool_progress(struct tool_progress *progress, uint64_t done);
/* The same as a function that rules of a rewrite take. */
void tool_progress_step(void *progress, uint64_t done);
/* Clears the line. */
void tool_progress_end(struct tool_progress *progress);

/* trace_reader_each that goes on with a progress, whose total counts events. */
enum hal_status tool_each(struct trace_reader *reader, struct tool_progress *progress,
                          trace_visit *visit, void *user) HAL_CHECKED;

#endif
