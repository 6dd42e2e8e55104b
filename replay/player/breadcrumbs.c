/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dispatch that does not end, on devices that cannot report it: in the command buffers of
 * one submission, every dispatch is followed by a write of its number to memory, with barriers on
 * both sides. That prevents all overlap, so it is done only after a known hang. */
#include "hal/base/mem.h"
#include "replay/player/player.h"

struct replay_breadcrumbs {
    const struct trace_submit *submit;
    struct hal_buffer *buffer; /* one number per command buffer: dispatches that have ended */
    const volatile uint32_t *numbers;
    int64_t slot;        /* of the command buffer that is recorded now; negative: none of these */
    uint32_t dispatches; /* recorded in it */
};
enum { NOT_BEGUN = 0xff };

static const struct trace_submit *find_submission(const struct replay_plan *plan, uint64_t id)
{
    for (size_t op = 0; op < plan->op_count; op++) {
        const struct trace_submit *submit = (const void *)plan->ops[op].event;
        if (plan->ops[op].action == REPLAY_SUBMIT && submit->submission == id)
            return submit;
    }
    return NULL;
}

enum hal_status replay_breadcrumbs_create(struct replay_player *player, uint64_t submission)
{
    const struct trace_submit *submit = find_submission(player->plan, submission);
    if (!submit || !submit->command_buffer_count)
        return HAL_OK; /* nothing to distinguish */
    struct replay_breadcrumbs *breadcrumbs = hal_alloc(1, sizeof *breadcrumbs);
    if (!breadcrumbs)
        return hal_fail(HAL_NO_MEMORY, "no memory for breadcrumbs");
    player->breadcrumbs = breadcrumbs;
    breadcrumbs->submit = submit;
    const struct hal_buffer_desc desc = {.label = "breadcrumbs",
                                         .bytes = 4ull * submit->command_buffer_count};
    void *numbers;
    HAL_TRY(hal_buffer_create(player->device, &desc, &breadcrumbs->buffer));
    HAL_TRY(hal_buffer_export(breadcrumbs->buffer, &numbers));
    memset(numbers, NOT_BEGUN, (size_t)desc.bytes);
    breadcrumbs->numbers = numbers;
    return HAL_OK;
}

void replay_breadcrumbs_destroy(struct replay_breadcrumbs *breadcrumbs)
{
    if (!breadcrumbs)
        return;
    hal_buffer_release(breadcrumbs->buffer);
    free(breadcrumbs);
}

static int64_t slot_of(const struct replay_breadcrumbs *breadcrumbs, uint64_t object)
{
    for (uint32_t i = 0; i < breadcrumbs->submit->command_buffer_count; i++) {
        if (trace_submit_command_buffers(breadcrumbs->submit)[i] == object)
            return i;
    }
    return -1;
}

static enum hal_status mark(const struct replay_breadcrumbs *breadcrumbs,
                            struct hal_command_buffer *commands)
{
    if (breadcrumbs->slot < 0)
        return HAL_OK;
    HAL_TRY(hal_command_barrier(commands, NULL));
    HAL_TRY(hal_command_fill(commands, breadcrumbs->buffer, 4 * (uint64_t)breadcrumbs->slot, 4,
                             breadcrumbs->dispatches, 4));
    return hal_command_barrier(commands, NULL);
}

enum hal_status replay_breadcrumbs_begin(struct replay_breadcrumbs *breadcrumbs, uint32_t object,
                                         struct hal_command_buffer *commands)
{
    breadcrumbs->slot = slot_of(breadcrumbs, object);
    breadcrumbs->dispatches = 0;
    return mark(breadcrumbs, commands);
}

enum hal_status replay_breadcrumbs_dispatch(struct replay_breadcrumbs *breadcrumbs,
                                            struct hal_command_buffer *commands)
{
    breadcrumbs->dispatches++;
    return mark(breadcrumbs, commands);
}

uint64_t replay_breadcrumbs_progress(const struct replay_breadcrumbs *breadcrumbs)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; breadcrumbs && i < breadcrumbs->submit->command_buffer_count; i++)
        sum += breadcrumbs->numbers[i];
    return sum;
}

bool replay_breadcrumbs_has_begun(const struct replay_breadcrumbs *breadcrumbs)
{
    for (uint32_t i = 0; breadcrumbs && i < breadcrumbs->submit->command_buffer_count; i++)
        if (breadcrumbs->numbers[i] != UINT32_MAX)
            return true;
    return false;
}

bool replay_breadcrumbs_running(const struct replay_player *player,
                                const struct trace_submit **out_submit, struct hal_running *out)
{
    const struct replay_breadcrumbs *breadcrumbs = player->breadcrumbs;
    for (uint32_t i = 0; i < breadcrumbs->submit->command_buffer_count; i++) {
        const uint64_t index = trace_submit_command_buffers(breadcrumbs->submit)[i];
        const uint32_t ended = breadcrumbs->numbers[slot_of(breadcrumbs, index)];
        if (ended < player->plan->objects[index].commands.seal->dispatch_count) {
            *out_submit = breadcrumbs->submit;
            *out = (struct hal_running){.command_buffer = i, .dispatch = ended};
            return true;
        }
    }
    return false;
}
