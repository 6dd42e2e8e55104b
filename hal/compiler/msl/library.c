/* SPDX-License-Identifier: Apache-2.0 */
/* Loads compiled sources and answers what is in them. */
#include "hal/compiler/msl/library.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/compiler/msl/cache.h"
#include "hal/compiler/msl/names.h"
#include "hal/compiler/msl/object.h"

#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif

/* Lays a kernel's declarations out, one after the other. Two threads may load the same module:
 * they write the same numbers. */
static uint32_t place_variables(const struct msl_abi_module *module, const void *tag)
{
    uint64_t bytes = 0;
    for (struct msl_abi_group_variables *it = module->first_variables; it < module->last_variables;
         it++) {
        if (it->tag != tag)
            continue;
        bytes = (bytes + it->alignment - 1) & ~(it->alignment - 1);
        __atomic_store_n(&it->offset, bytes, __ATOMIC_RELAXED);
        bytes += it->bytes;
    }
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static void describe(const struct msl_abi_module *module, const struct msl_abi_kernel *kernel,
                     struct msl_function *out_function)
{
    out_function->kernel = kernel;
    out_function->info = (struct msl_function_info){
        .name = kernel->name,
        .buffer_mask = kernel->buffer_mask,
        .threadgroup_mask = kernel->group_argument_mask,
        .static_group_memory_bytes = place_variables(module, kernel->tag),
        .has_barriers = kernel->needs_sync != 0,
        .checks_bounds = kernel->checks_bounds != 0,
    };
    if (kernel->checks_bounds)
        out_function->info.lowering = kernel->lowering;
    else if (!kernel->needs_sync)
        out_function->info.lowering = "alone";
    else if (kernel->run_groups || kernel->run_split)
        out_function->info.lowering = "loops";
    else
        out_function->info.lowering = kernel->lowering ? kernel->lowering : "fibers";
    memcpy(out_function->info.buffer_access, kernel->buffer_access, sizeof kernel->buffer_access);
    memcpy(out_function->info.buffer_alignment, kernel->buffer_alignment,
           sizeof kernel->buffer_alignment);
    memcpy(out_function->info.buffer_bytes, kernel->buffer_bytes, sizeof kernel->buffer_bytes);
}

#if defined(__linux__)
struct code {
    uintptr_t inside, begin, end;
};

/* The executable part of the module that contains an address. Called with the loader's lock held,
 * which ThreadSanitizer does not know: it would report races between modules at one address. */
__attribute__((no_sanitize("thread"))) static int find_code(struct dl_phdr_info *info, size_t bytes,
                                                            void *user)
{
    (void)bytes;
    struct code *const code = user;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    bool holds = false;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        holds |= code->inside >= at && code->inside < at + part->p_memsz;
        if (!(part->p_flags & PF_X))
            continue;
        begin = at < begin ? at : begin;
        end = at + part->p_memsz > end ? at + part->p_memsz : end;
    }
    if (!holds || !end)
        return 0;
    code->begin = begin;
    code->end = end;
    return 1;
}

static void note_code(struct msl_library *library, const struct msl_abi_module *module)
{
    struct code code = {.inside = (uintptr_t)module};
    dl_iterate_phdr(find_code, &code);
    for (size_t i = 0; i < library->function_count; i++) {
        library->functions[i].info.code_begin = code.begin;
        library->functions[i].info.code_end = code.end;
    }
}
#else
static void note_code(struct msl_library *library, const struct msl_abi_module *module)
{
    (void)library;
    (void)module;
}
#endif

static enum hal_status read_module(struct msl_library *library, const struct msl_abi_module *module)
{
    library->function_count = (size_t)(module->last_kernel - module->first_kernel);
    library->functions = hal_alloc(library->function_count, sizeof *library->functions);
    if (!library->functions)
        return hal_fail(HAL_NO_MEMORY, "out of memory for %zu kernels", library->function_count);
    for (size_t i = 0; i < library->function_count; i++)
        describe(module, module->first_kernel + i, &library->functions[i]);
    for (size_t i = 0; i < library->function_count; i++)
        hal_log(HAL_LOG_INFO, "'%s': the threads of kernel '%s' run %s%s", library->file,
                library->functions[i].info.name,
                library->functions[i].info.has_barriers ? "as " : "",
                library->functions[i].info.lowering);
    note_code(library, module);
    library->constants = module->first_constant;
    library->constant_count = (size_t)(module->last_constant - module->first_constant);
    __atomic_store_n(module->runtime, &msl_runtime, __ATOMIC_RELEASE);
    return HAL_OK;
}

