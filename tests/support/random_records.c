/* SPDX-License-Identifier: Apache-2.0 */
/* Valid records of every kind with random fields. */
#include "tests/support/random_records.h"

#include <stdlib.h>
#include <string.h>

uint64_t random_number(struct random_records *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t random_below(struct random_records *r, uint64_t limit)
{
    return random_number(r) % limit;
}

uint64_t random_sized(struct random_records *r)
{
    if (random_below(r, 16) == 0)
        return UINT64_MAX;
    return random_number(r) >> random_below(r, 64) >> random_below(r, 2);
}

static uint32_t small(struct random_records *r)
{
    return (uint32_t)random_sized(r);
}

static uint32_t string(struct random_records *r)
{
    return (uint32_t)random_below(r, r->string_count + 1);
}

/* Appends `bytes` zero bytes, rounded up to 8, as a record of that kind. */
static void *append(struct random_records *r, uint32_t kind, size_t bytes)
{
    bytes = (bytes + 7) / 8 * 8;
    if (r->bytes + bytes > r->capacity) {
        r->capacity = 2 * r->capacity + bytes;
        r->data = realloc(r->data, r->capacity);
        if (!r->data)
            abort();
    }
    struct trace_segment *head = (void *)(r->data + r->bytes);
    memset(head, 0, bytes);
    head->kind = (uint16_t)kind;
    head->bytes = (uint32_t)bytes;
    r->bytes += bytes;
    return head;
}

static void fill_bytes(struct random_records *r, void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)data)[i] = (uint8_t)random_number(r);
}

/* ---- Tables ------------------------------------------------------------------------------- */

static void one_string(struct random_records *r, uint32_t id)
{
    const uint32_t length = (uint32_t)random_below(r, 40);
    struct trace_string *record = append(r, TRACE_STRING, sizeof *record + length);
    record->id = id;
    record->length = length;
    for (uint32_t i = 0; i < length; i++)
        record->text[i] = (char)(1 + random_below(r, 255));
}

static void one_stack(struct random_records *r, uint32_t id)
{
    const uint32_t frames = (uint32_t)random_below(r, 30);
    struct trace_stack *record = append(r, TRACE_STACK, sizeof *record + 8 * frames);
    record->id = id;
    record->frame_count = frames;
    for (uint32_t i = 0; i < frames; i++)
        record->frames[i] = random_sized(r);
}

uint32_t random_kind(struct random_records *r)
{
    const uint32_t kind = 1 + (uint32_t)random_below(r, TRACE_SUBMISSION_OUTPUTS + 2);
    if (kind == TRACE_SUBMISSION_OUTPUTS + 1)
        return TRACE_MAPPED_CHANGE;
    return kind <= TRACE_SUBMISSION_OUTPUTS ? kind : TRACE_FAILURE;
}

void random_tables(struct random_records *r)
{
    for (uint32_t i = 1; i <= r->string_count; i++)
        one_string(r, i);
    for (uint32_t i = 1; i <= r->stack_count; i++)
        one_stack(r, i);
    struct trace_thread *thread = append(r, TRACE_THREAD, sizeof *thread);
    thread->id = r->thread;
    thread->system_id = random_sized(r);
    thread->name = string(r);
    struct trace_module *module = append(r, TRACE_MODULE, sizeof *module + 20);
    module->base = random_sized(r);
    module->size = random_sized(r);
    module->path = string(r);
    module->build_id_bytes = 20;
    fill_bytes(r, module->build_id, 20);
}

/* ---- Segments ----------------------------------------------------------------------------- */

static void buffer_barriers(struct random_records *r, struct trace_buffer_barrier *list,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct trace_buffer_barrier){random_sized(r), random_sized(r), random_sized(r),
                                                small(r), small(r)};
}

static void events_wait(struct random_records *r)
{
    const uint32_t buffers = (uint32_t)random_below(r, 4), events = (uint32_t)random_below(r, 5);
    struct trace_events_wait *segment =
        append(r, TRACE_EVENTS_WAIT,
               sizeof *segment + buffers * sizeof(struct trace_buffer_barrier) + events * 8);
    segment->source_stages = small(r);
    segment->target_stages = small(r);
    segment->source_access = small(r);
    segment->target_access = small(r);
    segment->buffer_count = buffers;
    segment->event_count = events;
    buffer_barriers(r, segment->buffers, buffers);
    for (uint32_t i = 0; i < events; i++)
        trace_waited_events(segment)[i] = random_sized(r);
}

