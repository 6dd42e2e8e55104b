/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions. One waits for its values, runs, is reported as retired, lets go of what it held,
 * and signals; each signal may make further ones ready. Chains of them are walked in a loop. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <inttypes.h>
#include <stdio.h>

/* So few bytes are moved sooner than a worker wakes: the thread that finds them ready does it. */
enum { TINY_TRANSFER_BYTES = 16 * 1024 };

enum cpu_effort { CPU_NOTHING, CPU_AT_ONCE, CPU_BY_WORKERS };

struct cpu_submission {
    struct cpu_run run;
    struct cpu_device *device;
    uint64_t id, sequence;
    struct hal_link ready;
    struct cpu_submission *next_in_flight, *previous_in_flight; /* timeline lock */
    struct cpu_waiter waiter;
    enum cpu_effort effort;
    struct cpu_host_call host;
    struct hal_buffer *buffer; /* of the host call; retained */
    struct cpu_collective collective;
    enum hal_status status; /* of its waits, then of its run */
    char *message;
    int64_t ready_ns;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    size_t wait_count, signal_count, command_count;
    struct cpu_wait *waits;
    struct hal_semaphore **waited; /* retained; a wait forgets its semaphore when it is over */
    struct hal_semaphore_value *signals;
    struct hal_command_buffer **commands;
    struct cpu_program **programs;
};

/* ---- Readiness ---------------------------------------------------------------------------- */

void cpu_submission_fail_locked(struct cpu_submission *submission,
                                const struct cpu_semaphore *semaphore)
{
    submission->status = semaphore->base.failure;
    submission->message = hal_copy_string(semaphore->base.message);
    for (size_t i = 0; i < submission->wait_count; i++)
        cpu_wait_unlink_locked(&submission->waits[i]);
}

/* Work of a lost device has failed, whatever became of it. */
static void share_loss(struct cpu_submission *submission)
{
    struct cpu_device *device = submission->device;
    if (submission->status != HAL_OK || !atomic_load_explicit(&device->lost, memory_order_acquire))
        return;
    submission->status = HAL_DEVICE_LOST;
    submission->message = hal_copy_string(device->lost_message);
}

void cpu_flight_lost_locked(struct cpu_device *device, struct cpu_wakes *wakes)
{
    struct cpu_submission *submission = device->first_in_flight;
    for (; submission; submission = submission->next_in_flight) {
        cpu_run_cancel(&submission->run);
        if (submission->waiter.missing == 0)
            continue;
        submission->waiter.missing = 0;
        for (size_t i = 0; i < submission->wait_count; i++)
            cpu_wait_unlink_locked(&submission->waits[i]);
        cpu_submission_ready_locked(submission, wakes);
    }
}

void cpu_submission_ready_locked(struct cpu_submission *submission, struct cpu_wakes *wakes)
{
    hal_line_join(&wakes->ready, &submission->ready);
}

static struct cpu_submission *take_ready(struct cpu_wakes *wakes)
{
    return hal_line_take(&wakes->ready, offsetof(struct cpu_submission, ready));
}

/* ---- Retiring ----------------------------------------------------------------------------- */

static void report(const struct cpu_submission *submission)
{
    if (!submission->retired)
        return;
    size_t count;
    struct hal_dispatch_time *times = cpu_run_times(&submission->run, &count);
    const struct hal_submission_result result = {
        .status = submission->status,
        .message = submission->message ? submission->message : "",
        .ready_ns = submission->ready_ns,
        .begin_ns = submission->run.begin_ns,
        .end_ns = submission->run.end_ns,
        .busy_ns = submission->run.busy_ns,
        .dispatches = times,
        .dispatch_count = count,
    };
    submission->retired(submission->user, &result);
    free(times);
}

static void signal_all(struct cpu_submission *submission, struct cpu_wakes *wakes)
{
    pthread_mutex_lock(&cpu_timeline_lock);
    for (size_t i = 0; i < submission->signal_count; i++) {
        struct cpu_semaphore *semaphore = to_cpu_semaphore(submission->signals[i].semaphore);
        if (submission->status == HAL_OK)
            cpu_semaphore_raise_locked(semaphore, submission->signals[i].value, wakes);
        else
            cpu_semaphore_fail_locked(semaphore, submission->status,
                                      submission->message ? submission->message : "", wakes);
    }
    pthread_mutex_unlock(&cpu_timeline_lock);
}

