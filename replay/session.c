/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/session.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/look.h"
#include "replay/measure.h"
#include "replay/named.h"
#include "replay/trial.h"

#include <errno.h>
#include <fcntl.h>

/* ---- What several have in common ----------------------------------------------------------- */

static void begin_preparing(struct replay_session *s)
{
    s->prepare_begin_ns = hal_clock_ns();
}

/* Without a sandbox, making a player compiles. */
static enum hal_status compile(const struct replay_session *s, struct replay_plan *plan,
                               struct hal_device *device, const struct replay_options *options)
{
    return s->program->trusted ? HAL_OK : replay_player_compile(plan, device, options);
}

/* Before the sandbox is locked. One that stays empty was never made. */
static enum hal_status open_outputs(struct replay_session *s)
{
    for (size_t i = 0; i < s->program->output_count; i++) {
        const char *const path = s->note->outputs[i];
        snprintf(s->outputs[i], sizeof s->outputs[i], "%s", path);
        if (s->program->trusted)
            continue;
        const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file < 0)
            return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
        snprintf(s->outputs[i], sizeof s->outputs[i], "/dev/fd/%d", file);
    }
    return HAL_OK;
}

/* Everything is compiled and nothing loaded: a kernel's code may run as it is loaded. */
static enum hal_status lock_sandbox(const struct replay_session *s)
{
    return s->program->trusted
               ? HAL_OK
               : replay_walls_seal(s->program->output_count > 0, &s->note->refused_call);
}

static enum hal_status compile_and_lock(struct replay_session *s)
{
    begin_preparing(s);
    HAL_TRY(compile(s, s->plan, s->device, &s->program->replay));
    return lock_sandbox(s);
}

/* The players are made; kernels run from here on. */
static enum hal_status note_prepared(void *user)
{
    struct replay_session *s = user;
    if (!s->summary.has_prepare)
        s->summary.prepare_ns = hal_clock_ns() - s->prepare_begin_ns;
    s->summary.has_prepare = true;
    return HAL_OK;
}

/* With so many queues, if the driver takes a number; 0: as the URI says. */
static enum hal_status open_with_queues(const char *uri, uint32_t queues,
                                        struct hal_device **out_device)
{
    char wider[256];
    if (queues && replay_target_uri(uri, queues, wider, sizeof wider) &&
        hal_device_open(wider, out_device) == HAL_OK)
        return HAL_OK;
    return hal_device_open(uri, out_device);
}

static bool says_queues(const char *uri)
{
    const char *question = strchr(uri, '?');
    return question && (strncmp(question + 1, "queues=", 7) == 0 || strstr(question, "&queues="));
}

/* A device that the user names has as many queues as the trace needs, unless he says how many. */
static enum hal_status open_chosen(const char *uri, uint32_t queues, struct hal_device **out_device)
{
    return open_with_queues(uri, says_queues(uri) || queues <= 1 ? 0 : queues, out_device);
}

/* NULL: the recorded one. */
static const char *chosen_device(const struct replay_session *s)
{
    const char *uri = s->program->device ? s->program->device : getenv("HAL_DEVICE");
    return uri && uri[0] ? uri : NULL;
}

/* The trace is being loaded. Which device it will be is known already, unless what is in the trace
 * says how many queues that one has. */
static void open_beside(void *user, const struct trace_header *header)
{
    struct replay_session *s = user;
    const char *const chosen = chosen_device(s);
    if (s->program->what_if || (chosen && !says_queues(chosen) && header->device.queue_count > 1))
        return;
    replay_opening_begin(&s->opening, chosen ? chosen : header->device.uri);
}

static enum hal_status open_now(struct replay_session *s, uint32_t queues)
{
    const char *const chosen = chosen_device(s);
    const uint32_t needed = s->summary.plan->queue_count;
    if (s->opening.begun) {
        HAL_TRY(replay_opening_end(&s->opening, &s->device));
        if (!chosen || says_queues(chosen) || needed <= hal_device_get_info(s->device)->queue_count)
            return HAL_OK;
        hal_device_release(s->device); /* the header knew of fewer */
        s->device = NULL;
    }
    if (chosen)
        return open_chosen(chosen, queues > needed ? queues : needed, &s->device);
    return open_with_queues(s->summary.plan->header->device.uri, queues > needed ? queues : 0,
                            &s->device);
}

