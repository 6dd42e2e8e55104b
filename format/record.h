/* SPDX-License-Identifier: Apache-2.0 */
/* Events in memory: the single representation that capture writes into its rings, the writer stores
 * as columns, and the reader returns to replay, viewer and tools.
 *
 * A record is a struct below, whose first member is a header, followed by its variable part;
 * records are contiguous, each aligned to 8 bytes. There are two families:
 *
 *   events    what host threads and the device did; header struct trace_event
 *   segments  the commands of one ended command buffer; header struct trace_segment.
 *             `segment_count` of them directly follow a TRACE_COMMAND_BUFFER_SEAL event.
 *
 * Strings, stacks, threads, modules and contents are numbered (0 is none) and defined once by table
 * records. In the ring, a string may be used before the record that defines it has reached the file
 * (they may come from different threads); an open reader has all of them.
 *
 * Tickets order events of different threads: one counter per capture, from 1. An operation with
 * effects that others can see (submit, signal, destroy, unmap of written memory) takes its ticket
 * before the operation; one that observes others (wait, query, create, map for reading) takes it
 * after. Hence an effect always has a larger ticket than its cause, and events can be executed in
 * ticket order without ever waiting for a later one.
 *
 * Enum values are stored: never change or reuse one. Enumerations of the HAL (memory types, usages,
 * stages, formats, status, ...) are stored with the HAL's values; capture proves that they match
 * those in this header. */
#ifndef FORMAT_RECORD_H
#define FORMAT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Events ------------------------------------------------------------------------------- */

enum trace_event_kind {
    TRACE_BUFFER_CREATE = 1,
    TRACE_BUFFER_DESTROY = 2,
    TRACE_BUFFER_MAP = 3,
    TRACE_BUFFER_UNMAP = 4,
    TRACE_MAPPING_FLUSH = 5,
    TRACE_MAPPING_INVALIDATE = 6,
    TRACE_HOST_WRITE = 7, /* contents that the host wrote to a buffer */
    TRACE_HOST_READ = 8,  /* contents that the host read from a buffer */
    TRACE_EXECUTABLE_CREATE = 9,
    TRACE_EXECUTABLE_DESTROY = 10,
    TRACE_COMMAND_BUFFER_CREATE = 11,
    TRACE_COMMAND_BUFFER_SEAL = 12,
    TRACE_COMMAND_BUFFER_DESTROY = 13,
    TRACE_SEMAPHORE_CREATE = 14,
    TRACE_SEMAPHORE_DESTROY = 15,
    TRACE_SEMAPHORE_QUERY = 16,
    TRACE_SEMAPHORE_SIGNAL = 17,
    TRACE_SEMAPHORE_FAIL = 18,
    TRACE_SEMAPHORE_WAIT = 19,
    TRACE_SUBMIT = 20,
    TRACE_SUBMISSION_DONE = 21,
    TRACE_WAIT_IDLE = 22,
    TRACE_SCOPE_BEGIN = 23,
    TRACE_SCOPE_END = 24,
    TRACE_EVENT_CREATE = 32,
    TRACE_EVENT_DESTROY = 33,
    TRACE_SUBSPAN_CREATE = 25, /* a name for a range of a buffer */
    TRACE_SUBSPAN_DESTROY = 26,
    TRACE_HOST_CALL_BEGIN = 27, /* the waits of a submission that calls the host are met */
    TRACE_HOST_CALL_END = 28,   /* its signals follow; contents are exchanged in between */
    TRACE_QUEUE_FLUSH = 29,
    TRACE_SET_LAYOUT_CREATE = 34,
    TRACE_SET_LAYOUT_DESTROY = 35,
    TRACE_PIPELINE_LAYOUT_CREATE = 36,
    TRACE_PIPELINE_LAYOUT_DESTROY = 37,
    TRACE_DISPATCH_TIMES = 38,     /* device times of one submission's dispatches */
    TRACE_COMMAND_STACKS = 39,     /* where the commands of a command buffer were recorded */
    TRACE_FILE = 40,               /* a file, at the first read by a queue */
    TRACE_UNSUPPORTED = 41,        /* a call that the trace cannot hold; its result is omitted */
    TRACE_SUBMISSION_OUTPUTS = 42, /* digests of what one submission may have written */
    /* 30, 31 and 43 are reserved: no version writes them. */
    TRACE_CHANNEL_CREATE = 44, /* one rank of a group */
    TRACE_CHANNEL_DESTROY = 45,
    TRACE_COLLECTIVE = 46,    /* the collective of a submission, executed with other ranks */
    TRACE_MAPPED_CHANGE = 47, /* mapped bytes that the host or the device changed */
    /* Table records: they define numbers and are not events. */
    TRACE_STRING = 64,
    TRACE_STACK = 65,
    TRACE_MODULE = 66,
    TRACE_THREAD = 67,
    /* From here on, events that older readers skip: nothing else may depend on them. */
    TRACE_FAILURE = 1000, /* why a call of the thread failed: its status and times */
};

