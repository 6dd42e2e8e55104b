/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a sequence comparable to another run's: what each thread requested, with objects
 * identified by what they are rather than by number, and without times. */
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
    uint64_t hash; /* of all members except the data of updates */
};

enum { DIFF_MAP_PERSISTENT = 8 }; /* from enum hal_map_mode */

/* Who stored the bytes, as far as the trace shows. */
enum diff_origin {
    DIFF_NOBODY,     /* unchanged since the buffer was created */
    DIFF_DEVICE,     /* the device may have written them, and nothing recorded them since */
    DIFF_HOST,       /* the host stored them */
    DIFF_SEEN,       /* the host read them or could see them */
    DIFF_UNDECIDED,  /* the host or the device */
    DIFF_UNRECORDED, /* the host stored them; the trace has at most a digest */
};

/* Bytes of mapped memory. Without padding: trace_pieces compares them. */
struct diff_piece {
    struct trace_piece range;
    uint64_t content; /* its first byte is byte `base` of the buffer */
    uint64_t base;
    uint64_t origin; /* enum diff_origin */
};

/* A range of mapped memory that a submission accesses, with its contents at the start. */
struct diff_range {
    uint64_t buffer, begin, end;
    uint64_t key; /* hash of the buffer's label and size */
    bool reads;   /* reads or may read */
    const struct diff_piece *pieces;
    size_t piece_count;
};

/* A range of mapped memory that differs. */
struct diff_found {
    uint64_t buffer, begin, end;
};

/* A submission, a host write or read, or a signal. */
struct diff_item {
    const struct trace_event *event;
    uint64_t hash;  /* of everything except contents */
    uint64_t shape; /* of a submission: its kernels and kinds of commands; else `hash` */
    int64_t device_ns;
    struct diff_range *ranges; /* of a submission: its accesses to mapped memory */
    size_t range_count;
    bool is_cut; /* ranges unknown: there were too many */
};

struct diff_stream {
    uint32_t thread;
    const char *name;
    struct diff_item *items;
    size_t count, capacity;
    uint64_t call; /* while loading: the enclosing host call */
};

struct diff_object {
    const struct trace_event *created;
    uint64_t hash;
    const struct diff_command *commands; /* of a command buffer */
    uint32_t command_count;
    uint64_t shape;
    const struct trace_access *accesses; /* of a command buffer: to mapped memory */
    uint32_t access_count;
    struct diff_memory *memory;      /* of a buffer mapped while the device uses it; else NULL */
    bool is_pools;                   /* a semaphore of a transient memory pool */
    struct trace_pieces *transients; /* of a slab: its latest allocations; else NULL */
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
    struct diff_memory *memories; /* mapped buffers, latest first */
    size_t piece_count;           /* total in all ranges */
    struct tool_printer printer;
};

/* Opens and reads the trace; fails like trace_reader_open. Always call diff_close. */
enum hal_status diff_open(struct diff_side *side, const char *path) HAL_CHECKED;
void diff_close(struct diff_side *side);

/* Append a one-line description of the item or command. */
void diff_describe_item(struct diff_side *side, const struct diff_item *item,
                        struct trace_text *text);
void diff_describe_command(struct diff_side *side, const struct diff_command *command,
                           struct trace_text *text);
void diff_describe_found(struct diff_side *side, const struct diff_found *found,
                         struct trace_text *text);

/* The digest of the bytes of a read or write, if it is `known`. HAL_CORRUPT: damaged bytes. */
enum hal_status diff_digest(const struct diff_side *side, const struct trace_content_event *event,
                            bool *out_known, uint8_t out_sha256[32]) HAL_CHECKED;

struct diff_object *diff_object(const struct diff_side *side, uint64_t id);

/* ---- Threads (diff_threads.c) ---- */

/* Whether comparing both finds no difference. */
typedef enum hal_status diff_is_same(void *user, const struct diff_stream *a,
                                     const struct diff_stream *b, bool *out_is_same);

/* For each stream of A, stores the index of its counterpart in B, or TRACE_UNALIGNED: of the same
 * name, and among these the one that is the same or else has most in common. Free `*out_match`. */
enum hal_status diff_threads_match(const struct diff_side *a, const struct diff_side *b,
                                   diff_is_same *is_same, void *user,
                                   size_t **out_match) HAL_CHECKED;

/* ---- Sources of kernels (diff_kernels.c) ---- */

/* A comparison; zero all but the first four members. */
struct diff_kernels {
    struct diff_side *a, *b;
    /* Called once for each source that only one side has. */
    enum hal_status (*found)(void *user, const struct trace_executable_create *in_a,
                             const struct trace_executable_create *in_b);
    void *user;
    uint64_t same, other, unknown; /* sources */
};

enum hal_status diff_kernels(struct diff_kernels *d) HAL_CHECKED;

/* ---- Transient memory (diff_transient.c) ---- */

/* Call in submission order: later submissions use what an alloca returned. */
enum hal_status diff_transient_take(struct diff_side *side,
                                    const struct trace_submit *submit) HAL_CHECKED;

/* Adds the position of the buffer's byte to the hash: relative to its allocation, if any. */
uint64_t diff_transient_place(const struct diff_side *side, uint64_t hash, uint64_t buffer,
                              uint64_t offset);
void diff_transient_finish(struct diff_side *side);

/* ---- Mapped memory (diff_mapped.c) ----
 *
 * A capture notices at arbitrary moments what the host stores into persistently mapped memory and
 * what it sees there, so these are no items. Compared are the bytes that each submission finds in
 * the ranges it accesses, at its earliest possible start, and the final bytes. */

/* Declares the buffer as mapped memory; call before command buffers are loaded. */
enum hal_status diff_mapped_add(struct diff_side *side, struct diff_object *buffer,
                                uint64_t id) HAL_CHECKED;

/* Adds a command buffer's accesses to mapped memory. */
enum hal_status diff_mapped_seal(struct diff_side *side, struct diff_object *commands,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments) HAL_CHECKED;

/* Computes the ranges once all items are loaded. */
enum hal_status diff_mapped_load(struct diff_side *side) HAL_CHECKED;
void diff_mapped_finish(struct diff_side *side);

/* Iterates over mapped buffers with all of their final bytes, without pieces if there were too
 * many. Start with `*memory` NULL. False: no further buffer. */
bool diff_mapped_next(const struct diff_side *side, struct diff_memory **memory,
                      struct diff_range *out_range);

/* ---- Their bytes (diff_bytes.c) ---- */

/* A comparison; zero all but the first four members. */
struct diff_bytes {
    struct diff_side *a, *b;
    /* Called once for each difference. */
    enum hal_status (*found)(void *user, const struct diff_found *in_a,
                             const struct diff_found *in_b);
    void *user;
    uint64_t same, other, undecided; /* bytes */
    uint64_t cut;                    /* submissions and buffers not compared */
    struct diff_bytes_seen *seen;    /* already compared */
};

enum hal_status diff_bytes_of_items(struct diff_bytes *bytes, const struct diff_item *a,
                                    const struct diff_item *b) HAL_CHECKED;
enum hal_status diff_bytes_in_the_end(struct diff_bytes *bytes) HAL_CHECKED;
void diff_bytes_finish(struct diff_bytes *bytes);

#endif
