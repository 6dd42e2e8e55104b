/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers: recording segments into one arena, retaining what they name, and sealing the
 * list with the state that each dispatch sees. */
#include "hal/base/mem.h"
#include "hal/core.h"

enum {
    ARENA_FIRST_BYTES = 4096,
    SPARE_LEAST_BYTES = 1 << 20,
    SPARE_MOST_BYTES = 16 << 20,
    RECENT_OBJECTS = 64, /* a power of two */
    CONSTANT_CHUNK_BYTES = 65536,
};

/* Blocks of merged constants; they never move. */
struct constant_chunk {
    struct constant_chunk *next;
    size_t used, capacity;
    uint8_t data[];
};

struct hal_recording {
    size_t arena_capacity;
    uint32_t open_groups;

    /* A retained object is found in `recent` nearly always, so that the list stays short; one
     * that was displaced there may be in the list twice and is then retained twice. */
    struct hal_object *recent[RECENT_OBJECTS];
    struct hal_object **retained;
    size_t retained_count, retained_capacity;

    struct constant_chunk *constants;
};

/* ---- Spare arenas ------------------------------------------------------------------------- */

/* New memory costs a page fault per 4 KiB, more than recording into it: so a few large arenas are
 * handed on. Gives back what is not kept. */
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

enum hal_status hal_command_buffer_create(struct hal_device *device,
                                          const struct hal_command_buffer_desc *desc,
                                          struct hal_command_buffer **out_commands)
{
    static const struct hal_command_buffer_desc defaults = {0};
    char *label;
    HAL_TRY(hal_check_device(device));
    if (!desc)
        desc = &defaults;
    if (desc->mode != HAL_ONE_SHOT && desc->mode != HAL_REUSABLE)
        return hal_fail(HAL_INVALID, "command buffer '%s': there is no mode %d",
                        desc->label ? desc->label : "", (int)desc->mode);
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
    commands->recording = recording;
    hal_object_publish(&commands->object, device, label);
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

void hal_command_buffer_retain(struct hal_command_buffer *commands)
{
    hal_object_retain(commands ? &commands->object : NULL);
}

void hal_command_buffer_release(struct hal_command_buffer *commands)
{
    hal_object_release(commands ? &commands->object : NULL);
}

void hal_commands_free(struct hal_command_buffer *commands)
{
    struct hal_recording *recording = commands->recording;
    const size_t capacity = recording->arena_capacity;
    for (size_t i = 0; i < recording->retained_count; i++)
        hal_object_release(recording->retained[i]);
    while (recording->constants) {
        struct constant_chunk *next = recording->constants->next;
        free(recording->constants);
        recording->constants = next;
    }
    free(recording->retained);
    free(recording);
    free(commands->states);
    keep_arena(commands->object.device, commands->arena, capacity);
    free(commands);
}

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

static bool grow_arena(struct hal_command_buffer *commands, size_t more_bytes)
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

/* Room for a segment at the arena's end, its head filled in; `commit` makes it count. NULL when
 * memory is out. `bytes` is rounded up to 8, and the padding is zero. */
static void *reserve(struct hal_command_buffer *commands, enum hal_segment_kind kind, size_t bytes)
{
    const size_t padded = hal_align_up(bytes, 8);
    if (commands->recording->arena_capacity - commands->arena_bytes < padded &&
        !grow_arena(commands, padded))
        return NULL;
    uint8_t *place = commands->arena + commands->arena_bytes;
    memset(place + padded - 8, 0, 8);
    *(struct hal_segment *)(void *)place =
        (struct hal_segment){.kind = (uint16_t)kind, .bytes = (uint32_t)padded};
    return place;
}

static enum hal_status commit(struct hal_command_buffer *commands, const struct hal_segment *head)
{
    commands->arena_bytes += head->bytes;
    commands->segment_count++;
    return HAL_OK;
}

static enum hal_status no_memory(const struct hal_command_buffer *commands)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory for command %u of %s", commands->segment_count,
                    hal_object_name(&commands->object, name));
}

static bool retain_new(struct hal_recording *recording, struct hal_object *object, size_t slot)
{
    if (!hal_grow((void **)&recording->retained, &recording->retained_capacity,
                  recording->retained_count + 1, sizeof *recording->retained))
        return false;
    hal_object_retain(object);
    recording->retained[recording->retained_count++] = object;
    recording->recent[slot] = object;
    return true;
}

static inline bool retain(struct hal_command_buffer *commands, struct hal_object *object)
{
    struct hal_recording *recording = commands->recording;
    const size_t slot = ((uintptr_t)object >> 5) % RECENT_OBJECTS;
    return recording->recent[slot] == object || retain_new(recording, object, slot);
}

static uint64_t resolve(const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    return bytes == HAL_WHOLE_BUFFER ? buffer->bytes - offset : bytes;
}

