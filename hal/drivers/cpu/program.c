/* SPDX-License-Identifier: Apache-2.0 */
/* An ended command buffer as the workers run it: commands with everything resolved (addresses,
 * constants, launch sizes, tiles), in a list per stage; barriers divide a list into phases and say
 * what each of them waits for. */
#include "hal/base/idmap.h"
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <assert.h>

enum {
    TRANSFER_TILE_BYTES = 256 * 1024,
    TILES_PER_WORKER = 16,   /* of a dispatch: even load without many claims */
    FIRST_BLOCK_BYTES = 512, /* a dispatch or two; with all around it less than 1 KiB */
    MOST_BLOCK_BYTES = 64 * 1024,
    CONSTANT_ALIGNMENT = 64, /* as much as any kernel's type asks for */
};

/* Buffer tables and constants, which never move. Tables are as long as their kernel needs; the
 * memory after the last one of a block may be read as a table of MSL_MAX_BUFFERS entries. */
struct cpu_block {
    struct cpu_block *next;
    size_t used, capacity;
    uint8_t *data; /* after it, aligned by hand: aligned_alloc() is several times as slow */
};

/* ---- Building ----------------------------------------------------------------------------- */

/* Stages, by bits of enum hal_stage. The host has no commands, but barriers may lead through it. */
enum stage { STAGE_TRANSFER, STAGE_DISPATCH, STAGE_HOST, STAGES };

_Static_assert(1 << STAGE_TRANSFER == HAL_STAGE_TRANSFER &&
                   1 << STAGE_DISPATCH == HAL_STAGE_DISPATCH && 1 << STAGE_HOST == HAL_STAGE_HOST &&
                   (int)STAGE_TRANSFER == (int)CPU_TRANSFERS &&
                   (int)STAGE_DISPATCH == (int)CPU_DISPATCHES,
               "stage lists are stages");

/* So many phases of each list, from the first. */
struct past {
    size_t phases[CPU_STAGE_LISTS];
};

struct builder {
    const struct hal_command_buffer *commands;
    struct cpu_program *program;
    uint32_t workers;
    struct past needs[STAGES];     /* what commands of the stage wait for from now on */
    bool is_open[CPU_STAGE_LISTS]; /* the list's last phase takes more commands */

    struct hal_idmap events;
    struct past *signals; /* an event's state, by the map's index */
    size_t event_count, event_capacity;

    /* The dispatch before, whose table may serve again. */
    uint64_t executable; /* its id, 0: none yet */
    uint32_t entry, state;
    struct msl_launch launch; /* its table and, with bounds checks, what follows it */
};

static enum hal_status no_memory(const struct builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

/* Linked first, twice as large as the last: most programs have one dispatch, few have many. */
static struct cpu_block *add_block(struct cpu_program *program, size_t least_bytes)
{
    static const size_t slack = MSL_MAX_BUFFERS * sizeof(void *);
    size_t capacity = program->blocks ? 2 * program->blocks->capacity : FIRST_BLOCK_BYTES;
    capacity = capacity < MOST_BLOCK_BYTES ? capacity : MOST_BLOCK_BYTES;
    capacity = capacity > least_bytes ? capacity : least_bytes;
    struct cpu_block *block = calloc(1, sizeof *block + CONSTANT_ALIGNMENT - 1 + capacity + slack);
    if (!block)
        return NULL;
    block->data = (uint8_t *)hal_align_up((uintptr_t)(block + 1), CONSTANT_ALIGNMENT);
    block->capacity = capacity;
    block->next = program->blocks;
    return program->blocks = block;
}

static void *take(struct cpu_program *program, size_t bytes, size_t alignment)
{
    struct cpu_block *block = program->blocks;
    size_t offset = block ? hal_align_up(block->used, alignment) : 0;
    if (!block || offset + bytes > block->capacity) {
        block = add_block(program, bytes);
        if (!block)
            return NULL;
        offset = 0;
    }
    block->used = offset + bytes;
    return block->data + offset;
}

static uint8_t *view(const struct hal_buffer *buffer, uint64_t offset)
{
    return ((const struct cpu_buffer *)buffer)->device_view + offset;
}

static enum hal_status begin_phase(struct builder *builder, enum cpu_stage_list which)
{
    struct cpu_program_list *list = &builder->program->lists[which];
    if (!HAL_GROW(list->phases, &list->phase_capacity, list->phase_count + 1))
        return no_memory(builder);
    struct cpu_phase *phase = &list->phases[list->phase_count++];
    *phase = (struct cpu_phase){.first_indirect = builder->program->indirect_count};
    memcpy(phase->needs, builder->needs[which].phases, sizeof phase->needs);
    builder->is_open[which] = true;
    return HAL_OK;
}

/* Adds an operation of `units` to the list's present phase; `op` has its own fields. */
static enum hal_status add_op(struct builder *builder, enum cpu_stage_list which, struct cpu_op op,
                              uint64_t units, uint64_t units_per_tile)
{
    struct cpu_program_list *list = &builder->program->lists[which];
    if (units == 0)
        return HAL_OK;
    if (!builder->is_open[which])
        HAL_TRY(begin_phase(builder, which));
    if (!HAL_GROW(list->ops, &list->op_capacity, list->op_count + 1))
        return no_memory(builder);
    struct cpu_phase *phase = &list->phases[list->phase_count - 1];
    op.units = units;
    op.units_per_tile = units_per_tile;
    op.first_tile = phase->tile_count;
    phase->tile_count += (units - 1) / units_per_tile + 1;
    phase->op_count++;
    list->ops[list->op_count++] = op;
    return HAL_OK;
}

/* ---- Order -------------------------------------------------------------------------------- */

static void include(struct past *past, const struct past *other)
{
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++) {
        if (other->phases[i] > past->phases[i])
            past->phases[i] = other->phases[i];
    }
}

