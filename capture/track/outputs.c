/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/track/outputs.h"

#include "capture/capture.h"
#include "hal/base/digest.h"
#include "hal/base/mem.h"

enum {
    COPY_ALIGNMENT = 256,
    LEAST_COPY_BYTES = 64 << 10,
    MOST_OUTPUTS = 256, /* in one record, so that it fits into the smallest ring */
};

/* Longer, the device is busy with something that may wait for this very thread. */
static const int64_t most_clearing_ns = 5000000000;

/* One command buffer of ours, and the memory that it copies to. */
struct capture_copies {
    struct capture_copies *next;
    bool is_taken;                       /* by a submission that has not ended */
    bool is_host;                        /* the host writes: nothing is copied, nor recorded here */
    struct hal_command_buffer *commands; /* NULL: none; ours alone when its references are 1 */
    struct hal_buffer *buffer;           /* the driver's; NULL: none */
    struct hal_mapping mapping;          /* of all of it */
    uint64_t bytes;                      /* of it */
    struct hal_buffer *clears;           /* retained until the driver is done with it; or NULL */
    struct capture_written_ranges writes;
};

void capture_outputs_init(struct capture_outputs *outputs, bool wanted, uint64_t most_copy_bytes)
{
    *outputs = (struct capture_outputs){.wanted = wanted, .most_copy_bytes = most_copy_bytes};
    pthread_mutex_init(&outputs->copies_lock, NULL);
}

/* ---- Commands of our own ------------------------------------------------------------------- */

static void free_commands(struct hal_driver_device *next, struct capture_copies *copies)
{
    if (!copies->commands)
        return;
    next->ops->object_destroy(next, &copies->commands->object);
    free(copies->commands->arena);
    free(copies->commands);
    copies->commands = NULL;
}

/* Takes the arena over. */
static enum hal_status make_commands(struct hal_driver_device *next, void *arena, size_t bytes,
                                     size_t count, struct capture_copies *copies)
{
    struct hal_command_buffer *commands = hal_alloc(1, sizeof *commands);
    if (!commands || !arena) {
        free(commands);
        free(arena);
        return hal_fail(HAL_NO_MEMORY, "no memory for copies");
    }
    commands->object.kind = HAL_OBJECT_COMMAND_BUFFER;
    atomic_init(&commands->object.references, 1);
    commands->categories = HAL_COMMANDS_TRANSFER;
    commands->is_ended = true;
    commands->arena = arena;
    commands->arena_bytes = bytes;
    commands->command_count = (uint32_t)count;
    if (next->ops->command_buffer_created)
        next->ops->command_buffer_created(next, commands);
    copies->commands = commands;
    const enum hal_status status = next->ops->command_buffer_prepare(next, commands);
    if (status != HAL_OK)
        free_commands(next, copies);
    return status;
}

/* ---- Memory of our own --------------------------------------------------------------------- */

static bool take_bytes(struct capture_outputs *outputs, uint64_t bytes)
{
    pthread_mutex_lock(&outputs->copies_lock);
    const bool fits = bytes <= outputs->most_copy_bytes - outputs->copy_bytes;
    outputs->copy_bytes += fits ? bytes : 0;
    pthread_mutex_unlock(&outputs->copies_lock);
    return fits;
}

static void give_bytes(struct capture_outputs *outputs, uint64_t bytes)
{
    pthread_mutex_lock(&outputs->copies_lock);
    outputs->copy_bytes -= bytes;
    pthread_mutex_unlock(&outputs->copies_lock);
}

static void free_buffer(struct capture *capture, struct capture_copies *copies)
{
    struct hal_driver_device *next = capture->device.next;
    if (!copies->buffer)
        return;
    if (copies->mapping.data)
        (void)!next->ops->buffer_unmap(next, &copies->mapping);
    next->ops->object_destroy(next, &copies->buffer->object);
    give_bytes(&capture->outputs, copies->bytes);
    copies->mapping = (struct hal_mapping){0};
    copies->buffer = NULL;
    copies->bytes = 0;
}

/* So that submissions of about one size share, with little to spare for large ones. */
static uint64_t rounded_up(uint64_t bytes)
{
    uint64_t step = LEAST_COPY_BYTES;
    while (step < bytes / 8)
        step *= 2;
    return bytes <= UINT64_MAX - step ? (bytes + step - 1) / step * step : bytes;
}

