/* SPDX-License-Identifier: Apache-2.0 */
/* hal-replay: options, the order of things, and the exit status. */
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/jail.h"
#include "replay/report.h"
#include "replay/trial.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>

static const char *const help_text =
    "usage: hal-replay [options] TRACE\n"
    "\n"
    "Replays a trace on a device and compares what the host reads back with what was recorded.\n"
    "\n"
    "  --device=URI         where to replay (default: $HAL_DEVICE, else the recorded device)\n"
    "  --repeat=N           replay N times and print minimum, median and maximum times\n"
    "  --what-if=LIST       do the same work in another way, measured and verified against the\n"
    "                       recorded one in pairs of runs: coalesce-submissions,\n"
    "                       drop-host-waits, drop-barriers (those that order nothing),\n"
    "                       drop-barriers=all; several with commas\n"
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
    "  --help, --version\n"
    "\n"
    "Exit status: 0 everything is the same, 1 something differs, 2 wrong usage, 3 the trace\n"
    "cannot be read (or the report cannot be written), 4 the device cannot replay it, 5 nothing\n"
    "or not everything was comparable.\n";

struct options {
    const char *path, *device;
    uint64_t repeat, runs;
    const char *what_if; /* as it was given, NULL: not */
    struct replay_what_if change;
    bool json, quiet;
    struct replay_load_options load;
    struct replay_options replay;
    struct replay_path_map maps[16];
    int64_t time_limit_ns;
    bool trusted;
};

/* ---- Options ------------------------------------------------------------------------------- */

static bool complain(const char *option, const char *value, const char *wanted)
{
    fprintf(stderr, "hal-replay: --%s=%s: %s\n", option, value, wanted);
    return false;
}

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

static bool parse_repeat(const char *text, struct options *options)
{
    const char *rest;
    if (parse_number(text, &options->repeat, &rest) && !rest[0] && options->repeat >= 1 &&
        options->repeat <= 1000000)
        return true;
    return complain("repeat", text, "not a number from 1 to 1000000");
}

static bool parse_runs(const char *text, struct options *options)
{
    const char *rest;
    if (parse_number(text, &options->runs, &rest) && !rest[0] && options->runs >= 6 &&
        options->runs <= 100000)
        return true;
    return complain("runs", text, "not a number from 6 to 100000");
}

static bool parse_what_if(const char *text, struct options *options)
{
    static const char *const names[] = {"coalesce-submissions", "drop-host-waits", "drop-barriers",
                                        "drop-barriers=all"};
    options->what_if = text;
    for (size_t length; *text; text += length + (text[length] == ',')) {
        size_t i = 0;
        length = strcspn(text, ",");
        while (i < 4 && (strlen(names[i]) != length || memcmp(names[i], text, length) != 0))
            i++;
        options->change.coalesce_submissions |= i == 0;
        options->change.drop_host_waits |= i == 1;
        if (i == 2 || i == 3)
            options->change.barriers = i == 2 ? REPLAY_BARRIERS_NEEDED : REPLAY_BARRIERS_NONE;
        if (i == 4)
            return complain("what-if", options->what_if,
                            "expected coalesce-submissions, drop-host-waits, drop-barriers or "
                            "drop-barriers=all");
    }
    return true;
}

static bool parse_fill(const char *text, struct options *options)
{
    const char *rest;
    uint64_t value;
    if (!parse_number(text, &value, &rest) || rest[0] || value > UINT8_MAX)
        return complain("fill", text, "not a number from 0 to 255 (0xff)");
    options->replay.fill = (uint8_t)value;
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

static bool parse_memory_limit(const char *text, struct options *options)
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
    options->load.memory_limit_bytes = value * factor;
    return true;
}

