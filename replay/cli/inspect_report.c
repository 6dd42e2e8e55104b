/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what was looked at. */
#include "format/base/json.h"
#include "hal/base/moment.h"
#include "hal/base/text.h"
#include "replay/cli/options.h"
#include "replay/cli/report.h"
#include "replay/cli/report_parts.h"

#include <inttypes.h>

static void print_times(FILE *file, const char *what, const struct replay_times *times)
{
    fprintf(file, "  %s: min %s, median %s, p99 %s, max %s\n", what,
            hal_duration_text(times->min_ns).text, hal_duration_text(times->median_ns).text,
            hal_duration_text(times->p99_ns).text, hal_duration_text(times->max_ns).text);
}

void replay_print_inspect(FILE *file, const struct replay_program *program,
                          const struct replay_inspect_result *result)
{
    const struct replay_inspect *look = &program->look;
    char where[HAL_LOCATOR_BYTES];
    if (look->has_stop)
        fprintf(file, "stopped after %s, after %s\n", hal_locator_print(&look->stop, where),
                hal_count(result->steps, "step", "steps").text);
    for (size_t i = 0; i < look->dump_count; i++)
        fprintf(file, "buffer '%s' after %s: %s as %s in %s\n",
                hal_shown(program->dumps[i].buffer).text,
                hal_locator_print(&program->dumps[i].where, where),
                hal_count(result->dump_bytes[i], "byte", "bytes").text,
                replay_type_name(result->dump_types[i]), hal_shown(program->dumps[i].path).text);
    if (!look->has_loop)
        return;
    fprintf(file, "%s, %s, alone, %s:\n", hal_locator_print(&look->loop, where),
            hal_shown(result->loop_name).text, hal_count(result->loop_runs, "time", "times").text);
    print_times(file, "from submit to completion", &result->loop);
    print_times(file, "an empty submission", &result->empty);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_dump(struct trace_text *text, const struct replay_dump *dump, uint64_t bytes,
                      enum replay_type type)
{
    char where[HAL_LOCATOR_BYTES];
    trace_json_open(text, '{');
    trace_json_member_text(text, "buffer", dump->buffer);
    trace_json_member_text(text, "locator", hal_locator_print(&dump->where, where));
    trace_json_member_text(text, "file", dump->path);
    trace_json_member_u64(text, "bytes", bytes);
    trace_json_member_text(text, "type", replay_type_name(type));
    trace_json_close(text, '}');
}

void replay_print_inspect_json(struct trace_text *text, const struct replay_program *program,
                               const struct replay_inspect_result *result)
{
    const struct replay_inspect *look = &program->look;
    char where[HAL_LOCATOR_BYTES];
    trace_json_member_open(text, "look", '{');
    trace_json_member_text(text, "stopped_at",
                           look->has_stop ? hal_locator_print(&look->stop, where) : "");
    trace_json_member_u64(text, "steps", result->steps);
    trace_json_member_open(text, "dumps", '[');
    for (size_t i = 0; i < look->dump_count; i++)
        json_dump(text, &program->dumps[i], result->dump_bytes[i], result->dump_types[i]);
    trace_json_close(text, ']');
    if (look->has_loop) {
        trace_json_member_text(text, "loop", hal_locator_print(&look->loop, where));
        trace_json_member_u64(text, "loop_runs", result->loop_runs);
        replay_json_times(text, "loop_ns", &result->loop);
        replay_json_times(text, "empty_ns", &result->empty);
    }
    trace_json_close(text, '}');
}
