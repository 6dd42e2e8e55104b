/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file of any bytes: opened, read to its end, searched for races, written again; what was
 * written is whole. */
#include "format/trace.h"
#include "format/analysis/races.h"
#include "format/file/rewrite.h"
#include "format/limits.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    uint64_t *sum = user;
    *sum += event->bytes;
    if (segments)
        *sum += segments->bytes;
    return HAL_OK;
}

static enum hal_status read_all(const char *path)
{
    struct trace_reader *reader;
    uint64_t sum = 0;
    HAL_TRY(trace_reader_open(path, &reader));
    enum hal_status status = trace_reader_each(reader, visit, &sum);
    for (uint64_t i = 1; status == HAL_OK && i <= trace_reader_counts(reader)->contents; i++) {
        uint64_t bytes;
        uint8_t digest[TRACE_DIGEST_BYTES];
        status = trace_reader_content_info(reader, i, &bytes, digest);
        uint8_t *data = status == HAL_OK ? malloc((size_t)bytes + 1) : NULL;
        if (data)
            status = trace_reader_content(reader, i, data, (size_t)bytes);
        free(data);
    }
    trace_reader_close(reader);
    return status;
}

static void rewrite(const char *path)
{
    struct trace_rewrite rewrite;
    struct trace_rewrite_source source = {0};
    const struct trace_rewrite_rules rules = {.reads = TRACE_REWRITE_DIGEST};
    const struct trace_rewrite_options options = {.path = fuzz_output(), .force = true};
    if (trace_reader_open(path, &source.reader) != HAL_OK)
        return;
    fuzz_check(trace_rewrite_open(&rewrite, &options, trace_reader_header(source.reader)) ==
               HAL_OK);
    const enum hal_status status =
        trace_rewrite_close(&rewrite, trace_rewrite_add(&rewrite, &source, &rules), NULL);
    trace_reader_close(source.reader);
    if (status == HAL_OK)
        fuzz_check(read_all(options.path) == HAL_OK);
}

/* Whatever it says, each race that is kept can be named. */
static void find_races(const char *path)
{
    struct trace_reader *reader;
    struct trace_races races;
    char name[TRACE_RACE_NAME_BYTES];
    if (trace_reader_open(path, &reader) != HAL_OK)
        return;
    trace_races_begin(&races);
    const enum hal_status status = trace_races_find(reader, &races);
    for (size_t i = 0; status == HAL_OK && i < races.list_count; i++) {
        fuzz_check(*trace_race_side_name(&races.list[i].before, reader, name));
        fuzz_check(*trace_race_side_name(&races.list[i].after, reader, name));
        fuzz_check(races.list[i].begin < races.list[i].end);
    }
    fuzz_check(races.declared_count <= races.count);
    trace_races_finish(&races);
    trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *path = fuzz_file(data, bytes);
    find_races(path);
    if (read_all(path) == HAL_OK)
        rewrite(path);
    return 0;
}
