/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a sequence that can be compared with another run's: what each thread asked for, with
 * objects named by what they are and not by their numbers, and without times. */
#ifndef FORMAT_TOOL_DIFF_H
#define FORMAT_TOOL_DIFF_H

#include "format/analysis/pieces.h"
#include "format/analysis/reflection.h"
#include "format/base/arena.h"
#include "format/tool/support/print.h"
#include "hal/base/idmap.h"

/* A command of a command buffer. */
struct diff_command {
    const struct trace_segment *segment;
    uint64_t hash; /* of all that it says, but for the data of updates */
};

enum { DIFF_MAP_PERSISTENT = 8 }; /* of enum hal_map_mode */

/* Who put the bytes there, as far as the trace tells. */
enum diff_origin {
    DIFF_NOBODY,     /* they are as they were when the buffer was made */
    DIFF_DEVICE,     /* the device may have written them, and nobody has recorded them since */
    DIFF_HOST,       /* the host stored them */
    DIFF_SEEN,       /* they were read, or could be seen, by the host */
    DIFF_UNDECIDED,  /* the host or the device */
    DIFF_UNRECORDED, /* the host stored them, and the trace has a digest of them at most */
};

/* Bytes of mapped memory. Without gaps between members: trace_pieces compares them. */
struct diff_piece {
    struct trace_piece range;
    uint64_t content; /* whose first byte belongs to the buffer's byte `base` */
    uint64_t base;
    uint64_t origin; /* enum diff_origin */
};

/* A range of mapped memory that a submission accesses, and what it finds there when it starts. */
struct diff_range {
    uint64_t buffer, begin, end;
    uint64_t key; /* of the buffer's label and size */
    bool reads;   /* or may */
    const struct diff_piece *pieces;
    size_t piece_count;
};

/* Where mapped memory is not the same. */
struct diff_found {
    uint64_t buffer, begin, end;
};

/* A submission, a write or read of the host, or a signal. */
struct diff_item {
    const struct trace_event *event;
    uint64_t hash;  /* of all of it, but for contents */
    uint64_t shape; /* of a submission: its kernels and kinds of commands; else the hash */
    int64_t device_ns;
    struct diff_range *ranges; /* of a submission: what it accesses of mapped memory */
    size_t range_count;
    bool is_cut; /* they are not known: there was too much */
};

struct diff_stream {
    uint32_t thread;
    const char *name;
    struct diff_item *items;
    size_t count, capacity;
    uint64_t call; /* while loading: inside of a host call */
};

struct diff_object {
    const struct trace_event *created;
    uint64_t hash;
    const struct diff_command *commands; /* of a command buffer */
    uint32_t command_count;
    uint64_t shape;
    const struct trace_access *accesses; /* of a command buffer: to mapped memory */
    uint32_t access_count;
    struct diff_memory *memory; /* of a buffer that is mapped while the device uses it, or NULL */
    bool is_pools;              /* a semaphore of the transient memory's own */
    struct trace_pieces *transients; /* of a slab: what has been allocated there last, or NULL */
};

struct diff_place {
    size_t stream, item;
};

struct diff_side {
    const char *path;
    struct trace_reader *reader;
    struct trace_arena arena;
    struct hal_idmap ids, submissions; /* to objects; to places */
    struct diff_object *objects;
    struct diff_stream *streams;
    struct diff_place *places;
    size_t object_count, object_capacity, stream_count, stream_capacity;
    size_t place_count, place_capacity;
    struct trace_reflection reflection;
    struct diff_memory *memories; /* mapped buffers, the last one first */
    size_t piece_count;           /* that ranges have */
    struct tool_printer printer;
};

/* Opens and reads it. As trace_reader_open. diff_close is needed in any case. */
enum hal_status diff_open(struct diff_side *side, const char *path) HAL_CHECKED;
void diff_close(struct diff_side *side);

/* Appends what the item or the command is, on one line. */
void diff_describe_item(struct diff_side *side, const struct diff_item *item,
                        struct trace_text *text);
void diff_describe_command(struct diff_side *side, const struct diff_command *command,
                           struct trace_text *text);
void diff_describe_found(struct diff_side *side, const struct diff_found *found,
                         struct trace_text *text);

/* The digest of what a read or write holds, if it is `known`. HAL_CORRUPT: its bytes are damaged.
 */
enum hal_status diff_digest(const struct diff_side *side, const struct trace_content_event *event,
                            bool *out_known, uint8_t out_sha256[32]) HAL_CHECKED;

struct diff_object *diff_object(const struct diff_side *side, uint64_t id);

/* ---- Transient memory (diff_transient.c) ---- */

/* In the order of submissions: what follows uses what an alloca has got. */
enum hal_status diff_transient_take(struct diff_side *side,
                                    const struct trace_submit *submit) HAL_CHECKED;

/* Adds where the buffer's byte is to the hash: in an allocation, if it is in one. */
uint64_t diff_transient_place(const struct diff_side *side, uint64_t hash, uint64_t buffer,
                              uint64_t offset);
void diff_transient_finish(struct diff_side *side);

/* ---- Mapped memory (diff_mapped.c) ----
 *
 * What the host stores into memory that stays mapped, and what it sees there, a capture notices at
 * moments of its own. So it is no item: what counts are the bytes that each submission finds in
 * the ranges that it accesses when it can start at the earliest, and those that are there in the
 * end. */

/* Before command buffers are loaded: the buffer is such memory. */
enum hal_status diff_mapped_add(struct diff_side *side, struct diff_object *buffer,
                                uint64_t id) HAL_CHECKED;

/* The accesses of a command buffer to such memory. */
enum hal_status diff_mapped_seal(struct diff_side *side, struct diff_object *commands,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments) HAL_CHECKED;

/* Once all items are there: their ranges. */
enum hal_status diff_mapped_load(struct diff_side *side) HAL_CHECKED;
void diff_mapped_finish(struct diff_side *side);

/* The next mapped buffer with all of its bytes as they are in the end, without pieces when there
 * were too many; `*memory` NULL begins with the first one. False: there is none. */
bool diff_mapped_next(const struct diff_side *side, struct diff_memory **memory,
                      struct diff_range *out_range);

/* ---- Their bytes (diff_bytes.c) ---- */

/* One who compares; all but the first four is zero. */
struct diff_bytes {
    struct diff_side *a, *b;
    /* Of each difference, once. */
    enum hal_status (*found)(void *user, const struct diff_found *in_a,
                             const struct diff_found *in_b);
    void *user;
    uint64_t same, other, undecided; /* bytes */
    uint64_t cut;                    /* submissions and buffers that were not compared */
    struct diff_bytes_seen *seen;    /* what has been compared */
};

enum hal_status diff_bytes_of_items(struct diff_bytes *bytes, const struct diff_item *a,
                                    const struct diff_item *b) HAL_CHECKED;
enum hal_status diff_bytes_in_the_end(struct diff_bytes *bytes) HAL_CHECKED;
void diff_bytes_finish(struct diff_bytes *bytes);

#endif
