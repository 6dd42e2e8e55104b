/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that convert records to tables: the reading state and the rows. */
#ifndef VIEWER_INGEST_H
#define VIEWER_INGEST_H

#include "hal/base/idmap.h"
#include "viewer/model/build.h"

/* The row found last: usually the next one too. */
struct last_row {
    uint64_t id;
    uint32_t row;
    bool is_set;
};

struct ingest {
    struct view_model *model;
    const struct view_progress *progress; /* NULL: no callback */
    uint64_t read, told;                  /* events and commands; when last reported */
    struct last_row last_hosts, last_buffers, last_executables, last_command_buffers,
        last_semaphores, last_submissions, last_others;
    uint32_t recent_ops[1024]; /* by hash */
    struct hal_idmap hosts, buffers, executables, command_buffers, semaphores, submissions, others,
        ops, bodies;
    uint32_t recent_whats[256]; /* by hash: recent call arguments */
    VIEW_TABLE(dispatch_time, times);
    struct open_scopes *open_scopes; /* by host */
    size_t open_scopes_count, open_scopes_capacity;
};

/* As in the file, but with the model's times. */
struct dispatch_time {
    uint64_t submission;
    uint32_t command_buffer, dispatch;
    int64_t begin_ns, end_ns;
};

/* Open scopes of a thread, outermost first. */
struct open_scopes {
    uint32_t *scopes;
    size_t scopes_count, scopes_capacity;
};

/* ---- Rows: ingest_rows.c ------------------------------------------------------------------ */

/* The table's row for that id, created if new. */
typedef enum hal_status view_ingest_find_row(struct ingest *in, uint64_t id, uint32_t *out_row);
view_ingest_find_row view_ingest_buffer_row, view_ingest_executable_row, view_ingest_other_row,
    view_ingest_semaphore_row, view_ingest_command_buffer_row, view_ingest_submission_row;
enum hal_status view_ingest_host(struct ingest *in, uint32_t thread,
                                 uint32_t *out_host) HAL_CHECKED;

/* False: an impossible time. */
bool view_ingest_plausible(const struct ingest *in, int64_t absolute_ns, int64_t *out_ns);
/* Extends the trace to that moment. */
void view_ingest_moment(struct view_model *m, int64_t ns);
/* Converts begin and end to the model's times; false, and counted, if impossible. */
bool view_ingest_times(struct ingest *in, int64_t begin, int64_t end, int64_t *out_begin_ns,
                       int64_t *out_end_ns);

/* Adds a call; drops one with impossible times. */
enum hal_status view_ingest_call(struct ingest *in, const struct trace_event *event,
                                 uint32_t object, uint64_t offset, uint64_t size) HAL_CHECKED;
/* The same with all details given. */
enum hal_status view_ingest_call_of(struct ingest *in, const struct trace_event *event,
                                    uint32_t object, const struct view_what *what) HAL_CHECKED;
enum hal_status view_ingest_values(struct ingest *in, const struct trace_semaphore_value *values,
                                   uint32_t count, uint32_t *out_first) HAL_CHECKED;

/* ---- Records: ingest_host.c, ingest_device.c ---------------------------------------------- */

enum hal_status view_ingest_mapping(struct ingest *in,
                                    const struct trace_mapping_event *event) HAL_CHECKED;
enum hal_status view_ingest_buffer(struct ingest *in,
                                   const struct trace_buffer_create *event) HAL_CHECKED;
enum hal_status view_ingest_executable(struct ingest *in,
                                       const struct trace_executable_create *event) HAL_CHECKED;
enum hal_status view_ingest_destroy(struct ingest *in,
                                    const struct trace_object_event *event) HAL_CHECKED;
/* An object with only a label. */
enum hal_status view_ingest_other(struct ingest *in, const struct trace_event *event, uint64_t id,
                                  uint32_t label) HAL_CHECKED;
enum hal_status view_ingest_channel(struct ingest *in,
                                    const struct trace_channel_create *event) HAL_CHECKED;
enum hal_status view_ingest_wait(struct ingest *in,
                                 const struct trace_semaphore_wait *event) HAL_CHECKED;
enum hal_status view_ingest_semaphore(struct ingest *in,
                                      const struct trace_semaphore_create *event) HAL_CHECKED;
enum hal_status view_ingest_semaphore_event(struct ingest *in,
                                            const struct trace_semaphore_event *event) HAL_CHECKED;
/* Call at the end: adds what finished submissions signalled, and each semaphore's steps. */
enum hal_status view_ingest_finish_steps(struct ingest *in) HAL_CHECKED;

enum hal_status view_ingest_command_buffer(
    struct ingest *in, const struct trace_command_buffer_create *event) HAL_CHECKED;
/* Creates the empty body. */
enum hal_status view_ingest_no_body(struct ingest *in) HAL_CHECKED;
enum hal_status view_ingest_command_buffer_end(struct ingest *in,
                                               const struct trace_command_buffer_seal *event,
                                               const struct trace_segment *segment) HAL_CHECKED;
enum hal_status view_ingest_submit(struct ingest *in, const struct trace_submit *event) HAL_CHECKED;
enum hal_status view_ingest_collective(struct ingest *in,
                                       const struct trace_collective *event) HAL_CHECKED;
enum hal_status view_ingest_done(struct ingest *in,
                                 const struct trace_submission_done *event) HAL_CHECKED;

/* ingest_times.c */
enum hal_status view_ingest_dispatch_times(struct ingest *in,
                                           const struct trace_dispatch_times *event) HAL_CHECKED;
/* Call once all command buffers are known. */
enum hal_status view_ingest_finish_times(struct ingest *in) HAL_CHECKED;

#endif
