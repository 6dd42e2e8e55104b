/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions. A queue of Metal is a strict line: a wait that nobody has promised to end would
 * block everything behind it, even the work that ends it. So a submission is committed when each of
 * its waits is over or will be ended by work that is committed already. One thread does that, for
 * it may block when a queue of Metal is full. Committing takes three steps: a command buffer that
 * waits for events, one per command buffer of the batch, one that signals events.
 *
 * A submission retires when its command buffers have completed and the host has seen its waits end:
 * then it is known whether all went well, and its semaphores rise, or fail. */
#include "hal/base/mem.h"
#import "hal/metal/metal.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

struct metal_submission {
    struct metal_device *device;
    uint64_t id, sequence;
    uint32_t queue;
    struct metal_submission *next_ready, *next_retiring;
    struct metal_submission *next_in_flight, *previous_in_flight;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    /* Device lock. */
    size_t unpromised; /* waits that nobody has promised to end: it cannot be committed */
    size_t unresolved; /* what keeps it from retiring: waits, command buffers, the commit itself */
    bool is_ready;     /* was handed to the submitting thread */
    enum hal_status status;
    char *message;
    int64_t ready_ns, begin_ns, end_ns, busy_ns;

    size_t wait_count, signal_count, command_count;
    struct metal_wait *waits; /* their semaphores are retained */
    struct hal_semaphore_value *signals;
    struct hal_command_buffer **commands;
    bool *pending; /* by signal: the semaphore counts it */
};

/* ---- Readiness ---------------------------------------------------------------------------- */

static void make_ready_locked(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    if (submission->is_ready)
        return;
    submission->is_ready = true;
    submission->ready_ns = hal_clock_ns();
    submission->next_ready = NULL;
    if (device->last_ready)
        device->last_ready->next_ready = submission;
    else
        device->first_ready = submission;
    device->last_ready = submission;
    pthread_cond_signal(&device->work);
}

/* One thing less keeps the submission from retiring. */
static void resolve_locked(struct metal_submission *submission)
{
    if (--submission->unresolved > 0)
        return;
    submission->next_retiring = submission->device->retiring;
    submission->device->retiring = submission;
}

static void set_failure_locked(struct metal_submission *submission, enum hal_status status,
                               const char *message)
{
    if (submission->status != HAL_OK)
        return;
    submission->status = status;
    submission->message = hal_copy_string(message);
}

static void promised_locked(struct metal_submission *submission)
{
    if (--submission->unpromised == 0)
        make_ready_locked(submission);
}

void metal_submission_promised_locked(struct metal_wait *wait)
{
    promised_locked(wait->submission);
}

void metal_submission_reached_locked(struct metal_wait *wait)
{
    if (!wait->promised)
        promised_locked(wait->submission);
    else
        wait->submission->ready_ns = hal_clock_ns();
    resolve_locked(wait->submission);
}

/* The others do not matter any more when it has not been committed; when it has, it ends late
 * enough for all of them. */
void metal_submission_refused_locked(struct metal_wait *wait)
{
    struct metal_submission *submission = wait->submission;
    set_failure_locked(submission, wait->semaphore->failure, wait->semaphore->message);
    if (!submission->is_ready) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            if (!submission->waits[i].linked)
                continue;
            metal_wait_unlink_locked(&submission->waits[i]);
            submission->unresolved--;
        }
        make_ready_locked(submission);
    }
    resolve_locked(submission);
}

