/* SPDX-License-Identifier: Apache-2.0 */
/* Another trace as a store of contents, looked up by digest. */
#ifndef FORMAT_BASE_H
#define FORMAT_BASE_H

#include "format/trace.h"

struct trace_base_entry;

/* All zero: none. */
struct trace_base {
    struct trace_reader *reader;
    struct trace_base_entry *entries; /* contents that the file itself holds, sorted by size */
    size_t count;
};

/* Fails like trace_reader_open. */
enum hal_status trace_base_open(const char *path, struct trace_base *out_base) HAL_CHECKED;
void trace_base_close(struct trace_base *base);

/* Whether it holds a content of that size. */
bool trace_base_has_size(const struct trace_base *base, uint64_t bytes);

/* The number in base->reader of the content with this digest and size; 0: not found. */
uint64_t trace_base_find(const struct trace_base *base, const uint8_t sha256[32], uint64_t bytes);

/* The number of a damaged content of that size, which may or may not be the one wanted; 0: none. */
uint64_t trace_base_find_damaged(const struct trace_base *base, uint64_t bytes);

#endif
