/* SPDX-License-Identifier: Apache-2.0 */
/* Function names from the symbol tables of ELF files: of a module on this machine, or of its
 * separate debug information. Files are not trusted. */
#ifndef FORMAT_ANALYSIS_SYMBOLS_H
#define FORMAT_ANALYSIS_SYMBOLS_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_symbol {
    uint64_t address, size; /* in the file's address space */
    const char *name;       /* in the mapped file */
};

struct trace_symbols {
    const uint8_t *data; /* the mapped file */
    size_t bytes;
    uint64_t first_address;       /* of the loaded segments: corresponds to a module's base */
    struct trace_symbol *symbols; /* sorted by address */
    size_t count, capacity;
};

/* Loads the functions of the file, or of the debug file with the same build id. HAL_NOT_FOUND: no
 * such file. HAL_INVALID: another build id, or not a 64-bit ELF file. */
enum hal_status trace_symbols_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                   struct trace_symbols *out) HAL_CHECKED;
void trace_symbols_close(struct trace_symbols *symbols);

/* The function that contains the byte at `offset` from the module's base; NULL: none. */
const struct trace_symbol *trace_symbols_find(const struct trace_symbols *symbols, uint64_t offset);

#endif
