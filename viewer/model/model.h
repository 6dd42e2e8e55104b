/* SPDX-License-Identifier: Apache-2.0 */
/* A trace arranged by time: tables of what happened, and tracks that order it. Independent of
 * terminals. Immutable once open, so any number of threads may use it; everything it returns is
 * borrowed until it is closed.
 *
 * Times are nanoseconds since the first event. Tables hold plain structs that refer to each other
 * by index; VIEW_NO_REF is none. Strings are numbers in the trace's string table. */
#ifndef VIEWER_MODEL_H
#define VIEWER_MODEL_H

#include "format/analysis/reflection.h"
#include "format/analysis/statistics.h"
#include "format/limits.h"
#include "format/trace.h"
#include "viewer/model/series.h"
#include "viewer/model/task.h"

#include <pthread.h>

/* ---- Tables ------------------------------------------------------------------------------- */

/* Tables with a row per event are packed, for millions of rows. Take no packed member's address. */
#define VIEW_PACKED __attribute__((packed, aligned(4)))

enum { VIEW_HOST_BITS = 18 };

/* A call of a host thread. */
struct view_call {
    int64_t begin_ns, end_ns;
    uint32_t object; /* index into the kind's objects, or submission; of waits the first in
                        `values`; VIEW_NO_REF: none */
    uint32_t what;   /* index into `whats` */
    uint32_t host : VIEW_HOST_BITS; /* index of the thread */
    uint32_t kind : 8;              /* enum trace_event_kind */
    uint32_t status : 6;            /* enum hal_status */
} VIEW_PACKED;

/* Why a call failed. */
struct view_failure {
    int64_t begin_ns;
    uint32_t host;
    uint32_t call, message, stack; /* the HAL function; the reason */
    uint16_t status;               /* enum hal_status */
};

/* Arguments of a call, which many calls share. */
struct view_what {
    uint64_t offset; /* of mappings; the value of a query or signal; the timeout of a wait in ns */
    uint64_t size;
    uint32_t value_count; /* of waits */
    uint32_t stack;
};

struct view_value {
    uint64_t value;
    uint32_t semaphore;
} VIEW_PACKED;

/* VIEW_NO_TIME: the file has no such time. */
#define VIEW_NO_TIME INT64_MIN

struct view_submission {
    uint64_t number;                    /* the n in "#sn" */
    int64_t ready_ns, begin_ns, end_ns; /* on the device */
    int64_t busy_ns;
    uint64_t dispatch_count;
    uint64_t range_bytes;                    /* alloca, dealloca, read, write */
    uint16_t queue, operation;               /* enum trace_operation */
    uint32_t call;                           /* VIEW_NO_REF: the file has only its end */
    uint32_t first_wait, wait_count;         /* in `values` */
    uint32_t signal_count;                   /* in `values`, after the waits */
    uint32_t first_commands, commands_count; /* in `submitted`: command buffers */
    uint32_t message;                        /* of a failure */
    uint16_t status;
    bool done;
};

/* A dispatch timed by the device. */
struct view_dispatch {
    int64_t begin_ns, end_ns;
    uint32_t submission;
    uint32_t index; /* index among the submission's dispatches */
    uint32_t op;
} VIEW_PACKED;

/* A command in any command buffer: equal ones are stored once. */
struct view_op {
    uint32_t kind;   /* enum trace_segment_kind */
    uint32_t object; /* dispatch: executable; debug begin: label; barrier, wait: number of buffers,
                        events; event: index in `others` */
    uint32_t entry;  /* of the executable */
    uint32_t groups[3]; /* of an indirect dispatch: 0, unknown */
    uint64_t bytes;     /* of copies, fills, updates, constants; bindings of a descriptor set */
};

struct view_command_buffer {
    uint64_t id;
    int64_t create_ns, end_ns;      /* recording: from begin of the first call to end of the last */
    uint32_t create_host, end_host; /* VIEW_NO_REF: not in the file */
    uint32_t label;
    uint32_t body;
    uint32_t calls_ns; /* the calls that create and end it, without the time between them */
    bool is_reusable, transfers, dispatches; /* intended use */
};

/* The commands of command buffers: equal lists are stored once. The first body is empty. */
struct view_body {
    uint32_t first_op, op_count; /* in `segments`, which holds indices into `ops` */
    uint32_t dispatch_count, barrier_count, transfer_count;
};