static void leave_flight(struct cpu_submission *submission)
{
    struct cpu_device *device = submission->device;
    pthread_mutex_lock(&cpu_timeline_lock);
    if (submission->previous_in_flight)
        submission->previous_in_flight->next_in_flight = submission->next_in_flight;
    else
        device->first_in_flight = submission->next_in_flight;
    if (submission->next_in_flight)
        submission->next_in_flight->previous_in_flight = submission->previous_in_flight;
    else
        device->last_in_flight = submission->previous_in_flight;
    if (device->idle_waiters)
        pthread_cond_broadcast(&device->retired);
    pthread_mutex_unlock(&cpu_timeline_lock);
}

static void release_commands(struct cpu_submission *submission)
{
    if (submission->buffer)
        hal_object_release(&submission->buffer->object);
    if (submission->collective.device)
        cpu_collective_release(&submission->collective);
    for (size_t i = 0; i < submission->command_count; i++)
        hal_object_release(&submission->commands[i]->object);
    for (size_t i = 0; i < submission->wait_count; i++)
        hal_object_release(&submission->waited[i]->object);
}

/* Command buffers are let go of before somebody can learn that they have run, so that the
 * application's release is the last one. The flight ends when nothing is held any more: then a
 * device that is idle can be destroyed. */
static void retire(struct cpu_submission *submission, struct cpu_wakes *wakes)
{
    share_loss(submission);
    report(submission);
    release_commands(submission);
    signal_all(submission, wakes);
    cpu_wake_threads(wakes);
    wakes->word_count = 0;
    for (size_t i = 0; i < submission->signal_count; i++)
        hal_object_release(&submission->signals[i].semaphore->object);
    leave_flight(submission);
    cpu_run_release(&submission->run);
}

static struct cpu_submission *submission_of(struct cpu_run *run)
{
    return (struct cpu_submission *)run;
}

static void free_submission(struct cpu_run *run)
{
    struct cpu_submission *submission = submission_of(run);
    free(submission->message);
    cpu_run_finish(run);
    free(submission);
}

static void run_done(struct cpu_run *run)
{
    struct cpu_submission *submission = submission_of(run);
    struct cpu_wakes wakes = {0};
    if (run->status != HAL_OK) {
        submission->status = run->status;
        submission->message = run->message;
        run->message = NULL;
    }
    retire(submission, &wakes);
    cpu_queue_go_on(&wakes);
}

static void host_call_done(struct cpu_host_call *call, enum hal_status status)
{
    struct cpu_submission *submission =
        (struct cpu_submission *)(void *)((uint8_t *)call - offsetof(struct cpu_submission, host));
    struct cpu_wakes wakes = {0};
    submission->status = status;
    if (status != HAL_OK)
        submission->message = hal_copy_string(hal_message());
    submission->run.begin_ns = call->begin_ns;
    submission->run.end_ns = call->end_ns;
    submission->run.busy_ns = call->end_ns - call->begin_ns;
    retire(submission, &wakes);
    cpu_queue_go_on(&wakes);
}

/* The submission's own failure, or that of another rank. */
static void collective_done(struct cpu_collective *collective, enum hal_status status,
                            const char *message, const struct cpu_moved *moved)
{
    struct cpu_submission *submission =
        (struct cpu_submission *)(void *)((uint8_t *)collective -
                                          offsetof(struct cpu_submission, collective));
    struct cpu_wakes wakes = {0};
    if (submission->status == HAL_OK && status != HAL_OK)
        submission->message = hal_copy_string(message);
    if (submission->status == HAL_OK)
        submission->status = status;
    submission->run.begin_ns = moved->arrived_ns;
    submission->run.end_ns = moved->end_ns;
    submission->run.busy_ns = moved->begin_ns ? moved->end_ns - moved->begin_ns : 0;
    retire(submission, &wakes);
    cpu_queue_go_on(&wakes);
}

/* ---- Starting ----------------------------------------------------------------------------- */

static void no_next(struct cpu_run *run)
{
    (void)run;
}

static bool has_commands(const struct cpu_program *program)
{
    return program->lanes[CPU_TRANSFERS].op_count || program->lanes[CPU_DISPATCHES].op_count;
}

/* What its programs ask for: workers, the thread that finds them ready, or nothing. */
static enum cpu_effort measure(const struct cpu_run *run)
{
    uint64_t bytes = 0;
    enum cpu_effort effort = CPU_NOTHING;
    for (size_t i = 0; i < run->program_count; i++) {
        const struct cpu_program *program = run->programs[i];
        bytes += program->transfer_bytes;
        if (program->lanes[CPU_DISPATCHES].op_count || bytes > TINY_TRANSFER_BYTES)
            return CPU_BY_WORKERS;
        if (has_commands(program))
            effort = CPU_AT_ONCE;
    }
    return effort;
}