/* A driver of Vulkan that is missing may be a GPU's, whose files are behind the walls. */
static enum hal_status explain_absence(const struct replay_session *s, enum hal_status status)
{
    static const char driver[] = "vulkan";
    char message[HAL_MESSAGE_BYTES];
    const char *const chosen = chosen_device(s);
    const char *const uri = chosen ? chosen : s->summary.plan->header->device.uri;
    if (status != HAL_NOT_FOUND || s->program->trusted ||
        strncmp(uri, driver, sizeof driver - 1) != 0)
        return status;
    snprintf(message, sizeof message, "%s", hal_message());
    return hal_fail(status, "%s (a GPU cannot be reached without --trusted)", message);
}

static enum hal_status open_device(struct replay_session *s)
{
    const uint32_t queues = s->program->what_if ? s->program->change.queues : 0;
    const enum hal_status status = explain_absence(s, open_now(s, queues));
    HAL_TRY(chosen_device(s)
                ? status
                : hal_add_context(status, "the recorded device (--device chooses another)"));
    s->summary.device = hal_device_get_info(s->device);
    if (queues <= s->summary.device->queue_count)
        return HAL_OK;
    return hal_fail(
        HAL_UNSUPPORTED,
        "--what-if=queues=%u: device '%s' has %u; --device=URI chooses one with more, as "
        "cpu?queues=%u",
        queues, s->summary.device->uri, s->summary.device->queue_count, queues);
}

static enum hal_status load(struct replay_session *s)
{
    struct replay_load_options options = s->program->load;
    options.opened = open_beside;
    options.user = s;
    const enum hal_status status = replay_plan_load(s->program->path, &options, &s->plan);
    if (status != HAL_OK)
        replay_opening_drop(&s->opening);
    return status;
}

/* By blanks: what leaves the jail commands no terminal. */
static void hide_progress(struct replay_session *s)
{
    if (s->shows_progress)
        fprintf(stderr, "\r%*s\r", REPLAY_PROGRESS_COLUMNS, "");
    s->shows_progress = false;
}

/* For a person who waits. */
static void show_progress(void *user, uint64_t done, uint64_t most)
{
    static int64_t next_ns;
    struct replay_session *s = user;
    const int64_t now_ns = hal_clock_ns(), step_ns = 200 * 1000 * 1000;
    if (s->program->quiet || !s->note->is_watched || (done < most && now_ns < next_ns))
        return;
    next_ns = now_ns + step_ns;
    char line[REPLAY_PROGRESS_COLUMNS + 1];
    snprintf(line, sizeof line, "run %llu of %s%llu", (unsigned long long)done,
             s->program->benchmark ? "at most " : "", (unsigned long long)most);
    fprintf(stderr, "\r%-*s", REPLAY_PROGRESS_COLUMNS, line);
    s->shows_progress = true;
}

/* ---- Verifying ------------------------------------------------------------------------------ */

/* Runs until enough, or until one fails. The summary keeps the first run that differs. */
static enum hal_status run_all(struct replay_session *s)
{
    struct replay_summary *summary = &s->summary;
    const size_t repeat = (size_t)s->program->repeat;
    int64_t *total_ns = hal_alloc(repeat, sizeof *total_ns);
    int64_t *wait_ns = hal_alloc(repeat, sizeof *wait_ns);
    enum hal_status status =
        total_ns && wait_ns ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for the times");
    while (status == HAL_OK && summary->runs < repeat) {
        struct replay_report report;
        status = replay_player_run(s->player, &report);
        const bool differs = replay_judge(summary->plan, &report) == REPLAY_EXIT_DIFFERENT;
        if (summary->runs == 0 || status != HAL_OK || (differs && summary->different_runs == 0))
            summary->report = report;
        summary->different_runs += differs;
        total_ns[summary->runs] = report.total_ns;
        wait_ns[summary->runs++] = report.wait_ns;
        if (repeat > 1)
            show_progress(s, summary->runs, repeat);
    }
    if (status == HAL_OK) {
        summary->total = replay_times_of(total_ns, summary->runs);
        summary->wait = replay_times_of(wait_ns, summary->runs);
        summary->has_total = summary->has_wait = true;
    }
    free(total_ns);
    free(wait_ns);
    return status;
}