struct view_kernel {
    uint32_t name;
    uint32_t group_size[3];
};

struct view_executable {
    uint64_t id;
    uint32_t label;
    uint32_t first_kernel, kernel_count;
};

struct view_buffer {
    uint64_t id, bytes;
    int64_t create_ns, destroy_ns; /* VIEW_NO_TIME: from the start; to the end */
    uint32_t label;
};

/* An object with only a name, or a channel. */
struct view_other {
    uint64_t id;
    uint32_t label;
    uint32_t rank, rank_count; /* of a channel; rank_count 0: not a channel */
    uint64_t group;            /* of a channel: equal for all ranks of a process */
};

/* A device with its queues: a merged trace has those of each capture. */
struct view_device {
    const struct trace_device *about;
    const char *program, *host; /* of the process */
    uint64_t process_id;
    uint32_t queue_base;            /* up to the next device's; likewise for objects */
    uint64_t object_base;           /* the first object has a larger number */
    uint32_t first_rank, last_rank; /* in its largest group */
    uint32_t rank_count;            /* size of that group; 0: in no group */
    uint32_t track;                 /* of its work; VIEW_NO_TRACK: no work */
    int64_t busy_ns;
    uint64_t collectives;              /* number begun */
    int64_t collective_ns, waiting_ns; /* time in these; of that, waiting for other ranks */
};

/* A submission's part in an operation with other ranks. */
struct view_collective {
    uint64_t submission; /* submission number */
    uint64_t count;      /* elements */
    uint64_t number;     /* sequence number in the group, or between two ranks */
    uint64_t send_bytes, receive_bytes;
    uint32_t send, receive;  /* buffers, or VIEW_NO_REF */
    uint32_t channel;        /* index in `others` */
    uint32_t peer;           /* rank */
    uint8_t kind;            /* enum trace_collective_operation */
    uint8_t type, reduction; /* enum hal_element_type, enum hal_reduction */
};

/* A semaphore changed its value, or failed. */
struct view_step {
    int64_t time_ns;
    uint64_t value;
    uint32_t semaphore;
    uint32_t submission; /* caused by this or by the call; neither: its creation */
    uint32_t call;
    uint16_t status;
};

struct view_semaphore {
    uint64_t id;
    uint32_t label;
    uint32_t first_step, step_count; /* in `steps`, in time order */
    bool shares_label;               /* with another one: its name disambiguates */
};

/* Bytes moved between host and a buffer. Pieces of one range are one transfer. */
struct view_transfer {
    int64_t begin_ns, end_ns;
    uint64_t bytes, ticket;
    uint64_t offset;
    uint32_t buffer, host;
    uint8_t class; /* VIEW_UPLOAD, VIEW_READBACK, VIEW_OBSERVED */
};

/* Contents of part of a buffer, as the host wrote or saw them. */
struct view_piece {
    int64_t time_ns; /* VIEW_NO_TIME: at the begin of the capture */
    uint64_t content, offset, bytes;
    uint32_t buffer;
    uint8_t class; /* as for a transfer */
    bool stored;   /* the content has the bytes; else the file has only their digest */
};

struct view_scope {
    int64_t begin_ns, end_ns;
    uint32_t name, host;
    uint16_t depth;
    bool open; /* its end is not in the file */
};

/* Memory of buffers from a moment on. */
struct view_level {
    int64_t time_ns;
    uint64_t bytes;           /* of buffers */
    uint64_t transient_bytes; /* between alloca and dealloca */
    uint32_t buffers;         /* alive */
    uint32_t buffer;          /* created or destroyed; VIEW_NO_REF: several, or a transient one */
    uint32_t submission;      /* of an alloca or dealloca, or VIEW_NO_REF */
    int32_t change;           /* -1: decrease, 1: increase */
};

/* A host thread. */
struct view_host {
    uint32_t thread, name;
    uint64_t system_id;
    uint32_t track;
    uint64_t wait_count, submit_count, call_count;
    int64_t wait_ns;
    uint32_t scope_depth; /* maximum nesting */
    bool shares_name;     /* with another thread */
};

/* The device was idle between two submissions. */
struct view_gap {
    int64_t begin_ns, end_ns;
    uint32_t before, after; /* submissions */
    enum view_class cause;  /* the main cause, VIEW_GAP_... */
} VIEW_PACKED;

