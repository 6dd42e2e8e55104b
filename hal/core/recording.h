/* SPDX-License-Identifier: Apache-2.0 */
/* A command buffer during recording: reserves space for commands and retains the objects that they
 * name. Private to the core's recording.c, commands.c and recording_end.c. */
#ifndef HAL_RECORDING_H
#define HAL_RECORDING_H

#include "hal/base/mem.h"
#include "hal/core/core.h"

enum { HAL_RECENT_OBJECTS = 64 }; /* a power of two */

/* Blocks of merged constants; never moved. */
struct hal_constant_chunk {
    struct hal_constant_chunk *next;
    size_t used, capacity;
    uint8_t data[];
};

struct hal_recording {
    size_t arena_capacity;
    uint32_t open_groups;
    bool has_events;
    bool has_transients; /* a command names a transient buffer */

    /* A retained object is nearly always found in `recent`, which keeps the list short; one that
     * was displaced there may be in the list twice and is then retained twice. */
    struct hal_object *recent[HAL_RECENT_OBJECTS];
    struct hal_object **retained;
    size_t retained_count, retained_capacity;

    struct hal_constant_chunk *constants;

    /* For a command buffer begun under a layer that notes commands. */
    bool is_noted;
    uint32_t *notes; /* by command */
    size_t note_count, note_capacity;
    uint64_t noted_by; /* index of the device's capture */
};

/* Slow paths of the functions below. */
bool hal_record_grow(struct hal_command_buffer *commands, size_t more_bytes);
bool hal_record_retain_new(struct hal_recording *recording, struct hal_object *object, size_t slot);
enum hal_status hal_record_no_memory(const struct hal_command_buffer *commands);
void hal_record_note(struct hal_command_buffer *commands);
/* Call inside the gate at the end of recording; one per command, or NULL: unknown. */
const uint32_t *hal_record_notes(struct hal_command_buffer *commands);

/* Space for a command at the arena's end, with its head filled in; hal_record_commit adds it. NULL
 * if out of memory. `bytes` is rounded up to 8 with zero padding. */
static inline void *hal_record_room(struct hal_command_buffer *commands, enum hal_command_kind kind,
                                    size_t bytes)
{
    const size_t padded = hal_align_up(bytes, 8);
    if (commands->recording->arena_capacity - commands->arena_bytes < padded &&
        !hal_record_grow(commands, padded))
        return NULL;
    uint8_t *place = commands->arena + commands->arena_bytes;
    memset(place + padded - 8, 0, 8);
    *(struct hal_command *)(void *)place =
        (struct hal_command){.kind = (uint16_t)kind, .bytes = (uint32_t)padded};
    return place;
}

static inline enum hal_status hal_record_commit(struct hal_command_buffer *commands,
                                                const struct hal_command *head)
{
    if (__builtin_expect(commands->recording->is_noted, 0))
        hal_record_note(commands);
    commands->arena_bytes += head->bytes;
    commands->command_count++;
    return HAL_OK;
}

static inline bool hal_record_retain(struct hal_command_buffer *commands, struct hal_object *object)
{
    struct hal_recording *recording = commands->recording;
    const size_t slot = ((uintptr_t)object >> 5) % HAL_RECENT_OBJECTS;
    return recording->recent[slot] == object || hal_record_retain_new(recording, object, slot);
}

#endif
