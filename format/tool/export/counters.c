/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/export/counters.h"

#include <stdio.h>

struct counted_buffer {
    uint64_t size;
    uint32_t memory;
    bool is_there;
};

void counters_init(struct counters *counters, struct export_sink *sink, uint64_t *next_track)
{
    *counters = (struct counters){.sink = sink,
                                  .next_track = next_track,
                                  .buffers = {.row_bytes = sizeof(struct counted_buffer)}};
}

void counters_finish(struct counters *counters)
{
    tool_table_finish(&counters->buffers);
}

static void count(struct counters *counters, struct export_track *track, const char *name,
                  bool in_bytes, int64_t ns, int64_t value)
{
    if (!track->id) {
        *track = (struct export_track){.id = (*counters->next_track)++,
                                       .kind = EXPORT_COUNTER,
                                       .name = name,
                                       .in_bytes = in_bytes};
        counters->sink->track(counters->sink, track);
    }
    counters->sink->count(counters->sink, track, ns, value);
}

static void name_memory(uint32_t type, char name[COUNTER_NAME_BYTES])
{
    char words[COUNTER_NAME_BYTES - sizeof "buffers "];
    snprintf(name, COUNTER_NAME_BYTES, "buffers%s%s", type ? " " : "",
             type ? trace_column_text("buffer_create", "memory", type, words, sizeof words) : "");
}

static void count_memory(struct counters *counters, const struct counted_buffer *buffer,
                         uint64_t change, int64_t ns)
{
    const uint32_t type = buffer->memory % COUNTER_TYPES;
    char *name = counters->memory_names[type];
    counters->memory[type] = (int64_t)((uint64_t)counters->memory[type] + change);
    if (!*name)
        name_memory(type, name);
    count(counters, &counters->memory_tracks[type], name, true, ns, counters->memory[type]);
}

enum hal_status counters_take(struct counters *counters, const struct trace_event *event)
{
    const struct trace_buffer_create *create = (const void *)event;
    const struct trace_object_event *destroy = (const void *)event;
    struct counted_buffer *buffer;
    if (event->status != HAL_OK)
        return HAL_OK;
    if (event->kind == TRACE_BUFFER_CREATE) {
        buffer = tool_table_add(&counters->buffers, create->buffer);
        if (!buffer)
            return hal_fail(HAL_NO_MEMORY, "no memory to count buffers");
        *buffer = (struct counted_buffer){create->size, create->memory, true};
        count_memory(counters, buffer, buffer->size, event->end_ns);
    } else if (event->kind == TRACE_BUFFER_DESTROY) {
        buffer = tool_table_find(&counters->buffers, destroy->object);
        if (!buffer || !buffer->is_there)
            return HAL_OK;
        count_memory(counters, buffer, 0 - buffer->size, event->begin_ns);
        buffer->is_there = false;
    }
    return HAL_OK;
}

void counters_flight(struct counters *counters, int64_t ns, int change)
{
    counters->in_flight += change;
    count(counters, &counters->flight_track, "submissions in flight", false, ns,
          counters->in_flight);
}
