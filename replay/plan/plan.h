/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a plan: loading produces it and playing reads it. Private to replay/.
 *
 * Records are checked copies of the file's (format/record.h), *renumbered*: where the file's record
 * holds an object id, the plan's holds an index into `objects` (0: none), and where it holds a
 * content number, an index into `contents` (0: none). */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#include "replay/plan/uninitialised.h"
#include "replay/replay.h"

enum replay_kind {
    REPLAY_BUFFER = 1,
    REPLAY_EXECUTABLE,
    REPLAY_COMMANDS,
    REPLAY_SEMAPHORE,
    REPLAY_EVENT,
    REPLAY_SET_LAYOUT,
    REPLAY_PIPELINE_LAYOUT
};

/* How a semaphore ends, as far as the trace shows: a value signalled out of order fails a
 * semaphore, and the order of several signals is not always known. */
enum replay_outcome { REPLAY_WORKS, REPLAY_FAILS, REPLAY_EITHER };

struct replay_object {
    uint64_t id; /* as recorded; 0: the plan's own */
    enum replay_kind kind;
    bool destroyed;                    /* by the end of the trace; while loading: so far */
    const struct trace_event *created; /* buffer_create, executable_create, object_event (command
                                          buffers), semaphore_create */
    union {
        struct {
            struct replay_uninitialised uninitialised; /* including the fill for a player */
            bool persistent;                           /* mapped persistently at some time */
        } buffer;
        struct {
            const struct trace_command_buffer_seal *seal; /* NULL: never ended, not replayed */
            const struct trace_segment *segments;
            bool submitted; /* loading: submitted before */
        } commands;
        struct {
            uint64_t reached;  /* loading: highest value seen, or set by the host, so far */
            uint64_t promised; /* loading: highest value promised so far */
            uint64_t
                signaled;    /* highest value set by the host or by ended work, successful or not */
            uint64_t comes;  /* loading: highest value certain to be set, so far */
            bool keeps_work; /* lost work waits for it forever */
            bool by_loss;    /* it fails because the recorded device was lost */
            enum replay_outcome outcome;
        } semaphore;
    };
};

/* The player's actions; each comment names the event's struct. */
enum replay_action {
    REPLAY_CREATE_BUFFER,      /* trace_buffer_create */
    REPLAY_DESTROY_BUFFER,     /* trace_object_event */
    REPLAY_WRITE,              /* trace_content_event */
    REPLAY_READ,               /* trace_content_event */
    REPLAY_CREATE_EXECUTABLE,  /* trace_executable_create */
    REPLAY_DESTROY_EXECUTABLE, /* trace_object_event */
    REPLAY_RECORD_COMMANDS,    /* trace_command_buffer_seal */
    REPLAY_DESTROY_COMMANDS,   /* trace_object_event */
    REPLAY_CREATE_SEMAPHORE,   /* trace_semaphore_create */
    REPLAY_DESTROY_SEMAPHORE,  /* trace_object_event */
    REPLAY_CREATE_EVENT,       /* trace_object_event */
    REPLAY_DESTROY_EVENT,      /* trace_object_event */
    REPLAY_SIGNAL,             /* trace_semaphore_event */
    REPLAY_FAIL,               /* trace_semaphore_event: fails after it has reached the value */
    REPLAY_WAIT,               /* trace_semaphore_wait, also for queries; its status is expected */
    REPLAY_WAIT_IDLE,          /* trace_wait_idle */
    REPLAY_SUBMIT,             /* trace_submit */
    REPLAY_FLUSH,              /* trace_queue_flush */
    REPLAY_STEP,               /* of serialized plans: no action; the object is the step */
};

struct replay_op {
    enum replay_action action;
    uint32_t object; /* index; 0: several or none */
    const struct trace_event *event;
};

struct replay_content {
    uint64_t number;
    uint64_t bytes;
    uint8_t *data; /* NULL: in the file */
};

/* Records are in blocks that never move. */
struct replay_block {
    struct replay_block *next;
    size_t used, bytes;
    uint64_t data[];
};

/* What a thread did between the begin and the end of a named scope. */
struct replay_scope {
    uint32_t name, thread;
    int64_t begin_ns, end_ns; /* as recorded; end 0: open */
    bool has_ops;
    size_t first_op, last_op; /* of these */
};

/* An operation of a host call; `gate`: the semaphore of the plan's own that holds its submission.
 */
struct replay_call {
    size_t op;
    uint32_t gate;
};

