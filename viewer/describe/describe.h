/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the model's objects: names and letters of classes, tracks and events, and everything
 * known about one event as lines of text. */
#ifndef VIEWER_DESCRIBE_H
#define VIEWER_DESCRIBE_H

#include "viewer/grid/screen.h"
#include "viewer/model/model.h"

struct view_class_info {
    char letter;
    const char *name;
    enum view_style style;
};
const struct view_class_info *view_class_info(enum view_class class);

/* The functions below write at most `bytes` bytes including the terminator. Text from the file is
 * not sanitised here: the screen and the report do that. */

/* "main", "queue 0", "gpu". */
void view_track_name(const struct view_model *model, const struct view_track *track, char *out,
                     size_t bytes);

/* "rank 0 of 4", or "device 0" if it is in no group; `device` indexes `devices`. */
void view_rank_name(const struct view_model *model, uint32_t device, char *out, size_t bytes);

/* "all_reduce", "f32", "sum". */
struct view_collective_names {
    char kind[24], type[24], reduction[24];
};
struct view_collective_names view_collective_names(const struct view_collective *collective);
/* "all_reduce 1,024 ring": kind, elements, channel. */
void view_collective_label(const struct view_model *model, const struct view_collective *collective,
                           char *out, size_t bytes);

/* A label for an event's bar: "#s12", "wait #s12", "token 17". `span` is of the track. */
void view_span_label(const struct view_model *model, const struct view_track *track,
                     const struct view_span *span, char *out, size_t bytes);

/* What a submission does: its only kernel, its command buffer's label, or how many dispatches. */
void view_work_label(const struct view_model *model, uint32_t submission, char *out, size_t bytes);

/* The event's locator: "#s12", or a moment "@1.204567891s". */
void view_span_locator(const struct view_model *model, const struct view_track *track,
                       const struct view_span *span, char *out, size_t bytes);

/* "mul_mv 64x1x1", "copy 4.00 KiB". */
void view_op_label(const struct view_model *model, const struct view_op *op, char *out,
                   size_t bytes);

/* The style of a dispatch's kernel: equal names have equal styles in every trace. */
enum view_style view_op_style(const struct view_model *model, const struct view_op *op);

/* "done", or "semaphore 3" without a label; likewise for command buffers and buffers. */
void view_semaphore_name(const struct view_model *model, uint32_t semaphore, char *out,
                         size_t bytes);

/* "181 µs (179 µs to 184 µs)": the median and its interval, or the extremes of a few values. */
void view_typical_text(const struct trace_typical *typical, char *out, size_t bytes);

void view_buffer_name(const struct view_model *model, uint32_t buffer, char *out, size_t bytes);

/* Lines of "key\tvalue\n". All zero is empty. */
struct view_lines {
    char *text;
    size_t length, capacity;
    size_t count;
    bool failed;                /* out of memory: lines are missing */
    struct view_stacks *stacks; /* names functions in call stacks; NULL: only modules are named */
};
void view_lines_add(struct view_lines *lines, const char *key, const char *format, ...)
    HAL_PRINTF(3, 4);
/* Appends such lines verbatim. */
void view_lines_add_text(struct view_lines *lines, const char *text, size_t bytes);
void view_lines_finish(struct view_lines *lines);

/* Whether the file contains everything that happened, and one line about it. */
bool view_health(const struct view_model *model, char *out, size_t bytes);

/* The first screen: health, busy, idle by cause, syncs and iterations, transfers. */
void view_summary(const struct view_model *model, struct view_lines *lines);

/* The activity of each device, in traces of several devices or ranks. */
void view_describe_devices(const struct view_model *model, struct view_lines *lines);

/* In such traces, the submission's device and its collective with other ranks. */
void view_describe_collective(const struct view_model *model,
                              const struct view_submission *submission, struct view_lines *lines);

/* Everything about one of the track's events. */
void view_describe(const struct view_model *model, const struct view_track *track,
                   const struct view_span *event, struct view_lines *lines);

/* What the host did while the device was idle: "recording 60 %, ...". */
void view_describe_host(const struct view_model *model, const struct view_gap *gap, char *out,
                        size_t bytes);

#endif
