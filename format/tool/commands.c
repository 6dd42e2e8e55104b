/* SPDX-License-Identifier: Apache-2.0 */
/* The list of subcommands: apart from main.c, since other programs run them, too (tests/fuzz). */
#include "format/tool/support/tool.h"

const struct tool_command *const tool_commands[] = {
    &tool_info,   &tool_dump,       &tool_stats,      &tool_verify,  &tool_races,
    &tool_diff,   &tool_trim,       &tool_strip,      &tool_merge,   &tool_extract,
    &tool_export, &trace_symbolize, &tool_recompress, &tool_recover, NULL,
};
