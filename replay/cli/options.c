/* SPDX-License-Identifier: Apache-2.0 */
/* One table of options; each has a function that understands its value and complains. */
#include "hal/base/log.h"
#include "hal/base/output.h"
#include "replay/cli/options_values.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const help_text =
    "usage: hal-replay [options] TRACE\n"
    "\n"
    "Replays a trace on a device and compares what the host reads back with what was recorded.\n"
    "\n"
    "Where and how:\n"
    "  --device=URI         where to replay (default: $HAL_DEVICE, else the recorded device)\n"
    "  --fill=BYTE          what buffers hold before anybody writes them (default 0)\n"
    "  --base=TRACE         has contents that the trace refers to; may be repeated\n"
    "  --map=OLD=NEW        files that the trace refers to lie there now; may be repeated\n"
    "  --timeout=SECONDS    give up when nothing moves for that long (default 60)\n"
    "  --time-limit=SECONDS stop the whole replay after that long (default 3600)\n"
    "  --memory-limit=SIZE  refuse traces that need more, as 512M or 8G (default: physical "
    "memory)\n"
    "  --trusted            replay in this process, with all that it may do: not for files of\n"
    "                       strangers\n"
    "  --allow-unsupported  leave out calls of the program that no replay can repeat\n"
    "\n"
    "What counts as the same:\n"
    "  --tolerance=LIST     elements may differ by abs:X, by the part rel:X of what is expected,\n"
    "                       or by ulp:N representable values; several with commas: one suffices\n"
    "  --type=[BUFFER:]TYPE what elements are: f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8;\n"
    "                       BUFFER is a label, with * for anything, or #ID; may be repeated\n"
    "\n"
    "What differs first:\n"
    "  --bisect             find the first command behind which the bytes are not those of\n"
    "                       --against, and say everything about it\n"
    "  --verify=submissions compare with --against behind every submission, do not narrow it\n"
    "                       down to the command\n"
    "  --verify=uninitialised\n"
    "                       run twice, with other bytes where nobody wrote, and find who reads\n"
    "                       them\n"
    "  --against=URI        the device to compare with, or recorded (the default): with the\n"
    "                       read-backs in the trace\n"
    "  --minimal=FILE       with --bisect: a trace of that command alone\n"
    "  --symbols=FILE       a program or library of call stacks, for the names of its functions; "
    "may\n"
    "                       be repeated\n"
    "\n"
    "Other kernels and data:\n"
    "  --substitute=KERNEL=FILE\n"
    "                       the kernel of that name, or the executable of that label, is in FILE\n"
    "                       (MSL, SPIR-V, metallib); may be repeated\n"
    "  --substitute-buffer=BUFFER=FILE\n"
    "                       what the host writes into BUFFER is in FILE; may be repeated\n"
    "\n"
    "A part, and what is in it:\n"
    "  --range=PART         compare and time #s3..#s7 alone, #s3, #s3.. or ..#s7\n"
    "  --stop-at=PLACE      end behind submission #s12, or its dispatch #s12.d40\n"
    "  --loop=PLACE         run that dispatch --repeat times (default 100) with the same inputs\n"
    "  --dump=BUFFER@PLACE=FILE\n"
    "                       what is in the buffer behind PLACE: numbers as text when FILE ends in\n"
    "                       .txt, with NumPy's header in .npy, else bytes; may be repeated\n"
    "  --record=FILE        capture the replay; what TRACE holds is not stored again, and whoever\n"
    "                       replays FILE needs --base=TRACE\n"
    "\n"
    "How long it takes:\n"
    "  --repeat=N           replay N times and print minimum, median and maximum times\n"
    "  --benchmark[=SECONDS]\n"
    "                       repeat until the median is known to 2 %, at most that long (10):\n"
    "                       the whole, and each scope of the program\n"
    "  --isolate            run every command alone, too: times by kernel\n"
    "  --pace=HOW           asap (the default), recorded, or 2x: twice as fast as recorded\n"
    "  --compare=OTHER      pairs of runs against another trace, or a KERNEL=FILE as for\n"
    "                       --substitute; exit status 1 when OTHER is slower\n"
    "  --threshold=PERCENT  by so much it may be slower (default 0)\n"
    "  --what-if=LIST       do the same work in another way, measured and verified against the\n"
    "                       recorded one in pairs of runs: coalesce-submissions,\n"
    "                       drop-host-waits, drop-barriers (those that order nothing),\n"
    "                       drop-barriers=N (that one), drop-barriers=all, merge-dispatches\n"
    "                       (into one command buffer), queues=N; several with commas\n"
    "  --runs=N             pairs, and as many more runs at random moments (default 20)\n"
    "\n"
    "What is printed:\n"
    "  --json               print one JSON object\n"
    "  --quiet              print nothing when everything is the same\n"
    "  --verbose            say on standard error what else is done: how each kernel runs on the\n"
    "                       processor, and why on fibers where it does\n"
    "  --selftest           capture a small run, replay it, damage it in several ways, and see\n"
    "                       whether each is noticed; takes no trace\n"
    "  --help, --version\n"
    "\n"
    "Examples:\n"
    "  hal-replay trace.pb.zst                       # are all bytes the same?\n"
    "  hal-replay --device='cpu?threads=1' --tolerance=ulp:4 trace.pb.zst\n"
    "  hal-replay --bisect --against=recorded trace.pb.zst\n"
    "  hal-replay --what-if=coalesce-submissions --runs=6 trace.pb.zst\n"
    "\n"
    "Exit status: 0 everything is the same, 1 something differs, 2 wrong usage, 3 the trace\n"
    "cannot be read (or the report cannot be written), 4 the device cannot replay it, 5 nothing\n"
    "or not everything was comparable.\n";

