/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that turn records into tables share: the state of reading, and the rows. */
#ifndef VIEWER_INGEST_H
#define VIEWER_INGEST_H

#include "hal/base/idmap.h"
#include "viewer/model/build.h"

/* The row that was looked for last: most often it is the next one, too. */
struct last_row {
    uint64_t id;
    uint32_t row;
    bool is_set;
};

struct ingest {
    struct view_model *model;
    const struct view_progress *progress; /* NULL: nobody is told */
    uint64_t read, told;                  /* events and commands; when that was told last */
    struct last_row last_hosts, last_buffers, last_executables, last_command_buffers,
        last_semaphores, last_submissions, last_others;
    uint32_t recent_ops[1024]; /* by their hash */
    struct hal_idmap hosts, buffers, executables, command_buffers, semaphores, submissions, others,
        ops, bodies;
    uint32_t recent_whats[256]; /* by their hash: what calls had last */
    VIEW_TABLE(dispatch_time, times);
    struct open_scopes *open_scopes; /* by host */
    size_t open_scopes_count, open_scopes_capacity;
};

/* As the file names it; times are the model's. */
struct dispatch_time {
    uint64_t submission;
    uint32_t command_buffer, dispatch;
    int64_t begin_ns, end_ns;
};

/* Scopes of a thread that have begun and not ended, outermost first. */
struct open_scopes {
    uint32_t *scopes;
    size_t scopes_count, scopes_capacity;
};

/* ---- Rows: ingest_rows.c ------------------------------------------------------------------ */

/* The table's row of that id, made when it is new. */
typedef enum hal_status view_ingest_find_row(struct ingest *in, uint64_t id, uint32_t *out_row);
view_ingest_find_row view_ingest_buffer_row, view_ingest_executable_row, view_ingest_other_row,
    view_ingest_semaphore_row, view_ingest_command_buffer_row, view_ingest_submission_row;
enum hal_status view_ingest_host(struct ingest *in, uint32_t thread,
                                 uint32_t *out_host) HAL_CHECKED;

/* False: that time cannot be. */
bool view_ingest_plausible(const struct ingest *in, int64_t absolute_ns, int64_t *out_ns);
/* The trace lasts longer than until that moment. */
void view_ingest_moment(struct view_model *m, int64_t ns);
/* Begin and end as the model's times; false, and counted, when they cannot be. */
bool view_ingest_times(struct ingest *in, int64_t begin, int64_t end, int64_t *out_begin_ns,
                       int64_t *out_end_ns);

/* Adds a call; one with impossible times is left out. */
enum hal_status view_ingest_call(struct ingest *in, const struct trace_event *event,
                                 uint32_t object, uint64_t offset, uint64_t size) HAL_CHECKED;
/* Likewise, with everything told. */
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
/* An object that has nothing but a label. */
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
/* Once everything is known: what finished submissions signalled, and each semaphore's steps. */
enum hal_status view_ingest_finish_steps(struct ingest *in) HAL_CHECKED;

enum hal_status view_ingest_command_buffer(
    struct ingest *in, const struct trace_command_buffer_create *event) HAL_CHECKED;
/* The empty body. */
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
/* Once all command buffers are known. */
enum hal_status view_ingest_finish_times(struct ingest *in) HAL_CHECKED;

#endif
