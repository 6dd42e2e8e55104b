/* SPDX-License-Identifier: Apache-2.0 */
/* What starting a submission is: its commands run on the thread that finds them ready or on the
 * workers, a collective meets those of other ranks. */
#include "hal/drivers/cpu/cpu.h"

#include <stdlib.h>

/* So few bytes are moved sooner than a worker wakes: the thread that finds them ready does it. */
enum { TINY_TRANSFER_BYTES = 16 * 1024 };

enum cpu_effort { CPU_NOTHING, CPU_AT_ONCE, CPU_BY_WORKERS };

struct cpu_submission {
    struct hal_work work;
    struct cpu_run run;
    enum cpu_effort effort;
    struct cpu_collective collective;
};

static struct cpu_submission *to_submission(struct hal_work *work)
{
    return (struct cpu_submission *)work;
}

static struct cpu_submission *of_run(struct cpu_run *run)
{
    return (struct cpu_submission *)(void *)((uint8_t *)run - offsetof(struct cpu_submission, run));
}

/* ---- Ends --------------------------------------------------------------------------------- */

static void take_result(struct cpu_submission *submission)
{
    struct cpu_run *run = &submission->run;
    struct hal_work *work = &submission->work;
    work->begin_ns = run->begin_ns;
    work->end_ns = run->end_ns;
    work->busy_ns = run->busy_ns;
    work->times = cpu_run_times(run, &work->time_count);
    if (run->status != HAL_OK)
        hal_work_fail(work, run->status, run->message);
}

static void run_done(struct cpu_run *run)
{
    struct cpu_submission *submission = of_run(run);
    take_result(submission);
    hal_work_end(&submission->work);
}

static void no_next(struct cpu_run *run)
{
    (void)run;
}

/* The submission's own failure, or that of another rank. */
static void collective_done(struct cpu_collective *collective, enum hal_status status,
                            const char *message, const struct cpu_moved *moved)
{
    struct cpu_submission *submission =
        (struct cpu_submission *)(void *)((uint8_t *)collective -
                                          offsetof(struct cpu_submission, collective));
    struct hal_work *work = &submission->work;
    if (status != HAL_OK)
        hal_work_fail(work, status, message);
    work->begin_ns = moved->arrived_ns;
    work->end_ns = moved->end_ns;
    work->busy_ns = moved->begin_ns ? moved->end_ns - moved->begin_ns : 0;
    hal_work_end(work);
}

/* ---- Starting ----------------------------------------------------------------------------- */

static bool has_commands(const struct cpu_program *program)
{
    return program->lists[CPU_TRANSFERS].op_count || program->lists[CPU_DISPATCHES].op_count;
}

/* What its programs ask for: workers, the thread that finds them ready, or nothing. */
static enum cpu_effort measure(const struct cpu_run *run)
{
    uint64_t bytes = 0;
    enum cpu_effort effort = CPU_NOTHING;
    for (size_t i = 0; i < run->program_count; i++) {
        const struct cpu_program *program = run->programs[i];
        bytes += program->transfer_bytes;
        if (program->lists[CPU_DISPATCHES].op_count || bytes > TINY_TRANSFER_BYTES)
            return CPU_BY_WORKERS;
        if (has_commands(program))
            effort = CPU_AT_ONCE;
    }
    return effort;
}

/* Runs the submission here, or hands it to the workers. */
static bool start(struct hal_work *work, struct hal_changes *changes)
{
    (void)changes;
    struct cpu_submission *submission = to_submission(work);
    struct cpu_run *run = &submission->run;
    if (submission->collective.device) {
        cpu_collective_start(&submission->collective, work->status,
                             work->message ? work->message : "");
        return false;
    }
    if (work->status != HAL_OK || submission->effort == CPU_NOTHING)
        return true;
    if (submission->effort == CPU_BY_WORKERS) {
        cpu_pool_start(((struct cpu_device *)work->engine)->pool, run);
        return false;
    }
    run->done = no_next;
    cpu_run_here(run);
    take_result(submission);
    return true;
}

static enum hal_status call(struct hal_work *work)
{
    uint8_t *data = to_cpu_buffer(work->buffer)->device_view + work->offset;
    return work->host.run(work->host.user, data, work->bytes);
}

static void cancel(struct hal_work *work)
{
    cpu_run_cancel(&to_submission(work)->run);
}

/* ---- Life --------------------------------------------------------------------------------- */

static void free_submission(struct cpu_run *run)
{
    struct cpu_submission *submission = of_run(run);
    cpu_run_finish(run);
    free(submission);
}

static enum hal_status prepare(struct hal_work *work, const struct hal_submission *source)
{
    struct cpu_submission *submission = to_submission(work);
    struct cpu_run *run = &submission->run;
    struct cpu_program **programs = work->extra;
    for (size_t i = 0; i < work->command_count; i++)
        programs[i] = work->commands[i]->driver_data;
    run->programs = programs;
    run->program_count = work->command_count;
    run->is_timed = source->time_dispatches;
    if (source->signal_count)
        run->signal = source->signals[0];
    run->done = run_done;
    run->free = free_submission;
    atomic_init(&run->references, 1);
    if (source->collective) {
        submission->collective.done = collective_done;
        cpu_collective_init(&submission->collective, (struct cpu_device *)work->engine,
                            source->collective);
        work->collective = &submission->collective.work;
    }
    submission->effort = measure(run);
    return submission->effort == CPU_BY_WORKERS ? cpu_run_prepare(run) : HAL_OK;
}

static void release(struct hal_work *work, struct hal_changes *changes)
{
    (void)changes;
    if (to_submission(work)->collective.device)
        cpu_collective_release(&to_submission(work)->collective);
}

static void free_work(struct hal_work *work)
{
    cpu_run_release(&to_submission(work)->run);
}

const struct hal_engine_ops cpu_engine_ops = {
    .name = "cpu",
    .submission_bytes = sizeof(struct cpu_submission),
    .command_bytes = sizeof(struct cpu_program *),
    .prepare = prepare,
    .start = start,
    .call = call,
    .cancel = cancel,
    .release = release,
    .free = free_work,
};
