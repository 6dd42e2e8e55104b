/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: finds the subcommand; help, version, messages, output. */
#include "format/tool/tool.h"
#include "hal/base/text.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct tool_command *const commands[] = {
    &tool_info,       &tool_dump,       &tool_stats,   &tool_verify,  &tool_diff,
    &tool_trim,       &tool_strip,      &tool_merge,   &tool_extract, &tool_export,
    &trace_symbolize, &tool_recompress, &tool_recover,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], OUTPUT_BYTES = 256 << 10 };

void tool_error(const char *format, ...)
{
    va_list arguments;
    char text[HAL_MESSAGE_BYTES];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "hal-trace: %s\n", hal_shown_lines(text).text);
}

int tool_fail(enum hal_status status)
{
    tool_error("%s", hal_message());
    return status == HAL_NO_MEMORY ? TOOL_FAILED : TOOL_UNREADABLE;
}

const char *tool_one_file(int argc, char **argv, int first)
{
    if (argc - first == 1)
        return argv[first];
    if (argc == first)
        tool_error("%s: which file? (see hal-trace %s --help)", argv[0], argv[0]);
    else
        tool_error("%s: one file only, not '%s' as well", argv[0], argv[first + 1]);
    return NULL;
}

bool tool_base(const char *command, const char *path, struct tool_bases *bases)
{
    if (bases->count == TRACE_MAX_BASES) {
        tool_error("%s: --base=%s: one more than %d", command, path, TRACE_MAX_BASES);
        return false;
    }
    bases->paths[bases->count++] = path;
    return true;
}

enum hal_status tool_open(const char *path, const struct tool_bases *bases,
                          struct trace_reader **out_reader)
{
    HAL_TRY(trace_reader_open(path, out_reader));
    for (size_t i = 0; i < bases->count; i++) {
        const enum hal_status status = trace_reader_add_base(*out_reader, bases->paths[i]);
        if (status != HAL_OK) {
            trace_reader_close(*out_reader);
            return hal_add_context(status, "--base");
        }
    }
    return HAL_OK;
}

enum hal_status tool_write(struct trace_text *text, bool is_end)
{
    if (text->is_failed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the output");
    if (!is_end && text->bytes < OUTPUT_BYTES)
        return HAL_OK;
    for (size_t at = 0; at < text->bytes;) {
        const ssize_t written = write(STDOUT_FILENO, text->data + at, text->bytes - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return hal_fail(HAL_IO, "cannot write the output: %s", strerror(errno));
        at += (size_t)written;
    }
    text->bytes = 0;
    return HAL_OK;
}

void tool_progress_begin(struct tool_progress *progress, const char *name, uint64_t total)
{
    *progress = (struct tool_progress){
        .name = name, .total = total, .shown = UINT_MAX, .on = isatty(STDERR_FILENO) == 1};
}

void tool_progress(struct tool_progress *progress, uint64_t done)
{
    progress->done = done;
    if (!progress->on || !progress->total)
        return;
    const unsigned percent = (unsigned)(100.0 * (double)done / (double)progress->total);
    if (percent == progress->shown)
        return;
    progress->shown = percent;
    fprintf(stderr, "\r%s: %u %%", progress->name, percent);
    fflush(stderr);
}

void tool_progress_step(void *progress, uint64_t done)
{
    tool_progress(progress, done);
}

void tool_progress_end(struct tool_progress *progress)
{
    if (progress->on && progress->shown != UINT_MAX)
        fprintf(stderr, "\r\033[K");
}

struct counted {
    struct tool_progress *progress;
    trace_visit *visit;
    void *user;
};

static enum hal_status count_visit(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    const struct counted *counted = user;
    tool_progress(counted->progress, counted->progress->done + 1);
    return counted->visit(counted->user, event, segments);
}

enum hal_status tool_each(struct trace_reader *reader, struct tool_progress *progress,
                          trace_visit *visit, void *user)
{
    struct counted counted = {progress, visit, user};
    return trace_reader_each(reader, count_visit, &counted);
}

static void print_help(void)
{
    puts("usage: hal-trace COMMAND [OPTIONS] FILE\n\nLooks into traces.\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    puts(
        "\n  --help     this text; after a command: its options\n"
        "  --version  the version\n\n"
        "Exit status: 0 it worked, 1 it could not be printed, 2 wrong usage, 3 the file cannot be\n"
        "read or is damaged.");
}

static int run_command(const struct tool_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(command->help, stdout);
            return TOOL_OK;
        }
    }
    return command->run(argc, argv);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {0}};
    signal(SIGPIPE, SIG_DFL); /* end quietly when nobody reads on, whatever was inherited */
    opterr = 0;
    const int option = getopt_long(argc, argv, "+h", options, NULL);
    if (option == 'h')
        print_help();
    if (option == 'v')
        printf("hal-trace %s\ntrace format %u.%u\n", TRACE_TOOL_VERSION, TRACE_VERSION_MAJOR,
               TRACE_VERSION_MINOR);
    if (option == 'h' || option == 'v')
        return fflush(stdout) == 0 ? TOOL_OK : TOOL_FAILED;
    if (option != -1 || optind == argc) {
        if (option != -1)
            tool_error("unknown option '%s' (see hal-trace --help)", argv[optind - 1]);
        else
            tool_error("which command? (see hal-trace --help)");
        return TOOL_USAGE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[optind], commands[i]->name) == 0) {
            char **own = argv + optind;
            const int count = argc - optind;
            optind = 1;
            return run_command(commands[i], count, own);
        }
    }
    tool_error("unknown command '%s' (see hal-trace --help)", argv[optind]);
    return TOOL_USAGE;
}
