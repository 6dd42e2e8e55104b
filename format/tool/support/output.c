/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of hal-trace that write a trace have in common. */
#include "format/tool/support/tool.h"

#include "hal/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool tool_output_check(const char *command, const struct trace_rewrite_options *output,
                       char *const *inputs, int input_count)
{
    if (!output->path) {
        tool_error("%s: no output given: use -o OUTPUT (see hal-trace %s --help)", command,
                   command);
        return false;
    }
    for (int i = 0; i < input_count; i++) {
        if (is_same_file(output->path, inputs[i])) {
            tool_error("%s: '%s' is the trace to read: write to another file", command,
                       output->path);
            return false;
        }
    }
    return true;
}

enum hal_status tool_add_edit(struct trace_header *header, const char *edit,
                              const char ***out_edits)
{
    const char **edits = hal_alloc(header->edit_count + 1, sizeof *edits);
    *out_edits = edits;
    if (!edits)
        return hal_fail(HAL_NO_MEMORY, "no memory for the header");
    for (size_t i = 0; i < header->edit_count; i++)
        edits[i] = header->edits[i];
    edits[header->edit_count++] = edit;
    header->edits = edits;
    header->sidecar = "";
    return HAL_OK;
}

int tool_written(enum hal_status status, const char *path, const char *words)
{
    struct stat info;
    struct trace_text text = {0};
    if (status != HAL_OK) {
        tool_error("%s", hal_message());
        return TOOL_FAILED;
    }
    trace_text_label(&text, path, strlen(path));
    trace_text_printf(&text, ": ");
    tool_size(&text, stat(path, &info) == 0 ? (uint64_t)info.st_size : 0);
    trace_text_printf(&text, "%s%s\n", *words ? ", " : "", words);
    status = tool_write(&text, true);
    trace_text_finish(&text);
    if (status != HAL_OK)
        tool_error("%s", hal_message());
    return status == HAL_OK ? TOOL_OK : TOOL_FAILED;
}

void tool_size(struct trace_text *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    uint64_t whole = bytes, rest = 0;
    for (; whole >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    trace_text_u64(text, whole);
    if (unit)
        trace_text_printf(text, ".%u", (unsigned)(rest * 10 / 1024));
    trace_text_printf(text, " %s", units[unit]);
}
