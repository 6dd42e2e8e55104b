/* SPDX-License-Identifier: Apache-2.0 */
/* HAL structs into trace records, written in place into the thread's ring. */
#include "capture/capture.h"
#include "capture/reflect.h"

#include "format/limits.h"
#include "hal/base/mem.h"

/* Enumerations are stored as the HAL's numbers. */
#define SAME_NUMBER(format, hal) _Static_assert((int)(format) == (int)(hal), #format)
SAME_NUMBER(TRACE_BARRIER, HAL_SEGMENT_BARRIER);
SAME_NUMBER(TRACE_FILL, HAL_SEGMENT_FILL);
SAME_NUMBER(TRACE_COPY, HAL_SEGMENT_COPY);
SAME_NUMBER(TRACE_UPDATE, HAL_SEGMENT_UPDATE);
SAME_NUMBER(TRACE_PUSH_CONSTANTS, HAL_SEGMENT_PUSH_CONSTANTS);
SAME_NUMBER(TRACE_PUSH_DESCRIPTOR_SET, HAL_SEGMENT_PUSH_DESCRIPTOR_SET);
SAME_NUMBER(TRACE_DISPATCH, HAL_SEGMENT_DISPATCH);
SAME_NUMBER(TRACE_DEBUG_BEGIN, HAL_SEGMENT_DEBUG_BEGIN);
SAME_NUMBER(TRACE_DEBUG_END, HAL_SEGMENT_DEBUG_END);
SAME_NUMBER(TRACE_DISPATCH_INDIRECT, HAL_SEGMENT_DISPATCH_INDIRECT);
SAME_NUMBER(TRACE_EVENT_SIGNAL, HAL_SEGMENT_EVENT_SIGNAL);
SAME_NUMBER(TRACE_EVENT_RESET, HAL_SEGMENT_EVENT_RESET);
SAME_NUMBER(TRACE_EVENTS_WAIT, HAL_SEGMENT_EVENTS_WAIT);
SAME_NUMBER(TRACE_OPERATION_DISPATCH, HAL_OPERATION_DISPATCH);
SAME_NUMBER(TRACE_OPERATION_ALLOCA, HAL_OPERATION_ALLOCA);
SAME_NUMBER(TRACE_OPERATION_DEALLOCA, HAL_OPERATION_DEALLOCA);
SAME_NUMBER(TRACE_OPERATION_READ, HAL_OPERATION_READ);
SAME_NUMBER(TRACE_OPERATION_WRITE, HAL_OPERATION_WRITE);
SAME_NUMBER(TRACE_MAX_QUEUES, HAL_MAX_QUEUES);
SAME_NUMBER(TRACE_MAX_LIST, HAL_MAX_LIST);
SAME_NUMBER(TRACE_MAX_SETS, HAL_MAX_SETS);
SAME_NUMBER(TRACE_MAX_BINDINGS, HAL_MAX_BINDINGS);
SAME_NUMBER(TRACE_MAX_VARIANTS, HAL_MAX_VARIANTS);
SAME_NUMBER(TRACE_MAX_UPDATE_BYTES, HAL_MAX_UPDATE_BYTES);
SAME_NUMBER(TRACE_MAX_CONSTANT_BYTES, HAL_MAX_CONSTANT_BYTES);
_Static_assert(sizeof(struct trace_constant) == sizeof(struct hal_constant), "constants");

static struct trace_event head(const struct capture_call *call, enum trace_event_kind kind,
                               uint64_t bytes)
{
    return (struct trace_event){.kind = (uint16_t)kind,
                                .status = (uint16_t)call->status,
                                .bytes = (uint32_t)bytes,
                                .ticket = call->ticket,
                                .begin_ns = call->begin_ns,
                                .end_ns = call->end_ns,
                                .stack = call->stack};
}

static uint64_t id_of(const struct hal_object *object)
{
    return object ? object->id : 0;
}

static uint64_t buffer_id(const struct hal_buffer *buffer)
{
    return buffer ? buffer->object.id : 0;
}

/* Lists of a record have a limit in the format. */
static bool list_fits(const struct capture_call *call, const char *what, size_t count)
{
    struct capture_stream *stream = call->thread->stream;
    if (count <= TRACE_MAX_LIST)
        return true;
    atomic_fetch_add(&stream->lost_records, 1);
    capture_stop(stream, HAL_UNSUPPORTED, "%zu %s in one call: a trace holds at most %u", count,
                 what, TRACE_MAX_LIST);
    return false;
}

