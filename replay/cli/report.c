/* SPDX-License-Identifier: Apache-2.0 */
/* Prints for people. Numbers are printed without the locale's help. */
#include "replay/cli/report.h"
#include "hal/base/moment.h"
#include "hal/base/text.h"
#include "replay/cli/report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    fprintf(file, "; %" PRIu64 " of %s are wrong\n", first->errors.wrong,
            hal_count(first->errors.elements, "element", "elements").text);
    if (first->errors.nan_map[0])
        fprintf(file,
                "  NaN: %" PRIu64 " expected, %" PRIu64
                " actual; where (e: only expected, a: only actual, b: both): [%s]\n",
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

/* For elements with a type: how large the errors are, even if all are within the tolerance. */
static void print_errors(FILE *file, const struct replay_report *report)
{
    const struct replay_errors *errors = &report->errors;
    if (report->unjudged_reads)
        fprintf(file, "%s another digest, to which no tolerance can be applied\n",
                hal_count(report->unjudged_reads, "read-back has", "read-backs have").text);
    if (errors->type == REPLAY_TYPE_UNKNOWN || errors->wrong + errors->inexact == 0)
        return;
    fprintf(file, "errors: %s wrong, %" PRIu64 " others different but within the tolerance; ",
            hal_count(errors->wrong, "element", "elements").text, errors->inexact);
    fprintf(file, "largest %.6g, relative %.6g, %" PRIu64 " ulp; expected ", errors->worst_absolute,
            errors->worst_relative, errors->worst_ulp);
    print_element(file, errors->worst_expected, errors->type);
    fprintf(file, ", got ");
    print_element(file, errors->worst_actual, errors->type);
    fprintf(file, " (%s%s", replay_type_name(errors->type), errors->guessed ? ", a guess" : "");
    if (report->worst_label[0])
        fprintf(file, ") in buffer '%s'", hal_shown(report->worst_label).text);
    else
        fprintf(file, ") in buffer %" PRIu64, report->worst_buffer);
    fprintf(file, ", offset %" PRIu64 "\n", report->worst_read_offset + errors->worst_offset);
}

/* When all that differs are most likely numbers whose last bits do, as other processors round: a
 * tolerance that all of them keep, with room for how it is printed. */
static void print_hint(FILE *file, const struct replay_report *report)
{
    const struct replay_errors *floats = &report->floats;
    const double little = 1e-4, room = 1.05;
    const bool relative = floats->worst_relative <= little;
    if (!report->float_reads || report->float_reads != report->different_reads ||
        floats->expected_nan + floats->actual_nan || !isfinite(floats->worst_absolute) ||
        !(floats->largest > 1e-20 && floats->largest < 1e20) ||
        !(relative || floats->worst_absolute <= little * floats->largest))
        return;
    fprintf(file,
            "if all of it is f32: %s of this run differ, by up to %.2g and %" PRIu64
            " ulp, where the largest is %.2g: --type=f32 --tolerance=%s:%.1e accepts them\n",
            hal_count(floats->wrong, "element", "elements").text, floats->worst_absolute,
            floats->worst_ulp, floats->largest, relative ? "rel" : "abs",
            room * (relative ? floats->worst_relative : floats->worst_absolute));
}

static void print_buffer(FILE *file, const struct replay_difference *first)
{
    if (first->label[0])
        fprintf(file, "buffer '%s'", hal_shown(first->label).text);
    else
        fprintf(file, "buffer %" PRIu64, first->buffer);
}

static void print_writer(FILE *file, const struct replay_difference *first)
{
    if (first->writer[0])
        fprintf(file, "  last written by %s%s%s\n", first->locator, first->locator[0] ? ", " : "",
                hal_shown(first->writer).text);
    else
        fprintf(file, "  nothing had written there\n");
}

static void print_difference(FILE *file, const struct replay_difference *first)
{
    fprintf(file, "first difference: ");
    if (first->locator[0])
        fprintf(file, "%s: ", first->locator);
    print_buffer(file, first);
    if (first->by_digest) {
        fprintf(
            file,
            ": the %s read from offset %" PRIu64 " at ticket %" PRIu64 " have another SHA-256\n",
            hal_count(first->read_bytes, "byte", "bytes").text, first->read_offset, first->ticket);
        print_writer(file, first);
        return;
    }
    fprintf(file,
            ", offset %" PRIu64 ": %" PRIu64 " of the %s read from offset %" PRIu64
            " at ticket %" PRIu64 " differ\n",
            first->offset, first->different_bytes,
            hal_count(first->read_bytes, "byte", "bytes").text, first->read_offset, first->ticket);
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

static void print_counts(FILE *file, const char *one, const char *many, uint64_t before,
                         uint64_t after)
{
    if (before != after)
        fprintf(file, ", %s %s %" PRIu64, hal_count(before, one, many).text,
                before == 1 ? "becomes" : "become", after);
}

static void print_access(FILE *file, const struct replay_what_if_access *access)
{
    char where[HAL_LOCATOR_BYTES];
    if (access->host)
        fprintf(file, "%s", hal_shown(access->what).text);
    else
        fprintf(file, "%s (%s)", hal_locator_print(&access->where, where),
                hal_shown(access->what).text);
}

/* What the graph of accesses says about the variant. It knows bound ranges, but neither what
 * kernels leave alone nor what the device does by itself: a count of 0 proves nothing. */
static void print_hazards(FILE *file, const struct replay_what_if_hazards *hazards)
{
    fprintf(file, "\nhazards: of %s of accesses to the same bytes, %" PRIu64 " lose their order",
            hal_count(hazards->pairs, "pair", "pairs").text, hazards->lost);
    if (hazards->lost)
        fprintf(file, " (%" PRIu64 " for certain)", hazards->lost_for_certain);
    if (hazards->together)
        fprintf(file, ", %" PRIu64 " are ordered within one submission", hazards->together);
    if (hazards->unordered)
        fprintf(file, ", %" PRIu64 " had none in the recording", hazards->unordered);
    if (hazards->apart)
        fprintf(file, " (%" PRIu64 " of them change their queue)", hazards->apart);
    if (hazards->lost) {
        fprintf(file, "\n  first: ");
        print_access(file, &hazards->first);
        fprintf(file, " and ");
        print_access(file, &hazards->second);
        fprintf(file, ", %s, bytes [%" PRIu64 ", %" PRIu64 ")", hal_shown(hazards->buffer).text,
                hazards->begin, hazards->end);
    }
    if (hazards->races_before || hazards->races_after)
        fprintf(file,
                "\n  within command buffers, no barrier orders %s as recorded, and %" PRIu64 " so",
                hal_count(hazards->races_before, "pair", "pairs").text, hazards->races_after);
    if (hazards->incomplete)
        fprintf(file, "\n  some accesses could not be examined (%s left out): there may be more",
                hal_count(hazards->undecided, "access", "accesses").text);
}

static void print_paired(FILE *file, const struct replay_summary *summary)
{
    const struct replay_paired_result *paired = &summary->paired;
    const struct replay_what_if_counts *before = &summary->what_if_info.before;
    const struct replay_what_if_counts *after = &summary->what_if_info.after;
    const uint64_t runs = paired->pairs + paired->shuffled;
    const uint64_t different = paired->different_variant + paired->different_shuffled;
    fprintf(file, "what if %s", summary->what_if);
    print_counts(file, "submission", "submissions", before->submissions, after->submissions);
    print_counts(file, "submitted command buffer", "submitted command buffers",
                 before->command_buffers, after->command_buffers);
    print_counts(file, "queue", "queues", before->queues, after->queues);
    print_counts(file, "host wait", "host waits", before->host_waits, after->host_waits);
    print_counts(file, "executed barrier", "executed barriers", before->barriers, after->barriers);
    const struct replay_what_if_info *info = &summary->what_if_info;
    if (!info->changed) {
        fprintf(file, ": nothing to change\n");
        return;
    }
    print_hazards(file, &info->hazards);
    if (info->dropped_redundant + info->dropped_unknown + info->dropped_needed)
        fprintf(file,
                "\n"
                "hazards, of the dropped barriers: %" PRIu64 " order nothing, %" PRIu64
                " may order something, %" PRIu64 " are needed",
                info->dropped_redundant, info->dropped_unknown, info->dropped_needed);
    fprintf(file,
            "\nverified: %" PRIu64 " of %s gave the recorded bytes (%" PRIu64
            " of them at random moments)\n",
            runs - different, hal_count(runs, "run", "runs").text, paired->shuffled);
    if (paired->different_base)
        fprintf(file, "unchanged, %" PRIu64 " of %s differ too: replays of the trace itself vary\n",
                paired->different_base, hal_count(paired->pairs, "run", "runs").text);
    fprintf(file,
            "time: %s as recorded, %s as the variant: %.2fx (95 %% interval %.2f to %.2f, %s)%s\n",
            hal_duration_text(paired->base.median_ns).text,
            hal_duration_text(paired->variant.median_ns).text, paired->gain.median,
            paired->gain.low, paired->gain.high, hal_count(paired->pairs, "pair", "pairs").text,
            paired->gain.low <= 1 && paired->gain.high >= 1 ? ": not a significant difference"
                                                            : "");
}

static void print_compare(FILE *file, const struct replay_summary *summary)
{
    const struct replay_paired_result *paired = &summary->paired;
    fprintf(file, "time: %s, and %s with %s: %.3fx as fast (95 %% interval %.3f to %.3f, %s)%s\n",
            hal_duration_text(paired->base.median_ns).text,
            hal_duration_text(paired->variant.median_ns).text, hal_shown(summary->compare).text,
            paired->gain.median, paired->gain.low, paired->gain.high,
            hal_count(paired->pairs, "pair", "pairs").text,
            summary->slower                                   ? ": SLOWER"
            : paired->gain.low <= 1 && paired->gain.high >= 1 ? ": not a significant difference"
                                                              : "");
    if (paired->different_base + paired->different_variant)
        fprintf(file, "%" PRIu64 " of the runs differ, and %" PRIu64 " of those with %s\n",
                paired->different_base, paired->different_variant,
                hal_shown(summary->compare).text);
}

static const char *verdict(const struct replay_summary *summary)
{
    switch (summary->exit_code) {
    case REPLAY_EXIT_SAME:
        return summary->look && !summary->report.compared_reads ? "replayed" : "same";
    case REPLAY_EXIT_DIFFERENT:
        return summary->error[0] ? "gave up" : replay_only_slower(summary) ? "SLOWER" : "DIFFERENT";
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
        fprintf(file, "time: %s, of which %s waiting for the device",
                hal_duration_text(total->min_ns).text, hal_duration_text(wait->min_ns).text);
    else
        fprintf(file,
                "time of %s: min %s, median %s, max %s, of which waiting for the device: min %s, "
                "median %s, max %s",
                hal_count(summary->runs, "run", "runs").text, hal_duration_text(total->min_ns).text,
                hal_duration_text(total->median_ns).text, hal_duration_text(total->max_ns).text,
                hal_duration_text(wait->min_ns).text, hal_duration_text(wait->median_ns).text,
                hal_duration_text(wait->max_ns).text);
    fprintf(file, "; before: loading %s, compiling %s\n", hal_duration_text(summary->load_ns).text,
            hal_duration_text(summary->prepare_ns).text);
}

static void print_notes(FILE *file, const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    if (plan->incomplete[0])
        fprintf(file, "incomplete: %s\n", hal_shown(plan->incomplete).text);
    if (plan->cut[0])
        fprintf(file, "%s: all events are present\n", hal_shown(plan->cut).text);
    if (summary->sandbox && summary->sandbox[0])
        fprintf(file, "sandbox: no protection of %s\n", summary->sandbox);
    if (plan->lost && plan->lost_submission != UINT64_MAX)
        fprintf(file,
                "the recorded device was lost; #s%" PRIu64
                " is the first submission that it did not complete\n",
                plan->lost_submission);
    else if (plan->lost)
        fprintf(file, "the recorded device was lost\n");
    if (plan->unsupported_calls)
        fprintf(file, "%s skipped\n",
                hal_count(plan->unsupported_calls, "call that no replay can repeat was",
                          "calls that no replay can repeat were")
                    .text);
    if (plan->left_out_commands)
        fprintf(file, "%s skipped\n",
                hal_count(plan->left_out_commands, "command that depends on those calls was",
                          "commands that depend on those calls were")
                    .text);
    if (plan->skipped_calls)
        fprintf(file, "%s that had returned an error were not repeated\n",
                hal_count(plan->skipped_calls, "call", "calls").text);
    if (plan->written_digests && !summary->result)
        fprintf(file,
                "the trace has digests of %" PRIu64
                " written ranges: --verify=submissions compares "
                "them\n",
                plan->written_digests);
    if (!plan->contents_in_memory)
        fprintf(file, "contents did not fit into memory: times include reading them\n");
}

static void print_target(FILE *file, const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    char note[REPLAY_NOTE_BYTES];
    const struct trace_device *recorded = &plan->header->device;
    fprintf(file, "%s: '%s' recorded on %s (%s), replayed on %s (%s)\n",
            hal_shown(summary->path).text, hal_shown(plan->header->program).text,
            hal_shown(recorded->uri).text, hal_shown(recorded->name).text,
            hal_shown(summary->device->uri).text, hal_shown(summary->device->name).text);
    for (size_t i = 0; i < plan->header->edit_count; i++)
        fprintf(file, "changed since the capture: %s\n", hal_shown(plan->header->edits[i]).text);
    for (size_t k = 0; replay_target_limit(plan, summary->device, k, note); k++)
        fprintf(file, "%s\n", hal_shown(note).text);
    for (size_t k = 0; replay_target_note(plan, summary->device, k, note); k++)
        fprintf(file, "%s\n", hal_shown(note).text);
}

static bool cpu_can_tell(const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    return strcmp(plan->header->device.driver, "cpu") == 0 &&
           strcmp(summary->device->driver, "cpu") != 0 && !plan->unknown_changes;
}

static void print_doubt(FILE *file, const struct replay_summary *summary)
{
    const struct replay_report *report = &summary->report;
    if (report->doubtful_reads)
        fprintf(file,
                "%s not fully comparable: for some bytes, the capture could not tell "
                "whether the host or a kernel wrote them%s\n",
                hal_count(report->doubtful_reads, "read-back is", "read-backs are").text,
                cpu_can_tell(summary) ? "; --device=cpu, with the recorded kernels, can tell" : "");
    if (report->unwritten_reads)
        fprintf(file,
                "%s not fully comparable: some of their bytes hold the fill, and the trace does "
                "not show whether the program used them\n",
                hal_count(report->unwritten_reads, "read-back is", "read-backs are").text);
    if (report->host_bytes)
        fprintf(file, "%s as written by the host, since the recorded kernels do not write them\n",
                hal_count(report->host_bytes, "byte of mapped memory counts",
                          "bytes of mapped memory count")
                    .text);
}

static void print_text(FILE *file, const struct replay_summary *summary)
{
    const struct replay_plan_info *plan = summary->plan;
    const struct replay_report *report = &summary->report;
    if (!summary->target_is_printed)
        print_target(file, summary);
    print_notes(file, summary);
    fprintf(file, "%s of %s with %s, %" PRIu64 " of them dispatches\n",
            hal_count(plan->submissions, "submission", "submissions").text,
            hal_count(plan->command_buffers, "command buffer", "command buffers").text,
            hal_count(plan->commands, "command", "commands").text, plan->dispatches);
    if (summary->result) {
        replay_print_bisect(file, summary->result, summary->against, summary->minimal);
        return;
    }
    fprintf(file,
            "%s: %s compared (%s), %" PRIu64 " different, %" PRIu64 " by digest, %" PRIu64
            " not recorded, %" PRIu64 " skipped\n",
            verdict(summary), hal_count(report->compared_reads, "read-back", "read-backs").text,
            hal_count(report->compared_bytes, "byte", "bytes").text, report->different_reads,
            report->digest_reads, plan->unrecorded_reads, plan->skipped_reads);
    if (report->different_reads)
        print_difference(file, &report->first);
    print_errors(file, report);
    print_hint(file, report);
    if (report->different_outcomes)
        fprintf(file, "%s or semaphores ended differently; first: %s\n",
                hal_count(report->different_outcomes, "wait", "waits").text,
                hal_shown(report->first_outcome).text);
    print_doubt(file, summary);
    if (report->unmet_losses)
        fprintf(file,
                "%s or semaphores failed because the recorded device was lost, which a replay "
                "cannot repeat\n",
                hal_count(report->unmet_losses, "wait", "waits").text);
    if (summary->different_runs && summary->runs > 1)
        fprintf(file, "%" PRIu64 " of %s differ\n", summary->different_runs,
                hal_count(summary->runs, "run", "runs").text);
    if (summary->look)
        replay_print_inspect(file, summary->look, summary->inspect_result);
    if (summary->benchmark)
        replay_print_benchmark(file, summary->benchmark);
    if (summary->isolate)
        replay_print_isolate(file, summary->isolate);
    if (summary->what_if && (summary->paired.pairs || !summary->what_if_info.changed))
        print_paired(file, summary);
    else if (summary->compare && summary->paired.pairs)
        print_compare(file, summary);
    else if (!summary->error[0] && !summary->benchmark && !summary->isolate)
        print_times(file, summary);
}

/* ---- All output ---------------------------------------------------------------------------- */

/* Whatever a trace calls things: of control characters only ends of lines get there. */
static bool print_cleaned(FILE *file, void (*print)(FILE *file, const struct replay_summary *),
                          const struct replay_summary *summary)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return false;
    print(memory, summary);
    const bool made = fclose(memory) == 0;
    if (made) {
        hal_text_clean(text, bytes, true);
        fwrite(text, 1, bytes, file);
    }
    free(text);
    return made;
}

bool replay_print_target(FILE *file, const struct replay_summary *summary)
{
    return print_cleaned(file, print_target, summary);
}

bool replay_print_text(FILE *file, const struct replay_summary *summary)
{
    return print_cleaned(file, print_text, summary);
}

bool replay_only_slower(const struct replay_summary *summary)
{
    return summary->slower && summary->different_runs == 0;
}
