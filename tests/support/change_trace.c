/* SPDX-License-Identifier: Apache-2.0 */
/* change-trace IN OUT change-byte LABEL: copies a trace and changes one byte of the first contents
 *                                        that the host wrote into the buffer with that label.
 * change-trace IN OUT drop-reads:        copies a trace without the host's reads.
 *
 * The copy is made with the public reader and writer, so every checksum of it is right. */
#include "format/trace.h"
#include "hal/base/mem.h"

#include <stdio.h>
#include <string.h>

struct copy {
    struct trace_reader *reader;
    struct trace_writer *writer;
    const char *label; /* NULL: change nothing */
    bool drop_reads;
    uint64_t changes; /* bytes changed or reads dropped */
    uint64_t target;  /* the labelled buffer, 0 before it was created */
};

static enum hal_status write_record(struct copy *copy, const struct trace_event *event)
{
    return trace_writer_records(copy->writer, event->thread, event, event->bytes);
}

/* ---- Tables ------------------------------------------------------------------------------- */

static enum hal_status copy_string(struct copy *copy, uint32_t id, const char *text)
{
    const size_t length = strlen(text);
    const size_t bytes = hal_align_up(sizeof(struct trace_string) + length, 8);
    struct trace_string *record = hal_alloc(1, bytes);
    if (!record)
        return hal_fail(HAL_NO_MEMORY, "a string of %zu bytes", length);
    record->head = (struct trace_event){.kind = TRACE_STRING, .bytes = (uint32_t)bytes};
    record->id = id;
    record->length = (uint32_t)length;
    memcpy(record->text, text, length);
    const enum hal_status status = write_record(copy, &record->head);
    free(record);
    return status;
}

static enum hal_status copy_tables(struct copy *copy)
{
    const char *text;
    const struct trace_stack *stack;
    for (uint32_t id = 1; (text = trace_reader_string(copy->reader, id)); id++)
        HAL_TRY(copy_string(copy, id, text));
    for (uint32_t id = 1; (stack = trace_reader_stack(copy->reader, id)); id++)
        HAL_TRY(write_record(copy, &stack->head));
    for (size_t i = 0; i < trace_reader_module_count(copy->reader); i++)
        HAL_TRY(write_record(copy, &trace_reader_module(copy->reader, i)->head));
    for (size_t i = 0; i < trace_reader_thread_count(copy->reader); i++)
        HAL_TRY(write_record(copy, &trace_reader_thread(copy->reader, i)->head));
    return HAL_OK;
}

/* ---- Events ------------------------------------------------------------------------------- */

/* Stores the bytes of a content in the copy, the middle one changed if asked for. */
static enum hal_status copy_content(struct copy *copy, uint64_t content, bool change,
                                    uint64_t *out_content)
{
    uint64_t bytes;
    *out_content = 0;
    if (!content)
        return HAL_OK;
    HAL_TRY(trace_reader_content_size(copy->reader, content, &bytes));
    uint8_t *data = hal_alloc(1, bytes);
    if (!data)
        return hal_fail(HAL_NO_MEMORY, "a content of %llu bytes", (unsigned long long)bytes);
    enum hal_status status = trace_reader_content(copy->reader, content, data, bytes);
    if (status == HAL_OK && change) {
        data[bytes / 2] ^= 0x55;
        copy->changes++;
    }
    if (status == HAL_OK)
        status = trace_writer_content(copy->writer, data, bytes, out_content);
    free(data);
    return status;
}

/* Replaces the content number of the events that have one. */
static enum hal_status translate(struct copy *copy, struct trace_event *event)
{
    if (event->kind == TRACE_EXECUTABLE_CREATE) {
        struct trace_executable_create *create = (struct trace_executable_create *)(void *)event;
        struct trace_variant *variants =
            (struct trace_variant *)(void *)(create->entry_points + create->entry_point_count);
        for (uint32_t i = 0; i < create->variant_count; i++)
            HAL_TRY(copy_content(copy, variants[i].content, false, &variants[i].content));
        return copy_content(copy, create->content, false, &create->content);
    }
    if (event->kind == TRACE_HOST_WRITE || event->kind == TRACE_HOST_READ) {
        struct trace_content_event *access = (struct trace_content_event *)(void *)event;
        const bool change = event->kind == TRACE_HOST_WRITE && copy->target &&
                            access->buffer == copy->target && copy->changes == 0;
        return copy_content(copy, access->content, change, &access->content);
    }
    return HAL_OK;
}

static size_t segment_bytes(const struct trace_event *event)
{
    if (event->kind != TRACE_COMMAND_BUFFER_SEAL)
        return 0;
    return ((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
}

static enum hal_status copy_event(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct copy *copy = user;
    if (event->kind == TRACE_HOST_READ && copy->drop_reads) {
        copy->changes++;
        return HAL_OK;
    }
    if (event->kind == TRACE_BUFFER_CREATE && copy->label && !copy->target) {
        const struct trace_buffer_create *create = (const void *)event;
        const char *label = trace_reader_string(copy->reader, create->label);
        if (label && strcmp(label, copy->label) == 0)
            copy->target = create->buffer;
    }
    const size_t bytes = event->bytes + segment_bytes(event);
    struct trace_event *record = hal_alloc(1, bytes);
    if (!record)
        return hal_fail(HAL_NO_MEMORY, "a record of %zu bytes", bytes);
    memcpy(record, event, event->bytes);
    if (segments)
        memcpy((uint8_t *)record + event->bytes, segments, segment_bytes(event));
    enum hal_status status = translate(copy, record);
    if (status == HAL_OK)
        status = trace_writer_records(copy->writer, record->thread, record, bytes);
    free(record);
    return status;
}

/* ---- The program -------------------------------------------------------------------------- */

static enum hal_status copy_trace(struct copy *copy, const char *from, const char *to)
{
    const struct trace_writer_options options = {.path = to, .force = true};
    HAL_TRY(trace_reader_open(from, &copy->reader));
    enum hal_status status =
        trace_writer_open(&options, trace_reader_header(copy->reader), &copy->writer);
    if (status != HAL_OK)
        goto close_reader;
    status = copy_tables(copy);
    if (status == HAL_OK)
        status = trace_reader_each(copy->reader, copy_event, copy);
    const enum hal_status closed =
        trace_writer_close(copy->writer, trace_reader_health(copy->reader));
    if (status == HAL_OK)
        status = closed;
close_reader:
    trace_reader_close(copy->reader);
    return status;
}

int main(int argc, char **argv)
{
    struct copy copy = {0};
    if (argc == 5 && strcmp(argv[3], "change-byte") == 0) {
        copy.label = argv[4];
    } else if (argc == 4 && strcmp(argv[3], "drop-reads") == 0) {
        copy.drop_reads = true;
    } else {
        fprintf(stderr, "usage: change-trace IN OUT change-byte LABEL|drop-reads\n");
        return 2;
    }
    if (copy_trace(&copy, argv[1], argv[2]) != HAL_OK) {
        fprintf(stderr, "change-trace: %s\n", hal_message());
        return 1;
    }
    if (!copy.changes) {
        fprintf(stderr, "change-trace: '%s' has nothing to change\n", argv[1]);
        return 1;
    }
    printf("change-trace: %llu changes\n", (unsigned long long)copy.changes);
    return 0;
}
