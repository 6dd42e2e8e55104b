/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace symbolize: the call stacks of a trace with the names of functions. */
#include "format/analysis/symbols.h"
#include "format/tool/support/tool.h"
#include "hal/base/text.h"

#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
    const struct trace_module *record;
    struct trace_symbols symbols;
    bool is_open;
};

struct symbolize {
    struct trace_reader *reader;
    struct module *modules;
    size_t module_count;
    struct trace_text text;
    uint64_t frames, named;
};

/* ---- Modules ---- */

static enum hal_status open_modules(struct symbolize *s)
{
    s->module_count = trace_reader_module_count(s->reader);
    s->modules = hal_alloc(s->module_count, sizeof *s->modules);
    if (!s->modules)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu modules", s->module_count);
    for (size_t i = 0; i < s->module_count; i++) {
        struct module *module = &s->modules[i];
        module->record = trace_reader_module(s->reader, i);
        const char *path = trace_reader_string(s->reader, module->record->path);
        /* Modules that are not files, such as the system's own page, have no names. */
        if (!path || path[0] != '/')
            continue;
        const enum hal_status status = trace_symbols_open(
            path, module->record->build_id, module->record->build_id_bytes, &module->symbols);
        module->is_open = status == HAL_OK;
        if (status == HAL_NO_MEMORY)
            return status;
        if (status != HAL_OK)
            tool_error("%s", hal_message());
    }
    return HAL_OK;
}

static const struct module *module_of(const struct symbolize *s, uint64_t address)
{
    for (size_t i = 0; i < s->module_count; i++) {
        const struct trace_module *record = s->modules[i].record;
        if (address >= record->base && address - record->base < record->size)
            return &s->modules[i];
    }
    return NULL;
}

/* "function+0x12", "libx.so+0x1234" or "0x7f0012345678". A return address follows its call. */
static bool name_frame(const struct symbolize *s, uint64_t address, struct trace_text *text)
{
    const struct module *module = module_of(s, address);
    if (!module) {
        trace_text_printf(text, "%#" PRIx64, address);
        return false;
    }
    const uint64_t offset = address - module->record->base;
    const struct trace_symbol *symbol =
        module->is_open && offset ? trace_symbols_find(&module->symbols, offset - 1) : NULL;
    if (symbol) {
        trace_text_label(text, symbol->name, strlen(symbol->name));
        trace_text_printf(text, "+%#" PRIx64,
                          offset + module->symbols.first_address - symbol->address);
        return true;
    }
    const char *path = trace_reader_string(s->reader, module->record->path);
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path ? path : "?";
    trace_text_label(text, name, strlen(name));
    trace_text_printf(text, "+%#" PRIx64, offset);
    return false;
}

/* ---- Printing ---- */

struct uses {
    uint64_t *counts; /* by stack number */
    size_t capacity;
};

static enum hal_status count_use(struct uses *uses, uint32_t stack)
{
    const size_t old = uses->capacity;
    if (!stack)
        return HAL_OK;
    if (!HAL_GROW(uses->counts, &uses->capacity, (size_t)stack + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %u stacks", stack);
    if (uses->capacity > old)
        memset(uses->counts + old, 0, (uses->capacity - old) * sizeof *uses->counts);
    uses->counts[stack]++;
    return HAL_OK;
}

static enum hal_status count_uses(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    const struct trace_command_stacks *stacks = (const void *)event;
    (void)segments;
    for (uint32_t i = 0; event->kind == TRACE_COMMAND_STACKS && i < stacks->stack_count; i++)
        HAL_TRY(count_use(user, stacks->stacks[i]));
    return count_use(user, event->stack);
}

static enum hal_status print_stacks(struct symbolize *s)
{
    struct uses uses = {0};
    struct tool_progress progress;
    tool_progress_begin(&progress, "reading", trace_reader_counts(s->reader)->events);
    enum hal_status status = tool_each(s->reader, &progress, count_uses, &uses);
    tool_progress_end(&progress);
    for (uint32_t id = 1; status == HAL_OK && id < uses.capacity; id++) {
        const struct trace_stack *stack =
            uses.counts[id] ? trace_reader_stack(s->reader, id) : NULL;
        if (!stack)
            continue;
        trace_text_printf(&s->text, "stack %u, used %s\n", id,
                          hal_count(uses.counts[id], "time", "times").text);
        for (uint32_t i = 0; i < stack->frame_count; i++) {
            trace_text_printf(&s->text, "    ");
            s->named += name_frame(s, stack->frames[i], &s->text);
            s->frames++;
            trace_text_append(&s->text, "\n", 1);
        }
        status = tool_write(&s->text, false);
    }
    free(uses.counts);
    HAL_TRY(status);
    trace_text_printf(&s->text, "%" PRIu64 " of %s have names\n", s->named,
                      hal_count(s->frames, "frame", "frames").text);
    return tool_write(&s->text, true);
}

static int symbolize(const char *path)
{
    struct symbolize s = {0};
    enum hal_status status = trace_reader_open(path, &s.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    status = open_modules(&s);
    if (status == HAL_OK)
        status = print_stacks(&s);
    const int code = tool_fail(status);
    for (size_t i = 0; s.modules && i < s.module_count; i++)
        trace_symbols_close(&s.modules[i].symbols);
    free(s.modules);
    trace_text_finish(&s.text);
    trace_reader_close(s.reader);
    return code;
}

static int run(char **argv)
{
    struct tool_words words;
    if (!tool_parse(&trace_symbolize, argv, NULL, &words))
        return words.exit_status;
    const char *path = tool_one_file(&trace_symbolize, &words);
    return path ? symbolize(path) : TOOL_USAGE;
}

const struct tool_command trace_symbolize = {
    .name = "symbolize",
    .summary = "print call stacks with function names",
    .usage =
        "usage: hal-trace symbolize FILE\n"
        "\n"
        "Prints the call stacks of the trace, innermost call first, with function names from the\n"
        "symbol tables of the captured program's modules on this machine, or from their debug "
        "files\n"
        "below /usr/lib/debug. A module of another build than the captured one is reported, and\n"
        "shown as an offset.\n",
    .run = run,
};
