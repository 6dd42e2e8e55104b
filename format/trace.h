/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file `trace.pb.zst`: writer and reader.
 *
 * The writer takes records (format/record.h) and contents and stores columns; the reader returns
 * the records. docs/format.md describes the bytes.
 *
 * Threads: a writer is used by one thread at a time, and so is a reader, but several readers may
 * read one file. Everything that a reader returns is borrowed until the reader is closed, or until
 * the call that the text names. */
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

/* Format version that is written. Every file with the same major version can be read. */
#define TRACE_VERSION_MAJOR 1u
#define TRACE_VERSION_MINOR 0u

/* ---- What a trace says about itself ------------------------------------------------------- */

/* Fields written by a newer version that this one may skip. A reader returns them so that code that
 * rewrites the trace can preserve them. */
struct trace_unknown {
    const struct trace_unknown_field *fields;
    size_t count;
};

enum { TRACE_MAX_FORMATS = 8 }; /* further ones are dropped */

struct trace_device {
    const char *uri, *driver, *name;
    uint32_t queue_count, simd_width, max_group_threads;
    uint32_t max_group_size[3];
    uint64_t max_group_memory_bytes, max_buffer_bytes;
    uint32_t max_constant_bytes; /* 0: unknown */
    uint32_t worker_count;
    const char *architecture, *features; /* "": unknown */
    uint32_t format_count;
    uint32_t formats[TRACE_MAX_FORMATS];
};

/* One of the captures that a trace was merged from. */
struct trace_capture {
    const char *program, *host;
    uint64_t process_id;
    struct trace_device device;
    uint32_t queue_base, thread_base; /* offsets added to its numbers */
    uint64_t object_base, submission_base;
    uint64_t group_base; /* the same for all captures of a process */
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
    bool late_start;       /* starts with a snapshot */
    const char *sidecar;   /* during the capture, and after a crash: what is not in the file yet; ""
                              or NULL: none */
    /* The capture's options, in the words of the flags; NULL or "": unknown. */
    const char *stacks, *contents, *outputs, *files;
    const char *window;    /* the part of the run; "": all of it, or started from C */
    uint64_t budget_bytes; /* 0: no limit */
    uint64_t last_ns;      /* for a flight recorder: the minimum to keep; 0: all */
    struct trace_device device;
    /* Edits to the trace since its capture, one line each, oldest first. */
    const char *const *edits;
    size_t edit_count;
    const char *view_only; /* why it can no longer be replayed; "" or NULL: it can */
    const char *base; /* the trace that holds contents that this one refers to, as named when this
                         one was written; "" or NULL: none */
    /* Captures of a merged trace by ascending bases; otherwise none. `device` and the members above
     * belong to the first. */
    const struct trace_capture *captures;
    size_t capture_count;
    struct trace_unknown unknown;
};

/* How the capture went; all zero is healthy. */
struct trace_health {
    uint32_t status;       /* enum hal_status: the first recording error, 0: none */
    const char *message;   /* message of that error */
    uint64_t lost_records; /* records dropped after the error */
    uint64_t ring_stalls;  /* times that a thread had to wait for the writer */
    uint64_t ring_stall_ns;
    uint64_t digest_only;       /* reads with only digests */
    uint64_t overhead_ns;       /* recording time on the application's threads */
    bool recovered;             /* the process ended early; later joined with the sidecar */
    const char *clock;          /* clock of host times: "tsc", "system"; NULL or "": unknown */
    uint64_t clock_error_ns;    /* largest difference observed from the system's clock */
    uint64_t over_budget_bytes; /* content bytes that the budget reduced to digests */
    uint64_t unsupported_calls; /* recorded, but not replayable */
    struct trace_unknown unknown;
};

/* ---- Writer ------------------------------------------------------------------------------- */

struct trace_writer;

