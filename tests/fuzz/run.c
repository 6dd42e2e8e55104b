/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_TARGET FILE...: gives the target each file, then changed copies of them. Without libFuzzer,
 * for plain tests: HALTRACE_FUZZ_ROUNDS says how many copies of each (default 40),
 * HALTRACE_FUZZ_SEED which; both are printed. */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 24 };

static uint64_t state;

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t value = state >> 33 ^ state;
    return limit ? value % limit : 0;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* A few bytes become others, or a range moves, or the end is cut off. */
static size_t change(uint8_t *data, size_t bytes)
{
    static const uint8_t edges[] = {0, 1, 0x7F, 0x80, 0xFF};
    for (uint64_t i = 1 + below(6); i-- > 0 && bytes;) {
        uint8_t *at = data + below(bytes);
        const size_t left = bytes - (size_t)(at - data);
        switch (below(6)) {
        case 0: *at ^= (uint8_t)(1 << below(8)); break;
        case 1: *at = (uint8_t)below(256); break;
        case 2: memset(at, edges[below(5)], left < 8 ? left : 8); break;
        case 3: *at = (uint8_t)(*at + 1); break;
        case 4: memmove(at, data, below(left < 64 ? left : 64)); break;
        default: bytes -= below(8) ? 0 : below(left); break;
        }
    }
    return bytes;
}

static void give(const uint8_t *data, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1); /* so that reading behind the end is seen */
    fuzz_check(exact);
    memcpy(exact, data, bytes);
    (void)LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
}

int main(int argc, char **argv)
{
    const uint64_t rounds = number_of("HALTRACE_FUZZ_ROUNDS", 40);
    state = number_of("HALTRACE_FUZZ_SEED", 20261122);
    printf("%d files, rounds %" PRIu64 ", seed %" PRIu64 "\n", argc - 1, rounds, state);
    uint8_t *data = malloc(MOST_BYTES), *changed = malloc(MOST_BYTES);
    fuzz_check(data && changed && argc > 1);
    give(data, 0);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "r");
        fuzz_check(file);
        const size_t bytes = fread(data, 1, MOST_BYTES, file);
        fclose(file);
        fuzz_check(bytes > 0);
        give(data, bytes);
        for (uint64_t round = 0; round < rounds; round++) {
            memcpy(changed, data, bytes);
            give(changed, change(changed, bytes));
        }
    }
    free(data);
    free(changed);
    return 0;
}
