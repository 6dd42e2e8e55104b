/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that has some strings and contents, and what of the bytes the writer takes as records. */
#include "tests/fuzz/records.h"

#include "format/trace.h"
#include "hal/base/mem.h"

enum { STRINGS = 40, CONTENTS = 4, CONTENT_BYTES = 4096 };

static void write_string(struct trace_writer *writer, uint32_t id)
{
    struct {
        struct trace_string record;
        char text[8];
    } string = {{.head = {.kind = TRACE_STRING, .bytes = sizeof string}, .id = id, .length = 4},
                "name"};
    fuzz_check(trace_writer_records(writer, 1, &string, sizeof string) == HAL_OK);
}

static void write_aligned(const char *path, const uint8_t *data, size_t bytes)
{
    static const struct trace_header header = {.program = "p", .writer = "w"};
    const struct trace_writer_options options = {.path = path, .force = true};
    static uint8_t content[CONTENT_BYTES];
    struct trace_writer *writer;
    fuzz_check(trace_writer_open(&options, &header, &writer) == HAL_OK);
    for (uint32_t i = 1; i <= STRINGS; i++)
        write_string(writer, i);
    for (unsigned i = 0; i < CONTENTS; i++) {
        uint64_t number;
        content[0] = (uint8_t)i;
        fuzz_check(trace_writer_content(writer, content, CONTENT_BYTES, &number) == HAL_OK);
    }
    /* One by one: the writer refuses what is no record, and the rest goes on. */
    for (size_t at = 0; at + sizeof(struct trace_segment) <= bytes;) {
        const struct trace_segment *head = (const void *)(data + at);
        const size_t size = head->bytes;
        if (size < sizeof *head || size % 8 || size > bytes - at ||
            trace_writer_records(writer, 1, head, size) != HAL_OK)
            at += 8;
        else
            at += size;
    }
    (void)!trace_writer_close(writer, NULL);
}

void fuzz_write_records(const char *path, const uint8_t *data, size_t bytes)
{
    uint64_t *aligned = hal_alloc(bytes / 8 + 1, 8);
    fuzz_check(aligned);
    if (bytes)
        memcpy(aligned, data, bytes);
    write_aligned(path, (const uint8_t *)aligned, bytes);
    free(aligned);
}