static void lose_device(const struct cpu_submission *submission, struct cpu_wakes *wakes)
{
    char message[128];
    snprintf(message, sizeof message,
             "the device was lost at submission %" PRIu64 ", as it was told to", submission->id);
    cpu_device_lose(submission->device, message, wakes);
}

/* Runs the submission here and retires it, or hands it to the workers. */
static void start(struct cpu_submission *submission, struct cpu_wakes *wakes)
{
    struct cpu_run *run = &submission->run;
    if (submission->status == HAL_OK && cpu_injection_submission(&submission->device->injection))
        lose_device(submission, wakes);
    share_loss(submission);
    const enum cpu_effort effort = submission->status == HAL_OK ? submission->effort : CPU_NOTHING;
    submission->ready_ns = hal_clock_ns();
    if (submission->collective.device) {
        atomic_init(&run->references, 1);
        cpu_collective_start(&submission->collective, submission->status,
                             submission->message ? submission->message : "");
        return;
    }
    if (submission->status == HAL_OK && submission->host.host.run) {
        atomic_init(&run->references, 1);
        cpu_host_start(submission->device->host, &submission->host);
        return;
    }
    if (effort == CPU_BY_WORKERS) {
        cpu_pool_start(submission->device->pool, run);
        return;
    }
    if (effort == CPU_AT_ONCE) {
        run->done = no_next;
        cpu_run_here(run);
    } else {
        atomic_init(&run->references, 1);
        run->begin_ns = run->end_ns = submission->ready_ns;
    }
    retire(submission, wakes);
}

void cpu_queue_go_on(struct cpu_wakes *wakes)
{
    cpu_wake_threads(wakes);
    wakes->word_count = 0;
    for (struct cpu_submission *submission; (submission = take_ready(wakes)) != NULL;)
        start(submission, wakes);
}

/* ---- Submitting --------------------------------------------------------------------------- */

static enum hal_status create_submission(struct cpu_device *device,
                                         const struct hal_submission *source,
                                         struct cpu_submission **out_submission)
{
    const size_t waits = source->wait_count, signals = source->signal_count;
    const size_t commands = source->command_count;
    struct cpu_submission *submission = hal_alloc(
        1, sizeof *submission + waits * (sizeof(struct cpu_wait) + sizeof(void *)) +
               signals * sizeof(struct hal_semaphore_value) + commands * 2 * sizeof(void *));
    if (!submission)
        return hal_fail(HAL_NO_MEMORY, "no memory for submission %" PRIu64, source->id);
    submission->device = device;
    submission->id = source->id;
    submission->waiter.submission = submission;
    submission->retired = source->retired;
    submission->user = source->user;
    submission->wait_count = waits;
    submission->signal_count = signals;
    submission->command_count = commands;
    submission->host = (struct cpu_host_call){
        .host = source->host, .bytes = source->bytes, .done = host_call_done};
    if (source->host.run) {
        submission->buffer = source->buffer;
        submission->host.data = to_cpu_buffer(source->buffer)->device_view + source->offset;
    }
    if (source->collective) {
        submission->collective.done = collective_done;
        cpu_collective_init(&submission->collective, device, source->collective);
    }
    submission->waits = (struct cpu_wait *)(submission + 1);
    submission->signals = (struct hal_semaphore_value *)(submission->waits + waits);
    submission->waited = (struct hal_semaphore **)(submission->signals + signals);
    submission->commands = (struct hal_command_buffer **)(submission->waited + waits);
    submission->programs = (struct cpu_program **)(submission->commands + commands);
    submission->run.programs = submission->programs;
    submission->run.program_count = commands;
    submission->run.is_timed = source->time_dispatches;
    submission->run.signal = signals ? source->signals[0] : (struct hal_semaphore_value){0};
    submission->run.done = run_done;
    submission->run.free = free_submission;
    *out_submission = submission;
    return HAL_OK;
}

static void retain_all(struct cpu_submission *submission, const struct hal_submission *source)
{
    if (submission->buffer)
        hal_object_retain(&submission->buffer->object);
    if (submission->collective.device)
        cpu_collective_retain(&submission->collective);
    for (size_t i = 0; i < source->wait_count; i++) {
        submission->waited[i] = source->waits[i].semaphore;
        hal_object_retain(&submission->waited[i]->object);
    }
    for (size_t i = 0; i < source->signal_count; i++) {
        submission->signals[i] = source->signals[i];
        hal_object_retain(&submission->signals[i].semaphore->object);
    }
    for (size_t i = 0; i < source->command_count; i++) {
        submission->commands[i] = source->commands[i];
        submission->programs[i] = source->commands[i]->driver_data;
        hal_object_retain(&submission->commands[i]->object);
    }
}