enum hal_status msl_library_check(const char *path, const char *what)
{
    struct msl_mapped object;
    if (!msl_cache_map(path, &object))
        return hal_fail(HAL_CORRUPT, "%s: cannot read the compiled '%s'", what, path);
    const enum hal_status status = msl_object_check(object.bytes, object.length, what);
    msl_cache_unmap(&object);
    return status;
}

enum hal_status msl_library_load(const char *path, const char *file, const char *what,
                                 struct msl_library **out_library)
{
    HAL_TRY(msl_library_check(path, what));
    struct msl_library *const library = hal_alloc(1, sizeof *library);
    if (!library)
        return hal_fail(HAL_NO_MEMORY, "out of memory for '%s'", file);
    enum hal_status status = HAL_OK;
    library->file = hal_copy_string(file);
    library->module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    msl_cache_see_unmapped();
    const struct msl_abi_module *const module =
        library->module ? dlsym(library->module, "msl_abi_module") : NULL;
    if (!library->file)
        status = hal_fail(HAL_NO_MEMORY, "out of memory for '%s'", file);
    else if (!module)
        status = hal_fail(HAL_CORRUPT, "cannot load the compiled '%s': %s", file, dlerror());
    else
        status = read_module(library, module);
    if (status != HAL_OK) {
        msl_library_destroy(library);
        return status;
    }
    *out_library = library;
    return HAL_OK;
}

void msl_library_destroy(struct msl_library *library)
{
    if (!library)
        return;
    if (library->module)
        dlclose(library->module);
    free(library->functions);
    free(library->file);
    free(library);
}

static enum hal_status unknown_name(const struct msl_library *library, const char *name)
{
    const char **const names = hal_alloc(library->function_count, sizeof *names);
    if (!names)
        return hal_fail(HAL_NO_MEMORY, "out of memory for %zu names", library->function_count);
    for (size_t i = 0; i < library->function_count; i++)
        names[i] = library->functions[i].info.name;
    const enum hal_status status =
        msl_unknown_name(HAL_NOT_FOUND, library->file, name, names, library->function_count);
    free(names);
    return status;
}

/* By its whole name, else by the part after the namespaces; `*out_other`: a second one, or NULL. */
static const struct msl_function *find_function(const struct msl_library *library, const char *name,
                                                const struct msl_function **out_other)
{
    const struct msl_function *found = NULL;
    *out_other = NULL;
    for (size_t i = 0; i < library->function_count; i++)
        if (strcmp(library->functions[i].info.name, name) == 0)
            return &library->functions[i];
    for (size_t i = 0; i < library->function_count && !*out_other; i++) {
        const struct msl_function *const function = &library->functions[i];
        if (msl_is_bare_name(function->info.name, name))
            *(found ? out_other : &found) = function;
    }
    return found;
}

enum hal_status msl_library_find(const struct msl_library *library, const char *name,
                                 const struct msl_function **out_function)
{
    const struct msl_function *other;
    const struct msl_function *const function = find_function(library, name, &other);
    if (!function)
        return unknown_name(library, name);
    if (other)
        return hal_fail(HAL_NOT_FOUND, "'%s': kernel '%s' could be '%s' or '%s'", library->file,
                        name, function->info.name, other->info.name);
    if (function->info.static_group_memory_bytes > MSL_MAX_GROUP_MEMORY_BYTES)
        return hal_fail(HAL_INVALID,
                        "kernel '%s' of '%s' has %s of threadgroup variables; the limit is %d",
                        name, library->file,
                        hal_count(function->info.static_group_memory_bytes, "byte", "bytes").text,
                        MSL_MAX_GROUP_MEMORY_BYTES);
    *out_function = function;
    return HAL_OK;
}

bool msl_library_from_cache(const struct msl_library *library)
{
    return library->from_cache;
}

size_t msl_library_function_count(const struct msl_library *library)
{
    return library->function_count;
}

const struct msl_function *msl_library_function(const struct msl_library *library, size_t index)
{
    return index < library->function_count ? &library->functions[index] : NULL;
}

size_t msl_library_constant_count(const struct msl_library *library)
{
    return library->constant_count;
}

struct msl_constant_info msl_library_constant(const struct msl_library *library, size_t index)
{
    const struct msl_abi_constant *const constant = &library->constants[index];
    return (struct msl_constant_info){constant->name, constant->index,
                                      (enum msl_constant_type)constant->type, constant->components};
}

const struct msl_function_info *msl_function_get_info(const struct msl_function *function)
{
    return &function->info;
}
