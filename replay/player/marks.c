/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the dispatch that does not end on devices that cannot tell: in the command buffers of one
 * submission, a number in memory follows every dispatch, with barriers on both sides. That costs
 * all overlap, so it is done only when something is known to hang. */
#include "hal/base/mem.h"
#include "replay/player/player.h"

struct replay_marks {
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

enum hal_status replay_marks_create(struct replay_player *player, uint64_t submission)
{
    const struct trace_submit *submit = find_submission(player->plan, submission);
    if (!submit || !submit->command_buffer_count)
        return HAL_OK; /* nothing that could be told apart */
    struct replay_marks *marks = hal_alloc(1, sizeof *marks);
    if (!marks)
        return hal_fail(HAL_NO_MEMORY, "no memory for marks");
    player->marks = marks;
    marks->submit = submit;
    const struct hal_buffer_desc desc = {.label = "marks",
                                         .bytes = 4ull * submit->command_buffer_count};
    void *numbers;
    HAL_TRY(hal_buffer_create(player->device, &desc, &marks->buffer));
    HAL_TRY(hal_buffer_export(marks->buffer, &numbers));
    memset(numbers, NOT_BEGUN, (size_t)desc.bytes);
    marks->numbers = numbers;
    return HAL_OK;
}

void replay_marks_destroy(struct replay_marks *marks)
{
    if (!marks)
        return;
    hal_buffer_release(marks->buffer);
    free(marks);
}

static int64_t slot_of(const struct replay_marks *marks, uint64_t object)
{
    for (uint32_t i = 0; i < marks->submit->command_buffer_count; i++) {
        if (trace_submit_command_buffers(marks->submit)[i] == object)
            return i;
    }
    return -1;
}

static enum hal_status mark(const struct replay_marks *marks, struct hal_command_buffer *commands)
{
    if (marks->slot < 0)
        return HAL_OK;
    HAL_TRY(hal_command_barrier(commands, NULL));
    HAL_TRY(hal_command_fill(commands, marks->buffer, 4 * (uint64_t)marks->slot, 4,
                             marks->dispatches, 4));
    return hal_command_barrier(commands, NULL);
}

enum hal_status replay_marks_begin(struct replay_marks *marks, uint32_t object,
                                   struct hal_command_buffer *commands)
{
    marks->slot = slot_of(marks, object);
    marks->dispatches = 0;
    return mark(marks, commands);
}

enum hal_status replay_marks_dispatch(struct replay_marks *marks,
                                      struct hal_command_buffer *commands)
{
    marks->dispatches++;
    return mark(marks, commands);
}

uint64_t replay_marks_progress(const struct replay_marks *marks)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; marks && i < marks->submit->command_buffer_count; i++)
        sum += marks->numbers[i];
    return sum;
}

bool replay_marks_has_begun(const struct replay_marks *marks)
{
    for (uint32_t i = 0; marks && i < marks->submit->command_buffer_count; i++)
        if (marks->numbers[i] != UINT32_MAX)
            return true;
    return false;
}

bool replay_marks_running(const struct replay_player *player,
                          const struct trace_submit **out_submit, struct hal_running *out)
{
    const struct replay_marks *marks = player->marks;
    for (uint32_t i = 0; i < marks->submit->command_buffer_count; i++) {
        const uint64_t index = trace_submit_command_buffers(marks->submit)[i];
        const uint32_t ended = marks->numbers[slot_of(marks, index)];
        if (ended < player->plan->objects[index].commands.seal->dispatch_count) {
            *out_submit = marks->submit;
            *out = (struct hal_running){.command_buffer = i, .dispatch = ended};
            return true;
        }
    }
    return false;
}
