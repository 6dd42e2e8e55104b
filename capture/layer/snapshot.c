/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that begins late first records what is there: live objects, ended command buffers, and
 * contents. The device is idle and no call is inside it. */
#include "capture/capture.h"

#include "hal/base/mem.h"

#include <inttypes.h>

enum { WINDOW_BYTES = 16 << 20 };

struct objects {
    struct hal_object **list;
    size_t count, capacity;
    bool failed;
};

static void collect_object(void *user, struct hal_object *object)
{
    struct objects *objects = user;
    if (!HAL_GROW(objects->list, &objects->capacity, objects->count + 1)) {
        objects->failed = true;
        return;
    }
    objects->list[objects->count++] = object;
}

static void count_object(void *user, struct hal_object *object)
{
    (void)object;
    ++*(size_t *)user;
}

bool capture_snapshot_needed(const struct capture *capture)
{
    size_t count = 0;
    capture->core.each_object(capture->handle, count_object, &count);
    return count > 0;
}

static struct capture_call snapshot_call(struct capture *capture)
{
    struct capture_call call = {.thread = capture_enter(&capture->stream)};
    if (call.thread)
        capture_call_take_ticket(&call);
    call.begin_ns = call.end_ns = hal_clock_ns();
    return call;
}

static enum hal_status no_memory(const char *what)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for recording %s", what);
}

/* ---- Contents of buffers that the host does not see ---- */

/* Needed for copying through the device: objects of the next driver, unknown to the core. */
struct copier {
    struct hal_driver_device *next;
    struct hal_buffer *target;
    struct hal_semaphore *done;
    uint64_t value;
};

/* The wait for a value ends before the driver has released the semaphore. */
static void finish_copier(struct copier *copier)
{
    if (copier->done)
        (void)copier->next->ops->device_wait_idle(copier->next, HAL_FOREVER);
    if (copier->done)
        copier->next->ops->object_destroy(copier->next, &copier->done->object);
    if (copier->target)
        copier->next->ops->object_destroy(copier->next, &copier->target->object);
}

static enum hal_status init_copier(struct copier *copier, struct hal_driver_device *next)
{
    *copier = (struct copier){.next = next};
    const struct hal_buffer_desc desc = {.label = "snapshot",
                                         .bytes = WINDOW_BYTES,
                                         .memory =
                                             HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT,
                                         .usage = HAL_USAGE_TRANSFER | HAL_USAGE_MAPPING};
    HAL_TRY(next->ops->buffer_create(next, &desc, &copier->target));
    return next->ops->semaphore_create(next, "snapshot", 0, &copier->done);
}

/* Runs a command buffer that is unknown to the core. An idle device holds no references; the
 * semaphore shows whether the work failed. */
static enum hal_status run_commands(struct copier *copier, struct hal_command_buffer *commands)
{
    struct hal_driver_device *next = copier->next;
    const struct hal_semaphore_value done = {copier->done, ++copier->value};
    const struct hal_submission submission = {
        .signals = &done, .signal_count = 1, .commands = &commands, .command_count = 1};
    HAL_TRY(next->ops->command_buffer_prepare(next, commands));
    uint64_t value;
    HAL_TRY(next->ops->queue_submit(next, &submission));
    HAL_TRY(next->ops->device_wait_idle(next, HAL_FOREVER));
    return next->ops->semaphore_query(next, copier->done, &value);
}

static enum hal_status copy_window(struct copier *copier, struct hal_buffer *source,
                                   uint64_t offset, uint64_t bytes)
{
    struct hal_driver_device *next = copier->next;
    struct hal_command_copy copy = {.head = {.kind = HAL_COMMAND_COPY, .bytes = sizeof copy},
                                    .source = source,
                                    .target = copier->target,
                                    .source_offset = offset,
                                    .bytes = bytes};
    struct hal_command_buffer *commands = hal_alloc(1, sizeof *commands);
    if (!commands)
        return no_memory("a buffer's contents");
    commands->object.kind = HAL_OBJECT_COMMAND_BUFFER;
    atomic_init(&commands->object.references, 1);
    commands->is_ended = true;
    commands->arena = (uint8_t *)&copy;
    commands->arena_bytes = sizeof copy;
    commands->command_count = 1;
    if (next->ops->command_buffer_created)
        next->ops->command_buffer_created(next, commands);
    const enum hal_status status = run_commands(copier, commands);
    next->ops->object_destroy(next, &commands->object);
    free(commands);
    return status;
}

/* ---- Contents ---- */

