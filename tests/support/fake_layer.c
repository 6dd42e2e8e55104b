/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_layer.h. */
#include "tests/support/fake_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

HAL_API struct fake_layer fake_layer;
HAL_API hal_layer_begin hal_capture_begin;

struct layer {
    struct hal_driver_device device;
    struct hal_layer layer;
    bool ended;
};

/* What was replaced in a submission. */
struct flight {
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;
};

static void enter(struct hal_driver_device *self, enum fake_call call)
{
    fake_layer.inside++;
    fake_layer.calls[call]++;
    if (((struct layer *)self)->ended)
        fake_layer.violations++;
}

static void leave(void)
{
    fake_layer.inside--;
}

static enum hal_status done(enum hal_status status)
{
    leave();
    return status;
}

static void device_destroy(struct hal_driver_device *self)
{
    (void)self;
    fake_layer.violations++; /* layers are ended, not destroyed */
}

static enum hal_status query(struct hal_driver_device *self, const char *key, int64_t *out_value)
{
    enter(self, FAKE_QUERY);
    if (fake_layer.while_inside)
        fake_layer.while_inside(fake_layer.user);
    return done(self->next->ops->device_query(self->next, key, out_value));
}

static enum hal_status wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    enter(self, FAKE_WAIT_IDLE);
    return done(self->next->ops->device_wait_idle(self->next, timeout_ns));
}

static enum hal_status buffer_create(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    enter(self, FAKE_BUFFER_CREATE);
    return done(self->next->ops->buffer_create(self->next, desc, out));
}

static enum hal_status buffer_map(struct hal_driver_device *self, struct hal_buffer *buffer,
                                  struct hal_mapping *out)
{
    enter(self, FAKE_MAP);
    return done(self->next->ops->buffer_map(self->next, buffer, out));
}

static enum hal_status buffer_unmap(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping)
{
    enter(self, FAKE_UNMAP);
    return done(self->next->ops->buffer_unmap(self->next, mapping));
}

static enum hal_status mapping_flush(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes)
{
    enter(self, FAKE_FLUSH);
    return done(self->next->ops->mapping_flush(self->next, mapping, offset, bytes));
}

static enum hal_status mapping_invalidate(struct hal_driver_device *self,
                                          const struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes)
{
    enter(self, FAKE_INVALIDATE);
    return done(self->next->ops->mapping_invalidate(self->next, mapping, offset, bytes));
}

static enum hal_status executable_create(struct hal_driver_device *self,
                                         const struct hal_executable_desc *desc,
                                         struct hal_executable **out)
{
    enter(self, FAKE_EXECUTABLE_CREATE);
    return done(self->next->ops->executable_create(self->next, desc, out));
}

static void commands_created(struct hal_driver_device *self, struct hal_command_buffer *commands)
{
    enter(self, FAKE_COMMANDS_CREATED);
    if (self->next->ops->command_buffer_created)
        self->next->ops->command_buffer_created(self->next, commands);
    leave();
}

static enum hal_status prepare(struct hal_driver_device *self, struct hal_command_buffer *commands)
{
    enter(self, FAKE_PREPARE);
    return done(self->next->ops->command_buffer_prepare(self->next, commands));
}

static enum hal_status semaphore_create(struct hal_driver_device *self, const char *label,
                                        uint64_t initial_value, struct hal_semaphore **out)
{
    enter(self, FAKE_SEMAPHORE_CREATE);
    return done(self->next->ops->semaphore_create(self->next, label, initial_value, out));
}

static enum hal_status semaphore_query(struct hal_driver_device *self,
                                       struct hal_semaphore *semaphore, uint64_t *out_value)
{
    enter(self, FAKE_SEMAPHORE_QUERY);
    return done(self->next->ops->semaphore_query(self->next, semaphore, out_value));
}

static enum hal_status semaphore_signal(struct hal_driver_device *self,
                                        struct hal_semaphore *semaphore, uint64_t value)
{
    enter(self, FAKE_SIGNAL);
    return done(self->next->ops->semaphore_signal(self->next, semaphore, value));
}

static void semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                           enum hal_status status, const char *message)
{
    enter(self, FAKE_FAIL);
    self->next->ops->semaphore_fail(self->next, semaphore, status, message);
    leave();
}

static enum hal_status semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                       const struct hal_semaphore_value *values, size_t count,
                                       int64_t timeout_ns)
{
    enter(self, FAKE_WAIT);
    return done(self->next->ops->semaphores_wait(self->next, mode, values, count, timeout_ns));
}

static void retired(void *user, const struct hal_submission_result *result)
{
    struct flight *flight = user;
    fake_layer.calls[FAKE_RETIRED]++;
    if (fake_layer.on_retired)
        fake_layer.on_retired(fake_layer.user, result);
    if (flight->retired)
        flight->retired(flight->user, result);
    if (result->begin_ns < result->ready_ns || result->end_ns < result->begin_ns ||
        result->busy_ns > result->end_ns - result->begin_ns)
        fake_layer.violations++;
    free(flight);
    fake_layer.in_flight--;
}

