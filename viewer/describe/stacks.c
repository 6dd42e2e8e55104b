/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/describe/stacks.h"

#include "format/analysis/symbols.h"
#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
    struct trace_symbols symbols;
    bool is_tried, is_open;
};

struct view_stacks {
    struct module *modules; /* by the reader's index */
    size_t count;
};

enum hal_status view_stacks_create(const struct view_model *model, struct view_stacks **out_stacks)
{
    struct view_stacks *stacks = hal_alloc(1, sizeof *stacks);
    *out_stacks = NULL;
    if (stacks) {
        stacks->count = trace_reader_module_count(model->reader);
        stacks->modules = hal_alloc(stacks->count, sizeof *stacks->modules);
    }
    if (!stacks || !stacks->modules) {
        free(stacks);
        return hal_fail(HAL_NO_MEMORY, "no memory for the modules' names");
    }
    *out_stacks = stacks;
    return HAL_OK;
}

void view_stacks_destroy(struct view_stacks *stacks)
{
    if (!stacks)
        return;
    for (size_t i = 0; i < stacks->count; i++) {
        if (stacks->modules[i].is_open)
            trace_symbols_close(&stacks->modules[i].symbols);
    }
    free(stacks->modules);
    free(stacks);
}

/* NULL: it has no symbols here. Only files are opened: other names are the system's own. */
static const struct trace_symbols *symbols_of(struct view_stacks *stacks, size_t index,
                                              const struct trace_module *record, const char *path)
{
    struct module *module = &stacks->modules[index];
    if (!module->is_tried && *path == '/')
        module->is_open = trace_symbols_open(path, record->build_id, record->build_id_bytes,
                                             &module->symbols) == HAL_OK;
    module->is_tried = true;
    return module->is_open ? &module->symbols : NULL;
}

void view_stacks_name(struct view_stacks *stacks, const struct view_model *model, uint64_t address,
                      char *out, size_t bytes)
{
    for (size_t i = 0; i < trace_reader_module_count(model->reader); i++) {
        const struct trace_module *record = trace_reader_module(model->reader, i);
        if (address < record->base || address - record->base >= record->size)
            continue;
        const char *path = view_model_string(model, record->path), *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        const uint64_t offset = address - record->base;
        const struct trace_symbols *symbols =
            stacks && i < stacks->count ? symbols_of(stacks, i, record, path) : NULL;
        const struct trace_symbol *symbol =
            symbols && offset ? trace_symbols_find(symbols, offset - 1) : NULL;
        if (symbol)
            snprintf(out, bytes, "%s+0x%" PRIx64 "  %s", symbol->name,
                     offset + symbols->first_address - symbol->address, name);
        else
            snprintf(out, bytes, "%s+0x%" PRIx64, name, offset);
        return;
    }
    snprintf(out, bytes, "0x%" PRIx64, address);
}
