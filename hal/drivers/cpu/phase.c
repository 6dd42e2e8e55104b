/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a run: when the next ones are ready, and that it has ended. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

/* ---- Room --------------------------------------------------------------------------------- */

enum hal_status cpu_run_prepare(struct cpu_run *run)
{
    size_t steps[CPU_STAGE_LISTS] = {0}, counts = 0, times = 0;
    for (size_t i = 0; i < run->program_count; i++) {
        for (size_t list = 0; list < CPU_STAGE_LISTS; list++)
            steps[list] += run->programs[i]->lists[list].phase_count;
        counts += run->programs[i]->indirect_count;
        times += run->is_timed ? run->programs[i]->dispatch_count : 0;
    }
    const size_t all_steps = steps[CPU_TRANSFERS] + steps[CPU_DISPATCHES];
    if (all_steps == 0)
        return HAL_OK;
    /* No overflow: the programs themselves are larger. */
    struct cpu_step *step = malloc(all_steps * sizeof *step + times * sizeof(struct cpu_time) +
                                   counts * sizeof(struct cpu_counts));
    if (!step)
        return hal_fail(HAL_NO_MEMORY, "no memory to run %zu phases", all_steps);
    struct cpu_time *const first_time = (struct cpu_time *)(step + all_steps);
    run->memory = step;
    run->times = times ? first_time : NULL;
    if (times)
        memset(first_time, 0, times * sizeof *first_time);
    for (size_t list = 0; list < CPU_STAGE_LISTS; list++) {
        run->lists[list].steps = step;
        run->lists[list].times = run->times;
        run->lists[list].counts = (struct cpu_counts *)(first_time + times);
        step += steps[list];
    }
    return HAL_OK;
}

void cpu_run_finish(struct cpu_run *run)
{
    free(run->memory);
    free(run->message);
}

/* ---- Times -------------------------------------------------------------------------------- */

