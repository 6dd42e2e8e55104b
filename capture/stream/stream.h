/* SPDX-License-Identifier: Apache-2.0 */
/* How records get from the application's threads to the file: one ring per thread, staging memory
 * for contents, one writer thread, tickets, and the one error that ends recording.
 *
 *     thread = capture_enter(stream)          NULL: recording is over, only forward the call
 *     record = capture_reserve(thread, bytes) room in the thread's own ring; fill it
 *     capture_publish(thread, bytes)          the writer, and a recovery, may see it
 *
 * None of it takes a lock, allocates or enters the system, except the first time that a thread
 * records, when a thread outgrows its first ring, and when the writer is behind: then the thread
 * waits, which is counted. After an error recording stops: what follows is counted as lost, what
 * was published before is still written if the file can take it. */
#ifndef CAPTURE_STREAM_H
#define CAPTURE_STREAM_H

#include "capture/stream/copier.h"
#include "capture/stream/ring.h"
#include "capture/stream/staging.h"
#include "capture/stream/table.h"
#include "capture/stream/trails.h"
#include "format/record.h"
#include "format/trace.h"
#include "hal/base/os.h"

/* What is recorded of contents. */
enum capture_detail { CAPTURE_BYTES, CAPTURE_DIGEST, CAPTURE_NOTHING };

enum capture_files {
    CAPTURE_FILES_RANGES,
    CAPTURE_FILES_REFERENCE,
    CAPTURE_FILES_ALL, /* ranges, and the whole files */
    CAPTURE_FILES_FAIL,
};

struct capture_policy {
    enum capture_detail contents, outputs; /* what the host writes, and what it reads */
    enum capture_files files;              /* what queues read from files */
    uint64_t budget_bytes;                 /* of contents as bytes; 0: no limit */
};

/* Sizes are wishes: where limits or the sidecar's folder do not allow them they are halved, down to
 * CAPTURE_LEAST_STAGING_BYTES and CAPTURE_LEAST_RING_BYTES. */
struct capture_stream_options {
    const char *destination;
    const char *sidecar_folder; /* NULL or "": in memory, else beside the destination */
    int64_t start_ns;
    uint64_t staging_bytes; /* a power of two */
    uint64_t ring_bytes;    /* of rings that are ready, half of a thread's; a power of two */
    struct capture_policy policy;
};

enum { CAPTURE_LEAST_STAGING_BYTES = 1 << 20, CAPTURE_LEAST_RING_BYTES = 64 << 10 };

/* What one thread needs to record into one stream. */
struct capture_thread {
    struct capture_ring *ring;
    struct capture_stream *stream;
    uint32_t number;
    uint32_t calls;       /* counts, to measure every so many */
    uint64_t measured_ns; /* overhead measured exactly; part of overhead_ns */
    struct capture_trails *trails;
    const void *stored; /* the open mapping whose bytes are recorded already; NULL: none */
    /* Read by others. */
    _Atomic uint64_t overhead_ns;
    _Atomic uint64_t rings_bytes; /* of the rings that it has */
    _Atomic bool exited;
    /* The writer's. */
    struct capture_ring *reading;
    struct capture_ring *flush_ring; /* a flush drains up to `flush_head` of it */
    uint64_t flush_head;
    struct capture_ring *finished; /* read rings that are not in the file yet, by `older` */
    uint64_t segment_bytes;        /* of the seal that it reads, still to come */
    struct capture_thread *next;   /* all of the stream's threads */
};

/* A second file, which takes the name of the first when the next one comes (recorder.h). */
struct capture_successor {
    struct trace_writer *writer;
    const char *path; /* outlives the stream */
    int64_t start_ns;
    uint64_t first_ticket; /* of what it gets */
    uint64_t skipped_tickets;
    bool broken; /* its beginning is not whole: it never gets the name */
};

enum capture_writer_state {
    CAPTURE_WRITER_AWAKE,
    CAPTURE_WRITER_RESTS,  /* until the next flush is due, or rings run out */
    CAPTURE_WRITER_SLEEPS, /* long idle: any submission wakes it */
};

struct capture_stream {
    uint64_t generation; /* unique in the process */
    /* 1 while recording goes on. It lies on a page of its own, which is zero in a forked child. */
    _Atomic uint32_t *recording;
    int process;
    _Atomic uint64_t ticket;
    uint64_t ring_bytes;
    uint64_t spare_bytes; /* of the ring area, for records that are larger than that */
    struct capture_sidecar sidecar;
    struct capture_staging staging;
    struct capture_copier copier;
    struct capture_table strings;
    struct capture_table files; /* that were told of, with size and time */
    _Atomic uint32_t messages;  /* different ones, of failures */

    pthread_mutex_t threads_lock; /* the next five, and the slots' use */
    struct capture_thread *threads;
    uint32_t thread_count; /* that ever recorded */
    uint64_t rings_used;   /* bytes of the ring area that were ever given out */
    uint32_t slots_used;
    uint8_t *ring_bases[TRACE_RING_SLOTS]; /* where the slots' memory is mapped, once it is */

    pthread_mutex_t error_lock; /* the next two */
    enum hal_status error;
    char *message;
    _Atomic uint64_t unwritten; /* events that a file which failed has not: the sidecar has them */
    _Atomic uint64_t unsupported_calls, stalls, stall_ns;
    _Atomic uint64_t overhead_ns; /* of threads that are gone */

    struct capture_policy policy;
    _Atomic uint64_t budget_used, over_budget_bytes, digest_reads;

