/* SPDX-License-Identifier: Apache-2.0 */
/* The options of hal-replay, and what they mean together. */
#include "hal/base/options.h"
#include "hal/base/log.h"
#include "hal/base/print.h"
#include "replay/cli/options_values.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ----------------------------------------------------------------------------- */

/* Immediately: the libraries below use it from the first call on. */
static enum hal_status take_verbose(void *user, const struct hal_option *option, char *value)
{
    (void)user;
    (void)option;
    (void)value;
    hal_log_set_level(HAL_LOG_INFO);
    return HAL_OK;
}

/* For the table: what options_values.h has. */
#define VALUE(name)                                                                                \
    static enum hal_status take_##name(void *user, const struct hal_option *option, char *value)   \
    {                                                                                              \
        (void)option;                                                                              \
        return replay_take_##name(value, user) ? HAL_OK : HAL_INVALID;                             \
    }

VALUE(fill)
VALUE(base)
VALUE(map)
VALUE(timeout)
VALUE(time_limit)
VALUE(memory_limit)
VALUE(tolerance)
VALUE(type)
VALUE(verify)
VALUE(against)
VALUE(minimal)
VALUE(symbols)
VALUE(substitute)
VALUE(substitute_buffer)
VALUE(range)
VALUE(stop)
VALUE(loop)
VALUE(dump)
VALUE(record)
VALUE(repeat)
VALUE(benchmark)
VALUE(pace)
VALUE(compare)
VALUE(threshold)
VALUE(what_if)
VALUE(runs)

#undef VALUE

