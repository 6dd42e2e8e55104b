/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that run alone, and the state that they see. */
#include "replay/variant/single_command.h"

#include "hal/base/mem.h"

void replay_single_command_state_take(struct replay_single_command_state *state,
                                      const struct trace_segment *segment)
{
    if (segment->kind == TRACE_PUSH_DESCRIPTOR_SET) {
        const struct trace_push_descriptor_set *set = (const void *)segment;
        state->sets[set->set] = set;
    } else if (segment->kind == TRACE_PUSH_CONSTANTS) {
        const struct trace_push_constants *push = (const void *)segment;
        if (!hal_range_fits(push->offset, push->size, sizeof state->constants))
            return;
        memcpy(state->constants + push->offset, push->data, push->size);
        for (uint32_t i = 0; i < push->size; i++)
            state->set[push->offset + i] = true;
    }
}

/* The next run of constants that were set; false: none. */
static bool next_run(const struct replay_single_command_state *state, uint32_t *begin,
                     uint32_t *end)
{
    while (*begin < TRACE_MAX_CONSTANT_BYTES && !state->set[*begin])
        ++*begin;
    for (*end = *begin; *end < TRACE_MAX_CONSTANT_BYTES && state->set[*end];)
        ++*end;
    return *end > *begin;
}

static size_t state_bytes(const struct replay_single_command_state *state, uint32_t *out_count)
{
    size_t bytes = 0;
    *out_count = 0;
    for (uint32_t begin = 0, end; next_run(state, &begin, &end); begin = end, ++*out_count)
        bytes += hal_align_up(sizeof(struct trace_push_constants) + end - begin, 8);
    for (size_t i = 0; i < HAL_MAX_SETS; i++) {
        bytes += state->sets[i] ? state->sets[i]->head.bytes : 0;
        *out_count += state->sets[i] != NULL;
    }
    return bytes;
}

static uint8_t *write_state(const struct replay_single_command_state *state, uint8_t *at)
{
    for (uint32_t begin = 0, end; next_run(state, &begin, &end); begin = end) {
        struct trace_push_constants *push = (void *)at;
        const uint32_t bytes = (uint32_t)hal_align_up(sizeof *push + end - begin, 8);
        *push =
            (struct trace_push_constants){.head = {.kind = TRACE_PUSH_CONSTANTS, .bytes = bytes},
                                          .offset = begin,
                                          .size = end - begin};
        memcpy(push->data, state->constants + begin, end - begin);
        at += bytes;
    }
    for (size_t i = 0; i < HAL_MAX_SETS; i++) {
        if (!state->sets[i])
            continue;
        memcpy(at, state->sets[i], state->sets[i]->head.bytes);
        at += state->sets[i]->head.bytes;
    }
    return at;
}

enum hal_status replay_single_command_make(struct replay_plan *variant,
                                           const struct replay_object *recorded,
                                           const struct replay_single_command_state *state,
                                           const struct trace_segment *work, uint32_t *out_object)
{
    const bool kernel = trace_is_dispatch(work->kind);
    uint32_t count = 0;
    const size_t before = kernel ? state_bytes(state, &count) : 0;
    void *created, *room;
    HAL_TRY(replay_plan_room(variant, sizeof(struct trace_command_buffer_create), &created));
    struct trace_command_buffer_create *creation = created;
    *creation = *TRACE_AS(trace_command_buffer_create, recorded->created);
    creation->mode = HAL_REUSABLE;
    HAL_TRY(replay_plan_room(
        variant, sizeof(struct trace_command_buffer_seal) + before + work->bytes, &room));
    struct trace_command_buffer_seal *seal = room;
    uint8_t *at = (uint8_t *)(seal + 1);
    *seal = *recorded->commands.seal;
    seal->segment_count = count + 1;
    seal->dispatch_count = kernel;
    seal->segment_bytes = before + work->bytes;
    if (kernel)
        at = write_state(state, at);
    memcpy(at, work, work->bytes);
    HAL_TRY(replay_plan_object(variant, REPLAY_COMMANDS, &creation->head, out_object));
    struct replay_object *piece = &variant->objects[*out_object];
    piece->id = recorded->id;
    piece->commands.seal = seal;
    piece->commands.segments = TRACE_AS(trace_segment, seal + 1);
    return HAL_OK;
}
