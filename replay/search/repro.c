/* SPDX-License-Identifier: Apache-2.0 */
/* Objects keep their recorded ids, strings their numbers. */
#include "replay/search/repro.h"

#include "format/limits.h"
#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <stdio.h>

enum { STEP_NS = 1000, THREAD = 1 };

struct writing {
    const struct replay_repro *minimal;
    const struct replay_plan *plan;
    struct trace_writer *writer;
    struct hal_idmap strings, objects; /* that are in the file */
    uint64_t ticket, semaphore;        /* the next ticket; the id of the semaphore */
    int64_t now_ns;
};

static enum hal_status write_record(struct writing *w, struct trace_event *record)
{
    const bool ordered = !trace_is_table(record) && record->kind != TRACE_SUBMISSION_DONE;
    record->thread = THREAD;
    record->stack = 0;
    record->status = HAL_OK;
    record->ticket = ordered ? w->ticket++ : 0;
    record->begin_ns = w->now_ns;
    record->end_ns = w->now_ns += STEP_NS;
    return trace_writer_records(w->writer, THREAD, record, record->bytes);
}

/* True in *out_fresh when it was not there. */
static enum hal_status note(struct hal_idmap *map, uint64_t id, bool *out_fresh)
{
    uint32_t index;
    *out_fresh = !hal_idmap_find(map, id, &index);
    if (*out_fresh && !hal_idmap_add(map, id, 1, &index))
        return hal_fail(HAL_NO_MEMORY, "no memory for a trace");
    return HAL_OK;
}

static enum hal_status write_string(struct writing *w, uint32_t id)
{
    bool fresh = false;
    if (id)
        HAL_TRY(note(&w->strings, id, &fresh));
    if (!fresh)
        return HAL_OK;
    const char *text = trace_reader_string(w->plan->reader, id);
    const size_t length = strlen(text);
    const size_t bytes = hal_align_up(sizeof(struct trace_string) + length, 8);
    struct trace_string *record = hal_alloc(1, bytes);
    if (!record)
        return hal_fail(HAL_NO_MEMORY, "no memory for a string of %zu bytes", length);
    record->head = (struct trace_event){.kind = TRACE_STRING, .bytes = (uint32_t)bytes};
    record->id = id;
    record->length = (uint32_t)length;
    memcpy(record->text, text, length);
    const enum hal_status status = write_record(w, &record->head);
    free(record);
    return status;
}

/* A copy that may be changed; NULL, with a message. */
static void *copy_record(const struct trace_event *record)
{
    void *copy = malloc(record->bytes);
    if (copy)
        memcpy(copy, record, record->bytes);
    else
        hal_fail(HAL_NO_MEMORY, "no memory for a record of %u bytes", record->bytes);
    return copy;
}

static uint64_t id_of(const struct writing *w, uint64_t object)
{
    return w->plan->objects[object].id;
}

/* ---- Objects ------------------------------------------------------------------------------- */

static enum hal_status write_buffer(struct writing *w, uint64_t object)
{
    bool fresh;
    if (!object)
        return HAL_OK;
    HAL_TRY(note(&w->objects, object, &fresh));
    if (!fresh)
        return HAL_OK;
    struct trace_buffer_create create =
        *TRACE_AS(trace_buffer_create, w->plan->objects[object].created);
    create.buffer = id_of(w, object);
    create.flags = 0;
    HAL_TRY(write_string(w, create.label));
    return write_record(w, &create.head);
}

static enum hal_status write_set_layout(struct writing *w, uint64_t object)
{
    bool fresh;
    HAL_TRY(note(&w->objects, object, &fresh));
    if (!fresh)
        return HAL_OK;
    struct trace_set_layout_create *copy = copy_record(w->plan->objects[object].created);
    if (!copy)
        return HAL_NO_MEMORY;
    copy->layout = id_of(w, object);
    enum hal_status status = write_string(w, copy->label);
    if (status == HAL_OK)
        status = write_record(w, &copy->head);
    free(copy);
    return status;
}

