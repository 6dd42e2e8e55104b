/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file `trace.pb.zst`: writer and reader.
 *
 * The writer is fed with records (format/record.h) and contents and stores columns; the reader
 * gives the records back. docs/format.md describes the bytes.
 *
 * Threads: a writer is used by one thread at a time; a reader too, but several readers may read
 * one file. Everything that a reader returns is borrowed until it is closed, or until the call
 * that the text names. */
#ifndef FORMAT_TRACE_H
#define FORMAT_TRACE_H

#include "format/record.h"
#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the format that this version writes. It reads every file with the same major version. */
#define TRACE_VERSION_MAJOR 1u
#define TRACE_VERSION_MINOR 0u

/* ---- What a trace says about itself ------------------------------------------------------- */

/* Fields that a newer version has written and this one may skip: given out by a reader so that
 * whoever writes the trace anew can hand them on. */
struct trace_unknown {
    const struct trace_unknown_field *fields;
    size_t count;
};

enum { TRACE_MAX_FORMATS = 8 }; /* more are left out */

struct trace_device {
    const char *uri, *driver, *name;
    uint32_t queue_count, simd_width, max_group_threads;
    uint32_t max_group_size[3];
    uint64_t max_group_memory_bytes, max_buffer_bytes;
    uint32_t max_constant_bytes; /* 0: not told */
    uint32_t worker_count;
    const char *architecture, *features; /* "": not told */
    uint32_t format_count;
    uint32_t formats[TRACE_MAX_FORMATS];
};

/* One of the captures that a trace was merged of. */
struct trace_capture {
    const char *program, *host;
    uint64_t process_id;
    struct trace_device device;
    uint32_t queue_base, thread_base; /* what was added to its numbers */
    uint64_t object_base, submission_base;
    uint64_t group_base; /* one for all captures of a process */
};

struct trace_header {
    uint32_t version_major, version_minor; /* of the format */
    const char *writer;                    /* "haltrace 0.1.0" */
    const char *program;                   /* path of the captured program */
    const char *const *arguments;
    size_t argument_count;
    uint64_t process_id;
    const char *host;      /* machine name */
    const char *system;    /* "Linux 6.1 x86_64" */
    const char *mode;      /* profiling mode: "queue", "dispatch", "executable" */
    int64_t start_ns;      /* hal_clock_ns when the capture began */
    int64_t start_wall_ns; /* the same moment in UTC, since 1970 */
    bool late_start;       /* begins with a snapshot */
    const char *sidecar;   /* while the capture goes on, and after a crash: what is not in the file
                            * yet; "" or NULL: none */
    /* What was asked for, in the words of the flags; NULL or "": not told. */
    const char *stacks, *contents, *outputs, *files;
    const char *window;    /* the part of the run; "": all of it, or begun from C */
    uint64_t budget_bytes; /* 0: no limit */
    uint64_t last_ns;      /* of a flight recorder: at least so much was to be kept; 0: all */
    struct trace_device device;
    /* What was done to the trace since it was captured, a line each, the first one first. */
    const char *const *edits;
    size_t edit_count;
    const char *view_only; /* why it cannot be replayed any more; "" or NULL: it can */
    const char *base; /* the trace that has contents which this one refers to, as it was named when
                       * this one was written; "" or NULL: none */
    /* Of a merged trace, by rising bases; else none. `device` and what is above are the first's. */
    const struct trace_capture *captures;
    size_t capture_count;
    struct trace_unknown unknown;
};

/* How the capture went. Zero everywhere is a healthy one. */
struct trace_health {
    uint32_t status;       /* enum hal_status: the first recording error, 0: none */
    const char *message;   /* of that error */
    uint64_t lost_records; /* not recorded after the error */
    uint64_t ring_stalls;  /* a thread had to wait for the writer */
    uint64_t ring_stall_ns;
    uint64_t digest_only;       /* reads of which only digests are known */
    uint64_t overhead_ns;       /* time that the application's threads spent in recording */
    bool recovered;             /* the process ended first: joined with the sidecar afterwards */
    const char *clock;          /* of host times: "tsc", "system"; NULL or "": not told */
    uint64_t clock_error_ns;    /* largest difference seen between it and the system's clock */
    uint64_t over_budget_bytes; /* of contents that the byte budget turned into digests */
    uint64_t unsupported_calls; /* recorded, but no replay can do them */
    struct trace_unknown unknown;
};

