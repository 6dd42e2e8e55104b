/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed command buffer as the workers run it: phases, which barriers separate, of commands
 * with everything resolved: addresses, constants, launch sizes, tiles. */
#include "hal/base/mem.h"
#include "hal/cpu/cpu.h"

enum {
    TRANSFER_TILE_BYTES = 256 * 1024,
    TILES_PER_WORKER = 16, /* of a dispatch: even load without many claims */
    BLOCK_BYTES = 64 * 1024,
    CONSTANT_ALIGNMENT = 64, /* as much as any kernel's type asks for */
};

/* Buffer tables and constants, which never move. Tables are as long as their kernel needs; what
 * lies behind the last one of a block may be read as a table of MSL_MAX_BUFFERS entries. */
struct cpu_block {
    struct cpu_block *next;
    size_t used, capacity;
    _Alignas(CONSTANT_ALIGNMENT) uint8_t data[];
};

/* ---- Building ----------------------------------------------------------------------------- */

struct builder {
    const struct hal_command_buffer *commands;
    struct cpu_program *program;
    uint32_t workers;
    size_t phase_first_op;
    uint64_t phase_tiles;
    uint32_t dispatch_number;

    /* The dispatch before, whose table may serve again. */
    uint64_t executable; /* its id, 0: none yet */
    uint32_t entry, state;
    void *const *table;
};

static enum hal_status no_memory(const struct builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

static void *take(struct cpu_program *program, size_t bytes, size_t alignment)
{
    static const size_t slack = MSL_MAX_BUFFERS * sizeof(void *);
    struct cpu_block *block = program->blocks;
    size_t offset = block ? hal_align_up(block->used, alignment) : 0;
    if (!block || offset + bytes > block->capacity) {
        block = aligned_alloc(CONSTANT_ALIGNMENT, hal_align_up(sizeof *block + BLOCK_BYTES + slack,
                                                               CONSTANT_ALIGNMENT));
        if (!block)
            return NULL;
        memset(block, 0, sizeof *block + BLOCK_BYTES + slack);
        block->capacity = BLOCK_BYTES;
        block->next = program->blocks;
        program->blocks = block;
        offset = 0;
    }
    block->used = offset + bytes;
    return block->data + offset;
}

static uint8_t *view(const struct hal_buffer *buffer, uint64_t offset)
{
    return ((const struct cpu_buffer *)buffer)->device_view + offset;
}

/* Adds an operation of `units` to the present phase; `op` has its own fields. */
static enum hal_status add_op(struct builder *builder, struct cpu_op op, uint64_t units,
                              uint64_t units_per_tile)
{
    struct cpu_program *program = builder->program;
    if (units == 0)
        return HAL_OK;
    if (!hal_grow((void **)&program->ops, &program->op_capacity, program->op_count + 1,
                  sizeof *program->ops))
        return no_memory(builder);
    op.units = units;
    op.units_per_tile = units_per_tile;
    op.first_tile = builder->phase_tiles;
    builder->phase_tiles += (units - 1) / units_per_tile + 1;
    program->ops[program->op_count++] = op;
    return HAL_OK;
}

/* Operations move while they are collected, so that phases get their pointers at the end. */
static enum hal_status end_phase(struct builder *builder)
{
    struct cpu_program *program = builder->program;
    const size_t count = program->op_count - builder->phase_first_op;
    if (count == 0)
        return HAL_OK;
    if (!hal_grow((void **)&program->phases, &program->phase_capacity, program->phase_count + 1,
                  sizeof *program->phases))
        return no_memory(builder);
    program->phases[program->phase_count++] =
        (struct cpu_phase){.op_count = count, .tile_count = builder->phase_tiles};
    builder->phase_first_op = program->op_count;
    builder->phase_tiles = 0;
    return HAL_OK;
}

static enum hal_status add_fill(struct builder *builder, const struct hal_segment_fill *fill)
{
    builder->program->transfer_bytes += fill->bytes;
    return add_op(builder,
                  (struct cpu_op){.kind = CPU_OP_FILL,
                                  .fill = {view(fill->target, fill->offset), fill->pattern}},
                  fill->bytes, TRANSFER_TILE_BYTES);
}

static enum hal_status add_copy(struct builder *builder, uint8_t *target, const uint8_t *source,
                                uint64_t bytes)
{
    builder->program->transfer_bytes += bytes;
    return add_op(builder, (struct cpu_op){.kind = CPU_OP_COPY, .copy = {target, source}}, bytes,
                  TRANSFER_TILE_BYTES);
}

/* ---- Dispatches --------------------------------------------------------------------------- */

static enum hal_status fail_unbound(const struct builder *builder, const struct cpu_entry *entry,
                                    uint32_t slot, uint32_t bound)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "%s, dispatch %u: kernel '%s' has a [[buffer(%u)]], but nothing is bound there "
                    "(descriptor set 0 has %u bindings)",
                    hal_object_name(&builder->commands->object, name), builder->dispatch_number,
                    entry->info->name, slot, bound);
}

