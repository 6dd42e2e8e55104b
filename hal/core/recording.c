/* SPDX-License-Identifier: Apache-2.0 */
/* The life of command buffers: the arena of recorded commands, and the list of what they name. */
#include "hal/core/recording.h"

enum {
    ARENA_FIRST_BYTES = 4096,
    SPARE_LEAST_BYTES = 1 << 20,
    SPARE_MOST_BYTES = 16 << 20,
};

/* ---- Spare arenas ------------------------------------------------------------------------- */

/* A page fault per 4 KiB costs more than recording: a few large arenas are reused, others freed. */
static void keep_arena(struct hal_device *device, uint8_t *data, size_t capacity)
{
    struct hal_spare_arena given = {data, capacity};
    if (capacity >= SPARE_LEAST_BYTES && capacity <= SPARE_MOST_BYTES) {
        pthread_mutex_lock(&device->objects_lock);
        for (size_t i = 0; i < HAL_SPARE_ARENAS; i++) {
            const struct hal_spare_arena smaller = device->spares[i];
            if (smaller.capacity < given.capacity) {
                device->spares[i] = given;
                given = smaller;
            }
        }
        pthread_mutex_unlock(&device->objects_lock);
    }
    free(given.data);
}

/* One of at least `wanted` bytes, or an empty one. */
static struct hal_spare_arena take_arena(struct hal_device *device, size_t wanted)
{
    struct hal_spare_arena taken = {0};
    if (atomic_load(&device->gate.state) == HAL_GATE_FORKED)
        return taken; /* recording continues, but the lock may be held forever */
    pthread_mutex_lock(&device->objects_lock);
    for (size_t i = 0; i < HAL_SPARE_ARENAS && !taken.data; i++) {
        if (device->spares[i].capacity >= wanted) {
            taken = device->spares[i];
            device->spares[i] = (struct hal_spare_arena){0};
        }
    }
    pthread_mutex_unlock(&device->objects_lock);
    return taken;
}

void hal_spare_arenas_free(struct hal_device *device)
{
    for (size_t i = 0; i < HAL_SPARE_ARENAS; i++)
        free(device->spares[i].data);
}

/* ---- Life --------------------------------------------------------------------------------- */

static void destroy_commands(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_command_buffer *commands = (struct hal_command_buffer *)object;
    struct hal_recording *recording = commands->recording;
    const size_t capacity = recording->arena_capacity;
    top->ops->object_destroy(top, object);
    for (size_t i = 0; i < recording->retained_count; i++)
        hal_object_release(recording->retained[i]);
    while (recording->constants) {
        struct hal_constant_chunk *next = recording->constants->next;
        free(recording->constants);
        recording->constants = next;
    }
    free(recording->retained);
    free(recording->notes);
    free(recording);
    free(commands->states);
    keep_arena(object->device, commands->arena, capacity);
    free(commands);
}

enum hal_status hal_command_buffer_create(struct hal_device *device,
                                          const struct hal_command_buffer_desc *desc,
                                          struct hal_command_buffer **out_commands)
{
    HAL_KNOW(hal_command_buffer_desc, desc);
    static const struct hal_command_buffer_desc defaults = {0};
    char *label;
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_commands, "the command buffer"));
    if (!desc)
        desc = &defaults;
    HAL_TRY(hal_check_commands_desc(desc));
    HAL_TRY(hal_copy_label(desc->label, &label));
    struct hal_command_buffer *commands = hal_alloc(1, sizeof *commands);
    struct hal_recording *recording = hal_alloc(1, sizeof *recording);
    enum hal_status status;
    if (!commands || !recording) {
        status = hal_fail(HAL_NO_MEMORY, "no memory for command buffer '%s'", label ? label : "");
        goto fail;
    }
    status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail;
    hal_object_init(&commands->object, HAL_OBJECT_COMMAND_BUFFER);
    commands->mode = desc->mode;
    commands->categories =
        desc->categories ? desc->categories : HAL_COMMANDS_TRANSFER | HAL_COMMANDS_DISPATCH;
    commands->recording = recording;
    commands->object.destroy = destroy_commands;
    hal_object_publish(&commands->object, device, label);
    recording->is_noted = device->top->ops->note_command != NULL;
    if (device->top->ops->command_buffer_created)
        device->top->ops->command_buffer_created(device->top, commands);
    hal_gate_leave(&device->gate);
    *out_commands = commands;
    return HAL_OK;