static void barrier(struct random_records *r)
{
    const uint32_t buffers = (uint32_t)random_below(r, 4);
    struct trace_barrier *segment =
        append(r, TRACE_BARRIER, sizeof *segment + buffers * sizeof(struct trace_buffer_barrier));
    segment->source_stages = small(r);
    segment->target_stages = small(r);
    segment->source_access = small(r);
    segment->target_access = small(r);
    segment->buffer_count = buffers;
    buffer_barriers(r, segment->buffers, buffers);
}

static void transfer(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_FILL) {
        struct trace_fill *fill = append(r, kind, sizeof *fill);
        fill->target = random_sized(r);
        fill->offset = random_sized(r);
        fill->size = random_sized(r);
        fill->pattern = small(r);
        fill->pattern_bytes = small(r);
    } else if (kind == TRACE_COPY) {
        struct trace_copy *copy = append(r, kind, sizeof *copy);
        copy->source = random_sized(r);
        copy->target = random_sized(r);
        copy->source_offset = random_sized(r);
        copy->target_offset = random_sized(r);
        copy->size = random_sized(r);
    } else {
        const uint64_t size = random_below(r, 8) ? random_below(r, 50) : 65536;
        struct trace_update *update = append(r, kind, sizeof *update + size);
        update->target = random_sized(r);
        update->offset = random_sized(r);
        update->size = size;
        fill_bytes(r, update->data, size);
    }
}

static void state(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_PUSH_CONSTANTS) {
        const uint32_t size = 4 * (uint32_t)random_below(r, 20);
        struct trace_push_constants *push = append(r, kind, sizeof *push + size);
        push->offset = small(r);
        push->size = size;
        fill_bytes(r, push->data, size);
        return;
    }
    const uint32_t bindings = (uint32_t)random_below(r, 32);
    struct trace_push_descriptor_set *push =
        append(r, kind, sizeof *push + bindings * sizeof(struct trace_binding));
    push->set = small(r);
    push->binding_count = bindings;
    for (uint32_t i = 0; i < bindings; i++)
        push->bindings[i] =
            (struct trace_binding){random_sized(r), random_sized(r), random_sized(r)};
}

static void segment(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_BARRIER) {
        barrier(r);
    } else if (kind <= TRACE_UPDATE) {
        transfer(r, kind);
    } else if (kind <= TRACE_PUSH_DESCRIPTOR_SET) {
        state(r, kind);
    } else if (kind == TRACE_DISPATCH) {
        struct trace_dispatch *dispatch = append(r, kind, sizeof *dispatch);
        dispatch->executable = random_sized(r);
        dispatch->entry = small(r);
        for (int i = 0; i < 3; i++)
            dispatch->workgroup_count[i] = small(r);
    } else if (kind == TRACE_DEBUG_BEGIN) {
        struct trace_debug *debug = append(r, kind, sizeof *debug);
        debug->color = small(r);
        debug->label = string(r);
    } else if (kind == TRACE_DISPATCH_INDIRECT) {
        struct trace_dispatch_indirect *dispatch = append(r, kind, sizeof *dispatch);
        dispatch->executable = random_sized(r);
        dispatch->counts = random_sized(r);
        dispatch->offset = random_sized(r);
        dispatch->entry = small(r);
    } else if (kind == TRACE_EVENT_SIGNAL || kind == TRACE_EVENT_RESET) {
        struct trace_event_command *command = append(r, kind, sizeof *command);
        command->event = random_sized(r);
        command->source_stages = small(r);
    } else if (kind == TRACE_EVENTS_WAIT) {
        events_wait(r);
    } else {
        append(r, TRACE_DEBUG_END, sizeof(struct trace_segment));
    }
    r->segment_count++;
}

/* ---- Events ------------------------------------------------------------------------------- */