static enum hal_status create_buffer(struct hal_driver_device *next, uint64_t rounded,
                                     struct capture_copies *copies)
{
    const struct hal_buffer_desc desc = {.label = "capture's copies",
                                         .bytes = rounded,
                                         .memory =
                                             HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT,
                                         .usage = HAL_USAGE_TRANSFER | HAL_USAGE_MAPPING};
    HAL_TRY(next->ops->buffer_create(next, &desc, &copies->buffer));
    copies->mapping = (struct hal_mapping){
        .buffer = copies->buffer, .bytes = rounded, .mode = HAL_MAP_READ | HAL_MAP_PERSISTENT};
    const enum hal_status status = next->ops->buffer_map(next, copies->buffer, &copies->mapping);
    if (status != HAL_OK) {
        next->ops->object_destroy(next, &copies->buffer->object);
        copies->mapping = (struct hal_mapping){0};
        copies->buffer = NULL;
    }
    return status;
}

/* ---- Copies to use again ------------------------------------------------------------------- */

static bool is_idle(const struct capture_copies *copies)
{
    return !copies->is_taken &&
           (!copies->commands ||
            atomic_load_explicit(&copies->commands->object.references, memory_order_acquire) == 1);
}

static bool is_free(const struct capture_copies *copies)
{
    return !copies->clears && is_idle(copies);
}

static struct hal_buffer *take_cleared(struct capture_outputs *outputs)
{
    struct hal_buffer *buffer = NULL;
    pthread_mutex_lock(&outputs->copies_lock);
    for (struct capture_copies *copies = outputs->copies; copies && !buffer;
         copies = copies->next) {
        if (!copies->clears || !is_idle(copies))
            continue;
        buffer = copies->clears;
        copies->clears = NULL;
    }
    pthread_mutex_unlock(&outputs->copies_lock);
    return buffer;
}

/* Memory that submissions which have ended have left, until no more than `most` bytes are there. */
static void free_idle(struct capture *capture, uint64_t most)
{
    struct capture_outputs *outputs = &capture->outputs;
    struct capture_copies *copies;
    do {
        pthread_mutex_lock(&outputs->copies_lock);
        copies = outputs->copy_bytes > most ? outputs->copies : NULL;
        while (copies && (!is_free(copies) || !copies->buffer))
            copies = copies->next;
        if (copies)
            copies->is_taken = true;
        pthread_mutex_unlock(&outputs->copies_lock);
        if (copies) {
            free_commands(capture->device.next, copies);
            free_buffer(capture, copies);
            pthread_mutex_lock(&outputs->copies_lock);
            copies->is_taken = false;
            pthread_mutex_unlock(&outputs->copies_lock);
        }
    } while (copies);
}

void capture_outputs_trim(struct capture *capture)
{
    free_idle(capture, 0);
}

/* HAL_NO_MEMORY beyond the limit. */
static enum hal_status make_buffer(struct capture *capture, uint64_t bytes,
                                   struct capture_copies *copies)
{
    struct capture_outputs *outputs = &capture->outputs;
    const uint64_t most = outputs->most_copy_bytes, rounded = rounded_up(bytes);
    if (copies->buffer && copies->bytes >= bytes)
        return HAL_OK;
    free_buffer(capture, copies);
    if (rounded <= most && !take_bytes(outputs, rounded)) {
        free_idle(capture, most - rounded);
        if (!take_bytes(outputs, rounded))
            return hal_fail(HAL_NO_MEMORY, "too many copies in flight");
    } else if (rounded > most) {
        return hal_fail(HAL_NO_MEMORY, "too much to copy");
    }
    const enum hal_status status = create_buffer(capture->device.next, rounded, copies);
    if (status == HAL_OK)
        copies->bytes = rounded;
    else
        give_bytes(outputs, rounded);
    return status;
}

/* Buffers whose clearing took too long to wait for. Their last release is a call of its own, so
 * this is not for the middle of another one. */
static void let_go_of_cleared(struct capture *capture)
{
    struct hal_buffer *buffer;
    while ((buffer = take_cleared(&capture->outputs)))
        capture->core.object_release(&buffer->object);
}

/* One that the driver has released, or a new one; NULL: out of memory. */
static struct capture_copies *take_copies(struct capture_outputs *outputs,
                                          struct hal_driver_device *next)
{
    pthread_mutex_lock(&outputs->copies_lock);
    struct capture_copies *copies = outputs->copies;
    while (copies && !is_free(copies))
        copies = copies->next;
    if (copies) {
        copies->is_taken = true;
    } else if ((copies = hal_alloc(1, sizeof *copies))) {
        copies->is_taken = true;
        copies->next = outputs->copies;
        outputs->copies = copies;
    }
    pthread_mutex_unlock(&outputs->copies_lock);
    if (copies) {
        free_commands(next, copies);
        copies->is_host = false;
    }
    return copies;
}

