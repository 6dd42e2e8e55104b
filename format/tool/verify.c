/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace verify: reads every byte and checks it against the file's own metadata, and the events
 * against each other. */
#include "format/analysis/lifetimes.h"
#include "format/tool/support/tool.h"

#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_DESCRIBED = 20 };

struct verify {
    struct trace_reader *reader;
    uint64_t chunks, events, contents, content_bytes;
    uint64_t damaged_chunks, damaged_contents, contradictions;
    struct trace_lifetimes lifetimes;
    struct trace_missing missing; /* in other traces, and not looked at */
    bool out_of_memory;
    char last[HAL_MESSAGE_BYTES]; /* described: a damaged frame has many contents */
    unsigned described;
    struct tool_progress progress;
};

/* Says what is damaged, the first times. */
static void describe(struct verify *v, uint64_t *count, enum hal_status status)
{
    ++*count;
    v->out_of_memory |= status == HAL_NO_MEMORY;
    if (strcmp(v->last, hal_message()) == 0)
        return;
    snprintf(v->last, sizeof v->last, "%s", hal_message());
    if (++v->described <= MOST_DESCRIBED)
        tool_error("%s", v->last);
    if (v->described == MOST_DESCRIBED)
        tool_error("further damage is counted but not described");
}

/* The event says what size its contents have, and the contents have their own. */
static void check_sizes(struct verify *v, const struct trace_event *event)
{
    struct trace_event *record = (struct trace_event *)(uintptr_t)event;
    uint64_t wanted, size;
    const uint64_t *content;
    for (uint32_t i = 0; (content = trace_record_content(record, i, &wanted)); i++) {
        if (*content && trace_reader_content_size(v->reader, *content, &size) == HAL_OK &&
            size != wanted)
            describe(v, &v->contradictions,
                     hal_fail(HAL_CORRUPT, "content %" PRIu64 " has %s, an event says %" PRIu64,
                              *content, hal_count(size, "byte", "bytes").text, wanted));
    }
}

static void take_events(struct verify *v, const struct trace_chunk *chunk)
{
    const struct trace_event *event = chunk->events;
    for (uint32_t i = 0; i < chunk->event_count && !v->out_of_memory; i++) {
        const struct trace_event *next = trace_next_event(event);
        check_sizes(v, event);
        const enum hal_status status =
            trace_lifetimes_take(&v->lifetimes, event, (const void *)next);
        if (status != HAL_OK)
            describe(v, &v->contradictions, status);
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
            next = (const void *)((const uint8_t *)next +
                                  TRACE_AS(trace_command_buffer_seal, event)->segment_bytes);
        event = next;
    }
}

static void describe_contradiction(void *user, enum hal_status status)
{
    struct verify *v = user;
    describe(v, &v->contradictions, status);
}

/* Where events are missing, an object may lack its creation. */
static void verify_lifetimes(struct verify *v)
{
    const struct trace_health *health = trace_reader_health(v->reader);
    const bool is_whole = health && health->status == HAL_OK && !health->lost_records &&
                          !*trace_reader_truncated(v->reader) && !v->damaged_chunks &&
                          !trace_reader_header(v->reader)->view_only[0];
    trace_lifetimes_check(&v->lifetimes, is_whole, describe_contradiction, v);
    trace_lifetimes_finish(&v->lifetimes);
}

static void verify_chunks(struct verify *v)
{
    const size_t count = trace_reader_chunk_count(v->reader);
    for (size_t i = 0; i < count; i++) {
        struct trace_chunk chunk;
        const enum hal_status status = trace_reader_chunk(v->reader, i, &chunk);
        if (status == HAL_OK) {
            v->chunks++;
            v->events += chunk.event_count;
            take_events(v, &chunk);
            trace_chunk_free(&chunk);
        } else {
            describe(v, &v->damaged_chunks, status);
        }
        tool_progress(&v->progress, i + 1);
    }
}

static enum hal_status verify_content(struct verify *v, uint64_t number, uint8_t **bytes,
                                      uint64_t *capacity)
{
    uint64_t size;
    HAL_TRY(trace_reader_content_size(v->reader, number, &size));
    if (size > *capacity) {
        uint8_t *grown = realloc(*bytes, (size_t)size);
        if (!grown)
            return hal_fail(HAL_NO_MEMORY, "no memory for content %" PRIu64 " of %" PRIu64 " bytes",
                            number, size);
        *bytes = grown;
        *capacity = size;
    }
    HAL_TRY(trace_reader_content(v->reader, number, *bytes, (size_t)size));
    v->contents++;
    v->content_bytes += size;
    return HAL_OK;
}