/* ---- The table ----------------------------------------------------------------------------- */

static bool take_device(char *text, struct replay_program *program)
{
    program->device = text;
    return true;
}

static bool take_bisect(char *text, struct replay_program *program)
{
    (void)text;
    return program->bisect = true;
}

static bool take_isolate(char *text, struct replay_program *program)
{
    (void)text;
    return program->isolate = true;
}

static bool take_json(char *text, struct replay_program *program)
{
    (void)text;
    return program->json = true;
}

static bool take_quiet(char *text, struct replay_program *program)
{
    (void)text;
    return program->quiet = true;
}

/* At once: the libraries below tell it, from the first call on. */
static bool take_verbose(char *text, struct replay_program *program)
{
    (void)text;
    (void)program;
    hal_log_set_level(HAL_LOG_INFO);
    return true;
}

static bool take_unsupported(char *text, struct replay_program *program)
{
    (void)text;
    return program->load.allow_unsupported = true;
}

static bool take_selftest(char *text, struct replay_program *program)
{
    (void)text;
    return program->selftest = true;
}

static bool take_trusted(char *text, struct replay_program *program)
{
    (void)text;
    return program->trusted = true;
}

static const struct {
    const char *name;
    bool has_value;
    bool (*take)(char *text, struct replay_program *program); /* NULL: help, version */
} table[] = {
    {"device", true, take_device},
    {"repeat", true, replay_take_repeat},
    {"runs", true, replay_take_runs},
    {"tolerance", true, replay_take_tolerance},
    {"type", true, replay_take_type},
    {"benchmark", false, replay_take_benchmark}, /* the value is optional */
    {"bisect", false, take_bisect},
    {"verify", true, replay_take_verify},
    {"against", true, replay_take_against},
    {"minimal", true, replay_take_minimal},
    {"substitute", true, replay_take_substitute},
    {"substitute-buffer", true, replay_take_substitute_buffer},
    {"stop-at", true, replay_take_stop},
    {"range", true, replay_take_range},
    {"dump", true, replay_take_dump},
    {"loop", true, replay_take_loop},
    {"record", true, replay_take_record},
    {"isolate", false, take_isolate},
    {"pace", true, replay_take_pace},
    {"compare", true, replay_take_compare},
    {"threshold", true, replay_take_threshold},
    {"what-if", true, replay_take_what_if},
    {"json", false, take_json},
    {"quiet", false, take_quiet},
    {"verbose", false, take_verbose},
    {"timeout", true, replay_take_timeout},
    {"fill", true, replay_take_fill},
    {"memory-limit", true, replay_take_memory_limit},
    {"base", true, replay_take_base},
    {"symbols", true, replay_take_symbols},
    {"map", true, replay_take_map},
    {"time-limit", true, replay_take_time_limit},
    {"trusted", false, take_trusted},
    {"allow-unsupported", false, take_unsupported},
    {"selftest", false, take_selftest},
    {"help", false, NULL},
    {"version", false, NULL},
};
enum { OPTIONS = sizeof table / sizeof *table, FIRST_OPTION = 256 };