static void give_copies(struct capture_outputs *outputs, struct capture_copies *copies)
{
    capture_written_ranges_finish(&copies->writes);
    pthread_mutex_lock(&outputs->copies_lock);
    copies->is_taken = false;
    pthread_mutex_unlock(&outputs->copies_lock);
}

void capture_outputs_finish(struct capture *capture)
{
    struct capture_outputs *outputs = &capture->outputs;
    struct hal_driver_device *next = capture->device.next;
    while (outputs->copies) {
        struct capture_copies *copies = outputs->copies;
        outputs->copies = copies->next;
        free_commands(next, copies);
        if (copies->clears)
            capture->core.object_release(&copies->clears->object);
        free_buffer(capture, copies);
        capture_written_ranges_finish(&copies->writes);
        free(copies);
    }
    if (outputs->cleared)
        next->ops->object_destroy(next, &outputs->cleared->object);
    pthread_mutex_destroy(&outputs->copies_lock);
}

/* ---- New buffers --------------------------------------------------------------------------- */

static enum hal_status clear_mapped(struct hal_driver_device *next, struct hal_buffer *buffer)
{
    struct hal_mapping mapping = {
        .buffer = buffer, .bytes = buffer->bytes, .mode = HAL_MAP_WRITE | HAL_MAP_DISCARD};
    HAL_TRY(next->ops->buffer_map(next, buffer, &mapping));
    memset(mapping.data, 0, (size_t)mapping.bytes);
    return next->ops->buffer_unmap(next, &mapping);
}

/* A wait also ends when a change of the chain interrupts all waits: the buffer must not be handed
 * out while it is still being cleared. */
static enum hal_status wait_for_clearing(struct hal_driver_device *next,
                                         const struct hal_semaphore_value *done)
{
    static const struct timespec pause = {.tv_nsec = 100000};
    const int64_t deadline_ns = hal_clock_ns() + most_clearing_ns;
    for (int64_t left_ns = most_clearing_ns;; left_ns = deadline_ns - hal_clock_ns()) {
        const enum hal_status status =
            next->ops->semaphores_wait(next, HAL_WAIT_ALL, done, 1, left_ns > 0 ? left_ns : 0);
        if (status != HAL_TIMEOUT || hal_clock_ns() >= deadline_ns)
            return status;
        nanosleep(&pause, NULL);
    }
}

/* The driver retains the commands, but not what they fill. */
static enum hal_status run_clearing(struct capture *capture, struct capture_copies *copies,
                                    struct hal_buffer *buffer)
{
    struct capture_outputs *outputs = &capture->outputs;
    struct hal_driver_device *next = capture->device.next;
    pthread_mutex_lock(&outputs->copies_lock);
    enum hal_status status =
        outputs->cleared
            ? HAL_OK
            : next->ops->semaphore_create(next, "capture's clearing", 0, &outputs->cleared);
    if (status != HAL_OK)
        outputs->cleared = NULL;
    const struct hal_semaphore_value done = {outputs->cleared, outputs->cleared_value + 1};
    const struct hal_submission submission = {
        .signals = &done, .signal_count = 1, .commands = &copies->commands, .command_count = 1};
    if (status == HAL_OK)
        status = next->ops->queue_submit(next, &submission);
    outputs->cleared_value += status == HAL_OK;
    pthread_mutex_unlock(&outputs->copies_lock);
    if (status != HAL_OK)
        return status;
    capture->core.object_retain(&buffer->object);
    status = wait_for_clearing(next, &done);
    if (status == HAL_OK)
        capture->core.object_release(&buffer->object);
    else
        copies->clears = buffer;
    return status;
}

