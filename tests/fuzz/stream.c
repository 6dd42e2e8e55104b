/* SPDX-License-Identifier: Apache-2.0 */
/* What lies behind the compression and the checksums: the fields of the trace's message. Records
 * that come out are records that a writer would take. */
#include "format/columns/columns.h"
#include "format/container/frames.h"
#include "format/limits.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static bool exists(void *user, enum trace_reference reference, uint64_t *number)
{
    (void)user;
    (void)reference;
    return *number <= 10;
}

static void check_records(const struct trace_family *family, const struct trace_bytes *records,
                          size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        fuzz_check(trace_record_check(family, records->data + at, records->count - at) == HAL_OK);
        at += ((const struct trace_segment *)(const void *)(records->data + at))->bytes;
    }
    fuzz_check(at == records->count);
}

static void decode(const ProtobufCMessageDescriptor *descriptor, const struct trace_family *family,
                   const struct trace_field *field)
{
    struct trace_arena arena;
    struct trace_bytes records = {0};
    ProtobufCMessage *message;
    size_t count = 0;
    trace_arena_init(&arena, TRACE_MAX_DECODE_BYTES);
    if (trace_message_unpack(descriptor, field->data, field->bytes, &arena, &message) == HAL_OK &&
        family &&
        trace_columns_decode(family, message, &arena, &(struct trace_resolver){exists, NULL},
                             &records, &count) == HAL_OK)
        check_records(family, &records, count);
    free(records.data);
    trace_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct trace_bytes raw = {.data = (uint8_t *)(uintptr_t)data, .count = bytes};
    struct trace_field field;
    for (size_t at = 0; trace_field_next(&raw, &at, &field) == HAL_OK;) {
        switch (field.number) {
        case TRACE_FIELD_HEADER: decode(&haltrace__header__descriptor, NULL, &field); break;
        case TRACE_FIELD_TABLES:
            decode(&haltrace__tables__descriptor, &trace_table_family, &field);
            break;
        case TRACE_FIELD_CHUNK:
            decode(&haltrace__chunk__descriptor, &trace_event_family, &field);
            break;
        case TRACE_FIELD_SEGMENTS:
            decode(&haltrace__segments__descriptor, &trace_segment_family, &field);
            break;
        default: break;
        }
    }
    return 0;
}
