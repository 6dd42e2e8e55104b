/* SPDX-License-Identifier: Apache-2.0 */
/* Records of any bytes, in a trace that is right otherwise, given to every subcommand of hal-trace
 * that reads traces, in each of its formats: none of them may take a record for what it is not, and
 * what they write is whole. What they print goes nowhere. */
#include "format/tool/support/tool.h"
#include "tests/fuzz/records.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 12 };

/* @IN: the trace; @OUT: a file that is checked when the command says that it worked; @DB: one that
 * is not. */
static const char *const lines[][MOST_ARGUMENTS] = {
    {"info", "@IN"},
    {"info", "--json", "@IN"},
    {"dump", "@IN"},
    {"dump", "--json", "@IN"},
    {"dump", "--submission=#s1", "@IN"},
    {"stats", "@IN"},
    {"stats", "--json", "@IN"},
    {"verify", "@IN"},
    {"symbolize", "@IN"},
    {"diff", "@IN", "@IN"},
    {"diff", "--json", "@IN", "@BASE"},
    {"export", "--format=perfetto", "@IN"},
    {"export", "--format=chrome", "@IN"},
    {"export", "--format=csv", "@IN"},
    {"export", "--format=jsonl", "@IN"},
    {"export", "--format=sqlite", "-o", "@DB", "@IN"},
    {"extract", "--content=1", "@IN"},
    {"trim", "--submissions=#s0..", "-f", "-o", "@OUT", "@IN"},
    {"trim", "--submissions=#s1", "-f", "-o", "@OUT", "@IN"},
    {"trim", "--scope=name", "-f", "-o", "@OUT", "@IN"},
    {"strip", "-f", "-o", "@OUT", "@IN"},
    {"strip", "--executables", "-f", "-o", "@OUT", "@IN"},
    {"merge", "-f", "-o", "@OUT", "@IN", "@BASE"},
    {"recompress", "-f", "-o", "@OUT", "@IN"},
};

static char input[PATH_MAX], other[PATH_MAX], database[PATH_MAX];

/* In place of the program's: nothing is said. */
void tool_error(const char *format, ...)
{
    (void)format;
}

static void remove_files(void)
{
    unlink(other);
    unlink(database);
}

static void prepare(void)
{
    if (input[0])
        return;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fuzz_check(nowhere >= 0 && fflush(stdout) == 0 && dup2(nowhere, STDOUT_FILENO) >= 0);
    close(nowhere);
    snprintf(input, sizeof input, "%s", fuzz_file((const uint8_t *)"", 0));
    snprintf(other, sizeof other, "%.*s-other", PATH_MAX - 10, input);
    snprintf(database, sizeof database, "%.*s-db", PATH_MAX - 10, input);
    fuzz_write_records(other, NULL, 0);
    fuzz_on_exit(remove_files);
}

static int run_tool(const char *const *line)
{
    const struct tool_command *command = NULL;
    char *argv[MOST_ARGUMENTS + 1] = {0};
    int argc = 0;
    for (; line[argc]; argc++) {
        const char *word = line[argc];
        word = strcmp(word, "@IN") == 0     ? input
               : strcmp(word, "@BASE") == 0 ? other
               : strcmp(word, "@DB") == 0   ? database
               : strcmp(word, "@OUT") == 0  ? fuzz_output()
                                            : word;
        argv[argc] = (char *)(uintptr_t)word;
    }
    for (size_t i = 0; tool_commands[i]; i++) {
        if (strcmp(tool_commands[i]->name, argv[0]) == 0)
            command = tool_commands[i];
    }
    fuzz_check(command);
    return command->run(argv);
}

static void check_written(void)
{
    struct trace_reader *reader;
    fuzz_check(trace_reader_open(fuzz_output(), &reader) == HAL_OK);
    fuzz_check(trace_reader_health(reader) && !*trace_reader_truncated(reader));
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    prepare();
    fuzz_write_records(input, data, bytes);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        bool writes = false;
        for (int k = 0; lines[i][k]; k++)
            writes |= strcmp(lines[i][k], "@OUT") == 0;
        if (run_tool(lines[i]) == TOOL_OK && writes)
            check_written();
    }
    unlink(database);
    return 0;
}