/* ---- Objects ---- */

void capture_record_object(const struct capture_call *call, enum trace_event_kind kind,
                           const struct hal_object *object, const char *label, uint32_t mode)
{
    const uint32_t string = capture_string(call->thread, label);
    struct trace_object_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_object_event){.head = head(call, kind, sizeof *record),
                                          .object = object->id,
                                          .label = string,
                                          .mode = mode};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_buffer(const struct capture_call *call, const struct hal_buffer_desc *desc,
                           const struct hal_buffer *buffer, uint32_t flags)
{
    const uint32_t label = capture_string(call->thread, desc->label);
    struct trace_buffer_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_buffer_create){
        .head = head(call, TRACE_BUFFER_CREATE, sizeof *record),
        .buffer = buffer_id(buffer),
        .size = desc->bytes,
        .memory = buffer ? buffer->memory : desc->memory,
        .usage = buffer ? buffer->usage : desc->usage,
        .label = label,
        .flags = flags,
    };
    capture_publish(call->thread, sizeof *record);
}

void capture_record_subspan(const struct capture_call *call, const struct hal_buffer *subspan,
                            uint32_t flags)
{
    const uint32_t label = capture_string(call->thread, subspan->object.label);
    struct trace_subspan_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record =
        (struct trace_subspan_create){.head = head(call, TRACE_SUBSPAN_CREATE, sizeof *record),
                                      .subspan = subspan->object.id,
                                      .root = buffer_id(subspan->root),
                                      .offset = subspan->root_offset,
                                      .size = subspan->bytes,
                                      .label = label,
                                      .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_mapping(const struct capture_call *call, enum trace_event_kind kind,
                            const struct hal_mapping *mapping, uint64_t number, uint64_t offset,
                            uint64_t bytes)
{
    struct trace_mapping_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_mapping_event){.head = head(call, kind, sizeof *record),
                                           .buffer = buffer_id(mapping->buffer),
                                           .mapping = number,
                                           .offset = offset,
                                           .size = bytes,
                                           .mode = mapping->mode};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_semaphore(const struct capture_call *call, const char *label,
                              const struct hal_semaphore *semaphore, uint64_t value, uint32_t flags)
{
    const uint32_t string = capture_string(call->thread, label);
    struct trace_semaphore_create *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record =
        (struct trace_semaphore_create){.head = head(call, TRACE_SEMAPHORE_CREATE, sizeof *record),
                                        .semaphore = semaphore ? semaphore->object.id : 0,
                                        .initial_value = value,
                                        .label = string,
                                        .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

/* ---- Objects of the core ---- */

static void record_set_layout(const struct capture_call *call, const struct hal_set_layout *layout)
{
    const uint32_t label = capture_string(call->thread, layout->object.label);
    const size_t used = sizeof(struct trace_set_layout_create) +
                        layout->binding_count * sizeof(struct trace_layout_binding);
    const size_t bytes = hal_align_up(used, 8);
    struct trace_set_layout_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    memset((uint8_t *)record + used, 0, bytes - used);
    *record = (struct trace_set_layout_create){.head = head(call, TRACE_SET_LAYOUT_CREATE, bytes),
                                               .layout = layout->object.id,
                                               .label = label,
                                               .binding_count = (uint32_t)layout->binding_count};
    for (size_t i = 0; i < layout->binding_count; i++)
        record->bindings[i] =
            (struct trace_layout_binding){.index = layout->bindings[i].index,
                                          .kind = (uint32_t)layout->bindings[i].kind,
                                          .flags = layout->bindings[i].flags};
    capture_publish(call->thread, bytes);
}

static void record_pipeline_layout(const struct capture_call *call,
                                   const struct hal_pipeline_layout *layout)
{
    const uint32_t label = capture_string(call->thread, layout->object.label);
    const size_t bytes =
        sizeof(struct trace_pipeline_layout_create) + layout->set_count * sizeof(uint64_t);
    struct trace_pipeline_layout_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_pipeline_layout_create){
        .head = head(call, TRACE_PIPELINE_LAYOUT_CREATE, bytes),
        .layout = layout->object.id,
        .label = label,
        .constant_bytes = layout->constant_bytes,
        .set_count = (uint32_t)layout->set_count};
    for (size_t i = 0; i < layout->set_count; i++)
        record->sets[i] = layout->sets[i]->object.id;
    capture_publish(call->thread, bytes);
}

void capture_record_own_object(const struct capture_call *call, const struct hal_object *object)
{
    if (object->kind == HAL_OBJECT_SET_LAYOUT)
        record_set_layout(call, (const void *)object);
    else if (object->kind == HAL_OBJECT_PIPELINE_LAYOUT)
        record_pipeline_layout(call, (const void *)object);
    else
        capture_record_object(call, TRACE_EVENT_CREATE, object, object->label, 0);
}

/* ---- Executables ---- */

/* All variants in staging memory. */
struct staged_variants {
    size_t taken; /* by the device; the first, when it took none */
    uint64_t positions[HAL_MAX_VARIANTS];
};

static size_t staged_bytes(size_t bytes)
{
    return hal_align_up(bytes, CAPTURE_STAGING_ALIGNMENT);
}

/* They are claimed at once: a thread that waited for room with contents unpublished might wait for
 * ever. The writer releases them one by one. */
static bool stage_variants(struct capture_thread *thread, const struct hal_executable_desc *desc,
                           struct staged_variants *out_staged)
{
    uint64_t position = 0;
    size_t bytes = 0;
    if (desc->variant_count == 1)
        return capture_stage(thread, desc->variants[0].data, desc->variants[0].bytes,
                             &out_staged->positions[0]);
    for (size_t i = 0; i < desc->variant_count; i++) {
        out_staged->positions[i] = bytes;
        bytes += staged_bytes(desc->variants[i].bytes);
    }
    uint8_t *all = hal_alloc(1, bytes);
    if (!all) {
        capture_stop(thread->stream, HAL_NO_MEMORY, "no memory for %zu bytes of executables",
                     bytes);
        return false;
    }
    for (size_t i = 0; i < desc->variant_count; i++)
        memcpy(all + out_staged->positions[i], desc->variants[i].data, desc->variants[i].bytes);
    const bool done = capture_stage(thread, all, bytes, &position);
    for (size_t i = 0; i < desc->variant_count; i++)
        out_staged->positions[i] += position;
    free(all);
    return done;
}

static void fill_entry_points(struct trace_executable_create *record,
                              const struct hal_executable_desc *desc, const uint32_t *names)
{
    for (size_t i = 0; i < desc->entry_point_count; i++) {
        const struct hal_entry_point *entry = &desc->entry_points[i];
        record->entry_points[i] = (struct trace_entry_point){
            .name = names[i],
            .group_size = {entry->group_size[0], entry->group_size[1], entry->group_size[2]},
            .constant_bytes = entry->constant_bytes,
            .constants_slot = entry->constants_slot,
            .layout = desc->layouts && desc->layouts[i] ? desc->layouts[i]->object.id : 0,
        };
        for (size_t k = 0; k < HAL_MAX_GROUP_ARGUMENTS; k++)
            record->entry_points[i].group_argument_bytes[k] = entry->group_argument_bytes[k];
    }
}

static void fill_lists(struct trace_executable_create *record,
                       const struct hal_executable_desc *desc, const struct staged_variants *staged,
                       const struct capture_bindings *bindings)
{
    struct trace_variant *variant =
        (struct trace_variant *)(void *)(record->entry_points + desc->entry_point_count);
    for (size_t i = 0; i < desc->variant_count; i++) {
        if (i != staged->taken)
            *variant++ = (struct trace_variant){.content = staged->positions[i],
                                                .size = desc->variants[i].bytes,
                                                .format = (uint32_t)desc->variants[i].format};
    }
    struct trace_constant *constants = (struct trace_constant *)(void *)variant;
    for (size_t i = 0; i < desc->constant_count; i++)
        constants[i] = (struct trace_constant){.index = desc->constants[i].index,
                                               .type = desc->constants[i].type,
                                               .bits = desc->constants[i].bits};
    if (bindings->count)
        memcpy(constants + desc->constant_count, bindings->list,
               bindings->count * sizeof *bindings->list);
}

static bool executable_fits(const struct capture_call *call, const struct hal_executable_desc *desc)
{
    if (!list_fits(call, "entry points", desc->entry_point_count) ||
        !list_fits(call, "specialization constants", desc->constant_count))
        return false;
    struct capture_stream *stream = call->thread->stream;
    const uint64_t staging = stream->staging.bytes;
    const uint64_t most = staging < TRACE_MAX_CONTENT_BYTES ? staging : TRACE_MAX_CONTENT_BYTES;
    uint64_t bytes = 0;
    for (size_t i = 0; i < desc->variant_count; i++)
        bytes += desc->variants[i].bytes <= most ? staged_bytes(desc->variants[i].bytes) : most + 1;
    if (bytes <= most)
        return true;
    atomic_fetch_add(&stream->lost_records, 1);
    capture_stop(stream, HAL_UNSUPPORTED,
                 "an executable of %zu variants and %llu bytes or more: the capture holds at most "
                 "%llu",
                 desc->variant_count, (unsigned long long)bytes, (unsigned long long)most);
    return false;
}

/* What is known of bindings must not make a record too large. */
static size_t executable_bytes(const struct capture_call *call,
                               const struct hal_executable_desc *desc,
                               struct capture_bindings *bindings)
{
    const uint64_t ring = call->thread->stream->ring_bytes;
    const uint64_t most = ring < TRACE_MAX_RECORD_BYTES ? ring : TRACE_MAX_RECORD_BYTES;
    const size_t needed = sizeof(struct trace_executable_create) +
                          desc->entry_point_count * sizeof(struct trace_entry_point) +
                          (desc->variant_count - 1) * sizeof(struct trace_variant) +
                          desc->constant_count * sizeof(struct trace_constant);
    const size_t used = needed + bindings->count * sizeof *bindings->list;
    if (hal_align_up(used, 8) <= most)
        return used;
    bindings->known = false;
    bindings->count = 0;
    return needed;
}

static void record_executable(const struct capture_call *call,
                              const struct hal_executable_desc *desc,
                              const struct hal_executable *executable, uint32_t flags,
                              const uint32_t *names, struct capture_bindings *bindings)
{
    struct staged_variants staged = {.taken = executable ? executable->variant : 0};
    const size_t used = executable_bytes(call, desc, bindings);
    const size_t bytes = hal_align_up(used, 8);
    const uint32_t label = capture_string(call->thread, desc->label);
    if (!stage_variants(call->thread, desc, &staged))
        return;
    struct trace_executable_create *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    memset((uint8_t *)record + used, 0, bytes - used);
    *record = (struct trace_executable_create){
        .head = head(call, TRACE_EXECUTABLE_CREATE, bytes),
        .executable = executable ? executable->object.id : 0,
        .content = staged.positions[staged.taken],
        .size = desc->variants[staged.taken].bytes,
        .format = (uint32_t)desc->variants[staged.taken].format,
        .label = label,
        .flags = flags | (bindings->known ? (uint32_t)TRACE_FLAG_REFLECTED : 0U),
        .entry_point_count = (uint32_t)desc->entry_point_count,
        .constant_count = (uint32_t)desc->constant_count,
        .variant_count = (uint32_t)desc->variant_count - 1,
        .binding_count = (uint32_t)bindings->count,
    };
    fill_entry_points(record, desc, names);
    fill_lists(record, desc, &staged, bindings);
    capture_publish(call->thread, bytes);
}

void capture_record_executable(const struct capture_call *call, struct hal_driver_device *next,
                               const struct hal_executable_desc *desc,
                               struct hal_executable *executable, uint32_t flags)
{
    struct capture_bindings bindings;
    if (!executable_fits(call, desc))
        return;
    uint32_t *names = hal_alloc(desc->entry_point_count, sizeof *names);
    if (!names) {
        capture_stop(call->thread->stream, HAL_NO_MEMORY, "no memory for %zu entry points",
                     desc->entry_point_count);
        return;
    }
    for (size_t i = 0; i < desc->entry_point_count; i++)
        names[i] = capture_string(call->thread, desc->entry_points[i].name);
    capture_reflect(next, executable, desc->entry_point_count, &bindings);
    record_executable(call, desc, executable, flags, names, &bindings);
    free(bindings.list);
    free(names);
}

/* ---- Segments ---- */

/* Records of segments have the segments' own layout, with ids for pointers, but for two kinds. */
#define SAME_SIZE(format, hal) _Static_assert(sizeof(format) == sizeof(hal), #format)
SAME_SIZE(struct trace_segment, struct hal_segment);
SAME_SIZE(struct trace_barrier, struct hal_segment_barrier);
SAME_SIZE(struct trace_buffer_barrier, struct hal_buffer_barrier);
SAME_SIZE(struct trace_fill, struct hal_segment_fill);
SAME_SIZE(struct trace_copy, struct hal_segment_copy);
SAME_SIZE(struct trace_update, struct hal_segment_update);
SAME_SIZE(struct trace_push_constants, struct hal_segment_push_constants);
SAME_SIZE(struct trace_push_descriptor_set, struct hal_segment_push_descriptor_set);
SAME_SIZE(struct trace_binding, struct hal_binding);
SAME_SIZE(struct trace_event_command, struct hal_segment_event);
SAME_SIZE(struct trace_events_wait, struct hal_segment_events_wait);
SAME_SIZE(struct trace_dispatch_indirect, struct hal_segment_dispatch_indirect);

static inline uint32_t record_bytes(const struct hal_segment *segment)
{
    if (segment->kind == HAL_SEGMENT_DISPATCH)
        return sizeof(struct trace_dispatch);
    if (segment->kind == HAL_SEGMENT_DEBUG_BEGIN)
        return sizeof(struct trace_debug);
    return segment->bytes;
}

static void fill_buffer_barriers(struct trace_buffer_barrier *out,
                                 const struct hal_buffer_barrier *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (struct trace_buffer_barrier){.buffer = buffer_id(buffers[i].buffer),
                                               .offset = buffers[i].offset,
                                               .size = buffers[i].bytes,
                                               .source_access = buffers[i].source_access,
                                               .target_access = buffers[i].target_access};
}

static void fill_barrier(void *out, const struct hal_segment *segment, struct trace_segment head)
{
    const struct hal_segment_barrier *barrier = (const void *)segment;
    struct trace_barrier *record = out;
    *record = (struct trace_barrier){.head = head,
                                     .source_stages = barrier->source_stages,
                                     .target_stages = barrier->target_stages,
                                     .source_access = barrier->source_access,
                                     .target_access = barrier->target_access,
                                     .buffer_count = barrier->buffer_count};
    fill_buffer_barriers(record->buffers, barrier->buffers, barrier->buffer_count);
}

static void fill_events_wait(void *out, const struct hal_segment *segment,
                             struct trace_segment head)
{
    const struct hal_segment_events_wait *wait = (const void *)segment;
    struct trace_events_wait *record = out;
    *record = (struct trace_events_wait){.head = head,
                                         .source_stages = wait->source_stages,
                                         .target_stages = wait->target_stages,
                                         .source_access = wait->source_access,
                                         .target_access = wait->target_access,
                                         .buffer_count = wait->buffer_count,
                                         .event_count = wait->event_count};
    fill_buffer_barriers(record->buffers, wait->buffers, wait->buffer_count);
    for (uint32_t i = 0; i < wait->event_count; i++)
        trace_waited_events(record)[i] = hal_waited_events(wait)[i]->object.id;
}

static void fill_update(void *out, const struct hal_segment *segment, struct trace_segment head)
{
    const struct hal_segment_update *update = (const void *)segment;
    struct trace_update *record = out;
    *record = (struct trace_update){.head = head,
                                    .target = buffer_id(update->target),
                                    .offset = update->offset,
                                    .size = update->bytes};
    memcpy(record->data, update->data, update->bytes);
    if (update->bytes % 8)
        memset(record->data + update->bytes, 0, head.bytes - sizeof *record - update->bytes);
}

static void fill_push_constants(void *out, const struct hal_segment *segment,
                                struct trace_segment head)
{
    const struct hal_segment_push_constants *push = (const void *)segment;
    struct trace_push_constants *record = out;
    *record =
        (struct trace_push_constants){.head = head, .offset = push->offset, .size = push->bytes};
    memcpy(record->data, push->data, push->bytes);
    if (push->bytes % 8)
        memset(record->data + push->bytes, 0, head.bytes - sizeof *record - push->bytes);
}

static void fill_push_descriptor_set(void *out, const struct hal_segment *segment,
                                     struct trace_segment head)
{
    const struct hal_segment_push_descriptor_set *push = (const void *)segment;
    struct trace_push_descriptor_set *record = out;
    *record = (struct trace_push_descriptor_set){
        .head = head, .set = push->set, .binding_count = push->binding_count};
    for (uint32_t i = 0; i < push->binding_count; i++) {
        const struct hal_binding *from = &push->bindings[i];
        record->bindings[i] = (struct trace_binding){
            .buffer = buffer_id(from->buffer), .offset = from->offset, .size = from->bytes};
    }
}

static void fill_segment(void *out, const struct hal_segment *segment, struct trace_segment head,
                         uint32_t label)
{
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_BARRIER: fill_barrier(out, segment, head); break;
    case HAL_SEGMENT_EVENT_SIGNAL:
    case HAL_SEGMENT_EVENT_RESET: {
        const struct hal_segment_event *event = (const void *)segment;
        *(struct trace_event_command *)out = (struct trace_event_command){
            .head = head, .event = event->event->object.id, .source_stages = event->source_stages};
        break;
    }
    case HAL_SEGMENT_EVENTS_WAIT: fill_events_wait(out, segment, head); break;
    case HAL_SEGMENT_FILL: {
        const struct hal_segment_fill *fill = (const void *)segment;
        *(struct trace_fill *)out = (struct trace_fill){.head = head,
                                                        .target = buffer_id(fill->target),
                                                        .offset = fill->offset,
                                                        .size = fill->bytes,
                                                        .pattern = fill->pattern,
                                                        .pattern_bytes = fill->pattern_bytes};
        break;
    }
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = (const void *)segment;
        *(struct trace_copy *)out = (struct trace_copy){.head = head,
                                                        .source = buffer_id(copy->source),
                                                        .target = buffer_id(copy->target),
                                                        .source_offset = copy->source_offset,
                                                        .target_offset = copy->target_offset,
                                                        .size = copy->bytes};
        break;
    }
    case HAL_SEGMENT_UPDATE: fill_update(out, segment, head); break;
    case HAL_SEGMENT_PUSH_CONSTANTS: fill_push_constants(out, segment, head); break;
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET: fill_push_descriptor_set(out, segment, head); break;
    case HAL_SEGMENT_DISPATCH: {
        const struct hal_segment_dispatch *dispatch = (const void *)segment;
        *(struct trace_dispatch *)out = (struct trace_dispatch){
            .head = head,
            .executable = dispatch->executable->object.id,
            .entry = dispatch->entry,
            .workgroup_count = {dispatch->workgroup_count[0], dispatch->workgroup_count[1],
                                dispatch->workgroup_count[2]}};
        break;
    }
    case HAL_SEGMENT_DISPATCH_INDIRECT: {
        const struct hal_segment_dispatch_indirect *dispatch = (const void *)segment;
        *(struct trace_dispatch_indirect *)out =
            (struct trace_dispatch_indirect){.head = head,
                                             .executable = dispatch->executable->object.id,
                                             .counts = buffer_id(dispatch->counts),
                                             .offset = dispatch->offset,
                                             .entry = dispatch->entry};
        break;
    }
    case HAL_SEGMENT_DEBUG_BEGIN: {
        const struct hal_segment_debug *debug = (const void *)segment;
        *(struct trace_debug *)out =
            (struct trace_debug){.head = head, .color = debug->color, .label = label};
        break;
    }
    case HAL_SEGMENT_DEBUG_END: *(struct trace_segment *)out = head; break;
    }
}

/* All strings of the command buffer get their numbers before the seal: nothing may come between a
 * seal and its segments. */
static bool number_labels(struct capture_thread *thread, const struct hal_command_buffer *commands)
{
    hal_each_segment (commands, segment) {
        const struct hal_segment_debug *debug = (const void *)segment;
        if (segment->kind == HAL_SEGMENT_DEBUG_BEGIN && !capture_string(thread, debug->label))
            return false;
    }
    return true;
}

struct sizes {
    uint64_t total;
    uint64_t largest;
    size_t longest_list;
    bool labels;
};

static size_t longest_list(const struct hal_segment *segment)
{
    if (segment->kind == HAL_SEGMENT_BARRIER)
        return ((const struct hal_segment_barrier *)(const void *)segment)->buffer_count;
    if (segment->kind != HAL_SEGMENT_EVENTS_WAIT)
        return 0;
    const struct hal_segment_events_wait *wait = (const void *)segment;
    return wait->buffer_count > wait->event_count ? wait->buffer_count : wait->event_count;
}

static struct sizes measure(const struct hal_command_buffer *commands)
{
    struct sizes sizes = {0};
    hal_each_segment (commands, segment) {
        const uint32_t bytes = record_bytes(segment);
        sizes.total += bytes;
        if (bytes > sizes.largest)
            sizes.largest = bytes;
        sizes.labels |= segment->kind == HAL_SEGMENT_DEBUG_BEGIN;
        const size_t longest = longest_list(segment);
        if (longest > sizes.longest_list)
            sizes.longest_list = longest;
    }
    return sizes;
}

static bool seal_fits(const struct capture_call *call, const struct hal_command_buffer *commands,
                      const struct sizes *sizes)
{
    struct capture_stream *stream = call->thread->stream;
    if (!list_fits(call, "buffer barriers or events", sizes->longest_list))
        return false;
    if (commands->segment_count > TRACE_MAX_SEGMENTS)
        capture_stop(stream, HAL_UNSUPPORTED,
                     "a command buffer of %u commands: a trace holds at most %u",
                     commands->segment_count, TRACE_MAX_SEGMENTS);
    else if (capture_can_hold(call->thread, sizes->largest))
        return true;
    atomic_fetch_add(&stream->lost_records, 1 + commands->segment_count);
    return false;
}

/* Segments are published many at a time: until the seal is whole nobody can use them anyway. */
enum { BATCH_BYTES = 16 << 10 };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void record_segments(struct capture_thread *thread,
                            const struct hal_command_buffer *commands, const struct sizes *sizes)
{
    const uint64_t most = larger(sizes->largest, smaller(BATCH_BYTES, thread->ring->bytes / 4));
    uint64_t left = sizes->total, room = 0, used = 0;
    uint8_t *batch = NULL;
    hal_each_segment (commands, segment) {
        const uint32_t bytes = record_bytes(segment);
        uint32_t label = 0;
        /* Known already; but nothing may ask for strings between reserving and publishing. */
        if (__builtin_expect(segment->kind == HAL_SEGMENT_DEBUG_BEGIN, 0)) {
            if (used)
                capture_publish(thread, used);
            room = used = 0;
            label = capture_string(
                thread, ((const struct hal_segment_debug *)(const void *)segment)->label);
        }
        if (__builtin_expect(used + bytes > room, 0)) {
            if (used)
                capture_publish(thread, used);
            room = smaller(left, most);
            used = 0;
            batch = capture_reserve(thread, room);
            if (!batch)
                return;
        }
        fill_segment(batch + used, segment,
                     (struct trace_segment){.kind = segment->kind, .bytes = bytes}, label);
        used += bytes;
        left -= bytes;
    }
    if (used)
        capture_publish(thread, used);
}

void capture_record_seal(const struct capture_call *call, const struct hal_command_buffer *commands,
                         uint32_t flags)
{
    const struct sizes sizes = measure(commands);
    if (!seal_fits(call, commands, &sizes))
        return;
    if (sizes.labels && !number_labels(call->thread, commands))
        return;
    struct trace_command_buffer_seal *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_command_buffer_seal){
        .head = head(call, TRACE_COMMAND_BUFFER_SEAL, sizeof *record),
        .command_buffer = commands->object.id,
        .segment_count = commands->segment_count,
        .dispatch_count = commands->dispatch_count,
        .segment_bytes = sizes.total,
        .flags = flags,
    };
    capture_publish(call->thread, sizeof *record);
    record_segments(call->thread, commands, &sizes);
}

