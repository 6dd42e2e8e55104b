/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: finds the subcommand. */
#include "format/tool/support/tool.h"
#include "hal/base/os.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void print_verbs(void)
{
    static const char *const groups[] = {
        "Look at a trace:", "Make another one:", "For other programs:"};
    for (int group = 0; group < TOOL_GROUPS; group++) {
        printf("\n%s\n", groups[group]);
        for (size_t i = 0; tool_commands[i]; i++) {
            if ((int)tool_commands[i]->group == group)
                printf("  %-10s %s\n", tool_commands[i]->name, tool_commands[i]->summary);
        }
    }
}

static const struct hal_command_line command_line = {
    .program = "hal-trace",
    .usage = "usage: hal-trace COMMAND [OPTIONS] FILE\n"
             "\n"
             "Examines traces, and makes new ones from them. --help after a command lists its "
             "options.\n",
    .notes = "Examples:\n"
             "  hal-trace stats trace.pb.zst\n"
             "  hal-trace dump --kind=submit,semaphore_wait trace.pb.zst\n"
             "  hal-trace trim -o part.pb.zst --submissions=#s3..#s5 trace.pb.zst\n"
             "  hal-trace export --format=perfetto -o trace.perfetto-trace trace.pb.zst\n"
             "\n"
             "Exit status: 0 success, 1 (diff) the traces differ, (races) there are races, 2 wrong "
             "usage,\n"
             "3 a file cannot be read, is damaged, or cannot be written.\n",
    .print_version = tool_print_version,
    .print_verbs = print_verbs,
    .stops_at_word = true,
};

static int refuse_command(const char *name)
{
    enum { MOST = 32 };
    const char *names[MOST];
    size_t count = 0;
    for (; tool_commands[count] && count < MOST; count++)
        names[count] = tool_commands[count]->name;
    const char *nearest = hal_nearest_name(name, names, count);
    if (nearest)
        tool_error("unknown command '%s' (nearest: '%s')", name, nearest);
    else
        tool_error("unknown command '%s' (see hal-trace --help)", name);
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    struct hal_words words;
    (void)argc;
    hal_size_signal_ignore();
    signal(SIGPIPE,
           SIG_DFL); /* end quietly if the reader closes the pipe, whatever was inherited */
    if (hal_command_line_parse(&command_line, argv, NULL, &words) != HAL_OK) {
        tool_error("%s", hal_message());
        return TOOL_USAGE;
    }
    if (words.asked != HAL_ASKED_NOTHING)
        return tool_fail(hal_command_line_answer(&command_line, words.asked));
    if (!words.count) {
        tool_error("no command given (see hal-trace --help)");
        return TOOL_USAGE;
    }
    for (size_t i = 0; tool_commands[i]; i++) {
        if (strcmp(words.words[0], tool_commands[i]->name) == 0)
            return tool_commands[i]->run(words.words);
    }
    return refuse_command(words.words[0]);
}