static enum hal_status write_pipeline_layout(struct writing *w, uint64_t object)
{
    bool fresh = false;
    if (object)
        HAL_TRY(note(&w->objects, object, &fresh));
    if (!fresh)
        return HAL_OK;
    struct trace_pipeline_layout_create *copy = copy_record(w->plan->objects[object].created);
    if (!copy)
        return HAL_NO_MEMORY;
    enum hal_status status = write_string(w, copy->label);
    for (uint32_t i = 0; i < copy->set_count && status == HAL_OK; i++) {
        status = write_set_layout(w, copy->sets[i]);
        copy->sets[i] = id_of(w, copy->sets[i]);
    }
    copy->layout = id_of(w, object);
    if (status == HAL_OK)
        status = write_record(w, &copy->head);
    free(copy);
    return status;
}

static enum hal_status write_content(struct writing *w, uint64_t content, uint64_t *out_number)
{
    uint8_t *scratch = NULL;
    size_t scratch_bytes = 0;
    const uint8_t *data;
    enum hal_status status = replay_plan_content(w->plan, content, &scratch, &scratch_bytes, &data);
    if (status == HAL_OK)
        status = trace_writer_content(w->writer, data, (size_t)w->plan->contents[content].bytes,
                                      out_number);
    free(scratch);
    return status;
}

/* With the source that the candidate ran. */
static enum hal_status write_contents(struct writing *w, uint64_t object,
                                      struct trace_executable_create *copy)
{
    const struct replay_repro *minimal = w->minimal;
    const struct replay_substitute *substitute = replay_substitute_of(
        w->plan, (uint32_t)object, minimal->substitutes, minimal->substitute_count);
    struct trace_variant *variants =
        (struct trace_variant *)(void *)(copy->entry_points + copy->entry_point_count);
    for (uint32_t i = 0; i < copy->variant_count; i++)
        HAL_TRY(write_content(w, variants[i].content, &variants[i].content));
    if (!substitute)
        return write_content(w, copy->content, &copy->content);
    copy->format = (uint32_t)substitute->format;
    copy->size = substitute->bytes;
    return trace_writer_content(w->writer, substitute->data, substitute->bytes, &copy->content);
}

static enum hal_status write_executable(struct writing *w, uint64_t object)
{
    struct trace_executable_create *copy = copy_record(w->plan->objects[object].created);
    if (!copy)
        return HAL_NO_MEMORY;
    enum hal_status status = write_string(w, copy->label);
    for (uint32_t i = 0; i < copy->entry_point_count && status == HAL_OK; i++) {
        struct trace_entry_point *point = &copy->entry_points[i];
        status = write_string(w, point->name);
        if (status == HAL_OK)
            status = write_pipeline_layout(w, point->layout);
        point->layout = point->layout ? id_of(w, point->layout) : 0;
    }
    if (status == HAL_OK)
        status = write_contents(w, object, copy);
    copy->executable = id_of(w, object);
    if (status == HAL_OK)
        status = write_record(w, &copy->head);
    free(copy);
    return status;
}

/* ---- Contents ------------------------------------------------------------------------------ */

static enum hal_status write_bytes(struct writing *w, enum trace_event_kind kind,
                                   const struct replay_bytes *bytes)
{
    for (uint64_t at = bytes->range.begin; at < bytes->range.end;) {
        const uint64_t left = bytes->range.end - at;
        struct trace_content_event event = {.head = {.kind = (uint16_t)kind, .bytes = sizeof event},
                                            .buffer = id_of(w, bytes->range.buffer),
                                            .offset = at,
                                            .size = left < TRACE_PIECE_BYTES ? left
                                                                             : TRACE_PIECE_BYTES};
        HAL_TRY(trace_writer_content(w->writer, bytes->data + (at - bytes->range.begin),
                                     (size_t)event.size, &event.content));
        HAL_TRY(write_record(w, &event.head));
        at += event.size;
    }
    return HAL_OK;
}