static void judge(struct replay_session *s)
{
    struct replay_summary *summary = &s->summary;
    summary->exit_code = summary->different_runs ? REPLAY_EXIT_DIFFERENT
                                                 : replay_judge(summary->plan, &summary->report);
}

static enum hal_status create_player(struct replay_session *s)
{
    HAL_TRY(replay_player_create(s->plan, s->device, &s->program->replay, &s->player));
    return note_prepared(s);
}

/* The capture that is asked for begins before anything is created. */
static enum hal_status begin_record(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (!program->record)
        return HAL_OK;
    /* Who replays knows what the host writes, and says so. */
    setenv("HAL_DEVICE_PROFILING_DIRTY", "announced", 1);
    const struct hal_profiling_options options = {.file = s->outputs[program->record_output],
                                                  .force = true,
                                                  .stacks = "none",
                                                  .base = program->path};
    /* The capture's own file may lie beside the result, where that has a folder. */
    if (!program->trusted)
        setenv("HAL_DEVICE_PROFILING_SIDECAR", getenv("TMPDIR"), 1);
    return hal_add_context(hal_device_profiling_begin(s->device, &options, HAL_FOREVER),
                           "--record");
}

static enum hal_status end_record(struct replay_session *s, enum hal_status status)
{
    if (!s->program->record || s->summary.report.abandoned)
        return status;
    const enum hal_status ended = hal_device_profiling_end(s->device);
    return status != HAL_OK ? status : hal_add_context(ended, "--record");
}

static enum hal_status verify(struct replay_session *s)
{
    begin_preparing(s);
    HAL_TRY(compile(s, s->plan, s->device, &s->program->replay));
    HAL_TRY(begin_record(s));
    HAL_TRY(lock_sandbox(s));
    HAL_TRY(create_player(s));
    HAL_TRY(end_record(s, run_all(s)));
    judge(s);
    return HAL_OK;
}

/* ---- Two ways against each other ----------------------------------------------------------- */

/* What is called so may be in the one trace or in the other. */
static enum hal_status check_names(const struct replay_session *s)
{
    const struct replay_plan *const plans[] = {s->plan, s->other_plan};
    return replay_names_check(plans, s->other_plan ? 2 : 1, &s->program->replay);
}

/* The player's way against that of another plan, or with other options. */
static enum hal_status try_pairs(struct replay_session *s, struct replay_plan *plan,
                                 const struct replay_options *options, uint64_t shuffled)
{
    struct replay_summary *summary = &s->summary;
    struct replay_player *variant = NULL;
    HAL_TRY(replay_player_create(plan, s->device, options, &variant));
    HAL_TRY(note_prepared(s));
    const struct replay_trial trial = {.base = s->player,
                                       .variant = variant,
                                       .pairs = s->program->runs,
                                       .shuffled = shuffled,
                                       .seed = (uint64_t)hal_clock_ns(),
                                       .progress = show_progress,
                                       .user = s};
    const enum hal_status status = replay_trial_run(&trial, summary->plan, &summary->trial);
    summary->report = summary->trial.first;
    summary->different_runs += summary->trial.different_variant + summary->trial.different_shuffled;
    if (!summary->report.abandoned)
        replay_player_destroy(variant);
    return status;
}

static enum hal_status what_if(struct replay_session *s)
{
    struct replay_summary *summary = &s->summary;
    HAL_TRY(verify(s));
    if (summary->different_runs)
        return HAL_OK;
    HAL_TRY(
        replay_plan_what_if(s->plan, &s->program->change, &summary->what_if_info, &s->other_plan));
    summary->what_if = s->program->what_if;
    if (!summary->what_if_info.changed)
        return HAL_OK;
    const enum hal_status status =
        try_pairs(s, s->other_plan, &s->program->replay, s->program->runs);
    judge(s);
    return status;
}

