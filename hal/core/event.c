/* SPDX-License-Identifier: Apache-2.0 */
/* Events: objects without a state of their own. What a wait waits for follows from the places of
 * signals in the same list. */
#include "hal/base/idmap.h"
#include "hal/base/mem.h"
#include "hal/core/core.h"

static void destroy_event(struct hal_driver_device *top, struct hal_object *object)
{
    top->ops->object_destroy(top, object);
    free(object);
}

enum hal_status hal_event_create(struct hal_device *device, const char *label,
                                 struct hal_event **out_event)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_event, "the event"));
    struct hal_event *event = hal_alloc(1, sizeof *event);
    if (!event)
        return hal_fail(HAL_NO_MEMORY, "no memory for event '%s'", label ? label : "");
    event->object.destroy = destroy_event;
    const enum hal_status status =
        hal_object_announce(&event->object, HAL_OBJECT_EVENT, device, label);
    if (status != HAL_OK) {
        free(event);
        return status;
    }
    *out_event = event;
    return HAL_OK;
}

HAL_REFERENCED(hal_event)

/* ---- Signals and waits -------------------------------------------------------------------- */

/* The state of a list's events at one position, by the index of the map. */
struct standing {
    struct hal_idmap ids;
    uint32_t *stages; /* of the last signal; 0: none, or reset since */
    size_t count, capacity;
};

static enum hal_status find(struct standing *standing, const struct hal_event *event,
                            uint32_t **out_stages)
{
    uint32_t index;
    if (standing->count >= UINT32_MAX - 1 ||
        !HAL_GROW(standing->stages, &standing->capacity, standing->count + 1) ||
        !hal_idmap_add(&standing->ids, event->object.id, (uint32_t)standing->count, &index))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu events", standing->count + 1);
    if (index == standing->count)
        standing->stages[standing->count++] = 0;
    *out_stages = &standing->stages[index];
    return HAL_OK;
}

static enum hal_status resolve_wait(const struct hal_command_buffer *commands, uint32_t number,
                                    struct standing *standing, struct hal_command_events_wait *wait)
{
    uint32_t together = 0, *stages;
    for (uint32_t i = 0; i < wait->event_count; i++) {
        const struct hal_event *event = hal_waited_events(wait)[i];
        HAL_TRY(find(standing, event, &stages));
        HAL_TRY(hal_check_signalled(commands, number, event, *stages));
        together |= *stages;
    }
    HAL_TRY(hal_check_wait_stages(commands, number, wait->source_stages, together));
    wait->source_stages = together;
    return HAL_OK;
}

static enum hal_status take_command(const struct hal_command_buffer *commands, uint32_t number,
                                    struct standing *standing, struct hal_command *command)
{
    struct hal_command_event *event = (struct hal_command_event *)(void *)command;
    uint32_t *stages;
    if (command->kind == HAL_COMMAND_EVENTS_WAIT)
        return resolve_wait(commands, number, standing, (void *)command);
    if (command->kind != HAL_COMMAND_EVENT_SIGNAL && command->kind != HAL_COMMAND_EVENT_RESET)
        return HAL_OK;
    HAL_TRY(find(standing, event->event, &stages));
    *stages = event->source_stages;
    return HAL_OK;
}

enum hal_status hal_events_resolve(struct hal_command_buffer *commands)
{
    struct standing standing = {0};
    enum hal_status status = HAL_OK;
    uint32_t number = 0;
    for (const struct hal_command *command = hal_command_first(commands);
         status == HAL_OK && command; command = hal_command_next(commands, command))
        status =
            take_command(commands, number++, &standing, (struct hal_command *)(uintptr_t)command);
    hal_idmap_finish(&standing.ids);
    free(standing.stages);
    return status;
}
