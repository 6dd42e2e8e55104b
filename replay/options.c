/* SPDX-License-Identifier: Apache-2.0 */
/* One table of options; each has a function that understands its value and complains. */
#include "replay/options.h"

#include "hal/base/mem.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char *const help_text =
    "usage: hal-replay [options] TRACE\n"
    "\n"
    "Replays a trace on a device and compares what the host reads back with what was recorded.\n"
    "\n"
    "  --device=URI         where to replay (default: $HAL_DEVICE, else the recorded device)\n"
    "  --repeat=N           replay N times and print minimum, median and maximum times\n"
    "  --tolerance=LIST     elements may differ by abs:X, by the part rel:X of what is expected,\n"
    "                       or by ulp:N representable values; several with commas: one suffices\n"
    "  --type=[BUFFER:]TYPE what elements are: f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8;\n"
    "                       BUFFER is a label, with * for anything, or #ID; may be repeated\n"
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
    "  --substitute=KERNEL=FILE\n"
    "                       the kernel of that name, or the executable of that label, is in FILE\n"
    "                       (MSL, SPIR-V, metallib); may be repeated\n"
    "  --substitute-buffer=BUFFER=FILE\n"
    "                       what the host writes into BUFFER is in FILE; may be repeated\n"
    "  --stop-at=PLACE      end behind submission #s12, or its dispatch #s12.d40\n"
    "  --range=PART         compare and time #s3..#s7 alone, #s3, #s3.. or ..#s7\n"
    "  --dump=BUFFER@PLACE=FILE\n"
    "                       what is in the buffer behind PLACE: numbers as text when FILE ends in\n"
    "                       .txt, with NumPy's header in .npy, else bytes; may be repeated\n"
    "  --loop=PLACE         run that dispatch --repeat times (default 100) with the same inputs\n"
    "  --record=FILE        capture the replay\n"
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
    "  --json               print one JSON object\n"
    "  --quiet              print nothing when everything is the same\n"
    "  --timeout=SECONDS    give up when nothing moves for that long (default 60)\n"
    "  --fill=BYTE          what buffers hold before anybody writes them (default 0)\n"
    "  --map=OLD=NEW        files that the trace refers to lie there now; may be repeated\n"
    "  --memory-limit=SIZE  refuse traces that need more, as 512M or 8G (default: physical "
    "memory)\n"
    "  --time-limit=SECONDS stop the whole replay after that long (default 3600)\n"
    "  --trusted            replay in this process, with all that it may do: not for files of\n"
    "                       strangers\n"
    "  --allow-unsupported  leave out calls of the program that no replay can repeat\n"
    "  --selftest           capture a small run, replay it, damage it in several ways, and see\n"
    "                       whether each is noticed; takes no trace\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 everything is the same, 1 something differs, 2 wrong usage, 3 the trace\n"
    "cannot be read (or the report cannot be written), 4 the device cannot replay it, 5 nothing\n"
    "or not everything was comparable.\n";

static bool complain(const char *option, const char *value, const char *wanted)
{
    fprintf(stderr, "hal-replay: --%s=%s: %s\n", option, value, wanted);
    return false;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

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
    return complain(option, text, wanted);
}

static bool parse_repeat(char *text, struct replay_program *program)
{
    return parse_count("repeat", text, 1, 1000000, &program->repeat);
}

static bool parse_runs(char *text, struct replay_program *program)
{
    return parse_count("runs", text, 6, 100000, &program->runs);
}

static bool parse_fill(char *text, struct replay_program *program)
{
    const char *rest;
    uint64_t value;
    if (!parse_number(text, &value, &rest) || rest[0] || value > UINT8_MAX)
        return complain("fill", text, "not a number from 0 to 255 (0xff)");
    program->replay.fill = (uint8_t)value;
    return true;
}

static bool parse_seconds(const char *option, const char *text, int64_t *out_ns)
{
    char *rest;
    const double seconds = strtod(text, &rest);
    if (rest == text || rest[0] || !isfinite(seconds) || seconds < 0.001 || seconds > 1e9)
        return complain(option, text, "not a number of seconds from 0.001 to 1000000000");
    *out_ns = (int64_t)(seconds * 1e9);
    return true;
}

static bool parse_benchmark(char *text, struct replay_program *program)
{
    program->benchmark = true;
    return !text || parse_seconds("benchmark", text, &program->benchmark_ns);
}

static bool parse_pace(char *text, struct replay_program *program)
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
        return complain("pace", text, "not asap, recorded, or a factor from 0.001x to 1000000x");
    return true;
}

