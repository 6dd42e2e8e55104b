/* SPDX-License-Identifier: Apache-2.0 */
/* A program of any bytes, whose symbols are asked for. */
#include "format/analysis/symbols.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint8_t another_build[20] = {1};
    struct trace_symbols symbols;
    const char *path = fuzz_file(data, bytes);
    /* Its notes are looked at before it is refused. */
    fuzz_check(trace_symbols_open(path, another_build, sizeof another_build, &symbols) != HAL_OK);
    if (trace_symbols_open(path, NULL, 0, &symbols) != HAL_OK)
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
