/* SPDX-License-Identifier: Apache-2.0 */
/* Converts events of old traces to events of a new one: translates every number in them, and writes
 * the definition of a number when it is first needed. */
#include "format/file/rewrite.h"

#include "format/columns/layout.h"
#include "format/file/reader.h"
#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"

#include <inttypes.h>
#include <stdio.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to rewrite a trace");
}

static enum hal_status make_room(struct trace_rewrite *rewrite, uint64_t bytes)
{
    const bool grown = HAL_GROW(rewrite->bytes, &rewrite->capacity, (size_t)bytes + 8);
    return grown ? HAL_OK : no_memory();
}

/* ---- Tables ------------------------------------------------------------------------------- */

/* Room for a new number in a map by old numbers. */
static enum hal_status number_slot(uint32_t **map, size_t *capacity, uint64_t old,
                                   uint32_t **out_slot)
{
    void *array = *map;
    const size_t before = *capacity;
    const bool grown = hal_grow(&array, capacity, (size_t)old + 1, sizeof **map);
    *map = array;
    if (!grown || !array)
        return no_memory();
    memset(*map + before, 0, (*capacity - before) * sizeof **map);
    *out_slot = &(*map)[old];
    return HAL_OK;
}

static enum hal_status write_string(struct trace_rewrite *rewrite, const char *prefix,
                                    const char *text, size_t length, uint32_t *out_number)
{
    const size_t prefix_length = prefix ? strlen(prefix) : 0;
    if (rewrite->next_string >= TRACE_MAX_STRINGS)
        return hal_fail(HAL_UNSUPPORTED, "more than %u strings", TRACE_MAX_STRINGS);
    if (length > TRACE_MAX_STRING_BYTES - prefix_length)
        length = TRACE_MAX_STRING_BYTES - prefix_length;
    struct trace_string *record;
    const size_t bytes = hal_align_up(sizeof *record + prefix_length + length, 8);
    HAL_TRY(make_room(rewrite, bytes));
    record = (void *)rewrite->bytes;
    memset(record, 0, bytes);
    record->head = (struct trace_event){.kind = TRACE_STRING, .bytes = (uint32_t)bytes};
    record->id = ++rewrite->next_string;
    record->length = (uint32_t)(prefix_length + length);
    if (prefix_length)
        memcpy(record->text, prefix, prefix_length);
    if (length)
        memcpy(record->text + prefix_length, text, length);
    *out_number = record->id;
    return trace_writer_records(rewrite->writer, 0, record, bytes);
}

static enum hal_status map_string(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source, uint64_t *number)
{
    uint32_t *slot = NULL;
    const struct trace_string *string = trace_tables_string(&source->reader->tables, *number);
    if (!*number || !string) { /* a file that was cut off */
        *number = 0;
        return HAL_OK;
    }
    HAL_TRY(number_slot(&source->strings, &source->string_capacity, *number, &slot));
    if (!*slot)
        HAL_TRY(write_string(rewrite, NULL, string->text, string->length, slot));
    *number = *slot;
    return HAL_OK;
}

/* Addresses mean something only with the modules: they come with the first stack. */
static enum hal_status write_modules(struct trace_rewrite *rewrite,
                                     struct trace_rewrite_source *source)
{
    for (size_t i = 0; i < trace_reader_module_count(source->reader); i++) {
        const struct trace_module *module = trace_reader_module(source->reader, i);
        uint64_t path = module->path;
        HAL_TRY(map_string(rewrite, source, &path));
        HAL_TRY(make_room(rewrite, module->head.bytes));
        struct trace_module *copy = (void *)rewrite->bytes;
        memcpy(copy, module, module->head.bytes);
        copy->path = (uint32_t)path;
        HAL_TRY(trace_writer_records(rewrite->writer, 0, copy, copy->head.bytes));
    }
    return HAL_OK;
}