static bool parse_threshold(char *text, struct replay_program *program)
{
    char *rest;
    program->threshold_percent = strtod(text, &rest);
    if (rest == text || rest[0] || !(program->threshold_percent >= 0) ||
        program->threshold_percent > 1000)
        return complain("threshold", text, "not a number of percent from 0 to 1000");
    return true;
}

static bool parse_timeout(char *text, struct replay_program *program)
{
    return parse_seconds("timeout", text, &program->replay.timeout_ns);
}

static bool parse_time_limit(char *text, struct replay_program *program)
{
    return parse_seconds("time-limit", text, &program->time_limit_ns);
}

static bool parse_memory_limit(char *text, struct replay_program *program)
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
        return complain("memory-limit", text, "not a size such as 1073741824, 512M or 8G");
    program->load.memory_limit_bytes = value * factor;
    return true;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

static bool parse_tolerance(char *text, struct replay_program *program)
{
    if (replay_tolerance_parse(text, &program->replay.tolerance))
        return true;
    return complain("tolerance", text,
                    "not abs:NUMBER, rel:NUMBER or ulp:COUNT, or several with commas between");
}

static bool parse_type(char *text, struct replay_program *program)
{
    char *colon = strrchr(text, ':');
    const char *name = colon ? colon + 1 : text;
    const enum replay_type type = replay_type_parse(name, strlen(name));
    if (type == REPLAY_TYPE_UNKNOWN || colon == text)
        return complain("type", text,
                        "not TYPE or BUFFER:TYPE, with one of f64 f32 f16 bf16 i64 i32 i16 i8 u64 "
                        "u32 u16 u8");
    if (!colon) {
        program->types[REPLAY_MOST_TYPES] = (struct replay_type_rule){NULL, type};
        return true;
    }
    if (program->replay.type_count == REPLAY_MOST_TYPES)
        return complain("type", text, "one more than 64 buffers");
    *colon = '\0';
    program->types[program->replay.type_count++] = (struct replay_type_rule){text, type};
    return true;
}

/* ---- What if ------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* `word` with a number behind. */
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

static bool parse_what_if(char *text, struct replay_program *program)
{
    program->what_if = text;
    do {
        const size_t length = strcspn(text, ",");
        if (!parse_change(text, length, &program->change))
            return complain("what-if", program->what_if,
                            "expected coalesce-submissions, drop-host-waits, drop-barriers, "
                            "drop-barriers=N, drop-barriers=all, merge-dispatches or queues=N "
                            "(1 to 64)");
        text += length + (text[length] == ',');
    } while (*text);
    return true;
}

/* ---- Files --------------------------------------------------------------------------------- */

static bool parse_map(char *text, struct replay_program *program)
{
    char *equals = strchr(text, '=');
    if (program->replay.map_count == REPLAY_MOST_MAPS)
        return complain("map", text, "one more than 16");
    if (!equals || equals == text)
        return complain("map", text, "not OLD=NEW");
    *equals = '\0';
    program->maps[program->replay.map_count++] =
        (struct replay_path_map){.from = text, .to = equals + 1};
    return true;
}

/* Of the user's choice, so it is read out here, where the jail is not. */
static bool read_file(const char *option, const char *text, const char *path, uint8_t **out_data,
                      size_t *out_bytes)
{
    FILE *file = fopen(path, "rb");
    void *data = NULL;
    size_t used = 0, capacity = 0, got = 1;
    while (file && got > 0) {
        if (!hal_grow(&data, &capacity, used + 65536, 1)) {
            errno = ENOMEM;
            break;
        }
        got = fread((uint8_t *)data + used, 1, capacity - used, file);
        used += got;
    }
    const bool good = file && got == 0 && !ferror(file);
    const int error = errno;
    if (file)
        fclose(file);
    if (!good) {
        free(data);
        return complain(option, text, strerror(error));
    }
    *out_data = data;
    *out_bytes = used;
    return true;
}

/* Cuts NAME=FILE in two. */
static bool parse_named_file(const char *option, char *text, size_t count, uint8_t **out_data,
                             size_t *out_bytes)
{
    char *equals = strchr(text, '=');
    if (count == REPLAY_MOST_SUBSTITUTES)
        return complain(option, text, "one more than 16");
    if (!equals || equals == text || !equals[1])
        return complain(option, text, "not NAME=FILE");
    if (!read_file(option, text, equals + 1, out_data, out_bytes))
        return false;
    *equals = '\0';
    return true;
}

