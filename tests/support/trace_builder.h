/* SPDX-License-Identifier: Apache-2.0 */
/* Writes small traces with ids, tickets and times that the test chooses, straight through the
 * trace writer.
 *
 *     struct trace_builder b;
 *     builder_open(&b, path, NULL);
 *     builder_buffer_create(&b, 1, "out", 64);
 *     builder_command_buffer_create(&b, 2, NULL, HAL_ONE_SHOT);
 *     builder_fill(&b, 1, 0, 64, 7, 1);
 *     builder_end_commands(&b, 2);
 *     builder_submit(&b, 0, 0, NO_VALUES, NO_VALUES, IDS(2));
 *     status = builder_close(&b, NULL);
 *
 * Every event takes `step_ns` and the next one begins `step_ns` after its end; ordered events
 * take the next ticket. The fields that the struct's comments call settable change what follows.
 * The first failure sticks, later calls do nothing, and builder_close returns it with its
 * message. One thread at a time; the thread *numbers* in the trace are the test's choice. */
#ifndef TESTS_SUPPORT_TRACE_BUILDER_H
#define TESTS_SUPPORT_TRACE_BUILDER_H

#include "format/trace.h"

struct builder_executable {
    const struct trace_constant *constants;
    const struct trace_entry_binding *bindings; /* NULL: they are not told */
    uint32_t constant_count, binding_count;
};

#define COUNTED(type, ...) (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)

/* Lists, which are copied. */
struct builder_values {
    const struct trace_semaphore_value *list;
    uint32_t count;
};

static inline struct builder_values builder_values(const struct trace_semaphore_value *list,
                                                   uint32_t count)
{
    return (struct builder_values){list, count};
}
#define NO_VALUES   builder_values(NULL, 0)
#define VALUES(...) builder_values(COUNTED(struct trace_semaphore_value, __VA_ARGS__))

struct builder_ids {
    const uint64_t *list;
    uint32_t count;
};

static inline struct builder_ids builder_ids(const uint64_t *list, uint32_t count)
{
    return (struct builder_ids){list, count};
}
#define NO_IDS   builder_ids(NULL, 0)
#define IDS(...) builder_ids(COUNTED(uint64_t, __VA_ARGS__))

struct trace_builder {
    /* Settable. Opening sets thread 1 (named "main"), ticket 1, time 1000 ns, step 100 ns, the
     * rest 0. */
    uint32_t thread;     /* number of the thread on which events happen; see builder_thread */
    uint16_t status;     /* enum hal_status that the calls return */
    uint32_t stack;      /* call stack number of events */
    uint32_t flags;      /* enum trace_flag, of records that have flags */
    uint32_t categories; /* of command buffers; 0 as in older traces */
    uint64_t ticket;     /* of the next ordered event */
    int64_t begin_ns;    /* of the next event */
    int64_t step_ns;
    /* Called with every event (and, for a seal, each of its segments, as `segment`; else NULL)
     * before it is written; may change any field but sizes and counts. */
    void (*alter)(void *user, struct trace_event *event, struct trace_segment *segment);
    void *user;
    const char *decoration; /* put behind every text that follows; NULL: nothing */
    /* What the next builder_submit is, and only that one: its members from `operation` on. */
    struct trace_submit operation;
    /* What the next executable has besides entry points, and only that one. */
    struct builder_executable executable;

    /* Private. */
    struct trace_writer *writer;
    struct trace_event *record;
    size_t record_capacity;
    uint8_t *segments; /* recorded since the last seal */
    size_t segment_bytes, segment_capacity;
    uint32_t segment_count, dispatch_count;
    uint32_t next_string, next_stack;
    char **strings; /* by number - 1 */
    size_t string_capacity;
    enum hal_status failure;
    char message[HAL_MESSAGE_BYTES];
};

/* An existing file is replaced. `header` NULL: builder_default_header. */
void builder_open(struct trace_builder *b, const char *path, const struct trace_header *header);
struct trace_header builder_default_header(void);

/* Makes everything so far readable even if the file is cut behind it. */
void builder_flush(struct trace_builder *b);

/* Frees the builder's memory. `health` NULL: healthy. */
enum hal_status builder_close(struct trace_builder *b, const struct trace_health *health);

/* Tables. The same text gets the same number; NULL gets 0. */
uint32_t builder_string(struct trace_builder *b, const char *plain);
uint32_t builder_stack(struct trace_builder *b, const uint64_t *frames, uint32_t frame_count);
void builder_module(struct trace_builder *b, const char *path, uint64_t base, uint64_t size);
void builder_thread(struct trace_builder *b, uint32_t number, uint64_t system_id, const char *name);
uint64_t builder_content(struct trace_builder *b, const void *data, size_t bytes);

/* Of an event, say: whose creation is a trace_object_event. */
void builder_object_create(struct trace_builder *b, enum trace_event_kind kind, uint64_t id,
                           const char *label);

/* Objects. Buffers are device-local, host-visible, coherent, for every use;
 * builder_buffer_create_as says otherwise. `kind` of destroy: the ..._DESTROY event. */
void builder_buffer_create(struct trace_builder *b, uint64_t id, const char *label, uint64_t size);
void builder_buffer_create_as(struct trace_builder *b, uint64_t id, const char *label,
                              uint64_t size, uint32_t memory, uint32_t usage);
