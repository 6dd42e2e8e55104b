/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a search has found. */
#include "format/base/json.h"
#include "hal/base/text.h"
#include "replay/cli/report_parts.h"

#include <inttypes.h>

static void print_bytes(FILE *file, const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%s%02x", i ? " " : "", bytes[i]);
}

static void print_elements(FILE *file, const struct replay_bisect_range *range,
                           const uint8_t *bytes)
{
    const enum replay_type type = range->errors.type;
    const uint32_t size = replay_type_bytes(type);
    print_bytes(file, bytes, range->sample_bytes);
    if (type == REPLAY_TYPE_UNKNOWN)
        return;
    fprintf(file, " (%s:", replay_type_name(type));
    for (uint32_t at = 0; at + size <= range->sample_bytes; at += size)
        fprintf(file, " %.9g", replay_element(bytes + at, type));
    fprintf(file, ")");
}

static void print_output(FILE *file, const struct replay_bisect_range *range)
{
    if (range->by_digest) {
        fprintf(file,
                "  output %s [%" PRIu64 ", +%" PRIu64
                "): its digest differs from the recorded one; it begins with ",
                hal_shown(range->buffer).text, range->offset, range->bytes);
        print_bytes(file, range->actual, range->sample_bytes);
        fprintf(file, "\n");
        return;
    }
    fprintf(file, "  output %s [%" PRIu64 ", +%" PRIu64 "): %" PRIu64 " %s wrong\n",
            hal_shown(range->buffer).text, range->offset, range->bytes, range->errors.wrong,
            range->errors.type == REPLAY_TYPE_UNKNOWN ? "bytes" : "elements");
    fprintf(file, "    from offset %" PRIu64 ": expected ", range->sample_offset);
    print_elements(file, range, range->expected);
    fprintf(file, "\n    got ");
    print_elements(file, range, range->actual);
    fprintf(file, "\n");
    if (range->errors.type != REPLAY_TYPE_UNKNOWN)
        fprintf(file, "    largest error %.6g, relative %.6g, %" PRIu64 " ulp%s\n",
                range->errors.worst_absolute, range->errors.worst_relative, range->errors.worst_ulp,
                range->errors.guessed ? " (the type is a guess)" : "");
    if (range->errors.nan_map[0])
        fprintf(file, "    NaN (e: only expected, a: only actual, b: both): [%s]\n",
                range->errors.nan_map);
}

static void print_place(FILE *file, const struct replay_bisect_result *result)
{
    char where[HAL_LOCATOR_BYTES];
    fprintf(file, "%s: %s", hal_locator_print(&result->where, where), hal_shown(result->what).text);
    if (result->workgroups[0])
        fprintf(file, ", %u x %u x %u workgroups", result->workgroups[0], result->workgroups[1],
                result->workgroups[2]);
    if (result->label[0])
        fprintf(file, ", command buffer '%s'", hal_shown(result->label).text);
    fprintf(file, "\n");
}

static void print_ancestors(FILE *file, const struct replay_bisect_result *result)
{
    char where[HAL_LOCATOR_BYTES];
    fprintf(file,
            "  its inputs came from %s, the first %s: %s; only another device can tell which of "
            "these is wrong (--against=URI)\n",
            hal_count(result->ancestors, "command", "commands").text,
            hal_locator_print(&result->first_ancestor, where),
            hal_shown(result->first_ancestor_what).text);
}

/* Against the recording. */
static void print_written(FILE *file, const struct replay_bisect_result *result)
{
    if (result->written_ranges || result->written_unknown)
        fprintf(file,
                "  after submissions: %" PRIu64 " written ranges compared by digest, %" PRIu64
                " without one\n",
                result->written_ranges, result->written_unknown);
    if (result->written_unjudged)
        fprintf(file,
                "  %" PRIu64 " of them have another digest, to which no tolerance can be applied\n",
                result->written_unjudged);
}

static void print_races(FILE *file, const struct replay_bisect_result *result)
{
    for (size_t i = 0; i < result->race_count && i < REPLAY_BISECT_RACES; i++) {
        const struct replay_bisect_race *race = &result->races[i];
        fprintf(file,
                "%s: %s and %s access %s [%" PRIu64 ", +%" PRIu64
                "), at least one %s, and nothing orders them\n",
                race->declared ? "race" : "possible race", hal_shown(race->before).text,
                hal_shown(race->after).text, hal_shown(race->buffer).text, race->offset,
                race->bytes, race->declared ? "writes" : "may write");
    }
    if (result->race_count > REPLAY_BISECT_RACES)
        fprintf(
            file, "and %s\n",
            hal_count(result->race_count - REPLAY_BISECT_RACES, "more race", "more races").text);
    if (result->race_count)
        fprintf(file,
                "  the race may cause the difference: order the two before you suspect a kernel\n");
}