/* ---- Retiring ----------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void report(const struct metal_submission *submission)
{
    if (!submission->retired)
        return;
    const bool ran = submission->begin_ns != 0;
    const int64_t begin_ns = ran ? submission->begin_ns : submission->ready_ns;
    const struct hal_submission_result result = {
        .status = submission->status,
        .message = submission->message ? submission->message : "",
        .ready_ns = submission->ready_ns < begin_ns ? submission->ready_ns : begin_ns,
        .begin_ns = begin_ns,
        .end_ns = ran ? submission->end_ns : begin_ns,
        .busy_ns = submission->busy_ns,
    };
    submission->retired(submission->user, &result);
}

static void release_commands(struct metal_submission *submission)
{
    for (size_t i = 0; i < submission->command_count; i++)
        hal_object_release(&submission->commands[i]->object);
    for (size_t i = 0; i < submission->wait_count; i++)
        hal_object_release(&submission->waits[i].semaphore->base.object);
}

static void release_signals(struct metal_submission *submission)
{
    for (size_t i = 0; i < submission->signal_count; i++)
        hal_object_release(&submission->signals[i].semaphore->object);
}

static void signal_all_locked(struct metal_submission *submission)
{
    for (size_t i = 0; i < submission->signal_count; i++) {
        struct metal_semaphore *semaphore = to_metal_semaphore(submission->signals[i].semaphore);
        if (submission->pending[i])
            semaphore->pending--;
        if (submission->status == HAL_OK)
            metal_semaphore_raise_locked(semaphore, submission->signals[i].value);
        else
            metal_semaphore_fail_locked(semaphore, submission->status,
                                        submission->message ? submission->message : "");
    }
    pthread_cond_broadcast(&submission->device->changed);
}

static struct metal_submission *take_retiring_locked(struct metal_device *device)
{
    struct metal_submission *list = device->retiring;
    device->retiring = NULL;
    return list;
}

static void leave_flight(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    pthread_mutex_lock(&device->lock);
    if (submission->previous_in_flight)
        submission->previous_in_flight->next_in_flight = submission->next_in_flight;
    else
        device->first_in_flight = submission->next_in_flight;
    if (submission->next_in_flight)
        submission->next_in_flight->previous_in_flight = submission->previous_in_flight;
    else
        device->last_in_flight = submission->previous_in_flight;
    free(submission->message);
    free(submission);
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

/* Command buffers are let go of before somebody can learn that they have run, so that the
 * application's release is the last one. The flight ends when nothing is held any more: then a
 * device that is idle can be destroyed, so that nothing of it is looked at after that. Returns
 * what retires as a consequence. */
static struct metal_submission *retire(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    report(submission);
    release_commands(submission);
    pthread_mutex_lock(&device->lock);
    signal_all_locked(submission);
    struct metal_submission *more = take_retiring_locked(device);
    pthread_mutex_unlock(&device->lock);
    release_signals(submission);
    leave_flight(submission);
    return more;
}

static struct metal_submission *join(struct metal_submission *list, struct metal_submission *more)
{
    while (more) {
        struct metal_submission *next = more->next_retiring;
        more->next_retiring = list;
        list = more;
        more = next;
    }
    return list;
}

void metal_queue_unlock(struct metal_device *device)
{
    struct metal_submission *list = take_retiring_locked(device);
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    while (list) {
        struct metal_submission *submission = list;
        list = submission->next_retiring;
        list = join(list, retire(submission));
    }
}

/* ---- Times -------------------------------------------------------------------------------- */

/* Metal gives seconds of the clock that stands still while the machine sleeps; ours need not. */
static int64_t host_ns(CFTimeInterval seconds)
{
    const int64_t ns = (int64_t)(seconds * 1e9);
#ifdef __APPLE__
    return ns + (hal_clock_ns() - (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW));
#else
    return ns;
#endif
}

/* Command buffers of a batch come in order; the next may begin before the last has ended. */
static void add_time_locked(struct metal_submission *submission, id<MTLCommandBuffer> part)
{
    if (part.GPUEndTime <= 0 || part.GPUEndTime < part.GPUStartTime)
        return;
    const int64_t begin_ns = host_ns(part.GPUStartTime), end_ns = host_ns(part.GPUEndTime);
    const int64_t new_ns = end_ns - larger(begin_ns, submission->end_ns);
    if (submission->begin_ns == 0 || begin_ns < submission->begin_ns)
        submission->begin_ns = begin_ns;
    submission->busy_ns += new_ns > 0 ? new_ns : 0;
    submission->end_ns = larger(submission->end_ns, end_ns);
}

/* ---- Completion --------------------------------------------------------------------------- */

static enum hal_status status_of_error(NSError *error)
{
    switch ((MTLCommandBufferError)error.code) {
    case MTLCommandBufferErrorOutOfMemory: return HAL_NO_MEMORY;
    case MTLCommandBufferErrorDeviceRemoved:
    case MTLCommandBufferErrorAccessRevoked: return HAL_DEVICE_LOST;
    case MTLCommandBufferErrorNone:
    case MTLCommandBufferErrorInternal:
    case MTLCommandBufferErrorTimeout:
    case MTLCommandBufferErrorPageFault:
    case MTLCommandBufferErrorNotPermitted:
    case MTLCommandBufferErrorInvalidResource:
    case MTLCommandBufferErrorMemoryless:
    case MTLCommandBufferErrorStackOverflow: break;
    }
    return HAL_FAILED;
}

enum part { PART_WAIT, PART_COMMANDS, PART_SIGNAL };