void cpu_run_note(const struct cpu_step *step, const struct cpu_op *op, int64_t begin_ns,
                  int64_t end_ns)
{
    if (op->kind != CPU_OP_DISPATCH && op->kind != CPU_OP_DISPATCH_INDIRECT)
        return;
    struct cpu_time *time = &step->times[op->dispatch.number];
    int64_t first_ns = atomic_load_explicit(&time->begin_ns, memory_order_relaxed);
    int64_t last_ns = atomic_load_explicit(&time->end_ns, memory_order_relaxed);
    while ((first_ns == 0 || begin_ns < first_ns) &&
           !atomic_compare_exchange_weak_explicit(&time->begin_ns, &first_ns, begin_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
    while (end_ns > last_ns &&
           !atomic_compare_exchange_weak_explicit(&time->end_ns, &last_ns, end_ns,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

struct hal_dispatch_time *cpu_run_times(const struct cpu_run *run, size_t *out_count)
{
    const struct cpu_time *time = run->times;
    size_t all = 0;
    *out_count = 0;
    for (size_t i = 0; time && i < run->program_count; i++)
        all += run->programs[i]->dispatch_count;
    struct hal_dispatch_time *times = all ? hal_alloc(all, sizeof *times) : NULL;
    for (uint32_t i = 0; times && i < run->program_count; i++) {
        for (uint32_t k = 0; k < run->programs[i]->dispatch_count; k++, time++) {
            const int64_t begin_ns = atomic_load_explicit(&time->begin_ns, memory_order_relaxed);
            const int64_t end_ns = atomic_load_explicit(&time->end_ns, memory_order_relaxed);
            if (begin_ns)
                times[(*out_count)++] = (struct hal_dispatch_time){i, k, begin_ns, end_ns};
        }
    }
    return times;
}

/* ---- Failing ------------------------------------------------------------------------------ */

void cpu_run_fail(struct cpu_run *run, enum hal_status status)
{
    if (atomic_exchange_explicit(&run->failed, true, memory_order_relaxed))
        return;
    run->status = status;
    run->message = hal_copy_string(hal_message());
}

void cpu_run_cancel(struct cpu_run *run)
{
    atomic_store_explicit(&run->failed, true, memory_order_relaxed);
}

/* ---- Advancing ---------------------------------------------------------------------------- */

/* The next phase of the list to become ready, in this program or a later one; NULL: none. */
static const struct cpu_phase *next_phase(struct cpu_run *run, enum cpu_stage_list which)
{
    struct cpu_run_list *list = &run->lists[which];
    for (; list->program < run->program_count; list->program++, list->phase = 0) {
        const struct cpu_program *program = run->programs[list->program];
        if (list->phase < program->lists[which].phase_count)
            return &program->lists[which].phases[list->phase];
        for (size_t i = 0; i < CPU_STAGE_LISTS; i++)
            list->bases[i] += program->lists[i].phase_count;
        list->counts += program->indirect_count;
        if (list->times)
            list->times += program->dispatch_count;
    }
    return NULL;
}

static void read_counts(struct cpu_run *run, const struct cpu_run_list *list,
                        const struct cpu_phase *phase)
{
    const struct cpu_program *program = run->programs[list->program];
    for (size_t i = 0; i < phase->indirect_count; i++) {
        const size_t number = phase->first_indirect + i;
        list->counts[number] = (struct cpu_counts){{0}};
        if (atomic_load_explicit(&run->failed, memory_order_relaxed))
            continue;
        const enum hal_status status = cpu_indirect_read(program, number, &list->counts[number]);
        if (status != HAL_OK)
            cpu_run_fail(run, status);
    }
}

static bool is_ready(const struct cpu_run *run, const struct cpu_run_list *list,
                     const struct cpu_phase *phase)
{
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++) {
        if (run->lists[i].finished < list->bases[i] + phase->needs[i])
            return false;
    }
    return true;
}

static void make_ready(struct cpu_run *run, struct cpu_run_list *list,
                       const struct cpu_phase *phase)
{
    const size_t index = atomic_load_explicit(&list->ready, memory_order_relaxed);
    struct cpu_step *step = &list->steps[index];
    read_counts(run, list, phase);
    step->phase = phase;
    step->counts = list->counts;
    step->times = list->times;
    atomic_init(&step->unfinished, phase->tile_count);
    atomic_init(&step->unclaimed, phase->tile_count);
    list->phase++;
    atomic_store_explicit(&list->ready, index + 1, memory_order_release);
}

static void count_finished(struct cpu_run_list *list)
{
    const size_t ready = atomic_load_explicit(&list->ready, memory_order_relaxed);
    while (list->finished < ready &&
           atomic_load_explicit(&list->steps[list->finished].unfinished, memory_order_acquire) == 0)
        list->finished++;
}

/* True when everything has ended. */
static bool advance_once(struct cpu_run *run)
{
    bool all = true;
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++)
        count_finished(&run->lists[i]);
    for (enum cpu_stage_list i = 0; i < CPU_STAGE_LISTS; i++) {
        struct cpu_run_list *list = &run->lists[i];
        const struct cpu_phase *phase;
        while ((phase = next_phase(run, i)) != NULL && is_ready(run, list, phase))
            make_ready(run, list, phase);
        all &= !phase && list->finished == atomic_load_explicit(&list->ready, memory_order_relaxed);
    }
    return all;
}

bool cpu_run_advance(struct cpu_run *run)
{
    bool ended = false;
    uint32_t asked = 1;
    if (atomic_fetch_add_explicit(&run->advances, 1, memory_order_acq_rel) > 0)
        return false;
    do {
        if (!run->over && advance_once(run))
            ended = run->over = true;
        asked = atomic_fetch_sub_explicit(&run->advances, asked, memory_order_acq_rel) - asked;
    } while (asked > 0);
    return ended;
}