/* The constants as the kernel sees them: what was pushed, then zeros. */
static void *copy_constants(struct builder *builder, const struct cpu_entry *entry,
                            const struct hal_dispatch_state *state)
{
    uint8_t *copy = take(builder->program, entry->constant_bytes, CONSTANT_ALIGNMENT);
    const uint32_t pushed = state->constant_bytes < entry->constant_bytes ? state->constant_bytes
                                                                          : entry->constant_bytes;
    if (copy && pushed)
        memcpy(copy, state->constants, pushed);
    return copy;
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
        if (entry->constant_bytes && i == entry->constants_slot) {
            table[i] = copy_constants(builder, entry, state);
            if (!table[i])
                return no_memory(builder);
            continue;
        }
        const struct hal_binding *binding =
            i < state->binding_count[0] ? &state->bindings[0][i] : NULL;
        if (!binding || !binding->buffer)
            return fail_unbound(builder, entry, i, state->binding_count[0]);
        table[i] = view(binding->buffer, binding->offset);
    }
    *out_table = table;
    return HAL_OK;
}

static enum hal_status add_dispatch(struct builder *builder,
                                    const struct hal_segment_dispatch *dispatch)
{
    struct cpu_entry *entry = &to_cpu_executable(dispatch->executable)->entries[dispatch->entry];
    const struct hal_dispatch_state *state = &builder->commands->states[dispatch->state];
    if (dispatch->executable->object.id != builder->executable ||
        dispatch->entry != builder->entry || dispatch->state != builder->state) {
        HAL_TRY(make_table(builder, entry, state, &builder->table));
        builder->executable = dispatch->executable->object.id;
        builder->entry = dispatch->entry;
        builder->state = dispatch->state;
    }
    const uint32_t *count = dispatch->workgroup_count;
    const uint64_t groups = (uint64_t)count[0] * count[1] * count[2];
    struct cpu_op op = {.kind = CPU_OP_DISPATCH};
    op.dispatch.function = entry->function;
    op.dispatch.launch.buffers = builder->table;
    op.dispatch.group_cost = &entry->group_cost;
    for (size_t i = 0; i < 3; i++) {
        op.dispatch.launch.group_size[i] = entry->group_size[i];
        op.dispatch.launch.group_count[i] = count[i];
    }
    const uint64_t tiles = builder->workers > 1 ? (uint64_t)builder->workers * TILES_PER_WORKER : 1;
    builder->program->dispatch_count++;
    builder->dispatch_number++;
    return add_op(builder, op, groups, groups ? (groups - 1) / tiles + 1 : 1);
}