/* The record that starts with this head. */
#define TRACE_AS(type, record) ((const struct type *)(const void *)(record))

enum {
    TRACE_TABLE_END = TRACE_THREAD + 1,
    TRACE_FIRST_OPTIONAL_KIND = 1000,
    TRACE_OPTIONAL_END = TRACE_FAILURE + 1,
};

struct trace_event {
    uint16_t kind;    /* enum trace_event_kind */
    uint16_t status;  /* enum hal_status that the application received */
    uint32_t bytes;   /* of the whole record, multiple of 8 */
    uint64_t ticket;  /* 0: unordered (scopes, TRACE_SUBMISSION_DONE, tables) */
    int64_t begin_ns; /* begin of the call, in hal_clock_ns time */
    int64_t end_ns;   /* return of the call */
    uint32_t thread;  /* filled in by writer and reader; unused in rings */
    uint32_t stack;   /* call stack number, 0: none */
};

static inline bool trace_is_table(const struct trace_event *event)
{
    return event->kind >= TRACE_STRING && event->kind < TRACE_TABLE_END;
}

/* Destroy events and event creation: only the object. */
struct trace_object_event {
    struct trace_event head;
    uint64_t object;
    uint32_t label; /* string */
    uint32_t reserved;
};

/* The values are the HAL's. */
enum trace_command_buffer_mode { TRACE_ONE_SHOT = 0, TRACE_REUSABLE = 1 };
enum trace_command_category { TRACE_TRANSFER_COMMANDS = 1, TRACE_DISPATCH_COMMANDS = 2 };

struct trace_command_buffer_create {
    struct trace_event head;
    uint64_t command_buffer;
    uint32_t label;      /* string */
    uint32_t mode;       /* enum trace_command_buffer_mode */
    uint32_t categories; /* enum trace_command_category; 0: unknown, in older traces */
    uint32_t reserved;
};

struct trace_buffer_create {
    struct trace_event head;
    uint64_t buffer;
    uint64_t size; /* bytes */
    uint32_t memory, usage;
    uint32_t label;
    uint32_t flags; /* enum trace_flag */
};

/* Each kind of record uses the flags of this list and of one list below, so 4 has two meanings. */
enum trace_flag {
    /* Recorded by a capture that began late: the object existed before. */
    TRACE_FLAG_SNAPSHOT = 1,
};

enum trace_semaphore_flag {
    TRACE_FLAG_EXTERNAL = 4, /* belongs to another device, or is signalled by one */
};

enum trace_content_flag {
    TRACE_FLAG_OBSERVED = 2,   /* host read: visible to the host in a persistent mapping */
    TRACE_FLAG_DIGEST = 4,     /* the content is the bytes' SHA-256 */
    TRACE_FLAG_FILE = 8,       /* host write: by a queue that read the bytes from `file` */
    TRACE_FLAG_HOST_PAGE = 32, /* mapped change: the host stored into its page; not needed */
};

