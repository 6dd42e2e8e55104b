/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as a sequence that can be compared with another run's: what each thread asked for, with
 * objects named by what they are and not by their numbers, and without times. */
#ifndef FORMAT_TOOL_DIFF_H
#define FORMAT_TOOL_DIFF_H

#include "format/base/arena.h"
#include "format/tool/support/print.h"
#include "hal/base/idmap.h"

/* A command of a command buffer. */
struct diff_command {
    const struct trace_segment *segment;
    uint64_t hash; /* of all that it says, but for the data of updates */
};

/* A submission, a write or read of the host, or a signal. */
struct diff_item {
    const struct trace_event *event;
    uint64_t hash;  /* of all of it, but for contents */
    uint64_t shape; /* of a submission: its kernels and kinds of commands; else the hash */
    int64_t device_ns;
};

struct diff_stream {
    uint32_t thread;
    const char *name;
    struct diff_item *items;
    size_t count, capacity;
    uint64_t call; /* while loading: inside of a host call */
};

struct diff_object {
    const struct trace_event *created;
    uint64_t hash;
    const struct diff_command *commands; /* of a command buffer */
    uint32_t command_count;
    uint64_t shape;
};

struct diff_place {
    size_t stream, item;
};

struct diff_side {
    const char *path;
    struct trace_reader *reader;
    struct trace_arena arena;
    struct hal_idmap ids, submissions; /* to objects; to places */
    struct diff_object *objects;
    struct diff_stream *streams;
    struct diff_place *places;
    size_t object_count, object_capacity, stream_count, stream_capacity;
    size_t place_count, place_capacity;
    struct tool_printer printer;
};

/* Opens and reads it. As trace_reader_open. diff_close is needed in any case. */
enum hal_status diff_open(struct diff_side *side, const char *path) HAL_CHECKED;
void diff_close(struct diff_side *side);

/* Appends what the item or the command is, on one line. */
void diff_describe_item(struct diff_side *side, const struct diff_item *item,
                        struct trace_text *text);
void diff_describe_command(struct diff_side *side, const struct diff_command *command,
                           struct trace_text *text);

/* The digest of what a read or write holds, if it is `known`. HAL_CORRUPT: its bytes are damaged.
 */
enum hal_status diff_digest(const struct diff_side *side, const struct trace_content_event *event,
                            bool *out_known, uint8_t out_sha256[32]) HAL_CHECKED;

struct diff_object *diff_object(const struct diff_side *side, uint64_t id);

#endif
