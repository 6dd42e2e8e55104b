/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the numbers in records that are enumerations of the HAL, or bits of them. */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include "format/columns/layout.h"

struct trace_number_name {
    uint32_t number;
    const char *name;
};

struct trace_names {
    const char *column; /* NULL layout: in all records that have it */
    const char *record; /* of the layout that has it; NULL: all */
    bool are_bits;
    uint32_t count;
    const struct trace_number_name *names;
};

/* What the column's numbers are called; NULL: they are just numbers. */
const struct trace_names *trace_column_names(const char *record, const struct trace_column *column);

/* "device_local|host_visible", "alloca"; what has no name is a number. Returns `out`. */
const char *trace_number_text(const struct trace_names *names, uint64_t number, char *out,
                              size_t bytes);

#endif
