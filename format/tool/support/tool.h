/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: one file per subcommand, and one entry each in main.c's table. */
#ifndef FORMAT_TOOL_TOOL_H
#define FORMAT_TOOL_TOOL_H

#include "format/base/json.h"
#include "format/file/rewrite.h"
#include "format/trace.h"
#include "hal/base/options.h"

/* Exit statuses, as for all programs (docs/scripting.md). */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_DIFFERENT = 1, /* the answer is no */
    TOOL_USAGE = 2,
    TOOL_FAILED = 3, /* a file cannot be read or written, or lacks what was requested */
};

enum tool_group { TOOL_LOOKS, TOOL_MAKES, TOOL_CONVERTS, TOOL_GROUPS };

struct tool_command {
    const char *name;
    enum tool_group group;            /* in --help */
    const char *summary;              /* one line in --help */
    const char *usage;                /* first line of its own --help */
    const char *notes;                /* last lines of it; NULL: none */
    const struct hal_option *options; /* NULL: only --help and --version */
    /* argv[0] is the subcommand; reports errors and returns an exit status. */
    int (*run)(char **argv);
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

extern const struct tool_command *const tool_commands[]; /* NULL-terminated */

/* Prints "hal-trace: " and the text to standard error. */
void tool_error(const char *format, ...) HAL_PRINTF(1, 2);

/* Prints the calling thread's message if `status` is a failure; returns the exit status. */
int tool_fail(enum hal_status status);

/* ---- The command line ---------------------------------------------------------------------- */

/* The arguments that remain after the options; NULL-terminated. */
struct tool_words {
    char **words;
    int count;
    int exit_status; /* if tool_parse returns false */
};

/* Parses a command's options into `user`. False: reported an error, or printed help or version. */
bool tool_parse(const struct tool_command *command, char **argv, void *user,
                struct tool_words *out_words);

/* The same for all commands. Prints to standard output. */
void tool_print_version(void);

/* The only argument; NULL: reported that there is none, or more than one. */
const char *tool_one_file(const struct tool_command *command, const struct tool_words *words);

/* For option tables: a decimal number, into a uint64_t. */
enum hal_status tool_take_number(void *user, const struct hal_option *option,
                                 char *value) HAL_CHECKED;

/* The traces given by --base. */
struct tool_bases {
    const char *paths[TRACE_MAX_BASES];
    size_t count;
};
enum hal_status tool_take_base(void *user, const struct hal_option *option,
                               char *value) HAL_CHECKED;
#define TOOL_BASE_OPTION(type, member)                                                             \
    {                                                                                              \
        .name = "base", .argument = "TRACE",                                                       \
        .help = "has contents that FILE refers to; may be repeated", .take = tool_take_base,       \
        .target = offsetof(type, member)                                                           \
    }
/* Like trace_reader_open, with the bases. */
enum hal_status tool_open(const char *path, const struct tool_bases *bases,
                          struct trace_reader **out_reader) HAL_CHECKED;

/* Writes `text` to standard output and empties it once it is large, or when `is_end`. Of control
 * characters only newlines and tabs are written. */
enum hal_status tool_write(struct trace_text *text, bool is_end) HAL_CHECKED;
/* The same for binary data: every byte is written. */
enum hal_status tool_write_bytes(struct trace_text *text, bool is_end) HAL_CHECKED;

/* ---- Commands that write a trace ---------------------------------------------------------- */

/* -o, -f and --level (default: `usual`), into `member`, a struct trace_rewrite_options. */
enum hal_status tool_take_level(void *user, const struct hal_option *option,
                                char *value) HAL_CHECKED;
#define TOOL_OUTPUT_OPTIONS(type, member, usual)                                                   \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .argument = "OUTPUT",                                                                         \
     .help = "the trace to write; required",                                                       \
     .target = offsetof(type, member.path)},                                                       \
        {.name = "force",                                                                          \
         .letter = 'f',                                                                            \
         .help = "replace an existing file",                                                       \
         .target = offsetof(type, member.force)},                                                  \
    {                                                                                              \
        .name = "level", .argument = "N", .help = "of zstd, 1 to 19; default " usual,              \
        .take = tool_take_level, .target = offsetof(type, member.compression_level)                \
    }

/* Whether there is an output other than the inputs; reports an error otherwise. */
bool tool_output_check(const char *command, const struct trace_rewrite_options *output,
                       char *const *inputs, int input_count);

/* Appends an edit to the header; the caller frees `edits`. HAL_NO_MEMORY. */
enum hal_status tool_add_edit(struct trace_header *header, const char *edit,
                              const char ***out_edits) HAL_CHECKED;

/* Reports a failure and returns the matching exit status; on HAL_OK prints `words`. */
int tool_written(enum hal_status status, const char *path, const char *words);

/* 1234567 as "1.2 MiB". */
void tool_size(struct trace_text *text, uint64_t bytes);

/* Progress of a long operation, on standard error if that is a terminal. */
struct tool_progress {
    const char *name;
    uint64_t total;
    uint64_t done;
    unsigned shown; /* percent */
    bool on;
};
void tool_progress_begin(struct tool_progress *progress, const char *name, uint64_t total);
void tool_progress(struct tool_progress *progress, uint64_t done);
/* The same as a callback for the rules of a rewrite. */
void tool_progress_step(void *progress, uint64_t done);
/* Clears the line. */
void tool_progress_end(struct tool_progress *progress);

/* trace_reader_each with a progress whose total counts events. */
enum hal_status tool_each(struct trace_reader *reader, struct tool_progress *progress,
                          trace_visit *visit, void *user) HAL_CHECKED;
/* The same with trace_reader_each_in_order. */
enum hal_status tool_each_in_order(struct trace_reader *reader, struct tool_progress *progress,
                                   trace_visit *visit, void *user) HAL_CHECKED;

#endif
