/* SPDX-License-Identifier: Apache-2.0 */
/* Judges and prints. Numbers are printed without the locale's help. */
#include "replay/look.h"
#include "replay/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct replay_times replay_times_of(int64_t *values, size_t count)
{
    if (count == 0)
        return (struct replay_times){0};
    qsort(values, count, sizeof *values, compare_times);
    const int64_t low = values[(count - 1) / 2], high = values[count / 2];
    return (struct replay_times){.min_ns = values[0],
                                 .median_ns = low + (high - low) / 2,
                                 .p99_ns = values[(count * 99 + 99) / 100 - 1],
                                 .max_ns = values[count - 1]};
}

enum replay_exit replay_judge(const struct replay_plan_info *plan,
                              const struct replay_report *report)
{
    if (report->different_reads || report->different_outcomes)
        return REPLAY_EXIT_DIFFERENT;
    if (report->compared_reads == 0 || report->unjudged_reads || plan->unrecorded_reads ||
        plan->skipped_reads || plan->incomplete[0])
        return REPLAY_EXIT_INCOMPARABLE;
    return REPLAY_EXIT_SAME;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static void print_bytes(FILE *file, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%s%02x", i ? " " : "", bytes[i]);
}

static void print_element(FILE *file, double value, enum replay_type type)
{
    fprintf(file, replay_type_is_float(type) ? "%.9g" : "%.0f", value);
}

/* The first wrong element as what it is. */
static void print_element_of(FILE *file, const struct replay_difference *first)
{
    const enum replay_type type = first->errors.type;
    const uint64_t at = first->offset - first->sample_offset;
    if (at + replay_type_bytes(type) > first->sample_bytes)
        return;
    fprintf(file, "  as %s%s: expected ", replay_type_name(type),
            first->errors.guessed ? " (a guess)" : "");
    print_element(file, replay_element(first->expected + at, type), type);
    fprintf(file, ", got ");
    print_element(file, replay_element(first->actual + at, type), type);
    fprintf(file, "; %" PRIu64 " of %" PRIu64 " elements are wrong\n", first->errors.wrong,
            first->errors.elements);
    if (first->errors.nan_map[0])
        fprintf(file,
                "  NaN: %" PRIu64 " expected, %" PRIu64
                " got; where (e: only expected, a: only got, b: both): [%s]\n",
                first->errors.expected_nan, first->errors.actual_nan, first->errors.nan_map);
}

/* The first differing element of 4 bytes as the types that it probably is. */
static void print_guesses(FILE *file, const struct replay_difference *first)
{
    if (first->errors.type != REPLAY_TYPE_UNKNOWN) {
        print_element_of(file, first);
        return;
    }
    const uint64_t at = (first->offset - first->sample_offset) / 4 * 4;
    if (at + 4 > first->sample_bytes || first->sample_offset % 4)
        return;
    float f[2];
    int32_t i[2];
    memcpy(&f[0], first->expected + at, 4);
    memcpy(&f[1], first->actual + at, 4);
    memcpy(&i[0], first->expected + at, 4);
    memcpy(&i[1], first->actual + at, 4);
    fprintf(file,
            "  as f32: expected %.9g, got %.9g; as i32: expected %" PRId32 ", got %" PRId32 "\n",
            (double)f[0], (double)f[1], i[0], i[1]);
}

/* Of elements with a type: how large the errors are, also when all are within the tolerance. */
static void print_errors(FILE *file, const struct replay_report *report)
{
    const struct replay_errors *errors = &report->errors;
    if (report->unjudged_reads)
        fprintf(file,
                "%" PRIu64 " read-backs have another digest, which a tolerance cannot be applied "
                "to\n",
                report->unjudged_reads);
    if (errors->type == REPLAY_TYPE_UNKNOWN || errors->wrong + errors->inexact == 0)
        return;
    fprintf(file, "errors: %" PRIu64 " elements wrong, %" PRIu64 " other within the tolerance; ",
            errors->wrong, errors->inexact);
    fprintf(file, "largest %.6g, relative %.6g, %" PRIu64 " ulp; expected ", errors->worst_absolute,
            errors->worst_relative, errors->worst_ulp);
    print_element(file, errors->worst_expected, errors->type);
    fprintf(file, ", got ");
    print_element(file, errors->worst_actual, errors->type);
    fprintf(file, " (%s%s", replay_type_name(errors->type), errors->guessed ? ", a guess" : "");
    if (report->worst_label[0])
        fprintf(file, ") in buffer '%s'", report->worst_label);
    else
        fprintf(file, ") in buffer %" PRIu64, report->worst_buffer);
    fprintf(file, ", offset %" PRIu64 "\n", report->worst_read_offset + errors->worst_offset);
}

static void print_buffer(FILE *file, const struct replay_difference *first)
{
    if (first->label[0])
        fprintf(file, "buffer '%s'", first->label);
    else
        fprintf(file, "buffer %" PRIu64, first->buffer);
}

static void print_writer(FILE *file, const struct replay_difference *first)
{
    if (first->writer[0])
        fprintf(file, "  last written by %s%s%s\n", first->locator, first->locator[0] ? ", " : "",
                first->writer);
    else
        fprintf(file, "  nobody had written there\n");
}

static void print_difference(FILE *file, const struct replay_difference *first)
{
    fprintf(file, "first difference: ");
    if (first->locator[0])
        fprintf(file, "%s: ", first->locator);
    print_buffer(file, first);
    if (first->by_digest) {
        fprintf(file,
                ": the %" PRIu64 " bytes read from offset %" PRIu64 " at ticket %" PRIu64
                " have another SHA-256\n",
                first->read_bytes, first->read_offset, first->ticket);
        print_writer(file, first);
        return;
    }
    fprintf(file,
            ", offset %" PRIu64 ": %" PRIu64 " of the %" PRIu64 " bytes read from offset %" PRIu64
            " at ticket %" PRIu64 " differ\n",
            first->offset, first->different_bytes, first->read_bytes, first->read_offset,
            first->ticket);
    fprintf(file, "  from offset %" PRIu64 ": expected ", first->sample_offset);
    print_bytes(file, first->expected, first->sample_bytes);
    fprintf(file, "\n  %*s got ",
            (int)snprintf(NULL, 0, "from offset %" PRIu64 ": expecte", first->sample_offset) - 4,
            "");
    print_bytes(file, first->actual, first->sample_bytes);
    fprintf(file, "\n");
    print_guesses(file, first);
    print_writer(file, first);
}

/* ---- What if ---- */

static void print_counts(FILE *file, const char *what, uint64_t before, uint64_t after)
{
    if (before != after)
        fprintf(file, ", %" PRIu64 " %s become %" PRIu64, before, what, after);
}

static void print_trial(FILE *file, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    const struct replay_what_if_counts *before = &summary->what_if_info.before;
    const struct replay_what_if_counts *after = &summary->what_if_info.after;
    const uint64_t runs = trial->pairs + trial->shuffled;
    const uint64_t different = trial->different_variant + trial->different_shuffled;
    fprintf(file, "what if %s", summary->what_if);
    print_counts(file, "submissions", before->submissions, after->submissions);
    print_counts(file, "submitted command buffers", before->command_buffers,
                 after->command_buffers);
    print_counts(file, "queues", before->queues, after->queues);
    print_counts(file, "host waits", before->host_waits, after->host_waits);
    print_counts(file, "executed barriers", before->barriers, after->barriers);
    if (memcmp(before, after, sizeof *before) == 0)
        fprintf(file, ": nothing to change");
    const struct replay_what_if_info *info = &summary->what_if_info;
    if (info->dropped_redundant + info->dropped_unknown + info->dropped_needed)
        fprintf(file,
                "\nhazards, of the barriers that were dropped: %" PRIu64 " order nothing, %" PRIu64
                " may order something, %" PRIu64 " are needed",
                info->dropped_redundant, info->dropped_unknown, info->dropped_needed);
    fprintf(file,
            "\nverified: %" PRIu64 " of %" PRIu64 " runs gave the recorded bytes (%" PRIu64
            " of them at random moments)\n",
            runs - different, runs, trial->shuffled);
    if (trial->different_base)
        fprintf(file,
                "unchanged, %" PRIu64 " of %" PRIu64 " runs differ too: the trace itself does not "
                "replay the same\n",
                trial->different_base, trial->pairs);
    fprintf(file,
            "time: %.3f ms as recorded, %.3f ms so: %.2fx (95 %% interval %.2f to %.2f, %" PRIu64
            " pairs)%s\n",
            ms(trial->base.median_ns), ms(trial->variant.median_ns), trial->gain.median,
            trial->gain.low, trial->gain.high, trial->pairs,
            trial->gain.low <= 1 && trial->gain.high >= 1 ? ": no difference that is sure" : "");
}

static void print_compare(FILE *file, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    fprintf(file,
            "time: %.3f ms, and %.3f ms with %s: %.3fx as fast (95 %% interval %.3f to %.3f, "
            "%" PRIu64 " pairs)%s\n",
            ms(trial->base.median_ns), ms(trial->variant.median_ns), summary->compare,
            trial->gain.median, trial->gain.low, trial->gain.high, trial->pairs,
            summary->slower                                 ? ": SLOWER"
            : trial->gain.low <= 1 && trial->gain.high >= 1 ? ": no difference that is sure"
                                                            : "");
    if (trial->different_base + trial->different_variant)
        fprintf(file, "%" PRIu64 " of the runs differ, and %" PRIu64 " of those with %s\n",
                trial->different_base, trial->different_variant, summary->compare);
}

static const char *verdict(const struct replay_summary *summary)
{
    switch (summary->exit_code) {
    case REPLAY_EXIT_SAME:
        return summary->look && !summary->report.compared_reads ? "replayed" : "same";
    case REPLAY_EXIT_DIFFERENT: return summary->error[0] ? "gave up" : "DIFFERENT";
    case REPLAY_EXIT_INCOMPARABLE:
        return summary->report.compared_reads ? "same as far as it could be compared"
                                              : "replayed, but nothing could be compared";
    case REPLAY_EXIT_USAGE:
    case REPLAY_EXIT_UNREADABLE:
    case REPLAY_EXIT_UNSUPPORTED: return "gave up";
    }
    return "";
}

static void print_times(FILE *file, const struct replay_summary *summary)
{
    const struct replay_times *total = &summary->total, *wait = &summary->wait;
    if (summary->runs == 1)
        fprintf(file, "time: %.3f ms, of which %.3f ms waiting for the device", ms(total->min_ns),
                ms(wait->min_ns));
    else
        fprintf(file,
                "time of %" PRIu64 " runs: min %.3f, median %.3f, max %.3f ms, of which waiting "
                "for the device: min %.3f, median %.3f, max %.3f ms",
                summary->runs, ms(total->min_ns), ms(total->median_ns), ms(total->max_ns),
                ms(wait->min_ns), ms(wait->median_ns), ms(wait->max_ns));
    fprintf(file, "; before: loading %.3f ms, compiling %.3f ms\n", ms(summary->load_ns),
            ms(summary->prepare_ns));
}

static void print_notes(FILE *file, const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    if (plan->incomplete[0])
        fprintf(file, "incomplete: %s\n", plan->incomplete);
    if (summary->jail && summary->jail[0])
        fprintf(file, "jail: no wall around %s\n", summary->jail);
    if (plan->unsupported_calls)
        fprintf(file, "%" PRIu64 " calls that no replay can repeat were left out\n",
                plan->unsupported_calls);
    if (plan->skipped_calls)
        fprintf(file, "%" PRIu64 " calls that had returned an error were not repeated\n",
                plan->skipped_calls);
    char note[REPLAY_NOTE_BYTES];
    for (size_t i = 0; replay_target_note(plan, summary->device, i, note); i++)
        fprintf(file, "%s\n", note);
    if (!plan->contents_in_memory)
        fprintf(file, "contents did not fit into memory: times include reading them\n");
}

void replay_print_text(FILE *file, const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    const struct replay_report *report = &summary->report;
    const struct trace_device *recorded = &plan->header->device;
    fprintf(file, "%s: '%s' recorded on %s (%s), replayed on %s (%s)\n", summary->path,
            plan->header->program, recorded->uri, recorded->name, summary->device->uri,
            summary->device->name);
    for (size_t i = 0; i < plan->header->edit_count; i++)
        fprintf(file, "changed since its capture: %s\n", plan->header->edits[i]);
    print_notes(file, summary);
    fprintf(file,
            "%" PRIu64 " submissions of %" PRIu64 " command buffers with %" PRIu64
            " commands, %" PRIu64 " of them dispatches\n",
            plan->submissions, plan->command_buffers, plan->commands, plan->dispatches);
    if (summary->finding) {
        replay_print_finding(file, summary->finding, summary->against, summary->minimal);
        return;
    }
    fprintf(file,
            "%s: %" PRIu64 " read-backs compared (%" PRIu64 " bytes), %" PRIu64
            " different, %" PRIu64 " by digest, %" PRIu64 " not recorded, %" PRIu64 " skipped\n",
            verdict(summary), report->compared_reads, report->compared_bytes,
            report->different_reads, report->digest_reads, plan->unrecorded_reads,
            plan->skipped_reads);
    if (report->different_reads)
        print_difference(file, &report->first);
    print_errors(file, report);
    if (report->different_outcomes)
        fprintf(file, "%" PRIu64 " waits or semaphores ended in another way; first: %s\n",
                report->different_outcomes, report->first_outcome);
    if (summary->different_runs && summary->runs > 1)
        fprintf(file, "%" PRIu64 " of %" PRIu64 " runs differ\n", summary->different_runs,
                summary->runs);
    if (summary->look)
        replay_print_look(file, summary->look, summary->look_result);
    if (summary->benchmark)
        replay_print_benchmark(file, summary->benchmark);
    if (summary->isolate)
        replay_print_isolate(file, summary->isolate);
    if (summary->what_if && summary->trial.pairs)
        print_trial(file, summary);
    else if (summary->compare && summary->trial.pairs)
        print_compare(file, summary);
    else if (!summary->error[0] && !summary->benchmark && !summary->isolate)
        print_times(file, summary);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Valid UTF-8 passes, since a byte over 127 is not touched; anything else of a file's making
 * would make the object invalid, so bytes that are no UTF-8 become '?'. */
static size_t utf8_length(const unsigned char *text)
{
    const size_t length = text[0] < 0x80                       ? 1
                          : text[0] >= 0xc2 && text[0] <= 0xdf ? 2
                          : text[0] >= 0xe0 && text[0] <= 0xef ? 3
                          : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                               : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    const bool overlong =
        (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    const bool reserved =
        (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf4 && text[1] > 0x8f);
    return overlong || reserved ? 0 : length;
}

static void json_string(FILE *file, const char *string)
{
    const unsigned char *text = (const unsigned char *)(string ? string : "");
    fputc('"', file);
    while (*text) {
        const size_t length = utf8_length(text);
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if (*text < 0x20 || *text == 0x7f)
            fprintf(file, "\\u%04x", *text);
        else if (length == 0)
            fputc('?', file);
        else
            fwrite(text, 1, length, file);
        text += length ? length : 1;
    }
    fputc('"', file);
}

static void json_text(FILE *file, const char *name, const char *text)
{
    fprintf(file, "\"%s\":", name);
    json_string(file, text);
}

static void json_times(FILE *file, const char *name, const struct replay_times *times)
{
    fprintf(file, ",\"%s\":{\"min\":%" PRId64 ",\"median\":%" PRId64 ",\"max\":%" PRId64 "}", name,
            times->min_ns, times->median_ns, times->max_ns);
}

static void json_bytes(FILE *file, const char *name, const uint8_t *bytes, uint32_t count)
{
    fprintf(file, ",\"%s\":\"", name);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%02x", bytes[i]);
    fprintf(file, "\"");
}

static void json_difference(FILE *file, const struct replay_report *report)
{
    const struct replay_difference *first = &report->first;
    fprintf(file, ",\"first_difference\":");
    if (!report->different_reads) {
        fprintf(file, "null");
        return;
    }
    fprintf(file,
            "{\"ticket\":%" PRIu64 ",\"by_digest\":%s,\"buffer\":%" PRIu64 ",\"offset\":%" PRIu64
            ",\"read_offset\":%" PRIu64 ",\"read_bytes\":%" PRIu64 ",\"different_bytes\":%" PRIu64
            ",\"sample_offset\":%" PRIu64 ",",
            first->ticket, first->by_digest ? "true" : "false", first->buffer, first->offset,
            first->read_offset, first->read_bytes, first->different_bytes, first->sample_offset);
    json_text(file, "label", first->label);
    json_bytes(file, "expected", first->expected, first->sample_bytes);
    json_bytes(file, "actual", first->actual, first->sample_bytes);
    fprintf(file, ",");
    json_text(file, "locator", first->locator);
    fprintf(file, ",");
    json_text(file, "writer", first->writer);
    fprintf(file, "}");
}

/* NaN and infinity are no numbers in JSON. */
static void json_number(FILE *file, const char *name, double value)
{
    if (isfinite(value))
        fprintf(file, ",\"%s\":%.9g", name, value);
    else
        fprintf(file, ",\"%s\":null", name);
}

static void json_errors(FILE *file, const struct replay_report *report)
{
    const struct replay_errors *errors = &report->errors;
    fprintf(file, ",\"errors\":{\"type\":\"%s\",\"guessed\":%s,\"wrong\":%" PRIu64,
            replay_type_name(errors->type), errors->guessed ? "true" : "false", errors->wrong);
    fprintf(file,
            ",\"within_tolerance\":%" PRIu64 ",\"expected_nan\":%" PRIu64 ",\"actual_nan\":%" PRIu64
            ",\"nan_map\":\"%s\"",
            errors->inexact, errors->expected_nan, errors->actual_nan, errors->nan_map);
    json_number(file, "largest_absolute", errors->worst_absolute);
    json_number(file, "largest_relative", errors->worst_relative);
    fprintf(file, ",\"largest_ulp\":%" PRIu64 ",", errors->worst_ulp);
    json_text(file, "label", report->worst_label);
    fprintf(file, ",\"buffer\":%" PRIu64 ",\"offset\":%" PRIu64, report->worst_buffer,
            report->worst_read_offset + errors->worst_offset);
    json_number(file, "expected", errors->worst_expected);
    json_number(file, "actual", errors->worst_actual);
    fprintf(file, "}");
}

static void json_plan(FILE *file, const struct replay_plan_info *plan)
{
    fprintf(file, ",\"recorded\":{");
    json_text(file, "program", plan->header->program);
    fprintf(file, ",");
    json_text(file, "device", plan->header->device.uri);
    fprintf(file, ",");
    json_text(file, "device_name", plan->header->device.name);
    fprintf(file, ",\"simd_width\":%u},\"complete\":%s,", plan->header->device.simd_width,
            plan->incomplete[0] ? "false" : "true");
    json_text(file, "incomplete", plan->incomplete);
    fprintf(file,
            ",\"events\":%" PRIu64 ",\"replayed_events\":%" PRIu64 ",\"submissions\":%" PRIu64
            ",\"command_buffers\":%" PRIu64 ",\"commands\":%" PRIu64 ",\"dispatches\":%" PRIu64
            ",\"unsupported_calls\":%" PRIu64 ",\"skipped_calls\":%" PRIu64
            ",\"timed_out_waits\":%" PRIu64 ",\"peak_buffer_bytes\":%" PRIu64
            ",\"content_bytes\":%" PRIu64 ",\"contents_in_memory\":%s",
            plan->events, plan->replayed_events, plan->submissions, plan->command_buffers,
            plan->commands, plan->dispatches, plan->unsupported_calls, plan->skipped_calls,
            plan->timed_out_waits, plan->peak_buffer_bytes, plan->content_bytes,
            plan->contents_in_memory ? "true" : "false");
}

static const char *result_name(enum replay_exit exit_code, const char *error)
{
    switch (exit_code) {
    case REPLAY_EXIT_SAME: return "same";
    case REPLAY_EXIT_DIFFERENT: return error[0] ? "error" : "different";
    case REPLAY_EXIT_INCOMPARABLE: return "incomparable";
    case REPLAY_EXIT_USAGE:
    case REPLAY_EXIT_UNREADABLE:
    case REPLAY_EXIT_UNSUPPORTED: return "error";
    }
    return "error";
}

static void json_runs(FILE *file, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    fprintf(file,
            ",\"reads\":{\"compared\":%" PRIu64 ",\"compared_bytes\":%" PRIu64
            ",\"different\":%" PRIu64 ",\"different_bytes\":%" PRIu64 ",\"by_digest\":%" PRIu64
            ",\"unrecorded\":%" PRIu64 ",\"skipped\":%" PRIu64 ",\"unjudged\":%" PRIu64 "}",
            report->compared_reads, report->compared_bytes, report->different_reads,
            report->different_bytes, report->digest_reads, summary->plan->unrecorded_reads,
            summary->plan->skipped_reads, report->unjudged_reads);
    json_difference(file, report);
    json_errors(file, report);
    fprintf(file, ",\"different_outcomes\":%" PRIu64 ",", report->different_outcomes);
    json_text(file, "first_outcome", report->first_outcome);
    fprintf(file,
            ",\"runs\":%" PRIu64 ",\"different_runs\":%" PRIu64 ",\"load_ns\":%" PRId64
            ",\"prepare_ns\":%" PRId64,
            summary->runs, summary->different_runs, summary->load_ns, summary->prepare_ns);
    json_times(file, "total_ns", &summary->total);
    json_times(file, "device_wait_ns", &summary->wait);
}

static void json_counts(FILE *file, const char *name, const struct replay_what_if_counts *counts)
{
    fprintf(file,
            ",\"%s\":{\"submissions\":%" PRIu64 ",\"command_buffers\":%" PRIu64
            ",\"host_waits\":%" PRIu64 ",\"barriers\":%" PRIu64 ",\"queues\":%" PRIu64 "}",
            name, counts->submissions, counts->command_buffers, counts->host_waits,
            counts->barriers, counts->queues);
}

static void json_trial(FILE *file, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    fprintf(file, ",\"what_if\":{");
    json_text(file, "change", summary->what_if);
    json_counts(file, "before", &summary->what_if_info.before);
    json_counts(file, "after", &summary->what_if_info.after);
    fprintf(file,
            ",\"dropped_barriers\":{\"redundant\":%" PRIu64 ",\"unknown\":%" PRIu64
            ",\"needed\":%" PRIu64 "}",
            summary->what_if_info.dropped_redundant, summary->what_if_info.dropped_unknown,
            summary->what_if_info.dropped_needed);
    fprintf(file,
            ",\"pairs\":%" PRIu64 ",\"shuffled_runs\":%" PRIu64 ",\"different_runs\":%" PRIu64
            ",\"different_recorded_runs\":%" PRIu64,
            trial->pairs, trial->shuffled, trial->different_variant + trial->different_shuffled,
            trial->different_base);
    json_times(file, "recorded_ns", &trial->base);
    json_times(file, "changed_ns", &trial->variant);
    fprintf(file, ",\"gain\":{\"low\":%.6g,\"median\":%.6g,\"high\":%.6g}}", trial->gain.low,
            trial->gain.median, trial->gain.high);
}

static void json_compare(FILE *file, const struct replay_summary *summary)
{
    const struct replay_trial_result *trial = &summary->trial;
    fprintf(file, ",\"compare\":{");
    json_text(file, "with", summary->compare);
    fprintf(file,
            ",\"pairs\":%" PRIu64 ",\"different_runs\":%" PRIu64 ",\"different_runs_with\":%" PRIu64
            ",\"slower\":%s",
            trial->pairs, trial->different_base, trial->different_variant,
            summary->slower ? "true" : "false");
    json_times(file, "ns", &trial->base);
    json_times(file, "ns_with", &trial->variant);
    fprintf(file, ",\"speed\":{\"low\":%.6g,\"median\":%.6g,\"high\":%.6g}}", trial->gain.low,
            trial->gain.median, trial->gain.high);
}

static void json_notes(FILE *file, const struct replay_summary *summary)
{
    char note[REPLAY_NOTE_BYTES];
    fprintf(file, ",\"device_notes\":[");
    for (size_t i = 0; replay_target_note(summary->plan, summary->device, i, note); i++) {
        fprintf(file, "%s", i ? "," : "");
        json_string(file, note);
    }
    fprintf(file, "]");
}

void replay_print_json(FILE *file, const struct replay_summary *summary)
{
    fprintf(file, "{");
    json_text(file, "file", summary->path);
    fprintf(file, ",\"exit_code\":%d,", (int)summary->exit_code);
    json_text(file, "result", result_name(summary->exit_code, summary->error));
    fprintf(file, ",");
    json_text(file, "message", summary->error);
    fprintf(file, ",\"jail\":");
    if (summary->jail)
        fprintf(file, "{\"complete\":%s,", summary->jail[0] ? "false" : "true");
    fprintf(file, summary->jail ? "" : "null");
    if (summary->jail) {
        json_text(file, "missing", summary->jail);
        fprintf(file, "}");
    }
    if (summary->plan)
        json_plan(file, summary->plan);
    if (summary->device) {
        fprintf(file, ",\"device\":{");
        json_text(file, "uri", summary->device->uri);
        fprintf(file, ",");
        json_text(file, "name", summary->device->name);
        fprintf(file, ",\"simd_width\":%u,", summary->device->simd_width);
        json_text(file, "architecture", summary->device->architecture);
        fprintf(file, "}");
    }
    if (summary->plan && summary->device)
        json_notes(file, summary);
    if (summary->plan && summary->runs)
        json_runs(file, summary);
    if (summary->what_if && summary->trial.pairs)
        json_trial(file, summary);
    if (summary->compare && summary->trial.pairs)
        json_compare(file, summary);
    if (summary->look)
        replay_print_look_json(file, summary->look, summary->look_result);
    if (summary->benchmark)
        replay_print_benchmark_json(file, summary->benchmark);
    if (summary->isolate)
        replay_print_isolate_json(file, summary->isolate);
    if (summary->finding)
        replay_print_finding_json(file, summary->finding, summary->against);
    fprintf(file, "}\n");
}
