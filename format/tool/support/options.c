/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of hal-trace's subcommands. */
#include "format/tool/support/tool.h"

#include "hal/base/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tool_print_version(void)
{
    hal_print(stdout, "hal-trace %s\ntrace format %u.%u\n", TRACE_TOOL_VERSION, TRACE_VERSION_MAJOR,
              TRACE_VERSION_MINOR);
}

bool tool_parse(const struct tool_command *command, char **argv, void *user,
                struct tool_words *out_words)
{
    const struct hal_command_line line = {
        .program = "hal-trace",
        .verb = command->name,
        .usage = command->usage,
        .notes = command->notes,
        .options = command->options,
        .print_version = tool_print_version,
    };
    struct hal_words words;
    *out_words = (struct tool_words){.exit_status = TOOL_USAGE};
    if (hal_command_line_parse(&line, argv, user, &words) != HAL_OK) {
        tool_error("%s", hal_message());
        return false;
    }
    out_words->words = words.words;
    out_words->count = words.count;
    if (words.asked == HAL_ASKED_NOTHING)
        return true;
    out_words->exit_status = tool_fail(hal_command_line_answer(&line, words.asked));
    return false;
}

const char *tool_one_file(const struct tool_command *command, const struct tool_words *words)
{
    const char *name = command->name;
    if (words->count == 1)
        return words->words[0];
    if (!words->count)
        tool_error("%s: no file given (see hal-trace %s --help)", name, name);
    else
        tool_error("%s: only one file is accepted, not '%s' as well (see hal-trace %s --help)",
                   name, words->words[1], name);
    return NULL;
}

enum hal_status tool_take_number(void *user, const struct hal_option *option, char *value)
{
    char *rest;
    errno = 0;
    const uint64_t number = strtoull(value, &rest, 10);
    if (value[0] < '0' || value[0] > '9' || *rest || errno)
        return hal_fail(HAL_INVALID, "--%s=%s: not a number", option->name, value);
    memcpy((char *)user + option->target, &number, sizeof number);
    return HAL_OK;
}

enum hal_status tool_take_level(void *user, const struct hal_option *option, char *value)
{
    char *rest;
    const int level = (int)strtol(value, &rest, 10);
    if (!*value || *rest || level < 1 || level > 19)
        return hal_fail(HAL_INVALID, "--level=%s: not a number from 1 to 19", value);
    memcpy((char *)user + option->target, &level, sizeof level);
    return HAL_OK;
}

enum hal_status tool_take_base(void *user, const struct hal_option *option, char *value)
{
    struct tool_bases *bases = (void *)((char *)user + option->target);
    if (bases->count == TRACE_MAX_BASES)
        return hal_fail(HAL_INVALID, "--base=%s: at most %d", value, TRACE_MAX_BASES);
    bases->paths[bases->count++] = value;
    return HAL_OK;
}
