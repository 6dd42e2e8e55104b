/* SPDX-License-Identifier: Apache-2.0 */
/* A sidecar of any bytes: opened, its rings and staged bytes read. Sidecars are large and nearly
 * all zeros, so the input is: how many pages there are, then the number of a page and its bytes,
 * for each that is not zero; numbers of four bytes, pages of 4096. */
#include "format/file/orphan.h"
#include "hal/base/mem.h"
#include "tests/fuzz/fuzz.h"

enum { PAGE = 4096, MOST_PAGES = 2048 };

static uint32_t number_at(const uint8_t *data, size_t bytes)
{
    uint32_t number = 0;
    memcpy(&number, data, bytes < sizeof number ? bytes : sizeof number);
    return number;
}

static const char *unpack(const uint8_t *data, size_t bytes)
{
    const uint32_t pages = 1 + (number_at(data, bytes) + MOST_PAGES - 1) % MOST_PAGES;
    uint8_t *file = hal_alloc(pages, PAGE);
    fuzz_check(file);
    for (size_t at = 4; at + 4 < bytes; at += 4 + PAGE) {
        const size_t left = bytes - at - 4;
        memcpy(file + (size_t)(number_at(data + at, 4) % pages) * PAGE, data + at + 4,
               left < PAGE ? left : PAGE);
    }
    const char *path = fuzz_file(file, (size_t)pages * PAGE);
    free(file);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct trace_orphan orphan = {0};
    const char *path = unpack(data, bytes);
    if (trace_orphan_open(path, true, &orphan) == HAL_OK) {
        for (size_t i = 0; i < orphan.ring_count; i++) {
            uint8_t *records = NULL, staged[64];
            if (trace_orphan_records(&orphan, &orphan.rings[i], &records) == HAL_OK)
                free(records);
            (void)!trace_orphan_content(&orphan, orphan.rings[i].position, sizeof staged, staged);
        }
        trace_orphan_close(&orphan);
    }
    return 0;
}