/* ---- Writer ------------------------------------------------------------------------------- */

struct trace_writer;

struct trace_writer_options {
    const char *path;
    bool force;        /* replace an existing file; otherwise HAL_EXISTS */
    bool provisional;  /* the file has no name before trace_writer_publish: nothing is left of it
                        * then, however the process ends, where the system can do that */
    bool named_at_end; /* the file has no name before trace_writer_close wrote all of it */
    int compression_level; /* of zstd; 0: the default */
    const char *base;      /* a trace; contents that it holds are referred to; NULL: none */
    /* The file goes without digests of the contents that it holds, which saves most of the time
     * that storing them takes; who asks a reader for one has it computed then. */
    bool without_sha256;
};

/* Creates the file and writes the header (copied). HAL_EXISTS: there is a file, or (with `force`)
 * one that another writer has open. HAL_IO: also what is not a regular file. */
enum hal_status trace_writer_open(const struct trace_writer_options *options,
                                  const struct trace_header *header,
                                  struct trace_writer **out_writer) HAL_CHECKED;

/* Gives a provisional file its name, and only then replaces an old one; without it, closing removes
 * the file. HAL_EXISTS, HAL_IO as above. May run beside calls of the writer's thread. */
enum hal_status trace_writer_publish(struct trace_writer *writer) HAL_CHECKED;

/* The same under another name than it was opened with; what bears it is replaced. */
enum hal_status trace_writer_publish_as(struct trace_writer *writer, const char *path) HAL_CHECKED;

/* Appends whole records of the thread with that number, in its order; a seal's segments may follow
 * in later calls. Content fields already hold content numbers. Table records may come on any
 * thread's stream. HAL_CORRUPT: not a valid record; nothing of the call is stored. */
enum hal_status trace_writer_records(struct trace_writer *writer, uint32_t thread,
                                     const void *records, size_t bytes) HAL_CHECKED;

/* Stores bytes once and returns their number: the same bytes get the same number. At most
 * TRACE_MAX_CONTENT_BYTES; 0 bytes are legal. */
enum hal_status trace_writer_content(struct trace_writer *writer, const void *data, size_t bytes,
                                     uint64_t *out_content) HAL_CHECKED;

/* The same bytes will be handed to trace_writer_content soon, after those that were announced
 * before them and before the next flush, and stay as they are until then. Another thread computes
 * their digest meanwhile. false: too many wait for that; it may be announced later. */
bool trace_writer_announce(struct trace_writer *writer, const void *data, size_t bytes);

/* While somebody waits for the memory of contents, they are compressed only where that makes them
 * half as large, and is quick. trace_recompress makes such a file small. */
void trace_writer_hurry(struct trace_writer *writer, bool hurries);

/* A content whose bytes are in another trace, and not in this one. */
enum hal_status trace_writer_refer(struct trace_writer *writer,
                                   const uint8_t sha256[TRACE_DIGEST_BYTES], uint64_t bytes,
                                   uint64_t *out_content) HAL_CHECKED;

/* Everything given so far is in the file, readable even if nothing follows. */
enum hal_status trace_writer_flush(struct trace_writer *writer) HAL_CHECKED;

/* Bytes in the file so far. */
uint64_t trace_writer_bytes(const struct trace_writer *writer);

/* Frees the writer and removes the file, which must have no name yet. */
void trace_writer_discard(struct trace_writer *writer);

/* Writes what is pending, health, summaries and the seek table, and frees the writer, whatever
 * happens. `health` (copied) may be NULL: healthy. Returns the first error of the writer's life. */
enum hal_status trace_writer_close(struct trace_writer *writer, const struct trace_health *health);

/* ---- Reader ------------------------------------------------------------------------------- */

struct trace_reader;

/* Opens and checks structure, not contents: reads the header and the tables. A file that was cut
 * off opens up to its last whole frame (trace_reader_truncated). HAL_IO: cannot be read.
 * HAL_CORRUPT: not a trace, or damaged: the message says where. HAL_VERSION: needs a newer
 * version. */
