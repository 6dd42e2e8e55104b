/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for dispatches of a complete list: each against what its kernel takes, which is what
 * the driver found in it and what its layout promises. */
#include "hal/core/core.h"

#include "hal/base/text.h"

#include <inttypes.h>

/* A dispatch, direct or not. */
struct dispatch {
    const struct hal_command_buffer *commands;
    const struct hal_executable *executable;
    const struct hal_dispatch_state *state;
    uint32_t entry;
    uint32_t number;
    bool pushed; /* constants, for it or one before it */
};

/* "command buffer 'x', dispatch 3: kernel 'k'", before what is wrong with it. */
static enum hal_status fail_in(const struct dispatch *dispatch, enum hal_status failure)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_add_context(failure, "%s, dispatch %u: kernel '%s'",
                           hal_object_name(&dispatch->commands->object, name), dispatch->number,
                           dispatch->executable->entry_points[dispatch->entry].name);
}

static const struct hal_binding *bound_at(const struct dispatch *dispatch, uint32_t set,
                                          uint32_t index)
{
    const struct hal_dispatch_state *state = dispatch->state;
    if (set >= HAL_MAX_SETS || index >= state->binding_count[set])
        return NULL;
    const struct hal_binding *binding = &state->bindings[set][index];
    return binding->buffer ? binding : NULL;
}

static enum hal_status fail_unbound(const struct dispatch *dispatch, const char *whose,
                                    uint32_t set, uint32_t index)
{
    const uint32_t count = set < HAL_MAX_SETS ? dispatch->state->binding_count[set] : 0;
    /* The binding intended for push constants is then a binding like any other. */
    const bool forgotten =
        dispatch->pushed && !dispatch->executable->entry_points[dispatch->entry].constant_bytes;
    return fail_in(dispatch,
                   hal_fail(HAL_INVALID,
                            "it takes binding %u of descriptor set %u%s%s, but nothing is bound "
                            "there (the set has %s)%s",
                            index, set, whose ? " by its " : "", whose ? whose : "",
                            hal_count(count, "binding", "bindings").text,
                            forgotten ? "; constants were pushed, but the constant_bytes of its "
                                        "entry point are 0"
                                      : ""));
}

static enum hal_status check_layout(const struct dispatch *dispatch,
                                    const struct hal_pipeline_layout *layout)
{
    for (uint32_t set = 0; set < layout->set_count; set++) {
        for (size_t i = 0; i < layout->sets[set]->binding_count; i++) {
            const uint32_t index = layout->sets[set]->bindings[i].index;
            char name[HAL_OBJECT_NAME_BYTES];
            if (!bound_at(dispatch, set, index))
                return fail_unbound(dispatch, hal_object_name(&layout->object, name), set, index);
        }
    }
    return HAL_OK;
}

static enum hal_status fail_range(const struct hal_entry_binding *wanted,
                                  const struct hal_binding *bound)
{
    char name[HAL_OBJECT_NAME_BYTES];
    hal_object_name(&bound->buffer->object, name);
    if (bound->bytes < wanted->bytes)
        return hal_fail(HAL_INVALID,
                        "binding %u of descriptor set %u needs at least %s, but %" PRIu64
                        " of %s (from offset %" PRIu64 ") are bound",
                        wanted->index, wanted->set, hal_count(wanted->bytes, "byte", "bytes").text,
                        bound->bytes, name, bound->offset);
    return hal_fail(HAL_INVALID,
                    "binding %u of descriptor set %u needs an offset that is a multiple of %s, but "
                    "offset %" PRIu64 " of %s is bound",
                    wanted->index, wanted->set, hal_count(wanted->alignment, "byte", "bytes").text,
                    bound->offset, name);
}

static enum hal_status check_bindings(const struct dispatch *dispatch,
                                      const struct hal_entry_info *info)
{
    for (size_t i = 0; i < info->binding_count; i++) {
        const struct hal_entry_binding *wanted = &info->bindings[i];
        const struct hal_binding *bound = bound_at(dispatch, wanted->set, wanted->index);
        if (!bound)
            return fail_unbound(dispatch, NULL, wanted->set, wanted->index);
        if (bound->bytes < wanted->bytes ||
            (wanted->alignment && bound->offset % wanted->alignment))
            return fail_in(dispatch, fail_range(wanted, bound));
    }
    return HAL_OK;
}

static enum hal_status check(const struct dispatch *dispatch)
{
    const struct hal_executable *executable = dispatch->executable;
    const struct hal_pipeline_layout *layout = hal_entry_layout(executable, dispatch->entry);
    if (layout)
        HAL_TRY(check_layout(dispatch, layout));
    return executable->reflection
               ? check_bindings(dispatch, &executable->reflection[dispatch->entry])
               : HAL_OK;
}

/* What was pushed before an earlier dispatch, for its kernel, may stay. */
static enum hal_status check_pushed(const struct dispatch *dispatch, uint32_t pushed_bytes)
{
    const struct hal_pipeline_layout *layout =
        hal_entry_layout(dispatch->executable, dispatch->entry);
    if (!layout || pushed_bytes <= layout->constant_bytes)
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return fail_in(dispatch,
                   hal_fail(HAL_INVALID, "%s of constants were pushed for it, its %s has %u",
                            hal_count(pushed_bytes, "byte", "bytes").text,
                            hal_object_name(&layout->object, name), layout->constant_bytes));
}

/* False: the command is no dispatch. */
static bool read_dispatch(const struct hal_command *command, struct dispatch *io_dispatch)
{
    const struct hal_command_dispatch *direct = (const void *)command;
    const struct hal_command_dispatch_indirect *indirect = (const void *)command;
    uint32_t state;
    if (command->kind == HAL_COMMAND_DISPATCH) {
        io_dispatch->executable = direct->executable;
        io_dispatch->entry = direct->entry;
        state = direct->state;
    } else if (command->kind == HAL_COMMAND_DISPATCH_INDIRECT) {
        io_dispatch->executable = indirect->executable;
        io_dispatch->entry = indirect->entry;
        state = indirect->state;
    } else {
        return false;
    }
    io_dispatch->state = &io_dispatch->commands->states[state];
    return true;
}

enum hal_status hal_check_dispatches(const struct hal_command_buffer *commands)
{
    struct dispatch dispatch = {.commands = commands}, last = {0};
    uint32_t pushed_bytes = 0;
    hal_each_command (commands, command) {
        const struct hal_command_push_constants *push = (const void *)command;
        if (command->kind == HAL_COMMAND_PUSH_CONSTANTS &&
            push->offset + push->bytes > pushed_bytes)
            pushed_bytes = push->offset + push->bytes;
        dispatch.pushed |= command->kind == HAL_COMMAND_PUSH_CONSTANTS;
        if (!read_dispatch(command, &dispatch))
            continue;
        HAL_TRY(check_pushed(&dispatch, pushed_bytes));
        if (dispatch.executable != last.executable || dispatch.entry != last.entry ||
            dispatch.state != last.state)
            HAL_TRY(check(&dispatch));
        last = dispatch;
        dispatch.number++;
        pushed_bytes = 0;
    }
    return HAL_OK;
}
