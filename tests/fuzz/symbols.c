/* SPDX-License-Identifier: Apache-2.0 */
/* A program of any bytes, whose symbols are asked for. */
#include "format/analysis/symbols.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct trace_symbols symbols;
    if (trace_symbols_open(fuzz_file(data, bytes), NULL, 0, &symbols) != HAL_OK)
        return 0;
    uint64_t offset = 1;
    for (unsigned i = 0; i < 64; i++) {
        const struct trace_symbol *symbol = trace_symbols_find(&symbols, offset);
        fuzz_check(!symbol || strlen(symbol->name) <= bytes);
        offset += offset >> 1 | 1;
    }
    trace_symbols_close(&symbols);
    return 0;
}
