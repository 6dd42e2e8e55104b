/* SPDX-License-Identifier: Apache-2.0 */
/* Records of any bytes, as far as they are records, in a trace that is right otherwise: what a
 * replay plans to do with it, and what the viewer makes of it. */
#include "format/trace.h"
#include "hal/base/mem.h"
#include "replay/replay.h"
#include "tests/fuzz/fuzz.h"
#include "viewer/model.h"

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

static void write_trace(const char *path, const uint8_t *data, size_t bytes)
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

static void plan(const char *path)
{
    for (int allow = 0; allow < 2; allow++) {
        const struct replay_load_options options = {.memory_limit_bytes = 16u << 20,
                                                    .allow_unsupported = allow};
        struct replay_plan *plan = NULL;
        if (replay_plan_load(path, &options, &plan) == HAL_OK)
            replay_plan_destroy(plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint64_t *aligned = hal_alloc(bytes / 8 + 1, 8);
    fuzz_check(aligned);
    if (bytes)
        memcpy(aligned, data, bytes);
    write_trace(fuzz_output(), (const uint8_t *)aligned, bytes);
    free(aligned);
    plan(fuzz_output());
    struct view_model *model = NULL;
    if (view_model_open(fuzz_output(), &model) == HAL_OK)
        view_model_close(model);
    return 0;
}
