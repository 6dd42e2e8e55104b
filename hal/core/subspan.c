/* SPDX-License-Identifier: Apache-2.0 */
/* Subspans: objects of the core that represent a range of a buffer. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

void hal_subspan_destroy(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_buffer *subspan = (struct hal_buffer *)object;
    top->ops->object_destroy(top, object);
    hal_object_release(&subspan->root->object);
    if (subspan->allocation != subspan)
        hal_object_release(subspan->allocation ? &subspan->allocation->object : NULL);
    free(subspan);
}

enum hal_status hal_buffer_subspan(struct hal_buffer *buffer, uint64_t offset, uint64_t bytes,
                                   const char *label, struct hal_buffer **out_subspan)
{
    HAL_TRY(hal_check_subspan(buffer, offset, bytes));
    HAL_TRY(hal_check_place(out_subspan, "the subspan"));
    struct hal_buffer *subspan = hal_alloc(1, sizeof *subspan);
    if (!subspan)
        return hal_fail(HAL_NO_MEMORY, "no memory for subspan '%s'", label ? label : "");
    subspan->bytes = bytes == HAL_WHOLE_BUFFER ? buffer->bytes - offset : bytes;
    subspan->memory = buffer->memory;
    subspan->usage = buffer->usage;
    subspan->root = hal_root_of(buffer, &offset);
    subspan->root_offset = offset;
    subspan->object.destroy = hal_subspan_destroy;
    const enum hal_status status =
        hal_object_announce(&subspan->object, HAL_OBJECT_SUBSPAN, buffer->object.device, label);
    if (status != HAL_OK) {
        free(subspan);
        return status;
    }
    hal_object_retain(&subspan->root->object);
    subspan->allocation = buffer->allocation;
    hal_object_retain(subspan->allocation ? &subspan->allocation->object : NULL);
    *out_subspan = subspan;
    return HAL_OK;
}