static enum hal_status write_list(struct writing *w, enum trace_event_kind kind,
                                  const struct replay_bytes_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        HAL_TRY(write_buffer(w, list->list[i].range.buffer));
        HAL_TRY(write_bytes(w, kind, &list->list[i]));
    }
    return HAL_OK;
}

/* ---- The command --------------------------------------------------------------------------- */

/* Objects of a piece's segment by their ids; those that are not there yet are written. */
static enum hal_status translate(struct writing *w, struct trace_segment *head)
{
    void *segment = head;
    if (head->kind == TRACE_FILL) {
        struct trace_fill *fill = segment;
        fill->target = id_of(w, fill->target);
    } else if (head->kind == TRACE_UPDATE) {
        struct trace_update *update = segment;
        update->target = id_of(w, update->target);
    } else if (head->kind == TRACE_COPY) {
        struct trace_copy *copy = segment;
        copy->source = id_of(w, copy->source);
        copy->target = id_of(w, copy->target);
    } else if (head->kind == TRACE_PUSH_DESCRIPTOR_SET) {
        struct trace_push_descriptor_set *set = segment;
        for (uint32_t i = 0; i < set->binding_count; i++) {
            HAL_TRY(write_buffer(w, set->bindings[i].buffer));
            set->bindings[i].buffer =
                set->bindings[i].buffer ? id_of(w, set->bindings[i].buffer) : 0;
        }
    } else if (head->kind == TRACE_DISPATCH) {
        struct trace_dispatch *dispatch = segment;
        HAL_TRY(write_executable(w, dispatch->executable));
        dispatch->executable = id_of(w, dispatch->executable);
    } else if (head->kind == TRACE_DISPATCH_INDIRECT) {
        struct trace_dispatch_indirect *dispatch = segment;
        HAL_TRY(write_executable(w, dispatch->executable));
        HAL_TRY(write_buffer(w, dispatch->counts));
        dispatch->executable = id_of(w, dispatch->executable);
        dispatch->counts = id_of(w, dispatch->counts);
    }
    return HAL_OK;
}

/* Executables and buffers come before the command buffer that uses them. */
static enum hal_status write_commands(struct writing *w, const struct replay_object *piece)
{
    const size_t bytes = (size_t)piece->commands.seal->segment_bytes;
    struct trace_segment *segments = malloc(bytes);
    if (!segments)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes of commands", bytes);
    memcpy(segments, piece->commands.segments, bytes);
    enum hal_status status = HAL_OK;
    struct trace_segment *segment = segments;
    for (uint32_t i = 0; i < piece->commands.seal->segment_count && status == HAL_OK; i++) {
        status = translate(w, segment);
        segment = (void *)((uint8_t *)segment + segment->bytes);
    }
    struct trace_command_buffer_create create =
        *TRACE_AS(trace_command_buffer_create, piece->created);
    struct trace_command_buffer_seal seal = *piece->commands.seal;
    create.command_buffer = seal.command_buffer = piece->id;
    if (status == HAL_OK)
        status = write_string(w, create.label);
    if (status == HAL_OK)
        status = write_record(w, &create.head);
    seal.head.bytes = sizeof seal;
    if (status == HAL_OK)
        status = write_record(w, &seal.head);
    if (status == HAL_OK)
        status = trace_writer_records(w->writer, THREAD, segments, bytes);
    free(segments);
    return status;
}