    struct trace_writer *writer;
    struct capture_successor next; /* the writer thread's; no writer: there is none */
    struct capture_successor *_Atomic coming;
    _Atomic bool next_alone; /* the first file gets nothing */
    bool keeps_tables;       /* set before the writer thread runs */
    bool has_file;           /* with a name: without one there is nothing to recover */
    bool file_failed;        /* the writer's: the sidecar keeps what the file has not */
    pthread_t writer_thread;
    bool writer_runs;
    _Atomic uint32_t state;    /* enum capture_writer_state; the writer waits on it */
    _Atomic uint32_t progress; /* counts flushes; threads wait on it */
    _Atomic uint32_t waiters;  /* threads that wait for progress */
    _Atomic uint64_t flushes_wanted, flushes_done;
    _Atomic bool ending;
    bool left; /* with work in flight; set before `ending` */
    struct capture_stream *next_live;
};

/* Makes everything but the file. The options are checked. */
enum hal_status capture_stream_open(struct capture_stream *stream,
                                    const struct capture_stream_options *options) HAL_CHECKED;

/* Starts the thread that writes into `writer`, which the stream owns from then on, also when this
 * fails. */
enum hal_status capture_stream_start(struct capture_stream *stream,
                                     struct trace_writer *writer) HAL_CHECKED;

/* Everything published so far is in the file when it returns. Blocks. The recording error. */
enum hal_status capture_stream_flush(struct capture_stream *stream) HAL_CHECKED;

/* With nobody recording and everything flushed: `successor` gets the tables, and alone what is
 * recorded until capture_stream_share; one that was there takes the first file's place. Owns the
 * writer from then on. Blocks. */
enum hal_status capture_stream_succeed(struct capture_stream *stream,
                                       const struct capture_successor *successor) HAL_CHECKED;
/* Unless it `works`, the successor never takes the place. */
void capture_stream_share(struct capture_stream *stream, bool works);

/* Drains, closes the file, frees everything. No thread may be inside the stream. Returns the first
 * error. Accepts a stream that was only opened, or zeroed. */
enum hal_status capture_stream_close(struct capture_stream *stream);

/* The same with work in flight, whose ends may still be reported: these are not recorded any more,
 * the file says so, and everything else stays as long as the process. */
enum hal_status capture_stream_leave(struct capture_stream *stream);

/* True in a child of the process that opened the stream: nothing of it may be used or freed. */
bool capture_stream_forked(const struct capture_stream *stream);

/* The first error ends recording: later ones are ignored. Keeps the thread's hal_message(). */
void capture_stop(struct capture_stream *stream, enum hal_status status, const char *format, ...)
    HAL_PRINTF(3, 4);
/* The same where only the file could not be written, for hal_message()'s reason: the sidecar keeps
 * all that was published. */
void capture_stop_writing(struct capture_stream *stream, enum hal_status status);

/* What is recorded nowhere. */
void capture_lose(struct capture_stream *stream, uint64_t records);

/* ---- The hot path ------------------------------------------------------------------------- */

/* The calling thread's end of the stream. */
struct capture_thread *capture_enter(struct capture_stream *stream);

/* False, with recording stopped: no record of so many bytes can ever be reserved. Where several
 * records belong together it is asked for the largest before the first is published. */
bool capture_can_hold(struct capture_thread *thread, uint64_t bytes);

void *capture_reserve_slowly(struct capture_thread *thread, uint64_t bytes);
void capture_wake_writer(struct capture_stream *stream);

/* Room for a record; waits while there is none. NULL, with recording stopped, for a record that is
 * larger than the limit, or for which there is no memory. */
static inline void *capture_reserve(struct capture_thread *thread, uint64_t bytes)
{
    void *record = capture_ring_reserve(thread->ring, bytes);
    return __builtin_expect(record != NULL, 1) ? record : capture_reserve_slowly(thread, bytes);
}

static inline void capture_publish(struct capture_thread *thread, uint64_t bytes)
{
    if (__builtin_expect(capture_ring_publish(thread->ring, bytes), 0))
        capture_wake_writer(thread->stream);
}

/* For records that should reach the file soon even if no others follow. */
static inline void capture_wake_writer_if_asleep(struct capture_stream *stream)
{
    if (atomic_load_explicit(&stream->state, memory_order_relaxed) == CAPTURE_WRITER_SLEEPS)
        capture_wake_writer(stream);
}

static inline uint64_t capture_ticket(struct capture_stream *stream)
{
    return atomic_fetch_add_explicit(&stream->ticket, 1, memory_order_relaxed) + 1;
}

/* Copies at most the staging's size into staging memory and returns its position; waits while
 * there is no room. False, with recording stopped: there is no memory. The position must be
 * published before the thread stages more. */
bool capture_stage(struct capture_thread *thread, const void *data, uint64_t bytes,
                   uint64_t *out_position);

/* The same into a part of a range that was claimed. `beside`: by a thread that is not the
 * application's, so that waiting for room is not counted. */
bool capture_stage_at(struct capture_stream *stream, uint64_t position, const void *data,
                      uint64_t bytes, bool beside);

/* The number of a string, recording it when it is new. Longer ones than TRACE_MAX_STRING_BYTES are
 * cut. Call it before capture_reserve, not between reserve and publish. NULL: 0. */
uint32_t capture_string(struct capture_thread *thread, const char *text);

/* The same for why something failed. What a program does again and again may fail each time with
 * another number in its message: of that the capture does not keep any amount. */
enum { CAPTURE_MOST_MESSAGES = 4096 };
uint32_t capture_message(struct capture_thread *thread, const char *text);

#endif