static void *event(struct random_records *r, uint32_t kind, size_t bytes)
{
    struct trace_event *head = append(r, kind, bytes);
    head->status = (uint16_t)random_below(r, 12);
    head->ticket = random_below(r, 4) ? r->next_ticket++ : 0;
    head->begin_ns = r->now_ns += (int64_t)random_below(r, 100000);
    head->end_ns = r->now_ns += (int64_t)random_below(r, 1000);
    head->thread = r->thread;
    head->stack = (uint32_t)random_below(r, r->stack_count + 1);
    r->event_count++;
    return head;
}

static void buffer_event(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_BUFFER_CREATE) {
        struct trace_buffer_create *create = event(r, kind, sizeof *create);
        create->buffer = random_sized(r);
        create->size = random_sized(r);
        create->memory = small(r);
        create->usage = small(r);
        create->label = string(r);
        create->flags = small(r);
    } else if (kind <= TRACE_MAPPING_INVALIDATE) {
        struct trace_mapping_event *mapping = event(r, kind, sizeof *mapping);
        mapping->buffer = random_sized(r);
        mapping->mapping = random_sized(r);
        mapping->offset = random_sized(r);
        mapping->size = random_sized(r);
        mapping->mode = small(r);
    } else {
        struct trace_content_event *access = event(r, kind, sizeof *access);
        access->buffer = random_sized(r);
        access->offset = random_sized(r);
        access->size = random_sized(r);
        access->content = random_below(r, r->content_count + 1);
        access->flags = small(r);
    }
}

static void object(struct random_records *r, uint32_t kind)
{
    struct trace_object_event *object = event(r, kind, sizeof *object);
    object->object = random_sized(r);
    object->label = string(r);
}

static void command_buffer(struct random_records *r)
{
    struct trace_command_buffer_create *create =
        event(r, TRACE_COMMAND_BUFFER_CREATE, sizeof *create);
    create->command_buffer = random_sized(r);
    create->label = string(r);
    create->mode = small(r);
    create->categories = small(r);
}

static void set_layout(struct random_records *r)
{
    const uint32_t bindings = (uint32_t)random_below(r, 32);
    struct trace_set_layout_create *create =
        event(r, TRACE_SET_LAYOUT_CREATE,
              sizeof *create + bindings * sizeof(struct trace_layout_binding));
    create->layout = random_sized(r);
    create->label = string(r);
    create->binding_count = bindings;
    for (uint32_t i = 0; i < bindings; i++)
        create->bindings[i] = (struct trace_layout_binding){small(r), small(r), small(r)};
}

static void pipeline_layout(struct random_records *r)
{
    const uint32_t sets = (uint32_t)random_below(r, 5);
    struct trace_pipeline_layout_create *create =
        event(r, TRACE_PIPELINE_LAYOUT_CREATE, sizeof *create + sets * 8);
    create->layout = random_sized(r);
    create->label = string(r);
    create->constant_bytes = small(r);
    create->set_count = sets;
    for (uint32_t i = 0; i < sets; i++)
        create->sets[i] = random_sized(r);
}

static void executable(struct random_records *r)
{
    const uint32_t entries = (uint32_t)random_below(r, 5);
    const uint32_t constants = (uint32_t)random_below(r, 4);
    const uint32_t variants = (uint32_t)random_below(r, 3);
    const uint32_t bindings = (uint32_t)random_below(r, 6);
    struct trace_executable_create *create = event(
        r, TRACE_EXECUTABLE_CREATE,
        sizeof *create + entries * sizeof(struct trace_entry_point) +
            variants * sizeof(struct trace_variant) + constants * sizeof(struct trace_constant) +
            bindings * sizeof(struct trace_entry_binding));
    create->executable = random_sized(r);
    create->content = random_below(r, r->content_count + 1);
    create->size = random_sized(r);
    create->format = small(r);
    create->label = string(r);
    create->flags = small(r);
    create->entry_point_count = entries;
    create->constant_count = constants;
    create->variant_count = variants;
    create->binding_count = bindings;
    for (uint32_t i = 0; i < entries; i++)
        create->entry_points[i] = (struct trace_entry_point){string(r),
                                                             {small(r), small(r), small(r)},
                                                             small(r),
                                                             small(r),
                                                             .layout = random_sized(r)};
    struct trace_variant *others = (void *)&create->entry_points[entries];
    for (uint32_t i = 0; i < variants; i++)
        others[i] = (struct trace_variant){.content = random_below(r, r->content_count + 1),
                                           .size = random_sized(r),
                                           .format = small(r)};
    struct trace_constant *list = (void *)&others[variants];
    for (uint32_t i = 0; i < constants; i++)
        list[i] = (struct trace_constant){small(r), small(r), small(r)};
    struct trace_entry_binding *taken = (void *)&list[constants];
    for (uint32_t i = 0; i < bindings; i++)
        taken[i] = (struct trace_entry_binding){small(r), small(r), small(r), small(r)};
}

