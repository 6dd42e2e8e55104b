/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what was measured. */
#include "format/base/json.h"
#include "hal/base/text.h"
#include "replay/cli/report.h"
#include "replay/cli/report_parts.h"

#include <inttypes.h>

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

void replay_print_benchmark(FILE *file, const struct replay_benchmark_result *result)
{
    const struct replay_times *times = &result->times;
    fprintf(file,
            "time of %" PRIu64 " runs after %" PRIu64
            " to warm up: min %.3f, median %.3f (95 %% interval %.3f to %.3f%s), p99 %.3f ms\n",
            result->runs, result->warm_up, ms(times->min_ns), ms(times->median_ns),
            result->interval.low / 1e6, result->interval.high / 1e6,
            result->tight ? "" : ": not as tight as wanted", ms(times->p99_ns));
    for (size_t i = 0; i < result->scope_count; i++) {
        const struct replay_scope_times *scope = &result->scopes[i];
        fprintf(file, "  scope '%s' (%" PRIu64 "): min %.3f, median %.3f, p99 %.3f ms\n",
                hal_shown(scope->name).text, scope->count, ms(scope->times.min_ns),
                ms(scope->times.median_ns), ms(scope->times.p99_ns));
    }
}

void replay_print_isolate(FILE *file, const struct replay_isolate_result *result)
{
    const double perturbation =
        result->in_context_ns > 0 ? (double)result->isolated_ns / (double)result->in_context_ns : 0;
    fprintf(file,
            "%" PRIu64 " commands one by one: %.3f ms (an empty submission takes %.3f us); %" PRIu64
            " submissions one after the other: %.3f ms; %.2fx (best of %" PRIu64 " runs)\n",
            result->commands, ms(result->isolated_ns), (double)result->empty_ns / 1e3,
            result->submissions, ms(result->in_context_ns), perturbation, result->runs);
    fprintf(file, "  %-32s %8s %12s %12s %12s %12s\n", "kernel", "count", "median us", "min us",
            "alone ms", "share ms");
    for (size_t i = 0; i < result->kernel_count; i++) {
        const struct replay_kernel_times *kernel = &result->kernels[i];
        fprintf(file, "  %-32s %8" PRIu64 " %12.3f %12.3f %12.3f %12.3f\n",
                hal_shown(kernel->name).text, kernel->count, (double)kernel->one.median_ns / 1e3,
                (double)kernel->one.min_ns / 1e3, ms(kernel->isolated_ns),
                ms(kernel->in_context_ns));
    }
    if (result->more_kernels)
        fprintf(file, "  and %" PRIu64 " commands of other kernels\n",
                (uint64_t)result->more_kernels);
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
