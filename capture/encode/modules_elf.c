/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of ELF. */
#include "capture/encode/modules.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <link.h>
#include <stdio.h>

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * header,
                          struct capture_module *module)
{
    const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
    const uint8_t *end = at + header->p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const void *)at;
        const uint8_t *name = at + sizeof *note;
        const uint8_t *value = name + hal_align_up(note->n_namesz, 4);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
            note->n_descsz <= CAPTURE_MAX_BUILD_ID) {
            memcpy(module->build_id, value, note->n_descsz);
            module->build_id_bytes = note->n_descsz;
        }
        at = value + hal_align_up(note->n_descsz, 4);
    }
}

/* False for what has no code of its own on disk. */
static bool read_module(const struct dl_phdr_info *info, struct capture_module *module)
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

struct walk {
    bool (*visit)(void *user, const struct capture_module *module);
    void *user;
    uint64_t seen;
    struct capture_module module;
};

static int visit_one(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct walk *walk = user;
    walk->seen = info->dlpi_adds;
    return read_module(info, &walk->module) && !walk->visit(walk->user, &walk->module);
}

uint64_t capture_modules_each(bool (*visit)(void *user, const struct capture_module *module),
                              void *user)
{
    struct walk *walk = hal_alloc(1, sizeof *walk);
    if (!walk)
        return 0;
    walk->visit = visit;
    walk->user = user;
    dl_iterate_phdr(visit_one, walk);
    const uint64_t seen = walk->seen;
    free(walk);
    return seen;
}

static int read_additions(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    *(uint64_t *)user = info->dlpi_adds;
    return 1;
}

uint64_t capture_modules_additions(void)
{
    uint64_t additions = 0;
    dl_iterate_phdr(read_additions, &additions);
    return additions;
}

struct search {
    uintptr_t code;
    struct capture_range found;
};

static int find_segment(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    struct search *search = user;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + header->p_vaddr, end = begin + header->p_memsz;
        if (header->p_type != PT_LOAD || search->code < begin || search->code >= end)
            continue;
        if (info->dlpi_name && info->dlpi_name[0])
            search->found = (struct capture_range){begin, end};
        return 1;
    }
    return 0;
}

struct capture_range capture_modules_range(const void *code)
{
    struct search search = {.code = (uintptr_t)code};
    dl_iterate_phdr(find_segment, &search);
    return search.found;
}