static enum hal_status write_submission(struct writing *w, const struct replay_object *piece)
{
    struct {
        struct trace_submit submit;
        struct trace_semaphore_value signal;
        uint64_t commands;
    } record = {.submit = {.head = {.kind = TRACE_SUBMIT, .bytes = sizeof record},
                           .submission = w->minimal->step->submit->submission,
                           .signal_count = 1,
                           .command_buffer_count = 1},
                .signal = {w->semaphore, 1},
                .commands = piece->id};
    struct {
        struct trace_semaphore_wait wait;
        struct trace_semaphore_value value;
    } wait = {.wait = {.head = {.kind = TRACE_SEMAPHORE_WAIT, .bytes = sizeof wait},
                       .timeout_ns = INT64_MAX,
                       .value_count = 1},
              .value = {w->semaphore, 1}};
    struct trace_submission_done done = {
        .head = {.kind = TRACE_SUBMISSION_DONE, .bytes = sizeof done},
        .submission = w->minimal->step->submit->submission,
        .ready_ns = w->now_ns};
    HAL_TRY(write_record(w, &record.submit.head));
    HAL_TRY(write_record(w, &done.head));
    return write_record(w, &wait.wait.head);
}

static enum hal_status write_all(struct writing *w)
{
    const struct replay_repro *minimal = w->minimal;
    const struct replay_object *piece = &w->plan->objects[minimal->step->piece];
    struct trace_semaphore_create semaphore = {
        .head = {.kind = TRACE_SEMAPHORE_CREATE, .bytes = sizeof semaphore},
        .semaphore = w->semaphore};
    struct trace_thread thread = {
        .head = {.kind = TRACE_THREAD, .bytes = sizeof thread}, .id = THREAD, .system_id = 1};
    HAL_TRY(write_record(w, &thread.head));
    HAL_TRY(write_record(w, &semaphore.head));
    HAL_TRY(write_list(w, TRACE_HOST_WRITE, minimal->inputs));
    HAL_TRY(write_commands(w, piece));
    HAL_TRY(write_submission(w, piece));
    return write_list(w, TRACE_HOST_READ, minimal->outputs);
}

/* ---- The file ------------------------------------------------------------------------------ */

static void describe_device(const struct hal_device_info *info, struct trace_device *device)
{
    *device = (struct trace_device){.uri = info->uri,
                                    .driver = info->driver,
                                    .name = info->name,
                                    .queue_count = info->queue_count,
                                    .simd_width = info->simd_width,
                                    .max_group_threads = info->max_workgroup_threads,
                                    .max_group_memory_bytes = info->max_workgroup_memory_bytes,
                                    .max_buffer_bytes = info->max_buffer_bytes,
                                    .max_constant_bytes = info->max_constant_bytes,
                                    .worker_count = info->worker_count,
                                    .architecture = info->architecture,
                                    .features = info->features};
    for (size_t i = 0; i < 3; i++)
        device->max_group_size[i] = info->max_workgroup_size[i];
    for (; device->format_count < info->format_count && device->format_count < TRACE_MAX_FORMATS;
         device->format_count++)
        device->formats[device->format_count] = (uint32_t)info->formats[device->format_count];
}

static uint64_t unused_id(const struct replay_plan *plan)
{
    uint64_t id = 0;
    for (size_t i = 1; i < plan->object_count; i++)
        id = plan->objects[i].id > id ? plan->objects[i].id : id;
    return id + 1;
}

enum hal_status replay_repro_write(const struct replay_repro *minimal, const char *path)
{
    struct writing w = {.minimal = minimal,
                        .plan = minimal->serialized->plan,
                        .ticket = 1,
                        .now_ns = STEP_NS,
                        .semaphore = unused_id(minimal->serialized->plan)};
    const struct trace_writer_options options = {.path = path, .force = true};
    struct trace_header header = *w.plan->info.header;
    describe_device(minimal->device, &header.device);
    header.late_start = false;
    header.sidecar = NULL;
    header.start_ns = 0;
    HAL_TRY(trace_writer_open(&options, &header, &w.writer));
    const enum hal_status status = write_all(&w);
    const enum hal_status closed = trace_writer_close(w.writer, NULL);
    hal_idmap_finish(&w.strings);
    hal_idmap_finish(&w.objects);
    if (status != HAL_OK || closed != HAL_OK)
        remove(path);
    return hal_add_context(status != HAL_OK ? status : closed, "the minimal trace");
}
