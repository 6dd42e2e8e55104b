/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options that are numbers, words and lists of these. */
#include "replay/cli/options_values.h"

#include "hal/base/mem.h"
#include "hal/base/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

bool replay_option_error(const char *option, const char *value, const char *wanted)
{
    char why[512]; /* `wanted` may be the message that this one replaces */
    snprintf(why, sizeof why, "%s", wanted);
    return hal_fail(HAL_INVALID, "--%s=%s: %s", option, value, why) == HAL_OK;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* A number in front of `text`, decimal, or with 0x or 0 in front. */
static bool parse_number(const char *text, uint64_t *out_value, const char **out_rest)
{
    char *rest;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *out_value = strtoull(text, &rest, 0);
    *out_rest = rest;
    return errno == 0;
}

static bool parse_count(const char *option, const char *text, uint64_t least, uint64_t most,
                        uint64_t *out_count)
{
    const char *rest;
    char wanted[96];
    if (parse_number(text, out_count, &rest) && !rest[0] && *out_count >= least &&
        *out_count <= most)
        return true;
    snprintf(wanted, sizeof wanted, "not a number from %" PRIu64 " to %" PRIu64, least, most);
    return replay_option_error(option, text, wanted);
}

bool replay_take_repeat(char *text, struct replay_program *program)
{
    return parse_count("repeat", text, 1, 1000000, &program->repeat);
}

bool replay_take_runs(char *text, struct replay_program *program)
{
    program->has_runs = true;
    return parse_count("runs", text, 6, 100000, &program->runs);
}

bool replay_take_fill(char *text, struct replay_program *program)
{
    const char *rest;
    uint64_t value;
    if (!parse_number(text, &value, &rest) || rest[0] || value > UINT8_MAX)
        return replay_option_error("fill", text, "not a number from 0 to 255 (0xff)");
    program->replay.fill = (uint8_t)value;
    return true;
}

static bool parse_time(const char *option, const char *text, int64_t *out_ns)
{
    return hal_duration_parse(text, 1000000, 1000000000000000000, out_ns) ||
           replay_option_error(option, text,
                               "not a time from 1ms to 1000000000s, such as 500ms or 5s");
}

bool replay_take_benchmark(char *text, struct replay_program *program)
{
    program->benchmark = true;
    return !text || parse_time("benchmark", text, &program->benchmark_ns);
}

bool replay_take_pace(char *text, struct replay_program *program)
{
    char *rest = text;
    if (strcmp(text, "asap") == 0)
        program->replay.pace = 0;
    else if (strcmp(text, "recorded") == 0)
        program->replay.pace = 1;
    else
        program->replay.pace = text[0] >= '0' && text[0] <= '9' ? strtod(text, &rest) : -1;
    if (rest != text && (rest[0] != 'x' || rest[1]))
        program->replay.pace = -1;
    if (rest == text ? program->replay.pace < 0
                     : !(program->replay.pace >= 0.001 && program->replay.pace <= 1e6))
        return replay_option_error("pace", text,
                                   "not asap, recorded, or a factor from 0.001x to 1000000x");
    return true;
}

bool replay_take_threshold(char *text, struct replay_program *program)
{
    char *rest;
    program->has_threshold = true;
    program->threshold_percent = strtod(text, &rest);
    if (rest == text || rest[0] || !(program->threshold_percent >= 0) ||
        program->threshold_percent > 1000)
        return replay_option_error("threshold", text, "not a percentage from 0 to 1000");
    return true;
}

bool replay_take_timeout(char *text, struct replay_program *program)
{
    return parse_time("timeout", text, &program->replay.timeout_ns);
}

bool replay_take_time_limit(char *text, struct replay_program *program)
{
    return parse_time("time-limit", text, &program->time_limit_ns);
}

bool replay_take_memory_limit(char *text, struct replay_program *program)
{
    static const char units[] = "KMGT";
    const char *rest;
    uint64_t value, factor = 1;
    bool good = parse_number(text, &value, &rest);
    const char *unit = good && rest[0] ? strchr(units, rest[0]) : NULL;
    if (unit) {
        factor = 1ull << (10 * (unit - units + 1));
        rest++;
    }
    good = good && !rest[0] && value > 0 && value <= UINT64_MAX / factor;
    if (!good)
        return replay_option_error("memory-limit", text,
                                   "not a size such as 1073741824, 512M or 8G");
    program->load.memory_limit_bytes = value * factor;
    return true;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

bool replay_take_tolerance(char *text, struct replay_program *program)
{
    if (replay_tolerance_parse(text, &program->replay.tolerance))
        return true;
    return replay_option_error(
        "tolerance", text,
        "not abs:NUMBER, rel:NUMBER or ulp:COUNT, or several separated by commas");
}

bool replay_take_type(char *text, struct replay_program *program)
{
    char *colon = strrchr(text, ':');
    const char *name = colon ? colon + 1 : text;
    const enum replay_type type = replay_type_parse(name, strlen(name));
    if (type == REPLAY_TYPE_UNKNOWN || colon == text)
        return replay_option_error(
            "type", text,
            "not TYPE or BUFFER:TYPE, with one of f64 f32 f16 bf16 i64 i32 i16 i8 u64 "
            "u32 u16 u8");
    if (!colon) {
        program->types[REPLAY_MOST_TYPES] = (struct replay_type_rule){NULL, type};
        return true;
    }
    if (program->replay.type_count == REPLAY_MOST_TYPES)
        return replay_option_error("type", text, "at most 64 buffers are supported");
    *colon = '\0';
    program->types[program->replay.type_count++] = (struct replay_type_rule){text, type};
    return true;
}

bool replay_take_verify(char *text, struct replay_program *program)
{
    program->verify_unwritten = strcmp(text, "uninitialised") == 0;
    if (strcmp(text, "submissions") != 0 && strcmp(text, "reads") != 0 &&
        !program->verify_unwritten)
        return replay_option_error("verify", text,
                                   access(text, F_OK) == 0
                                       ? "expected reads, submissions or uninitialised; a trace is "
                                         "given without an option, and is verified by default"
                                       : "expected reads, submissions or uninitialised");
    program->verify_submissions = text[0] == 's';
    return true;
}

bool replay_take_against(char *text, struct replay_program *program)
{
    program->against = text;
    return text[0] || replay_option_error("against", text, "neither a device nor recorded");
}

/* ---- What if ------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* `word` followed by a number. */
static bool is_number_of(const char *text, size_t length, const char *word, uint64_t *out_value)
{
    char number[24];
    const char *rest;
    const size_t before = strlen(word);
    if (length <= before || length - before >= sizeof number || memcmp(text, word, before) != 0)
        return false;
    memcpy(number, text + before, length - before);
    number[length - before] = '\0';
    return parse_number(number, out_value, &rest) && !rest[0];
}

static bool parse_change(const char *text, size_t length, struct replay_what_if *change)
{
    uint64_t queues;
    if (is_word(text, length, "coalesce-submissions"))
        return change->coalesce_submissions = true;
    if (is_word(text, length, "drop-host-waits"))
        return change->drop_host_waits = true;
    if (is_word(text, length, "merge-dispatches") ||
        is_word(text, length, "merge-dispatches-into-one-command-buffer"))
        return change->merge_dispatches = true;
    if (is_number_of(text, length, "queues=", &queues)) {
        change->queues = (uint32_t)queues;
        return queues >= 1 && queues <= HAL_MAX_QUEUES;
    }
    change->barriers = REPLAY_BARRIERS_KEEP;
    if (is_word(text, length, "drop-barriers"))
        change->barriers = REPLAY_BARRIERS_NEEDED;
    else if (is_word(text, length, "drop-barriers=all"))
        change->barriers = REPLAY_BARRIERS_NONE;
    else if (is_number_of(text, length, "drop-barriers=", &change->barrier))
        change->barriers = REPLAY_BARRIERS_ONE;
    return change->barriers != REPLAY_BARRIERS_KEEP;
}

/* Whether all of it asks for that one change already. */
static bool has_change(const struct replay_what_if *all, const struct replay_what_if *one)
{
    return (all->coalesce_submissions || !one->coalesce_submissions) &&
           (all->drop_host_waits || !one->drop_host_waits) &&
           (all->merge_dispatches || !one->merge_dispatches) &&
           (all->queues == one->queues || !one->queues) &&
           (one->barriers == REPLAY_BARRIERS_KEEP ||
            (all->barriers == one->barriers && all->barrier == one->barrier));
}

/* False: it asks for that with another value. */
static bool add_change(struct replay_what_if *all, const struct replay_what_if *one)
{
    const bool drops = one->barriers != REPLAY_BARRIERS_KEEP;
    if ((one->queues && all->queues) || (drops && all->barriers != REPLAY_BARRIERS_KEEP))
        return false;
    all->coalesce_submissions |= one->coalesce_submissions;
    all->drop_host_waits |= one->drop_host_waits;
    all->merge_dispatches |= one->merge_dispatches;
    if (one->queues)
        all->queues = one->queues;
    if (drops) {
        all->barriers = one->barriers;
        all->barrier = one->barrier;
    }
    return true;
}

static bool take_change(const char *option, const char *text, size_t length,
                        struct replay_program *program)
{
    struct replay_what_if one = {0};
    char contradiction[REPLAY_WHAT_IF_BYTES];
    if (!parse_change(text, length, &one))
        return replay_option_error(
            "what-if", option,
            "expected coalesce-submissions, drop-host-waits, drop-barriers, drop-barriers=N, "
            "drop-barriers=all, merge-dispatches or queues=N (1 to 64)");
    if (has_change(&program->change, &one))
        return true;
    if (!add_change(&program->change, &one)) {
        snprintf(contradiction, sizeof contradiction, "'%.*s' repeats a change with another value",
                 (int)length, text);
        return replay_option_error("what-if", option, contradiction);
    }
    const size_t used = strlen(program->what_if_text);
    snprintf(program->what_if_text + used, sizeof program->what_if_text - used, "%s%.*s",
             used ? "," : "", (int)length, text);
    return true;
}

bool replay_take_what_if(char *text, struct replay_program *program)
{
    program->what_if = program->what_if_text;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        if (!take_change(text, at, length, program))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}