static enum hal_status compare(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    struct replay_options base = program->replay, variant = program->replay;
    struct replay_plan *other = s->plan;
    if (program->compare_substitute) { /* the first one is the other way's */
        base.substitutes++;
        base.substitute_count--;
    }
    if (!program->compare_substitute) {
        HAL_TRY(replay_plan_load(program->compare, &program->load, &s->other_plan));
        HAL_TRY(check_names(s));
        other = s->other_plan;
    }
    begin_preparing(s);
    HAL_TRY(compile(s, s->plan, s->device, &base));
    HAL_TRY(compile(s, other, s->device, &variant));
    HAL_TRY(lock_sandbox(s));
    HAL_TRY(replay_player_create(s->plan, s->device, &base, &s->player));
    s->summary.compare = program->compare;
    HAL_TRY(try_pairs(s, other, &variant, 0));
    s->summary.runs = s->summary.trial.pairs;
    s->summary.different_runs += s->summary.trial.different_base;
    s->summary.threshold_percent = program->threshold_percent;
    s->summary.slower = replay_is_slower(&s->summary.trial.gain, s->summary.threshold_percent);
    judge(s);
    if (s->summary.slower)
        s->summary.exit_code = REPLAY_EXIT_DIFFERENT;
    return HAL_OK;
}

/* ---- Measuring ----------------------------------------------------------------------------- */

static enum hal_status benchmark(struct replay_session *s)
{
    static struct replay_benchmark_result result;
    struct replay_summary *summary = &s->summary;
    HAL_TRY(compile_and_lock(s));
    HAL_TRY(create_player(s));
    struct replay_benchmark benchmark = replay_usual_benchmark;
    benchmark.player = s->player;
    benchmark.most_ns = s->program->benchmark_ns;
    benchmark.progress = show_progress;
    benchmark.user = s;
    const enum hal_status status = replay_benchmark_run(&benchmark, summary->plan, &result);
    summary->report = result.report;
    summary->runs = result.runs;
    summary->different_runs = result.different_runs;
    summary->total = result.times;
    HAL_TRY(status);
    summary->has_total = true;
    summary->benchmark = &result;
    judge(s);
    return HAL_OK;
}

static enum hal_status isolate(struct replay_session *s)
{
    static struct replay_isolate_result result;
    struct replay_summary *summary = &s->summary;
    HAL_TRY(s->program->benchmark ? benchmark(s) : compile_and_lock(s));
    const struct replay_isolate isolate = {.plan = s->plan,
                                           .device = s->device,
                                           .options = &s->program->replay,
                                           .runs = s->program->repeat > 1 ? s->program->repeat : 5,
                                           .prepared = note_prepared,
                                           .progress = show_progress,
                                           .user = s};
    const enum hal_status status = replay_isolate_run(&isolate, &result);
    if (!s->program->benchmark || status != HAL_OK || result.report.different_reads)
        summary->report = result.report;
    HAL_TRY(status);
    summary->isolate = &result;
    if (!s->program->benchmark)
        summary->runs = result.runs;
    judge(s);
    return HAL_OK;
}

/* ---- Searching and looking ----------------------------------------------------------------- */

static enum hal_status compile_search(const struct replay_session *s,
                                      const struct replay_bisect *search)
{
    enum hal_status status = compile(s, s->plan, search->candidate, search->candidate_options);
    if (!search->reference)
        return status;
    HAL_TRY(hal_add_context(status, "the candidate"));
    status = compile(s, s->plan, search->reference, search->reference_options);
    return hal_add_context(status, "the reference");
}