static void seal(struct random_records *r, uint32_t most_segments)
{
    struct trace_command_buffer_seal *record = event(r, TRACE_COMMAND_BUFFER_SEAL, sizeof *record);
    const size_t seal_at = r->bytes - sizeof *record, begin = r->bytes;
    const uint32_t count = (uint32_t)random_below(r, (uint64_t)most_segments + 1);
    uint32_t dispatches = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t kind = 1 + (uint32_t)random_below(r, RANDOM_LAST_SEGMENT);
        dispatches += trace_is_dispatch(kind);
        segment(r, kind);
    }
    record = (void *)(r->data + seal_at);
    record->command_buffer = random_sized(r);
    record->segment_count = count;
    record->dispatch_count = dispatches;
    record->segment_bytes = r->bytes - begin;
    record->flags = small(r);
}

static void values(struct random_records *r, struct trace_semaphore_value *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct trace_semaphore_value){random_sized(r), random_sized(r)};
}

static void semaphore(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_SEMAPHORE_CREATE) {
        struct trace_semaphore_create *create = event(r, kind, sizeof *create);
        create->semaphore = random_sized(r);
        create->initial_value = random_sized(r);
        create->label = string(r);
        create->flags = small(r);
    } else if (kind == TRACE_SEMAPHORE_WAIT) {
        const uint32_t count = (uint32_t)random_below(r, 4);
        struct trace_semaphore_wait *wait =
            event(r, kind, sizeof *wait + count * sizeof wait->values[0]);
        wait->timeout_ns = (int64_t)random_sized(r);
        wait->mode = small(r);
        wait->value_count = count;
        values(r, wait->values, count);
    } else {
        struct trace_semaphore_event *operation = event(r, kind, sizeof *operation);
        operation->semaphore = random_sized(r);
        operation->value = random_sized(r);
        operation->message = string(r);
    }
}

static void queue_event(struct random_records *r, uint32_t kind)
{
    if (kind == TRACE_SUBMIT) {
        const uint32_t waits = (uint32_t)random_below(r, 3), signals = (uint32_t)random_below(r, 3);
        const uint32_t buffers = (uint32_t)random_below(r, 4);
        struct trace_submit *submit = event(
            r, kind, sizeof *submit + (waits + signals) * sizeof submit->values[0] + buffers * 8);
        submit->submission = random_sized(r);
        submit->queue = (uint32_t)random_below(r, 64);
        submit->wait_count = waits;
        submit->signal_count = signals;
        submit->command_buffer_count = buffers;
        submit->operation = (uint32_t)random_below(r, 10);
        submit->file = string(r);
        submit->buffer = random_sized(r);
        submit->offset = random_sized(r);
        submit->size = random_sized(r);
        submit->file_offset = random_sized(r);
        values(r, submit->values, waits + signals);
        uint64_t *list = (void *)&submit->values[waits + signals];
        for (uint32_t i = 0; i < buffers; i++)
            list[i] = random_sized(r);
    } else {
        struct trace_submission_done *done = event(r, kind, sizeof *done);
        done->submission = random_sized(r);
        done->ready_ns = (int64_t)random_sized(r);
        done->busy_ns = (int64_t)random_sized(r);
        done->queue = small(r);
        done->message = string(r);
    }
}

