/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cli/session_device.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/cli/guard.h"
#include "replay/plan/buffer_names.h"
#include "replay/plan/plan.h"
#include "replay/search/benchmark.h"
#include "replay/search/inspect.h"
#include "replay/search/paired_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* No line that is printed and taken back is longer. */
enum { PROGRESS_COLUMNS = 40 };

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

/* Everything is compiled and nothing loaded: a kernel's code may run as it is loaded. */
static enum hal_status lock_sandbox(struct replay_session *s)
{
    return s->sandbox ? replay_remote_lock(s->sandbox, s->program->record != NULL) : HAL_OK;
}

static enum hal_status compile_and_lock(struct replay_session *s)
{
    begin_preparing(s);
    HAL_TRY(compile(s, s->plan, s->device, &s->options));
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

static const char *output_path(const struct replay_session *s, size_t index)
{
    return s->sandbox ? replay_sandbox_output(s->sandbox, index) : s->program->outputs[index];
}

static enum hal_status load(struct replay_session *s)
{
    struct replay_load_options options = s->program->load;
    options.only_system_symbols = !s->program->trusted;
    options.opened = replay_open_beside;
    options.user = s;
    const enum hal_status status = replay_plan_load(s->program->path, &options, &s->plan);
    if (status != HAL_OK)
        replay_async_open_drop(&s->opener);
    return status;
}

/* Overwrites with blanks: not every terminal supports more. */
static void hide_progress(struct replay_session *s)
{
    if (s->shows_progress)
        fprintf(stderr, "\r%*s\r", PROGRESS_COLUMNS, "");
    s->shows_progress = false;
}

/* For an interactive user. */
static void show_progress(void *user, uint64_t done, uint64_t most)
{
    static int64_t next_ns;
    struct replay_session *s = user;
    const int64_t now_ns = hal_clock_ns(), step_ns = 200 * 1000 * 1000;
    if (s->program->quiet || !s->is_watched || (done < most && now_ns < next_ns))
        return;
    next_ns = now_ns + step_ns;
    char line[PROGRESS_COLUMNS + 1];
    snprintf(line, sizeof line, "run %llu of %s%llu", (unsigned long long)done,
             s->program->benchmark ? "at most " : "", (unsigned long long)most);
    fprintf(stderr, "\r%-*s", PROGRESS_COLUMNS, line);
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
        const bool differs = replay_exit_code(summary->plan, &report) == REPLAY_EXIT_DIFFERENT;
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

static void set_exit_code(struct replay_session *s)
{
    struct replay_summary *summary = &s->summary;
    summary->exit_code = summary->different_runs
                             ? REPLAY_EXIT_DIFFERENT
                             : replay_exit_code(summary->plan, &summary->report);
}

static enum hal_status create_player(struct replay_session *s)
{
    HAL_TRY(replay_player_create(s->plan, s->device, &s->options, &s->player));
    return note_prepared(s);
}

/* The capture that is asked for begins before anything is created. */
static enum hal_status begin_record(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (!program->record)
        return HAL_OK;
    const struct hal_profiling_options options = {.file = output_path(s, program->record_output),
                                                  .force = true,
                                                  .stacks = "none",
                                                  .base = program->path};
    const enum hal_status status =
        s->sandbox ? replay_remote_record(s->options.remote, &options)
                   : hal_device_profiling_begin(s->device, &options, HAL_FOREVER);
    return hal_add_context(status, "--record");
}

static enum hal_status end_record(struct replay_session *s, enum hal_status status)
{
    if (!s->program->record || s->summary.report.abandoned)
        return status;
    if (s->sandbox && !replay_sandbox_is_alive(s->sandbox))
        return status;
    const enum hal_status ended = s->sandbox ? replay_remote_end_record(s->options.remote)
                                             : hal_device_profiling_end(s->device);
    return status != HAL_OK ? status : hal_add_context(ended, "--record");
}

static enum hal_status verify(struct replay_session *s)
{
    begin_preparing(s);
    HAL_TRY(compile(s, s->plan, s->device, &s->options));
    HAL_TRY(begin_record(s));
    HAL_TRY(lock_sandbox(s));
    HAL_TRY(create_player(s));
    HAL_TRY(end_record(s, run_all(s)));
    set_exit_code(s);
    return HAL_OK;
}

/* ---- Two ways against each other ----------------------------------------------------------- */

/* What is called so may be in the one trace or in the other. */
static enum hal_status check_names(const struct replay_session *s)
{
    const struct replay_plan *const plans[] = {s->plan, s->other_plan};
    return replay_names_check(plans, s->other_plan ? 2 : 1, &s->options);
}

/* The player's way against that of another plan, or with other options. */
static enum hal_status try_pairs(struct replay_session *s, struct replay_plan *plan,
                                 const struct replay_options *options, uint64_t shuffled)
{
    struct replay_summary *summary = &s->summary;
    struct replay_player *variant = NULL;
    HAL_TRY(replay_player_create(plan, s->device, options, &variant));
    HAL_TRY(note_prepared(s));
    const struct replay_paired_run paired = {.base = s->player,
                                             .variant = variant,
                                             .pairs = s->program->runs,
                                             .shuffled = shuffled,
                                             .seed = (uint64_t)hal_clock_ns(),
                                             .progress = show_progress,
                                             .user = s};
    const enum hal_status status = replay_paired_run_all(&paired, summary->plan, &summary->paired);
    summary->report = summary->paired.first;
    summary->different_runs +=
        summary->paired.different_variant + summary->paired.different_shuffled;
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
    summary->what_if = s->program->what_if;
    if (!summary->what_if_info.changed)
        return HAL_OK;
    const enum hal_status status = try_pairs(s, s->other_plan, &s->options, s->program->runs);
    set_exit_code(s);
    return status;
}

static enum hal_status compare(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    struct replay_options base = s->options, variant = s->options;
    struct replay_plan *other = s->plan;
    if (program->compare_substitute) { /* the first one is the other way's */
        base.substitutes++;
        base.substitute_count--;
    }
    if (!program->compare_substitute) {
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
    s->summary.runs = s->summary.paired.pairs;
    s->summary.different_runs += s->summary.paired.different_base;
    s->summary.threshold_percent = program->threshold_percent;
    s->summary.slower = replay_is_slower(&s->summary.paired.gain, s->summary.threshold_percent);
    set_exit_code(s);
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
    set_exit_code(s);
    return HAL_OK;
}

static enum hal_status isolate(struct replay_session *s)
{
    static struct replay_isolate_result result;
    struct replay_summary *summary = &s->summary;
    HAL_TRY(s->program->benchmark ? benchmark(s) : compile_and_lock(s));
    const struct replay_isolate isolate = {.plan = s->plan,
                                           .device = s->device,
                                           .options = &s->options,
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
    set_exit_code(s);
    return HAL_OK;
}

/* ---- Searching and looking ----------------------------------------------------------------- */

static enum hal_status compile_search(const struct replay_session *s,
                                      const struct replay_bisect *search)
{
    enum hal_status status = compile(s, s->plan, search->candidate, search->candidate_options);
    if (!search->reference && !search->reference_options->remote)
        return status;
    HAL_TRY(hal_add_context(status, "the candidate"));
    status = compile(s, s->plan, search->reference, search->reference_options);
    return hal_add_context(status, "the reference");
}

/* Also the run with other bytes has a device of its own: a run waits, as it ends, for an idle
 * device, and what is left over of the other one would keep a common device busy. */
static enum hal_status open_reference(const struct replay_session *s,
                                      const struct replay_opened *out)
{
    if (s->program->verify_unwritten)
        return hal_add_context(replay_open_chosen(s->summary.device->uri, 0, out),
                               "the second run's device");
    return hal_add_context(
        replay_open_chosen(s->program->against, s->summary.plan->queue_count, out), "--against");
}

/* The reference runs what was recorded. */
static enum hal_status bisect(struct replay_session *s)
{
    static struct replay_bisect_result result;
    const struct replay_program *program = s->program;
    struct replay_summary *summary = &s->summary;
    struct replay_options reference_options = s->options;
    struct hal_device *reference = NULL;
    reference_options.substitute_count = reference_options.buffer_count = 0;
    summary->against = program->against ? program->against : "recorded";
    if (program->verify_unwritten) {
        reference_options = s->options;
        reference_options.fill = (uint8_t)~s->options.fill;
        summary->against = "a run with other bytes in unwritten memory";
    } else
        summary->minimal = program->minimal;
    const bool is_recorded = strcmp(summary->against, "recorded") == 0;
    if (s->sandbox)
        reference_options.remote = is_recorded ? NULL : &s->remotes[1];
    if (!is_recorded)
        HAL_TRY(open_reference(s, &(struct replay_opened){&reference, reference_options.remote}));
    const struct replay_bisect search = {
        .plan = s->plan,
        .candidate = s->device,
        .reference = reference,
        .candidate_options = &s->options,
        .reference_options = &reference_options,
        .unwritten = program->verify_unwritten,
        .narrow = program->bisect || program->verify_unwritten,
        .minimal = program->minimal ? output_path(s, program->repro_output) : NULL,
        .prepared = note_prepared,
        .user = s};
    begin_preparing(s);
    enum hal_status status = compile_search(s, &search);
    if (status == HAL_OK)
        status = lock_sandbox(s);
    if (status == HAL_OK)
        status = replay_bisect_run(&search, &result);
    summary->report = result.report;
    summary->report.abandoned = result.abandoned;
    if (!result.abandoned)
        hal_device_release(reference);
    HAL_TRY(status);
    summary->result = &result;
    summary->runs = 1;
    summary->exit_code = replay_bisect_exit_code(&result, is_recorded);
    return HAL_OK;
}

static enum hal_status look(struct replay_session *s)
{
    static struct replay_inspect_result result;
    static struct replay_dump dumps[REPLAY_MOST_DUMPS];
    const struct replay_program *program = s->program;
    struct replay_summary *summary = &s->summary;
    struct replay_inspect look = program->look;
    for (size_t i = 0; i < look.dump_count; i++) {
        dumps[i] = program->dumps[i];
        dumps[i].path = output_path(s, program->dump_outputs[i]);
    }
    look.plan = s->plan;
    look.device = s->device;
    look.options = &s->options;
    look.loop_runs = program->repeat > 1 ? program->repeat : 100;
    look.dumps = dumps;
    look.prepared = note_prepared;
    look.user = s;
    HAL_TRY(replay_inspect_check(&look));
    HAL_TRY(compile_and_lock(s));
    const enum hal_status status = replay_inspect_run(&look, &result);
    summary->report = result.report;
    HAL_TRY(status);
    summary->look = program;
    summary->inspect_result = &result;
    summary->runs = 1;
    summary->total = replay_times_of(&result.report.total_ns, 1);
    summary->wait = replay_times_of(&result.report.wait_ns, 1);
    summary->has_total = summary->has_wait = true;
    set_exit_code(s);
    /* Who stops at a place, or dumps, asks for no read-back. */
    if (summary->exit_code == REPLAY_EXIT_INCOMPARABLE && !look.is_range &&
        !result.report.compared_reads)
        summary->exit_code = REPLAY_EXIT_SAME;
    return HAL_OK;
}

/* Called before long operations. In a second run after a hang, this is known. */
static void show_target(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (program->json || program->quiet)
        return;
    if (!s->options.mark)
        (void)replay_print_target(stdout, &s->summary);
    fflush(stdout);
    s->summary.target_is_printed = true;
}

/* ---- The child ----------------------------------------------------------------------------- */

static enum hal_status open_sandbox(struct replay_session *s)
{
    static const char *given[REPLAY_MOST_MAPS + TRACE_MAX_BASES];
    const struct replay_program *program = s->program;
    struct replay_sandbox_desc desc = {.trace = program->path,
                                       .given = given,
                                       .files = s->files,
                                       .memory_bytes = program->load.memory_limit_bytes,
                                       .output_count = program->output_count,
                                       .time_ns = program->time_limit_ns,
                                       .deadline_ns = s->deadline_ns,
                                       .inside = replay_serve};
    for (size_t i = 0; i < program->replay.map_count; i++)
        given[desc.given_count++] = program->maps[i].to;
    for (size_t i = 0; i < program->load.base_count; i++)
        given[desc.given_count++] = program->bases[i];
    memcpy(desc.outputs, program->outputs, sizeof desc.outputs);
    if (program->record)
        desc.child_outputs = 1u << program->record_output;
    if (program->replay.pace <= 0) /* which may have the replay do nothing for long */
        desc.silence_ns = replay_timeout_ns(&program->replay);
    return replay_sandbox_open(&desc, &s->sandbox);
}

/* Its plans are this process's; what it reads of them, it reads from the same files. */
static enum hal_status start_child(struct replay_session *s)
{
    const struct replay_plan_info *info = replay_plan_get_info(s->plan);
    const struct replay_plan *const plans[] = {s->plan, s->program->compare ? s->other_plan : NULL};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        if (plans[i])
            count += trace_reader_descriptors(plans[i]->reader, s->files + count,
                                              REPLAY_MOST_FILES - count);
    replay_sandbox_share(s->sandbox, count, 4 * (info->content_bytes + info->read_bytes));
    HAL_TRY(replay_sandbox_start(s->sandbox));
    snprintf(s->missing, sizeof s->missing, "%s", replay_sandbox_missing(s->sandbox));
    s->summary.sandbox = s->missing;
    for (uint32_t i = 0; i < REPLAY_MOST_DEVICES; i++)
        s->remotes[i] = (struct replay_remote){.sandbox = s->sandbox, .number = i};
    s->options.remote = &s->remotes[0];
    return HAL_OK;
}

/* ---- All ----------------------------------------------------------------------------------- */

static enum hal_status load_all(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(load(s));
    s->summary.plan = replay_plan_get_info(s->plan);
    s->summary.load_ns = hal_clock_ns() - begin_ns;
    if (program->compare && !program->compare_substitute)
        return replay_plan_load(program->compare, &program->load, &s->other_plan);
    if (program->what_if)
        return replay_plan_what_if(s->plan, &program->change, &s->summary.what_if_info,
                                   &s->other_plan);
    return HAL_OK;
}

static enum hal_status run_mode(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (program->bisect || program->verify_submissions || program->verify_unwritten)
        return bisect(s);
    if (replay_options_inspect(program))
        return look(s);
    if (program->compare)
        return compare(s);
    if (program->isolate)
        return isolate(s);
    if (program->benchmark)
        return benchmark(s);
    return program->what_if ? what_if(s) : verify(s);
}

/* From the device on. */
static enum hal_status replay(struct replay_session *s)
{
    const struct replay_program *program = s->program;
    if (s->sandbox)
        HAL_TRY(start_child(s));
    HAL_TRY(replay_open_device(s));
    if (!program->compare || program->compare_substitute)
        HAL_TRY(check_names(s));
    show_target(s);
    HAL_TRY(replay_target_check(s->summary.plan, s->summary.device));
    return run_mode(s);
}

/* Once more, to name what hung; whatever hangs is left as it is. */
static enum hal_status look_again(struct replay_session *s)
{
    const uint64_t submission = s->summary.report.hung_submission;
    struct replay_summary *summary = &s->summary;
    const struct replay_summary before = *summary;
    *summary = (struct replay_summary){.path = before.path,
                                       .error = before.error,
                                       .sandbox = before.sandbox,
                                       .plan = before.plan,
                                       .load_ns = before.load_ns,
                                       .what_if_info = before.what_if_info};
    if (s->sandbox)
        replay_player_destroy(s->player);
    s->player = NULL;
    s->device = NULL;
    s->options.mark = true;
    s->options.mark_submission = submission;
    const enum hal_status status = replay(s);
    if (status != HAL_OK)
        return status;
    return hal_fail(HAL_TIMEOUT,
                    "submission #s%" PRIu64
                    " did not end, but it does if its dispatches run one by one",
                    submission);
}

enum hal_status replay_session_run(struct replay_session *s)
{
    s->options = s->program->replay;
    s->is_watched = isatty(STDERR_FILENO);
    s->deadline_ns = hal_deadline_ns(s->program->time_limit_ns);
    enum hal_status status = s->program->trusted ? HAL_OK : open_sandbox(s);
    const bool guarded = status == HAL_OK;
    if (guarded)
        replay_guard_begin(s->program);
    if (status == HAL_OK)
        status = load_all(s);
    if (s->sandbox && guarded) /* from here on the sandbox's parent keeps the limit */
        replay_guard_end();
    if (status == HAL_OK)
        status = replay(s);
    if (status != HAL_OK && s->summary.report.hung)
        status = look_again(s);
    hide_progress(s); /* also of what ended early */
    if (!s->sandbox && guarded)
        replay_guard_end();
    return status;
}

void replay_session_finish(struct replay_session *s)
{
    replay_player_destroy(s->player);
    hal_device_release(s->device);
    replay_plan_destroy(s->other_plan);
    replay_plan_destroy(s->plan);
}
