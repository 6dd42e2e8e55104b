/* SPDX-License-Identifier: Apache-2.0 */
/* The container: files of zstd frames. Data frames hold the message Trace; our own skippable frames
 * hold notes about data frames, contents, and the index. Only this file knows zstd and the layout
 * and checks of a frame's head. */
#ifndef FORMAT_FRAMES_H
#define FORMAT_FRAMES_H

#include "format/base/arena.h"
#include "format/base/destination.h"
#include "format/columns/columns.h"
#include "format/trace.pb-c.h"
#include "hal/base/status.h"

enum trace_frame_kind {
    TRACE_FRAME_NOTE = 1,  /* meta: Note */
    TRACE_FRAME_BLOBS = 2, /* meta: Blobs; data: the contents */
    TRACE_FRAME_INDEX = 3, /* data: Index */
};

/* The start of each of our skippable frames; meta and data follow. Checksums are XXH3-64. */
struct trace_frame_head {
    uint32_t magic;
    uint32_t payload_bytes; /* after this member */
    uint8_t kind;           /* enum trace_frame_kind */
    uint8_t is_compressed;  /* the data is a zstd frame */
    uint16_t reserved;
    uint32_t meta_bytes;
    uint32_t raw_bytes; /* size of the decompressed data */
    uint32_t reserved2;
    uint64_t data_checksum; /* of the data as stored */
    uint64_t head_checksum; /* of meta, seeded with the checksum of the bytes above */
};

#define TRACE_FRAME_MAGIC 0x184D2A57u
#define TRACE_ZSTD_MAGIC  0xFD2FB528u

uint64_t trace_checksum(const void *data, size_t bytes);

/* ---- Writing ------------------------------------------------------------------------------ */

/* A file written sequentially. The first error is sticky: later writes return it. */
struct trace_output {
    struct trace_destination to;
    uint64_t offset; /* bytes written, including those in the buffer */
    uint8_t *buffer;
    size_t buffered;
    struct ZSTD_CCtx_s *compressor;
    int level;
    bool low_latency;          /* stores data uncompressed unless it shrinks to half */
    struct trace_bytes stored; /* the frame being compressed */
    enum hal_status status;
    char message[HAL_MESSAGE_BYTES];
};

/* Opens the file under a temporary name until `to` is published. HAL_EXISTS, HAL_IO, HAL_NO_MEMORY;
 * after a failure there is nothing to close. */
enum hal_status trace_output_open(struct trace_output *output, const char *path, bool force,
                                  int level) HAL_CHECKED;
/* The same without any name until publishing: whatever happens before, nothing remains. */
enum hal_status trace_output_open_nameless(struct trace_output *output, const char *path,
                                           bool force, int level) HAL_CHECKED;
enum hal_status trace_output_write(struct trace_output *output, const void *data,
                                   size_t bytes) HAL_CHECKED;
enum hal_status trace_output_flush(struct trace_output *output) HAL_CHECKED;
/* Flushes, closes and frees; removes the file unless it is published. Returns the first error. */
enum hal_status trace_output_close(struct trace_output *output);

/* Makes `status` (with the calling thread's message) the output's error unless it has one. */
enum hal_status trace_output_latch(struct trace_output *output, enum hal_status status);

/* Compresses and writes a data frame and its note, filling in the note's offset, sizes and
 * checksum. `out_note_bytes` receives the size of the note's frame. */
enum hal_status trace_output_data_frame(struct trace_output *output, const void *raw, size_t bytes,
                                        Haltrace__Note *note, uint64_t *out_note_bytes) HAL_CHECKED;

/* Writes one of our frames. `meta` may be NULL. Data is compressed if that saves space. */
enum hal_status trace_output_own_frame(struct trace_output *output, enum trace_frame_kind kind,
                                       const ProtobufCMessage *meta, const void *data, size_t bytes,
                                       uint64_t *out_bytes) HAL_CHECKED;