void builder_executable_create(struct trace_builder *b, uint64_t id, const char *label,
                               const char *source, const struct trace_entry_point *entry_points,
                               uint32_t entry_point_count);
void builder_semaphore_create(struct trace_builder *b, uint64_t id, const char *label,
                              uint64_t initial_value);
void builder_command_buffer_create(struct trace_builder *b, uint64_t id, const char *label,
                                   uint32_t mode);
void builder_destroy(struct trace_builder *b, enum trace_event_kind kind, uint64_t id);

void builder_subspan_create(struct trace_builder *b, uint64_t id, const char *label, uint64_t root,
                            uint64_t offset, uint64_t size);

/* Host access. `data` NULL: content 0 (only a digest is known). A range over TRACE_PIECE_BYTES
 * becomes several records with one ticket. `kind` of mapping: map, unmap, flush, invalidate. */
void builder_host_write(struct trace_builder *b, uint64_t buffer, uint64_t offset, const void *data,
                        uint64_t size);
void builder_host_read(struct trace_builder *b, uint64_t buffer, uint64_t offset, const void *data,
                       uint64_t size);
/* Both NULL: the bytes are not there. */
void builder_mapped_change(struct trace_builder *b, uint64_t buffer, uint64_t offset,
                           const void *before, const void *after, uint64_t size);
void builder_map(struct trace_builder *b, uint64_t buffer, uint64_t number, uint32_t mode,
                 uint64_t offset, uint64_t size);
void builder_unmap(struct trace_builder *b, uint64_t buffer, uint64_t number, uint32_t mode,
                   uint64_t offset, uint64_t size);
void builder_mapping_flush(struct trace_builder *b, uint64_t buffer, uint64_t number,
                           uint64_t offset, uint64_t size);

/* Segments: they collect until builder_end_commands writes them behind its event. */
void builder_barrier(struct trace_builder *b, const struct trace_buffer_barrier *buffers,
                     uint32_t buffer_count);
void builder_fill(struct trace_builder *b, uint64_t target, uint64_t offset, uint64_t size,
                  uint32_t pattern, uint32_t pattern_bytes);
void builder_copy(struct trace_builder *b, uint64_t source, uint64_t source_offset, uint64_t target,
                  uint64_t target_offset, uint64_t size);
void builder_update(struct trace_builder *b, uint64_t target, uint64_t offset, const void *data,
                    uint64_t size);
void builder_push_constants(struct trace_builder *b, uint32_t offset, const void *data,
                            uint32_t size);
void builder_push_descriptor_set(struct trace_builder *b, uint32_t set,
                                 const struct trace_binding *bindings, uint32_t binding_count);
void builder_dispatch(struct trace_builder *b, uint64_t executable, uint32_t entry, uint32_t x,
                      uint32_t y, uint32_t z);
void builder_dispatch_indirect(struct trace_builder *b, uint64_t executable, uint32_t entry,
                               uint64_t counts, uint64_t offset);
void builder_event(struct trace_builder *b, enum trace_segment_kind kind, uint64_t event,
                   uint32_t source_stages);
void builder_events_wait(struct trace_builder *b, uint32_t source_stages, const uint64_t *events,
                         uint32_t event_count);
void builder_debug_begin(struct trace_builder *b, const char *label, uint32_t color);
void builder_debug_end(struct trace_builder *b);
void builder_end_commands(struct trace_builder *b, uint64_t command_buffer);

/* Queues and semaphores. `kind` of semaphore: query, signal, fail. A fail's `message` is its
 * failure's, whose status is builder.status; NULL otherwise. */
void builder_submit(struct trace_builder *b, uint64_t submission, uint32_t queue,
                    struct builder_values waits, struct builder_values signals,
                    struct builder_ids command_buffers);
void builder_submission_outputs(struct trace_builder *b, uint64_t submission, uint32_t queue,
                                const struct trace_written *outputs, uint32_t count);
/* `kind`: a host call's begin or end. */
void builder_host_call(struct trace_builder *b, enum trace_event_kind kind, uint64_t submission);
void builder_collective(struct trace_builder *b, uint64_t submission);
void builder_queue_flush(struct trace_builder *b, uint64_t queues);
/* Device times; takes no time of the clock. */
/* Times of dispatches; before builder_submission_done. */
void builder_dispatch_times(struct trace_builder *b, uint64_t submission, uint32_t queue,
                            const struct trace_dispatch_time *times, uint32_t count);
void builder_submission_done(struct trace_builder *b, uint64_t submission, uint32_t queue,
                             int64_t ready_ns, int64_t begin_ns, int64_t end_ns);
void builder_semaphore(struct trace_builder *b, enum trace_event_kind kind, uint64_t semaphore,
                       uint64_t value, const char *message);
void builder_semaphore_wait(struct trace_builder *b, uint32_t mode,
                            const struct trace_semaphore_value *values, uint32_t value_count,
                            int64_t timeout_ns);
void builder_wait_idle(struct trace_builder *b, int64_t timeout_ns);
void builder_scope_begin(struct trace_builder *b, const char *name);
void builder_scope_end(struct trace_builder *b);

/* Any record, as it is. */
void builder_record(struct trace_builder *b, const struct trace_event *record);

#endif