/* A part of a gap with one cause; it ends where the next part begins or where the gap ends. */
struct view_gap_part {
    int64_t begin_ns;
    uint32_t gap : 29;
    uint32_t cause : 3; /* enum view_class minus VIEW_GAP_HOST */
} VIEW_PACKED;

/* ---- Tracks -------------------------------------------------------------------------------- */

enum view_track_kind {                        /* table that a span's ref indexes */
                       VIEW_TRACK_SCOPE,      /* scopes */
                       VIEW_TRACK_HOST,       /* calls; of VIEW_RECORD: command_buffers */
                       VIEW_TRACK_QUEUE,      /* submissions */
                       VIEW_TRACK_DEVICE,     /* submissions */
                       VIEW_TRACK_COMMANDS,   /* submissions: their commands */
                       VIEW_TRACK_BARRIERS,   /* submissions: the barriers between their commands */
                       VIEW_TRACK_DISPATCHES, /* dispatches */
                       VIEW_TRACK_SEMAPHORES, /* steps, of all semaphores */
                       VIEW_TRACK_SEMAPHORE,  /* steps */
                       VIEW_TRACK_TRANSFERS,  /* transfers */
                       VIEW_TRACK_MEMORY,     /* levels */
                       VIEW_TRACK_GAPS,       /* gaps */
};

#define VIEW_NO_TRACK UINT32_MAX

struct view_track {
    enum view_track_kind kind;
    uint32_t object; /* host, queue, semaphore or device; VIEW_NO_REF: all devices */
    uint32_t depth;  /* of scopes */
    uint32_t parent; /* track that expands or collapses this one; VIEW_NO_TRACK: always visible */
    bool has_children, starts_open;
    bool borrowed;                         /* events and series are its parent's */
    struct view_spans events;              /* one per event; may overlap */
    struct view_series series;             /* for painting */
    uint32_t *event_codes, *painted_codes; /* NULL if not needed */
};

/* ---- Numbers ------------------------------------------------------------------------------ */

/* Calls and bytes of one kind. */
struct view_tally {
    uint64_t count, bytes;
    int64_t ns;
};

struct view_summary {
    int64_t device_begin_ns, device_end_ns; /* first to last work; equal: none */
    int64_t device_busy_ns;                 /* at least one submission running */
    int64_t computing_ns;                   /* working time of workers, as the device reports it */
    struct view_tally gaps[VIEW_GAP_COUNT]; /* [class - VIEW_GAP_HOST]; counted by main cause */
    uint64_t submissions, failed_submissions, unfinished_submissions;
    uint64_t dispatches;     /* executed */
    struct view_tally syncs; /* waits of host threads, and their blocking time */
    struct view_tally polls; /* queries, and waits with timeout 0 */
    struct view_tally uploads, readbacks, observed;
    uint64_t failed_calls;
    uint64_t implausible; /* events with impossible times, which are not drawn */
};

/* Scopes whose names differ only in numbers ("token 17"): iterations of one thing. */
struct view_family {
    char name[64]; /* "token #" */
    uint64_t count;
    int64_t total_ns;
    struct trace_typical time;   /* of one scope */
    int64_t steady_ns;           /* begin of the first one after warm-up */
    uint64_t submissions, syncs; /* calls inside them on the scopes' own threads */
    int64_t sync_ns;
    int64_t device_ns; /* device busy time during them */
};

/* ---- The model ---------------------------------------------------------------------------- */

#define VIEW_TABLE(type, name)                                                                     \
    struct type *name;                                                                             \
    size_t name##_count, name##_capacity

