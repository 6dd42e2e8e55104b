/* SPDX-License-Identifier: Apache-2.0 */
/* Prints for machines: one object. */
#include "format/base/json.h"
#include "replay/cli/report.h"
#include "replay/cli/report_parts.h"

void replay_json_times(struct trace_text *text, const char *key, const struct replay_times *times)
{
    trace_json_member_open(text, key, '{');
    trace_json_member_i64(text, "min", times->min_ns);
    trace_json_member_i64(text, "median", times->median_ns);
    trace_json_member_i64(text, "p99", times->p99_ns);
    trace_json_member_i64(text, "max", times->max_ns);
    trace_json_close(text, '}');
}

static const char *result_name(const struct replay_summary *summary)
{
    switch (summary->exit_code) {
    case REPLAY_EXIT_SAME:
        return summary->look && !summary->report.compared_reads ? "replayed" : "same";
    case REPLAY_EXIT_DIFFERENT:
        return summary->error[0] ? "error" : replay_only_slower(summary) ? "slower" : "different";
    case REPLAY_EXIT_INCOMPARABLE: return "incomparable";
    case REPLAY_EXIT_USAGE:
    case REPLAY_EXIT_UNREADABLE:
    case REPLAY_EXIT_UNSUPPORTED: return "error";
    }
    return "error";
}

static void sandbox(struct trace_text *text, const struct replay_summary *summary)
{
    if (!summary->sandbox) {
        trace_json_member_null(text, "sandbox");
        return;
    }
    trace_json_member_open(text, "sandbox", '{');
    trace_json_member_bool(text, "complete", !summary->sandbox[0]);
    trace_json_member_text(text, "missing", summary->sandbox);
    trace_json_close(text, '}');
}

static void plan(struct trace_text *text, const struct replay_plan_info *plan)
{
    trace_json_member_open(text, "recorded", '{');
    trace_json_member_text(text, "program", plan->header->program);
    trace_json_member_text(text, "device", plan->header->device.uri);
    trace_json_member_text(text, "device_name", plan->header->device.name);
    trace_json_member_u64(text, "simd_width", plan->header->device.simd_width);
    trace_json_close(text, '}');
    trace_json_member_bool(text, "complete", !plan->incomplete[0]);
    trace_json_member_text(text, "incomplete", plan->incomplete);
    trace_json_member_text(text, "cut", plan->cut);
    trace_json_member_u64(text, "events", plan->events);
    trace_json_member_u64(text, "replayed_events", plan->replayed_events);
    trace_json_member_u64(text, "submissions", plan->submissions);
    trace_json_member_u64(text, "command_buffers", plan->command_buffers);
    trace_json_member_u64(text, "commands", plan->commands);
    trace_json_member_u64(text, "dispatches", plan->dispatches);
    trace_json_member_u64(text, "unsupported_calls", plan->unsupported_calls);
    trace_json_member_u64(text, "left_out_commands", plan->left_out_commands);
    trace_json_member_u64(text, "skipped_calls", plan->skipped_calls);
    trace_json_member_u64(text, "timed_out_waits", plan->timed_out_waits);
    trace_json_member_bool(text, "recorded_loss", plan->lost);
    if (plan->lost && plan->lost_submission != UINT64_MAX)
        trace_json_member_u64(text, "lost_submission", plan->lost_submission);
    else
        trace_json_member_null(text, "lost_submission");
    trace_json_member_u64(text, "peak_buffer_bytes", plan->peak_buffer_bytes);
    trace_json_member_u64(text, "content_bytes", plan->content_bytes);
    trace_json_member_bool(text, "contents_in_memory", plan->contents_in_memory);
}

static void device(struct trace_text *text, const struct hal_device_info *device)
{
    trace_json_member_open(text, "device", '{');
    trace_json_member_text(text, "uri", device->uri);
    trace_json_member_text(text, "name", device->name);
    trace_json_member_u64(text, "simd_width", device->simd_width);
    trace_json_member_text(text, "architecture", device->architecture);
    trace_json_close(text, '}');
}

