/* SPDX-License-Identifier: Apache-2.0 */
/* Another trace as a store of contents: found by their digest. */
#ifndef FORMAT_BASE_H
#define FORMAT_BASE_H

#include "format/trace.h"

struct trace_base_entry;

/* All zero: none. */
struct trace_base {
    struct trace_reader *reader;
    struct trace_base_entry *entries; /* of contents that the file itself holds, by size */
    size_t count;
};

/* As trace_reader_open. */
enum hal_status trace_base_open(const char *path, struct trace_base *out_base) HAL_CHECKED;
void trace_base_close(struct trace_base *base);

/* Whether it holds any content of so many bytes. */
bool trace_base_has_size(const struct trace_base *base, uint64_t bytes);

/* The number of the content with this digest and size in base->reader; 0: it has none. */
uint64_t trace_base_find(const struct trace_base *base, const uint8_t sha256[32], uint64_t bytes);

/* The number of one of so many bytes that is damaged, so that nobody can tell whether it is the one
 * that is wanted; 0: it has none. */
uint64_t trace_base_find_damaged(const struct trace_base *base, uint64_t bytes);

#endif
