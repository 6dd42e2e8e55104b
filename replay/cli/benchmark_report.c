/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what was measured. */
#include "format/base/json.h"
#include "hal/base/moment.h"
#include "hal/base/text.h"
#include "replay/cli/report.h"
#include "replay/cli/report_parts.h"

#include <inttypes.h>

void replay_print_benchmark(FILE *file, const struct replay_benchmark_result *result)
{
    const struct replay_times *times = &result->times;
    fprintf(file,
            "time of %s after %" PRIu64
            " to warm up: min %s, median %s (95 %% interval %s to %s%s), p99 %s\n",
            hal_count(result->runs, "run", "runs").text, result->warm_up,
            hal_duration_text(times->min_ns).text, hal_duration_text(times->median_ns).text,
            hal_duration_text((int64_t)result->interval.low).text,
            hal_duration_text((int64_t)result->interval.high).text,
            result->tight ? "" : ": not as tight as requested",
            hal_duration_text(times->p99_ns).text);
    for (size_t i = 0; i < result->scope_count; i++) {
        const struct replay_scope_times *scope = &result->scopes[i];
        fprintf(file, "  scope '%s' (%" PRIu64 "): min %s, median %s, p99 %s\n",
                hal_shown(scope->name).text, scope->count,
                hal_duration_text(scope->times.min_ns).text,
                hal_duration_text(scope->times.median_ns).text,
                hal_duration_text(scope->times.p99_ns).text);
    }
}

void replay_print_isolate(FILE *file, const struct replay_isolate_result *result)
{
    const double perturbation =
        result->in_context_ns > 0 ? (double)result->isolated_ns / (double)result->in_context_ns : 0;
    fprintf(file,
            "%s one by one: %s (an empty submission takes %s); %s one after the other: %s; %.2fx "
            "(best of %s)\n",
            hal_count(result->commands, "command", "commands").text,
            hal_duration_text(result->isolated_ns).text, hal_duration_text(result->empty_ns).text,
            hal_count(result->submissions, "submission", "submissions").text,
            hal_duration_text(result->in_context_ns).text, perturbation,
            hal_count(result->runs, "run", "runs").text);
    fprintf(file, "  %-32s %8s %12s %12s %12s %12s\n", "kernel", "count", "median", "min", "alone",
            "share");
    for (size_t i = 0; i < result->kernel_count; i++) {
        const struct replay_kernel_times *kernel = &result->kernels[i];
        fprintf(file, "  %-32s %8" PRIu64 " %12s %12s %12s %12s\n", hal_shown(kernel->name).text,
                kernel->count, hal_duration_text(kernel->one.median_ns).text,
                hal_duration_text(kernel->one.min_ns).text,
                hal_duration_text(kernel->isolated_ns).text,
                hal_duration_text(kernel->in_context_ns).text);
    }
    if (result->more_kernels)
        fprintf(file, "  and %s of other kernels\n",
                hal_count((uint64_t)result->more_kernels, "command", "commands").text);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

void replay_print_benchmark_json(struct trace_text *text,
                                 const struct replay_benchmark_result *result)
{
    trace_json_member_open(text, "benchmark", '{');
    trace_json_member_u64(text, "runs", result->runs);
    trace_json_member_u64(text, "warm_up", result->warm_up);
    trace_json_member_u64(text, "different_runs", result->different_runs);
    trace_json_member_bool(text, "tight", result->tight);
    replay_json_times(text, "total_ns", &result->times);
    trace_json_member_double(text, "median_low_ns", result->interval.low);
    trace_json_member_double(text, "median_high_ns", result->interval.high);
    trace_json_member_open(text, "scopes", '[');
    for (size_t i = 0; i < result->scope_count; i++) {
        trace_json_open(text, '{');
        trace_json_member_text(text, "name", result->scopes[i].name);
        trace_json_member_u64(text, "count", result->scopes[i].count);
        replay_json_times(text, "ns", &result->scopes[i].times);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
    trace_json_close(text, '}');
}

void replay_print_isolate_json(struct trace_text *text, const struct replay_isolate_result *result)
{
    trace_json_member_open(text, "isolate", '{');
    trace_json_member_u64(text, "runs", result->runs);
    trace_json_member_u64(text, "commands", result->commands);
    trace_json_member_u64(text, "submissions", result->submissions);
    trace_json_member_i64(text, "empty_ns", result->empty_ns);
    trace_json_member_i64(text, "isolated_ns", result->isolated_ns);
    trace_json_member_i64(text, "in_context_ns", result->in_context_ns);
    trace_json_member_open(text, "kernels", '[');
    for (size_t i = 0; i < result->kernel_count; i++) {
        const struct replay_kernel_times *kernel = &result->kernels[i];
        trace_json_open(text, '{');
        trace_json_member_text(text, "name", kernel->name);
        trace_json_member_u64(text, "count", kernel->count);
        replay_json_times(text, "one_ns", &kernel->one);
        trace_json_member_i64(text, "isolated_ns", kernel->isolated_ns);
        trace_json_member_i64(text, "in_context_ns", kernel->in_context_ns);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
    trace_json_close(text, '}');
}