static void part_completed(struct metal_submission *submission, enum part which,
                           id<MTLCommandBuffer> part)
{
    static const char *const names[] = {"the wait for its semaphores", "its commands",
                                        "the signals of its semaphores"};
    struct metal_device *device = submission->device;
    pthread_mutex_lock(&device->lock);
    if (which == PART_COMMANDS)
        add_time_locked(submission, part);
    if (part.status != MTLCommandBufferStatusCompleted) {
        char message[1024];
        snprintf(message, sizeof message, "submission %" PRIu64 ": %s failed on the device%s%s: %s",
                 submission->id, names[which], part.label.length ? ", " : "",
                 part.label.length ? part.label.UTF8String : "", metal_error_text(part.error));
        set_failure_locked(submission, status_of_error(part.error), message);
    }
    resolve_locked(submission);
    metal_queue_unlock(device);
}

/* ---- Committing --------------------------------------------------------------------------- */

/* The submission keeps everything that the command buffer names, so Metal need not. */
static id<MTLCommandBuffer> begin_part(struct metal_submission *submission)
{
    MTLCommandBufferDescriptor *descriptor = [[MTLCommandBufferDescriptor alloc] init];
    descriptor.retainedReferences = NO;
    descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
    id<MTLCommandQueue> queue = submission->device->queues[submission->queue].queue;
    id<MTLCommandBuffer> part = [queue commandBufferWithDescriptor:descriptor];
    [descriptor release];
    return part;
}

static void commit_part(struct metal_submission *submission, enum part which,
                        id<MTLCommandBuffer> part)
{
    struct metal_device *device = submission->device;
    pthread_mutex_lock(&device->lock);
    submission->unresolved++;
    pthread_mutex_unlock(&device->lock);
    [part addCompletedHandler:^(id<MTLCommandBuffer> completed) {
      @autoreleasepool {
          part_completed(submission, which, completed);
      }
    }];
    [part commit];
}

static enum hal_status no_command_buffer(const struct metal_submission *submission)
{
    return hal_fail(HAL_NO_MEMORY, "submission %" PRIu64 ": Metal has no command buffer for it",
                    submission->id);
}

static bool is_refused(struct metal_submission *submission)
{
    pthread_mutex_lock(&submission->device->lock);
    const bool refused = submission->status != HAL_OK;
    pthread_mutex_unlock(&submission->device->lock);
    return refused;
}

static bool is_awaited(struct metal_device *device, const struct metal_wait *wait)
{
    pthread_mutex_lock(&device->lock);
    const bool linked = wait->linked;
    pthread_mutex_unlock(&device->lock);
    return linked;
}

/* Waits that the host has not seen end stand in the line of the device, behind their signals. */
static enum hal_status commit_waits(struct metal_submission *submission)
{
    id<MTLCommandBuffer> part = nil;
    for (size_t i = 0; i < submission->wait_count; i++) {
        const struct metal_wait *wait = &submission->waits[i];
        if (!is_awaited(submission->device, wait))
            continue;
        if (!part)
            part = begin_part(submission);
        if (!part)
            return no_command_buffer(submission);
        [part encodeWaitForEvent:wait->semaphore->event value:wait->value];
    }
    if (part)
        commit_part(submission, PART_WAIT, part);
    return HAL_OK;
}

static void mark_stale(const struct metal_program *program)
{
    for (size_t i = 0; i < program->managed_count; i++)
        atomic_store(&program->managed[i]->host_stale, true);
}

static enum hal_status commit_commands(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    bool follows = false;
    for (size_t i = 0; i < submission->command_count; i++) {
        @autoreleasepool {
            const struct metal_program *program = submission->commands[i]->driver_data;
            if (program->empty)
                continue;
            id<MTLCommandBuffer> part = begin_part(submission);
            if (!part)
                return no_command_buffer(submission);
            part.label = program->label;
            mark_stale(program);
            const bool encoded = metal_encode(device, program, part,
                                              device->queues[submission->queue].fence, follows);
            follows = true;
            commit_part(submission, PART_COMMANDS, part);
            if (!encoded)
                return hal_fail(HAL_NO_MEMORY,
                                "submission %" PRIu64 ": Metal has no encoder for %s",
                                submission->id, program->label.UTF8String);
        }
    }
    return HAL_OK;
}