enum trace_executable_flag {
    TRACE_FLAG_REFLECTED = 16, /* the bindings of all entry points are recorded */
};

/* Map, unmap, flush, invalidate. `offset` counts from the start of the buffer. */
struct trace_mapping_event {
    struct trace_event head;
    uint64_t buffer;
    uint64_t mapping; /* unique number of the mapping in the trace */
    uint64_t offset, size;
    uint32_t mode; /* enum hal_map_mode */
    uint32_t reserved;
};

/* Host write, host read. Large ranges are split into records with the same ticket. `content` is the
 * number of the stored bytes or, in a ring, the position in the capture's staging memory. With
 * TRACE_FLAG_DIGEST, the stored bytes are the 32 of the range's SHA-256 because the policy or the
 * budget excluded the contents. Content 0: nothing is known. */
struct trace_content_event {
    struct trace_event head;
    uint64_t buffer;
    uint64_t offset, size;
    uint64_t content;
    uint32_t flags; /* enum trace_flag, enum trace_content_flag */
    uint32_t file;  /* string: path of the file that the bytes came from; 0: the host */
    uint64_t file_offset;
};

/* Bytes of mapped memory changed while work that may write them was in flight, so it is unknown
 * whether the host or the device stored them. `part` has the range and the bytes after the change;
 * a byte that is equal before and after did not change. Without contents, nothing is known. */
struct trace_mapped_change {
    struct trace_content_event part;
    uint64_t before; /* content: bytes of the range before the change; 0: unknown */
};

/* One piece of a file, or none (part.size 0). Pieces share their ticket. `part` has no buffer; its
 * file and file_offset locate the bytes. */
struct trace_file {
    struct trace_content_event part;
    uint64_t file_bytes;
    int64_t modified_ns; /* by the system's clock; INT64_MIN: unknown */
};

struct trace_unsupported {
    struct trace_event head;
    uint64_t object; /* object that the call created or ended */
    uint32_t call;   /* string: the function of the HAL */
    uint32_t message;
};

struct trace_failure {
    struct trace_event head;
    uint32_t call;    /* string: the function of the HAL */
    uint32_t message; /* string: the message that the application could read */
};

enum { TRACE_DIGEST_BYTES = 32 };

/* Returns the size of the stored bytes. */
static inline uint64_t trace_content_bytes(const struct trace_content_event *event)
{
    return event->flags & TRACE_FLAG_DIGEST ? TRACE_DIGEST_BYTES : event->size;
}

enum { TRACE_MAX_GROUP_ARGUMENTS = 8 };

struct trace_entry_point {
    uint32_t name; /* string */
    uint32_t group_size[3];
    uint32_t constant_bytes;
    uint32_t constants_slot;
    uint32_t group_argument_bytes[TRACE_MAX_GROUP_ARGUMENTS];
    uint64_t layout; /* pipeline layout; 0: none */
};

struct trace_layout_binding {
    uint32_t index, kind, flags;
};

struct trace_set_layout_create {
    struct trace_event head;
    uint64_t layout;
    uint32_t label;
    uint32_t binding_count;
    struct trace_layout_binding bindings[];
};

struct trace_pipeline_layout_create {
    struct trace_event head;
    uint64_t layout;
    uint32_t label;
    uint32_t constant_bytes;
    uint32_t set_count;
    uint32_t reserved;
    uint64_t sets[];
};

struct trace_constant {
    uint32_t index, type;
    uint64_t bits;
};

/* The same kernels in another format. */
struct trace_variant {
    uint64_t content; /* as in trace_content_event */
    uint64_t size;
    uint32_t format;
    uint32_t reserved;
};

/* A binding of an entry point. */
struct trace_entry_binding {
    uint32_t entry; /* number of the entry point */
    uint32_t set, index;
    uint32_t access; /* enum hal_access; 0: unknown to the device */
};