static enum hal_status map_stack(struct trace_rewrite *rewrite, struct trace_rewrite_source *source,
                                 uint64_t *number)
{
    uint32_t *slot = NULL;
    const struct trace_stack *stack = trace_reader_stack(source->reader, (uint32_t)*number);
    if (!*number || !stack) {
        *number = 0;
        return HAL_OK;
    }
    if (!source->stacks)
        HAL_TRY(write_modules(rewrite, source));
    HAL_TRY(number_slot(&source->stacks, &source->stack_capacity, *number, &slot));
    if (!*slot) {
        if (rewrite->next_stack >= TRACE_MAX_STACKS)
            return hal_fail(HAL_UNSUPPORTED, "more than %u call stacks", TRACE_MAX_STACKS);
        HAL_TRY(make_room(rewrite, stack->head.bytes));
        struct trace_stack *copy = (void *)rewrite->bytes;
        memcpy(copy, stack, stack->head.bytes);
        *slot = copy->id = ++rewrite->next_stack;
        HAL_TRY(trace_writer_records(rewrite->writer, 0, copy, copy->head.bytes));
    }
    *number = *slot;
    return HAL_OK;
}

static enum hal_status write_thread(struct trace_rewrite *rewrite,
                                    struct trace_rewrite_source *source, uint32_t thread)
{
    const struct trace_thread *known = trace_reader_find_thread(source->reader, thread);
    if (source->threads[thread] || (!known && !source->thread_prefix))
        return HAL_OK;
    struct trace_thread record = {.head = {.kind = TRACE_THREAD, .bytes = sizeof record},
                                  .id = thread + source->thread_base,
                                  .system_id = known ? known->system_id : 0};
    const struct trace_string *name =
        known ? trace_tables_string(&source->reader->tables, known->name) : NULL;
    source->threads[thread] = 1;
    if (name || source->thread_prefix)
        HAL_TRY(write_string(rewrite, source->thread_prefix, name ? name->text : "",
                             name ? name->length : 0, &record.name));
    return trace_writer_records(rewrite->writer, 0, &record, sizeof record);
}

/* ---- Contents ----------------------------------------------------------------------------- */

static enum hal_status copy_content(struct trace_rewrite *rewrite,
                                    struct trace_rewrite_source *source, uint64_t *number)
{
    uint64_t bytes;
    uint8_t digest[32];
    if (!*number)
        return HAL_OK;
    uint64_t *copied = &source->contents[*number];
    if (!*copied) {
        if (trace_reader_has_content(source->reader, *number)) {
            HAL_TRY(trace_reader_content_size(source->reader, *number, &bytes));
            HAL_TRY(make_room(rewrite, bytes));
            HAL_TRY(trace_reader_content(source->reader, *number, rewrite->bytes, (size_t)bytes));
            HAL_TRY(trace_writer_content(rewrite->writer, rewrite->bytes, (size_t)bytes, copied));
        } else {
            HAL_TRY(trace_reader_content_info(source->reader, *number, &bytes, digest));
            HAL_TRY(trace_writer_refer(rewrite->writer, digest, bytes, copied));
        }
    }
    *number = *copied;
    return HAL_OK;
}

static enum hal_status digest_content(struct trace_rewrite *rewrite,
                                      struct trace_rewrite_source *source, uint64_t *number)
{
    uint64_t bytes;
    uint8_t digest[32];
    uint64_t *known = &source->digests[*number];
    if (!*known) {
        HAL_TRY(trace_reader_content_info(source->reader, *number, &bytes, digest));
        HAL_TRY(trace_writer_content(rewrite->writer, digest, sizeof digest, known));
    }
    *number = *known;
    return HAL_OK;
}

static enum hal_status map_host_content(struct trace_rewrite *rewrite,
                                        struct trace_rewrite_source *source,
                                        struct trace_content_event *event,
                                        enum trace_rewrite_contents rule)
{
    if (rule == TRACE_REWRITE_KEEP || event->flags & TRACE_FLAG_DIGEST || !event->content)
        return copy_content(rewrite, source, &event->content);
    event->flags |= TRACE_FLAG_DIGEST;
    return digest_content(rewrite, source, &event->content);
}