enum hal_status capture_outputs_clear(struct capture *capture, struct hal_buffer *buffer)
{
    struct capture_outputs *outputs = &capture->outputs;
    struct hal_driver_device *next = capture->device.next;
    if (buffer->memory & HAL_MEMORY_HOST_VISIBLE && buffer->usage & HAL_USAGE_MAPPING)
        return clear_mapped(next, buffer);
    struct capture_copies *copies = take_copies(outputs, next);
    struct hal_command_fill *fill = hal_alloc(1, sizeof *fill);
    if (!copies || !fill) {
        free(fill);
        if (copies)
            give_copies(outputs, copies);
        return hal_fail(HAL_NO_MEMORY, "no memory for clearing a buffer");
    }
    *fill = (struct hal_command_fill){.head = {.kind = HAL_COMMAND_FILL, .bytes = sizeof *fill},
                                      .target = buffer,
                                      .bytes = buffer->bytes,
                                      .pattern_bytes = 4};
    enum hal_status status = make_commands(next, fill, sizeof *fill, 1, copies);
    if (status == HAL_OK)
        status = run_clearing(capture, copies, buffer);
    give_copies(outputs, copies);
    return status;
}

/* ---- Submitting ---------------------------------------------------------------------------- */

static enum hal_status make_copies(struct capture *capture, struct capture_copies *copies)
{
    struct capture_written_ranges *writes = &copies->writes;
    uint64_t bytes = 0;
    for (size_t i = 0; i < writes->count; i++) {
        struct capture_written_range *write = &writes->list[i];
        write->at = bytes;
        bytes += hal_align_up((size_t)(write->end - write->begin), COPY_ALIGNMENT);
    }
    HAL_TRY(make_buffer(capture, bytes, copies));
    struct hal_command_copy *list = hal_alloc(writes->count, sizeof *list);
    for (size_t i = 0; list && i < writes->count; i++) {
        const struct capture_written_range *write = &writes->list[i];
        list[i] =
            (struct hal_command_copy){.head = {.kind = HAL_COMMAND_COPY, .bytes = sizeof *list},
                                      .source = write->buffer,
                                      .target = copies->buffer,
                                      .source_offset = write->begin,
                                      .target_offset = write->at,
                                      .bytes = write->end - write->begin};
    }
    return make_commands(capture->device.next, list, writes->count * sizeof *list, writes->count,
                         copies);
}

/* What the host writes is recorded as contents; other work may write there at the same time. */
static void prepare_host_call(struct capture *capture, struct capture_submission *entry,
                              const struct hal_submission *wrapped)
{
    struct capture_written_ranges writes;
    const bool receives = wrapped->collective && wrapped->collective->receive;
    if (!(wrapped->host.run && wrapped->host.writes) && !receives)
        return;
    if (wrapped->bytes == 0)
        return;
    capture_written_ranges_of_range(wrapped->buffer, wrapped->offset, wrapped->bytes, &writes);
    struct capture_copies *copies =
        writes.failed ? NULL : take_copies(&capture->outputs, capture->device.next);
    if (!copies) {
        capture_no_memory(capture, "what a submission writes");
        capture_written_ranges_finish(&writes);
        return;
    }
    copies->is_host = true;
    copies->writes = writes;
    capture_inflight_watch(&capture->inflight, entry, copies);
}

/* What cannot be copied is recorded as not seen. */
void capture_outputs_prepare(struct capture *capture, struct capture_submission *entry,
                             struct hal_submission *wrapped)
{
    struct hal_driver_device *next = capture->device.next;
    struct capture_written_ranges writes;
    if (!capture->outputs.wanted)
        return;
    let_go_of_cleared(capture);
    if (wrapped->command_count == 0) {
        prepare_host_call(capture, entry, wrapped);
        return;
    }
    capture_written_ranges_find(wrapped->commands, wrapped->command_count, &writes);
    struct capture_copies *copies =
        writes.count && !writes.failed ? take_copies(&capture->outputs, next) : NULL;
    struct hal_command_buffer **list =
        copies ? hal_alloc(wrapped->command_count + 1, sizeof(struct hal_command_buffer *)) : NULL;
    if (!list) {
        if (copies || writes.failed)
            capture_no_memory(capture, "what a submission writes");
        if (copies)
            give_copies(&capture->outputs, copies);
        capture_written_ranges_finish(&writes);
        return;
    }
    copies->writes = writes;
    capture_inflight_watch(&capture->inflight, entry, copies);
    if (make_copies(capture, copies) != HAL_OK) {
        for (size_t i = 0; i < writes.count; i++)
            writes.list[i].state = TRACE_WRITTEN_UNSEEN;
        free(list);
        return;
    }
    memcpy(list, wrapped->commands, wrapped->command_count * sizeof *list);
    list[wrapped->command_count] = copies->commands;
    wrapped->commands = list;
    wrapped->command_count++;
}

void capture_outputs_submitted(struct hal_submission *wrapped,
                               const struct hal_submission *submission)
{
    if (wrapped->commands != submission->commands)
        free((void *)wrapped->commands);
}