struct trace_executable_create {
    struct trace_event head;
    uint64_t executable;
    uint64_t content; /* the source or binary that the device took; as in trace_content_event */
    uint64_t size;
    uint32_t format;
    uint32_t label;
    uint32_t flags;
    uint32_t entry_point_count, constant_count;
    uint32_t variant_count; /* variants that the device did not take */
    uint32_t binding_count; /* of all entry points; with TRACE_FLAG_REFLECTED */
    uint32_t reserved;
    struct trace_entry_point entry_points[]; /* followed by variants, constants and bindings */
};

static inline const struct trace_variant *trace_executable_variants(
    const struct trace_executable_create *executable)
{
    return TRACE_AS(trace_variant, executable->entry_points + executable->entry_point_count);
}

static inline const struct trace_constant *trace_executable_constants(
    const struct trace_executable_create *executable)
{
    return TRACE_AS(trace_constant,
                    trace_executable_variants(executable) + executable->variant_count);
}

/* By ascending entry, set and index. */
static inline const struct trace_entry_binding *trace_executable_bindings(
    const struct trace_executable_create *executable)
{
    return (
        const struct trace_entry_binding *)(const void *)(trace_executable_constants(executable) +
                                                          executable->constant_count);
}

struct trace_command_buffer_seal {
    struct trace_event head;
    uint64_t command_buffer;
    uint32_t segment_count;
    uint32_t dispatch_count;
    uint64_t segment_bytes; /* size of the segments that follow */
    uint32_t flags;
    uint32_t reserved;
};

struct trace_semaphore_create {
    struct trace_event head;
    uint64_t semaphore;
    uint64_t initial_value; /* in a snapshot: the value at that time */
    uint32_t label;
    uint32_t flags;
};

/* Query (value: the one seen), signal, fail (value unused; the status is the failure's). */
struct trace_semaphore_event {
    struct trace_event head;
    uint64_t semaphore;
    uint64_t value;
    uint32_t message; /* string, of a failure */
    uint32_t flags;   /* enum trace_flag, enum trace_semaphore_flag */
};

struct trace_semaphore_value {
    uint64_t semaphore, value;
};

struct trace_semaphore_wait {
    struct trace_event head;
    int64_t timeout_ns; /* INT64_MAX: no limit */
    uint32_t mode;      /* enum hal_wait_mode */
    uint32_t value_count;
    struct trace_semaphore_value values[];
};

/* The queue operation that the application requested. The commands of FILL to DISPATCH are in a
 * command buffer like all others. The values are those of enum hal_operation. */
enum trace_operation {
    TRACE_OPERATION_EXECUTE = 0,
    TRACE_OPERATION_BARRIER = 1,
    TRACE_OPERATION_FILL = 2,
    TRACE_OPERATION_COPY = 3,
    TRACE_OPERATION_UPDATE = 4,
    TRACE_OPERATION_DISPATCH = 5,
    TRACE_OPERATION_ALLOCA = 6,      /* allocated when the signals are set */
    TRACE_OPERATION_DEALLOCA = 7,    /* freed when the waits are met */
    TRACE_OPERATION_READ = 8,        /* from a file into the range */
    TRACE_OPERATION_WRITE = 9,       /* from the range into a file */
    TRACE_OPERATION_COLLECTIVE = 10, /* into the range, or from it if the rank receives nothing */
};

struct trace_submit {
    struct trace_event head;
    uint64_t submission; /* the n of "#sn" */
    uint32_t queue;
    uint32_t wait_count, signal_count, command_buffer_count;
    uint32_t operation; /* enum trace_operation */
    uint32_t file;      /* string: the path; read and write */
    uint64_t buffer;    /* alloca, dealloca, read, write: the range; otherwise 0 */
    uint64_t offset, size;
    uint64_t file_offset;
    uint64_t affinity; /* the queues that were allowed, if there was a choice: bit i is queue i */
    /* wait_count + signal_count semaphore values, then command_buffer_count ids (uint64_t) */
    struct trace_semaphore_value values[];
};

