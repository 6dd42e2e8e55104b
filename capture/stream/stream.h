/* SPDX-License-Identifier: Apache-2.0 */
/* Moves records from the application's threads to the file: one ring per thread, staging memory for
 * contents, one writer thread, tickets, and the one error that ends recording.
 *
 *     thread = capture_enter(stream)          NULL: recording is over, only forward the call
 *     record = capture_reserve(thread, bytes) room in the thread's own ring; fill it
 *     capture_publish(thread, bytes)          the writer, and a recovery, may see it
 *
 * This takes no lock, does not allocate and makes no system call, except when a thread records for
 * the first time, when it outgrows its first ring, and when the writer is behind: then the thread
 * waits, and the wait is counted. An error stops recording: later records count as lost, and
 * records already published are still written if the file permits. */
#ifndef CAPTURE_STREAM_H
#define CAPTURE_STREAM_H

#include "capture/stream/copier.h"
#include "capture/stream/ring.h"
#include "capture/stream/staging.h"
#include "capture/stream/table.h"
#include "capture/stream/unwind_cache.h"
#include "format/record.h"
#include "format/trace.h"
#include "hal/base/os.h"

/* How much of contents is recorded. */
enum capture_detail { CAPTURE_BYTES, CAPTURE_DIGEST, CAPTURE_NOTHING };

enum capture_files {
    CAPTURE_FILES_RANGES,
    CAPTURE_FILES_REFERENCE,
    CAPTURE_FILES_ALL, /* ranges and whole files */
    CAPTURE_FILES_FAIL,
};

struct capture_policy {
    enum capture_detail contents, outputs; /* what the host writes; what it reads */
    enum capture_files files;              /* what queues read from files */
    uint64_t budget_bytes;                 /* limit for contents stored as bytes; 0: none */
};

/* Sizes are requests: they are halved as limits or the sidecar's folder require, down to
 * CAPTURE_LEAST_STAGING_BYTES and CAPTURE_LEAST_RING_BYTES. */
struct capture_stream_options {
    const char *destination;
    const char *sidecar_folder; /* NULL or "": in memory, else beside the destination */
    int64_t start_ns;
    uint64_t staging_bytes; /* a power of two */
    uint64_t ring_bytes;    /* size of prepared rings, half of a thread's; a power of two */
    struct capture_policy policy;
};

enum { CAPTURE_LEAST_STAGING_BYTES = 1 << 20, CAPTURE_LEAST_RING_BYTES = 64 << 10 };

/* The state of one thread that records into one stream. */
struct capture_thread {
    struct capture_ring *ring;
    struct capture_stream *stream;
    uint32_t number;
    uint32_t calls;       /* counts calls: only every n-th is timed */
    uint64_t measured_ns; /* overhead measured exactly; part of overhead_ns */
    struct capture_unwind_cache *unwind_cache;
    const void *stored; /* the open mapping whose bytes are already recorded; NULL: none */
    /* Read by other threads. */
    _Atomic uint64_t overhead_ns;
    _Atomic uint64_t rings_bytes; /* total size of its rings */
    _Atomic bool exited;
    /* Writer. */
    struct capture_ring *reading;
    struct capture_ring *flush_ring; /* a flush drains it up to `flush_head` */
    uint64_t flush_head;
    struct capture_ring
        *finished; /* rings that were read but are not in the file yet, linked by `older` */
    uint64_t segment_bytes;      /* remaining bytes of the seal being read */
    struct capture_thread *next; /* all threads of the stream */
};

/* A second file, which takes the first one's name when the next one begins (flight_recorder.h). */
struct capture_successor {
    struct trace_writer *writer;
    const char *path; /* outlives the stream */
    int64_t start_ns;
    uint64_t first_ticket; /* first ticket that it receives */
    uint64_t skipped_tickets;
    bool broken; /* its beginning is incomplete: it never gets the name */
};

enum capture_writer_state {
    CAPTURE_WRITER_AWAKE,
    CAPTURE_WRITER_RESTS,  /* until the next flush is due or rings run out */
    CAPTURE_WRITER_SLEEPS, /* long idle: any submission wakes it */
};

struct capture_stream {
    uint64_t generation; /* unique in the process */
    /* 1 while recording is active. On its own page, which is zero in a forked child. */
    _Atomic uint32_t *recording;
    int process;
    _Atomic uint64_t ticket;
    uint64_t ring_bytes;
    uint64_t spare_bytes; /* part of the ring area reserved for oversized records */
    struct capture_sidecar sidecar;
    struct capture_staging staging;
    struct capture_copier copier;
    struct capture_table strings;
    struct capture_table files; /* files recorded, with size and time */
    _Atomic uint32_t messages;  /* distinct failure messages */

    pthread_mutex_t threads_lock; /* guards the next five and the use of slots */
    struct capture_thread *threads;
    uint32_t thread_count; /* threads that ever recorded */
    uint64_t rings_used;   /* bytes of the ring area ever allocated */
    uint32_t slots_used;
    uint8_t *ring_bases[TRACE_RING_SLOTS]; /* mapping address of each slot's memory, once mapped */

