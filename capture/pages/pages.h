/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of this process's memory were written through their mapping since the last look:
 * asynchronous write protection of userfaultfd, read by PAGEMAP_SCAN (Linux 6.7 and later, no
 * privileges needed). The system remembers the writes of instructions and of its own calls alike
 * and nobody waits. Writes through other mappings of the same memory do not count, which is how a
 * device's writes are told from the host's. */
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

/* Tries the mechanism out; *out_pages says whether it works here. */
void capture_pages_open(struct capture_pages *out_pages);
void capture_pages_close(struct capture_pages *pages);

/* Begins to watch whole pages; nothing in them counts as written yet. False: the system does not
 * watch this memory. */
bool capture_pages_watch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end);
void capture_pages_unwatch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end);

/* Up to `limit` runs of written pages in [*cursor, end), which count as not written from then on.
 * Moves *cursor; nothing is left when it has reached the end. False: the system failed. */
bool capture_pages_collect(const struct capture_pages *pages, uint8_t **cursor, uint8_t *end,
                           struct capture_page_run *runs, size_t limit, size_t *out_count);

/* Whether any page of the range was written since the last look, which goes on counting. True, too,
 * when the system fails. */
bool capture_pages_any(const struct capture_pages *pages, const uint8_t *data, uint64_t bytes);

#endif
