/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: one file per subcommand, one entry each in main.c's table. */
#ifndef FORMAT_TOOL_TOOL_H
#define FORMAT_TOOL_TOOL_H

#include "format/base/json.h"
#include "format/file/rewrite.h"
#include "format/trace.h"
#include "hal/base/options.h"

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
    enum tool_group group;            /* in --help */
    const char *summary;              /* for --help, one line */
    const char *usage;                /* begins its own --help */
    const char *notes;                /* ends it; NULL: nothing */
    const struct hal_option *options; /* NULL: none but --help and --version */
    /* argv[0] is the subcommand; returns an exit status after it said what is wrong. */
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

extern const struct tool_command *const tool_commands[]; /* NULL behind the last */

/* "hal-trace: " and the text on standard error. Here alone the program itself has a part (main.c).
 */
void tool_error(const char *format, ...) HAL_PRINTF(1, 2);

/* Says the calling thread's message, if it is a failure; the exit status that fits. */
int tool_fail(enum hal_status status);

/* ---- The command line ---------------------------------------------------------------------- */

/* What is left of it after the options; NULL behind the last. */
struct tool_words {
    char **words;
    int count;
    int exit_status; /* where tool_parse returns false */
};

/* Takes a command's options into `user`. False: said what is wrong, or printed --help or --version.
 */
bool tool_parse(const struct tool_command *command, char **argv, void *user,
                struct tool_words *out_words);

/* Of all commands. To standard output. */
void tool_print_version(void);

/* The only word; NULL: said that there is none, or more. */
const char *tool_one_file(const struct tool_command *command, const struct tool_words *words);

/* For tables of options: a number in decimal, into a uint64_t. */
enum hal_status tool_take_number(void *user, const struct hal_option *option,
                                 char *value) HAL_CHECKED;

/* The traces that --base named. */
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
/* As trace_reader_open, with the bases. */
enum hal_status tool_open(const char *path, const struct tool_bases *bases,
                          struct trace_reader **out_reader) HAL_CHECKED;

/* Writes to standard output and empties `text` once it is large, or when `is_end`. Whatever is in
 * it: of control characters only ends of lines and tabs come out. */
enum hal_status tool_write(struct trace_text *text, bool is_end) HAL_CHECKED;
/* The same for what is no text: every byte comes out. */
enum hal_status tool_write_bytes(struct trace_text *text, bool is_end) HAL_CHECKED;

/* ---- Commands that write a trace ---------------------------------------------------------- */

/* Their options: -o, -f and --level, which is `usual` without it. `member` is a struct
 * trace_rewrite_options. */
enum hal_status tool_take_level(void *user, const struct hal_option *option,
                                char *value) HAL_CHECKED;
#define TOOL_OUTPUT_OPTIONS(type, member, usual)                                                   \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .argument = "OUTPUT",                                                                         \
     .help = "the trace to write; needed",                                                         \
     .target = offsetof(type, member.path)},                                                       \
        {.name = "force",                                                                          \
         .letter = 'f',                                                                            \
         .help = "replace it if it exists",                                                        \
         .target = offsetof(type, member.force)},                                                  \
    {                                                                                              \
        .name = "level", .argument = "N", .help = "of zstd, 1 to 19; default " usual,              \
        .take = tool_take_level, .target = offsetof(type, member.compression_level)                \
    }

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
