/* SPDX-License-Identifier: Apache-2.0 */
/* Prints for machines: one object. */
#include "replay/cli/fields.h"
#include "replay/cli/report.h"
#include "replay/cli/report_parts.h"

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

static void jail(struct trace_text *text, const struct replay_summary *summary)
{
    if (!summary->jail) {
        replay_field_null(text, "jail");
        return;
    }
    replay_field_open(text, "jail", '{');
    replay_field_bool(text, "complete", !summary->jail[0]);
    replay_field_text(text, "missing", summary->jail);
    trace_json_close(text, '}');
}

static void plan(struct trace_text *text, const struct replay_plan_info *plan)
{
    replay_field_open(text, "recorded", '{');
    replay_field_text(text, "program", plan->header->program);
    replay_field_text(text, "device", plan->header->device.uri);
    replay_field_text(text, "device_name", plan->header->device.name);
    replay_field_u64(text, "simd_width", plan->header->device.simd_width);
    trace_json_close(text, '}');
    replay_field_bool(text, "complete", !plan->incomplete[0]);
    replay_field_text(text, "incomplete", plan->incomplete);
    replay_field_text(text, "cut", plan->cut);
    replay_field_u64(text, "events", plan->events);
    replay_field_u64(text, "replayed_events", plan->replayed_events);
    replay_field_u64(text, "submissions", plan->submissions);
    replay_field_u64(text, "command_buffers", plan->command_buffers);
    replay_field_u64(text, "commands", plan->commands);
    replay_field_u64(text, "dispatches", plan->dispatches);
    replay_field_u64(text, "unsupported_calls", plan->unsupported_calls);
    replay_field_u64(text, "left_out_commands", plan->left_out_commands);
    replay_field_u64(text, "skipped_calls", plan->skipped_calls);
    replay_field_u64(text, "timed_out_waits", plan->timed_out_waits);
    replay_field_bool(text, "recorded_loss", plan->lost);
    if (plan->lost && plan->lost_submission != UINT64_MAX)
        replay_field_u64(text, "lost_submission", plan->lost_submission);
    else
        replay_field_null(text, "lost_submission");
    replay_field_u64(text, "peak_buffer_bytes", plan->peak_buffer_bytes);
    replay_field_u64(text, "content_bytes", plan->content_bytes);
    replay_field_bool(text, "contents_in_memory", plan->contents_in_memory);
}

static void device(struct trace_text *text, const struct hal_device_info *device)
{
    replay_field_open(text, "device", '{');
    replay_field_text(text, "uri", device->uri);
    replay_field_text(text, "name", device->name);
    replay_field_u64(text, "simd_width", device->simd_width);
    replay_field_text(text, "architecture", device->architecture);
    trace_json_close(text, '}');
}