static void subspan(struct random_records *r)
{
    struct trace_subspan_create *create = event(r, TRACE_SUBSPAN_CREATE, sizeof *create);
    create->subspan = random_sized(r);
    create->root = random_sized(r);
    create->offset = random_sized(r);
    create->size = random_sized(r);
    create->label = string(r);
    create->flags = small(r);
}

static void collective(struct random_records *r)
{
    struct trace_collective *record = event(r, TRACE_COLLECTIVE, sizeof *record);
    record->submission = random_sized(r);
    record->channel = random_sized(r);
    record->collective = small(r);
    record->type = small(r);
    record->reduction = small(r);
    record->peer = small(r);
    record->count = random_sized(r);
    record->number = random_sized(r);
    record->send = random_sized(r);
    record->send_offset = random_sized(r);
    record->send_size = random_sized(r);
    record->receive = random_sized(r);
    record->receive_offset = random_sized(r);
    record->receive_size = random_sized(r);
}

static void host_call(struct random_records *r, uint32_t kind)
{
    struct trace_host_call *call = event(r, kind, sizeof *call);
    call->submission = random_sized(r);
    call->message = string(r);
}

static void dispatch_times(struct random_records *r)
{
    const uint32_t count = (uint32_t)random_below(r, 20);
    struct trace_dispatch_times *times =
        event(r, TRACE_DISPATCH_TIMES, sizeof *times + count * sizeof times->times[0]);
    times->submission = random_sized(r);
    times->queue = small(r);
    times->flags = small(r);
    times->time_count = count;
    for (uint32_t i = 0; i < count; i++)
        times->times[i] = (struct trace_dispatch_time){.command_buffer = small(r),
                                                       .dispatch = small(r),
                                                       .begin_ns = (int64_t)random_sized(r),
                                                       .end_ns = (int64_t)random_sized(r)};
}

static void command_stacks(struct random_records *r)
{
    const uint32_t count = (uint32_t)random_below(r, 20);
    struct trace_command_stacks *stacks =
        event(r, TRACE_COMMAND_STACKS, sizeof *stacks + count * sizeof stacks->stacks[0]);
    stacks->command_buffer = random_sized(r);
    stacks->first = small(r);
    stacks->stack_count = count;
    for (uint32_t i = 0; i < count; i++)
        stacks->stacks[i] = (uint32_t)random_below(r, r->stack_count + 1);
}

static void submission_outputs(struct random_records *r)
{
    const uint32_t count = (uint32_t)random_below(r, 20);
    struct trace_submission_outputs *outputs =
        event(r, TRACE_SUBMISSION_OUTPUTS, sizeof *outputs + count * sizeof outputs->outputs[0]);
    outputs->submission = random_sized(r);
    outputs->queue = small(r);
    outputs->output_count = count;
    for (uint32_t i = 0; i < count; i++)
        outputs->outputs[i] = (struct trace_written){
            .buffer = random_sized(r),
            .offset = random_sized(r),
            .size = random_sized(r),
            .digest = {random_sized(r), random_sized(r), random_sized(r), random_sized(r)},
            .state = small(r)};
}

static void file(struct random_records *r)
{
    struct trace_file *file = event(r, TRACE_FILE, sizeof *file);
    file->part.size = random_sized(r);
    file->part.content = random_below(r, r->content_count + 1);
    file->part.flags = small(r);
    file->part.file = string(r);
    file->part.file_offset = random_sized(r);
    file->file_bytes = random_sized(r);
    file->modified_ns = (int64_t)random_sized(r);
}

static void mapped_change(struct random_records *r)
{
    struct trace_mapped_change *change = event(r, TRACE_MAPPED_CHANGE, sizeof *change);
    change->part.buffer = random_sized(r);
    change->part.offset = random_sized(r);
    change->part.size = random_sized(r);
    change->part.content = random_below(r, r->content_count + 1);
    change->part.flags = small(r);
    change->before = random_below(r, r->content_count + 1);
}

static void queue_flush(struct random_records *r)
{
    struct trace_queue_flush *flush = event(r, TRACE_QUEUE_FLUSH, sizeof *flush);
    flush->queues = random_sized(r);
}