static enum hal_status commit_signals(struct metal_submission *submission)
{
    if (submission->signal_count == 0)
        return HAL_OK;
    id<MTLCommandBuffer> part = begin_part(submission);
    if (!part)
        return no_command_buffer(submission);
    for (size_t i = 0; i < submission->signal_count; i++) {
        const struct hal_semaphore_value *signal = &submission->signals[i];
        [part encodeSignalEvent:to_metal_semaphore(signal->semaphore)->event value:signal->value];
    }
    struct metal_device *device = submission->device;
    pthread_mutex_lock(&device->lock);
    for (size_t i = 0; i < submission->signal_count; i++) {
        to_metal_semaphore(submission->signals[i].semaphore)->pending++;
        submission->pending[i] = true;
    }
    pthread_mutex_unlock(&device->lock);
    commit_part(submission, PART_SIGNAL, part);
    return HAL_OK;
}

/* What was refused before its commands were committed does not run. */
static void commit(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    enum hal_status status = is_refused(submission) ? HAL_OK : commit_waits(submission);
    if (status == HAL_OK && !is_refused(submission))
        status = commit_commands(submission);
    if (status == HAL_OK && !is_refused(submission))
        status = commit_signals(submission);
    pthread_mutex_lock(&device->lock);
    if (status != HAL_OK)
        set_failure_locked(submission, status, hal_message());
    for (size_t i = 0; i < submission->signal_count; i++) {
        if (submission->pending[i])
            metal_semaphore_promise_locked(to_metal_semaphore(submission->signals[i].semaphore),
                                           submission->signals[i].value);
    }
    resolve_locked(submission);
    metal_queue_unlock(device);
}

static void *run_submitter(void *argument)
{
    struct metal_device *device = argument;
    pthread_mutex_lock(&device->lock);
    for (;;) {
        struct metal_submission *submission = device->first_ready;
        if (!submission && device->stopping)
            break;
        if (!submission) {
            hal_condition_wait(&device->work, &device->lock, HAL_FOREVER);
            continue;
        }
        device->first_ready = submission->next_ready;
        if (!device->first_ready)
            device->last_ready = NULL;
        pthread_mutex_unlock(&device->lock);
        @autoreleasepool {
            commit(submission);
        }
        pthread_mutex_lock(&device->lock);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

/* ---- Submitting --------------------------------------------------------------------------- */

static struct metal_submission *create_submission(struct metal_device *device,
                                                  const struct hal_submission *source)
{
    const size_t waits = source->wait_count, signals = source->signal_count;
    const size_t commands = source->command_count;
    struct metal_submission *submission =
        hal_alloc(1, sizeof *submission + waits * sizeof(struct metal_wait) +
                         signals * (sizeof(struct hal_semaphore_value) + sizeof(bool)) +
                         commands * sizeof(void *));
    if (!submission)
        return NULL;
    submission->device = device;
    submission->id = source->id;
    submission->queue = source->queue;
    submission->retired = source->retired;
    submission->user = source->user;
    submission->wait_count = waits;
    submission->signal_count = signals;
    submission->command_count = commands;
    submission->unresolved = 1; /* the commit */
    submission->waits = (struct metal_wait *)(submission + 1);
    submission->signals = (struct hal_semaphore_value *)(submission->waits + waits);
    submission->commands = (struct hal_command_buffer **)(submission->signals + signals);
    submission->pending = (bool *)(submission->commands + commands);
    return submission;
}

static void retain_all(struct metal_submission *submission, const struct hal_submission *source)
{
    for (size_t i = 0; i < source->wait_count; i++) {
        submission->waits[i].semaphore = to_metal_semaphore(source->waits[i].semaphore);
        submission->waits[i].value = source->waits[i].value;
        submission->waits[i].submission = submission;
        hal_object_retain(&source->waits[i].semaphore->object);
    }
    for (size_t i = 0; i < source->signal_count; i++) {
        submission->signals[i] = source->signals[i];
        hal_object_retain(&source->signals[i].semaphore->object);
    }
    for (size_t i = 0; i < source->command_count; i++) {
        submission->commands[i] = source->commands[i];
        hal_object_retain(&source->commands[i]->object);
    }
}

/* A value that is reached already can never be signalled again. */
static enum hal_status check_signals_locked(const struct hal_submission *source)
{
    for (size_t i = 0; i < source->signal_count; i++) {
        const struct metal_semaphore *semaphore = to_metal_semaphore(source->signals[i].semaphore);
        const uint64_t now = atomic_load_explicit(&semaphore->value, memory_order_relaxed);
        char name[HAL_OBJECT_NAME_BYTES];
        if (now != UINT64_MAX && source->signals[i].value <= now)
            return hal_fail(
                HAL_INVALID, "%s has reached %" PRIu64 ": a submission cannot signal %" PRIu64,
                hal_object_name(&semaphore->base.object, name), now, source->signals[i].value);
    }
    return HAL_OK;
}

static void enter_flight_locked(struct metal_device *device, struct metal_submission *submission)
{
    submission->sequence = device->next_sequence++;
    submission->previous_in_flight = device->last_in_flight;
    if (device->last_in_flight)
        device->last_in_flight->next_in_flight = submission;
    else
        device->first_in_flight = submission;
    device->last_in_flight = submission;
}

static void register_waits_locked(struct metal_submission *submission)
{
    for (size_t i = 0; i < submission->wait_count; i++) {
        struct metal_wait *wait = &submission->waits[i];
        const uint64_t now = atomic_load_explicit(&wait->semaphore->value, memory_order_acquire);
        if (now == UINT64_MAX) {
            submission->unresolved++;
            metal_submission_refused_locked(wait);
            return;
        }
        if (now >= wait->value)
            continue;
        metal_wait_link_locked(wait);
        submission->unresolved++;
        wait->promised = wait->value <= wait->semaphore->promised;
        submission->unpromised += !wait->promised;
    }
    if (submission->unpromised == 0)
        make_ready_locked(submission);
}

enum hal_status metal_queue_submit(struct hal_driver_device *self,
                                   const struct hal_submission *source)
{
    struct metal_device *device = to_metal_device(self);
    struct metal_submission *submission = create_submission(device, source);
    if (!submission)
        return hal_fail(HAL_NO_MEMORY, "no memory for submission %" PRIu64, source->id);
    retain_all(submission, source);
    pthread_mutex_lock(&device->lock);
    const enum hal_status status = check_signals_locked(source);
    if (status == HAL_OK) {
        enter_flight_locked(device, submission);
        register_waits_locked(submission);
    }
    pthread_mutex_unlock(&device->lock);
    if (status != HAL_OK) {
        release_commands(submission);
        release_signals(submission);
        free(submission);
    }
    return status;
}

/* ---- Idle --------------------------------------------------------------------------------- */

static enum hal_status fail_busy_locked(const struct metal_device *device)
{
    char name[HAL_OBJECT_NAME_BYTES];
    for (const struct metal_submission *submission = device->first_in_flight; submission;
         submission = submission->next_in_flight) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            const struct metal_wait *wait = &submission->waits[i];
            if (wait->linked)
                return hal_fail(
                    HAL_TIMEOUT,
                    "submission %" PRIu64 " waits for %s to reach %" PRIu64 ", it is at %" PRIu64,
                    submission->id, hal_object_name(&wait->semaphore->base.object, name),
                    wait->value, atomic_load(&wait->semaphore->value));
        }
    }
    return hal_fail(HAL_TIMEOUT, "submission %" PRIu64 " is still running",
                    device->first_in_flight->id);
}