enum hal_status hal_command_barrier(struct hal_command_buffer *commands,
                                    const struct hal_barrier_desc *desc)
{
    static const struct hal_barrier_desc everything = {0};
    static const uint32_t all_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    if (!desc)
        desc = &everything;
    HAL_TRY(hal_check_barrier(commands, desc));
    const size_t count = desc->buffer_count;
    struct hal_segment_barrier *segment = reserve(
        commands, HAL_SEGMENT_BARRIER, sizeof *segment + count * sizeof(struct hal_buffer_barrier));
    if (!segment)
        return no_memory(commands);
    segment->source_stages = desc->source_stages ? desc->source_stages : HAL_STAGE_ALL;
    segment->target_stages = desc->target_stages ? desc->target_stages : HAL_STAGE_ALL;
    segment->source_access = desc->source_access ? desc->source_access : all_access;
    segment->target_access = desc->target_access ? desc->target_access : all_access;
    segment->buffer_count = (uint32_t)count;
    segment->reserved = 0;
    for (size_t i = 0; i < count; i++) {
        struct hal_buffer_barrier *barrier = &segment->buffers[i];
        *barrier = desc->buffers[i];
        barrier->bytes = resolve(barrier->buffer, barrier->offset, barrier->bytes);
        if (!barrier->source_access)
            barrier->source_access = segment->source_access;
        if (!barrier->target_access)
            barrier->target_access = segment->target_access;
        if (!retain(commands, &barrier->buffer->object))
            return no_memory(commands);
    }
    return commit(commands, &segment->head);
}

static uint32_t repeat_pattern(uint32_t pattern, uint32_t pattern_bytes)
{
    if (pattern_bytes == 1)
        return (pattern & 0xFF) * 0x01010101U;
    if (pattern_bytes == 2)
        return (pattern & 0xFFFF) * 0x00010001U;
    return pattern;
}

enum hal_status hal_command_fill(struct hal_command_buffer *commands, struct hal_buffer *target,
                                 uint64_t offset, uint64_t bytes, uint32_t pattern,
                                 uint32_t pattern_bytes)
{
    HAL_TRY(hal_check_transfer(commands, target, offset, bytes));
    bytes = resolve(target, offset, bytes);
    HAL_TRY(hal_check_fill(offset, bytes, pattern_bytes));
    struct hal_segment_fill *segment = reserve(commands, HAL_SEGMENT_FILL, sizeof *segment);
    if (!segment || !retain(commands, &target->object))
        return no_memory(commands);
    segment->target = target;
    segment->offset = offset;
    segment->bytes = bytes;
    segment->pattern = repeat_pattern(pattern, pattern_bytes);
    segment->pattern_bytes = pattern_bytes;
    return commit(commands, &segment->head);
}

enum hal_status hal_command_copy(struct hal_command_buffer *commands, struct hal_buffer *source,
                                 uint64_t source_offset, struct hal_buffer *target,
                                 uint64_t target_offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, source, source_offset, bytes));
    bytes = resolve(source, source_offset, bytes);
    HAL_TRY(hal_check_transfer(commands, target, target_offset, bytes));
    HAL_TRY(hal_check_overlap(source, source_offset, target, target_offset, bytes));
    struct hal_segment_copy *segment = reserve(commands, HAL_SEGMENT_COPY, sizeof *segment);
    if (!segment || !retain(commands, &source->object) || !retain(commands, &target->object))
        return no_memory(commands);
    segment->source = source;
    segment->target = target;
    segment->source_offset = source_offset;
    segment->target_offset = target_offset;
    segment->bytes = bytes;
    return commit(commands, &segment->head);
}

enum hal_status hal_command_update(struct hal_command_buffer *commands, const void *data,
                                   struct hal_buffer *target, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, target, offset, bytes));
    bytes = resolve(target, offset, bytes);
    HAL_TRY(hal_check_update(data, bytes));
    struct hal_segment_update *segment =
        reserve(commands, HAL_SEGMENT_UPDATE, sizeof *segment + bytes);
    if (!segment || !retain(commands, &target->object))
        return no_memory(commands);
    segment->target = target;
    segment->offset = offset;
    segment->bytes = bytes;
    if (bytes)
        memcpy(segment->data, data, bytes);
    return commit(commands, &segment->head);
}

enum hal_status hal_command_push_constants(struct hal_command_buffer *commands, uint32_t offset,
                                           const void *data, uint32_t bytes)
{
    HAL_TRY(hal_check_recording(commands));
    HAL_TRY(hal_check_constants(data, offset, bytes));
    struct hal_segment_push_constants *segment =
        reserve(commands, HAL_SEGMENT_PUSH_CONSTANTS, sizeof *segment + bytes);
    if (!segment)
        return no_memory(commands);
    segment->offset = offset;
    segment->bytes = bytes;
    if (bytes)
        memcpy(segment->data, data, bytes);
    return commit(commands, &segment->head);
}

