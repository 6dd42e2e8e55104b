/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: what each waits for, when it may be committed, and how it ends. A queue of Metal is
 * a strict line: a wait that nobody has promised to end would block everything behind it, even the
 * work that ends it. So a submission is committed (commit.m) when each of its waits is over or will
 * be ended by work that is committed already.
 *
 * A submission retires when its command buffers have completed and the host has seen its waits end,
 * and those committed before it on its queue have retired: then it is known whether all went well,
 * and its semaphores rise, or fail. Nothing waits for what was committed later, so that this ends.
 */
#import "hal/drivers/metal/queue.h"
#include "hal/base/mem.h"

#include <inttypes.h>

/* ---- Readiness ---------------------------------------------------------------------------- */

static void make_ready_locked(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    if (submission->is_ready)
        return;
    submission->is_ready = true;
    submission->ready_ns = hal_clock_ns();
    hal_line_join(&device->ready, &submission->ready);
    pthread_cond_signal(&device->work);
}

static void begin_retiring_locked(struct metal_submission *submission)
{
    submission->is_retiring = true;
    submission->next_retiring = metal_shared.retiring;
    metal_shared.retiring = submission;
}

static struct metal_queue *queue_of(const struct metal_submission *submission)
{
    return &submission->device->queues[submission->queue];
}

/* Ends of submissions are told by several threads of Metal's. Whoever submits to one queue relies
 * on their order: values of a semaphore only rise. */
static void advance_locked(struct metal_queue *queue)
{
    const size_t link = offsetof(struct metal_submission, in_line);
    struct metal_submission *first = hal_line_first(&queue->submissions, link);
    if (queue->is_retiring || !first || first->unresolved > 0)
        return;
    (void)hal_line_take(&queue->submissions, link);
    queue->is_retiring = true;
    begin_retiring_locked(first);
}

void metal_submission_enter_line_locked(struct metal_submission *submission)
{
    struct metal_queue *queue = queue_of(submission);
    submission->is_in_line = true;
    hal_line_join(&queue->submissions, &submission->in_line);
}

void metal_submission_resolve_locked(struct metal_submission *submission)
{
    if (--submission->unresolved > 0)
        return;
    if (submission->is_in_line)
        advance_locked(queue_of(submission));
    else
        begin_retiring_locked(submission);
}

void metal_submission_fail_locked(struct metal_submission *submission, enum hal_status status,
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
    metal_submission_resolve_locked(wait->submission);
}

/* Its waits do not matter any more when it has not been committed; when it has, it ends late
 * enough for all of them. */
void metal_submission_abandon_locked(struct metal_submission *submission, enum hal_status status,
                                     const char *message)
{
    if (submission->is_retiring)
        return;
    metal_submission_fail_locked(submission, status, message);
    if (submission->is_ready)
        return;
    for (size_t i = 0; i < submission->wait_count; i++) {
        if (!submission->waits[i].linked)
            continue;
        metal_wait_unlink_locked(&submission->waits[i]);
        submission->unresolved--;
    }
    make_ready_locked(submission);
}

void metal_submission_refused_locked(struct metal_wait *wait)
{
    metal_submission_abandon_locked(wait->submission, wait->semaphore->base.failure,
                                    wait->semaphore->base.message);
    metal_submission_resolve_locked(wait->submission);
}

/* ---- Retiring ----------------------------------------------------------------------------- */

/* NULL: nothing was timed, or there is no memory for all in one list. */
static struct hal_dispatch_time *list_times(const struct metal_submission *submission,
                                            size_t *out_count)
{
    size_t count = 0, used = 0;
    *out_count = 0;
    for (size_t i = 0; submission->times && i < submission->command_count; i++)
        count += submission->times[i].count;
    struct hal_dispatch_time *times = count ? hal_alloc(count, sizeof *times) : NULL;
    for (size_t i = 0; times && i < submission->command_count; i++) {
        const struct metal_part_times *part = &submission->times[i];
        if (part->count)
            memcpy(times + used, part->dispatches, part->count * sizeof *times);
        used += part->count;
    }
    *out_count = used;
    return times;
}

static void free_times(struct metal_submission *submission)
{
    for (size_t i = 0; submission->times && i < submission->command_count; i++)
        free(submission->times[i].dispatches);
    free(submission->times);
}