static inline const uint64_t *trace_submit_command_buffers(const struct trace_submit *submit)
{
    return (const uint64_t *)(const void *)(submit->values + submit->wait_count +
                                            submit->signal_count);
}

/* The head's status is the work's result; begin_ns and end_ns are *device* times. */
struct trace_submission_done {
    struct trace_event head;
    uint64_t submission;
    int64_t ready_ns; /* when its waits were met; 0: unknown, like the times in the head */
    int64_t busy_ns;
    uint32_t queue;
    uint32_t message; /* string, of a failure */
};

struct trace_dispatch_time {
    uint32_t command_buffer; /* index in the submission's list */
    uint32_t dispatch;       /* index in that command buffer, from 0, counting indirect ones */
    int64_t begin_ns, end_ns;
};

enum { TRACE_TIMES_ISOLATED = 1 }; /* dispatches were serialised for timing */

/* Precedes the submission's TRACE_SUBMISSION_DONE on the same thread, in as many records as needed;
 * dispatches that the device did not time are missing. The head's times span all of them. */
struct trace_dispatch_times {
    struct trace_event head;
    uint64_t submission;
    uint32_t queue;
    uint32_t flags;
    uint32_t time_count;
    uint32_t reserved;
    struct trace_dispatch_time times[];
};

enum trace_written_state {
    TRACE_WRITTEN_KNOWN = 0,
    TRACE_WRITTEN_SHARED = 1, /* other work may have written there at the same time */
    TRACE_WRITTEN_HOST = 2,   /* the host may have written: it was mapped for writing */
    TRACE_WRITTEN_UNSEEN = 3, /* the capture could not read it */
};

struct trace_written {
    uint64_t buffer, offset, size;
    uint64_t digest[4]; /* SHA-256 of the range: its bytes in order, low byte first; or zeros */
    uint32_t state;     /* enum trace_written_state; only the first has a digest */
    uint32_t reserved;
};

/* Contents of the ranges that a submission may have written, taken when it ended and before its end
 * was observable. In as many records as needed, after its TRACE_SUBMIT by ticket. A failed
 * submission has none. */
struct trace_submission_outputs {
    struct trace_event head;
    uint64_t submission;
    uint32_t queue;
    uint32_t output_count;
    struct trace_written outputs[];
};

/* Stacks of segments `first` to `first + stack_count - 1`, counted from 0. Precedes the seal, in as
 * many records as needed. 0: unknown. */
struct trace_command_stacks {
    struct trace_event head;
    uint64_t command_buffer;
    uint32_t first;
    uint32_t stack_count;
    uint32_t stacks[]; /* padded to 8 */
};

struct trace_wait_idle {
    struct trace_event head;
    int64_t timeout_ns;
};

/* Commands never name a subspan but its `root`, with the offset added. */
struct trace_subspan_create {
    struct trace_event head;
    uint64_t subspan, root;
    uint64_t offset, size; /* within the root */
    uint32_t label;
    uint32_t flags; /* enum trace_flag */
};

struct trace_host_call {
    struct trace_event head; /* END: a status other than OK fails the signals */
    uint64_t submission;
    uint32_t message; /* string, of a failure */
    uint32_t reserved;
};

struct trace_channel_create {
    struct trace_event head;
    uint64_t channel;
    uint64_t group; /* the same for all ranks of the group in all traces of the process */
    uint32_t rank, count;
    uint32_t label;
    uint32_t flags; /* enum trace_flag */
};

/* The values are those of the HAL. */
enum trace_collective_operation {
    TRACE_ALL_REDUCE = 1,
    TRACE_ALL_GATHER = 2,
    TRACE_REDUCE_SCATTER = 3,
    TRACE_BROADCAST = 4,
    TRACE_SEND = 5,
    TRACE_RECEIVE = 6,
};

/* Between the two events of the submission's host call, on the thread of its end and directly
 * before what was received (a host write) or that end. The data sent is a host read before it. */