static enum hal_status record_mapped(struct capture *capture, struct hal_buffer *mapped,
                                     const struct hal_buffer *buffer, uint64_t offset,
                                     uint64_t bytes)
{
    struct hal_driver_device *next = capture->device.next;
    struct capture_thread *thread = capture_enter(&capture->stream);
    struct hal_mapping mapping = {.buffer = mapped,
                                  .offset = mapped == buffer ? offset : 0,
                                  .bytes = bytes,
                                  .mode = HAL_MAP_READ};
    if (!thread)
        return HAL_OK;
    HAL_TRY(next->ops->buffer_map(next, mapped, &mapping));
    capture_record_content(thread, &(struct capture_content){.kind = TRACE_HOST_WRITE,
                                                             .flags = TRACE_FLAG_SNAPSHOT,
                                                             .buffer = buffer->object.id,
                                                             .offset = offset,
                                                             .bytes = bytes,
                                                             .data = mapping.data});
    return next->ops->buffer_unmap(next, &mapping);
}

static bool host_sees(const struct hal_buffer *buffer)
{
    return buffer->memory & HAL_MEMORY_HOST_VISIBLE && buffer->usage & HAL_USAGE_MAPPING;
}

static enum hal_status record_buffer_contents(struct capture *capture, struct copier *copier,
                                              struct hal_buffer *buffer)
{
    if (host_sees(buffer))
        return record_mapped(capture, buffer, buffer, 0, buffer->bytes);
    if (!copier->next)
        HAL_TRY(init_copier(copier, capture->device.next));
    for (uint64_t offset = 0, bytes; offset < buffer->bytes; offset += bytes) {
        bytes = buffer->bytes - offset < WINDOW_BYTES ? buffer->bytes - offset : WINDOW_BYTES;
        HAL_TRY(copy_window(copier, buffer, offset, bytes));
        HAL_TRY(record_mapped(capture, copier->target, buffer, offset, bytes));
    }
    return HAL_OK;
}

/* ---- Objects ---- */

static enum hal_status record_buffer(struct capture *capture, struct hal_buffer *buffer)
{
    const struct hal_buffer_desc desc = {.label = buffer->object.label, .bytes = buffer->bytes};
    const struct capture_call call = snapshot_call(capture);
    if (!buffer->object.layer_data)
        buffer->object.layer_data = capture_buffer_create(NULL);
    if (!buffer->object.layer_data)
        return no_memory("a buffer");
    if (call.thread)
        capture_record_buffer(&call, &desc, buffer, TRACE_FLAG_SNAPSHOT);
    return HAL_OK;
}

static void record_executable(struct capture *capture, struct hal_executable *executable)
{
    const struct hal_executable_desc desc = {.label = executable->object.label,
                                             .variants = executable->variants,
                                             .variant_count = executable->variant_count,
                                             .layouts = executable->layouts,
                                             .entry_points = executable->entry_points,
                                             .entry_point_count = executable->entry_point_count,
                                             .constants = executable->constants,
                                             .constant_count = executable->constant_count};
    const struct capture_call call = snapshot_call(capture);
    if (call.thread)
        capture_record_executable(&call, capture->device.next, &desc, executable,
                                  TRACE_FLAG_SNAPSHOT);
}

static enum hal_status record_commands(struct capture *capture, struct hal_command_buffer *commands)
{
    struct capture_call call = snapshot_call(capture);
    bool failed;
    if (call.thread)
        capture_record_command_buffer(&call, commands);
    if (!commands->is_ended)
        return HAL_OK;
    struct capture_survey survey;
    capture_access_ranges_release(commands->object.layer_data);
    commands->object.layer_data = capture_access_ranges_create(commands, true, &survey, &failed);
    if (failed)
        return no_memory("what a command buffer writes");
    call = snapshot_call(capture);
    if (call.thread)
        capture_record_command_buffer_end(&call, commands, &survey, TRACE_FLAG_SNAPSHOT);
    return HAL_OK;
}

/* A failed semaphore is created, and fails once more. */
static enum hal_status record_semaphore(struct capture *capture, struct hal_semaphore *semaphore)
{
    struct hal_driver_device *next = capture->device.next;
    uint64_t value = 0;
    const enum hal_status failure = next->ops->semaphore_query(next, semaphore, &value);
    if (!semaphore->object.layer_data)
        semaphore->object.layer_data = capture_semaphore_create(value);
    if (!semaphore->object.layer_data)
        return no_memory("a semaphore");
    struct capture_call call = snapshot_call(capture);
    if (!call.thread)
        return HAL_OK;
    capture_record_semaphore(&call, semaphore->object.label, semaphore, value, TRACE_FLAG_SNAPSHOT);
    if (failure == HAL_OK)
        return HAL_OK;
    atomic_store(&((struct capture_semaphore *)semaphore->object.layer_data)->has_failed, true);
    call = snapshot_call(capture);
    call.status = failure;
    if (call.thread)
        capture_record_semaphore_event(&call, TRACE_SEMAPHORE_FAIL, semaphore, 0, hal_message(), 0);
    return HAL_OK;
}

static void record_own_object(struct capture *capture, const struct hal_object *object)
{
    const struct capture_call call = snapshot_call(capture);
    if (call.thread)
        capture_record_own_object(&call, object);
}