static void compatibility(struct trace_text *text, const struct replay_summary *summary)
{
    char note[REPLAY_NOTE_BYTES];
    replay_field_open(text, "compatibility", '{');
    replay_field_open(text, "limits", '[');
    for (size_t i = 0; replay_target_limit(summary->plan, summary->device, i, note); i++)
        trace_json_text(text, note);
    trace_json_close(text, ']');
    replay_field_open(text, "notes", '[');
    for (size_t i = 0; replay_target_note(summary->plan, summary->device, i, note); i++)
        trace_json_text(text, note);
    trace_json_close(text, ']');
    trace_json_close(text, '}');
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void reads(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    replay_field_open(text, "reads", '{');
    replay_field_u64(text, "compared", report->compared_reads);
    replay_field_u64(text, "compared_bytes", report->compared_bytes);
    replay_field_u64(text, "different", report->different_reads);
    replay_field_u64(text, "different_bytes", report->different_bytes);
    replay_field_u64(text, "by_digest", report->digest_reads);
    replay_field_u64(text, "unrecorded", summary->plan->unrecorded_reads);
    replay_field_u64(text, "skipped", summary->plan->skipped_reads);
    replay_field_u64(text, "unjudged", report->unjudged_reads);
    replay_field_u64(text, "doubtful", report->doubtful_reads);
    trace_json_close(text, '}');
}

static void difference(struct trace_text *text, const struct replay_report *report)
{
    const struct replay_difference *first = &report->first;
    if (!report->different_reads) {
        replay_field_null(text, "first_difference");
        return;
    }
    replay_field_open(text, "first_difference", '{');
    replay_field_u64(text, "ticket", first->ticket);
    replay_field_bool(text, "by_digest", first->by_digest);
    replay_field_u64(text, "buffer", first->buffer);
    replay_field_u64(text, "offset", first->offset);
    replay_field_u64(text, "read_offset", first->read_offset);
    replay_field_u64(text, "read_bytes", first->read_bytes);
    replay_field_u64(text, "different_bytes", first->different_bytes);
    replay_field_u64(text, "sample_offset", first->sample_offset);
    replay_field_text(text, "label", first->label);
    replay_field_hex(text, "expected", first->expected, first->sample_bytes);
    replay_field_hex(text, "actual", first->actual, first->sample_bytes);
    replay_field_text(text, "locator", first->locator);
    replay_field_text(text, "writer", first->writer);
    trace_json_close(text, '}');
}

static void errors(struct trace_text *text, const struct replay_report *report)
{
    const struct replay_errors *errors = &report->errors;
    replay_field_open(text, "errors", '{');
    replay_field_text(text, "type", replay_type_name(errors->type));
    replay_field_bool(text, "guessed", errors->guessed);
    replay_field_u64(text, "wrong", errors->wrong);
    replay_field_u64(text, "within_tolerance", errors->inexact);
    replay_field_u64(text, "expected_nan", errors->expected_nan);
    replay_field_u64(text, "actual_nan", errors->actual_nan);
    replay_field_text(text, "nan_map", errors->nan_map);
    replay_field_double(text, "largest_absolute", errors->worst_absolute);
    replay_field_double(text, "largest_relative", errors->worst_relative);
    replay_field_u64(text, "largest_ulp", errors->worst_ulp);
    replay_field_text(text, "label", report->worst_label);
    replay_field_u64(text, "buffer", report->worst_buffer);
    replay_field_u64(text, "offset", report->worst_read_offset + errors->worst_offset);
    replay_field_double(text, "expected", errors->worst_expected);
    replay_field_double(text, "actual", errors->worst_actual);
    trace_json_close(text, '}');
}

static void times(struct trace_text *text, const char *key, bool known,
                  const struct replay_times *times)
{
    if (known)
        replay_field_times(text, key, times);
    else
        replay_field_null(text, key);
}

static void runs(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    reads(text, summary);
    difference(text, report);
    errors(text, report);
    replay_field_u64(text, "different_outcomes", report->different_outcomes);
    replay_field_text(text, "first_outcome", report->first_outcome);
    replay_field_u64(text, "unmet_losses", report->unmet_losses);
    replay_field_u64(text, "runs", summary->runs);
    replay_field_u64(text, "different_runs", summary->different_runs);
    replay_field_i64(text, "load_ns", summary->load_ns);
    if (summary->has_prepare)
        replay_field_i64(text, "prepare_ns", summary->prepare_ns);
    else
        replay_field_null(text, "prepare_ns");
    times(text, "total_ns", summary->has_total, &summary->total);
    times(text, "device_wait_ns", summary->has_wait, &summary->wait);
}

/* ---- Trials -------------------------------------------------------------------------------- */

static void counts(struct trace_text *text, const char *key,
                   const struct replay_what_if_counts *counts)
{
    replay_field_open(text, key, '{');
    replay_field_u64(text, "submissions", counts->submissions);
    replay_field_u64(text, "command_buffers", counts->command_buffers);
    replay_field_u64(text, "host_waits", counts->host_waits);
    replay_field_u64(text, "barriers", counts->barriers);
    replay_field_u64(text, "queues", counts->queues);
    trace_json_close(text, '}');
}

static void gain(struct trace_text *text, const char *key, const struct trace_interval *gain)
{
    replay_field_open(text, key, '{');
    replay_field_double(text, "low", gain->low);
    replay_field_double(text, "median", gain->median);
    replay_field_double(text, "high", gain->high);
    trace_json_close(text, '}');
}

static void hazard_access(struct trace_text *text, const char *key,
                          const struct replay_what_if_access *access)
{
    char where[HAL_LOCATOR_BYTES];
    replay_field_open(text, key, '{');
    replay_field_text(text, "locator",
                      access->host ? "" : hal_locator_print(&access->where, where));
    replay_field_text(text, "what", access->what);
    trace_json_close(text, '}');
}

static void hazards(struct trace_text *text, const struct replay_what_if_hazards *hazards)
{
    replay_field_open(text, "hazards", '{');
    replay_field_u64(text, "pairs", hazards->pairs);
    replay_field_u64(text, "lost", hazards->lost);
    replay_field_u64(text, "lost_for_certain", hazards->lost_for_certain);
    replay_field_u64(text, "in_one_submission", hazards->together);
    replay_field_u64(text, "unordered", hazards->unordered);
    replay_field_u64(text, "leave_their_queue", hazards->apart);
    replay_field_u64(text, "races_recorded", hazards->races_before);
    replay_field_u64(text, "races_changed", hazards->races_after);
    replay_field_u64(text, "undecided", hazards->undecided);
    replay_field_bool(text, "incomplete", hazards->incomplete);
    if (hazards->lost) {
        replay_field_open(text, "first_lost", '{');
        hazard_access(text, "first", &hazards->first);
        hazard_access(text, "second", &hazards->second);
        replay_field_text(text, "buffer", hazards->buffer);
        replay_field_u64(text, "begin", hazards->begin);
        replay_field_u64(text, "end", hazards->end);
        trace_json_close(text, '}');
    } else {
        replay_field_null(text, "first_lost");
    }
    trace_json_close(text, '}');
}

static void trial(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    const struct replay_what_if_info *info = &summary->what_if_info;
    replay_field_open(text, "what_if", '{');
    replay_field_text(text, "change", summary->what_if);
    replay_field_bool(text, "changed", info->changed);
    counts(text, "before", &info->before);
    counts(text, "after", &info->after);
    replay_field_open(text, "dropped_barriers", '{');
    replay_field_u64(text, "redundant", info->dropped_redundant);
    replay_field_u64(text, "unknown", info->dropped_unknown);
    replay_field_u64(text, "needed", info->dropped_needed);
    trace_json_close(text, '}');
    hazards(text, &info->hazards);
    replay_field_u64(text, "pairs", trial->pairs);
    replay_field_u64(text, "shuffled_runs", trial->shuffled);
    replay_field_u64(text, "different_runs", trial->different_variant + trial->different_shuffled);
    replay_field_u64(text, "different_recorded_runs", trial->different_base);
    replay_field_times(text, "recorded_ns", &trial->base);
    replay_field_times(text, "changed_ns", &trial->variant);
    gain(text, "gain", &trial->gain);
    trace_json_close(text, '}');
}

static void compare(struct trace_text *text, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    replay_field_open(text, "compare", '{');
    replay_field_text(text, "with", summary->compare);
    replay_field_u64(text, "pairs", trial->pairs);
    replay_field_u64(text, "different_runs", trial->different_base);
    replay_field_u64(text, "different_runs_with", trial->different_variant);
    replay_field_double(text, "threshold_percent", summary->threshold_percent);
    replay_field_bool(text, "slower", summary->slower);
    replay_field_times(text, "ns", &trial->base);
    replay_field_times(text, "ns_with", &trial->variant);
    gain(text, "speed", &trial->gain);
    trace_json_close(text, '}');
}

/* ---- All ----------------------------------------------------------------------------------- */

static void results(struct trace_text *text, const struct replay_summary *summary)
{
    if (summary->runs)
        runs(text, summary);
    if (summary->what_if && (summary->trial.pairs || !summary->what_if_info.changed))
        trial(text, summary);
    if (summary->compare && summary->trial.pairs)
        compare(text, summary);
    if (summary->look)
        replay_print_look_json(text, summary->look, summary->look_result);
    if (summary->benchmark)
        replay_print_benchmark_json(text, summary->benchmark);
    if (summary->isolate)
        replay_print_isolate_json(text, summary->isolate);
    if (summary->finding)
        replay_print_finding_json(text, summary->finding, summary->against);
}

bool replay_print_json(FILE *file, const struct replay_summary *summary)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    replay_field_text(&text, "file", summary->path);
    replay_field_i64(&text, "exit_code", (int64_t)summary->exit_code);
    replay_field_text(&text, "result", result_name(summary));
    replay_field_text(&text, "message", summary->error);
    jail(&text, summary);
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
