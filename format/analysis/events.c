/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/events.h"

#include <string.h>

#define AT(record, member) offsetof(struct record, member)
#define DESTROYED(subject)                                                                         \
    {                                                                                              \
        subject, TRACE_DESTROYS, AT(trace_object_event, object)                                    \
    }
#define MAPPED                                                                                     \
    {                                                                                              \
        TRACE_OF_BUFFER, TRACE_MAPS, AT(trace_mapping_event, buffer)                               \
    }
#define USED                                                                                       \
    {                                                                                              \
        TRACE_OF_SEMAPHORE, TRACE_USES, AT(trace_semaphore_event, semaphore)                       \
    }

static const struct trace_event_traits traits[TRACE_TABLE_END] = {
    [TRACE_BUFFER_CREATE] = {TRACE_OF_BUFFER, TRACE_CREATES, AT(trace_buffer_create, buffer)},
    [TRACE_BUFFER_DESTROY] = DESTROYED(TRACE_OF_BUFFER),
    [TRACE_BUFFER_MAP] = MAPPED,
    [TRACE_BUFFER_UNMAP] = MAPPED,
    [TRACE_MAPPING_FLUSH] = MAPPED,
    [TRACE_MAPPING_INVALIDATE] = MAPPED,
    [TRACE_SUBSPAN_CREATE] = {TRACE_OF_SUBSPAN, TRACE_CREATES, AT(trace_subspan_create, subspan)},
    [TRACE_SUBSPAN_DESTROY] = DESTROYED(TRACE_OF_SUBSPAN),
    [TRACE_EXECUTABLE_CREATE] = {TRACE_OF_EXECUTABLE, TRACE_CREATES,
                                 AT(trace_executable_create, executable)},
    [TRACE_EXECUTABLE_DESTROY] = DESTROYED(TRACE_OF_EXECUTABLE),
    [TRACE_COMMAND_BUFFER_CREATE] = {TRACE_OF_COMMAND_BUFFER, TRACE_CREATES,
                                     AT(trace_command_buffer_create, command_buffer)},
    [TRACE_COMMAND_BUFFER_SEAL] = {TRACE_OF_COMMAND_BUFFER, TRACE_TELLS,
                                   AT(trace_command_buffer_seal, command_buffer)},
    [TRACE_COMMAND_STACKS] = {TRACE_OF_COMMAND_BUFFER, TRACE_TELLS,
                              AT(trace_command_stacks, command_buffer)},
    [TRACE_COMMAND_BUFFER_DESTROY] = DESTROYED(TRACE_OF_COMMAND_BUFFER),
    [TRACE_SEMAPHORE_CREATE] = {TRACE_OF_SEMAPHORE, TRACE_CREATES,
                                AT(trace_semaphore_create, semaphore)},
    [TRACE_SEMAPHORE_QUERY] = USED,
    [TRACE_SEMAPHORE_SIGNAL] = USED,
    [TRACE_SEMAPHORE_FAIL] = USED,
    [TRACE_SEMAPHORE_DESTROY] = DESTROYED(TRACE_OF_SEMAPHORE),
    [TRACE_EVENT_CREATE] = {TRACE_OF_EVENT, TRACE_CREATES, AT(trace_object_event, object)},
    [TRACE_EVENT_DESTROY] = DESTROYED(TRACE_OF_EVENT),
    [TRACE_SET_LAYOUT_CREATE] = {TRACE_OF_LAYOUT, TRACE_CREATES,
                                 AT(trace_set_layout_create, layout)},
    [TRACE_SET_LAYOUT_DESTROY] = DESTROYED(TRACE_OF_LAYOUT),
    [TRACE_PIPELINE_LAYOUT_CREATE] = {TRACE_OF_LAYOUT, TRACE_CREATES,
                                      AT(trace_pipeline_layout_create, layout)},
    [TRACE_PIPELINE_LAYOUT_DESTROY] = DESTROYED(TRACE_OF_LAYOUT),
    [TRACE_CHANNEL_CREATE] = {TRACE_OF_CHANNEL, TRACE_CREATES, AT(trace_channel_create, channel)},
    [TRACE_CHANNEL_DESTROY] = DESTROYED(TRACE_OF_CHANNEL),
    [TRACE_UNSUPPORTED] = {TRACE_OF_OTHERS, TRACE_TELLS, AT(trace_unsupported, object)},
};

struct trace_event_traits trace_event_traits(uint32_t kind)
{
    return kind < TRACE_TABLE_END ? traits[kind] : (struct trace_event_traits){0};
}

uint64_t trace_event_object(const struct trace_event *event)
{
    const uint32_t at = trace_event_traits(event->kind).object_at;
    uint64_t object = 0;
    if (at)
        memcpy(&object, (const uint8_t *)event + at, sizeof object);
    return object;
}
