/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory as a buffer, and a buffer as host memory. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

/* ---- Import ------------------------------------------------------------------------------- */

struct hal_import {
    struct hal_deferred_call call;
    void (*release)(void *user, void *pointer);
    void *user, *pointer;
};

static void give_back(struct hal_deferred_call *call)
{
    struct hal_import *import = (struct hal_import *)call;
    if (import->release)
        import->release(import->user, import->pointer);
    free(import);
}

/* Memory of the program is given back outside of all gates. */
static void destroy_imported(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_import *import = ((struct hal_buffer *)object)->import;
    top->ops->object_destroy(top, object);
    hal_gate_defer(&import->call);
}

enum hal_status hal_buffer_import(struct hal_device *device, const struct hal_buffer_desc *desc,
                                  void *pointer, void (*release)(void *user, void *pointer),
                                  void *user, struct hal_buffer **out_buffer)
{
    HAL_KNOW(hal_buffer_desc, desc);
    char *label;
    struct hal_buffer *buffer;
    HAL_TRY(hal_check_import(device, desc, pointer));
    HAL_TRY(hal_check_place(out_buffer, "the buffer"));
    struct hal_buffer_desc full = hal_buffer_desc_resolve(desc);
    full.memory |= HAL_MEMORY_HOST_COHERENT;
    HAL_TRY(hal_copy_label(desc->label, &label));
    struct hal_import *import = hal_alloc(1, sizeof *import);
    enum hal_status status =
        import ? hal_device_enter(device)
               : hal_fail(HAL_NO_MEMORY, "no memory to import buffer '%s'", label ? label : "");
    if (status != HAL_OK)
        goto fail_label;
    *import = (struct hal_import){{.run = give_back}, release, user, pointer};
    status = device->top->ops->buffer_import(device->top, &full, pointer, &buffer);
    if (status != HAL_OK)
        goto fail_gate;
    buffer->import = import;
    buffer->object.destroy = destroy_imported;
    hal_object_publish(&buffer->object, device, label);
    hal_gate_leave(&device->gate);
    *out_buffer = buffer;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_label:
    free(import);
    free(label);
    return status;
}

/* ---- Export ------------------------------------------------------------------------------- */

static void *exported_of(struct hal_buffer *root)
{
    pthread_mutex_lock(&root->object.device->objects_lock);
    void *data = root->exported.data;
    pthread_mutex_unlock(&root->object.device->objects_lock);
    return data;
}

/* True: this mapping is the buffer's export now; false: another thread was sooner, with one of its
 * own (each has a subspan of the buffer). */
static bool become_export(struct hal_buffer *root, const struct hal_mapping *mapping)
{
    pthread_mutex_lock(&root->object.device->objects_lock);
    const bool is_first = !root->exported.data;
    if (is_first)
        root->exported = *mapping;
    pthread_mutex_unlock(&root->object.device->objects_lock);
    return is_first;
}

/* The mapping lives as long as the buffer and holds no reference to it. */
static enum hal_status map_for_good(struct hal_buffer *root)
{
    static const uint32_t mode = HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT;
    struct hal_mapping mapping;
    HAL_TRY(hal_buffer_map(root, mode, 0, root->bytes, &mapping));
    if (!become_export(root, &mapping))
        return hal_buffer_unmap(&mapping);
    hal_buffer_release(root);
    return HAL_OK;
}

enum hal_status hal_buffer_export(struct hal_buffer *buffer, void **out_pointer)
{
    HAL_TRY(hal_check_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, HAL_WHOLE_BUFFER));
    if (!out_pointer)
        return hal_fail(HAL_INVALID, "exporting a buffer needs a place for the pointer");
    HAL_TRY(hal_device_check_here(buffer->object.device));
    uint64_t offset = 0;
    struct hal_buffer *root = hal_root_of(buffer, &offset);
    if (!root->imported && !exported_of(root))
        HAL_TRY(map_for_good(root));
    uint8_t *base = root->imported ? root->imported : exported_of(root);
    *out_pointer = base + offset;
    return HAL_OK;
}