static const struct hal_option table[] = {
    {.help = "Where and how:"},
    {.name = "device",
     .argument = "URI",
     .help = "the device to replay on (default: $HAL_DEVICE, else the recorded device)",
     .target = offsetof(struct replay_program, device)},
    {.name = "fill",
     .argument = "BYTE",
     .help = "initial contents of buffers before anything writes them (default 0)",
     .take = take_fill},
    {.name = "base",
     .argument = "TRACE",
     .help = "has contents that the trace refers to; may be repeated",
     .take = take_base},
    {.name = "map",
     .argument = "OLD=NEW",
     .help = "the new place of files that the trace refers to; may be repeated",
     .take = take_map},
    {.name = "timeout",
     .argument = "TIME",
     .help = "give up when nothing makes progress for that long, as 5s or 500ms (default 60s)",
     .take = take_timeout},
    {.name = "time-limit",
     .argument = "TIME",
     .help = "limit for the whole replay (default 1h)",
     .take = take_time_limit},
    {.name = "memory-limit",
     .argument = "SIZE",
     .help = "refuse traces that need more, such as 512M or 8G (default: physical memory)",
     .take = take_memory_limit},
    {.name = "trusted",
     .help = "replay in this process, without the sandbox; only for traces you trust",
     .target = offsetof(struct replay_program, trusted)},
    {.name = "allow-unsupported",
     .help = "skip calls that no replay can repeat",
     .target = offsetof(struct replay_program, load.allow_unsupported)},
    {.help = "What counts as equal:"},
    {.name = "tolerance",
     .argument = "LIST",
     .help = "elements may differ by abs:X, by the fraction rel:X of the expected value, or by "
             "ulp:N representable values; of several, separated by commas, one must hold",
     .take = take_tolerance},
    {.name = "type",
     .argument = "[BUFFER:]TYPE",
     .help = "the element type: f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8; BUFFER is a label, "
             "with * as a wildcard, or #ID; may be repeated",
     .take = take_type},
    {.help = "What differs first:"},
    {.name = "bisect",
     .help = "find the first command after which the bytes differ from those of --against, and "
             "report everything about it",
     .target = offsetof(struct replay_program, bisect)},
    {.name = "verify",
     .argument = "WHAT",
     .help = "submissions: compare with --against after every submission, without searching for "
             "the command; uninitialised: run twice with different fill bytes and report reads of "
             "uninitialised memory",
     .take = take_verify},
    {.name = "against",
     .argument = "URI",
     .help = "the device to compare with, or recorded (the default): the read-backs in the trace",
     .take = take_against},
    {.name = "minimal",
     .argument = "FILE",
     .help = "with --bisect: write a trace of only that command",
     .take = take_minimal},
    {.name = "symbols",
     .argument = "FILE",
     .help = "a program or library of the call stacks, for function names; may be repeated",
     .take = take_symbols},
    {.help = "Other kernels and data:"},
    {.name = "substitute",
     .argument = "KERNEL=FILE",
     .help = "take the kernel of that name, or the executable of that label, from FILE (MSL, "
             "SPIR-V, metallib); may be repeated",
     .take = take_substitute},
    {.name = "substitute-buffer",
     .argument = "BUFFER=FILE",
     .help = "take what the host writes into BUFFER from FILE; may be repeated",
     .take = take_substitute_buffer},
    {.help = "A part, and its contents:"},
    {.name = "range",
     .argument = "PART",
     .help = "compare and time only #s3..#s7, #s3, #s3.. or ..#s7",
     .take = take_range},
    {.name = "stop-at",
     .argument = "PLACE",
     .help = "end after submission #s12 or its dispatch #s12.d40",
     .take = take_stop},
    {.name = "loop",
     .argument = "PLACE",
     .help = "run only that dispatch, --repeat times (default 100), with the same inputs",
     .take = take_loop},
    {.name = "dump",
     .argument = "BUFFER@PLACE=FILE",
     .help = "write the contents of the buffer after PLACE: numbers as text if FILE ends in .txt, "
             "with NumPy's header for .npy, else bytes; may be repeated",
     .take = take_dump},
    {.name = "record",
     .argument = "FILE",
     .help = "capture the replay; contents that TRACE holds are not stored again, so replaying "
             "FILE needs --base=TRACE",
     .take = take_record},
    {.help = "How long it takes:"},
    {.name = "repeat",
     .argument = "N",
     .help = "replay N times and print the minimum, median and maximum times",
     .take = take_repeat},
    {.name = "benchmark",
     .argument = "[=TIME]",
     .help =
         "repeat until the median is known to 2 %, at most that long (10s): the whole, and each "
         "scope of the program",
     .take = take_benchmark},
    {.name = "isolate",
     .help = "also run every command alone: times by kernel",
     .target = offsetof(struct replay_program, isolate)},
    {.name = "pace",
     .argument = "HOW",
     .help = "asap (the default), recorded, or 2x: twice as fast as recorded",
     .take = take_pace},
    {.name = "compare",
     .argument = "OTHER",
     .help = "compare in pairs of runs with another trace, or with a KERNEL=FILE as for "
             "--substitute; exit status 1 if OTHER is slower",
     .take = take_compare},
    {.name = "threshold",
     .argument = "PERCENT",
     .help = "how much slower it may be (default 0)",
     .take = take_threshold},
    {.name = "what-if",
     .argument = "LIST",
     .help = "do the same work differently, and measure and verify it against the recorded way in "
             "pairs of runs: coalesce-submissions, drop-host-waits, drop-barriers (those that "
             "order nothing), drop-barriers=N (only that one), drop-barriers=all, merge-dispatches "
             "(into one command buffer), queues=N; several separated by commas",
     .take = take_what_if},
    {.name = "runs",
     .argument = "N",
     .help = "number of pairs, and of additional runs at random moments (default 20)",
     .take = take_runs},
    {.help = "Output:"},
    {.name = "json",
     .help = "print one JSON object",
     .target = offsetof(struct replay_program, json)},
    {.name = "quiet",
     .help = "print nothing if everything is equal",
     .target = offsetof(struct replay_program, quiet)},
    {.name = "verbose",
     .help = "report to standard error what else is done: how each kernel runs on the processor, "
             "and why some run on fibers",
     .take = take_verbose},
    {.name = "selftest",
     .help = "capture a small run, replay it, damage it in several ways, and check that each is "
             "detected; takes no trace",
     .target = offsetof(struct replay_program, selftest)},
    {0},
};

static void print_version(void)
{
    char drivers[256];
    hal_drivers_describe(drivers, sizeof drivers);
    hal_print(stdout, "hal-replay %s\ntrace format %u.%u\ndrivers: %s\n", HAL_VERSION_STRING,
              TRACE_VERSION_MAJOR, TRACE_VERSION_MINOR, drivers);
}

static const struct hal_command_line command_line = {
    .program = "hal-replay",
    .usage =
        "usage: hal-replay [options] TRACE\n"
        "\n"
        "Replays a trace on a device and compares what the host reads back with the recording.\n",
    .notes = "Examples:\n"
             "  hal-replay trace.pb.zst                       # are all bytes equal?\n"
             "  hal-replay --device='cpu?threads=1' --tolerance=ulp:4 trace.pb.zst\n"
             "  hal-replay --bisect --against=recorded trace.pb.zst\n"
             "  hal-replay --what-if=coalesce-submissions --runs=6 trace.pb.zst\n"
             "\n"
             "Exit status: 0 everything is equal, 1 something differs, 2 wrong usage, 3 the trace "
             "cannot be\n"
             "read (or the report cannot be written), 4 the device cannot replay it, 5 not "
             "everything, or\n"
             "nothing, was comparable.\n",
    .options = table,
    .print_version = print_version,
};