void replay_print_bisect(FILE *file, const struct replay_bisect_result *result, const char *against,
                         const char *minimal)
{
    if (!result->found) {
        fprintf(file, "no difference from %s: %s, %s compared\n", hal_shown(against).text,
                hal_count(result->steps, "step", "steps").text,
                hal_count(result->compared_bytes, "byte", "bytes").text);
        print_written(file, result);
        if (result->report.doubtful_reads)
            fprintf(
                file,
                "  %s not fully comparable: the host or a kernel may have written some of their "
                "bytes\n",
                hal_count(result->report.doubtful_reads, "read-back is", "read-backs are").text);
        if (result->report.unwritten_reads)
            fprintf(
                file,
                "  %s bytes that no known command has written: the trace does not show whether the "
                "program used them\n",
                hal_count(result->report.unwritten_reads, "read-back has", "read-backs have").text);
        return;
    }
    print_races(file, result);
    fprintf(file, "first difference from %s: ", hal_shown(against).text);
    if (result->writers != 0 || !result->what[0])
        fprintf(file, result->writers == 0   ? "nothing had written there\n"
                      : result->writers == 1 ? "written by "
                                             : "last written by ");
    if (result->read_back)
        fprintf(file, "%s\n", hal_shown(result->what).text);
    else if (result->what[0])
        print_place(file, result);
    if (result->writers > 1)
        fprintf(file, "  one of %s that may have written it since it was last known to be right\n",
                hal_count(result->writers, "command", "commands").text);
    if (result->ancestors)
        print_ancestors(file, result);
    if (result->tried && !result->narrowed)
        fprintf(file, "  its commands agree one by one, but not together: their order matters, or "
                      "a barrier is missing\n");
    for (size_t i = 0; i < result->frame_count; i++)
        fprintf(file, "  at %s\n", hal_shown(result->frames[i]).text);
    for (size_t i = 0; i < result->input_count; i++) {
        const struct replay_bisect_range *input = &result->inputs[i];
        fprintf(file, "  input %s [%" PRIu64 ", +%" PRIu64 "): ", hal_shown(input->buffer).text,
                input->offset, input->bytes);
        print_bytes(file, input->expected, input->sample_bytes);
        fprintf(file, "%s\n", input->bytes > input->sample_bytes ? " ..." : "");
    }
    for (size_t i = 0; i < result->output_count; i++)
        print_output(file, &result->outputs[i]);
    print_written(file, result);
    if (result->wrote_repro)
        fprintf(file, "  that command alone: %s\n", hal_shown(minimal).text);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_range(struct trace_text *text, const struct replay_bisect_range *range,
                       bool output)
{
    trace_json_open(text, '{');
    trace_json_member_text(text, "buffer", range->buffer);
    trace_json_member_u64(text, "offset", range->offset);
    trace_json_member_u64(text, "bytes", range->bytes);
    trace_json_member_u64(text, "sample_offset", range->sample_offset);
    trace_json_member_hex(text, output ? "expected" : "sample", range->expected,
                          range->by_digest ? 0 : range->sample_bytes);
    if (output) {
        trace_json_member_hex(text, "actual", range->actual, range->sample_bytes);
        trace_json_member_text(text, "type", replay_type_name(range->errors.type));
        trace_json_member_bool(text, "guessed", range->errors.guessed);
        trace_json_member_u64(text, "wrong", range->errors.wrong);
        trace_json_member_bool(text, "by_digest", range->by_digest);
        trace_json_member_double(text, "largest_absolute", range->errors.worst_absolute);
    }
    trace_json_close(text, '}');
}

static void json_race(struct trace_text *text, const struct replay_bisect_race *race)
{
    trace_json_open(text, '{');
    trace_json_member_text(text, "before", race->before);
    trace_json_member_text(text, "after", race->after);
    trace_json_member_text(text, "buffer", race->buffer);
    trace_json_member_u64(text, "offset", race->offset);
    trace_json_member_u64(text, "bytes", race->bytes);
    trace_json_member_bool(text, "declared", race->declared);
    trace_json_close(text, '}');
}

static void json_found(struct trace_text *text, const struct replay_bisect_result *result)
{
    char where[HAL_LOCATOR_BYTES];
    const bool is_place = result->what[0] && !result->read_back;
    trace_json_member_bool(text, "narrowed", result->narrowed);
    trace_json_member_u64(text, "writers", result->writers);
    trace_json_member_u64(text, "ancestors", result->ancestors);
    trace_json_member_text(text, "first_ancestor",
                           result->ancestors ? hal_locator_print(&result->first_ancestor, where)
                                             : "");
    trace_json_member_text(text, "locator",
                           is_place ? hal_locator_print(&result->where, where) : "");
    trace_json_member_text(text, "what", result->what);
    trace_json_member_text(text, "label", result->label);
    trace_json_member_open(text, "stack", '[');
    for (size_t i = 0; i < result->frame_count; i++)
        trace_json_text(text, result->frames[i]);
    trace_json_close(text, ']');
    trace_json_member_open(text, "inputs", '[');
    for (size_t i = 0; i < result->input_count; i++)
        json_range(text, &result->inputs[i], false);
    trace_json_close(text, ']');
    trace_json_member_open(text, "outputs", '[');
    for (size_t i = 0; i < result->output_count; i++)
        json_range(text, &result->outputs[i], true);
    trace_json_close(text, ']');
    trace_json_member_u64(text, "race_count", result->race_count);
    trace_json_member_open(text, "races", '[');
    for (size_t i = 0; i < result->race_count && i < REPLAY_BISECT_RACES; i++)
        json_race(text, &result->races[i]);
    trace_json_close(text, ']');
    trace_json_member_bool(text, "wrote_repro", result->wrote_repro);
}

void replay_print_bisect_json(struct trace_text *text, const struct replay_bisect_result *result,
                              const char *against)
{
    trace_json_member_open(text, "bisect", '{');
    trace_json_member_text(text, "against", against);
    trace_json_member_bool(text, "found", result->found);
    trace_json_member_u64(text, "steps", result->steps);
    trace_json_member_u64(text, "compared_bytes", result->compared_bytes);
    trace_json_member_u64(text, "written_ranges", result->written_ranges);
    trace_json_member_u64(text, "written_unknown", result->written_unknown);
    trace_json_member_u64(text, "written_unjudged", result->written_unjudged);
    if (result->found)
        json_found(text, result);
    trace_json_close(text, '}');
}