struct trace_collective {
    struct trace_event head;
    uint64_t submission;
    uint64_t channel;
    uint32_t collective; /* enum trace_collective_operation */
    uint32_t type;       /* enum hal_element_type */
    uint32_t reduction;  /* enum hal_reduction */
    uint32_t peer;       /* rank */
    uint64_t count;      /* elements */
    uint64_t number;     /* index in the group, or between the two ranks; from 0 */
    uint64_t send, send_offset, send_size; /* range that the rank sends; 0: none */
    uint64_t receive, receive_offset, receive_size;
};

struct trace_queue_flush {
    struct trace_event head;
    uint64_t queues; /* bit i: queue i; 0: all */
};

struct trace_scope {
    struct trace_event head; /* BEGIN: begin_ns, END: end_ns; the other time is equal */
    uint32_t name;           /* string; 0 for an end */
    uint32_t reserved;
};

/* ---- Tables ------------------------------------------------------------------------------- */

struct trace_string {
    struct trace_event head;
    uint32_t id;
    uint32_t length;
    char text[]; /* UTF-8 as the application gave it, not terminated */
};

struct trace_stack {
    struct trace_event head;
    uint32_t id;
    uint32_t frame_count;
    uint64_t frames[]; /* return addresses, innermost first */
};

struct trace_module {
    struct trace_event head;
    uint64_t base, size; /* load address and size */
    uint32_t path;       /* string */
    uint32_t build_id_bytes;
    uint8_t build_id[]; /* padded to 8 */
};

struct trace_thread {
    struct trace_event head;
    uint64_t system_id;
    uint32_t id;   /* value of trace_event.thread */
    uint32_t name; /* string */
};

/* ---- Segments ----------------------------------------------------------------------------- */

/* The values are those of enum hal_command_kind. */
enum trace_segment_kind {
    TRACE_BARRIER = 1,
    TRACE_FILL = 2,
    TRACE_COPY = 3,
    TRACE_UPDATE = 4,
    TRACE_PUSH_CONSTANTS = 5,
    TRACE_PUSH_DESCRIPTOR_SET = 6,
    TRACE_DISPATCH = 7,
    TRACE_DEBUG_BEGIN = 8,
    TRACE_DEBUG_END = 9,
    TRACE_DISPATCH_INDIRECT = 10,
    TRACE_EVENT_SIGNAL = 11,
    TRACE_EVENT_RESET = 12,
    TRACE_EVENTS_WAIT = 13,
};

/* True for commands that the n of "#s12.dn" counts. */
static inline bool trace_is_dispatch(uint32_t segment_kind)
{
    return segment_kind == TRACE_DISPATCH || segment_kind == TRACE_DISPATCH_INDIRECT;
}

static inline bool trace_is_transfer(uint32_t segment_kind)
{
    return segment_kind == TRACE_FILL || segment_kind == TRACE_COPY || segment_kind == TRACE_UPDATE;
}

/* True for commands that execute on the device; all others set state or order work. */
static inline bool trace_is_work(uint32_t segment_kind)
{
    return trace_is_dispatch(segment_kind) || trace_is_transfer(segment_kind);
}

struct trace_segment {
    uint16_t kind; /* enum trace_segment_kind */
    uint16_t reserved;
    uint32_t bytes; /* of the whole record, multiple of 8 */
};

struct trace_buffer_barrier {
    uint64_t buffer, offset, size;
    uint32_t source_access, target_access;
};

struct trace_barrier {
    struct trace_segment head;
    uint32_t source_stages, target_stages;
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t reserved;
    struct trace_buffer_barrier buffers[];
};

/* Signal, reset. */
struct trace_event_command {
    struct trace_segment head;
    uint64_t event;
    uint32_t source_stages; /* for a signal */
    uint32_t reserved;
};

/* The fields of a barrier, then the events. */
struct trace_events_wait {
    struct trace_segment head;
    uint32_t source_stages, target_stages;
    uint32_t source_access, target_access;
    uint32_t buffer_count;
    uint32_t event_count;
    struct trace_buffer_barrier buffers[]; /* followed by event_count ids (uint64_t) */
};

