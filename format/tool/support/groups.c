/* SPDX-License-Identifier: Apache-2.0 */
/* Whose groups of ranks are which, in several traces. */
#include "format/tool/support/groups.h"

#include "hal/base/mem.h"

#include <inttypes.h>
#include <string.h>

struct groups_process {
    const char *program, *host, *system; /* "": not known */
    uint64_t id;
    bool is_mixed;       /* several, with indistinguishable numbers */
    uint64_t last, base; /* largest number of its own; what is added to it */
};

struct groups_capture {
    size_t process;
    uint64_t old_base; /* was added to its numbers before */
};

/* ---- Processes ---- */

static struct groups_process process_of(const struct trace_header *header, size_t capture)
{
    const struct trace_capture *of = &header->captures[capture];
    if (header->capture_count)
        return (struct groups_process){
            .program = of->program, .host = of->host, .system = "", .id = of->process_id};
    return (struct groups_process){.program = header->program,
                                   .host = header->host,
                                   .system = header->system,
                                   .id = header->process_id};
}

/* Identified by its number on one machine: its traces begin at different times. Two processes with
 * the same number (in containers, for example) count as one. */
static bool is_same(const struct groups_process *a, const struct groups_process *b)
{
    return !a->is_mixed && !b->is_mixed && a->id == b->id && strcmp(a->program, b->program) == 0 &&
           strcmp(a->host, b->host) == 0 &&
           (!*a->system || !*b->system || strcmp(a->system, b->system) == 0);
}

/* The merge did not record the offsets. */
static bool is_mixed(const struct trace_header *header)
{
    for (size_t i = 1; i < header->capture_count; i++) {
        const struct groups_process before = process_of(header, i - 1), one = process_of(header, i);
        if (header->captures[i].group_base == header->captures[i - 1].group_base &&
            !is_same(&before, &one))
            return true;
    }
    return false;
}

/* To two captures of one trace different things were added: they are of different processes, though
 * these had the same number, one after the other or on machines of one name. */
static bool is_another(const struct groups *groups, size_t process, uint64_t old_base)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->captures[i].process == process && groups->captures[i].old_base != old_base)
            return true;
    }
    return false;
}

static enum hal_status find_process(const struct groups *groups,
                                    const struct groups_process *wanted, uint64_t old_base,
                                    size_t *out_process)
{
    struct groups_all *all = groups->all;
    size_t i = 0;
    while (i < all->count &&
           (!is_same(&all->processes[i], wanted) || is_another(groups, i, old_base)))
        i++;
    *out_process = i;
    if (i < all->count)
        return HAL_OK;
    if (!HAL_GROW(all->processes, &all->capacity, i + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu processes", i);
    all->processes[all->count++] = *wanted;
    return HAL_OK;
}

enum hal_status groups_open(struct groups *groups, struct groups_all *all,
                            const struct trace_header *header)
{
    const bool mixed = is_mixed(header);
    const size_t count = header->capture_count ? header->capture_count : 1;
    *groups = (struct groups){.all = all, .captures = hal_alloc(count, sizeof *groups->captures)};
    if (!groups->captures)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu captures", count);
    for (; groups->count < count; groups->count++) {
        struct groups_capture *capture = &groups->captures[groups->count];
        struct groups_process process = process_of(header, groups->count);
        process.is_mixed = mixed;
        if (!mixed && header->capture_count)
            capture->old_base = header->captures[groups->count].group_base;
        if (mixed && groups->count)
            *capture = groups->captures[0];
        else
            HAL_TRY(find_process(groups, &process, capture->old_base, &capture->process));
    }
    return HAL_OK;
}

/* ---- Numbers ---- */

/* The one with the largest base below the number. */
static const struct groups_capture *capture_of(const struct groups *groups, uint64_t number)
{
    const struct groups_capture *best = &groups->captures[0];
    for (size_t i = 1; i < groups->count; i++) {
        const struct groups_capture *capture = &groups->captures[i];
        if (capture->old_base < number &&
            (best->old_base >= number || capture->old_base > best->old_base))
            best = capture;
    }
    return best;
}

void groups_note(struct groups *groups, uint64_t number)
{
    const struct groups_capture *capture = capture_of(groups, number);
    struct groups_process *process = &groups->all->processes[capture->process];
    if (!number)
        return;
    if (number <= capture->old_base)
        groups->all->stray = number;
    else if (number - capture->old_base > process->last)
        process->last = number - capture->old_base;
}

enum hal_status groups_number(struct groups_all *all)
{
    uint64_t end = 0;
    if (all->stray)
        return hal_fail(HAL_CORRUPT, "group %" PRIu64 " belongs to none of the captures",
                        all->stray);
    for (size_t i = 0; i < all->count; i++) {
        struct groups_process *process = &all->processes[i];
        process->base = end;
        /* One at least: each process's base is its own. */
        if (!hal_add_u64(end, process->last ? process->last : 1, &end))
            return hal_fail(HAL_UNSUPPORTED, "the group numbers in '%s' are too large",
                            process->program);
    }
    return HAL_OK;
}

uint64_t groups_new_number(const struct groups *groups, uint64_t number)
{
    const struct groups_capture *capture = capture_of(groups, number);
    return number - capture->old_base + groups->all->processes[capture->process].base;
}

uint64_t groups_new_base(const struct groups *groups, size_t capture)
{
    return groups->all->processes[groups->captures[capture].process].base;
}

void groups_close(struct groups *groups)
{
    free(groups->captures);
    *groups = (struct groups){0};
}

void groups_all_finish(struct groups_all *all)
{
    free(all->processes);
    *all = (struct groups_all){0};
}
