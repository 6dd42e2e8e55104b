/* SPDX-License-Identifier: Apache-2.0 */
/* What an object is called: its id, and its name in messages. Below everything else of the core. */
#include "hal/driver.h"

#include <stdio.h>

static _Atomic uint64_t next_id = 1;

static const char *kind_name(enum hal_object_kind kind)
{
    switch (kind) {
    case HAL_OBJECT_BUFFER: return "buffer";
    case HAL_OBJECT_EXECUTABLE: return "executable";
    case HAL_OBJECT_COMMAND_BUFFER: return "command buffer";
    case HAL_OBJECT_SEMAPHORE: return "semaphore";
    case HAL_OBJECT_EVENT: return "event";
    case HAL_OBJECT_SUBSPAN: return "buffer";
    case HAL_OBJECT_SET_LAYOUT: return "set layout";
    case HAL_OBJECT_PIPELINE_LAYOUT: return "pipeline layout";
    case HAL_OBJECT_CHANNEL: return "channel";
    }
    return "object";
}

void hal_object_init(struct hal_object *object, enum hal_object_kind kind)
{
    object->kind = kind;
    atomic_init(&object->references, 1);
    object->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
}

const char *hal_object_name(const struct hal_object *object, char out[HAL_OBJECT_NAME_BYTES])
{
    const char *operation = object && object->kind == HAL_OBJECT_COMMAND_BUFFER
                                ? ((const struct hal_command_buffer *)object)->operation
                                : NULL;
    if (!object)
        snprintf(out, HAL_OBJECT_NAME_BYTES, "no object");
    else if (operation)
        snprintf(out, HAL_OBJECT_NAME_BYTES, "%s", operation);
    else if (object->label)
        snprintf(out, HAL_OBJECT_NAME_BYTES, "%s '%s'", kind_name(object->kind), object->label);
    else
        snprintf(out, HAL_OBJECT_NAME_BYTES, "%s %llu", kind_name(object->kind),
                 (unsigned long long)object->id);
    return out;
}