static void report(const struct metal_submission *submission)
{
    size_t time_count;
    if (!submission->retired)
        return;
    struct hal_dispatch_time *times = list_times(submission, &time_count);
    const bool ran = submission->begin_ns != 0;
    const int64_t begin_ns = ran ? submission->begin_ns : submission->ready_ns;
    const struct hal_submission_result result = {
        .status = submission->status,
        .message = submission->message ? submission->message : "",
        .ready_ns = submission->ready_ns < begin_ns ? submission->ready_ns : begin_ns,
        .begin_ns = begin_ns,
        .end_ns = ran ? submission->end_ns : begin_ns,
        .busy_ns = submission->busy_ns,
        .dispatches = times,
        .dispatch_count = time_count,
        .is_isolated = time_count > 0,
    };
    submission->retired(submission->user, &result);
    free(times);
}

static void release_commands(struct metal_submission *submission)
{
    if (submission->buffer)
        hal_object_release(&submission->buffer->object);
    for (size_t i = 0; i < submission->command_count; i++) {
        hal_object_release(&submission->commands[i]->object);
        [submission->counts[i] release];
    }
    for (size_t i = 0; i < submission->wait_count; i++)
        hal_object_release(&submission->waits[i].semaphore->base.object);
}

static void release_signals(struct metal_submission *submission)
{
    for (size_t i = 0; i < submission->signal_count; i++)
        hal_object_release(&submission->signals[i].semaphore->base.object);
}

static void signal_all_locked(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    for (size_t i = 0; i < submission->signal_count; i++) {
        struct metal_promise *signal = &submission->signals[i];
        metal_promise_unlink_locked(signal);
        if (submission->status == HAL_OK)
            metal_semaphore_raise_locked(signal->semaphore, signal->value);
        else
            metal_semaphore_fail_locked(signal->semaphore, submission->status,
                                        submission->message ? submission->message : "");
    }
    if (submission->mark) {
        submission->mark->next = device->free_marks;
        device->free_marks = submission->mark;
    }
    pthread_cond_broadcast(&metal_shared.changed);
}

static struct metal_submission *take_retiring_locked(void)
{
    struct metal_submission *list = metal_shared.retiring;
    metal_shared.retiring = NULL;
    return list;
}

static void leave_flight(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    pthread_mutex_lock(&metal_shared.lock);
    if (submission->previous_in_flight)
        submission->previous_in_flight->next_in_flight = submission->next_in_flight;
    else
        device->first_in_flight = submission->next_in_flight;
    if (submission->next_in_flight)
        submission->next_in_flight->previous_in_flight = submission->previous_in_flight;
    else
        device->last_in_flight = submission->previous_in_flight;
    free_times(submission);
    free(submission->message);
    free(submission);
    pthread_cond_broadcast(&metal_shared.changed);
    pthread_mutex_unlock(&metal_shared.lock);
}

/* Command buffers are let go of before somebody can learn that they have run, so that the
 * application's release is the last one. The flight ends when nothing is held any more: then a
 * device that is idle can be destroyed, so that nothing of it is looked at after that. Returns
 * what retires as a consequence. */
