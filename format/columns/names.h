/* SPDX-License-Identifier: Apache-2.0 */
/* Names for numbers in records that are HAL enumerations or bit masks. */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include "format/columns/layout.h"

struct trace_number_name {
    uint32_t number;
    const char *name;
};

struct trace_names {
    const char *column; /* in every record that has such a column, unless `record` is set */
    const char *record; /* name of the only layout that it applies to; NULL: all */
    bool are_bits;
    uint32_t count;
    const struct trace_number_name *names;
};

/* The names of the column's numbers; NULL: plain numbers. */
const struct trace_names *trace_column_names(const char *record, const struct trace_column *column);

/* "device_local|host_visible", "alloca", or a number if it has no name. Returns `out`. */
const char *trace_number_text(const struct trace_names *names, uint64_t number, char *out,
                              size_t bytes);

#endif
