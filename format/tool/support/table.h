/* SPDX-License-Identifier: Apache-2.0 */
/* A table of rows of one kind, indexed by a number of the trace. */
#ifndef FORMAT_TOOL_TABLE_H
#define FORMAT_TOOL_TABLE_H

#include "hal/base/hash.h"
#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct tool_table {
    size_t row_bytes; /* set by the caller; the rest zero is an empty table */
    struct hal_idmap ids;
    uint8_t *rows;
    size_t count, capacity;
};

static inline void tool_table_finish(struct tool_table *table)
{
    hal_idmap_finish(&table->ids);
    free(table->rows);
}

/* By index, in insertion order. Valid until a row is added. */
static inline void *tool_table_row(const struct tool_table *table, size_t place)
{
    return table->rows + place * table->row_bytes;
}

static inline size_t tool_table_place(const struct tool_table *table, const void *row)
{
    return (size_t)((const uint8_t *)row - table->rows) / table->row_bytes;
}

/* NULL: not found. Valid until a row is added. */
static inline void *tool_table_find(const struct tool_table *table, uint64_t id)
{
    uint32_t row;
    return hal_idmap_find(&table->ids, id, &row) ? tool_table_row(table, row) : NULL;
}

/* Finds the row of that number or adds one, zeroed. NULL: out of memory. */
static inline void *tool_table_add(struct tool_table *table, uint64_t id)
{
    uint32_t row;
    const size_t old = table->capacity;
    void *rows = table->rows;
    const bool grown = table->count < UINT32_MAX - 1 &&
                       hal_grow(&rows, &table->capacity, table->count + 1, table->row_bytes);
    table->rows = rows;
    if (grown && table->capacity > old)
        memset(table->rows + old * table->row_bytes, 0, (table->capacity - old) * table->row_bytes);
    if (!grown || !hal_idmap_add(&table->ids, id, (uint32_t)table->count, &row))
        return NULL;
    table->count += row == table->count;
    return tool_table_row(table, row);
}

/* The same for rows that begin with two uint64_t, which are the key. */
static inline void *tool_table_add_pair(struct tool_table *table, uint64_t first, uint64_t second)
{
    for (uint64_t id = hal_hash_add(first, second);; id++) {
        const size_t known = table->count;
        uint64_t *row = tool_table_add(table, id);
        if (row && table->count > known) {
            row[0] = first;
            row[1] = second;
        }
        if (!row || (row[0] == first && row[1] == second))
            return row;
    }
}

#endif