static struct metal_submission *retire(struct metal_submission *submission)
{
    report(submission);
    release_commands(submission);
    pthread_mutex_lock(&metal_shared.lock);
    signal_all_locked(submission);
    if (submission->is_in_line) {
        queue_of(submission)->is_retiring = false;
        advance_locked(queue_of(submission));
    }
    struct metal_submission *more = take_retiring_locked();
    pthread_mutex_unlock(&metal_shared.lock);
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

void metal_queue_unlock(void)
{
    struct metal_submission *list = take_retiring_locked();
    pthread_cond_broadcast(&metal_shared.changed);
    pthread_mutex_unlock(&metal_shared.lock);
    while (list) {
        struct metal_submission *submission = list;
        list = submission->next_retiring;
        list = join(list, retire(submission));
    }
}

/* ---- Submitting --------------------------------------------------------------------------- */

static struct metal_submission *create_submission(struct metal_device *device,
                                                  const struct hal_submission *source)
{
    const size_t waits = source->wait_count, signals = source->signal_count;
    const size_t commands = source->command_count;
    struct metal_submission *submission =
        hal_alloc(1, sizeof *submission + waits * sizeof(struct metal_wait) +
                         signals * sizeof(struct metal_promise) + commands * 2 * sizeof(void *));
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
    submission->unresolved = 1; /* the commit, or the host call */
    submission->host = source->host;
    submission->offset = source->offset;
    submission->bytes = source->bytes;
    submission->waits = (struct metal_wait *)(submission + 1);
    submission->signals = (struct metal_promise *)(submission->waits + waits);
    submission->commands = (struct hal_command_buffer **)(submission->signals + signals);
    submission->counts = (id<MTLBuffer> *)(void *)(submission->commands + commands);
    if (source->time_dispatches && commands && device->times.place != METAL_TIMES_NOWHERE)
        submission->times = hal_alloc(commands, sizeof *submission->times);
    return submission;
}

static void retain_all(struct metal_submission *submission, const struct hal_submission *source)
{
    if (source->host.run && source->buffer) {
        submission->buffer = source->buffer;
        hal_object_retain(&source->buffer->object);
    }
    for (size_t i = 0; i < source->wait_count; i++) {
        submission->waits[i].semaphore = to_metal_semaphore(source->waits[i].semaphore);
        submission->waits[i].value = source->waits[i].value;
        submission->waits[i].submission = submission;
        hal_object_retain(&source->waits[i].semaphore->object);
    }
    for (size_t i = 0; i < source->signal_count; i++) {
        submission->signals[i].semaphore = to_metal_semaphore(source->signals[i].semaphore);
        submission->signals[i].value = source->signals[i].value;
        submission->signals[i].submission = submission;
        hal_object_retain(&source->signals[i].semaphore->object);
    }
    for (size_t i = 0; i < source->command_count; i++) {
        submission->commands[i] = source->commands[i];
        hal_object_retain(&source->commands[i]->object);
    }
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
        const uint64_t now = hal_timeline_value(&wait->semaphore->base);
        if (now == UINT64_MAX) {
            submission->unresolved++;
            metal_submission_refused_locked(wait);
            return;
        }
        if (now >= wait->value)
            continue;
        metal_wait_link_locked(wait);
        submission->unresolved++;
        wait->promised =
            !submission->host.run &&
            metal_promise_find_locked(submission->device, wait->semaphore, wait->value) != NULL;
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
    pthread_mutex_lock(&metal_shared.lock);
    enum hal_status status = metal_device_check_locked(device);
    if (status == HAL_OK)
        status = hal_timeline_check_submission(source);
    if (status == HAL_OK) {
        enter_flight_locked(device, submission);
        register_waits_locked(submission);
    }
    pthread_mutex_unlock(&metal_shared.lock);
    if (status != HAL_OK) {
        release_commands(submission);
        release_signals(submission);
        free_times(submission);
        free(submission);
    }
    return status == HAL_DEVICE_LOST ? metal_queue_refuse_lost(device, source) : status;
}

/* ---- Idle --------------------------------------------------------------------------------- */

static enum hal_status fail_busy_locked(const struct metal_device *device)
{
    for (const struct metal_submission *submission = device->first_in_flight; submission;
         submission = submission->next_in_flight) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            const struct metal_wait *wait = &submission->waits[i];
            if (wait->linked)
                return hal_timeline_fail_busy(submission->id, &wait->semaphore->base, wait->value);
        }
    }
    return hal_timeline_fail_busy(device->first_in_flight->id, NULL, 0);
}

enum hal_status metal_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct metal_device *device = to_metal_device(self);
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool late = false;
    pthread_mutex_lock(&metal_shared.lock);
    const uint64_t before = device->next_sequence;
    while (device->first_in_flight && device->first_in_flight->sequence < before) {
        if (late || device->interrupted) {
            status = fail_busy_locked(device);
            break;
        }
        late = !hal_condition_wait(&metal_shared.changed, &metal_shared.lock, deadline_ns);
    }
    if (status == HAL_OK)
        status = metal_device_check_locked(device);
    pthread_mutex_unlock(&metal_shared.lock);
    return status;
}

void metal_waits_interrupt(struct hal_driver_device *self, bool on)
{
    struct metal_device *device = to_metal_device(self);
    pthread_mutex_lock(&metal_shared.lock);
    device->interrupted = on;
    pthread_cond_broadcast(&metal_shared.changed);
    pthread_mutex_unlock(&metal_shared.lock);
}