/* The text is main's argument, which may be changed. */
static bool parse_map(char *text, struct options *options)
{
    const size_t most = sizeof options->maps / sizeof *options->maps;
    char *equals = strchr(text, '=');
    if (options->replay.map_count == most)
        return complain("map", text, "one more than 16");
    if (!equals || equals == text)
        return complain("map", text, "not OLD=NEW");
    *equals = '\0';
    options->maps[options->replay.map_count++] =
        (struct replay_path_map){.from = text, .to = equals + 1};
    options->replay.maps = options->maps;
    return true;
}

enum {
    OPTION_DEVICE = 256,
    OPTION_REPEAT,
    OPTION_RUNS,
    OPTION_WHAT_IF,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_TIMEOUT,
    OPTION_FILL,
    OPTION_MEMORY_LIMIT,
    OPTION_MAP,
    OPTION_TIME_LIMIT,
    OPTION_TRUSTED,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"runs", required_argument, NULL, OPTION_RUNS},
    {"what-if", required_argument, NULL, OPTION_WHAT_IF},
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"fill", required_argument, NULL, OPTION_FILL},
    {"memory-limit", required_argument, NULL, OPTION_MEMORY_LIMIT},
    {"map", required_argument, NULL, OPTION_MAP},
    {"time-limit", required_argument, NULL, OPTION_TIME_LIMIT},
    {"trusted", no_argument, NULL, OPTION_TRUSTED},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static bool parse_option(int option, struct options *options)
{
    switch (option) {
    case OPTION_DEVICE: options->device = optarg; return true;
    case OPTION_REPEAT: return parse_repeat(optarg, options);
    case OPTION_RUNS: return parse_runs(optarg, options);
    case OPTION_WHAT_IF: return parse_what_if(optarg, options);
    case OPTION_JSON: options->json = true; return true;
    case OPTION_QUIET: options->quiet = true; return true;
    case OPTION_TIMEOUT: return parse_seconds("timeout", optarg, &options->replay.timeout_ns);
    case OPTION_TIME_LIMIT: return parse_seconds("time-limit", optarg, &options->time_limit_ns);
    case OPTION_TRUSTED: options->trusted = true; return true;
    case OPTION_FILL: return parse_fill(optarg, options);
    case OPTION_MEMORY_LIMIT: return parse_memory_limit(optarg, options);
    case OPTION_MAP: return parse_map(optarg, options);
    case OPTION_HELP: fputs(help_text, stdout); exit(REPLAY_EXIT_SAME);
    case OPTION_VERSION: printf("hal-replay %s\n", HAL_VERSION_STRING); exit(REPLAY_EXIT_SAME);
    default: return false; /* getopt has complained */
    }
}

static bool parse(int argc, char **argv, struct options *options)
{
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (!parse_option(option, options))
            return false;
    }
    if (argc - optind != 1) {
        fprintf(stderr, "hal-replay: %s (--help says more)\n",
                optind == argc ? "which trace?" : "one trace at a time");
        return false;
    }
    options->path = argv[optind];
    return true;
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static enum replay_exit exit_of(enum hal_status status)
{
    switch (status) {
    case HAL_OK: return REPLAY_EXIT_SAME;
    case HAL_IO:
    case HAL_CORRUPT:
    case HAL_VERSION: return REPLAY_EXIT_UNREADABLE;
    case HAL_TIMEOUT:
    case HAL_DEVICE_LOST:
    case HAL_FAILED: return REPLAY_EXIT_DIFFERENT;
    case HAL_INVALID:
    case HAL_NOT_FOUND:
    case HAL_EXISTS:
    case HAL_UNSUPPORTED:
    case HAL_NO_MEMORY: return REPLAY_EXIT_UNSUPPORTED;
    }
    return REPLAY_EXIT_UNSUPPORTED;
}