static void verify_contents(struct verify *v)
{
    const uint64_t count = trace_reader_counts(v->reader)->contents;
    const size_t chunks = trace_reader_chunk_count(v->reader);
    uint8_t *bytes = NULL;
    uint64_t capacity = 0;
    for (uint64_t i = 1; i <= count; i++) {
        const enum hal_status status = trace_reader_has_content(v->reader, i)
                                           ? verify_content(v, i, &bytes, &capacity)
                                           : HAL_OK;
        if (status != HAL_OK)
            describe(v, &v->damaged_contents, status);
        tool_progress(&v->progress, chunks + i);
    }
    free(bytes);
}

static void print_json(struct trace_text *text, const char *path, const struct verify *v, bool good)
{
    trace_json_open(text, '{');
    trace_json_member_text(text, "file", path);
    trace_json_member_bool(text, "good", good);
    static const char *const keys[] = {"chunks",         "events",           "contents",
                                       "content_bytes",  "damaged_chunks",   "damaged_contents",
                                       "contradictions", "missing_contents", "missing_bytes"};
    const uint64_t values[] = {v->chunks,         v->events,           v->contents,
                               v->content_bytes,  v->damaged_chunks,   v->damaged_contents,
                               v->contradictions, v->missing.contents, v->missing.bytes};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        trace_json_member_u64(text, keys[i], values[i]);
    }
    trace_json_member_text(text, "truncated", trace_reader_truncated(v->reader));
    trace_json_close(text, '}');
    trace_text_append(text, "\n", 1);
}

static void print_text(struct trace_text *text, const struct verify *v, bool good)
{
    trace_text_printf(text, "%s: %s in %s, %s of %s are intact",
                      good                                 ? "good"
                      : *trace_reader_truncated(v->reader) ? "NOT WHOLE"
                                                           : "NOT GOOD",
                      hal_count(v->events, "event", "events").text,
                      hal_count(v->chunks, "chunk", "chunks").text,
                      hal_count(v->contents, "content", "contents").text,
                      hal_count(v->content_bytes, "byte", "bytes").text);
    if (v->damaged_chunks || v->damaged_contents)
        trace_text_printf(text, "; damaged: %s, %s",
                          hal_count(v->damaged_chunks, "chunk", "chunks").text,
                          hal_count(v->damaged_contents, "content", "contents").text);
    if (v->contradictions)
        trace_text_printf(text, "; %s",
                          hal_count(v->contradictions, "contradiction", "contradictions").text);
    if (v->missing.contents)
        trace_text_printf(text, "; not checked: %s of %s that are in another trace (--base=TRACE)",
                          hal_count(v->missing.contents, "content", "contents").text,
                          hal_count(v->missing.bytes, "byte", "bytes").text);
    trace_text_append(text, "\n", 1);
}

static int verify(const char *path, const struct tool_bases *bases, bool as_json)
{
    struct verify v = {0};
    struct trace_text text = {0};
    const enum hal_status status = tool_open(path, bases, &v.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    const char *truncated = trace_reader_truncated(v.reader);
    if (*truncated)
        tool_error("'%s' is incomplete: %s", path, truncated);
    v.missing = trace_reader_missing(v.reader);
    tool_progress_begin(&v.progress, "verifying",
                        trace_reader_chunk_count(v.reader) +
                            trace_reader_counts(v.reader)->contents);
    verify_chunks(&v);
    verify_lifetimes(&v);
    verify_contents(&v);
    tool_progress_end(&v.progress);
    const bool good = !*truncated && !v.damaged_chunks && !v.damaged_contents && !v.contradictions;
    if (as_json)
        print_json(&text, path, &v, good);
    else
        print_text(&text, &v, good);
    const enum hal_status written = tool_write(&text, true);
    if (written != HAL_OK)
        tool_error("%s", hal_message());
    trace_text_finish(&text);
    trace_reader_close(v.reader);
    return written == HAL_OK && !v.out_of_memory && good ? TOOL_OK : TOOL_FAILED;
}

struct arguments {
    struct tool_bases bases;
    bool as_json;
};

static const struct hal_option options[] = {
    {.name = "json",
     .help = "print the result as one JSON object",
     .target = offsetof(struct arguments, as_json)},
    TOOL_BASE_OPTION(struct arguments, bases),
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_verify, argv, &a, &words))
        return words.exit_status;
    const char *path = tool_one_file(&tool_verify, &words);
    return path ? verify(path, &a.bases, a.as_json) : TOOL_USAGE;
}

const struct tool_command tool_verify = {
    .name = "verify",
    .summary = "check every byte of a trace",
    .usage =
        "usage: hal-trace verify [--json] [--base=TRACE] FILE\n"
        "\n"
        "Reads all events and contents, and checks sizes, references, checksums and digests, and\n"
        "that no events contradict each other: an object that is created twice, for example.\n"
        "The exit status is 3 if anything is damaged or missing, after everything was checked.\n",
    .options = options,
    .run = run,
};