/* ---- Semaphores ---- */

void capture_record_semaphore_event(const struct capture_call *call, enum trace_event_kind kind,
                                    const struct hal_semaphore *semaphore, uint64_t value,
                                    const char *message, uint32_t flags)
{
    const uint32_t string = capture_string(call->thread, message);
    struct trace_semaphore_event *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_semaphore_event){.head = head(call, kind, sizeof *record),
                                             .semaphore = semaphore->object.id,
                                             .value = value,
                                             .message = string,
                                             .flags = flags};
    capture_publish(call->thread, sizeof *record);
}

static void fill_values(struct trace_semaphore_value *out, const struct hal_semaphore_value *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct trace_semaphore_value){.semaphore = id_of(&values[i].semaphore->object),
                                                .value = values[i].value};
}

void capture_record_wait(const struct capture_call *call, enum hal_wait_mode mode,
                         const struct hal_semaphore_value *values, size_t count, int64_t timeout_ns)
{
    if (!list_fits(call, "semaphore values", count))
        return;
    const uint64_t bytes = sizeof(struct trace_semaphore_wait) + count * sizeof *values;
    struct trace_semaphore_wait *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_semaphore_wait){.head = head(call, TRACE_SEMAPHORE_WAIT, bytes),
                                            .timeout_ns = timeout_ns,
                                            .mode = (uint32_t)mode,
                                            .value_count = (uint32_t)count};
    fill_values(record->values, values, count);
    capture_publish(call->thread, bytes);
}