static bool parse_substitute(char *text, struct replay_program *program)
{
    struct replay_substitute *substitute =
        &program->substitutes[program->replay.substitute_count % REPLAY_MOST_SUBSTITUTES];
    uint8_t *data;
    if (!parse_named_file("substitute", text, program->replay.substitute_count, &data,
                          &substitute->bytes))
        return false;
    substitute->kernel = text;
    substitute->data = data;
    if (hal_executable_infer_format(data, substitute->bytes, &substitute->format) != HAL_OK)
        return complain("substitute", text, "the file is neither MSL, SPIR-V nor a metallib");
    program->replay.substitute_count++;
    return true;
}

static bool parse_substitute_buffer(char *text, struct replay_program *program)
{
    struct replay_buffer_substitute *substitute =
        &program->buffers[program->replay.buffer_count % REPLAY_MOST_SUBSTITUTES];
    uint8_t *data;
    size_t bytes;
    if (!parse_named_file("substitute-buffer", text, program->replay.buffer_count, &data, &bytes))
        return false;
    *substitute = (struct replay_buffer_substitute){text, data, bytes};
    program->replay.buffer_count++;
    return true;
}

/* ---- Places -------------------------------------------------------------------------------- */

static bool parse_place(const char *option, const char *text, struct replay_locator *out_locator)
{
    const char *rest;
    return (replay_locator_parse(text, out_locator, &rest) && !rest[0]) ||
           complain(option, text, "not a place such as #s12 or #s12.d40");
}

static bool parse_stop(char *text, struct replay_program *program)
{
    program->look.has_stop = true;
    return parse_place("stop-at", text, &program->look.stop);
}

static bool parse_loop(char *text, struct replay_program *program)
{
    program->look.has_loop = true;
    if (!parse_place("loop", text, &program->look.loop))
        return false;
    return program->look.loop.has_dispatch ||
           complain("loop", text, "not a dispatch, such as #s12.d40");
}