/* The commands of the stages recorded so far, and what such commands would have waited for:
 * barriers form chains. Phases that something may wait for take no further commands. */
static struct past past_of(struct builder *builder, uint32_t stages)
{
    struct past past = {{0}};
    for (size_t i = 0; i < STAGES; i++) {
        if (!(stages >> i & 1))
            continue;
        include(&past, &builder->needs[i]);
        if (i < CPU_STAGE_LISTS) {
            past.phases[i] = builder->program->lists[i].phase_count;
            builder->is_open[i] = false;
        }
    }
    return past;
}

/* From now on, commands of the stages wait for that. */
static void wait_for(struct builder *builder, uint32_t stages, const struct past *past)
{
    for (size_t i = 0; i < STAGES; i++) {
        struct past needs = builder->needs[i];
        if (!(stages >> i & 1))
            continue;
        include(&needs, past);
        if (i < CPU_STAGE_LISTS && memcmp(&needs, &builder->needs[i], sizeof needs) != 0)
            builder->is_open[i] = false;
        builder->needs[i] = needs;
    }
}

static enum hal_status add_barrier(struct builder *builder,
                                   const struct hal_command_barrier *barrier)
{
    const struct past past = past_of(builder, barrier->source_stages);
    wait_for(builder, barrier->target_stages, &past);
    return HAL_OK;
}

static enum hal_status add_signal(struct builder *builder, const struct hal_command_event *signal)
{
    uint32_t index;
    if (!HAL_GROW(builder->signals, &builder->event_capacity, builder->event_count + 1) ||
        !hal_idmap_add(&builder->events, signal->event->object.id, (uint32_t)builder->event_count,
                       &index))
        return no_memory(builder);
    if (index == builder->event_count)
        builder->event_count++;
    builder->signals[index] = past_of(builder, signal->source_stages);
    return HAL_OK;
}

static enum hal_status add_wait(struct builder *builder, const struct hal_command_events_wait *wait)
{
    for (uint32_t i = 0; i < wait->event_count; i++) {
        uint32_t index;
        if (builder->signals &&
            hal_idmap_find(&builder->events, hal_waited_events(wait)[i]->object.id, &index))
            wait_for(builder, wait->target_stages, &builder->signals[index]);
    }
    return HAL_OK;
}

/* ---- Transfers ---------------------------------------------------------------------------- */

static enum hal_status add_fill(struct builder *builder, const struct hal_command_fill *fill)
{
    builder->program->transfer_bytes += fill->bytes;
    return add_op(builder, CPU_TRANSFERS,
                  (struct cpu_op){.kind = CPU_OP_FILL,
                                  .fill = {view(fill->target, fill->offset), fill->pattern}},
                  fill->bytes, TRANSFER_TILE_BYTES);
}

