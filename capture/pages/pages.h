/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which pages of this process's memory were written through their mapping since the last
 * check: userfaultfd's asynchronous write protection, read by PAGEMAP_SCAN (Linux 6.7 and later,
 * unprivileged). The system tracks writes by instructions and by system calls without blocking.
 * Writes through other mappings of the memory, such as the device's, do not count. */
#ifndef CAPTURE_PAGES_H
#define CAPTURE_PAGES_H

#include "hal/base/descriptor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_pages {
    struct hal_descriptor fault, pagemap; /* the program may close them */
    bool works;
    size_t page_bytes; /* 0: not opened */
};

struct capture_page_run {
    uint8_t *begin, *end;
};

/* Tests the mechanism; *out_pages says whether it works here. */
void capture_pages_open(struct capture_pages *out_pages);
void capture_pages_close(struct capture_pages *pages);

/* Begins to watch whole pages, all initially unwritten. False: not possible. */
bool capture_pages_watch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end);
void capture_pages_unwatch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end);

/* Returns up to `limit` runs of written pages in [*cursor, end) and marks them unwritten. Advances
 * *cursor; the scan is complete when it reaches the end. False: a system error. */
bool capture_pages_collect(const struct capture_pages *pages, uint8_t **cursor, uint8_t *end,
                           struct capture_page_run *runs, size_t limit, size_t *out_count);

/* Whether any page of the range was written since the last check, without marking it unwritten.
 * Also true on a system error. */
bool capture_pages_any(const struct capture_pages *pages, const uint8_t *data, uint64_t bytes);

#endif