enum hal_status metal_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct metal_device *device = to_metal_device(self);
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool late = false;
    pthread_mutex_lock(&device->lock);
    const uint64_t before = device->next_sequence;
    while (device->first_in_flight && device->first_in_flight->sequence < before) {
        if (late || device->interrupted) {
            status = fail_busy_locked(device);
            break;
        }
        late = !hal_condition_wait(&device->changed, &device->lock, deadline_ns);
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

void metal_waits_interrupt(struct hal_driver_device *self, bool on)
{
    struct metal_device *device = to_metal_device(self);
    pthread_mutex_lock(&device->lock);
    device->interrupted = on;
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
}

/* ---- Start and stop ----------------------------------------------------------------------- */

enum hal_status metal_queue_start(struct metal_device *device)
{
    pthread_mutex_init(&device->lock, NULL);
    hal_condition_init(&device->changed);
    hal_condition_init(&device->work);
    const enum hal_status status =
        hal_thread_start("hal-metal-submit", run_submitter, device, &device->submitter);
    if (status != HAL_OK) {
        pthread_cond_destroy(&device->work);
        pthread_cond_destroy(&device->changed);
        pthread_mutex_destroy(&device->lock);
    }
    return status;
}

void metal_queue_stop(struct metal_device *device)
{
    pthread_mutex_lock(&device->lock);
    device->stopping = true;
    pthread_cond_signal(&device->work);
    pthread_mutex_unlock(&device->lock);
    pthread_join(device->submitter, NULL);
    pthread_cond_destroy(&device->work);
    pthread_cond_destroy(&device->changed);
    pthread_mutex_destroy(&device->lock);
}