struct trace_writer_options {
    const char *path;
    bool force;            /* replace an existing file; otherwise HAL_EXISTS */
    bool provisional;      /* the file has no name until trace_writer_publish: if the process ends
                              earlier, nothing is left behind, where the system supports that */
    bool named_at_end;     /* the file has no name until trace_writer_close has written all of it */
    int compression_level; /* for zstd; 0: the default */
    const char *base;      /* a trace whose contents are referred to; NULL: none */
    /* Omits digests of the contents from the file, which saves most of the time needed to store
     * them; a reader computes a digest on request. */
    bool without_sha256;
};

/* Creates the file and writes the header (copied). HAL_EXISTS: the file exists or, with `force`,
 * another writer has it open. HAL_IO: includes paths that are not regular files. */
enum hal_status trace_writer_open(const struct trace_writer_options *options,
                                  const struct trace_header *header,
                                  struct trace_writer **out_writer) HAL_CHECKED;

/* Gives a provisional file its name, replacing an old file only then; a provisional file that was
 * never published is removed on close. HAL_EXISTS, HAL_IO as above. May run concurrently with calls
 * on the writer's thread. */
enum hal_status trace_writer_publish(struct trace_writer *writer) HAL_CHECKED;

/* The same under a name other than the one it was opened with; replaces any file with that name. */
enum hal_status trace_writer_publish_as(struct trace_writer *writer, const char *path) HAL_CHECKED;

/* Appends whole records of the thread with that number, in its order; the segments of a seal may
 * follow in later calls. Content fields already hold content numbers. Table records may be in any
 * thread's stream. HAL_CORRUPT: an invalid record; nothing from the call is stored. */
enum hal_status trace_writer_records(struct trace_writer *writer, uint32_t thread,
                                     const void *records, size_t bytes) HAL_CHECKED;

/* Stores bytes once and returns their number; identical bytes get the same number. At most
 * TRACE_MAX_CONTENT_BYTES; 0 bytes are legal. */
enum hal_status trace_writer_content(struct trace_writer *writer, const void *data, size_t bytes,
                                     uint64_t *out_content) HAL_CHECKED;

/* Announces bytes that will be passed to trace_writer_content soon, after earlier announced bytes
 * and before the next flush; they must not change until then. Another thread computes their digest
 * meanwhile. Returns false if too many are queued; announce again later. */
bool trace_writer_announce(struct trace_writer *writer, const void *data, size_t bytes);

/* While a thread waits for content memory, compresses contents only if that is fast and at least
 * halves them. trace_recompress makes such a file small. */
void trace_writer_low_latency(struct trace_writer *writer, bool low_latency);

/* Adds a content whose bytes are in another trace and not in this one. */
enum hal_status trace_writer_refer(struct trace_writer *writer,
                                   const uint8_t sha256[TRACE_DIGEST_BYTES], uint64_t bytes,
                                   uint64_t *out_content) HAL_CHECKED;

/* Writes everything so far to the file, which is then readable even if nothing follows. */
enum hal_status trace_writer_flush(struct trace_writer *writer) HAL_CHECKED;

/* Returns the size of the file so far. */
uint64_t trace_writer_bytes(const struct trace_writer *writer);

/* Frees the writer and removes the file, which must not have a name yet. */
void trace_writer_discard(struct trace_writer *writer);

/* Writes pending data, health, summaries and the seek table, and frees the writer even on failure.
 * `health` (copied) may be NULL: healthy. Returns the first error of the writer's lifetime. */
enum hal_status trace_writer_close(struct trace_writer *writer, const struct trace_health *health);

/* ---- Reader ------------------------------------------------------------------------------- */

struct trace_reader;

/* Opens the file and checks its structure, not its contents: reads the header and the tables. A
 * truncated file opens up to its last whole frame (trace_reader_truncated). HAL_IO: cannot be read.
 * HAL_CORRUPT: no trace, or damaged; the message says where. HAL_VERSION: too new. */
enum hal_status trace_reader_open(const char *path, struct trace_reader **out_reader) HAL_CHECKED;
void trace_reader_close(struct trace_reader *reader);

/* Lists the file descriptors that the reader uses while open, at most `most`: for a process that
 * closes all others. */
size_t trace_reader_descriptors(const struct trace_reader *reader, int *out_descriptors,
                                size_t most);