/* Runs until enough, or until one fails. The summary keeps the first run that differs. */
static enum hal_status run_all(struct replay_player *player, const struct options *options,
                               struct replay_summary *summary)
{
    int64_t *total_ns = hal_alloc(options->repeat, sizeof *total_ns);
    int64_t *wait_ns = hal_alloc(options->repeat, sizeof *wait_ns);
    enum hal_status status =
        total_ns && wait_ns ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for the times");
    while (status == HAL_OK && summary->runs < options->repeat) {
        struct replay_report report;
        status = replay_player_run(player, &report);
        const bool differs = replay_judge(summary->plan, &report) == REPLAY_EXIT_DIFFERENT;
        if (summary->runs == 0 || status != HAL_OK || (differs && summary->different_runs == 0))
            summary->report = report;
        summary->different_runs += differs;
        total_ns[summary->runs] = report.total_ns;
        wait_ns[summary->runs++] = report.wait_ns;
    }
    if (status == HAL_OK) {
        summary->total = replay_times_of(total_ns, summary->runs);
        summary->wait = replay_times_of(wait_ns, summary->runs);
    }
    free(total_ns);
    free(wait_ns);
    return status;
}

/* Both ways in pairs. The summary's report is that of the recorded way. */
static enum hal_status try_what_if(struct replay_plan *plan, struct replay_player *player,
                                   const struct options *options, struct hal_device *device,
                                   struct replay_summary *summary)
{
    struct replay_plan *variant_plan;
    struct replay_player *variant = NULL;
    HAL_TRY(replay_plan_what_if(plan, &options->change, &summary->what_if_info, &variant_plan));
    enum hal_status status = replay_player_create(variant_plan, device, &options->replay, &variant);
    if (status == HAL_OK) {
        const struct replay_trial trial = {.base = player,
                                           .variant = variant,
                                           .pairs = options->runs,
                                           .shuffled = options->runs,
                                           .seed = (uint64_t)hal_clock_ns()};
        status = replay_trial_run(&trial, summary->plan, &summary->trial);
    }
    const struct replay_trial_result *result = &summary->trial;
    summary->what_if = options->what_if;
    summary->report = result->first;
    summary->different_runs += result->different_variant + result->different_shuffled;
    if (result->first.abandoned)
        return status; /* work hangs: nothing may be freed */
    replay_player_destroy(variant);
    replay_plan_destroy(variant_plan);
    return status;
}

static enum hal_status open_device(const struct options *options, const char *recorded,
                                   struct hal_device **out_device)
{
    const char *uri = options->device ? options->device : getenv("HAL_DEVICE");
    if (uri && uri[0])
        return hal_device_open(uri, out_device);
    const enum hal_status status = hal_device_open(recorded, out_device);
    return hal_add_context(status, "the recorded device (--device chooses another)");
}

static enum hal_status replay(const struct options *options, struct replay_summary *summary,
                              struct replay_plan **out_plan, struct hal_device **out_device,
                              struct replay_player **out_player)
{
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(replay_plan_load(options->path, &options->load, out_plan));
    summary->plan = replay_plan_get_info(*out_plan);
    summary->load_ns = hal_clock_ns() - begin_ns;
    HAL_TRY(open_device(options, summary->plan->header->device.uri, out_device));
    summary->device = hal_device_get_info(*out_device);
    const int64_t prepare_begin_ns = hal_clock_ns();
    HAL_TRY(replay_player_create(*out_plan, *out_device, &options->replay, out_player));
    summary->prepare_ns = hal_clock_ns() - prepare_begin_ns;
    if (!options->trusted)
        HAL_TRY(replay_walls_seal()); /* kernels run from here on */
    HAL_TRY(run_all(*out_player, options, summary));
    if (options->what_if && !summary->different_runs)
        HAL_TRY(try_what_if(*out_plan, *out_player, options, *out_device, summary));
    summary->exit_code = summary->different_runs ? REPLAY_EXIT_DIFFERENT
                                                 : replay_judge(summary->plan, &summary->report);
    return HAL_OK;
}

/* False when the report could not be written: whoever asked must not take silence for "the same".
 */
