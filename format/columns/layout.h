/* SPDX-License-Identifier: Apache-2.0 */
/* Maps members of records to columns: one table per kind of record. Storing, reading and printing
 * all follow these tables, so a new kind takes one message in trace.proto, one table in
 * layout_events.c or a neighbour, and one line in its family. */
#ifndef FORMAT_LAYOUT_H
#define FORMAT_LAYOUT_H

#include "format/record.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_coding {
    TRACE_CODING_PLAIN,
    TRACE_CODING_DELTA,  /* difference to the previous value */
    TRACE_CODING_TICKET, /* the same, interleaved with zeros: see Chunk.ticket */
    TRACE_CODING_SPAN,   /* difference to the 8 bytes before the member */
};

/* What a number refers to. From STRING on, the target must exist. */
enum trace_reference {
    TRACE_REFERENCE_NONE,
    TRACE_REFERENCE_OBJECT, /* of the HAL: buffers, semaphores, ...; numbered together */
    TRACE_REFERENCE_SUBMISSION,
    TRACE_REFERENCE_MAPPING,
    TRACE_REFERENCE_QUEUE,
    TRACE_REFERENCE_GROUP, /* of channels: numbered per process, across all of its traces */
    TRACE_REFERENCE_TIME,  /* 0: unknown */
    TRACE_REFERENCE_DURATION,
    TRACE_REFERENCE_STRING,
    TRACE_REFERENCE_STACK,
    TRACE_REFERENCE_CONTENT,
};

struct trace_column {
    const char *name;             /* of the column */
    const char *member;           /* name of the record's member, as in C */
    uint16_t count_at, values_at; /* offsets in the message: size_t, and pointer to 64-bit values */
    uint16_t member_at;           /* offset in the record or in an element of a part */
    uint8_t width;                /* of the member: 2, 4 or 8 bytes */
    uint8_t coding;               /* enum trace_coding */
    uint8_t reference;            /* enum trace_reference */
    bool is_signed;
    bool is_rare; /* omitted from text for people if 0 */
};

/* A variable part of a record: a list of elements, or bytes. Parts directly follow the fixed
 * members and each other; the record is padded to 8 bytes. */
struct trace_part {
    const char *name;
    uint16_t count_at; /* offset in the record */
    uint8_t count_width;
    uint16_t element_bytes;
    uint32_t limit;    /* maximum number of elements */
    bool is_text;      /* bytes: show as text */
    uint16_t bytes_at; /* for a part of bytes: offset of the ProtobufCBinaryData in the message */
    uint32_t column_count;
    const struct trace_column *columns; /* NULL: bytes */
};

/* Index of an optional kind in tables over all kinds: kinds are sparse, places are dense. */
#define TRACE_OPTIONAL_PLACE(kind) ((kind)-TRACE_FIRST_OPTIONAL_KIND + TRACE_TABLE_END)
enum { TRACE_PLACES = TRACE_OPTIONAL_PLACE(TRACE_OPTIONAL_END) };

struct trace_layout {
    const char *name;
    uint16_t record_bytes; /* size of the fixed members */
    uint16_t message_at; /* offset of the pointer to the kind's message in the family's; 0: none */
    uint32_t column_count, part_count;
    const struct trace_column *columns;
    const struct trace_part *parts;
    const ProtobufCMessageDescriptor *descriptor;
};

/* Record kinds that are stored together in one message. */
struct trace_family {
    const char *name;
    uint16_t head_bytes;
    uint16_t kind_count_at, kinds_at; /* offsets in the message: size_t, pointer to 32-bit enums */
    uint32_t common_count;
    bool has_optional;                                /* has kinds that may be skipped */
    const struct trace_column *common;                /* columns with a value for every record */
    const struct trace_layout *layouts[TRACE_PLACES]; /* by place; NULL: not in this family */
};

extern const struct trace_family trace_event_family;
extern const struct trace_family trace_table_family;
extern const struct trace_family trace_segment_family;

/* TRACE_PLACES: no such kind. */
static inline uint32_t trace_kind_place(uint32_t kind)
{
    if (kind < TRACE_TABLE_END)
        return kind;
    return kind >= TRACE_FIRST_OPTIONAL_KIND && kind < TRACE_OPTIONAL_END
               ? TRACE_OPTIONAL_PLACE(kind)
               : TRACE_PLACES;
}

/* NULL: no such kind. */
static inline const struct trace_layout *trace_family_layout(const struct trace_family *family,
                                                             uint32_t kind)
{
    const uint32_t place = trace_kind_place(kind);
    return place < TRACE_PLACES ? family->layouts[place] : NULL;
}

static inline uint64_t trace_load(const void *address, unsigned width)
{
    const uint8_t *bytes = (const uint8_t *)address;
    switch (width) {
    case 2: return *(const uint16_t *)(const void *)bytes;
    case 4: return *(const uint32_t *)(const void *)bytes;
    default: return *(const uint64_t *)(const void *)bytes;
    }
}

static inline uint64_t trace_part_count(const struct trace_part *part, const void *record)
{
    return trace_load((const uint8_t *)record + part->count_at, part->count_width);
}

#endif