const struct trace_header *trace_reader_header(const struct trace_reader *reader);

/* NULL if the file has none because its capture did not end. */
const struct trace_health *trace_reader_health(const struct trace_reader *reader);

/* Empty if the file is complete; else one line that says what is missing: events or, if the file
 * has its capture's health, only the index. */
const char *trace_reader_truncated(const struct trace_reader *reader);

/* True if the sidecar holds what a truncated file lacks; trace_recover can then add it. */
bool trace_reader_recoverable(const struct trace_reader *reader);

/* Whether a process holds the sidecar, as the captured one does during its capture, even that of a
 * flight recorder whose next file took the name. */
enum trace_hold {
    TRACE_HOLD_UNSEEN, /* gone, of another version, or not visible from here */
    TRACE_HELD,
    TRACE_LEFT,
};

/* State when a truncated file was opened (for other files: unseen), and now. */
enum trace_hold trace_reader_hold(const struct trace_reader *reader);
enum trace_hold trace_reader_hold_now(const struct trace_reader *reader);

struct trace_counts {
    uint64_t file_bytes;
    uint64_t frames;
    uint64_t events; /* of all kinds, without tables */
    uint64_t segments;
    uint64_t submissions, dispatches, barriers;
    uint64_t contents, content_bytes, stored_content_bytes;
    uint64_t referred_contents, referred_bytes; /* of those, the ones in another trace */
    uint64_t host_writes, host_write_bytes, host_reads, host_read_bytes;
    int64_t first_ns, last_ns; /* range of host and device times of all events */
};
const struct trace_counts *trace_reader_counts(const struct trace_reader *reader);

/* Returns the text of a string number; "" for 0; NULL if there is no such number (which cannot
 * happen for numbers in records, which the reader checks). */
const char *trace_reader_string(const struct trace_reader *reader, uint32_t id);

size_t trace_reader_thread_count(const struct trace_reader *reader);
const struct trace_thread *trace_reader_thread(const struct trace_reader *reader, size_t index);
/* NULL: there is no such number. */
const struct trace_thread *trace_reader_find_thread(const struct trace_reader *reader, uint32_t id);
const struct trace_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id);
size_t trace_reader_module_count(const struct trace_reader *reader);
const struct trace_module *trace_reader_module(const struct trace_reader *reader, size_t index);

/* One chunk of events of one thread, in that thread's order, with `head.thread` filled in. The
 * segments of a seal follow it in the same chunk. The caller frees it with trace_chunk_free. */
struct trace_chunk {
    uint32_t thread;
    uint32_t event_count;
    const struct trace_event *events; /* contiguous; `bytes` in total */
    size_t bytes;
};

/* Chunks are in file order; those of one thread are in that thread's order. The index starts at 0.
 * HAL_NOT_FOUND: no more chunks. HAL_CORRUPT: damaged; the call checks checksums, sizes, kinds, and
 * that every string, stack and content number exists. */
size_t trace_reader_chunk_count(const struct trace_reader *reader);
/* Returns the thread of a chunk's events without decoding it. */
uint32_t trace_reader_chunk_thread(const struct trace_reader *reader, size_t index);
/* What a chunk may contain, without decoding it: the file's index entry for the frame that the
 * chunk begins in. The times cover all events with times, including device times. The submissions
 * are those that are submitted or end there (first > last: none). A file of an older version does
 * not record them: has_submissions is then false. */
struct trace_span {
    int64_t first_ns, last_ns; /* both 0: no event has a time */
    bool has_submissions;
    uint64_t first_submission, last_submission;
};
struct trace_span trace_reader_chunk_span(const struct trace_reader *reader, size_t index);
/* Whether the trace's program may have done something then: from an hour before the capture's begin
 * to a year after it. A damaged file holds any time. */
bool trace_reader_is_plausible(const struct trace_reader *reader, int64_t ns);
/* The origin of the times that programs print: the first event or, where no event has a time or the
 * first one's is implausible, the start of the capture. */