static enum hal_status add_segment(struct builder *builder, const struct hal_segment *segment)
{
    const void *whole = segment;
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_BARRIER: return end_phase(builder);
    case HAL_SEGMENT_FILL: return add_fill(builder, whole);
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = whole;
        return add_copy(builder, view(copy->target, copy->target_offset),
                        view(copy->source, copy->source_offset), copy->bytes);
    }
    case HAL_SEGMENT_UPDATE: {
        const struct hal_segment_update *update = whole;
        return add_copy(builder, view(update->target, update->offset), update->data, update->bytes);
    }
    case HAL_SEGMENT_DISPATCH: return add_dispatch(builder, whole);
    case HAL_SEGMENT_PUSH_CONSTANTS:
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET:
    case HAL_SEGMENT_DEBUG_BEGIN:
    case HAL_SEGMENT_DEBUG_END: return HAL_OK;
    }
    return hal_fail(HAL_INVALID, "there is no segment of kind %u", segment->kind);
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
    for (const struct hal_segment *segment = hal_segment_first(commands);
         status == HAL_OK && segment; segment = hal_segment_next(commands, segment))
        status = add_segment(&builder, segment);
    if (status == HAL_OK)
        status = end_phase(&builder);
    if (status != HAL_OK) {
        cpu_program_destroy(program);
        return status;
    }
    size_t first = 0;
    for (size_t i = 0; i < program->phase_count; i++) {
        program->phases[i].ops = program->ops + first;
        first += program->phases[i].op_count;
    }
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
    free(program->phases);
    free(program->ops);
    free(program);
}

/* ---- Running ------------------------------------------------------------------------------ */

/* `bytes` bytes of a 4-byte pattern; `target` has any alignment. */
static void fill(uint8_t *target, uint32_t pattern, uint64_t bytes)
{
    const uint64_t twice = (uint64_t)pattern << 32 | pattern;
    if (pattern == (pattern & 0xFF) * 0x01010101U) {
        memset(target, (int)(pattern & 0xFF), bytes);
        return;
    }
    uint64_t done = 0;
    for (; done + sizeof twice <= bytes; done += sizeof twice)
        memcpy(target + done, &twice, sizeof twice);
    memcpy(target + done, &twice, bytes - done);
}

void cpu_op_run(const struct cpu_op *op, struct msl_worker *worker, uint64_t first, uint64_t last)
{
    const uint64_t begin = first * op->units_per_tile;
    uint64_t end = last * op->units_per_tile;
    if (end > op->units)
        end = op->units;
    switch (op->kind) {
    case CPU_OP_DISPATCH:
        msl_function_run(op->dispatch.function, worker, &op->dispatch.launch, begin, end);
        break;
    case CPU_OP_COPY: memcpy(op->copy.target + begin, op->copy.source + begin, end - begin); break;
    case CPU_OP_FILL: fill(op->fill.target + begin, op->fill.pattern, end - begin); break;
    }
}

/* ---- Costs -------------------------------------------------------------------------------- */

static const uint64_t bytes_per_ns = 8; /* of a transfer */
static const uint64_t cost_per_ns = 16;

uint64_t cpu_op_tile_ns(const struct cpu_op *op)
{
    if (op->kind != CPU_OP_DISPATCH)
        return op->units_per_tile / bytes_per_ns;
    const uint64_t cost = atomic_load_explicit(op->dispatch.group_cost, memory_order_relaxed);
    return cost ? cost * op->units_per_tile / cost_per_ns + 1 : 0;
}

/* Threads may overwrite each other's figure: any of them will do. */
void cpu_op_measured(const struct cpu_op *op, uint64_t tiles, int64_t ns)
{
    if (op->kind != CPU_OP_DISPATCH || ns <= 0)
        return;
    uint64_t cost = (uint64_t)ns * cost_per_ns / (tiles * op->units_per_tile) + 1;
    const uint64_t old = atomic_load_explicit(op->dispatch.group_cost, memory_order_relaxed);
    if (old)
        cost = (3 * old + cost) / 4;
    atomic_store_explicit(op->dispatch.group_cost,
                          (uint32_t)(cost < UINT32_MAX ? cost : UINT32_MAX), memory_order_relaxed);
}
