/* SPDX-License-Identifier: Apache-2.0 */
/* For systems that do not report written pages: contents are compared instead. */
#include "capture/pages/pages.h"

void capture_pages_open(struct capture_pages *out_pages)
{
    *out_pages = (struct capture_pages){.works = false};
}

void capture_pages_close(struct capture_pages *pages)
{
    (void)pages;
}

bool capture_pages_watch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end)
{
    (void)pages, (void)begin, (void)end;
    return false;
}

void capture_pages_unwatch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end)
{
    (void)pages, (void)begin, (void)end;
}

bool capture_pages_collect(const struct capture_pages *pages, uint8_t **cursor, uint8_t *end,
                           struct capture_page_run *runs, size_t limit, size_t *out_count)
{
    (void)pages, (void)cursor, (void)end, (void)runs, (void)limit;
    *out_count = 0;
    return false;
}

bool capture_pages_any(const struct capture_pages *pages, const uint8_t *data, uint64_t bytes)
{
    (void)pages, (void)data, (void)bytes;
    return true;
}
