/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding by libunwind, numbering, and the list of modules by the dynamic loader. */
#include "capture/stacks.h"

#include "format/limits.h"
#include "hal/base/mem.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

enum { max_frames = 128, stack_buckets = 1 << 14, module_buckets = 1 << 10, build_id_limit = 64 };

/* ---- Modules ---- */

struct module {
    uint64_t base, bytes;
    char path[PATH_MAX];
    uint8_t build_id[build_id_limit];
    uint32_t build_id_bytes;
};

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * header,
                          struct module *module)
{
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    const uint8_t *end = at + header->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const void *)at;
        const uint8_t *name = at + sizeof *note;
        const uint8_t *value = name + hal_align_up(note->n_namesz, 4);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note->n_descsz <= build_id_limit) {
            memcpy(module->build_id, value, note->n_descsz);
            module->build_id_bytes = note->n_descsz;
        }
        at = value + hal_align_up(note->n_descsz, 4);
    }
}

/* False for what has no code of its own on disk. */
static bool read_module(const struct dl_phdr_info *info, struct module *module)
{
    uint64_t end = 0;
    memset(module, 0, sizeof *module);
    module->base = info->dlpi_addr;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_vaddr + header->p_memsz > end)
            end = header->p_vaddr + header->p_memsz;
        else if (header->p_type == PT_NOTE)
            read_build_id(info, header, module);
    }
    module->bytes = end;
    if (info->dlpi_name && info->dlpi_name[0])
        snprintf(module->path, sizeof module->path, "%s", info->dlpi_name);
    else if (hal_program_path(module->path, sizeof module->path) != HAL_OK)
        return false;
    return end > 0;
}

static void record_module(struct capture_thread *thread, const struct module *module)
{
    const uint64_t bytes = hal_align_up(sizeof(struct trace_module) + module->build_id_bytes, 8);
    const uint32_t path = capture_string(thread, module->path);
    struct trace_module *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    memset(record, 0, bytes);
    *record = (struct trace_module){.head = {.kind = TRACE_MODULE, .bytes = (uint32_t)bytes},
                                    .base = module->base,
                                    .size = module->bytes,
                                    .path = path,
                                    .build_id_bytes = module->build_id_bytes};
    memcpy(record->build_id, module->build_id, module->build_id_bytes);
    capture_publish(thread, bytes);
}

struct module_walk {
    struct capture_stacks *stacks;
    struct capture_thread *thread;
    uint64_t seen;
    struct module module;
};

static int visit_module(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct module_walk *walk = user;
    struct module *module = &walk->module;
    bool is_new;
    walk->seen = info->dlpi_adds;
    if (!read_module(info, module))
        return 0;
    char key[PATH_MAX + 32];
    const int length =
        snprintf(key, sizeof key, "%llx %s", (unsigned long long)module->base, module->path);
    if (capture_table_number(&walk->stacks->modules, key, (size_t)length, &is_new) && is_new)
        record_module(walk->thread, module);
    return 0;
}

void capture_modules(struct capture_stacks *stacks, struct capture_thread *thread)
{
    struct module_walk *walk = malloc(sizeof *walk);
    if (!walk)
        return;
    walk->stacks = stacks;
    walk->thread = thread;
    dl_iterate_phdr(visit_module, walk);
    atomic_store_explicit(&stacks->modules_seen, walk->seen, memory_order_relaxed);
    free(walk);
}

static int read_additions(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    *(uint64_t *)user = info->dlpi_adds;
    return 1;
}

static void refresh_modules(struct capture_stacks *stacks, struct capture_thread *thread)
{
    uint64_t additions = 0;
    dl_iterate_phdr(read_additions, &additions);
    if (additions != atomic_load_explicit(&stacks->modules_seen, memory_order_relaxed))
        capture_modules(stacks, thread);
}

static int find_own_module(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct capture_stacks *stacks = user;
    const uintptr_t here = (uintptr_t)&find_own_module;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || here < begin || here >= begin + header->p_memsz)
            continue;
        /* Linked into the program, the capture has no frames that can be told from the rest. */
        if (!info->dlpi_name || !info->dlpi_name[0])
            return 1;
        stacks->own_begin = begin;
        stacks->own_end = begin + header->p_memsz;
        return 1;
    }
    return 0;
}

/* ---- Stacks ---- */

enum hal_status capture_stacks_init(struct capture_stacks *stacks)
{
    memset(stacks, 0, sizeof *stacks);
    HAL_TRY(capture_table_init(&stacks->stacks, stack_buckets, TRACE_MAX_STACKS - 1));
    HAL_TRY(capture_table_init(&stacks->modules, module_buckets, TRACE_MAX_MODULES - 1));
    dl_iterate_phdr(find_own_module, stacks);
    return HAL_OK;
}

void capture_stacks_finish(struct capture_stacks *stacks)
{
    capture_table_finish(&stacks->stacks);
    capture_table_finish(&stacks->modules);
}

static void record_stack(struct capture_thread *thread, uint32_t id, void *const *frames,
                         uint32_t count)
{
    const uint64_t bytes = sizeof(struct trace_stack) + count * sizeof(uint64_t);
    struct trace_stack *record = capture_reserve(thread, bytes);
    if (!record)
        return;
    *record = (struct trace_stack){
        .head = {.kind = TRACE_STACK, .bytes = (uint32_t)bytes}, .id = id, .frame_count = count};
    for (uint32_t i = 0; i < count; i++)
        record->frames[i] = (uint64_t)(uintptr_t)frames[i];
    capture_publish(thread, bytes);
}

/* Only the runtime of ThreadSanitizer has it. */
extern __attribute__((weak)) void __tsan_init(void);

static int unwind_slowly(void **frames)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t address;
    int count = 0;
    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return 0;
    while (count < max_frames && unw_step(&cursor) > 0 &&
           unw_get_reg(&cursor, UNW_REG_IP, &address) == 0 && address)
        frames[count++] = (void *)(uintptr_t)address;
    return count;
}

/* The fast way keeps a cache per thread, and takes a lock to free it at the very end of the thread,
 * when ThreadSanitizer has forgotten it already and crashes. */
static int unwind(void **frames)
{
    return __tsan_init ? unwind_slowly(frames) : unw_backtrace(frames, max_frames);
}

uint32_t capture_stack(struct capture_stacks *stacks, struct capture_thread *thread)
{
    void *frames[max_frames];
    const int found = unwind(frames);
    int first = 0;
    while (first < found && (uintptr_t)frames[first] >= stacks->own_begin &&
           (uintptr_t)frames[first] < stacks->own_end)
        first++;
    if (found <= first)
        return 0;
    const uint32_t count = (uint32_t)(found - first);
    bool is_new;
    const uint32_t id =
        capture_table_number(&stacks->stacks, frames + first, count * sizeof *frames, &is_new);
    if (!id) {
        capture_stop(thread->stream, HAL_NO_MEMORY, "no room for more than %u different stacks",
                     stacks->stacks.count);
        return 0;
    }
    if (is_new) {
        refresh_modules(stacks, thread);
        record_stack(thread, id, frames + first, count);
    }
    return id;
}
