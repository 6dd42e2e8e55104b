/* SPDX-License-Identifier: Apache-2.0 */
/* Loading: gathers the ordered events of all threads into the plan's memory, sorts them by
 * ticket, has them decoded one after the other, and fetches the contents. */
#include "replay/plan/plan.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "replay/plan/decode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Gathering ----------------------------------------------------------------------------- */

struct gathering {
    struct replay_plan *plan;
    struct replay_decoder *decoder;
    struct replay_gathered *events;
    size_t count, capacity;
};

static bool is_ordered(enum trace_event_kind kind)
{
    return kind != TRACE_SUBMISSION_DONE && kind != TRACE_SCOPE_BEGIN && kind != TRACE_SCOPE_END &&
           kind != TRACE_DISPATCH_TIMES && kind != TRACE_COMMAND_STACKS && kind != TRACE_FILE &&
           kind != TRACE_FAILURE && kind != TRACE_STRING && kind != TRACE_STACK &&
           kind != TRACE_MODULE && kind != TRACE_THREAD;
}

static enum hal_status gather(void *user, const struct trace_event *event,
                              const struct trace_segment *segments)
{
    struct gathering *gathering = user;
    struct replay_plan *plan = gathering->plan;
    char name[REPLAY_NAME_BYTES];
    if (event->kind == TRACE_SUBMISSION_DONE)
        return replay_decode_done(gathering->decoder, (const void *)event);
    if (event->kind == TRACE_HOST_CALL_BEGIN)
        HAL_TRY(replay_decode_begun(gathering->decoder, (const void *)event));
    if (event->kind == TRACE_SCOPE_BEGIN || event->kind == TRACE_SCOPE_END)
        return replay_scopes_take(plan, event);
    if (!is_ordered((enum trace_event_kind)event->kind))
        return HAL_OK;
    if (event->ticket == 0)
        return hal_fail(HAL_CORRUPT, "%s has no ticket", replay_event_name(event, name));
    if (!HAL_GROW(gathering->events, &gathering->capacity, gathering->count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu events", gathering->count);
    const size_t segment_bytes = event->kind == TRACE_COMMAND_BUFFER_SEAL
                                     ? TRACE_AS(trace_command_buffer_seal, event)->segment_bytes
                                     : 0;
    void *room;
    HAL_TRY(replay_plan_take(plan, event->bytes + segment_bytes, &room));
    memcpy(room, event, event->bytes);
    struct replay_gathered *gathered = &gathering->events[gathering->count++];
    *gathered = (struct replay_gathered){.ticket = event->ticket, .event = room};
    if (segment_bytes) {
        gathered->segments = (void *)((uint8_t *)room + event->bytes);
        memcpy(gathered->segments, segments, segment_bytes);
    }
    return HAL_OK;
}

/* ---- Order --------------------------------------------------------------------------------- */

/* The end of the ascending run that starts at `start`. */
static size_t run_end(const struct replay_gathered *events, size_t start, size_t count)
{
    size_t end = start + 1;
    while (end < count && events[end - 1].ticket <= events[end].ticket)
        end++;
    return end < count ? end : count;
}

static void merge(const struct replay_gathered *from, size_t start, size_t middle, size_t end,
                  struct replay_gathered *to)
{
    size_t left = start, right = middle;
    for (size_t i = start; i < end; i++) {
        const bool take_left =
            left < middle && (right >= end || from[left].ticket <= from[right].ticket);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

/* Stable. Merges existing runs, each thread's events: log n passes for n threads. */
static enum hal_status sort_by_ticket(struct gathering *gathering)
{
    const size_t count = gathering->count;
    if (count == 0 || run_end(gathering->events, 0, count) == count)
        return HAL_OK;
    struct replay_gathered *other = hal_alloc(count, sizeof *other);
    if (!other)
        return hal_fail(HAL_NO_MEMORY, "no memory to sort %zu events", count);
    while (run_end(gathering->events, 0, count) < count) {
        for (size_t start = 0, end; start < count; start = end) {
            const size_t middle = run_end(gathering->events, start, count);
            end = middle < count ? run_end(gathering->events, middle, count) : count;
            merge(gathering->events, start, middle, end, other);
        }
        struct replay_gathered *sorted = other;
        other = gathering->events;
        gathering->events = sorted;
        gathering->capacity = count;
    }
    free(other);
    return HAL_OK;
}

/* ---- Incomplete files ---------------------------------------------------------------------- */

static void HAL_PRINTF(2, 3) say_incomplete(struct replay_plan *plan, const char *format, ...)
{
    const size_t used = strlen(plan->incomplete);
    va_list arguments;
    va_start(arguments, format);
    snprintf(plan->incomplete + used, sizeof plan->incomplete - used, "%s", used ? "; " : "");
    const size_t begin = strlen(plan->incomplete);
    vsnprintf(plan->incomplete + begin, sizeof plan->incomplete - begin, format, arguments);
    va_end(arguments);
}

static void check_health(struct replay_plan *plan)
{
    const char *truncated = trace_reader_truncated(plan->reader);
    const struct trace_health *health = trace_reader_health(plan->reader);
    plan->info.cut = health ? truncated : "";
    if (!health)
        say_incomplete(plan, "%s", truncated[0] ? truncated : "the capture did not end");
    if (health && health->status != HAL_OK)
        say_incomplete(plan, "the capture failed: %s%s",
                       health->message && health->message[0]
                           ? health->message
                           : hal_status_name((enum hal_status)health->status),
                       health->recovered ? " (earlier events have been recovered)" : "");
    if (health && health->lost_records)
        say_incomplete(plan, "%s lost",
                       hal_count(health->lost_records, "event was", "events were").text);
}

/* The program did what the recording could only note, or could not even note. */
static enum hal_status check_supported(struct replay_plan *plan)
{
    const struct trace_health *health = trace_reader_health(plan->reader);
    if (health && health->unsupported_calls > plan->info.unsupported_calls)
        plan->info.unsupported_calls = health->unsupported_calls;
    if (!plan->info.unsupported_calls || plan->allow_unsupported)
        return HAL_OK;
    return hal_fail(
        HAL_UNSUPPORTED,
        "the program made %s that no replay can repeat (--allow-unsupported skips them)",
        hal_count(plan->info.unsupported_calls, "call", "calls").text);
}

/* How many events can be replayed: tickets are consecutive, so in an incomplete file everything
 * after a gap may depend on what is missing. */
static size_t count_usable(const struct replay_plan *plan, const struct gathering *gathering)
{
    if (!plan->incomplete[0])
        return gathering->count;
    uint64_t previous = 0;
    for (size_t i = 0; i < gathering->count; i++) {
        if (gathering->events[i].ticket > previous + 1)
            return i;
        previous = gathering->events[i].ticket;
    }
    return gathering->count;
}

static enum hal_status check_tickets(const struct gathering *gathering)
{
    for (size_t i = 1; i < gathering->count; i++) {
        const struct replay_gathered *a = &gathering->events[i - 1], *b = a + 1;
        if (a->ticket == b->ticket && a->event->thread != b->event->thread)
            return hal_fail(HAL_CORRUPT, "ticket %" PRIu64 " belongs to threads %u and %u",
                            a->ticket, a->event->thread, b->event->thread);
    }
    return HAL_OK;
}

static enum hal_status end_where_events_are_missing(struct replay_plan *plan)
{
    const size_t before = plan->op_count;
    HAL_TRY(replay_decode_cut(plan));
    if (plan->op_count < before)
        say_incomplete(plan, "the last %zu of %s wait for missing ones", before - plan->op_count,
                       hal_count(before, "call", "calls").text);
    return HAL_OK;
}

static enum hal_status decode_all(struct gathering *gathering)
{
    struct replay_plan *plan = gathering->plan;
    const size_t usable = count_usable(plan, gathering);
    size_t i = 0;
    for (; i < usable; i++) {
        const enum hal_status status = replay_decode(gathering->decoder, &gathering->events[i]);
        if (plan->incomplete[0] && (status == HAL_CORRUPT || status == HAL_NOT_FOUND)) {
            say_incomplete(plan, "%s", hal_message());
            break;
        }
        HAL_TRY(status == HAL_NOT_FOUND ? HAL_CORRUPT : status);
    }
    HAL_TRY(replay_decode_losses(gathering->decoder, NULL));
    plan->info.events = gathering->count;
    plan->info.replayed_events = i;
    if (i < gathering->count)
        say_incomplete(plan, "only the first %zu of %s can be replayed", i,
                       hal_count(gathering->count, "event", "events").text);
    return plan->incomplete[0] ? end_where_events_are_missing(plan) : HAL_OK;
}

/* ---- Contents ------------------------------------------------------------------------------ */

enum hal_status replay_plan_content(const struct replay_plan *plan, uint64_t index,
                                    uint8_t **scratch, size_t *scratch_bytes,
                                    const uint8_t **out_data)
{
    const struct replay_content *content = &plan->contents[index];
    *out_data = content->data;
    if (content->data)
        return HAL_OK;
    void *room = *scratch;
    if (!hal_grow(&room, scratch_bytes, content->bytes, 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for a content of %" PRIu64 " bytes",
                        content->bytes);
    *scratch = room;
    *out_data = room;
    return trace_reader_content(plan->reader, content->number, room, content->bytes);
}

/* Fetches all contents if buffers, events and they fit under the limit together. */
static enum hal_status load_contents(struct replay_plan *plan)
{
    uint64_t all;
    plan->info.contents_in_memory =
        hal_add_u64(plan->info.peak_buffer_bytes, plan->info.content_bytes, &all) &&
        hal_add_u64(all, plan->block_bytes, &all) && all <= plan->memory_limit_bytes;
    for (size_t i = 1; i < plan->content_count && plan->info.contents_in_memory; i++) {
        struct replay_content *content = &plan->contents[i];
        content->data = malloc(content->bytes ? content->bytes : 1);
        if (!content->data) {
            plan->info.contents_in_memory = false;
            break;
        }
        HAL_TRY(trace_reader_content(plan->reader, content->number, content->data, content->bytes));
    }
    return HAL_OK;
}

/* ---- Loading ------------------------------------------------------------------------------- */

static uint64_t physical_memory_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}

/* Index 0 means "none" everywhere. */
static enum hal_status reserve_zero(struct replay_plan *plan)
{
    uint32_t none;
    HAL_TRY(replay_plan_object(plan, REPLAY_BUFFER, NULL, &none));
    plan->contents = hal_alloc(1, sizeof *plan->contents);
    if (!plan->contents)
        return hal_fail(HAL_NO_MEMORY, "no memory for a plan");
    plan->content_count = plan->content_capacity = 1;
    return HAL_OK;
}

static enum hal_status load_events(struct replay_plan *plan)
{
    struct replay_decoder decoder = {.plan = plan};
    struct gathering gathering = {.plan = plan, .decoder = &decoder};
    enum hal_status status = trace_reader_each(plan->reader, gather, &gathering);
    if (status == HAL_OK)
        status = sort_by_ticket(&gathering);
    if (status == HAL_OK)
        status = check_tickets(&gathering);
    if (status == HAL_OK)
        status = decode_all(&gathering);
    if (status == HAL_OK)
        status = replay_scopes_find_ops(plan);
    replay_order_written(plan);
    for (size_t i = 1; i < plan->object_count; i++) {
        if (plan->objects[i].kind == REPLAY_BUFFER)
            replay_uninitialised_finish(&plan->objects[i].buffer.uninitialised);
    }
    free(gathering.events);
    replay_decoder_finish(&decoder);
    return status;
}

/* The reader's own messages begin with the path. */
static enum hal_status with_path(const char *path, enum hal_status status)
{
    const size_t length = strlen(path);
    const char *message = hal_message();
    if (message[0] == '\'' && strncmp(message + 1, path, length) == 0 &&
        message[1 + length] == '\'')
        return status;
    return hal_add_context(status, "'%s'", path);
}

/* What was done to a trace after its capture may have taken away what a replay needs. */
static enum hal_status check_replayable(const struct replay_plan *plan)
{
    const struct trace_header *header = trace_reader_header(plan->reader);
    if (!header->view_only[0])
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED, "the trace can be viewed, but not replayed: %s",
                    header->view_only);
}

/* Contents in other traces must be available. */
static enum hal_status add_bases(struct replay_plan *plan,
                                 const struct replay_load_options *options)
{
    const char *base = trace_reader_header(plan->reader)->base;
    for (size_t i = 0; i < options->base_count; i++)
        HAL_TRY(hal_add_context(trace_reader_add_base(plan->reader, options->bases[i]), "--base"));
    const struct trace_missing missing = trace_reader_missing(plan->reader);
    if (!missing.contents)
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "%s of %s (the first is number %" PRIu64
                    ") are not in the file, but in '%s', %s",
                    hal_count(missing.contents, "content", "contents").text,
                    hal_count(missing.bytes, "byte", "bytes").text, missing.first,
                    base[0] ? base : "another one",
                    options->base_count ? "and not in the traces that --base gave"
                                        : "which --base=TRACE gives");
}

enum hal_status replay_plan_load(const char *path, const struct replay_load_options *options,
                                 struct replay_plan **out_plan)
{
    struct replay_plan *plan = hal_alloc(1, sizeof *plan);
    if (!plan)
        return hal_fail(HAL_NO_MEMORY, "no memory for a plan");
    plan->all_submissions_end = true;
    plan->allow_unsupported = options->allow_unsupported;
    plan->symbols = options->symbols;
    plan->symbol_count = options->symbol_count;
    plan->only_system_symbols = options->only_system_symbols;
    plan->memory_limit_bytes =
        options->memory_limit_bytes ? options->memory_limit_bytes : physical_memory_bytes();
    enum hal_status status = trace_reader_open(path, &plan->reader);
    if (status != HAL_OK)
        goto fail;
    plan->info.header = trace_reader_header(plan->reader);
    plan->info.incomplete = plan->incomplete;
    check_health(plan);
    status = check_replayable(plan);
    if (status == HAL_OK)
        status = add_bases(plan, options);
    if (status == HAL_OK && options->opened)
        options->opened(options->user, plan->info.header);
    if (status == HAL_OK)
        status = reserve_zero(plan);
    if (status == HAL_OK)
        status = load_events(plan);
    if (status == HAL_OK)
        status = check_supported(plan);
    if (status == HAL_OK)
        status = load_contents(plan);
    if (status != HAL_OK) {
        with_path(path, status);
        goto fail;
    }
    *out_plan = plan;
    return HAL_OK;
fail:
    replay_plan_destroy(plan);
    return status;
}