struct view_model {
    struct trace_reader *reader;
    pthread_mutex_t *reading; /* held while the reader decodes: its buffers belong to one thread */
    const struct trace_header *header;
    const struct trace_health *health; /* NULL: the capture did not end */
    const char *truncated;             /* "" or what is missing */
    bool grows; /* still being written: unfinished work is not a failure yet */
    char *path;
    int64_t origin_ns;         /* CLOCK_MONOTONIC of the first event, from which all times count */
    int64_t first_ns, last_ns; /* the whole trace; first may be negative */
    VIEW_TABLE(view_call, calls);
    VIEW_TABLE(view_failure, failures);
    VIEW_TABLE(view_what, whats);
    VIEW_TABLE(view_value, values);
    VIEW_TABLE(view_submission, submissions);
    VIEW_TABLE(view_op, ops);
    VIEW_TABLE(view_dispatch, dispatches); /* by begin */
    bool isolated;                         /* dispatches were isolated for timing */
    uint64_t written_ranges;  /* ranges that submissions may have written, if recorded */
    uint64_t written_digests; /* with a digest */
    VIEW_TABLE(view_command_buffer, command_buffers);
    VIEW_TABLE(view_body, bodies);
    VIEW_TABLE(view_kernel, kernels);
    VIEW_TABLE(view_executable, executables);
    struct trace_reflection reflection; /* of executables */
    VIEW_TABLE(view_buffer, buffers);
    VIEW_TABLE(view_other, others);
    VIEW_TABLE(view_device, devices);         /* at least one */
    VIEW_TABLE(view_collective, collectives); /* by submission */
    uint32_t *rendezvous; /* indices into `collectives`: those that met are adjacent */
    VIEW_TABLE(view_step, steps);
    VIEW_TABLE(view_semaphore, semaphores);
    VIEW_TABLE(view_transfer, transfers);
    VIEW_TABLE(view_piece, pieces); /* by buffer, then time */
    VIEW_TABLE(view_scope, scopes);
    VIEW_TABLE(view_host, hosts);
    VIEW_TABLE(view_level, levels);
    VIEW_TABLE(view_gap, gaps);
    VIEW_TABLE(view_gap_part, gap_parts);
    VIEW_TABLE(view_family, families);
    VIEW_TABLE(view_track, tracks);
    size_t scoped_hosts; /* threads with scopes */
    uint32_t *segments;
    size_t segments_count, segments_capacity;
    uint32_t *submitted;
    size_t submitted_count, submitted_capacity;
    uint32_t queue_tracks[TRACE_MAX_QUEUES]; /* VIEW_NO_TRACK: nothing submitted */
    uint32_t dispatch_track, device_track, gap_track, transfer_track,
        memory_track;                          /* VIEW_NO_TRACK: none; device: total */
    uint32_t *highest;                         /* by block of levels: the one with most bytes */
    uint32_t peak_level, transient_peak_level; /* VIEW_NO_REF: none */
    struct view_summary summary;
};

/* Reads the whole file. HAL_IO, HAL_CORRUPT, HAL_VERSION, HAL_NO_MEMORY. */
enum hal_status view_model_open(const char *path, struct view_model **out_model) HAL_CHECKED;
/* Likewise with progress: `tell` is called periodically with the number of events and commands
 * read, out of all. If it returns false reading stops: HAL_TIMEOUT. */
struct view_progress {
    bool (*tell)(void *user, struct trace_reader *reader, uint64_t read, uint64_t total);
    void *user;
};
enum hal_status view_model_open_slowly(const char *path, const struct view_progress *progress,
                                       struct view_model **out_model) HAL_CHECKED;
/* Reports progress to the task, and stops if the task is stopped. */
struct view_progress view_task_progress(struct view_task *task);
void view_model_close(struct view_model *model);

/* Visits all records again, like trace_reader_each; HAL_TIMEOUT if the task, which may be NULL, was
 * stopped. The bytes of a content, like trace_reader_content. */
enum hal_status view_model_each(const struct view_model *model, struct view_task *task,
                                trace_visit *visit, void *user) HAL_CHECKED;
/* Likewise, like trace_reader_each_in_order. */
enum hal_status view_model_each_in_order(const struct view_model *model, struct view_task *task,
                                         trace_visit *visit, void *user) HAL_CHECKED;
/* Whether the file has all that was recorded: missing records may order or read what it has. */
bool view_model_is_whole(const struct view_model *model);
enum hal_status view_model_content(const struct view_model *model, uint64_t content, void *out,
                                   size_t bytes) HAL_CHECKED;

/* Never NULL. */
const char *view_model_string(const struct view_model *model, uint32_t string);

/* The submission with that number, or VIEW_NO_REF. */
uint32_t view_model_submission(const struct view_model *model, uint64_t number);

/* What made the semaphore reach the value: a step, or VIEW_NO_REF if nothing in the file did. */
uint32_t view_model_reached(const struct view_model *model, uint32_t semaphore, uint64_t value);

/* The device with that queue: an index into `devices`. */
uint32_t view_model_device(const struct view_model *model, uint32_t queue);

