/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a program: running tiles of them, and what that costs. */
#include "hal/drivers/cpu/cpu.h"

#include <string.h>

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

enum hal_status cpu_indirect_read(const struct cpu_program *program, size_t number,
                                  struct cpu_counts *out_counts)
{
    const struct cpu_indirect *indirect = &program->indirects[number];
    struct cpu_counts counts;
    char name[HAL_OBJECT_NAME_BYTES];
    memcpy(&counts, indirect->counts, sizeof counts);
    HAL_TRY(hal_add_context(hal_check_workgroups(indirect->entry, counts.groups), "%s, dispatch %u",
                            hal_object_name(&program->commands->object, name),
                            indirect->dispatch_number));
    *out_counts = counts;
    return HAL_OK;
}

/* The launch of an indirect dispatch with the counts that the run has read. */
static struct msl_launch resolve(const struct cpu_op *op, const struct cpu_counts *counts)
{
    struct msl_launch launch = op->dispatch.launch;
    memcpy(launch.workgroup_count, counts[op->dispatch.indirect].groups,
           sizeof launch.workgroup_count);
    return launch;
}

static uint64_t groups_of(const struct msl_launch *launch)
{
    return (uint64_t)launch->workgroup_count[0] * launch->workgroup_count[1] *
           launch->workgroup_count[2];
}

/* The tiles of an indirect dispatch share its groups, however many there are. */
static uint64_t groups_per_tile(const struct cpu_op *op, const struct msl_launch *launch)
{
    const uint64_t groups = groups_of(launch);
    return groups ? (groups - 1) / op->units + 1 : 0;
}

static enum hal_status run_indirect(const struct cpu_op *op, const struct cpu_counts *counts,
                                    struct msl_worker *worker, uint64_t first, uint64_t last)
{
    const struct msl_launch launch = resolve(op, counts);
    const uint64_t groups = groups_of(&launch), per_tile = groups_per_tile(op, &launch);
    /* Rounded up, all tiles but the last ones may hold all groups; no product overflows then. */
    const uint64_t begin = per_tile && first > groups / per_tile ? groups : first * per_tile;
    const uint64_t end = per_tile && last > groups / per_tile ? groups : last * per_tile;
    return cpu_kernel_run(op->dispatch.function, worker, &launch, begin, end);
}

enum hal_status cpu_op_run(const struct cpu_op *op, const struct cpu_counts *counts,
                           struct msl_worker *worker, uint64_t first, uint64_t last)
{
    const uint64_t begin = first * op->units_per_tile;
    uint64_t end = last * op->units_per_tile;
    if (end > op->units)
        end = op->units;
    switch (op->kind) {
    case CPU_OP_DISPATCH:
        return cpu_kernel_run(op->dispatch.function, worker, &op->dispatch.launch, begin, end);
    case CPU_OP_DISPATCH_INDIRECT: return run_indirect(op, counts, worker, first, last);
    case CPU_OP_COPY: memcpy(op->copy.target + begin, op->copy.source + begin, end - begin); break;
    case CPU_OP_FILL: fill(op->fill.target + begin, op->fill.pattern, end - begin); break;
    }
    return HAL_OK;
}

/* ---- Costs -------------------------------------------------------------------------------- */

static const uint64_t bytes_per_ns = 8; /* of a transfer */
static const uint64_t cost_per_ns = 16;

static uint64_t groups_in_a_tile(const struct cpu_op *op, const struct cpu_counts *counts)
{
    if (op->kind == CPU_OP_DISPATCH)
        return op->units_per_tile;
    const struct msl_launch launch = resolve(op, counts);
    return groups_per_tile(op, &launch);
}

uint64_t cpu_op_tile_ns(const struct cpu_op *op, const struct cpu_counts *counts)
{
    if (op->kind == CPU_OP_COPY || op->kind == CPU_OP_FILL)
        return op->units_per_tile / bytes_per_ns;
    const uint64_t groups = groups_in_a_tile(op, counts);
    const uint64_t cost = atomic_load_explicit(op->dispatch.group_cost, memory_order_relaxed);
    uint64_t all;
    if (groups == 0)
        return 1;
    if (__builtin_mul_overflow(cost, groups, &all))
        all = UINT64_MAX;
    return cost ? all / cost_per_ns + 1 : 0;
}

/* Threads may overwrite each other's figure: any of them will do. */
void cpu_op_measured(const struct cpu_op *op, const struct cpu_counts *counts, uint64_t tiles,
                     int64_t ns)
{
    if (op->kind == CPU_OP_COPY || op->kind == CPU_OP_FILL || ns <= 0)
        return;
    const uint64_t groups = groups_in_a_tile(op, counts);
    if (groups == 0)
        return;
    uint64_t cost = (uint64_t)ns * cost_per_ns / (tiles * groups) + 1;
    const uint64_t old = atomic_load_explicit(op->dispatch.group_cost, memory_order_relaxed);
    if (old)
        cost = (3 * old + cost) / 4;
    atomic_store_explicit(op->dispatch.group_cost,
                          (uint32_t)(cost < UINT32_MAX ? cost : UINT32_MAX), memory_order_relaxed);
}