void capture_record_wait_idle(const struct capture_call *call, int64_t timeout_ns)
{
    struct trace_wait_idle *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_wait_idle){.head = head(call, TRACE_WAIT_IDLE, sizeof *record),
                                       .timeout_ns = timeout_ns};
    capture_publish(call->thread, sizeof *record);
}

/* ---- Submissions ---- */

void capture_record_submit(const struct capture_call *call, const struct hal_submission *submission)
{
    if (!list_fits(call, "waits", submission->wait_count) ||
        !list_fits(call, "signals", submission->signal_count) ||
        !list_fits(call, "command buffers", submission->command_count))
        return;
    const size_t values = submission->wait_count + submission->signal_count;
    const uint32_t file = capture_string(call->thread, submission->file);
    const uint64_t bytes = sizeof(struct trace_submit) +
                           values * sizeof(struct trace_semaphore_value) +
                           submission->command_count * sizeof(uint64_t);
    struct trace_submit *record = capture_reserve(call->thread, bytes);
    if (!record)
        return;
    *record = (struct trace_submit){.head = head(call, TRACE_SUBMIT, bytes),
                                    .submission = submission->id,
                                    .queue = submission->queue,
                                    .wait_count = (uint32_t)submission->wait_count,
                                    .signal_count = (uint32_t)submission->signal_count,
                                    .command_buffer_count = (uint32_t)submission->command_count,
                                    .operation = (uint32_t)submission->operation,
                                    .file = file,
                                    .buffer = buffer_id(submission->buffer),
                                    .offset = submission->offset,
                                    .size = submission->bytes,
                                    .file_offset = submission->file_offset};
    fill_values(record->values, submission->waits, submission->wait_count);
    fill_values(record->values + submission->wait_count, submission->signals,
                submission->signal_count);
    uint64_t *commands = (uint64_t *)(void *)(record->values + values);
    for (size_t i = 0; i < submission->command_count; i++)
        commands[i] = submission->commands[i]->object.id;
    capture_publish(call->thread, bytes);
}

