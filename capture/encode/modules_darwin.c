/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of Mach-O. */
#include "capture/encode/modules.h"

#include "hal/base/mem.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic uint64_t additions;

static void count_one(const struct mach_header *header, intptr_t slide)
{
    (void)header, (void)slide;
    atomic_fetch_add(&additions, 1);
}

/* Also counts modules that are already loaded. Never unregistered, which the loader does not
 * support: the capture stays in the process. */
uint64_t capture_modules_additions(void)
{
    static atomic_flag is_watched = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_watched))
        _dyld_register_func_for_add_image(count_one);
    return atomic_load(&additions);
}

static void read_commands(const struct mach_header_64 *header, struct capture_module *module)
{
    const uint8_t *at = (const uint8_t *)(header + 1);
    const uint64_t base = (uint64_t)(uintptr_t)header;
    uint64_t text = 0, end = 0;
    for (uint32_t i = 0; i < header->ncmds; i++) {
        const struct load_command *command = (const void *)at;
        const struct segment_command_64 *segment = (const void *)at;
        const struct uuid_command *uuid = (const void *)at;
        if (command->cmd == LC_SEGMENT_64 && strcmp(segment->segname, SEG_TEXT) == 0)
            text = segment->vmaddr;
        if (command->cmd == LC_SEGMENT_64 && strcmp(segment->segname, SEG_LINKEDIT) != 0 &&
            segment->vmaddr >= text && segment->vmaddr + segment->vmsize > end)
            end = segment->vmaddr + segment->vmsize;
        if (command->cmd == LC_UUID) {
            memcpy(module->build_id, uuid->uuid, sizeof uuid->uuid);
            module->build_id_bytes = sizeof uuid->uuid;
        }
        at += command->cmdsize;
    }
    module->base = base;
    module->bytes = end - text;
}

uint64_t capture_modules_each(bool (*visit)(void *user, const struct capture_module *module),
                              void *user)
{
    const uint64_t seen = capture_modules_additions();
    struct capture_module *module = hal_alloc(1, sizeof *module);
    const uint32_t count = _dyld_image_count();
    bool more = module != NULL;
    for (uint32_t i = 0; more && i < count; i++) {
        const struct mach_header *header = _dyld_get_image_header(i);
        const char *name = _dyld_get_image_name(i);
        if (!header || header->magic != MH_MAGIC_64 || !name)
            continue;
        memset(module, 0, sizeof *module);
        snprintf(module->path, sizeof module->path, "%s", name);
        read_commands((const void *)header, module);
        more = visit(user, module);
    }
    free(module);
    return seen;
}

struct capture_range capture_modules_range(const void *code)
{
    Dl_info info;
    struct capture_module module = {.base = 0};
    if (!dladdr(code, &info) || !info.dli_fbase ||
        info.dli_fbase == (const void *)_dyld_get_image_header(0))
        return (struct capture_range){0, 0};
    read_commands(info.dli_fbase, &module);
    return (struct capture_range){(uintptr_t)module.base, (uintptr_t)(module.base + module.bytes)};
}
