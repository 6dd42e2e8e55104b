/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan/frames.h"

#include "format/analysis/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct trace_module *find_module(const struct trace_reader *reader, uint64_t address)
{
    for (size_t i = 0; i < trace_reader_module_count(reader); i++) {
        const struct trace_module *module = trace_reader_module(reader, i);
        if (address >= module->base && address - module->base < module->size)
            return module;
    }
    return NULL;
}

/* A return address follows its call. */
static bool name_by(const struct trace_module *module, const char *path, uint64_t offset, char *out,
                    size_t bytes)
{
    struct trace_symbols symbols;
    if (trace_symbols_open(path, module->build_id, module->build_id_bytes, &symbols) != HAL_OK)
        return false;
    const struct trace_symbol *symbol = trace_symbols_find(&symbols, offset - 1);
    if (symbol)
        snprintf(out, bytes, "%.60s+0x%" PRIx64, symbol->name,
                 offset + symbols.first_address - symbol->address);
    trace_symbols_close(&symbols);
    return symbol != NULL;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool replay_is_system_file(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib/", "/lib32/", "/lib64/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return !strstr(path, "/../");
    return false;
}

/* A stranger's trace must not choose which files are read, except those that every system has. */
static bool may_read(const struct replay_plan *plan, const char *path)
{
    return path[0] == '/' && (replay_is_system_file(path) || !plan->only_system_symbols);
}

/* A module without a build id is known by its name alone. */
static bool name_function(const struct replay_plan *plan, const struct trace_module *module,
                          const char *path, uint64_t offset, char *out, size_t bytes)
{
    if (!offset)
        return false;
    for (size_t i = 0; i < plan->symbol_count; i++) {
        const char *given = plan->symbols[i];
        if ((module->build_id_bytes || strcmp(name_of(given), name_of(path)) == 0) &&
            name_by(module, given, offset, out, bytes))
            return true;
    }
    return may_read(plan, path) && name_by(module, path, offset, out, bytes);
}

void replay_frame_name(const struct replay_plan *plan, uint64_t address, char *out, size_t bytes)
{
    const struct trace_module *module = find_module(plan->reader, address);
    const char *path = module ? trace_reader_string(plan->reader, module->path) : NULL;
    if (!module)
        snprintf(out, bytes, "0x%" PRIx64, address);
    else if (!path || !name_function(plan, module, path, address - module->base, out, bytes))
        snprintf(out, bytes, "%.60s+0x%" PRIx64, path ? name_of(path) : "?",
                 address - module->base);
}