/* The reference runs what was recorded. */
static enum hal_status bisect(struct replay_session *s)
{
    static struct replay_finding finding;
    const struct replay_program *program = s->program;
    struct replay_summary *summary = &s->summary;
    struct replay_options reference_options = program->replay;
    struct hal_device *reference = NULL;
    reference_options.substitute_count = reference_options.buffer_count = 0;
    summary->against = program->against ? program->against : "recorded";
    if (program->verify_unwritten) {
        reference = s->device;
        hal_device_retain(reference);
        reference_options = program->replay;
        reference_options.fill = (uint8_t)~program->replay.fill;
        summary->against = "a run with other bytes where nobody wrote";
    } else
        summary->minimal = program->minimal;
    if (!reference && strcmp(summary->against, "recorded") != 0)
        HAL_TRY(hal_add_context(
            open_chosen(summary->against, summary->plan->queue_count, &reference), "--against"));
    const struct replay_bisect search = {
        .plan = s->plan,
        .candidate = s->device,
        .reference = reference,
        .candidate_options = &program->replay,
        .reference_options = &reference_options,
        .unwritten = program->verify_unwritten,
        .narrow = program->bisect || program->verify_unwritten,
        .minimal = program->minimal ? s->outputs[program->minimal_output] : NULL,
        .prepared = note_prepared,
        .user = s};
    begin_preparing(s);
    enum hal_status status = compile_search(s, &search);
    if (status == HAL_OK)
        status = lock_sandbox(s);
    if (status == HAL_OK)
        status = replay_bisect_run(&search, &finding);
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

static enum hal_status look(struct replay_session *s)
{
    static struct replay_look_result result;
    static struct replay_dump dumps[REPLAY_MOST_DUMPS];
    const struct replay_program *program = s->program;
    struct replay_summary *summary = &s->summary;
    struct replay_look look = program->look;
    for (size_t i = 0; i < look.dump_count; i++) {
        dumps[i] = program->dumps[i];
        dumps[i].path = s->outputs[program->dump_outputs[i]];
    }
    look.plan = s->plan;
    look.device = s->device;
    look.options = &program->replay;
    look.loop_runs = program->repeat > 1 ? program->repeat : 100;
    look.dumps = dumps;
    look.prepared = note_prepared;
    look.user = s;
    HAL_TRY(replay_look_check(&look));
    HAL_TRY(compile_and_lock(s));
    const enum hal_status status = replay_look_run(&look, &result);
    summary->report = result.report;
    HAL_TRY(status);
    summary->look = program;
    summary->look_result = &result;
    summary->runs = 1;
    summary->total = replay_times_of(&result.report.total_ns, 1);
    summary->wait = replay_times_of(&result.report.wait_ns, 1);
    summary->has_total = summary->has_wait = true;
    judge(s);
    /* Who stops at a place, or dumps, asks for no read-back. */
    if (summary->exit_code == REPLAY_EXIT_INCOMPARABLE && !look.is_range &&
        !result.report.compared_reads)
        summary->exit_code = REPLAY_EXIT_SAME;
    return HAL_OK;
}

/* Before anything takes long. Of a second look at what hung, it is known. */
static void show_target(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (program->json || program->quiet)
        return;
    if (!s->note->hung)
        (void)replay_print_target(stdout, &s->summary);
    replay_jail_settle(s->note);
    s->summary.target_is_printed = true;
}

/* ---- All ----------------------------------------------------------------------------------- */

static enum hal_status run(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    struct replay_summary *summary = &s->summary;
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(open_outputs(s));
    HAL_TRY(load(s));
    summary->plan = replay_plan_get_info(s->plan);
    summary->load_ns = hal_clock_ns() - begin_ns;
    HAL_TRY(open_device(s));
    if (!program->compare || program->compare_substitute)
        HAL_TRY(check_names(s));
    show_target(s);
    HAL_TRY(replay_target_check(summary->plan, summary->device));
    if (program->bisect || program->verify_submissions || program->verify_unwritten)
        return bisect(s);
    if (replay_options_look(program))
        return look(s);
    if (program->compare)
        return compare(s);
    if (program->isolate)
        return isolate(s);
    if (program->benchmark)
        return benchmark(s);
    return program->what_if ? what_if(s) : verify(s);
}

enum hal_status replay_session_run(struct replay_session *s)
{
    const enum hal_status status = run(s);
    hide_progress(s); /* also of what ended early */
    return status;
}

void replay_session_finish(struct replay_session *s)
{
    replay_player_destroy(s->player);
    hal_device_release(s->device);
    replay_plan_destroy(s->other_plan);
    replay_plan_destroy(s->plan);
}