static int value_of(int option)
{
    return table[option].take == replay_take_benchmark ? optional_argument
           : table[option].has_value                   ? required_argument
                                                       : no_argument;
}

static void print_version(void)
{
    char drivers[256];
    hal_drivers_describe(drivers, sizeof drivers);
    printf("hal-replay %s\ntrace format %u.%u\ndrivers: %s\n", HAL_VERSION_STRING,
           TRACE_VERSION_MAJOR, TRACE_VERSION_MINOR, drivers);
}

static enum hal_status take_option(int option, struct replay_program *program)
{
    if (option < FIRST_OPTION || option >= FIRST_OPTION + OPTIONS)
        return HAL_INVALID; /* getopt has complained */
    const size_t i = (size_t)(option - FIRST_OPTION);
    if (table[i].take)
        return table[i].take(optarg, program) ? HAL_OK : HAL_INVALID;
    if (strcmp(table[i].name, "help") == 0)
        fputs(help_text, stdout);
    else
        print_version();
    if (hal_output_end() == HAL_OK)
        return HAL_NOT_FOUND;
    fprintf(stderr, "hal-replay: %s\n", hal_message());
    return HAL_IO;
}

bool replay_options_look(const struct replay_program *program)
{
    const struct replay_look *look = &program->look;
    return look->has_begin || look->has_stop || look->has_loop || look->dump_count > 0;
}

static bool is_consistent(const struct replay_program *program)
{
    const char *wrong = NULL;
    const int uses = (program->bisect || program->verify_submissions) + (program->what_if != NULL) +
                     program->verify_unwritten + (program->compare != NULL) +
                     (program->benchmark || program->isolate) + replay_options_look(program);
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
        wrong = "--record is for replays that verify alone";
    if (wrong)
        fprintf(stderr, "hal-replay: %s\n", wrong);
    return !wrong;
}

enum hal_status replay_options_parse(int argc, char **argv, struct replay_program *out_program)
{
    struct replay_program *program = out_program;
    struct option options[OPTIONS + 1] = {0};
    *program = (struct replay_program){.repeat = 1,
                                       .runs = 20,
                                       .benchmark_ns = (int64_t)10 * 1000 * 1000 * 1000,
                                       .time_limit_ns = (int64_t)3600 * 1000 * 1000 * 1000};
    for (int i = 0; i < OPTIONS; i++)
        options[i] = (struct option){table[i].name, value_of(i), NULL, FIRST_OPTION + i};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        const enum hal_status status = take_option(option, program);
        if (status != HAL_OK)
            return status;
    }
    if (program->selftest && argc == optind)
        return HAL_OK;
    if (argc - optind > 1 && !program->selftest) {
        fprintf(stderr,
                "hal-replay: one trace at a time, not '%s' and '%s' (a device stands behind '=': "
                "--device=cpu; --help says more)\n",
                argv[optind], argv[optind + 1]);
        return HAL_INVALID;
    }
    if (argc == optind || program->selftest) {
        fprintf(stderr, "hal-replay: %s (--help says more)\n",
                program->selftest ? "a self-test takes no trace" : "which trace?");
        return HAL_INVALID;
    }
    program->path = argv[optind];
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

void replay_options_finish(struct replay_program *program)
{
    for (size_t i = 0; i < REPLAY_MOST_SUBSTITUTES; i++) {
        free((void *)(uintptr_t)program->substitutes[i].data);
        free((void *)(uintptr_t)program->buffers[i].data);
    }
    free(program->compare_text);
}
