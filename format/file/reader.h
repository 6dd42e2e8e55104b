/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's private state: filled by open.c, used by reader.c. */
#ifndef FORMAT_READER_H
#define FORMAT_READER_H

#include "format/columns/tables.h"
#include "format/container/index.h"
#include "format/file/base.h"
#include "format/trace.h"

/* Decompressed frames that a reader keeps per kind: the maximum, which only small frames reach, the
 * minimum, and the size limit. */
enum { TRACE_CACHED_FRAMES = 64, TRACE_LEAST_CACHED = 4, TRACE_CACHED_BYTES = 64 << 20 };

/* A Chunk or Segments field: its frame and its index there. */
struct trace_place {
    uint32_t frame, piece;
};

struct trace_chunk_entry {
    uint32_t thread, event_count;
    size_t first_place, place_count; /* the chunk and its continuations, in reader->places */
    bool is_open;                    /* segments of its last seal are permanently missing */
};

/* A decompressed frame of data, with its chunk and segment fields, or of contents. */
struct trace_cached_frame {
    size_t frame;
    bool is_valid;
    uint64_t used_at;
    struct trace_bytes raw;
    struct trace_field *pieces;
    size_t piece_count, piece_capacity;
    uint64_t *starts; /* offset of each content in `raw` */
    size_t start_capacity;
};

struct trace_frame_failure {
    enum hal_status status; /* HAL_OK: none */
    const char *message;
};

/* Recently read frames of one kind. A frame holds many chunks and contents: it is read once, not
 * for each of them, even if it is damaged. */
struct trace_frame_cache {
    struct trace_cached_frame slots[TRACE_CACHED_FRAMES];
    struct trace_cached_frame *last; /* last one requested; NULL: none */
    uint64_t clock;
    struct trace_frame_failure *failures; /* by frame; NULL: none so far */
};

struct trace_reader {
    struct trace_input input;
    struct trace_directory directory;
    struct trace_tables tables;
    struct trace_arena kept, scratch;
    struct trace_header header;
    struct trace_health health;
    bool has_health, tells_submissions; /* notes say which submissions they cover */
    bool recoverable;                   /* a sidecar has the part that was cut off */
    enum trace_hold hold;
    bool keeps_cut; /* in a file that was cut off, returns the part of the last seal that exists,
                       and numbers without definition */
    struct trace_counts counts;
    struct trace_chunk_entry *chunks;
    size_t chunk_count, chunk_capacity;
    struct trace_place *places;
    size_t place_count, place_capacity;
    struct trace_frame_cache data_cache, blobs_cache;
    uint64_t *frame_last_content; /* number of the last content of each contents frame */
    uint8_t **frame_digests; /* computed digests, for each contents frame stored without them */
    struct trace_bytes events, segments; /* of the chunk being decoded */
    struct trace_base bases[TRACE_MAX_BASES];
    size_t base_count;
};

/* Opens the first `bytes` bytes of a file, with `keeps_cut`. As trace_reader_open. */
enum hal_status trace_reader_open_part(const char *path, uint64_t bytes,
                                       struct trace_reader **out_reader) HAL_CHECKED;

/* Loads directory, header, tables and end from reader->input, and lists the chunks. */
enum hal_status trace_reader_load(struct trace_reader *reader) HAL_CHECKED;

/* Finds the slot for that frame. If *out_slot is not valid, fill it and call trace_cache_filled.
 * Returns the earlier failure if reading the frame has failed before. */
enum hal_status trace_cache_find(struct trace_frame_cache *cache, size_t frame,
                                 struct trace_cached_frame **out_slot) HAL_CHECKED;
/* Returns `status`: HAL_OK makes the slot valid; damage to the file is remembered for the frame.
 * `count` is the number of frames. */
enum hal_status trace_cache_filled(struct trace_reader *reader, struct trace_frame_cache *cache,
                                   size_t count, struct trace_cached_frame *slot,
                                   enum hal_status status) HAL_CHECKED;

/* Prefixes a failure's message with the file's name. */
enum hal_status trace_reader_with_path(const struct trace_reader *reader,
                                       enum hal_status status) HAL_CHECKED;

/* Of a trace_resolver: whether the number exists. In a file that was cut off the definition may be
 * missing: the number becomes 0. */
bool trace_reader_resolve(void *user, enum trace_reference reference, uint64_t *number);

/* Whether events may be missing. After the end of a capture only index data follows: a file with
 * that end has all events. */
static inline bool trace_reader_is_cut(const struct trace_reader *reader)
{
    return reader->directory.truncated[0] && !reader->has_health;
}

#endif