static enum hal_status add_copy(struct builder *builder, uint8_t *target, const uint8_t *source,
                                uint64_t bytes)
{
    builder->program->transfer_bytes += bytes;
    return add_op(builder, CPU_TRANSFERS,
                  (struct cpu_op){.kind = CPU_OP_COPY, .copy = {target, source}}, bytes,
                  TRANSFER_TILE_BYTES);
}

/* ---- Dispatches --------------------------------------------------------------------------- */

/* The constants as the kernel sees them: what was pushed, then zeros. */
static void *copy_constants(struct builder *builder, const struct cpu_entry *entry,
                            const struct hal_dispatch_state *state)
{
    uint8_t *copy = take(builder->program, entry->slots.constant_bytes, CONSTANT_ALIGNMENT);
    const uint32_t pushed = state->constant_bytes < entry->slots.constant_bytes
                                ? state->constant_bytes
                                : entry->slots.constant_bytes;
    if (copy && pushed)
        memcpy(copy, state->constants, pushed);
    return copy;
}

/* The bytes of each buffer, for kernels that ask how long an array is. */
static void *list_sizes(struct builder *builder, const struct cpu_entry *entry,
                        const struct hal_dispatch_state *state)
{
    uint32_t *sizes = take(builder->program, HAL_MAX_BINDINGS * sizeof *sizes, sizeof *sizes);
    if (sizes)
        hal_kernel_list_sizes(&entry->slots, state, sizes);
    return sizes;
}

/* How many pointers a descriptor set is as a struct. */
static size_t length_of_set(const struct hal_set_layout *layout)
{
    const size_t last = layout->binding_count;
    return last ? layout->bindings[last - 1].index + 1 : 1;
}

/* A descriptor set as a struct of pointers: all of it is bound, the core has seen to that. */
static void *make_set(struct builder *builder, const struct hal_set_layout *layout, uint32_t set,
                      const struct hal_dispatch_state *state)
{
    const size_t length = length_of_set(layout);
    void **members = take(builder->program, length * sizeof *members, sizeof *members);
    for (size_t i = 0; members && i < layout->binding_count; i++) {
        const uint32_t index = layout->bindings[i].index;
        const struct hal_binding *binding = &state->bindings[set][index];
        members[index] = view(binding->buffer, binding->offset);
    }
    return members;
}

static enum hal_status make_table(struct builder *builder, const struct cpu_entry *entry,
                                  const struct hal_dispatch_state *state, void *const **out_table)
{
    const uint32_t mask = entry->info->buffer_mask;
    const size_t length = mask ? 32U - (uint32_t)__builtin_clz(mask) : 0;
    void **table = take(builder->program, length * sizeof *table, sizeof *table);
    if (!table)
        return no_memory(builder);
    for (uint32_t i = 0; i < length; i++) {
        if (!(mask >> i & 1))
            continue;
        if (entry->slots.constant_bytes && i == entry->slots.constants_slot) {
            table[i] = copy_constants(builder, entry, state);
            if (!table[i])
                return no_memory(builder);
            continue;
        }
        if (i == entry->slots.sizes_slot) {
            table[i] = list_sizes(builder, entry, state);
            if (!table[i])
                return no_memory(builder);
            continue;
        }
        if (entry->layout) {
            table[i] = make_set(builder, entry->layout->sets[i], i, state);
            if (!table[i])
                return no_memory(builder);
            continue;
        }
        const struct hal_binding *binding = hal_kernel_binding(&entry->slots, i, state);
        table[i] = view(binding->buffer, binding->offset); /* the core has seen to that, too */
    }
    *out_table = table;
    return HAL_OK;
}

/* How long the memory in a slot of the table is. */
static uint64_t bytes_in_slot(const struct cpu_entry *entry, uint32_t slot,
                              const struct hal_dispatch_state *state)
{
    if (entry->slots.constant_bytes && slot == entry->slots.constants_slot)
        return entry->slots.constant_bytes;
    if (slot == entry->slots.sizes_slot)
        return HAL_MAX_BINDINGS * sizeof(uint32_t);
    if (entry->layout)
        return slot < entry->layout->set_count
                   ? length_of_set(entry->layout->sets[slot]) * sizeof(void *)
                   : 0;
    const struct hal_binding *binding = hal_kernel_binding(&entry->slots, slot, state);
    return binding ? binding->bytes : 0;
}