/* ---- The end of a submission --------------------------------------------------------------- */

struct ending {
    struct capture *capture;
    struct capture_copies *copies;
};

/* Another device's semaphore is not asked: it may have moved. */
static bool may_have_begun(struct capture *capture, const struct capture_submission *other)
{
    struct hal_driver_device *next = capture->device.next;
    for (uint32_t i = 0; i < other->wait_count; i++) {
        struct hal_semaphore *semaphore = other->waits[i].object;
        uint64_t value;
        if (semaphore->object.device == capture->handle &&
            next->ops->semaphore_query(next, semaphore, &value) == HAL_OK &&
            value < other->waits[i].value)
            return false;
    }
    return true;
}

static void compare_with(void *user, struct capture_submission *other)
{
    const struct ending *ending = user;
    if (may_have_begun(ending->capture, other))
        capture_written_ranges_share(&ending->copies->writes, &other->copies->writes);
}

static bool host_may_write(const struct capture_written_range *write)
{
    struct capture_buffer *buffer = write->buffer->object.layer_data;
    const uint32_t mode = HAL_MAP_WRITE | HAL_MAP_PERSISTENT;
    bool may = false;
    if (!buffer)
        return false;
    pthread_mutex_lock(&buffer->lock);
    for (const struct capture_mapping *open = buffer->open; open; open = open->next_open)
        may |= (open->mode & mode) == mode && open->offset < write->end &&
               write->begin < open->offset + open->bytes;
    may |= buffer->unclear;
    pthread_mutex_unlock(&buffer->lock);
    return may;
}

static void digest(const struct capture_copies *copies, struct capture_written_range *write,
                   struct trace_written *out)
{
    uint8_t sum[TRACE_DIGEST_BYTES];
    *out = (struct trace_written){
        .buffer = write->id, .offset = write->begin, .size = write->end - write->begin};
    if (write->state == TRACE_WRITTEN_KNOWN && host_may_write(write))
        write->state = TRACE_WRITTEN_HOST;
    if (write->state == TRACE_WRITTEN_KNOWN &&
        hal_sha256((const uint8_t *)copies->mapping.data + write->at, (size_t)out->size, sum) !=
            HAL_OK)
        write->state = TRACE_WRITTEN_UNSEEN;
    out->state = write->state;
    if (write->state == TRACE_WRITTEN_KNOWN)
        memcpy(out->digest, sum, sizeof sum);
}

static void record_some(struct capture_thread *thread, const struct capture_submission *entry,
                        struct capture_copies *copies, size_t first, uint32_t count)
{
    const uint64_t bytes =
        sizeof(struct trace_submission_outputs) + count * sizeof(struct trace_written);
    struct trace_submission_outputs *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    *record = (struct trace_submission_outputs){.head = {.kind = TRACE_SUBMISSION_OUTPUTS,
                                                         .bytes = (uint32_t)bytes,
                                                         .begin_ns = hal_clock_ns()},
                                                .submission = entry->id,
                                                .queue = entry->queue,
                                                .output_count = count};
    for (uint32_t i = 0; i < count; i++)
        digest(copies, &copies->writes.list[first + i], &record->outputs[i]);
    /* A replay ends at a ticket that is missing: nothing that takes long comes after this one. */
    record->head.ticket = capture_ticket(thread->stream);
    record->head.end_ns = hal_clock_ns();
    capture_publish(thread, bytes);
}

void capture_outputs_retire(struct capture *capture, struct capture_thread *thread,
                            struct capture_submission *entry, bool works)
{
    struct ending ending = {.capture = capture, .copies = entry->copies};
    if (!ending.copies)
        return;
    const int64_t begin_ns = hal_clock_ns();
    /* What was refused has written nothing, also not at the same time as others. */
    const bool never_ran = !thread && !works;
    capture_inflight_end(&capture->inflight, entry, never_ran ? NULL : compare_with, &ending);
    const size_t total = ending.copies->is_host ? 0 : ending.copies->writes.count;
    for (size_t first = 0; thread && works && first < total; first += MOST_OUTPUTS) {
        const size_t left = total - first;
        record_some(thread, entry, ending.copies, first,
                    left < MOST_OUTPUTS ? (uint32_t)left : MOST_OUTPUTS);
    }
    give_copies(&capture->outputs, ending.copies);
    if (thread)
        capture_call_measure(thread, begin_ns);
}