/* The same for data whose trace_checksum may be known; `checksum` NULL: unknown. */
enum hal_status trace_output_known_frame(struct trace_output *output, enum trace_frame_kind kind,
                                         const ProtobufCMessage *meta, const void *data,
                                         size_t bytes, const uint64_t *checksum) HAL_CHECKED;

/* ---- Reading ------------------------------------------------------------------------------ */

struct trace_input {
    int descriptor;
    char *path;
    uint64_t bytes;
    struct ZSTD_DCtx_s *decompressor;
    struct trace_bytes stored; /* the frame being read */
    uint64_t work_bytes;       /* bytes read and decompressed so far: the cost of reading */
};

enum hal_status trace_input_open(struct trace_input *input, const char *path) HAL_CHECKED;
void trace_input_close(struct trace_input *input);

/* Reads all of [offset, offset + bytes) or fails. */
enum hal_status trace_input_read(struct trace_input *input, uint64_t offset, void *out,
                                 size_t bytes) HAL_CHECKED;

/* Reads and checks the head and the meta (into the arena) of our frame within [offset, limit). */
enum hal_status trace_input_head(struct trace_input *input, uint64_t offset, uint64_t limit,
                                 struct trace_frame_head *out_head, struct trace_arena *arena,
                                 uint8_t **out_meta) HAL_CHECKED;

static inline uint64_t trace_frame_bytes(const struct trace_frame_head *head)
{
    return 8 + (uint64_t)head->payload_bytes;
}

/* Check the data of one of our frames; the second decompresses it into head->raw_bytes of `out`. */
enum hal_status trace_input_check_data(struct trace_input *input, uint64_t offset,
                                       const struct trace_frame_head *head) HAL_CHECKED;
enum hal_status trace_input_own_data(struct trace_input *input, uint64_t offset,
                                     const struct trace_frame_head *head, void *out) HAL_CHECKED;

/* Reads, checks and decompresses a data frame, and checks its note's bytes too. */
enum hal_status trace_input_data_frame(struct trace_input *input, const Haltrace__Note *note,
                                       uint64_t note_bytes, struct trace_bytes *raw) HAL_CHECKED;

/* Size of the zstd frame at `offset`; 0: it extends beyond the end of the file. */
enum hal_status trace_input_frame_size(struct trace_input *input, uint64_t offset,
                                       uint64_t *out_bytes) HAL_CHECKED;

/* Decompresses the first bytes, for messages about foreign files. Returns how many came out. */
size_t trace_input_peek(struct trace_input *input, uint64_t bytes, void *out, size_t capacity);

/* ---- Fields of the message ---------------------------------------------------------------- */

/* Top-level fields of the message Trace. */
enum trace_field_number {
    TRACE_FIELD_PACKET = 1,
    TRACE_FIELD_HEADER = 100,
    TRACE_FIELD_TABLES,
    TRACE_FIELD_CHUNK,
    TRACE_FIELD_SEGMENTS,
    TRACE_FIELD_END,
};

/* Appends a top-level field. HAL_NO_MEMORY, HAL_INVALID: over TRACE_MAX_FIELD_BYTES. */
enum hal_status trace_field_append(struct trace_bytes *raw, uint32_t number,
                                   const ProtobufCMessage *message) HAL_CHECKED;

struct trace_field {
    uint32_t number;
    const uint8_t *data;
    size_t bytes;
};

/* The field at *at, which is advanced. HAL_NOT_FOUND: end of data. HAL_CORRUPT. HAL_VERSION: a
 * field that this version does not know and must not skip. */
enum hal_status trace_field_next(const struct trace_bytes *raw, size_t *at,
                                 struct trace_field *out_field) HAL_CHECKED;

/* HAL_CORRUPT, HAL_VERSION. The arena owns the message. */
enum hal_status trace_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                     size_t bytes, struct trace_arena *arena,
                                     ProtobufCMessage **out_message) HAL_CHECKED;

#endif