/* Replaces the pointers in the descriptor sets by addresses that identify their binding. */
static enum hal_status watch_members(struct builder *builder, const struct cpu_entry *entry,
                                     const struct hal_dispatch_state *state)
{
    struct msl_launch *launch = &builder->launch;
    struct msl_member *members =
        take(builder->program, (size_t)HAL_MAX_SETS * HAL_MAX_BINDINGS * sizeof *members,
             sizeof(void *));
    if (!members)
        return no_memory(builder);
    launch->members = members;
    for (uint32_t set = 0; set < entry->layout->set_count; set++) {
        const struct hal_set_layout *layout = entry->layout->sets[set];
        if (!(entry->info->buffer_mask >> set & 1))
            continue;
        void **pointers = launch->buffers[set];
        for (size_t i = 0; i < layout->binding_count; i++) {
            const uint32_t index = layout->bindings[i].index, number = launch->member_count++;
            members[number] =
                (struct msl_member){pointers[index], state->bindings[set][index].bytes, set, index};
            pointers[index] = msl_member_address(members, number);
        }
    }
    return HAL_OK;
}

/* Where bounds are checked: how long everything is that the kernel is given. */
static enum hal_status watch_bounds(struct builder *builder, const struct cpu_entry *entry,
                                    const struct hal_dispatch_state *state)
{
    if (!entry->info->checks_bounds)
        return HAL_OK;
    uint64_t *bytes = take(builder->program, MSL_MAX_BUFFERS * sizeof *bytes, sizeof *bytes);
    if (!bytes)
        return no_memory(builder);
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++)
        bytes[i] = bytes_in_slot(entry, i, state);
    builder->launch.buffer_bytes = bytes;
    return entry->layout ? watch_members(builder, entry, state) : HAL_OK;
}

/* The launch of a dispatch but for its counts. */
static enum hal_status make_launch(struct builder *builder, const struct hal_executable *executable,
                                   uint32_t entry_number, uint32_t state_number,
                                   struct cpu_op *out_op)
{
    struct cpu_entry *entry = &((struct cpu_executable *)executable)->entries[entry_number];
    const struct hal_dispatch_state *state = &builder->commands->states[state_number];
    if (executable->object.id != builder->executable || entry_number != builder->entry ||
        state_number != builder->state) {
        builder->launch =
            (struct msl_launch){.workgroup_argument_bytes = entry->workgroup_argument_bytes};
        memcpy(builder->launch.workgroup_size, entry->workgroup_size, sizeof entry->workgroup_size);
        HAL_TRY(make_table(builder, entry, state, &builder->launch.buffers));
        HAL_TRY(watch_bounds(builder, entry, state));
        builder->executable = executable->object.id;
        builder->entry = entry_number;
        builder->state = state_number;
    }
    out_op->dispatch.function = entry->function;
    out_op->dispatch.launch = builder->launch;
    out_op->dispatch.group_cost = &entry->group_cost;
    out_op->dispatch.number = builder->program->dispatch_count++;
    return HAL_OK;
}

static uint64_t tiles_of_a_dispatch(const struct builder *builder)
{
    return builder->workers > 1 ? (uint64_t)builder->workers * TILES_PER_WORKER : 1;
}

static enum hal_status add_dispatch(struct builder *builder,
                                    const struct hal_command_dispatch *dispatch)
{
    const uint32_t *count = dispatch->workgroup_count;
    const uint64_t groups = (uint64_t)count[0] * count[1] * count[2];
    const uint64_t tiles = tiles_of_a_dispatch(builder);
    struct cpu_op op = {.kind = CPU_OP_DISPATCH};
    HAL_TRY(make_launch(builder, dispatch->executable, dispatch->entry, dispatch->state, &op));
    memcpy(op.dispatch.launch.workgroup_count, count, sizeof dispatch->workgroup_count);
    return add_op(builder, CPU_DISPATCHES, op, groups, groups ? (groups - 1) / tiles + 1 : 1);
}