enum hal_status trace_reader_open(const char *path, struct trace_reader **out_reader) HAL_CHECKED;
void trace_reader_close(struct trace_reader *reader);

/* The files that it reads from as long as it is open, at most `most`: for a process that closes all
 * others. */
size_t trace_reader_descriptors(const struct trace_reader *reader, int *out_descriptors,
                                size_t most);

const struct trace_header *trace_reader_header(const struct trace_reader *reader);

/* NULL when the file has none: its capture did not end. */
const struct trace_health *trace_reader_health(const struct trace_reader *reader);

/* Empty when the file is whole; else one line that says what is missing: events, or, where the file
 * has the health of its capture, nothing but the index. */
const char *trace_reader_truncated(const struct trace_reader *reader);

/* What a file that was cut off lacks is in its sidecar, for trace_recover to take. */
bool trace_reader_recoverable(const struct trace_reader *reader);

/* Whether a process holds the sidecar, as the captured one does while its capture goes on: that of
 * a flight recorder, too, whose next file took the name. */
enum trace_hold {
    TRACE_HOLD_UNSEEN, /* gone, of another version, or not to be seen from here */
    TRACE_HELD,
    TRACE_LEFT,
};

/* When a file that was cut off was opened (of another: unseen), and now. */
enum trace_hold trace_reader_hold(const struct trace_reader *reader);
enum trace_hold trace_reader_hold_now(const struct trace_reader *reader);

struct trace_counts {
    uint64_t file_bytes;
    uint64_t frames;
    uint64_t events; /* of all kinds, tables not counted */
    uint64_t segments;
    uint64_t submissions, dispatches, barriers;
    uint64_t contents, content_bytes, stored_content_bytes;
    uint64_t referred_contents, referred_bytes; /* of these, in another trace */
    uint64_t host_writes, host_write_bytes, host_reads, host_read_bytes;
    int64_t first_ns, last_ns; /* host and device times of all events */
};
const struct trace_counts *trace_reader_counts(const struct trace_reader *reader);

/* Text of a string number; "" for 0. NULL: no such number (a reader of records checks that every
 * number that it gives out exists, so this cannot happen with those). */
const char *trace_reader_string(const struct trace_reader *reader, uint32_t id);

size_t trace_reader_thread_count(const struct trace_reader *reader);
const struct trace_thread *trace_reader_thread(const struct trace_reader *reader, size_t index);
/* NULL: no such number. */
const struct trace_thread *trace_reader_find_thread(const struct trace_reader *reader, uint32_t id);
const struct trace_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id);
size_t trace_reader_module_count(const struct trace_reader *reader);
const struct trace_module *trace_reader_module(const struct trace_reader *reader, size_t index);

/* One chunk of events of one thread, in that thread's order, `head.thread` filled in. A seal's
 * segments follow it in the same chunk. Memory is the caller's to free with trace_chunk_free. */
struct trace_chunk {
    uint32_t thread;
    uint32_t event_count;
    const struct trace_event *events; /* contiguous, `bytes` long */
    size_t bytes;
};

/* Chunks in the order of the file: those of one thread are in that thread's order. Starts at 0.
 * HAL_NOT_FOUND: no more. HAL_CORRUPT: damaged; checked are checksums, sizes, kinds, and that
 * every string, stack and content number exists. */
size_t trace_reader_chunk_count(const struct trace_reader *reader);
/* Whose events a chunk holds, without decoding it. */
uint32_t trace_reader_chunk_thread(const struct trace_reader *reader, size_t index);
/* What may be in a chunk, without decoding it: of the frame that it begins in, as the file's index
 * knows it. Times count all events with times, device times included. Submissions are those that
 * are submitted or end there; a file of an older version does not tell (first > last: there are
 * none, unless has_submissions is false). */
struct trace_span {
    int64_t first_ns, last_ns; /* both 0: no events with times */
    bool has_submissions;
    uint64_t first_submission, last_submission;
};
struct trace_span trace_reader_chunk_span(const struct trace_reader *reader, size_t index);
/* The base of the times that programs print: the first event; of a trace without any, the begin of
 * the capture. */