fail:
    free(recording);
    free(commands);
    free(label);
    return status;
}

HAL_REFERENCED(hal_command_buffer)

/* ---- Recording ---------------------------------------------------------------------------- */

static bool take_over(struct hal_command_buffer *commands, size_t wanted)
{
    const struct hal_spare_arena spare = take_arena(commands->object.device, wanted);
    if (!spare.data)
        return false;
    if (commands->arena_bytes)
        memcpy(spare.data, commands->arena, commands->arena_bytes);
    free(commands->arena);
    commands->arena = spare.data;
    commands->recording->arena_capacity = spare.capacity;
    return true;
}

bool hal_record_grow(struct hal_command_buffer *commands, size_t more_bytes)
{
    size_t capacity = commands->recording->arena_capacity;
    const size_t wanted = commands->arena_bytes + more_bytes;
    if (capacity == 0)
        capacity = ARENA_FIRST_BYTES;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity >= SPARE_LEAST_BYTES && take_over(commands, wanted))
        return true;
    uint8_t *moved = realloc(commands->arena, capacity);
    if (!moved)
        return false;
    commands->arena = moved;
    commands->recording->arena_capacity = capacity;
    return true;
}

enum hal_status hal_record_no_memory(const struct hal_command_buffer *commands)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory for command %u of %s", commands->command_count,
                    hal_object_name(&commands->object, name));
}

bool hal_record_retain_new(struct hal_recording *recording, struct hal_object *object, size_t slot)
{
    if (!HAL_GROW(recording->retained, &recording->retained_capacity,
                  recording->retained_count + 1))
        return false;
    hal_object_retain(object);
    if (object->kind == HAL_OBJECT_SUBSPAN && ((const struct hal_buffer *)object)->allocation)
        recording->has_transients = true;
    recording->retained[recording->retained_count++] = object;
    recording->recent[slot] = object;
    return true;
}

/* ---- Notes -------------------------------------------------------------------------------- */

/* Room for the note of the next command; those of another capture mean nothing any more. */
static uint32_t *note_room(struct hal_command_buffer *commands, uint64_t capture)
{
    struct hal_recording *recording = commands->recording;
    const size_t index = commands->command_count;
    if (recording->noted_by != capture)
        recording->note_count = 0;
    recording->noted_by = capture;
    if (!HAL_GROW(recording->notes, &recording->note_capacity, index + 1))
        return NULL;
    memset(recording->notes + recording->note_count, 0,
           (index + 1 - recording->note_count) * sizeof *recording->notes);
    recording->note_count = index + 1;
    return &recording->notes[index];
}

/* Without memory a command has no note, as the ones before the capture. */
void hal_record_note(struct hal_command_buffer *commands)
{
    struct hal_device *device = commands->object.device;
    if (!hal_gate_enter(&device->gate))
        return;
    if (device->top->ops->note_command) {
        uint32_t *note = note_room(commands, device->captures);
        if (note)
            *note = device->top->ops->note_command(device->top, commands);
    }
    hal_gate_leave(&device->gate);
}

/* All of them, zeros where there is none; NULL: unknown. */
const uint32_t *hal_record_notes(struct hal_command_buffer *commands)
{
    const struct hal_device *device = commands->object.device;
    struct hal_recording *recording = commands->recording;
    if (!recording->note_count || recording->noted_by != device->captures ||
        !device->top->ops->note_command || !commands->command_count)
        return NULL;
    return recording->note_count == commands->command_count ? recording->notes : NULL;
}