static enum hal_status map_change(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  struct trace_mapped_change *change,
                                  enum trace_rewrite_contents rule)
{
    if (rule == TRACE_REWRITE_KEEP || change->part.flags & TRACE_FLAG_DIGEST || !change->before)
        HAL_TRY(copy_content(rewrite, source, &change->before));
    else
        HAL_TRY(digest_content(rewrite, source, &change->before));
    return map_host_content(rewrite, source, &change->part, rule);
}

static enum hal_status map_executable(struct trace_rewrite *rewrite,
                                      struct trace_rewrite_source *source,
                                      struct trace_executable_create *event,
                                      enum trace_rewrite_contents rule)
{
    struct trace_variant *variants =
        (struct trace_variant *)(uintptr_t)trace_executable_variants(event);
    if (rule == TRACE_REWRITE_KEEP)
        HAL_TRY(copy_content(rewrite, source, &event->content));
    else
        event->content = 0;
    for (uint32_t i = 0; i < event->variant_count; i++) {
        if (rule == TRACE_REWRITE_KEEP)
            HAL_TRY(copy_content(rewrite, source, &variants[i].content));
        else
            variants[i].content = 0;
    }
    return HAL_OK;
}

static enum hal_status map_contents(struct trace_rewrite *rewrite,
                                    struct trace_rewrite_source *source,
                                    const struct trace_rewrite_rules *rules,
                                    struct trace_event *event)
{
    void *record = event;
    switch (event->kind) {
    case TRACE_FILE:
    case TRACE_HOST_WRITE: return map_host_content(rewrite, source, record, rules->writes);
    case TRACE_HOST_READ: return map_host_content(rewrite, source, record, rules->reads);
    case TRACE_MAPPED_CHANGE: return map_change(rewrite, source, record, rules->writes);
    case TRACE_EXECUTABLE_CREATE:
        return map_executable(rewrite, source, record, rules->executables);
    default: return HAL_OK;
    }
}

/* ---- Numbers ------------------------------------------------------------------------------ */

static enum hal_status map_number(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  const struct trace_column *column, uint64_t *value)
{
    uint64_t base = 0;
    switch ((enum trace_reference)column->reference) {
    case TRACE_REFERENCE_NONE:
    case TRACE_REFERENCE_DURATION:
    case TRACE_REFERENCE_CONTENT: return HAL_OK;
    case TRACE_REFERENCE_STRING: return map_string(rewrite, source, value);
    case TRACE_REFERENCE_STACK: return map_stack(rewrite, source, value);
    case TRACE_REFERENCE_TIME:
        *value = *value ? *value + (uint64_t)source->shift_ns : 0;
        return HAL_OK;
    case TRACE_REFERENCE_OBJECT: base = *value ? source->object_base : 0; break;
    case TRACE_REFERENCE_MAPPING: base = *value ? source->mapping_base : 0; break;
    case TRACE_REFERENCE_SUBMISSION: base = source->submission_base; break;
    case TRACE_REFERENCE_QUEUE: base = source->queue_base; break;
    case TRACE_REFERENCE_GROUP:
        if (*value && source->group)
            *value = source->group(source->group_user, *value);
        break;
    }
    if (!hal_add_u64(*value, base, value) || (column->width < 8 && *value >> (8 * column->width)))
        return hal_fail(HAL_UNSUPPORTED, "%s: a number exceeds the limit when %" PRIu64 " is added",
                        column->name, base);
    return HAL_OK;
}

static enum hal_status map_columns(struct trace_rewrite *rewrite,
                                   struct trace_rewrite_source *source,
                                   const struct trace_column *columns, uint32_t count,
                                   uint8_t *base)
{
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].reference == TRACE_REFERENCE_NONE)
            continue;
        uint8_t *member = base + columns[i].member_at;
        uint64_t value = trace_load(member, columns[i].width);
        HAL_TRY(map_number(rewrite, source, &columns[i], &value));
        memcpy(member, &value, columns[i].width);
    }
    return HAL_OK;
}