int64_t trace_reader_origin_ns(const struct trace_reader *reader);
/* The queues of whose work the index knows when it ran: a bit each. 0: none, or the file is one of
 * an older version, which does not tell. */
uint64_t trace_reader_active_queues(const struct trace_reader *reader);
/* Cuts a time into `count` equal parts and tells, of each, which share of it the queue's
 * submissions took: more than 1 where they ran beside each other. No event is decoded. As fine as a
 * 64th of a frame, where few queues worked in it. */
void trace_reader_activity(const struct trace_reader *reader, uint32_t queue, int64_t begin_ns,
                           int64_t end_ns, size_t count, double *out_shares);
enum hal_status trace_reader_chunk(struct trace_reader *reader, size_t index,
                                   struct trace_chunk *out_chunk) HAL_CHECKED;
void trace_chunk_free(struct trace_chunk *chunk);

/* Calls `visit` for every event of the file in file order, with its segments for a seal (else
 * NULL); the pointers live for the call. Stops at the first status that is not HAL_OK. */
typedef enum hal_status trace_visit(void *user, const struct trace_event *event,
                                    const struct trace_segment *segments);
enum hal_status trace_reader_each(struct trace_reader *reader, trace_visit *visit,
                                  void *user) HAL_CHECKED;

/* How trace_reader_each_in_order goes through a file; both functions are optional. */
struct trace_walk {
    trace_visit *visit;
    /* Whether a chunk is looked at. NULL: every one. */
    bool (*wants)(void *user, const struct trace_reader *reader, size_t chunk);
    /* Reads a chunk, for callers with a lock around their reader. NULL: trace_reader_chunk. */
    enum hal_status (*load)(void *user, struct trace_reader *reader, size_t chunk,
                            struct trace_chunk *out_chunk);
    void *user;
};

/* As trace_reader_each, but events of all threads in the order in which they took effect: that of
 * tickets, and of time for those without. Holds one chunk of each thread in memory. */
enum hal_status trace_reader_each_in_order(struct trace_reader *reader,
                                           const struct trace_walk *how) HAL_CHECKED;

/* Size of a content without reading it, wherever it is. HAL_NOT_FOUND: no such number. */
enum hal_status trace_reader_content_size(const struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes) HAL_CHECKED;

/* Size and SHA-256 of a content, wherever it is. The digest of one whose file goes without is
 * computed from its bytes, and kept. As trace_reader_content_size; HAL_CORRUPT: damaged. */
enum hal_status trace_reader_content_info(struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes, uint8_t out_sha256[32]) HAL_CHECKED;

/* Contents that the trace refers to are taken from the file at `path`, if it holds any of that
 * digest; any number of times. As trace_reader_open. */
enum { TRACE_MAX_BASES = 8 };
enum hal_status trace_reader_add_base(struct trace_reader *reader, const char *path) HAL_CHECKED;

/* Contents that the trace refers to, and that none of the added traces holds. */
struct trace_missing {
    uint64_t contents, bytes;
    uint64_t first; /* number of one; 0: none is missing */
};
struct trace_missing trace_reader_missing(const struct trace_reader *reader);

/* False: trace_reader_content would not find it. */
bool trace_reader_has_content(const struct trace_reader *reader, uint64_t content);

/* The bytes of a content into `out` of exactly its size, checked against checksum and SHA-256 (if
 * there is one). HAL_NOT_FOUND: also, they are in another trace, which was not added. */
enum hal_status trace_reader_content(struct trace_reader *reader, uint64_t content, void *out,
                                     size_t bytes) HAL_CHECKED;

/* ---- Names -------------------------------------------------------------------------------- */

/* "submit", "semaphore_wait"; "dispatch", "copy". Never NULL. */
const char *trace_event_name(uint32_t kind);
const char *trace_segment_name(uint32_t kind);

/* "all_reduce", "f32": what a number in that column of those records (NULL: any) is called; the
 * number itself, where it has no name. Returns `out`. */
const char *trace_column_text(const char *record, const char *column, uint64_t number, char *out,
                              size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
