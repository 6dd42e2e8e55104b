/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: their life from the list of what is alive to the last reference, and open mappings. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

enum hal_status hal_copy_label(const char *label, char **out_copy)
{
    HAL_TRY(hal_check_label(label));
    *out_copy = hal_copy_string(label);
    if (label && !*out_copy)
        return hal_fail(HAL_NO_MEMORY, "no memory for a label of %zu bytes", strlen(label));
    return HAL_OK;
}

void hal_device_unreference(struct hal_device *device)
{
    if (atomic_fetch_sub_explicit(&device->references, 1, memory_order_acq_rel) == 1)
        device->end(device);
}

void hal_object_publish(struct hal_object *object, struct hal_device *device, char *label)
{
    object->label = label;
    atomic_fetch_add_explicit(&device->references, 1, memory_order_relaxed);
    pthread_mutex_lock(&device->objects_lock);
    object->device = device;
    object->previous_live = device->last_live;
    object->next_live = NULL;
    if (device->last_live)
        device->last_live->next_live = object;
    else
        device->first_live = object;
    device->last_live = object;
    pthread_mutex_unlock(&device->objects_lock);
}

enum hal_status hal_object_announce(struct hal_object *object, enum hal_object_kind kind,
                                    struct hal_device *device, const char *label)
{
    char *copy;
    HAL_TRY(hal_copy_label(label, &copy));
    const enum hal_status status = hal_device_enter(device);
    if (status != HAL_OK) {
        free(copy);
        return status;
    }
    hal_object_init(object, kind);
    hal_object_publish(object, device, copy);
    if (device->top->ops->object_created)
        device->top->ops->object_created(device->top, object);
    hal_gate_leave(&device->gate);
    return HAL_OK;
}

static void unlink_locked(struct hal_device *device, struct hal_object *object)
{
    if (object->previous_live)
        object->previous_live->next_live = object->next_live;
    else
        device->first_live = object->next_live;
    if (object->next_live)
        object->next_live->previous_live = object->previous_live;
    else
        device->last_live = object->previous_live;
}

/* Puts the object off until the gate opens; false when it has opened already. It stays in the
 * list of live objects, so that a layer which ends meanwhile finds what it attached. */
static bool put_off(struct hal_device *device, struct hal_object *object)
{
    if (atomic_load(&device->gate.state) == HAL_GATE_FORKED)
        return true; /* the parent has it; so may a thread there have the lock */
    pthread_mutex_lock(&device->objects_lock);
    const uint32_t state = atomic_load(&device->gate.state);
    if (state == HAL_GATE_CLOSED) {
        object->next_dead = device->first_dead;
        device->first_dead = object;
    }
    pthread_mutex_unlock(&device->objects_lock);
    return state == HAL_GATE_CLOSED;
}

static void last_release(struct hal_object *object)
{
    struct hal_device *device = object->device;
    while (!hal_gate_enter_destroy(&device->gate)) {
        if (put_off(device, object))
            return;
    }
    pthread_mutex_lock(&device->objects_lock);
    unlink_locked(device, object);
    pthread_mutex_unlock(&device->objects_lock);
    char *label = object->label;
    object->destroy(device->top, object);
    free(label);
    hal_gate_leave(&device->gate);
    hal_device_unreference(device);
}

void hal_object_retain(struct hal_object *object)
{
    if (object)
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

void hal_object_release(struct hal_object *object)
{
    if (object && atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) == 1)
        last_release(object);
}

void hal_objects_reopen(struct hal_device *device)
{
    pthread_mutex_lock(&device->objects_lock);
    struct hal_object *dead = device->first_dead;
    device->first_dead = NULL;
    hal_gate_open(&device->gate);
    pthread_mutex_unlock(&device->objects_lock);
    while (dead) {
        struct hal_object *next = dead->next_dead;
        last_release(dead);
        dead = next;
    }
}

void hal_objects_each(struct hal_device *device,
                      void (*visit)(void *user, struct hal_object *object), void *user)
{
    pthread_mutex_lock(&device->objects_lock);
    for (struct hal_object *object = device->first_live; object; object = object->next_live)
        visit(user, object);
    pthread_mutex_unlock(&device->objects_lock);
}

/* ---- Open mappings ------------------------------------------------------------------------ */

static bool is_scoped(const struct hal_mapping *mapping)
{
    return !(mapping->mode & HAL_MAP_PERSISTENT);
}

enum hal_status hal_mapping_note(const struct hal_mapping *mapping)
{
    struct hal_buffer *buffer = mapping->buffer;
    struct hal_open_mapping *open = hal_alloc(1, sizeof *open);
    char name[HAL_OBJECT_NAME_BYTES];
    if (!open)
        return hal_fail(HAL_NO_MEMORY, "no memory to map %s",
                        hal_object_name(&buffer->object, name));
    open->mapping = *mapping;
    pthread_mutex_lock(&buffer->object.device->objects_lock);
    open->next = buffer->open_mappings;
    buffer->open_mappings = open;
    if (is_scoped(mapping))
        atomic_fetch_add_explicit(&buffer->object.device->scoped_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&buffer->object.device->objects_lock);
    return HAL_OK;
}

static bool is_same(const struct hal_mapping *a, const struct hal_mapping *b)
{
    return a->offset == b->offset && a->bytes == b->bytes && a->mode == b->mode;
}

void hal_mapping_forget(const struct hal_mapping *mapping)
{
    struct hal_buffer *buffer = mapping->buffer;
    pthread_mutex_lock(&buffer->object.device->objects_lock);
    struct hal_open_mapping **link = &buffer->open_mappings;
    while (*link && !is_same(&(*link)->mapping, mapping))
        link = &(*link)->next;
    struct hal_open_mapping *open = *link;
    if (open)
        *link = open->next;
    if (open && is_scoped(mapping))
        atomic_fetch_sub_explicit(&buffer->object.device->scoped_count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&buffer->object.device->objects_lock);
    free(open);
}

void hal_mappings_each(struct hal_device *device,
                       void (*visit)(void *user, const struct hal_mapping *mapping), void *user)
{
    pthread_mutex_lock(&device->objects_lock);
    for (struct hal_object *object = device->first_live; object; object = object->next_live) {
        if (object->kind != HAL_OBJECT_BUFFER)
            continue;
        const struct hal_open_mapping *open = ((struct hal_buffer *)object)->open_mappings;
        for (; open; open = open->next)
            visit(user, &open->mapping);
    }
    pthread_mutex_unlock(&device->objects_lock);
}