static bool print(const struct options *options, const struct replay_summary *summary)
{
    if (summary->error[0])
        fprintf(stderr, "hal-replay: %s\n", summary->error);
    if (options->json)
        replay_print_json(stdout, summary);
    else if (summary->runs && !(options->quiet && summary->exit_code == REPLAY_EXIT_SAME))
        replay_print_text(stdout, summary);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "hal-replay: cannot write the report: %s\n", strerror(errno));
    return false;
}

/* A replay is not to be captured because its caller's environment asks for captures. */
static void ignore_profiling(void)
{
    unsetenv("HAL_DEVICE_PROFILING_MODE");
    unsetenv("HAL_DEVICE_PROFILING_FILE");
    unsetenv("HAL_DEVICE_PROFILING_FORCE");
    unsetenv("HAL_DEVICE_PROFILING_STACKS");
    unsetenv("HAL_DEVICE_PROFILING_CONTENTS");
    unsetenv("HAL_DEVICE_PROFILING_OUTPUTS");
    unsetenv("HAL_DEVICE_PROFILING_FILES");
    unsetenv("HAL_DEVICE_PROFILING_BUDGET");
    unsetenv("HAL_DEVICE_PROFILING_WINDOW");
    unsetenv("HAL_DEVICE_PROFILING_SCOPE");
}

/* Everything that has to do with the file; the second time to name what hung the first time. */
static int work(void *user, struct replay_jail_note *note)
{
    struct options options = *(const struct options *)user;
    struct replay_plan *plan = NULL;
    struct hal_device *device = NULL;
    struct replay_player *player = NULL;
    static char error[HAL_MESSAGE_BYTES];
    const bool looking = note->hung;
    options.replay.mark = looking;
    options.replay.mark_submission = note->submission;
    struct replay_summary summary = {
        .path = options.path, .error = error, .jail = options.trusted ? NULL : note->missing};
    const enum hal_status status = replay(&options, &summary, &plan, &device, &player);
    if (status != HAL_OK) {
        snprintf(error, sizeof error, "%s", hal_message());
        summary.exit_code = exit_of(status);
    } else if (looking) {
        snprintf(error, sizeof error,
                 "submission #s%" PRIu64
                 " did not end, but does when its dispatches run one by one",
                 note->submission);
        summary.exit_code = REPLAY_EXIT_DIFFERENT;
    }
    if (summary.report.hung && !looking) {
        note->hung = note->again = true;
        note->submission = summary.report.hung_submission;
        return (int)summary.exit_code;
    }
    if (!print(&options, &summary) && summary.exit_code == REPLAY_EXIT_SAME)
        summary.exit_code = REPLAY_EXIT_UNREADABLE;
    if (summary.report.abandoned) {
        fflush(NULL);
        _Exit((int)summary.exit_code); /* releasing the device would wait for work that hangs */
    }
    replay_player_destroy(player);
    hal_device_release(device);
    replay_plan_destroy(plan);
    return (int)summary.exit_code;
}

int main(int argc, char **argv)
{
    struct options options = {
        .repeat = 1, .runs = 20, .time_limit_ns = (int64_t)3600 * 1000 * 1000 * 1000};
    int exit_code = REPLAY_EXIT_UNSUPPORTED;
    if (!parse(argc, argv, &options))
        return REPLAY_EXIT_USAGE;
    ignore_profiling();
    const char *given[16];
    for (size_t i = 0; i < options.replay.map_count; i++)
        given[i] = options.maps[i].to;
    const struct replay_jail jail = {.trace = options.path,
                                     .given = given,
                                     .given_count = options.replay.map_count,
                                     .memory_bytes = options.load.memory_limit_bytes,
                                     .time_ns = options.time_limit_ns,
                                     .trusted = options.trusted,
                                     .inside = work,
                                     .user = &options};
    const enum hal_status status = replay_jail_run(&jail, &exit_code);
    if (status == HAL_OK)
        return exit_code;
    struct replay_summary summary = {
        .path = options.path, .error = hal_message(), .exit_code = exit_of(status)};
    (void)print(&options, &summary);
    return (int)summary.exit_code;
}
