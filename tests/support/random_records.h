/* SPDX-License-Identifier: Apache-2.0 */
/* Valid records of every kind with random fields, built by hand from format/record.h: what writer
 * and reader are tested against. The same seed gives the same records. */
#ifndef TESTS_SUPPORT_RANDOM_RECORDS_H
#define TESTS_SUPPORT_RANDOM_RECORDS_H

#include "format/record.h"

#include <stddef.h>

struct random_records {
    uint64_t state; /* of the generator; set it to the seed */
    /* Numbers that records may refer to: 1 to these. */
    uint32_t string_count, stack_count;
    uint64_t content_count;
    uint64_t next_ticket;
    int64_t now_ns;
    uint32_t thread;

    uint8_t *data; /* the records */
    size_t bytes, capacity;
    size_t event_count, segment_count;
};

/* Kinds of segments are 1 to this. Kinds of events have gaps up to theirs, large ones. */
enum { RANDOM_LAST_SEGMENT = TRACE_EVENTS_WAIT, RANDOM_LAST_EVENT = TRACE_FAILURE };

uint64_t random_number(struct random_records *r);
/* 0 to limit - 1. */
uint64_t random_below(struct random_records *r, uint64_t limit);
/* Numbers of very different sizes, 0 and the largest among them. */
uint64_t random_sized(struct random_records *r);

/* The kind of some event. */
uint32_t random_kind(struct random_records *r);

/* Definitions of all strings, stacks, of `thread`, and one module. Strings hold any bytes. */
void random_tables(struct random_records *r);

/* Appends an event (none of a kind that does not exist); a seal gets up to `most_segments` segments
 * of every kind. */
void random_event(struct random_records *r, uint32_t kind, uint32_t most_segments);

void random_clear(struct random_records *r);
void random_finish(struct random_records *r);

#endif
