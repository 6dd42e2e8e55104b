/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a file: its frames and their notes. Written at the end of the file as an index
 * and a seek table; if these are missing, rebuilt by walking the file. */
#ifndef FORMAT_INDEX_H
#define FORMAT_INDEX_H

#include "format/container/frames.h"

/* A frame of contents. */
struct trace_blobs_frame {
    uint64_t offset, bytes;
    const Haltrace__Blobs *blobs;
};

struct trace_data_frame {
    const Haltrace__Note *note;
    uint64_t note_bytes; /* size of the note's frame */
};

struct trace_directory {
    struct trace_arena arena; /* holds the notes and blobs */
    struct trace_data_frame *data;
    struct trace_blobs_frame *blobs;
    size_t data_count, data_capacity, blobs_count, blobs_capacity;
    uint64_t content_count;
    char truncated[256]; /* what is missing; empty: nothing */
    bool has_index;
    uint64_t end; /* end of the frames, in a file that was cut off */
};

void trace_directory_init(struct trace_directory *directory);
void trace_directory_finish(struct trace_directory *directory);

/* An initialised note or blobs in the directory's arena. NULL: out of memory. */
Haltrace__Note *trace_directory_new_note(struct trace_directory *directory);
/* Whether another trace holds the content's bytes. */
static inline bool trace_blob_is_elsewhere(const Haltrace__Blobs *blobs, size_t index)
{
    return blobs->n_elsewhere && blobs->elsewhere[index];
}

/* The SHA-256 of the content; NULL: not stored. */
static inline const uint8_t *trace_blob_sha256(const Haltrace__Blobs *blobs, size_t index)
{
    return blobs->without_sha256 ? NULL : blobs->sha256.data + 32 * index;
}

Haltrace__Blobs *trace_directory_new_blobs(struct trace_directory *directory, size_t count,
                                           bool with_sha256);

/* Add a frame, in file order. HAL_NO_MEMORY; HAL_CORRUPT: impossible values. */
enum hal_status trace_directory_add_data(struct trace_directory *directory,
                                         const Haltrace__Note *note,
                                         uint64_t note_bytes) HAL_CHECKED;
enum hal_status trace_directory_add_blobs(struct trace_directory *directory,
                                          const Haltrace__Blobs *blobs, uint64_t offset,
                                          uint64_t bytes) HAL_CHECKED;

enum hal_status trace_directory_write(const struct trace_directory *directory,
                                      struct trace_output *output) HAL_CHECKED;

/* Whether the file ends like a complete one. Reads only its end. */
bool trace_has_seek_table(const char *path);

/* Fills an initialised directory. HAL_CORRUPT: not a trace, or damaged. HAL_VERSION. */
enum hal_status trace_directory_load(struct trace_directory *directory,
                                     struct trace_input *input) HAL_CHECKED;

#endif