static void compatibility(struct trace_text *text, const struct replay_summary *summary)
{
    char note[REPLAY_NOTE_BYTES];
    trace_json_member_open(text, "compatibility", '{');
    trace_json_member_open(text, "limits", '[');
    for (size_t i = 0; replay_target_limit(summary->plan, summary->device, i, note); i++)
        trace_json_text(text, note);
    trace_json_close(text, ']');
    trace_json_member_open(text, "notes", '[');
    for (size_t i = 0; replay_target_note(summary->plan, summary->device, i, note); i++)
        trace_json_text(text, note);
    trace_json_close(text, ']');
    trace_json_close(text, '}');
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void reads(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    trace_json_member_open(text, "reads", '{');
    trace_json_member_u64(text, "compared", report->compared_reads);
    trace_json_member_u64(text, "compared_bytes", report->compared_bytes);
    trace_json_member_u64(text, "different", report->different_reads);
    trace_json_member_u64(text, "different_bytes", report->different_bytes);
    trace_json_member_u64(text, "by_digest", report->digest_reads);
    trace_json_member_u64(text, "unrecorded", summary->plan->unrecorded_reads);
    trace_json_member_u64(text, "skipped", summary->plan->skipped_reads);
    trace_json_member_u64(text, "unjudged", report->unjudged_reads);
    trace_json_member_u64(text, "doubtful", report->doubtful_reads);
    trace_json_member_u64(text, "unwritten", report->unwritten_reads);
    trace_json_member_u64(text, "host_bytes", report->host_bytes);
    trace_json_close(text, '}');
}

static void difference(struct trace_text *text, const struct replay_report *report)
{
    const struct replay_difference *first = &report->first;
    if (!report->different_reads) {
        trace_json_member_null(text, "first_difference");
        return;
    }
    trace_json_member_open(text, "first_difference", '{');
    trace_json_member_u64(text, "ticket", first->ticket);
    trace_json_member_bool(text, "by_digest", first->by_digest);
    trace_json_member_u64(text, "buffer", first->buffer);
    trace_json_member_u64(text, "offset", first->offset);
    trace_json_member_u64(text, "read_offset", first->read_offset);
    trace_json_member_u64(text, "read_bytes", first->read_bytes);
    trace_json_member_u64(text, "different_bytes", first->different_bytes);
    trace_json_member_u64(text, "sample_offset", first->sample_offset);
    trace_json_member_text(text, "label", first->label);
    trace_json_member_hex(text, "expected", first->expected, first->sample_bytes);
    trace_json_member_hex(text, "actual", first->actual, first->sample_bytes);
    trace_json_member_text(text, "locator", first->locator);
    trace_json_member_text(text, "writer", first->writer);
    trace_json_close(text, '}');
}

static void errors(struct trace_text *text, const struct replay_report *report)
{
    const struct replay_errors *errors = &report->errors;
    trace_json_member_open(text, "errors", '{');
    trace_json_member_text(text, "type", replay_type_name(errors->type));
    trace_json_member_bool(text, "guessed", errors->guessed);
    trace_json_member_u64(text, "wrong", errors->wrong);
    trace_json_member_u64(text, "within_tolerance", errors->inexact);
    trace_json_member_u64(text, "expected_nan", errors->expected_nan);
    trace_json_member_u64(text, "actual_nan", errors->actual_nan);
    trace_json_member_text(text, "nan_map", errors->nan_map);
    trace_json_member_double(text, "largest_absolute", errors->worst_absolute);
    trace_json_member_double(text, "largest_relative", errors->worst_relative);
    trace_json_member_u64(text, "largest_ulp", errors->worst_ulp);
    trace_json_member_text(text, "label", report->worst_label);
    trace_json_member_u64(text, "buffer", report->worst_buffer);
    trace_json_member_u64(text, "offset", report->worst_read_offset + errors->worst_offset);
    trace_json_member_double(text, "expected", errors->worst_expected);
    trace_json_member_double(text, "actual", errors->worst_actual);
    trace_json_close(text, '}');
}

static void times(struct trace_text *text, const char *key, bool known,
                  const struct replay_times *times)
{
    if (known)
        replay_json_times(text, key, times);
    else
        trace_json_member_null(text, key);
}

static void runs(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    reads(text, summary);
    difference(text, report);
    errors(text, report);
    trace_json_member_u64(text, "different_outcomes", report->different_outcomes);
    trace_json_member_text(text, "first_outcome", report->first_outcome);
    trace_json_member_u64(text, "unmet_losses", report->unmet_losses);
    trace_json_member_u64(text, "runs", summary->runs);
    trace_json_member_u64(text, "different_runs", summary->different_runs);
    trace_json_member_i64(text, "load_ns", summary->load_ns);
    if (summary->has_prepare)
        trace_json_member_i64(text, "prepare_ns", summary->prepare_ns);
    else
        trace_json_member_null(text, "prepare_ns");
    times(text, "total_ns", summary->has_total, &summary->total);
    times(text, "device_wait_ns", summary->has_wait, &summary->wait);
}

/* ---- Trials -------------------------------------------------------------------------------- */

static void counts(struct trace_text *text, const char *key,
                   const struct replay_what_if_counts *counts)
{
    trace_json_member_open(text, key, '{');
    trace_json_member_u64(text, "submissions", counts->submissions);
    trace_json_member_u64(text, "command_buffers", counts->command_buffers);
    trace_json_member_u64(text, "host_waits", counts->host_waits);
    trace_json_member_u64(text, "barriers", counts->barriers);
    trace_json_member_u64(text, "queues", counts->queues);
    trace_json_close(text, '}');
}

static void gain(struct trace_text *text, const char *key, const struct trace_interval *gain)
{
    trace_json_member_open(text, key, '{');
    trace_json_member_double(text, "low", gain->low);
    trace_json_member_double(text, "median", gain->median);
    trace_json_member_double(text, "high", gain->high);
    trace_json_close(text, '}');
}

static void hazard_access(struct trace_text *text, const char *key,
                          const struct replay_what_if_access *access)
{
    char where[HAL_LOCATOR_BYTES];
    trace_json_member_open(text, key, '{');
    trace_json_member_text(text, "locator",
                           access->host ? "" : hal_locator_print(&access->where, where));
    trace_json_member_text(text, "what", access->what);
    trace_json_close(text, '}');
}

static void hazards(struct trace_text *text, const struct replay_what_if_hazards *hazards)
{
    trace_json_member_open(text, "hazards", '{');
    trace_json_member_u64(text, "pairs", hazards->pairs);
    trace_json_member_u64(text, "lost", hazards->lost);
    trace_json_member_u64(text, "lost_for_certain", hazards->lost_for_certain);
    trace_json_member_u64(text, "in_one_submission", hazards->together);
    trace_json_member_u64(text, "unordered", hazards->unordered);
    trace_json_member_u64(text, "leave_their_queue", hazards->apart);
    trace_json_member_u64(text, "races_recorded", hazards->races_before);
    trace_json_member_u64(text, "races_changed", hazards->races_after);
    trace_json_member_u64(text, "undecided", hazards->undecided);
    trace_json_member_bool(text, "incomplete", hazards->incomplete);
    if (hazards->lost) {
        trace_json_member_open(text, "first_lost", '{');
        hazard_access(text, "first", &hazards->first);
        hazard_access(text, "second", &hazards->second);
        trace_json_member_text(text, "buffer", hazards->buffer);
        trace_json_member_u64(text, "begin", hazards->begin);
        trace_json_member_u64(text, "end", hazards->end);
        trace_json_close(text, '}');
    } else {
        trace_json_member_null(text, "first_lost");
    }
    trace_json_close(text, '}');
}

static void paired(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_paired_result *paired = &summary->paired;
    const struct replay_what_if_info *info = &summary->what_if_info;
    trace_json_member_open(text, "what_if", '{');
    trace_json_member_text(text, "change", summary->what_if);
    trace_json_member_bool(text, "changed", info->changed);
    counts(text, "before", &info->before);
    counts(text, "after", &info->after);
    trace_json_member_open(text, "dropped_barriers", '{');
    trace_json_member_u64(text, "redundant", info->dropped_redundant);
    trace_json_member_u64(text, "unknown", info->dropped_unknown);
    trace_json_member_u64(text, "needed", info->dropped_needed);
    trace_json_close(text, '}');
    hazards(text, &info->hazards);
    trace_json_member_u64(text, "pairs", paired->pairs);
    trace_json_member_u64(text, "shuffled_runs", paired->shuffled);
    trace_json_member_u64(text, "different_runs",
                          paired->different_variant + paired->different_shuffled);
    trace_json_member_u64(text, "different_recorded_runs", paired->different_base);
    replay_json_times(text, "recorded_ns", &paired->base);
    replay_json_times(text, "changed_ns", &paired->variant);
    gain(text, "gain", &paired->gain);
    trace_json_close(text, '}');
}

static void compare(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_paired_result *paired = &summary->paired;
    trace_json_member_open(text, "compare", '{');
    trace_json_member_text(text, "with", summary->compare);
    trace_json_member_u64(text, "pairs", paired->pairs);
    trace_json_member_u64(text, "different_runs", paired->different_base);
    trace_json_member_u64(text, "different_runs_with", paired->different_variant);
    trace_json_member_double(text, "threshold_percent", summary->threshold_percent);
    trace_json_member_bool(text, "slower", summary->slower);
    replay_json_times(text, "ns", &paired->base);
    replay_json_times(text, "ns_with", &paired->variant);
    gain(text, "speed", &paired->gain);
    trace_json_close(text, '}');
}

/* ---- All ----------------------------------------------------------------------------------- */

static void results(struct trace_text *text, const struct replay_summary *summary)
{
    if (summary->runs)
        runs(text, summary);
    if (summary->what_if && (summary->paired.pairs || !summary->what_if_info.changed))
        paired(text, summary);
    if (summary->compare && summary->paired.pairs)
        compare(text, summary);
    if (summary->look)
        replay_print_inspect_json(text, summary->look, summary->inspect_result);
    if (summary->benchmark)
        replay_print_benchmark_json(text, summary->benchmark);
    if (summary->isolate)
        replay_print_isolate_json(text, summary->isolate);
    if (summary->result)
        replay_print_bisect_json(text, summary->result, summary->against);
}

bool replay_print_json(FILE *file, const struct replay_summary *summary)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    trace_json_member_text(&text, "file", summary->path);
    trace_json_member_i64(&text, "exit_code", (int64_t)summary->exit_code);
    trace_json_member_text(&text, "result", result_name(summary));
    trace_json_member_text(&text, "message", summary->error);
    sandbox(&text, summary);
    if (summary->plan)
        plan(&text, summary->plan);
    if (summary->device)
        device(&text, summary->device);
    if (summary->plan && summary->device)
        compatibility(&text, summary);
    if (summary->plan)
        results(&text, summary);
    trace_json_close(&text, '}');
    const bool good = !text.is_failed && fwrite(text.data, 1, text.bytes, file) == text.bytes &&
                      fputc('\n', file) != EOF;
    trace_text_finish(&text);
    return good;
}