static enum hal_status add_dispatch_indirect(struct builder *builder,
                                             const struct hal_command_dispatch_indirect *dispatch)
{
    struct cpu_program *program = builder->program;
    struct cpu_op op = {.kind = CPU_OP_DISPATCH_INDIRECT};
    op.dispatch.indirect = (uint32_t)program->indirect_count;
    if (!HAL_GROW(program->indirects, &program->indirect_capacity, program->indirect_count + 1))
        return no_memory(builder);
    const struct cpu_indirect indirect = {
        .counts = view(dispatch->counts, dispatch->offset),
        .entry = &dispatch->executable->entry_points[dispatch->entry],
        .dispatch_number = program->dispatch_count,
    };
    HAL_TRY(make_launch(builder, dispatch->executable, dispatch->entry, dispatch->state, &op));
    HAL_TRY(add_op(builder, CPU_DISPATCHES, op, tiles_of_a_dispatch(builder), 1));
    struct cpu_program_list *list = &program->lists[CPU_DISPATCHES];
    program->indirects[program->indirect_count++] = indirect;
    assert(list->phases);
    list->phases[list->phase_count - 1].indirect_count++;
    return HAL_OK;
}

static enum hal_status add_command(struct builder *builder, const struct hal_command *command)
{
    const void *whole = command;
    switch ((enum hal_command_kind)command->kind) {
    case HAL_COMMAND_BARRIER: return add_barrier(builder, whole);
    case HAL_COMMAND_FILL: return add_fill(builder, whole);
    case HAL_COMMAND_COPY: {
        const struct hal_command_copy *copy = whole;
        return add_copy(builder, view(copy->target, copy->target_offset),
                        view(copy->source, copy->source_offset), copy->bytes);
    }
    case HAL_COMMAND_UPDATE: {
        const struct hal_command_update *update = whole;
        return add_copy(builder, view(update->target, update->offset), update->data, update->bytes);
    }
    case HAL_COMMAND_DISPATCH: return add_dispatch(builder, whole);
    case HAL_COMMAND_DISPATCH_INDIRECT: return add_dispatch_indirect(builder, whole);
    case HAL_COMMAND_EVENT_SIGNAL: return add_signal(builder, whole);
    case HAL_COMMAND_EVENTS_WAIT: return add_wait(builder, whole);
    case HAL_COMMAND_EVENT_RESET:
    case HAL_COMMAND_PUSH_CONSTANTS:
    case HAL_COMMAND_PUSH_DESCRIPTOR_SET:
    case HAL_COMMAND_DEBUG_BEGIN:
    case HAL_COMMAND_DEBUG_END: return HAL_OK;
    }
    return hal_fail(HAL_INVALID, "there is no command of kind %u", command->kind);
}

/* Operations move while they are collected, so that phases get their pointers at the end. */
static void find_ops(struct cpu_program_list *list)
{
    const struct cpu_op *next = list->ops;
    for (size_t i = 0; i < list->phase_count; i++) {
        list->phases[i].ops = next;
        next += list->phases[i].op_count;
    }
}

enum hal_status cpu_program_create(const struct hal_command_buffer *commands, uint32_t workers,
                                   struct cpu_program **out_program)
{
    struct builder builder = {
        .commands = commands,
        .program = hal_alloc(1, sizeof *builder.program),
        .workers = workers,
    };
    struct cpu_program *program = builder.program;
    enum hal_status status = program ? HAL_OK : no_memory(&builder);
    if (program)
        program->commands = commands;
    for (const struct hal_command *command = hal_command_first(commands);
         status == HAL_OK && command; command = hal_command_next(commands, command))
        status = add_command(&builder, command);
    hal_idmap_finish(&builder.events);
    free(builder.signals);
    if (status != HAL_OK) {
        cpu_program_destroy(program);
        return status;
    }
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++)
        find_ops(&program->lists[i]);
    *out_program = program;
    return HAL_OK;
}

void cpu_program_destroy(struct cpu_program *program)
{
    if (!program)
        return;
    while (program->blocks) {
        struct cpu_block *next = program->blocks->next;
        free(program->blocks);
        program->blocks = next;
    }
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++) {
        free(program->lists[i].phases);
        free(program->lists[i].ops);
    }
    free(program->indirects);
    free(program);
}