static enum hal_status queue_submit(struct hal_driver_device *self,
                                    const struct hal_submission *submission)
{
    enter(self, FAKE_SUBMIT);
    struct flight *flight = malloc(sizeof *flight);
    if (!flight)
        return done(hal_fail(HAL_NO_MEMORY, "no memory for a flight"));
    *flight = (struct flight){submission->retired, submission->user};
    struct hal_submission mine = *submission;
    mine.retired = retired;
    mine.user = flight;
    mine.time_dispatches = fake_layer.time_dispatches;
    fake_layer.in_flight++;
    fake_layer.last_queue = submission->queue;
    const enum hal_status status = self->next->ops->queue_submit(self->next, &mine);
    if (status != HAL_OK) {
        fake_layer.in_flight--;
        free(flight);
    }
    return done(status);
}

static void object_destroy(struct hal_driver_device *self, struct hal_object *object)
{
    enter(self, FAKE_DESTROY);
    self->next->ops->object_destroy(self->next, object);
    leave();
}

static void scope(struct hal_driver_device *self, const char *name)
{
    (void)name;
    enter(self, FAKE_SCOPE);
    leave();
}

static const struct hal_driver_ops ops = {
    .device_destroy = device_destroy,
    .device_query = query,
    .device_wait_idle = wait_idle,
    .buffer_create = buffer_create,
    .buffer_map = buffer_map,
    .buffer_unmap = buffer_unmap,
    .mapping_flush = mapping_flush,
    .mapping_invalidate = mapping_invalidate,
    .executable_create = executable_create,
    .command_buffer_created = commands_created,
    .command_buffer_prepare = prepare,
    .semaphore_create = semaphore_create,
    .semaphore_query = semaphore_query,
    .semaphore_signal = semaphore_signal,
    .semaphore_fail = semaphore_fail,
    .semaphores_wait = semaphores_wait,
    .queue_submit = queue_submit,
    .object_destroy = object_destroy,
    .scope = scope,
};

static struct layer *to_layer(struct hal_layer *layer)
{
    return (struct layer *)((char *)layer - offsetof(struct layer, layer));
}

static void check_quiet(void)
{
    if (fake_layer.inside || fake_layer.in_flight)
        fake_layer.violations++;
    if (fake_layer.while_closed)
        fake_layer.while_closed(fake_layer.user);
}

static enum hal_status flush(struct hal_layer *self)
{
    (void)self;
    fake_layer.flushed++;
    return HAL_OK;
}

static enum hal_status end(struct hal_layer *self)
{
    struct layer *layer = to_layer(self);
    check_quiet();
    layer->ended = true;
    free(layer);
    fake_layer.ended++;
    if (fake_layer.report && write(fake_layer.report, "e", 1) != 1)
        fake_layer.violations++;
    if (fake_layer.end_status != HAL_OK)
        return hal_fail(fake_layer.end_status, "the fake layer was told to fail");
    return HAL_OK;
}

/* What is in flight still calls `retired`: the layer stays. */
static enum hal_status leave_in_flight(struct hal_layer *self)
{
    if (fake_layer.inside || !fake_layer.in_flight)
        fake_layer.violations++;
    to_layer(self)->ended = true;
    fake_layer.kept = self;
    fake_layer.left++;
    if (fake_layer.report && write(fake_layer.report, "l", 1) != 1)
        fake_layer.violations++;
    return HAL_OK;
}

struct count {
    uint32_t objects;
    uint64_t last_id;
    bool in_order;
};

static void visit(void *user, struct hal_object *object)
{
    struct count *count = user;
    count->in_order = count->in_order && object->id > count->last_id;
    count->last_id = object->id;
    count->objects++;
}

static void visit_mapping(void *user, const struct hal_mapping *mapping)
{
    (void)user;
    fake_layer.mappings_at_begin++;
    fake_layer.last_mapping = *mapping;
}

enum hal_status hal_capture_begin(const struct hal_core *core, struct hal_device *device,
                                  struct hal_driver_device *next,
                                  const struct hal_profiling_options *options,
                                  struct hal_layer **out_layer)
{
    struct count count = {.in_order = true};
    if (core->abi != HAL_DRIVER_ABI || core->bytes < sizeof *core)
        return hal_fail(HAL_VERSION, "another core");
    if (fake_layer.begin_status != HAL_OK)
        return hal_fail(fake_layer.begin_status, "the fake layer was told to fail");
    struct layer *layer = calloc(1, sizeof *layer);
    if (!layer)
        return hal_fail(HAL_NO_MEMORY, "no memory for a layer");
    core->each_object(device, visit, &count);
    fake_layer.mappings_at_begin = 0;
    core->each_mapping(device, visit_mapping, NULL);
    fake_layer.objects_at_begin = count.objects;
    fake_layer.objects_in_order = count.in_order;
    snprintf(fake_layer.file, sizeof fake_layer.file, "%s", options->file);
    snprintf(fake_layer.mode, sizeof fake_layer.mode, "%s", options->mode);
    snprintf(fake_layer.stacks, sizeof fake_layer.stacks, "%s", options->stacks);
    fake_layer.force = options->force;
    layer->device = (struct hal_driver_device){.ops = &ops, .next = next};
    layer->layer = (struct hal_layer){
        .device = &layer->device, .flush = flush, .end = end, .leave = leave_in_flight};
    check_quiet();
    fake_layer.begun++;
    *out_layer = &layer->layer;
    return HAL_OK;
}