static enum hal_status map_record(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  const struct trace_family *family, void *record)
{
    const struct trace_layout *layout =
        trace_family_layout(family, ((struct trace_segment *)record)->kind);
    HAL_TRY(map_columns(rewrite, source, family->common, family->common_count, record));
    HAL_TRY(map_columns(rewrite, source, layout->columns, layout->column_count, record));
    uint8_t *at = (uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        for (uint64_t k = 0; part->columns && k < count; k++)
            HAL_TRY(map_columns(rewrite, source, part->columns, part->column_count,
                                at + k * part->element_bytes));
        at += count * part->element_bytes;
    }
    return HAL_OK;
}

/* A mask of the source's queues. False: some have no bit in a mask. */
static bool map_queues(const struct trace_rewrite_source *source, uint64_t *queues)
{
    const uint64_t base = source->queue_base;
    if (base >= 64 || *queues << base >> base != *queues)
        return false;
    *queues <<= base;
    return true;
}

/* Times and tickets; of a flush and a submission, which queues. */
static enum hal_status map_head(const struct trace_rewrite_source *source,
                                struct trace_event *event)
{
    if (event->begin_ns || event->end_ns) {
        event->begin_ns = (int64_t)((uint64_t)event->begin_ns + (uint64_t)source->shift_ns);
        event->end_ns = (int64_t)((uint64_t)event->end_ns + (uint64_t)source->shift_ns);
    }
    if (event->ticket && source->ticket)
        event->ticket = source->ticket(source->ticket_user, event->ticket);
    struct trace_queue_flush *flush = (void *)event;
    struct trace_submit *submit = (void *)event;
    if (event->kind == TRACE_SUBMIT && !map_queues(source, &submit->affinity))
        submit->affinity = 0; /* only what was chosen */
    if (event->kind != TRACE_QUEUE_FLUSH || !source->queue_base)
        return HAL_OK;
    return flush->queues && map_queues(source, &flush->queues)
               ? HAL_OK
               : hal_fail(HAL_UNSUPPORTED, "a flush of queues %#" PRIx64 " of another device",
                          flush->queues);
}

/* ---- Events ------------------------------------------------------------------------------- */

static enum hal_status write_event(struct trace_rewrite *rewrite,
                                   struct trace_rewrite_source *source,
                                   const struct trace_rewrite_rules *rules, uint32_t thread,
                                   struct trace_event *event, struct trace_segment *segments)
{
    HAL_TRY(write_thread(rewrite, source, thread));
    HAL_TRY(map_contents(rewrite, source, rules, event));
    HAL_TRY(map_head(source, event));
    HAL_TRY(map_record(rewrite, source, &trace_event_family, event));
    HAL_TRY(
        trace_writer_records(rewrite->writer, thread + source->thread_base, event, event->bytes));
    rewrite->events++;
    if (!segments)
        return HAL_OK;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    uint8_t *at = (uint8_t *)segments;
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        HAL_TRY(map_record(rewrite, source, &trace_segment_family, at));
        at += ((struct trace_segment *)(void *)at)->bytes;
    }
    rewrite->segments += seal->segment_count;
    return seal->segment_bytes ? trace_writer_records(rewrite->writer, thread + source->thread_base,
                                                      segments, (size_t)seal->segment_bytes)
                               : HAL_OK;
}