static void unsupported_call(struct random_records *r)
{
    struct trace_unsupported *unsupported = event(r, TRACE_UNSUPPORTED, sizeof *unsupported);
    unsupported->object = random_sized(r);
    unsupported->call = string(r);
    unsupported->message = string(r);
}

static void failure(struct random_records *r)
{
    struct trace_failure *failure = event(r, TRACE_FAILURE, sizeof *failure);
    failure->call = string(r);
    failure->message = string(r);
}

static void channel(struct random_records *r)
{
    struct trace_channel_create *create = event(r, TRACE_CHANNEL_CREATE, sizeof *create);
    create->channel = random_sized(r);
    create->group = random_sized(r);
    create->rank = small(r);
    create->count = small(r);
    create->label = string(r);
    create->flags = small(r);
}

static void wait_idle(struct random_records *r)
{
    struct trace_wait_idle *wait = event(r, TRACE_WAIT_IDLE, sizeof *wait);
    wait->timeout_ns = (int64_t)random_sized(r);
}

static void scope(struct random_records *r, uint32_t kind)
{
    struct trace_scope *scope = event(r, kind, sizeof *scope);
    scope->name = string(r);
}

void random_event(struct random_records *r, uint32_t kind, uint32_t most_segments)
{
    switch ((enum trace_event_kind)kind) {
    case TRACE_BUFFER_CREATE:
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP:
    case TRACE_MAPPING_FLUSH:
    case TRACE_MAPPING_INVALIDATE:
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: buffer_event(r, kind); break;
    case TRACE_COMMAND_BUFFER_CREATE: command_buffer(r); break;
    case TRACE_BUFFER_DESTROY:
    case TRACE_EXECUTABLE_DESTROY:
    case TRACE_COMMAND_BUFFER_DESTROY:
    case TRACE_SEMAPHORE_DESTROY:
    case TRACE_EVENT_CREATE:
    case TRACE_EVENT_DESTROY:
    case TRACE_SUBSPAN_DESTROY:
    case TRACE_SET_LAYOUT_DESTROY:
    case TRACE_PIPELINE_LAYOUT_DESTROY: object(r, kind); break;
    case TRACE_SUBSPAN_CREATE: subspan(r); break;
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END: host_call(r, kind); break;
    case TRACE_QUEUE_FLUSH: queue_flush(r); break;
    case TRACE_DISPATCH_TIMES: dispatch_times(r); break;
    case TRACE_COMMAND_STACKS: command_stacks(r); break;
    case TRACE_SUBMISSION_OUTPUTS: submission_outputs(r); break;
    case TRACE_FILE: file(r); break;
    case TRACE_UNSUPPORTED: unsupported_call(r); break;
    case TRACE_FAILURE: failure(r); break;
    case TRACE_CHANNEL_CREATE: channel(r); break;
    case TRACE_CHANNEL_DESTROY: object(r, kind); break;
    case TRACE_COLLECTIVE: collective(r); break;
    case TRACE_MAPPED_CHANGE: mapped_change(r); break;
    case TRACE_SET_LAYOUT_CREATE: set_layout(r); break;
    case TRACE_PIPELINE_LAYOUT_CREATE: pipeline_layout(r); break;
    case TRACE_EXECUTABLE_CREATE: executable(r); break;
    case TRACE_COMMAND_BUFFER_SEAL: seal(r, most_segments); break;
    case TRACE_SEMAPHORE_CREATE:
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL:
    case TRACE_SEMAPHORE_WAIT: semaphore(r, kind); break;
    case TRACE_SUBMIT:
    case TRACE_SUBMISSION_DONE: queue_event(r, kind); break;
    case TRACE_WAIT_IDLE: wait_idle(r); break;
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END: scope(r, kind); break;
    case TRACE_STRING:
    case TRACE_STACK:
    case TRACE_MODULE:
    case TRACE_THREAD: break; /* no events */
    }
}

void random_clear(struct random_records *r)
{
    r->bytes = r->event_count = r->segment_count = 0;
}

void random_finish(struct random_records *r)
{
    free(r->data);
    *r = (struct random_records){0};
}
