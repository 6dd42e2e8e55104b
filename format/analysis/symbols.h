/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions out of the symbol tables of ELF files: of a module as it lies on this machine,
 * or of the file with its debug information. Files are not trusted. */
#ifndef FORMAT_ANALYSIS_SYMBOLS_H
#define FORMAT_ANALYSIS_SYMBOLS_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_symbol {
    uint64_t address, size; /* as the file counts */
    const char *name;       /* in the mapped file */
};

struct trace_symbols {
    const uint8_t *data; /* the mapped file */
    size_t bytes;
    uint64_t first_address;       /* of what is loaded: where a module's base is */
    struct trace_symbol *symbols; /* by address */
    size_t count, capacity;
};

/* The functions of the file, or of the debug file with the same build id. HAL_NOT_FOUND: there is
 * no such file. HAL_INVALID: it has another build id, or is no ELF file of 64 bits. */
enum hal_status trace_symbols_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                   struct trace_symbols *out) HAL_CHECKED;
void trace_symbols_close(struct trace_symbols *symbols);

/* The function that holds the byte `offset` bytes behind the module's base; NULL: none. */
const struct trace_symbol *trace_symbols_find(const struct trace_symbols *symbols, uint64_t offset);

#endif
