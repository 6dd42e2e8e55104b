/* SPDX-License-Identifier: Apache-2.0 */
/* capture_cost FILE COMMANDS: captures the end of command buffers with COMMANDS commands in total,
 * above a driver that does nothing, so that only the capture costs anything. For counting
 * instructions: tests/bench/capture_cost.sh. */
#include "hal/base/mem.h"
#include "tests/support/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a decode step records per kernel: constants, bindings, the dispatch, a barrier. */
enum { COMMANDS_PER_KERNEL = 4, KERNELS = 250, COMMANDS = COMMANDS_PER_KERNEL * KERNELS };

static struct hal_buffer buffer = {.object = {.kind = HAL_OBJECT_BUFFER, .id = 1}, .bytes = 4096};
static struct hal_executable executable = {.object = {.kind = HAL_OBJECT_EXECUTABLE, .id = 2}};

static const struct hal_driver_ops null_ops = {FAKE_OPS};

static void *append(struct hal_command_buffer *commands, uint16_t kind, size_t bytes)
{
    struct hal_command *command = (void *)(commands->arena + commands->arena_bytes);
    *command = (struct hal_command){.kind = kind, .bytes = (uint32_t)bytes};
    commands->arena_bytes += bytes;
    commands->command_count++;
    return command;
}

static void append_kernel(struct hal_command_buffer *commands, uint32_t number)
{
    struct hal_command_push_constants *constants =
        append(commands, HAL_COMMAND_PUSH_CONSTANTS, sizeof *constants + 16);
    constants->bytes = 16;
    memset(constants->data, (int)number, 16);
    struct hal_command_push_descriptor_set *set = append(
        commands, HAL_COMMAND_PUSH_DESCRIPTOR_SET, sizeof *set + 3 * sizeof(struct hal_binding));
    set->binding_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        set->bindings[i] = (struct hal_binding){&buffer, 256 * i, 256};
    struct hal_command_dispatch *dispatch =
        append(commands, HAL_COMMAND_DISPATCH, sizeof *dispatch);
    dispatch->executable = &executable;
    dispatch->workgroup_count[0] = dispatch->workgroup_count[1] = dispatch->workgroup_count[2] = 1;
    commands->dispatch_count++;
    struct hal_command_barrier *barrier = append(commands, HAL_COMMAND_BARRIER, sizeof *barrier);
    barrier->source_stages = barrier->target_stages = 1;
}

static bool capture(struct hal_driver_device *top, unsigned long count)
{
    struct hal_command_buffer commands = {.object = {.kind = HAL_OBJECT_COMMAND_BUFFER},
                                          .is_ended = true,
                                          .arena = calloc(KERNELS, 1024)};
    if (!commands.arena)
        return false;
    for (uint32_t i = 0; i < KERNELS; i++)
        append_kernel(&commands, i);
    for (unsigned long done = 0; done < count; done += COMMANDS) {
        commands.object.id = 10 + done;
        if (top->ops->command_buffer_prepare(top, &commands) != HAL_OK)
            return false;
        top->ops->object_destroy(top, &commands.object);
    }
    free(commands.arena);
    return true;
}

int main(int argc, char **argv)
{
    const struct hal_profiling_options options = {.mode = "queue",
                                                  .stacks = "none",
                                                  .contents = "all",
                                                  .outputs = "contents",
                                                  .files = "ranges",
                                                  .file = argc == 3 ? argv[1] : ""};
    struct hal_driver_device next = {.ops = &null_ops};
    struct hal_layer *layer;
    if (argc != 3 || hal_capture_begin(&fake_core, NULL, &next, &options, &layer) != HAL_OK) {
        fprintf(stderr, "capture_cost FILE COMMANDS: %s\n", hal_message());
        return 2;
    }
    const bool done = capture(layer->device, strtoul(argv[2], NULL, 10));
    return layer->end(layer) == HAL_OK && done ? 0 : 1;
}