enum hal_status hal_command_push_descriptor_set(struct hal_command_buffer *commands, uint32_t set,
                                                const struct hal_binding *bindings,
                                                size_t binding_count)
{
    HAL_TRY(hal_check_bindings(commands, set, bindings, binding_count));
    struct hal_segment_push_descriptor_set *segment =
        reserve(commands, HAL_SEGMENT_PUSH_DESCRIPTOR_SET,
                sizeof *segment + binding_count * sizeof *bindings);
    if (!segment)
        return no_memory(commands);
    segment->set = set;
    segment->binding_count = (uint32_t)binding_count;
    for (size_t i = 0; i < binding_count; i++) {
        segment->bindings[i] = bindings[i];
        if (!bindings[i].buffer) {
            segment->bindings[i] = (struct hal_binding){0};
            continue;
        }
        segment->bindings[i].bytes =
            resolve(bindings[i].buffer, bindings[i].offset, bindings[i].bytes);
        if (!retain(commands, &bindings[i].buffer->object))
            return no_memory(commands);
    }
    return commit(commands, &segment->head);
}

enum hal_status hal_command_dispatch(struct hal_command_buffer *commands,
                                     struct hal_executable *executable, uint32_t entry,
                                     const uint32_t workgroup_count[3])
{
    HAL_TRY(hal_check_dispatch(commands, executable, entry, workgroup_count));
    struct hal_segment_dispatch *segment = reserve(commands, HAL_SEGMENT_DISPATCH, sizeof *segment);
    if (!segment || !retain(commands, &executable->object))
        return no_memory(commands);
    segment->executable = executable;
    segment->entry = entry;
    for (size_t i = 0; i < 3; i++)
        segment->workgroup_count[i] = workgroup_count[i];
    segment->state = UINT32_MAX;
    segment->reserved = 0;
    commands->dispatch_count++;
    return commit(commands, &segment->head);
}

enum hal_status hal_command_dispatch_indirect(struct hal_command_buffer *commands,
                                              struct hal_executable *executable, uint32_t entry,
                                              struct hal_buffer *counts, uint64_t offset)
{
    HAL_TRY(hal_check_dispatch_indirect(commands, executable, entry, counts, offset));
    struct hal_segment_dispatch_indirect *segment =
        reserve(commands, HAL_SEGMENT_DISPATCH_INDIRECT, sizeof *segment);
    if (!segment || !retain(commands, &executable->object) || !retain(commands, &counts->object))
        return no_memory(commands);
    segment->executable = executable;
    segment->counts = counts;
    segment->offset = offset;
    segment->entry = entry;
    segment->state = UINT32_MAX;
    commands->dispatch_count++;
    return commit(commands, &segment->head);
}

enum hal_status hal_command_debug_begin(struct hal_command_buffer *commands, const char *label,
                                        uint32_t color)
{
    static const size_t longest = 4095;
    HAL_TRY(hal_check_recording(commands));
    const size_t length = label ? strnlen(label, longest) : 0;
    struct hal_segment_debug *segment =
        reserve(commands, HAL_SEGMENT_DEBUG_BEGIN, sizeof *segment + length + 1);
    if (!segment)
        return no_memory(commands);
    segment->color = color;
    segment->label_bytes = (uint32_t)length;
    if (length)
        memcpy(segment->label, label, length);
    segment->label[length] = '\0';
    commands->recording->open_groups++;
    return commit(commands, &segment->head);
}

enum hal_status hal_command_debug_end(struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_recording(commands));
    if (commands->recording->open_groups == 0) {
        char name[HAL_OBJECT_NAME_BYTES];
        return hal_fail(HAL_INVALID, "%s: there is no open debug group to end",
                        hal_object_name(&commands->object, name));
    }
    struct hal_segment *segment = reserve(commands, HAL_SEGMENT_DEBUG_END, sizeof *segment);
    if (!segment)
        return no_memory(commands);
    commands->recording->open_groups--;
    return commit(commands, segment);
}

/* ---- Sealing ------------------------------------------------------------------------------ */

/* The state as the pushes so far left it, and the last one that a dispatch took. */
struct resolver {
    struct hal_command_buffer *commands;
    struct hal_dispatch_state now;
    const uint8_t *pushed;  /* `now.constants` is exactly this push, or NULL: `merged` */
    bool constants_changed; /* since the last state */
    bool changed;           /* anything since the last state */
    size_t capacity;        /* of commands->states */
    uint8_t merged[HAL_MAX_CONSTANT_BYTES];
};