bool replay_options_inspect(const struct replay_program *program)
{
    const struct replay_inspect *look = &program->look;
    return look->has_begin || look->has_stop || look->has_loop || look->dump_count > 0;
}

static bool is_consistent(const struct replay_program *program)
{
    const char *wrong = NULL;
    const int uses = (program->bisect || program->verify_submissions) + (program->what_if != NULL) +
                     program->verify_unwritten + (program->compare != NULL) +
                     (program->benchmark || program->isolate) + replay_options_inspect(program);
    if (program->against && !program->bisect && !program->verify_submissions)
        wrong = "--against needs --bisect or --verify=submissions";
    else if (program->minimal && !program->bisect)
        wrong = "--minimal needs --bisect";
    else if (program->minimal && (!program->against || !strcmp(program->against, "recorded")))
        wrong = "--minimal needs a device to compare with (--against=URI)";
    else if (program->has_runs && !program->what_if && !program->compare)
        wrong = "--runs needs --what-if or --compare (--repeat is for a replay alone)";
    else if (program->has_threshold && !program->compare)
        wrong = "--threshold needs --compare";
    else if (uses > 1)
        wrong = "only one of --bisect, --verify=submissions, --what-if, --compare, --benchmark or "
                "--isolate, and --range, --stop-at, --loop or --dump at a time";
    else if (program->record && uses)
        wrong = "--record cannot be combined with options other than those of a plain replay";
    return !wrong || hal_fail(HAL_INVALID, "%s", wrong) == HAL_OK;
}

/* The words are the trace, or none. */
static enum hal_status take_words(const struct hal_words *words, struct replay_program *program)
{
    if (program->selftest)
        return words->count ? hal_fail(HAL_INVALID, "a self-test takes no trace (see --help)")
                            : HAL_OK;
    if (!words->count)
        return hal_fail(HAL_INVALID, "no trace given (see --help)");
    if (words->count > 1)
        return hal_fail(HAL_INVALID,
                        "only one trace is accepted, not '%s' and '%s' (use '=' for a device: "
                        "--device=cpu; see --help)",
                        words->words[0], words->words[1]);
    program->path = words->words[0];
    if (program->types[REPLAY_MOST_TYPES].type)
        program->types[program->replay.type_count++] = program->types[REPLAY_MOST_TYPES];
    program->replay.types = program->types;
    program->replay.substitutes = program->substitutes;
    program->replay.buffers = program->buffers;
    program->replay.maps = program->maps;
    program->replay.is_sandboxed = !program->trusted;
    program->load.bases = program->bases;
    program->load.symbols = program->symbols;
    if (program->compare_substitute && !replay_take_other_kernel(program))
        return HAL_INVALID;
    return is_consistent(program) && replay_keeps_its_input(program) ? HAL_OK : HAL_INVALID;
}

enum hal_status replay_options_parse(char **argv, struct replay_program *out_program)
{
    struct hal_words words;
    *out_program = (struct replay_program){.repeat = 1,
                                           .runs = 20,
                                           .benchmark_ns = (int64_t)10 * 1000 * 1000 * 1000,
                                           .time_limit_ns = (int64_t)3600 * 1000 * 1000 * 1000};
    enum hal_status status = hal_command_line_parse(&command_line, argv, out_program, &words);
    if (status == HAL_OK && words.asked != HAL_ASKED_NOTHING) {
        status = hal_command_line_answer(&command_line, words.asked);
        if (status == HAL_OK)
            return HAL_NOT_FOUND;
    } else if (status == HAL_OK) {
        status = take_words(&words, out_program);
    }
    if (status != HAL_OK)
        hal_print(stderr, "hal-replay: %s\n", hal_message());
    return status;
}

void replay_options_finish(struct replay_program *program)
{
    for (size_t i = 0; i < REPLAY_MOST_SUBSTITUTES; i++) {
        free((void *)(uintptr_t)program->substitutes[i].data);
        free((void *)(uintptr_t)program->buffers[i].data);
    }
    free(program->compare_text);
}