struct replay_plan {
    struct trace_reader *reader;
    struct replay_plan_info info;
    char incomplete[512];
    struct replay_object *objects; /* [0] is unused */
    size_t object_count, object_capacity;
    struct replay_op *ops;
    size_t op_count, op_capacity;
    struct replay_call *calls; /* in the order of `ops`; may go beyond it where a trace is cut */
    size_t call_count, call_capacity;
    struct replay_scope *scopes; /* by thread, in order of their begins */
    size_t scope_count, scope_capacity;
    uint32_t *open_scopes; /* while loading */
    size_t open_scope_count, open_scope_capacity;
    struct replay_content *contents; /* [0] is unused */
    size_t content_count, content_capacity;
    struct trace_submission_outputs **written; /* written.h: by submission */
    size_t written_count, written_capacity;
    struct replay_block *blocks;
    uint64_t block_bytes;
    uint64_t memory_limit_bytes;
    const char *const *symbols; /* owned by the caller */
    size_t symbol_count;
    bool only_system_symbols;
    uint32_t
        max_list; /* longest list of values, command buffers, barriers or events in any record */
    bool allow_unsupported;
    bool all_submissions_end;     /* the trace shows the end of each */
    struct replay_recipe *recipe; /* serialized.h: how it was made; NULL: in another way */
    bool borrows;                 /* another plan owns all but ops, objects and blocks */
};

/* Space for a record in the plan's memory, zeroed or not. HAL_NO_MEMORY, also at the limit. */
enum hal_status replay_plan_room(struct replay_plan *plan, size_t bytes,
                                 void **out_record) HAL_CHECKED;
enum hal_status replay_plan_take(struct replay_plan *plan, size_t bytes,
                                 void **out_room) HAL_CHECKED;

/* Adds an object, zeroed apart from the arguments. */
enum hal_status replay_plan_object(struct replay_plan *plan, enum replay_kind kind,
                                   const struct trace_event *created,
                                   uint32_t *out_index) HAL_CHECKED;

/* The bytes of a content: from memory, else read into *scratch, which grows. */
enum hal_status replay_plan_content(const struct replay_plan *plan, uint64_t index,
                                    uint8_t **scratch, size_t *scratch_bytes,
                                    const uint8_t **out_data) HAL_CHECKED;

/* A plan that borrows everything from `plan`, which must outlive it, except its operations (none at
 * first, and so no host calls), its objects (copied) and new records. */
enum hal_status replay_plan_clone(const struct replay_plan *plan,
                                  struct replay_plan **out_variant) HAL_CHECKED;
enum hal_status replay_plan_emit(struct replay_plan *variant,
                                 const struct replay_op *op) HAL_CHECKED;
/* Whether the variant has the same operations in the same order; some may be recorded again, and
 * command buffers may be destroyed at other times. Does not compare their contents. */
bool replay_plan_does_same(const struct replay_plan *plan, const struct replay_plan *variant);

/* While loading (scopes.c): take a scope's begin or end, in each thread's order; and, once all
 * operations are loaded, find the operations inside each scope. */
enum hal_status replay_scopes_take(struct replay_plan *plan,
                                   const struct trace_event *event) HAL_CHECKED;
enum hal_status replay_scopes_find_ops(struct replay_plan *plan) HAL_CHECKED;

/* "command buffer". */
const char *replay_kind_name(enum replay_kind kind);

/* NULL if it has none. */
const char *replay_object_label(const struct replay_plan *plan, uint32_t index);

/* Whether it is a buffer that the user's `name` denotes, as in replay_type_rule. */
bool replay_buffer_is_called(const struct replay_plan *plan, uint32_t index, const char *name);

/* The entry of `list` that replaces the executable, by label, number or entry point, or NULL. */
const struct replay_substitute *replay_substitute_of(const struct replay_plan *plan,
                                                     uint32_t object,
                                                     const struct replay_substitute *list,
                                                     size_t count);

/* For a dispatch of either kind. */
const char *replay_kernel_name(const struct replay_plan *plan,
                               const struct trace_segment *dispatch);

/* "buffer 'weights'" or "buffer 17"; "submit #s12 (ticket 40)". Return `out`. */
const char *replay_object_name(const struct replay_plan *plan, uint32_t index,
                               char out[REPLAY_NAME_BYTES]);
const char *replay_event_name(const struct trace_event *event, char out[REPLAY_NAME_BYTES]);

#endif