int64_t trace_reader_origin_ns(const struct trace_reader *reader);
/* Mask of the queues whose activity the index records. 0: none, or the file is of an older version
 * without this data. */
uint64_t trace_reader_active_queues(const struct trace_reader *reader);
/* Divides a time range into `count` equal parts and returns the fraction of each that the queue's
 * submissions cover: more than 1 where they overlap. Decodes no events. The resolution is a 64th of
 * a frame if few queues were active in it. */
void trace_reader_activity(const struct trace_reader *reader, uint32_t queue, int64_t begin_ns,
                           int64_t end_ns, size_t count, double *out_shares);
enum hal_status trace_reader_chunk(struct trace_reader *reader, size_t index,
                                   struct trace_chunk *out_chunk) HAL_CHECKED;
void trace_chunk_free(struct trace_chunk *chunk);

/* Calls `visit` for every event in file order, with its segments for a seal (otherwise NULL); the
 * pointers are valid during the call. Stops at the first status other than HAL_OK. */
typedef enum hal_status trace_visit(void *user, const struct trace_event *event,
                                    const struct trace_segment *segments);
enum hal_status trace_reader_each(struct trace_reader *reader, trace_visit *visit,
                                  void *user) HAL_CHECKED;

/* How trace_reader_each_in_order walks a file; `wants` and `load` are optional. */
struct trace_walk {
    trace_visit *visit;
    /* Whether to visit a chunk. NULL: all of them. */
    bool (*wants)(void *user, const struct trace_reader *reader, size_t chunk);
    /* Reads a chunk, for callers with a lock around their reader. NULL: trace_reader_chunk. */
    enum hal_status (*load)(void *user, struct trace_reader *reader, size_t chunk,
                            struct trace_chunk *out_chunk);
    void *user;
};

/* Like trace_reader_each, but visits events of all threads in the order in which they took effect:
 * by ticket, or by time for those without one. Holds one chunk per thread in memory. */
enum hal_status trace_reader_each_in_order(struct trace_reader *reader,
                                           const struct trace_walk *how) HAL_CHECKED;

/* Returns the size of a content in any trace without reading it. HAL_NOT_FOUND: no such number. */
enum hal_status trace_reader_content_size(const struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes) HAL_CHECKED;

/* Returns size and SHA-256 of a content in any trace. A digest that the file omits is computed from
 * the bytes and cached. Fails like trace_reader_content_size; HAL_CORRUPT: damaged. */
enum hal_status trace_reader_content_info(struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes, uint8_t out_sha256[32]) HAL_CHECKED;

/* Adds the file at `path` as a source of contents that the trace refers to by digest, if it holds
 * any of them; at most TRACE_MAX_BASES. Fails like trace_reader_open. */
enum { TRACE_MAX_BASES = 8 };
enum hal_status trace_reader_add_base(struct trace_reader *reader, const char *path) HAL_CHECKED;

/* Contents that the trace refers to and that no added trace holds. */
struct trace_missing {
    uint64_t contents, bytes;
    uint64_t first; /* number of one of them; 0: none is missing */
};
struct trace_missing trace_reader_missing(const struct trace_reader *reader);

/* False if trace_reader_content would not find it. */
bool trace_reader_has_content(const struct trace_reader *reader, uint64_t content);

/* Reads a content into `out`, which has exactly its size, and verifies checksum and SHA-256 (if
 * present). HAL_NOT_FOUND: also if the bytes are in another trace that was not added. */
enum hal_status trace_reader_content(struct trace_reader *reader, uint64_t content, void *out,
                                     size_t bytes) HAL_CHECKED;

/* ---- Names -------------------------------------------------------------------------------- */

/* Return names such as "submit", "semaphore_wait" or "dispatch", "copy". Never NULL. */
const char *trace_event_name(uint32_t kind);
const char *trace_segment_name(uint32_t kind);

/* Writes the name of a number in that column of those records (NULL: any), such as "all_reduce" or
 * "f32", or the number itself if it has no name. Returns `out`. */
const char *trace_column_text(const char *record, const char *column, uint64_t number, char *out,
                              size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