/* What a lost device will not signal fails, so that nobody waits for it. */
static enum hal_status check_lost_locked(const struct cpu_device *device,
                                         const struct hal_submission *source,
                                         struct cpu_wakes *wakes)
{
    const enum hal_status status = cpu_device_check(device);
    for (size_t i = 0; status != HAL_OK && i < source->signal_count; i++)
        cpu_semaphore_fail_locked(to_cpu_semaphore(source->signals[i].semaphore), status,
                                  device->lost_message, wakes);
    return status;
}

static void enter_flight_locked(struct cpu_device *device, struct cpu_submission *submission)
{
    submission->sequence = device->next_sequence++;
    submission->previous_in_flight = device->last_in_flight;
    if (device->last_in_flight)
        device->last_in_flight->next_in_flight = submission;
    else
        device->first_in_flight = submission;
    device->last_in_flight = submission;
}

static void register_waits_locked(struct cpu_submission *submission,
                                  const struct hal_submission *source, struct cpu_wakes *wakes)
{
    for (size_t i = 0; i < source->wait_count; i++) {
        struct cpu_semaphore *semaphore = to_cpu_semaphore(source->waits[i].semaphore);
        const uint64_t now = hal_timeline_value(&semaphore->base);
        if (now == UINT64_MAX) {
            submission->waiter.missing = 0;
            cpu_submission_fail_locked(submission, semaphore);
            break;
        }
        submission->waits[i].value = source->waits[i].value;
        submission->waits[i].waiter = &submission->waiter;
        if (now >= source->waits[i].value)
            continue;
        submission->waits[i].semaphore = semaphore;
        cpu_wait_link_locked(&submission->waits[i]);
        submission->waiter.missing++;
    }
    if (submission->waiter.missing == 0)
        cpu_submission_ready_locked(submission, wakes);
}

enum hal_status cpu_queue_submit(struct hal_driver_device *self,
                                 const struct hal_submission *source)
{
    struct cpu_device *device = to_cpu_device(self);
    struct cpu_submission *submission = NULL;
    struct cpu_wakes wakes = {0};
    HAL_TRY(create_submission(device, source, &submission));
    retain_all(submission, source);
    submission->effort = measure(&submission->run);
    enum hal_status status =
        submission->effort == CPU_BY_WORKERS ? cpu_run_prepare(&submission->run) : HAL_OK;
    pthread_mutex_lock(&cpu_timeline_lock);
    if (status == HAL_OK)
        status = check_lost_locked(device, source, &wakes);
    if (status == HAL_OK)
        status = hal_timeline_check_submission(source);
    if (status == HAL_OK) {
        enter_flight_locked(device, submission);
        register_waits_locked(submission, source, &wakes);
    }
    pthread_mutex_unlock(&cpu_timeline_lock);
    if (status != HAL_OK) {
        release_commands(submission);
        for (size_t i = 0; i < submission->signal_count; i++)
            hal_object_release(&submission->signals[i].semaphore->object);
        free_submission(&submission->run);
    }
    cpu_queue_go_on(&wakes); /* may leave other messages */
    return status == HAL_DEVICE_LOST
               ? hal_add_context(cpu_device_check(device), "submission %" PRIu64, source->id)
               : status;
}

/* ---- Idle --------------------------------------------------------------------------------- */

static enum hal_status fail_busy_locked(const struct cpu_device *device)
{
    const struct cpu_submission *submission = device->first_in_flight;
    for (; submission; submission = submission->next_in_flight) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            const struct cpu_wait *wait = &submission->waits[i];
            if (wait->semaphore)
                return hal_timeline_fail_busy(submission->id, &wait->semaphore->base, wait->value);
        }
        char meeting[512];
        if (submission->collective.device &&
            hal_meeting_describe(&submission->collective.work, meeting, sizeof meeting))
            return hal_fail(HAL_TIMEOUT, "submission %" PRIu64 " %s", submission->id, meeting);
    }
    return hal_timeline_fail_busy(device->first_in_flight->id, NULL, 0);
}

enum hal_status cpu_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct cpu_device *device = to_cpu_device(self);
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool late = false;
    pthread_mutex_lock(&cpu_timeline_lock);
    const uint64_t before = device->next_sequence;
    device->idle_waiters++;
    while (device->first_in_flight && device->first_in_flight->sequence < before) {
        if (late || device->interrupted) {
            status = fail_busy_locked(device);
            break;
        }
        late = !hal_condition_wait(&device->retired, &cpu_timeline_lock, deadline_ns);
    }
    device->idle_waiters--;
    pthread_mutex_unlock(&cpu_timeline_lock);
    return status == HAL_OK ? cpu_device_check(device) : status;
}