/* The track that shows the work of that queue's device, or VIEW_NO_TRACK. */
uint32_t view_model_device_track(const struct view_model *model, uint32_t queue);

/* Whether the track repeats events of other tracks. */
bool view_track_iterations(const struct view_model *model, const struct view_track *track);

/* The submission's collective, or NULL. */
const struct view_collective *view_model_collective(const struct view_model *model,
                                                    const struct view_submission *submission);

/* The *out_count collectives that form one operation with this one, and itself, by rank. */
const uint32_t *view_model_rendezvous(const struct view_model *model,
                                      const struct view_collective *collective, size_t *out_count);

/* The submission that took part in it; of those that met, the last to arrive. NULL: never began. */
const struct view_submission *view_collective_submission(const struct view_model *model,
                                                         const struct view_collective *collective);
const struct view_collective *view_collective_last(const struct view_model *model,
                                                   const struct view_collective *collective);
/* How long this rank waited for the last participant in this trace. */
int64_t view_collective_wait_ns(const struct view_model *model,
                                const struct view_collective *collective);

/* The index-th dispatch of a submission, from 0, or NULL. */
const struct view_op *view_model_dispatch(const struct view_model *model,
                                          const struct view_submission *submission, uint64_t index);

/* The next submission after `after` (VIEW_NO_REF: the first) that waited for a value signalled by
 * this one, or VIEW_NO_REF. Searches only nearby submissions. */
uint32_t view_model_consumer(const struct view_model *model, uint32_t submission, uint32_t after);

/* The first of levels [first, last) with the most bytes; VIEW_NO_REF: none. */
uint32_t view_model_highest(const struct view_model *model, size_t first, size_t last);

/* The first host wait that returned because of the submission, or VIEW_NO_REF. */
uint32_t view_model_observer(const struct view_model *model, uint32_t submission);

/* "token 17" becomes "token #", common to all iterations. Returns a hash of the result. */
uint64_t view_family_name(const char *name, char *out, size_t bytes);

static inline const struct view_what *view_call_what(const struct view_model *model,
                                                     const struct view_call *call)
{
    return &model->whats[call->what];
}

/* The time from the begin of the capture to the first event. */
static inline int64_t view_model_late_ns(const struct view_model *model)
{
    return model->origin_ns - model->header->start_ns;
}

/* When the host's submit call began, and when it returned; VIEW_NO_TIME: not in the file. */
static inline int64_t view_submit_ns(const struct view_model *model,
                                     const struct view_submission *submission)
{
    return submission->call == VIEW_NO_REF ? VIEW_NO_TIME : model->calls[submission->call].begin_ns;
}

static inline int64_t view_submit_end_ns(const struct view_model *model,
                                         const struct view_submission *submission)
{
    return submission->call == VIEW_NO_REF ? VIEW_NO_TIME : model->calls[submission->call].end_ns;
}

/* Whether a call is a host synchronisation: it may block until the device makes progress. */
bool view_call_is_sync(const struct view_model *model, const struct view_call *call);

static inline const struct view_body *view_body(const struct view_model *model,
                                                uint32_t command_buffer)
{
    return &model->bodies[model->command_buffers[command_buffer].body];
}

/* How a gap divides by cause: [class - VIEW_GAP_HOST]. */
void view_gap_causes(const struct view_model *model, const struct view_gap *gap,
                     int64_t out_ns[VIEW_GAP_COUNT]);

/* Index of the event that the track's span is part of; VIEW_NO_REF if there is no single one. */
uint32_t view_track_event_of(const struct view_model *model, const struct view_track *track,
                             const struct view_span *span);

/* The submission that the event is, made or belongs to; VIEW_NO_REF: none. */
uint32_t view_span_submission(const struct view_model *model, const struct view_track *track,
                              const struct view_span *span);

/* The track's event that best matches the range: the one painted at its begin, else the first that
 * begins in it. VIEW_NO_REF: none overlaps it. */
uint32_t view_track_at(const struct view_model *model, const struct view_track *track,
                       int64_t begin_ns, int64_t end_ns);

/* Index of a submission's event on its queue track, with the track in *out_track; likewise a call's
 * event on its host track. VIEW_NO_REF: not drawn. */
uint32_t view_model_queue_event(const struct view_model *model, uint32_t submission,
                                uint32_t *out_track);
uint32_t view_model_host_event(const struct view_model *model, uint32_t call, uint32_t *out_track);

#endif
