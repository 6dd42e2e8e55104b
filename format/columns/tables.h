/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a trace by number: strings, stacks, modules, threads. Records are copied. */
#ifndef FORMAT_TABLES_H
#define FORMAT_TABLES_H

#include "format/base/arena.h"
#include "format/record.h"
#include "hal/base/status.h"

/* Records by number. */
struct trace_numbered {
    const struct trace_event **records;
    size_t capacity;
};

struct trace_tables {
    struct trace_arena arena;
    struct trace_numbered strings, stacks, threads;
    const struct trace_thread **thread_list; /* in record order */
    const struct trace_module **module_list;
    size_t thread_count, thread_capacity, module_count, module_capacity;
};

void trace_tables_init(struct trace_tables *tables);
void trace_tables_finish(struct trace_tables *tables);

/* Checks that `record` (valid by its layout) may be added: its number is within the limits and has
 * no conflicting definition. *out_is_new: it is not in the tables yet. HAL_CORRUPT. */
enum hal_status trace_tables_check(const struct trace_tables *tables,
                                   const struct trace_event *record, bool *out_is_new) HAL_CHECKED;

/* Copies a checked, new record. */
enum hal_status trace_tables_add(struct trace_tables *tables,
                                 const struct trace_event *record) HAL_CHECKED;

/* NULL: no such number. */
const struct trace_string *trace_tables_string(const struct trace_tables *tables, uint64_t id);
const struct trace_stack *trace_tables_stack(const struct trace_tables *tables, uint64_t id);
const struct trace_thread *trace_tables_thread(const struct trace_tables *tables, uint64_t id);

#endif
