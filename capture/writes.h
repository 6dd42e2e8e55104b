/* SPDX-License-Identifier: Apache-2.0 */
/* What a command buffer may write, as far as the host can see it without asking: per buffer of
 * coherent memory, one range that covers all of it. Bindings count as written, since nothing tells
 * what a kernel only reads. */
#ifndef CAPTURE_WRITES_H
#define CAPTURE_WRITES_H

#include "hal/driver.h"

struct capture_write_range {
    uint64_t buffer; /* id */
    uint64_t begin, end;
};

struct capture_writes {
    _Atomic uint32_t references;
    uint32_t count;
    struct capture_write_range ranges[];
};

/* What recording the list takes, found on the same walk. */
struct capture_survey {
    uint64_t record_bytes;  /* of all segments' records */
    uint32_t largest_bytes; /* no record is larger; never 0 */
    uint32_t longest_list;  /* of buffer barriers or events */
    bool has_labels;
};

/* Walks the sealed list; one reference is the caller's. NULL: it writes nothing of that kind, or
 * (*out_failed) memory is out. `out_survey` is filled in any case. */
struct capture_writes *capture_writes_create(const struct hal_command_buffer *commands,
                                             struct capture_survey *out_survey, bool *out_failed);

/* Both accept NULL. */
/* One range; NULL: nobody could see it, or memory is out. */
struct capture_writes *capture_writes_of(const struct hal_buffer *buffer, uint64_t offset,
                                         uint64_t bytes);

struct capture_writes *capture_writes_retain(struct capture_writes *writes);
void capture_writes_release(struct capture_writes *writes);

#endif
