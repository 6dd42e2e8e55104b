/* SPDX-License-Identifier: Apache-2.0 */
/* Writes contents into the file: equal bytes once, small contents in batches. The file stores their
 * SHA-256, or (`without_sha256`) only that of contents whose bytes are in another trace. */
#ifndef FORMAT_CONTENTS_H
#define FORMAT_CONTENTS_H

#include "format/container/index.h"
#include "format/file/base.h"
#include "format/file/digester.h"

struct trace_content_entry;

struct trace_contents {
    struct trace_identity identity;
    struct trace_content_entry *entries; /* hash table by identity; capacity is a power of two */
    size_t capacity, count;
    struct trace_bytes batch; /* contents not yet in the file */
    uint64_t *batch_sizes;    /* each BATCH_COUNT long */
    uint8_t (*batch_sha256)[32];
    bool *batch_elsewhere;
    bool batch_refers; /* at least one refers to another trace */
    size_t batch_count;
    struct trace_base base; /* contents that it has are referred to */
    struct trace_digester *digester;
};

enum hal_status trace_contents_init(struct trace_contents *contents,
                                    bool without_sha256) HAL_CHECKED;
void trace_contents_finish(struct trace_contents *contents);

/* Returns the number of these bytes, which are written now or by a later flush. */
enum hal_status trace_contents_add(struct trace_contents *contents,
                                   struct trace_directory *directory, struct trace_output *output,
                                   const void *data, size_t bytes,
                                   uint64_t *out_number) HAL_CHECKED;

/* The same for a content whose bytes are in another trace. */
enum hal_status trace_contents_refer(struct trace_contents *contents,
                                     struct trace_directory *directory, struct trace_output *output,
                                     const uint8_t sha256[32], uint64_t bytes,
                                     uint64_t *out_number) HAL_CHECKED;

/* Writes the batch. */
enum hal_status trace_contents_flush(struct trace_contents *contents,
                                     struct trace_directory *directory,
                                     struct trace_output *output) HAL_CHECKED;

#endif