static bool parse_range(char *text, struct replay_program *program)
{
    struct replay_look *look = &program->look;
    const char *rest = text;
    look->has_begin = replay_locator_parse(text, &look->begin, &rest);
    if (look->has_begin && !rest[0]) {
        look->has_stop = true;
        look->stop = look->begin;
        if (!look->begin.has_dispatch)
            return true;
    } else if (strncmp(rest, "..", 2) == 0 && (rest[2] || look->has_begin)) {
        look->has_stop = rest[2] != '\0';
        if (!look->has_stop || (replay_locator_parse(rest + 2, &look->stop, &rest) && !rest[0] &&
                                look->stop.submission >= look->begin.submission))
            if (!look->begin.has_dispatch && !look->stop.has_dispatch)
                return true;
    }
    return complain("range", text, "not #s3..#s7, #s3, #s3.. or ..#s7");
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool add_output(const char *option, char *path, struct replay_program *program,
                       size_t *out_index)
{
    if (program->output_count == REPLAY_MOST_OUTPUTS)
        return complain(option, path, "one more than 8 files to write");
    *out_index = program->output_count;
    program->outputs[program->output_count++] = path;
    return true;
}

static bool parse_dump(char *text, struct replay_program *program)
{
    struct replay_look *look = &program->look;
    char *at = strstr(text, "@#s"), *equals = at ? strchr(at, '=') : NULL;
    if (look->dump_count == REPLAY_MOST_DUMPS)
        return complain("dump", text, "one more than 8");
    if (!equals || at == text || !equals[1])
        return complain("dump", text, "not BUFFER@PLACE=FILE, such as result@#s12.d40=out.npy");
    struct replay_dump *dump = &program->dumps[look->dump_count];
    *at = *equals = '\0';
    dump->buffer = text;
    dump->path = equals + 1;
    dump->format = ends_in(dump->path, ".npy")   ? REPLAY_DUMP_NPY
                   : ends_in(dump->path, ".txt") ? REPLAY_DUMP_TEXT
                                                 : REPLAY_DUMP_RAW;
    return parse_place("dump", at + 1, &dump->where) &&
           add_output("dump", equals + 1, program, &program->dump_outputs[look->dump_count++]);
}

static bool take_record(char *text, struct replay_program *program)
{
    program->record = text;
    return (text[0] || complain("record", text, "not a file")) &&
           add_output("record", text, program, &program->record_output);
}

bool replay_options_look(const struct replay_program *program)
{
    const struct replay_look *look = &program->look;
    return look->has_begin || look->has_stop || look->has_loop || look->dump_count > 0;
}

/* ---- The table ----------------------------------------------------------------------------- */

static bool take_device(char *text, struct replay_program *program)
{
    program->device = text;
    return true;
}

static bool take_against(char *text, struct replay_program *program)
{
    program->against = text;
    return text[0] || complain("against", text, "neither a device nor recorded");
}

static bool take_minimal(char *text, struct replay_program *program)
{
    program->minimal = text;
    return (text[0] || complain("minimal", text, "not a file")) &&
           add_output("minimal", text, program, &program->minimal_output);
}

static bool take_bisect(char *text, struct replay_program *program)
{
    (void)text;
    return program->bisect = true;
}

static bool parse_verify(char *text, struct replay_program *program)
{
    program->verify_unwritten = strcmp(text, "uninitialised") == 0;
    if (strcmp(text, "submissions") != 0 && strcmp(text, "reads") != 0 &&
        !program->verify_unwritten)
        return complain("verify", text, "expected reads, submissions or uninitialised");
    program->verify_submissions = text[0] == 's';
    return true;
}

static bool take_isolate(char *text, struct replay_program *program)
{
    (void)text;
    return program->isolate = true;
}

/* A trace of that name, else KERNEL=FILE. */
static bool take_compare(char *text, struct replay_program *program)
{
    program->compare = text;
    if (access(text, F_OK) == 0)
        return true;
    program->compare_substitute = true;
    free(program->compare_text);
    program->compare_text = hal_copy_string(text); /* cut in two later */
    return strchr(text, '=') || complain("compare", text, "neither a trace nor KERNEL=FILE");
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
    {"repeat", true, parse_repeat},
    {"runs", true, parse_runs},
    {"tolerance", true, parse_tolerance},
    {"type", true, parse_type},
    {"benchmark", false, parse_benchmark}, /* the value is optional */
    {"bisect", false, take_bisect},
    {"verify", true, parse_verify},
    {"against", true, take_against},
    {"minimal", true, take_minimal},
    {"substitute", true, parse_substitute},
    {"substitute-buffer", true, parse_substitute_buffer},
    {"stop-at", true, parse_stop},
    {"range", true, parse_range},
    {"dump", true, parse_dump},
    {"loop", true, parse_loop},
    {"record", true, take_record},
    {"isolate", false, take_isolate},
    {"pace", true, parse_pace},
    {"compare", true, take_compare},
    {"threshold", true, parse_threshold},
    {"what-if", true, parse_what_if},
    {"json", false, take_json},
    {"quiet", false, take_quiet},
    {"timeout", true, parse_timeout},
    {"fill", true, parse_fill},
    {"memory-limit", true, parse_memory_limit},
    {"map", true, parse_map},
    {"time-limit", true, parse_time_limit},
    {"trusted", false, take_trusted},
    {"allow-unsupported", false, take_unsupported},
    {"selftest", false, take_selftest},
    {"help", false, NULL},
    {"version", false, NULL},
};
enum { OPTIONS = sizeof table / sizeof *table, FIRST_OPTION = 256 };

static int value_of(int option)
{
    return table[option].take == parse_benchmark ? optional_argument
           : table[option].has_value             ? required_argument
                                                 : no_argument;
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
        printf("hal-replay %s\n", HAL_VERSION_STRING);
    return HAL_NOT_FOUND;
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
    if (argc - optind != 1 || program->selftest) {
        fprintf(stderr, "hal-replay: %s (--help says more)\n",
                program->selftest ? "a self-test takes no trace"
                : optind == argc  ? "which trace?"
                                  : "one trace at a time");
        return HAL_INVALID;
    }
    program->path = argv[optind];
    if (program->types[REPLAY_MOST_TYPES].type)
        program->types[program->replay.type_count++] = program->types[REPLAY_MOST_TYPES];
    program->replay.types = program->types;
    program->replay.substitutes = program->substitutes;
    program->replay.buffers = program->buffers;
    program->replay.maps = program->maps;
    /* The other way's substitute comes behind those of both. */
    if (program->compare_substitute && !parse_substitute(program->compare_text, program))
        return HAL_INVALID;
    return is_consistent(program) ? HAL_OK : HAL_INVALID;
}

void replay_options_finish(struct replay_program *program)
{
    for (size_t i = 0; i < REPLAY_MOST_SUBSTITUTES; i++) {
        free((void *)(uintptr_t)program->substitutes[i].data);
        free((void *)(uintptr_t)program->buffers[i].data);
    }
    free(program->compare_text);
}