    pthread_mutex_t error_lock; /* guards the next two */
    enum hal_status error;
    char *message;
    _Atomic uint64_t unwritten; /* events that a failed file lacks: the sidecar has them */
    _Atomic uint64_t unsupported_calls, stalls, stall_ns;
    _Atomic uint64_t overhead_ns; /* of threads that have exited */

    struct capture_policy policy;
    _Atomic uint64_t budget_used, over_budget_bytes, digest_reads;

    struct trace_writer *writer;
    struct capture_successor next; /* owned by the writer thread; no writer: none */
    struct capture_successor *_Atomic coming;
    bool keeps_tables; /* set before the writer thread starts */
    bool has_file;     /* it has a name: without one nothing can be recovered */
    bool file_failed;  /* writer: the sidecar keeps what the file lacks */
    pthread_t writer_thread;
    bool writer_runs;
    _Atomic uint32_t state;    /* enum capture_writer_state; the writer waits on it */
    _Atomic uint32_t progress; /* counts flushes; threads wait on it */
    _Atomic uint32_t waiters;  /* threads waiting for progress */
    _Atomic uint64_t flushes_wanted, flushes_done;
    _Atomic bool ending;
    bool left; /* left with work in flight; set before `ending` */
    struct capture_stream *next_live;
};

/* Creates everything except the file. The options have been checked. */
enum hal_status capture_stream_open(struct capture_stream *stream,
                                    const struct capture_stream_options *options) HAL_CHECKED;

/* Starts the thread that writes into `writer`; the stream owns the writer from then on, even if
 * this fails. */
enum hal_status capture_stream_start(struct capture_stream *stream,
                                     struct trace_writer *writer) HAL_CHECKED;

/* When it returns, everything published so far is in the file. Blocks. Returns the error. */
enum hal_status capture_stream_flush(struct capture_stream *stream) HAL_CHECKED;

/* Call with no thread recording and everything flushed: `successor` receives the tables and,
 * exclusively, what is recorded until capture_stream_share; an existing successor replaces the
 * first file. Takes ownership of the writer. Blocks. */
enum hal_status capture_stream_succeed(struct capture_stream *stream,
                                       const struct capture_successor *successor) HAL_CHECKED;
/* Ends the exclusive part, once it is in the successor. Without `works` that never replaces the
 * first file. Returns the error, after which the first file receives nothing more. Blocks. */
enum hal_status capture_stream_share(struct capture_stream *stream, bool works) HAL_CHECKED;

/* Drains, closes the file and frees everything. No thread may be using the stream. Returns the
 * first error. Accepts a stream that was only opened, or zeroed. */
enum hal_status capture_stream_close(struct capture_stream *stream);

/* The same with work in flight, whose completion may still be reported: it is no longer recorded,
 * the file says so, and everything else is kept until the process ends. */
enum hal_status capture_stream_leave(struct capture_stream *stream);

/* True in a child of the process that opened the stream: it must not use or free any of it. */
bool capture_stream_forked(const struct capture_stream *stream);

/* The first error ends recording; later ones are ignored. Preserves the thread's hal_message(). */
void capture_stop(struct capture_stream *stream, enum hal_status status, const char *format, ...)
    HAL_PRINTF(3, 4);
/* The same if only the file could not be written, for the reason in hal_message(): the sidecar
 * keeps everything published. */
void capture_stop_writing(struct capture_stream *stream, enum hal_status status);

/* Counts records that are recorded nowhere. */
void capture_lose(struct capture_stream *stream, uint64_t records);

/* ---- The hot path ------------------------------------------------------------------------- */

/* The calling thread's state in the stream. */
struct capture_thread *capture_enter(struct capture_stream *stream);

/* False, and recording is stopped: no record of that size can ever be reserved. If several records
 * belong together, ask for the largest before publishing the first. */
bool capture_can_hold(struct capture_thread *thread, uint64_t bytes);

void *capture_reserve_slowly(struct capture_thread *thread, uint64_t bytes);
void capture_wake_writer(struct capture_stream *stream);

/* Room for a record; waits until there is some. NULL, and recording is stopped: the record exceeds
 * the limit, or out of memory. */
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

/* Copies at most the staging's size into staging memory and returns its position; waits for room.
 * False, and recording is stopped: out of memory. Publish the position before staging more. */
bool capture_stage(struct capture_thread *thread, const void *data, uint64_t bytes,
                   uint64_t *out_position);

/* The same into part of a claimed range. `beside`: on another thread, whose waits do not count. */
bool capture_stage_at(struct capture_stream *stream, uint64_t position, const void *data,
                      uint64_t bytes, bool beside);

/* The number of a string, which is recorded if new. Truncates at TRACE_MAX_STRING_BYTES. Call it
 * before capture_reserve, not between reserve and publish. NULL: 0. */
uint32_t capture_string(struct capture_thread *thread, const char *text);

/* The same for failure messages, which may differ each time: only a limited number is kept. */
enum { CAPTURE_MOST_MESSAGES = 4096 };
uint32_t capture_message(struct capture_thread *thread, const char *text);

#endif
