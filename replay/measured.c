/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what was measured. */
#include "format/json.h"
#include "replay/measure.h"

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
                scope->name, scope->count, ms(scope->times.min_ns), ms(scope->times.median_ns),
                ms(scope->times.p99_ns));
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
        fprintf(file, "  %-32s %8" PRIu64 " %12.3f %12.3f %12.3f %12.3f\n", kernel->name,
                kernel->count, (double)kernel->one.median_ns / 1e3,
                (double)kernel->one.min_ns / 1e3, ms(kernel->isolated_ns),
                ms(kernel->in_context_ns));
    }
    if (result->more_kernels)
        fprintf(file, "  and %" PRIu64 " commands of other kernels\n",
                (uint64_t)result->more_kernels);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_number(struct trace_text *text, const char *key, int64_t value)
{
    trace_json_key(text, key);
    trace_json_i64(text, value);
}

static void json_times(struct trace_text *text, const char *key, const struct replay_times *times)
{
    trace_json_key(text, key);
    trace_json_open(text, '{');
    json_number(text, "min", times->min_ns);
    json_number(text, "median", times->median_ns);
    json_number(text, "p99", times->p99_ns);
    json_number(text, "max", times->max_ns);
    trace_json_close(text, '}');
}

static void print_text(FILE *file, const char *key, struct trace_text *text)
{
    fprintf(file, ",\"%s\":", key);
    fwrite(text->data, 1, text->bytes, file);
    trace_text_finish(text);
}

void replay_print_benchmark_json(FILE *file, const struct replay_benchmark_result *result)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    json_number(&text, "runs", (int64_t)result->runs);
    json_number(&text, "warm_up", (int64_t)result->warm_up);
    json_number(&text, "different_runs", (int64_t)result->different_runs);
    trace_json_key(&text, "tight");
    trace_json_bool(&text, result->tight);
    json_times(&text, "total_ns", &result->times);
    trace_json_key(&text, "median_low_ns");
    trace_json_double(&text, result->interval.low);
    trace_json_key(&text, "median_high_ns");
    trace_json_double(&text, result->interval.high);
    trace_json_key(&text, "scopes");
    trace_json_open(&text, '[');
    for (size_t i = 0; i < result->scope_count; i++) {
        trace_json_open(&text, '{');
        trace_json_key(&text, "name");
        trace_json_text(&text, result->scopes[i].name);
        json_number(&text, "count", (int64_t)result->scopes[i].count);
        json_times(&text, "ns", &result->scopes[i].times);
        trace_json_close(&text, '}');
    }
    trace_json_close(&text, ']');
    trace_json_close(&text, '}');
    print_text(file, "benchmark", &text);
}

void replay_print_isolate_json(FILE *file, const struct replay_isolate_result *result)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    json_number(&text, "runs", (int64_t)result->runs);
    json_number(&text, "commands", (int64_t)result->commands);
    json_number(&text, "submissions", (int64_t)result->submissions);
    json_number(&text, "empty_ns", result->empty_ns);
    json_number(&text, "isolated_ns", result->isolated_ns);
    json_number(&text, "in_context_ns", result->in_context_ns);
    trace_json_key(&text, "kernels");
    trace_json_open(&text, '[');
    for (size_t i = 0; i < result->kernel_count; i++) {
        const struct replay_kernel_times *kernel = &result->kernels[i];
        trace_json_open(&text, '{');
        trace_json_key(&text, "name");
        trace_json_text(&text, kernel->name);
        json_number(&text, "count", (int64_t)kernel->count);
        json_times(&text, "one_ns", &kernel->one);
        json_number(&text, "isolated_ns", kernel->isolated_ns);
        json_number(&text, "in_context_ns", kernel->in_context_ns);
        trace_json_close(&text, '}');
    }
    trace_json_close(&text, ']');
    trace_json_close(&text, '}');
    print_text(file, "isolate", &text);
}
