/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the capture: begins one, and reads what it wrote, in the order of tickets. */
#ifndef TESTS_SUPPORT_CAPTURED_H
#define TESTS_SUPPORT_CAPTURED_H

#include "format/trace.h"
#include "hal/hal.h"

struct captured_event {
    const struct trace_event *event;
    const struct trace_segment *segments; /* of a seal */
    size_t order;                         /* in the file */
};

struct captured {
    struct trace_reader *reader;
    struct captured_event *events; /* by ticket; those without one come first, as in the file */
    size_t count, capacity;
};

/* The capture must begin, or the test ends. */
void captured_begin(struct hal_device *device, const char *path);

/* Opens the file, which must be whole unless `damaged`. */
void captured_open(struct captured *captured, const char *path);
void captured_open_incomplete(struct captured *captured, const char *path);
void captured_close(struct captured *captured);

/* The n-th event of that kind, counted from 0; NULL: there are not so many. */
const void *captured_find(const struct captured *captured, enum trace_event_kind kind, size_t n);
size_t captured_count(const struct captured *captured, enum trace_event_kind kind);

/* The segments of the n-th seal. */
const struct trace_segment *captured_segments(const struct captured *captured, size_t n);
/* The segment at `*at`, which must be of that kind; `*at` becomes the one behind it. */
const void *captured_next_segment(const struct trace_segment **at, enum trace_segment_kind kind);

/* The bytes of a content event's piece; free() them. */
uint8_t *captured_bytes(const struct captured *captured, const struct trace_content_event *event);

const char *captured_string(const struct captured *captured, uint32_t id);

/* Applies the host writes (or reads) of a buffer, as far as they have lower tickets than `before`,
 * to `out`, which stands for [0, bytes) of the buffer. Returns how many events there were. */
size_t captured_replay(const struct captured *captured, enum trace_event_kind kind, uint64_t buffer,
                       uint64_t before, void *out, uint64_t bytes);

#endif