void capture_record_host_call(const struct capture_call *call, enum trace_event_kind kind,
                              uint64_t submission, const char *message)
{
    const uint32_t string = capture_string(call->thread, message);
    struct trace_host_call *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_host_call){
        .head = head(call, kind, sizeof *record), .submission = submission, .message = string};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_flush(const struct capture_call *call, uint64_t queues)
{
    struct trace_queue_flush *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_queue_flush){.head = head(call, TRACE_QUEUE_FLUSH, sizeof *record),
                                         .queues = queues};
    capture_publish(call->thread, sizeof *record);
}

void capture_record_done(struct capture_thread *thread, uint64_t submission, uint32_t queue,
                         const struct hal_submission_result *result)
{
    const uint32_t message = result->status != HAL_OK ? capture_string(thread, result->message) : 0;
    struct trace_submission_done *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_submission_done){.head = {.kind = TRACE_SUBMISSION_DONE,
                                                      .status = (uint16_t)result->status,
                                                      .bytes = sizeof *record,
                                                      .begin_ns = result->begin_ns,
                                                      .end_ns = result->end_ns},
                                             .submission = submission,
                                             .ready_ns = result->ready_ns,
                                             .busy_ns = result->busy_ns,
                                             .queue = queue,
                                             .message = message};
    capture_publish(thread, sizeof *record);
}

/* ---- Scopes ---- */

void capture_record_scope(struct capture_thread *thread, const char *name)
{
    const uint32_t string = capture_string(thread, name);
    struct trace_scope *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return;
    const int64_t now_ns = hal_clock_ns();
    *record = (struct trace_scope){.head = {.kind = name ? TRACE_SCOPE_BEGIN : TRACE_SCOPE_END,
                                            .bytes = sizeof *record,
                                            .begin_ns = now_ns,
                                            .end_ns = now_ns},
                                   .name = string};
    capture_publish(thread, sizeof *record);
}