static uint8_t *keep_constants(struct hal_recording *recording, const uint8_t *data, size_t bytes)
{
    struct constant_chunk *chunk = recording->constants;
    const size_t padded = hal_align_up(bytes, 8);
    if (!chunk || chunk->capacity - chunk->used < padded) {
        chunk = malloc(sizeof *chunk + CONSTANT_CHUNK_BYTES);
        if (!chunk)
            return NULL;
        chunk->next = recording->constants;
        chunk->used = 0;
        chunk->capacity = CONSTANT_CHUNK_BYTES;
        recording->constants = chunk;
    }
    uint8_t *place = chunk->data + chunk->used;
    memcpy(place, data, bytes);
    chunk->used += padded;
    return place;
}

static void push_constants(struct resolver *resolver, const struct hal_segment_push_constants *push)
{
    const uint32_t end = push->offset + push->bytes;
    uint8_t *target = resolver->merged + push->offset;
    if (end <= resolver->now.constant_bytes && memcmp(target, push->data, push->bytes) == 0)
        return;
    memcpy(target, push->data, push->bytes);
    if (end > resolver->now.constant_bytes)
        resolver->now.constant_bytes = end;
    const bool whole = push->offset == 0 && push->bytes == resolver->now.constant_bytes;
    resolver->pushed = whole ? push->data : NULL;
    resolver->constants_changed = resolver->changed = true;
}

static void push_set(struct resolver *resolver, const struct hal_segment_push_descriptor_set *push)
{
    struct hal_dispatch_state *now = &resolver->now;
    if (now->binding_count[push->set] == push->binding_count &&
        (push->binding_count == 0 || memcmp(now->bindings[push->set], push->bindings,
                                            push->binding_count * sizeof *push->bindings) == 0))
        return;
    now->binding_count[push->set] = push->binding_count;
    now->bindings[push->set] = push->binding_count ? push->bindings : NULL;
    resolver->changed = true;
}

/* The index of the state that a dispatch here sees. */
static bool take_state(struct resolver *resolver, uint32_t *out_index)
{
    struct hal_command_buffer *commands = resolver->commands;
    if (resolver->changed) {
        if (!hal_grow((void **)&commands->states, &resolver->capacity,
                      (size_t)commands->state_count + 1, sizeof *commands->states))
            return false;
        if (resolver->constants_changed)
            resolver->now.constants = resolver->pushed
                                          ? resolver->pushed
                                          : keep_constants(commands->recording, resolver->merged,
                                                           resolver->now.constant_bytes);
        if (resolver->constants_changed && !resolver->now.constants)
            return false;
        commands->states[commands->state_count++] = resolver->now;
        resolver->changed = resolver->constants_changed = false;
    }
    *out_index = commands->state_count - 1;
    return true;
}

/* Of a dispatch; other segments take no state. */
static bool take_dispatch(struct resolver *resolver, struct hal_segment *segment)
{
    if (segment->kind == HAL_SEGMENT_DISPATCH)
        return take_state(resolver, &((struct hal_segment_dispatch *)segment)->state);
    if (segment->kind == HAL_SEGMENT_DISPATCH_INDIRECT)
        return take_state(resolver, &((struct hal_segment_dispatch_indirect *)segment)->state);
    return true;
}

static bool resolve_states(struct hal_command_buffer *commands)
{
    struct resolver resolver = {.commands = commands, .changed = true};
    hal_each_segment (commands, segment) {
        if (segment->kind == HAL_SEGMENT_PUSH_CONSTANTS)
            push_constants(&resolver, (const void *)segment);
        else if (segment->kind == HAL_SEGMENT_PUSH_DESCRIPTOR_SET)
            push_set(&resolver, (const void *)segment);
        else if (!take_dispatch(&resolver, (struct hal_segment *)(uintptr_t)segment))
            return false;
    }
    return true;
}

static void forget_states(struct hal_command_buffer *commands)
{
    free(commands->states);
    commands->states = NULL;
    commands->state_count = 0;
    commands->sealed = false;
}

enum hal_status hal_command_buffer_end(struct hal_command_buffer *commands)
{
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_recording(commands));
    if (commands->recording->open_groups)
        return hal_fail(HAL_INVALID, "%s ends with %u open debug groups",
                        hal_object_name(&commands->object, name), commands->recording->open_groups);
    if (!resolve_states(commands)) {
        forget_states(commands);
        return no_memory(commands);
    }
    struct hal_device *device = commands->object.device;
    enum hal_status status = hal_device_enter(device);
    if (status == HAL_OK) {
        /* Not before: a layer that begins while this thread stands at the gate looks at all command
         * buffers, and takes a sealed one for prepared. */
        commands->sealed = true;
        status = device->top->ops->command_buffer_prepare(device->top, commands);
        hal_gate_leave(&device->gate);
    }
    if (status != HAL_OK)
        forget_states(commands);
    return status;
}