static inline uint64_t *trace_waited_events(const struct trace_events_wait *wait)
{
    return (uint64_t *)(uintptr_t)(wait->buffers + wait->buffer_count);
}

struct trace_fill {
    struct trace_segment head;
    uint64_t target, offset, size;
    uint32_t pattern, pattern_bytes;
};

struct trace_copy {
    struct trace_segment head;
    uint64_t source, target;
    uint64_t source_offset, target_offset, size;
};

struct trace_update {
    struct trace_segment head;
    uint64_t target, offset, size;
    uint8_t data[]; /* padded to 8 */
};

struct trace_push_constants {
    struct trace_segment head;
    uint32_t offset, size;
    uint8_t data[]; /* padded to 8 */
};

struct trace_binding {
    uint64_t buffer, offset, size; /* buffer 0: unbound */
};

struct trace_push_descriptor_set {
    struct trace_segment head;
    uint32_t set, binding_count;
    struct trace_binding bindings[];
};

struct trace_dispatch {
    struct trace_segment head;
    uint64_t executable;
    uint32_t entry;
    uint32_t workgroup_count[3];
};

enum { TRACE_COUNTS_BYTES = 3 * sizeof(uint32_t) };

/* The counts are TRACE_COUNTS_BYTES in a buffer. */
struct trace_dispatch_indirect {
    struct trace_segment head;
    uint64_t executable;
    uint64_t counts, offset;
    uint32_t entry;
    uint32_t reserved;
};

/* The kernel that a command dispatches. */
struct trace_dispatched {
    uint64_t executable;
    uint32_t entry;
};

/* For a command for which trace_is_dispatch is true. */
static inline struct trace_dispatched trace_dispatched(const struct trace_segment *segment)
{
    const void *typed = segment;
    const struct trace_dispatch *direct = typed;
    const struct trace_dispatch_indirect *indirect = typed;
    return segment->kind == TRACE_DISPATCH
               ? (struct trace_dispatched){direct->executable, direct->entry}
               : (struct trace_dispatched){indirect->executable, indirect->entry};
}

struct trace_debug {
    struct trace_segment head; /* DEBUG_BEGIN; an end is a bare head */
    uint32_t color;
    uint32_t label; /* string */
};

/* ---- Contents ----------------------------------------------------------------------------- */

/* Returns where a valid record keeps content `index`, and its size; NULL: index is too large. An
 * executable has one content per format. */
static inline uint64_t *trace_record_content(struct trace_event *event, uint32_t index,
                                             uint64_t *out_bytes)
{
    void *record = event;
    if (event->kind == TRACE_EXECUTABLE_CREATE) {
        struct trace_executable_create *create = record;
        struct trace_variant *variants =
            (struct trace_variant *)(void *)(create->entry_points + create->entry_point_count);
        if (index > create->variant_count)
            return NULL;
        *out_bytes = index ? variants[index - 1].size : create->size;
        return index ? &variants[index - 1].content : &create->content;
    }
    if (event->kind == TRACE_MAPPED_CHANGE && index == 1) {
        struct trace_mapped_change *change = record;
        *out_bytes = trace_content_bytes(&change->part);
        return &change->before;
    }
    if (index || (event->kind != TRACE_HOST_WRITE && event->kind != TRACE_HOST_READ &&
                  event->kind != TRACE_FILE && event->kind != TRACE_MAPPED_CHANGE))
        return NULL;
    *out_bytes = trace_content_bytes((const struct trace_content_event *)record);
    return &((struct trace_content_event *)record)->content;
}

/* ---- Walking ------------------------------------------------------------------------------ */

static inline const struct trace_event *trace_next_event(const struct trace_event *event)
{
    return TRACE_AS(trace_event, (const uint8_t *)event + event->bytes);
}

static inline const struct trace_segment *trace_next_segment(const struct trace_segment *segment)
{
    return TRACE_AS(trace_segment, (const uint8_t *)segment + segment->bytes);
}

#endif
