/* SPDX-License-Identifier: Apache-2.0 */
/* hal-replay: the order of things, and the exit status. */
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/jail.h"
#include "replay/options.h"
#include "replay/report.h"
#include "replay/trial.h"

#include <errno.h>
#include <inttypes.h>

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
static enum hal_status run_all(struct replay_player *player, const struct replay_program *options,
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
                                   const struct replay_program *options, struct hal_device *device,
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

static enum hal_status open_device(const struct replay_program *options, const char *recorded,
                                   struct hal_device **out_device)
{
    const char *uri = options->device ? options->device : getenv("HAL_DEVICE");
    if (uri && uri[0])
        return hal_device_open(uri, out_device);
    const enum hal_status status = hal_device_open(recorded, out_device);
    return hal_add_context(status, "the recorded device (--device chooses another)");
}

/* Everything is compiled; kernels run from here on. */
static enum hal_status seal(void *user)
{
    const struct replay_program *options = user;
    return options->trusted ? HAL_OK : replay_walls_seal(options->minimal != NULL);
}

/* The reference runs what was recorded. */
static enum hal_status bisect(const struct replay_program *options, struct replay_plan *plan,
                              struct hal_device *device, const char *minimal,
                              struct replay_summary *summary)
{
    static struct replay_finding finding;
    struct replay_options reference_options = options->replay;
    struct hal_device *reference = NULL;
    reference_options.substitute_count = reference_options.buffer_count = 0;
    summary->against = options->against ? options->against : "recorded";
    summary->minimal = options->minimal;
    if (strcmp(summary->against, "recorded") != 0)
        HAL_TRY(hal_add_context(hal_device_open(summary->against, &reference), "--against"));
    const struct replay_bisect search = {.plan = plan,
                                         .candidate = device,
                                         .reference = reference,
                                         .candidate_options = &options->replay,
                                         .reference_options = &reference_options,
                                         .narrow = options->bisect,
                                         .minimal = options->minimal ? minimal : NULL,
                                         .prepared = seal,
                                         .user = (void *)(uintptr_t)options};
    const enum hal_status status = replay_bisect_run(&search, &finding);
    summary->report = finding.report;
    summary->report.abandoned = finding.abandoned;
    if (!finding.abandoned)
        hal_device_release(reference);
    HAL_TRY(status);
    summary->finding = &finding;
    summary->runs = 1;
    summary->exit_code = finding.found                 ? REPLAY_EXIT_DIFFERENT
                         : finding.compared_bytes == 0 ? REPLAY_EXIT_INCOMPARABLE
                                                       : REPLAY_EXIT_SAME;
    return HAL_OK;
}

static enum hal_status replay(const struct replay_program *options,
                              const struct replay_jail_note *note, struct replay_summary *summary,
                              struct replay_plan **out_plan, struct hal_device **out_device,
                              struct replay_player **out_player)
{
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(replay_plan_load(options->path, &options->load, out_plan));
    summary->plan = replay_plan_get_info(*out_plan);
    summary->load_ns = hal_clock_ns() - begin_ns;
    HAL_TRY(open_device(options, summary->plan->header->device.uri, out_device));
    summary->device = hal_device_get_info(*out_device);
    if (options->bisect || options->verify_submissions)
        return bisect(options, *out_plan, *out_device, note->outputs[0], summary);
    const int64_t prepare_begin_ns = hal_clock_ns();
    HAL_TRY(replay_player_create(*out_plan, *out_device, &options->replay, out_player));
    summary->prepare_ns = hal_clock_ns() - prepare_begin_ns;
    HAL_TRY(seal((void *)(uintptr_t)options));
    HAL_TRY(run_all(*out_player, options, summary));
    if (options->what_if && !summary->different_runs)
        HAL_TRY(try_what_if(*out_plan, *out_player, options, *out_device, summary));
    summary->exit_code = summary->different_runs ? REPLAY_EXIT_DIFFERENT
                                                 : replay_judge(summary->plan, &summary->report);
    return HAL_OK;
}

/* False when the report could not be written: whoever asked must not take silence for "the same".
 */
static bool print(const struct replay_program *options, const struct replay_summary *summary)
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
    struct replay_program options = *(const struct replay_program *)user;
    struct replay_plan *plan = NULL;
    struct hal_device *device = NULL;
    struct replay_player *player = NULL;
    static char error[HAL_MESSAGE_BYTES];
    const bool looking = note->hung;
    options.replay.mark = looking;
    options.replay.mark_submission = note->submission;
    struct replay_summary summary = {
        .path = options.path, .error = error, .jail = options.trusted ? NULL : note->missing};
    const enum hal_status status = replay(&options, note, &summary, &plan, &device, &player);
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
    struct replay_program options;
    int exit_code = REPLAY_EXIT_UNSUPPORTED;
    const enum hal_status parsed = replay_options_parse(argc, argv, &options);
    if (parsed != HAL_OK)
        return parsed == HAL_NOT_FOUND ? REPLAY_EXIT_SAME : REPLAY_EXIT_USAGE;
    ignore_profiling();
    const char *given[REPLAY_MOST_MAPS];
    for (size_t i = 0; i < options.replay.map_count; i++)
        given[i] = options.maps[i].to;
    const struct replay_jail jail = {.trace = options.path,
                                     .given = given,
                                     .given_count = options.replay.map_count,
                                     .memory_bytes = options.load.memory_limit_bytes,
                                     .time_ns = options.time_limit_ns,
                                     .outputs = {options.minimal},
                                     .output_count = options.minimal != NULL,
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