static enum hal_status rewrite_chunk(struct trace_rewrite *rewrite,
                                     struct trace_rewrite_source *source,
                                     const struct trace_rewrite_rules *rules,
                                     const struct trace_chunk *chunk)
{
    uint8_t *at = (uint8_t *)(uintptr_t)chunk->events;
    for (uint32_t i = 0; i < chunk->event_count; i++) {
        struct trace_event *event = (void *)at;
        struct trace_segment *segments = NULL;
        at += event->bytes;
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            segments = (void *)at;
            at += ((struct trace_command_buffer_seal *)(void *)event)->segment_bytes;
        }
        if (rules->keep && !rules->keep(rules->user, event, segments)) {
            rewrite->dropped_unsupported +=
                event->kind == TRACE_UNSUPPORTED && event->status == HAL_OK;
            continue;
        }
        HAL_TRY(write_event(rewrite, source, rules, chunk->thread, event, segments));
    }
    return HAL_OK;
}

static enum hal_status add_all(struct trace_rewrite *rewrite, struct trace_rewrite_source *source,
                               const struct trace_rewrite_rules *rules)
{
    const uint64_t contents = source->reader->directory.content_count;
    source->contents = hal_alloc(contents + 1, sizeof *source->contents);
    source->digests = hal_alloc(contents + 1, sizeof *source->digests);
    source->threads = hal_alloc(TRACE_MAX_THREADS + 1, 1);
    if (!source->contents || !source->digests || !source->threads)
        return no_memory();
    for (size_t i = 0; i < trace_reader_chunk_count(source->reader); i++) {
        struct trace_chunk chunk;
        HAL_TRY(trace_reader_chunk(source->reader, i, &chunk));
        const enum hal_status status = rewrite_chunk(rewrite, source, rules, &chunk);
        trace_chunk_free(&chunk);
        HAL_TRY(status);
        if (rules->progress)
            rules->progress(rules->progress_user, i + 1);
    }
    return HAL_OK;
}

enum hal_status trace_rewrite_add(struct trace_rewrite *rewrite,
                                  struct trace_rewrite_source *source,
                                  const struct trace_rewrite_rules *rules)
{
    const enum hal_status status = add_all(rewrite, source, rules);
    free(source->contents);
    free(source->digests);
    free(source->strings);
    free(source->stacks);
    free(source->threads);
    source->contents = source->digests = NULL;
    source->strings = source->stacks = NULL;
    source->threads = NULL;
    source->string_capacity = source->stack_capacity = 0;
    return status;
}

/* ---- Beginning and end -------------------------------------------------------------------- */

enum hal_status trace_rewrite_open(struct trace_rewrite *rewrite,
                                   const struct trace_rewrite_options *options,
                                   const struct trace_header *header)
{
    *rewrite = (struct trace_rewrite){0};
    const struct trace_writer_options to = {.path = options->path,
                                            .force = options->force,
                                            .named_at_end = true,
                                            .compression_level = options->compression_level};
    return trace_writer_open(&to, header, &rewrite->writer);
}

enum hal_status trace_rewrite_close(struct trace_rewrite *rewrite, enum hal_status status,
                                    const struct trace_health *health)
{
    if (status == HAL_OK) {
        struct trace_health left = health ? *health : (struct trace_health){0};
        left.unsupported_calls -= rewrite->dropped_unsupported < left.unsupported_calls
                                      ? rewrite->dropped_unsupported
                                      : left.unsupported_calls;
        status = trace_writer_close(rewrite->writer, health ? &left : NULL);
    } else {
        const struct hal_kept_message kept = hal_keep_message();
        trace_writer_discard(rewrite->writer);
        hal_restore_message(&kept, status);
    }
    free(rewrite->bytes);
    *rewrite = (struct trace_rewrite){0};
    return status;
}

struct trace_health trace_rewrite_health(const struct trace_reader *reader, char *message,
                                         size_t message_bytes)
{
    const struct trace_health *known = trace_reader_health(reader);
    struct trace_health health = {0};
    if (known) /* then nothing but an index can be missing */
        return *known;
    if (!*trace_reader_truncated(reader))
        return health;
    health.status = HAL_FAILED;
    snprintf(message, message_bytes, "the trace had been cut off: %s",
             trace_reader_truncated(reader));
    health.message = message;
    return health;
}
