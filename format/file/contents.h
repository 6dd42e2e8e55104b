/* SPDX-License-Identifier: Apache-2.0 */
/* Contents on their way into the file: the same bytes once, small ones in batches. The file gets
 * their SHA-256, or (`without_sha256`) only of those whose bytes lie elsewhere. */
#ifndef FORMAT_CONTENTS_H
#define FORMAT_CONTENTS_H

#include "format/container/index.h"
#include "format/file/base.h"
#include "format/file/digester.h"

struct trace_content_entry;

struct trace_contents {
    struct trace_identity identity;
    struct trace_content_entry *entries; /* hash table by identity, a power of two large */
    size_t capacity, count;
    struct trace_bytes batch; /* contents that are not in the file yet */
    uint64_t *batch_sizes;    /* each BATCH_COUNT long */
    uint8_t (*batch_sha256)[32];
    bool *batch_elsewhere;
    bool batch_refers; /* to another trace, at least once */
    size_t batch_count;
    struct trace_base base; /* what it has is referred to */
    struct trace_digester *digester;
};

enum hal_status trace_contents_init(struct trace_contents *contents,
                                    bool without_sha256) HAL_CHECKED;
void trace_contents_finish(struct trace_contents *contents);

/* Returns the number of these bytes, which may be written now or by a later flush. */
enum hal_status trace_contents_add(struct trace_contents *contents,
                                   struct trace_directory *directory, struct trace_output *output,
                                   const void *data, size_t bytes,
                                   uint64_t *out_number) HAL_CHECKED;

/* The same without the bytes, which lie in another trace. */
enum hal_status trace_contents_refer(struct trace_contents *contents,
                                     struct trace_directory *directory, struct trace_output *output,
                                     const uint8_t sha256[32], uint64_t bytes,
                                     uint64_t *out_number) HAL_CHECKED;

/* Writes the batch. */
enum hal_status trace_contents_flush(struct trace_contents *contents,
                                     struct trace_directory *directory,
                                     struct trace_output *output) HAL_CHECKED;

#endif