static void record_subspan(struct capture *capture, const struct hal_buffer *subspan)
{
    const struct capture_call call = snapshot_call(capture);
    if (call.thread)
        capture_record_subspan(&call, subspan, TRACE_FLAG_SNAPSHOT);
}

static enum hal_status record_object(struct capture *capture, struct hal_object *object)
{
    switch (object->kind) {
    case HAL_OBJECT_BUFFER: return record_buffer(capture, (void *)object);
    case HAL_OBJECT_EXECUTABLE: record_executable(capture, (void *)object); return HAL_OK;
    case HAL_OBJECT_COMMAND_BUFFER: return record_commands(capture, (void *)object);
    case HAL_OBJECT_EVENT:
    case HAL_OBJECT_SET_LAYOUT:
    case HAL_OBJECT_CHANNEL:
    case HAL_OBJECT_PIPELINE_LAYOUT: record_own_object(capture, object); return HAL_OK;
    case HAL_OBJECT_SEMAPHORE: return record_semaphore(capture, (void *)object);
    case HAL_OBJECT_SUBSPAN: record_subspan(capture, (void *)object); return HAL_OK;
    }
    return HAL_OK;
}

/* ---- Mappings ---- */

struct mappings {
    struct hal_mapping *list;
    size_t count, capacity;
    bool failed;
};

static void collect_mapping(void *user, const struct hal_mapping *mapping)
{
    struct mappings *mappings = user;
    if (!HAL_GROW(mappings->list, &mappings->capacity, mappings->count + 1)) {
        mappings->failed = true;
        return;
    }
    mappings->list[mappings->count++] = *mapping;
}

/* Those that stay open through the beginning, and imported memory, which is open always. */
static enum hal_status open_mappings(struct capture *capture, const struct objects *objects)
{
    struct mappings mappings = {0};
    capture->core.each_mapping(capture->handle, collect_mapping, &mappings);
    for (size_t i = 0; i < objects->count; i++) {
        struct hal_buffer *buffer = (void *)objects->list[i];
        if (objects->list[i]->kind != HAL_OBJECT_BUFFER || !buffer->imported)
            continue;
        const struct hal_mapping mapping = capture_mapping_of_import(buffer);
        collect_mapping(&mappings, &mapping);
    }
    for (size_t i = 0; i < mappings.count; i++) {
        const struct capture_call call = snapshot_call(capture);
        const struct capture_mapping *opened = capture_mapping_find(&mappings.list[i]);
        if (!opened && call.thread)
            opened = capture_mapping_open(capture, call.thread, &mappings.list[i]);
        if (!call.thread)
            continue;
        if (opened)
            capture_record_mapping(&call, TRACE_BUFFER_MAP, &mappings.list[i], opened->number,
                                   opened->offset, opened->bytes);
    }
    free(mappings.list);
    return mappings.failed ? no_memory("open mappings") : HAL_OK;
}

static enum hal_status record_contents(struct capture *capture, const struct objects *objects)
{
    struct copier copier = {0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; status == HAL_OK && i < objects->count; i++) {
        char name[HAL_OBJECT_NAME_BYTES];
        if (objects->list[i]->kind != HAL_OBJECT_BUFFER)
            continue;
        status = record_buffer_contents(capture, &copier, (void *)objects->list[i]);
        hal_add_context(status, "contents of %s",
                        capture->core.object_name(objects->list[i], name));
    }
    if (copier.next)
        finish_copier(&copier);
    return status;
}

/* Command buffers, or all the others, in the order of their creation. */
static enum hal_status record_objects(struct capture *capture, const struct objects *objects,
                                      bool command_buffers)
{
    enum hal_status status = HAL_OK;
    for (size_t i = 0; status == HAL_OK && i < objects->count; i++) {
        if ((objects->list[i]->kind == HAL_OBJECT_COMMAND_BUFFER) == command_buffers)
            status = record_object(capture, objects->list[i]);
    }
    return status;
}

/* Commands may name objects that are younger than their command buffer: those come first. Mappings
 * come before contents: what the host writes meanwhile is seen by one or the other. A flight
 * recorder's checkpoint finds objects that it already knows. */
enum hal_status capture_snapshot(struct capture *capture)
{
    struct objects objects = {0};
    capture->core.each_object(capture->handle, collect_object, &objects);
    enum hal_status status = objects.failed ? no_memory("live objects") : HAL_OK;
    if (status == HAL_OK)
        status = record_objects(capture, &objects, false);
    if (status == HAL_OK)
        status = record_objects(capture, &objects, true);
    if (status == HAL_OK)
        capture_external_repeat(capture);
    if (status == HAL_OK)
        status = open_mappings(capture, &objects);
    if (status == HAL_OK)
        status = record_contents(capture, &objects);
    free(objects.list);
    return status;
}
