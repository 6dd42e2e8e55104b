/* SPDX-License-Identifier: Apache-2.0 */
/* All limits that protect a reader from a hostile or damaged file, in one place. The writer obeys
 * them too, so our own files never exceed them. */
#ifndef FORMAT_LIMITS_H
#define FORMAT_LIMITS_H

/* One top-level field of the message: the most that a 32-bit viewer can buffer. */
#define TRACE_MAX_FIELD_BYTES (16u << 20)
/* One frame, decompressed. */
#define TRACE_MAX_FRAME_BYTES (64u << 20)
/* Memory for decoding one field. */
#define TRACE_MAX_DECODE_BYTES (256u << 20)
/* One content. Buffer contents are split into pieces; an executable is one content. */
#define TRACE_MAX_CONTENT_BYTES (64u << 20)
/* Distinct contents of one trace, whose sizes and digests a reader keeps. An index with all digests
 * has room for this many, so any capture can be recompressed. */
#define TRACE_MAX_CONTENTS (24u << 20)
/* One piece of buffer contents; larger ranges are recorded as several events. */
#define TRACE_PIECE_BYTES (4u << 20)
/* One string; the capture truncates longer labels. */
#define TRACE_MAX_STRING_BYTES (64u << 10)
#define TRACE_MAX_STRINGS      (1u << 22)
#define TRACE_MAX_STACK_FRAMES 256u
#define TRACE_MAX_STACKS       (1u << 22)
#define TRACE_MAX_THREADS      (1u << 16)
#define TRACE_MAX_MODULES      (1u << 16)
/* Variable parts of one record. */
#define TRACE_MAX_LIST           65536u
#define TRACE_MAX_TIMES          4096u /* dispatches, commands or ranges in one record */
#define TRACE_MAX_RECORD_BYTES   (4u << 20)
#define TRACE_MAX_UPDATE_BYTES   65536u
#define TRACE_MAX_CONSTANT_BYTES 4096u
#define TRACE_MAX_SETS           4u
#define TRACE_MAX_BINDINGS       31u
#define TRACE_MAX_ENTRY_POINTS   65536u
#define TRACE_MAX_VARIANTS       16u
#define TRACE_MAX_REFLECTED      131072u /* bindings of an executable */
/* Segments of one command buffer. */
#define TRACE_MAX_SEGMENTS (1u << 26)
#define TRACE_MAX_QUEUES   64u
/* Captures in a merged trace; each has its own queue, so there are never many. */
#define TRACE_MAX_CAPTURES 1024u
/* The index at the end of the file, decompressed. */
#define TRACE_MAX_INDEX_BYTES (1u << 30)

#endif
