/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace: finds the subcommand; help, version, complaints. */
#include "format/tool/support/tool.h"

#include "hal/base/output.h"
#include "hal/base/text.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void print_help(void)
{
    static const char *const groups[] = {
        "Look at a trace:", "Make another one:", "For other programs:"};
    puts("usage: hal-trace COMMAND [OPTIONS] FILE\n\nLooks into traces, and makes others of them.");
    for (int group = 0; group < TOOL_GROUPS; group++) {
        printf("\n%s\n", groups[group]);
        for (size_t i = 0; tool_commands[i]; i++) {
            if ((int)tool_commands[i]->group == group)
                printf("  %-10s %s\n", tool_commands[i]->name, tool_commands[i]->summary);
        }
    }
    puts("\n  --help     this text; after a command: its options\n"
         "  --version  the version\n\n"
         "Examples:\n"
         "  hal-trace stats trace.pb.zst\n"
         "  hal-trace dump --kind=submit,semaphore_wait trace.pb.zst\n"
         "  hal-trace trim -o part.pb.zst --submissions=#s3..#s5 trace.pb.zst\n"
         "  hal-trace export --format=perfetto -o trace.perfetto-trace trace.pb.zst\n\n"
         "Exit status: 0 it worked, 1 (of diff) the traces differ, (of races) there are races, 2 "
         "wrong\n"
         "usage, 3 a file cannot be read, is damaged, or cannot be written.");
}

static int run_command(const struct tool_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(command->help, stdout);
            return tool_fail(hal_output_end());
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
        return tool_fail(hal_output_end());
    if (option != -1 || optind == argc) {
        if (option != -1)
            tool_error("unknown option '%s' (see hal-trace --help)", argv[optind - 1]);
        else
            tool_error("which command? (see hal-trace --help)");
        return TOOL_USAGE;
    }
    for (size_t i = 0; tool_commands[i]; i++) {
        if (strcmp(argv[optind], tool_commands[i]->name) == 0) {
            char **own = argv + optind;
            const int count = argc - optind;
            optind = 0; /* from the start, and no longer up to the first file alone */
            return run_command(tool_commands[i], count, own);
        }
    }
    tool_error("unknown command '%s' (see hal-trace --help)", argv[optind]);
    return TOOL_USAGE;
}
