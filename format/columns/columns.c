/* SPDX-License-Identifier: Apache-2.0 */
/* Records to columns and back: column by column, so that every inner loop handles one member. */
#include "format/columns/columns.h"

#include "format/limits.h"
#include "hal/base/text.h"

#include <inttypes.h>

/* Positions of the records of each kind (or of the elements of a part) in the records' bytes. */
struct places {
    uint32_t *at;
    size_t count;
};

static uint64_t *message_values(const struct trace_column *column, const void *message)
{
    return *(uint64_t *const *)(const void *)((const uint8_t *)message + column->values_at);
}

static size_t message_count(const struct trace_column *column, const void *message)
{
    return *(const size_t *)(const void *)((const uint8_t *)message + column->count_at);
}

static ProtobufCBinaryData *message_bytes(const struct trace_part *part, void *message)
{
    return (ProtobufCBinaryData *)(void *)((uint8_t *)message + part->bytes_at);
}

static ProtobufCMessage **kind_message(const struct trace_layout *layout, void *message)
{
    return (ProtobufCMessage **)(void *)((uint8_t *)message + layout->message_at);
}

/* ---- Checking records --------------------------------------------------------------------- */

enum hal_status trace_record_check(const struct trace_family *family, const void *record,
                                   size_t bytes_left)
{
    const struct trace_segment *head = record;
    if (bytes_left < sizeof *head || bytes_left < family->head_bytes)
        return hal_fail(HAL_CORRUPT, "%s no %s",
                        hal_count(bytes_left, "byte left is", "bytes left are").text, family->name);
    const struct trace_layout *layout = trace_family_layout(family, head->kind);
    if (!layout)
        return hal_fail(HAL_CORRUPT, "%s of unknown kind %u", family->name, head->kind);
    if (head->bytes > bytes_left || head->bytes < layout->record_bytes)
        return hal_fail(HAL_CORRUPT, "%s of %s, %zu are there", layout->name,
                        hal_count(head->bytes, "byte", "bytes").text, bytes_left);
    if (head->bytes > TRACE_MAX_RECORD_BYTES)
        return hal_fail(HAL_CORRUPT, "%s of %s, the limit is %u", layout->name,
                        hal_count(head->bytes, "byte", "bytes").text, TRACE_MAX_RECORD_BYTES);
    size_t bytes = layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        if (count > part->limit)
            return hal_fail(HAL_CORRUPT, "%s with %" PRIu64 " %s, the limit is %u", layout->name,
                            count, part->name, part->limit);
        bytes += (size_t)count * part->element_bytes;
    }
    if (head->bytes != hal_align_up(bytes, 8))
        return hal_fail(HAL_CORRUPT, "%s of %s, its counts require %zu", layout->name,
                        hal_count(head->bytes, "byte", "bytes").text, hal_align_up(bytes, 8));
    return HAL_OK;
}

/* ---- Encoding ----------------------------------------------------------------------------- */

__attribute__((always_inline)) static inline uint64_t gather_width(const uint8_t *base,
                                                                   const struct places *places,
                                                                   size_t member, unsigned width,
                                                                   uint64_t *values)
{
    uint64_t any = 0;
    for (size_t i = 0; i < places->count; i++)
        any |= values[i] = trace_load(base + places->at[i] + member, width);
    return any;
}

static uint64_t gather(const uint8_t *base, const struct places *places,
                       const struct trace_column *column, uint64_t *values)
{
    switch (column->width) {
    case 2: return gather_width(base, places, column->member_at, 2, values);
    case 4: return gather_width(base, places, column->member_at, 4, values);
    default: return gather_width(base, places, column->member_at, 8, values);
    }
}

static void code_delta(uint64_t *values, size_t count)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = values[i];
        values[i] = value - previous;
        previous = value;
    }
}

static void code_ticket(uint64_t *values, size_t count)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < count; i++) {
        if (!values[i])
            continue;
        const int64_t difference = (int64_t)(values[i] - previous);
        previous = values[i];
        values[i] = (uint64_t)difference + (difference >= 0);
    }
}

static uint64_t code_span(const uint8_t *base, const struct places *places, size_t member,
                          uint64_t *values)
{
    uint64_t any = 0;
    for (size_t i = 0; i < places->count; i++)
        any |= values[i] -= trace_load(base + places->at[i] + member - 8, 8);
    return any;
}

static enum hal_status encode_column(const struct trace_column *column, const uint8_t *base,
                                     const struct places *places, struct trace_arena *arena,
                                     void *message)
{
    uint64_t *values = trace_arena_array(arena, places->count, sizeof *values);
    if (!values)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu values", places->count);
    uint64_t any = gather(base, places, column, values);
    if (column->coding == TRACE_CODING_DELTA)
        code_delta(values, places->count);
    else if (column->coding == TRACE_CODING_TICKET)
        code_ticket(values, places->count);
    else if (column->coding == TRACE_CODING_SPAN)
        any = code_span(base, places, column->member_at, values);
    if (!any)
        return HAL_OK;
    *(uint64_t **)(void *)((uint8_t *)message + column->values_at) = values;
    *(size_t *)(void *)((uint8_t *)message + column->count_at) = places->count;
    return HAL_OK;
}

/* Where part number `part_index` begins in the record at `record_at`. */
static uint32_t part_place(const struct trace_layout *layout, uint32_t part_index,
                           const uint8_t *base, uint32_t record_at)
{
    uint32_t at = record_at + layout->record_bytes;
    for (uint32_t i = 0; i < part_index; i++) {
        const uint64_t count = trace_part_count(&layout->parts[i], base + record_at);
        at += (uint32_t)count * layout->parts[i].element_bytes;
    }
    return at;
}

/* The places of all elements of a part, in all records of a kind. */
static enum hal_status part_places(const struct trace_layout *layout, uint32_t part_index,
                                   const uint8_t *base, const struct places *records,
                                   struct trace_arena *arena, struct places *out_places)
{
    const struct trace_part *part = &layout->parts[part_index];
    size_t count = 0;
    for (size_t i = 0; i < records->count; i++)
        count += (size_t)trace_part_count(part, base + records->at[i]);
    *out_places = (struct places){trace_arena_array(arena, count, sizeof(uint32_t)), 0};
    if (!out_places->at)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu %s", count, part->name);
    for (size_t i = 0; i < records->count; i++) {
        uint32_t at = part_place(layout, part_index, base, records->at[i]);
        const uint64_t elements = trace_part_count(part, base + records->at[i]);
        for (uint64_t element = 0; element < elements; element++, at += part->element_bytes)
            out_places->at[out_places->count++] = at;
    }
    return HAL_OK;
}

static enum hal_status encode_bytes(const struct trace_layout *layout, uint32_t part_index,
                                    const uint8_t *base, const struct places *records,
                                    struct trace_arena *arena, void *message)
{
    const struct trace_part *part = &layout->parts[part_index];
    size_t bytes = 0;
    for (size_t i = 0; i < records->count; i++)
        bytes += (size_t)trace_part_count(part, base + records->at[i]);
    uint8_t *data = trace_arena_alloc(arena, bytes);
    if (!data)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes of %s", bytes, part->name);
    *message_bytes(part, message) = (ProtobufCBinaryData){.len = bytes, .data = data};
    for (size_t i = 0; i < records->count; i++) {
        const size_t count = (size_t)trace_part_count(part, base + records->at[i]);
        memcpy(data, base + part_place(layout, part_index, base, records->at[i]), count);
        data += count;
    }
    return HAL_OK;
}

static enum hal_status encode_part(const struct trace_layout *layout, uint32_t part_index,
                                   const uint8_t *base, const struct places *records,
                                   struct trace_arena *arena, void *message)
{
    const struct trace_part *part = &layout->parts[part_index];
    if (!part->columns)
        return encode_bytes(layout, part_index, base, records, arena, message);
    struct places elements;
    HAL_TRY(part_places(layout, part_index, base, records, arena, &elements));
    for (uint32_t i = 0; i < part->column_count && elements.count; i++)
        HAL_TRY(encode_column(&part->columns[i], base, &elements, arena, message));
    return HAL_OK;
}

static enum hal_status encode_kind(const struct trace_layout *layout, const uint8_t *base,
                                   const struct places *records, struct trace_arena *arena,
                                   void *family_message)
{
    if (!layout->message_at)
        return HAL_OK;
    ProtobufCMessage *message = trace_arena_alloc(arena, layout->descriptor->sizeof_message);
    if (!message)
        return hal_fail(HAL_NO_MEMORY, "no memory for a message");
    protobuf_c_message_init(layout->descriptor, message);
    for (uint32_t i = 0; i < layout->column_count; i++)
        HAL_TRY(encode_column(&layout->columns[i], base, records, arena, message));
    for (uint32_t i = 0; i < layout->part_count; i++)
        HAL_TRY(encode_part(layout, i, base, records, arena, message));
    *kind_message(layout, family_message) = message;
    return HAL_OK;
}

/* Gives every kind its part of one array, sized by the counts, and sets the counts to 0. */
static bool share_places(struct places *by_kind, size_t record_count, struct trace_arena *arena)
{
    uint32_t *at = trace_arena_array(arena, record_count, sizeof *at);
    if (!at)
        return false;
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        by_kind[place].at = at;
        at += by_kind[place].count;
        by_kind[place].count = 0;
    }
    return true;
}

enum hal_status trace_columns_encode(const struct trace_family *family, const void *records,
                                     size_t record_count, struct trace_arena *arena, void *message)
{
    const uint8_t *base = records;
    struct places by_kind[TRACE_PLACES] = {{0}};
    struct places all = {trace_arena_array(arena, record_count, sizeof(uint32_t)), record_count};
    uint32_t *kinds = trace_arena_array(arena, record_count, sizeof *kinds);
    if (!all.at || !kinds)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu records", record_count);
    uint32_t at = 0;
    for (size_t i = 0; i < record_count; i++) {
        const struct trace_segment *head = (const void *)(base + at);
        all.at[i] = at;
        kinds[i] = head->kind;
        by_kind[trace_kind_place(head->kind)].count++;
        at += head->bytes;
    }
    if (!share_places(by_kind, record_count, arena))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu records", record_count);
    for (size_t i = 0; i < record_count; i++) {
        struct places *places = &by_kind[trace_kind_place(kinds[i])];
        places->at[places->count++] = all.at[i];
    }
    *(uint32_t **)(void *)((uint8_t *)message + family->kinds_at) = kinds;
    *(size_t *)(void *)((uint8_t *)message + family->kind_count_at) = record_count;
    for (uint32_t i = 0; i < family->common_count; i++)
        HAL_TRY(encode_column(&family->common[i], base, &all, arena, message));
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        if (by_kind[place].count)
            HAL_TRY(encode_kind(family->layouts[place], base, &by_kind[place], arena, message));
    }
    return HAL_OK;
}

/* ---- Decoding ----------------------------------------------------------------------------- */

struct decoding {
    const struct trace_family *family;
    struct trace_arena *arena;
    const struct trace_resolver *resolver;
    uint8_t *base; /* of the records that are made */
};

static void decode_delta(uint64_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = sum += values[i];
}

static void decode_ticket(uint64_t *values, size_t count)
{
    uint64_t ticket = 0;
    for (size_t i = 0; i < count; i++) {
        if (!values[i])
            continue;
        ticket += values[i] - ((int64_t)values[i] > 0);
        values[i] = ticket;
    }
}

static enum hal_status resolve_values(const struct decoding *decoding, const char *kind,
                                      const struct trace_column *column, uint64_t *values,
                                      size_t count)
{
    static const char *const what[] = {[TRACE_REFERENCE_STRING] = "string",
                                       [TRACE_REFERENCE_STACK] = "stack",
                                       [TRACE_REFERENCE_CONTENT] = "content"};
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = values[i];
        if (number &&
            !decoding->resolver->resolve(decoding->resolver->user, column->reference, &values[i]))
            return hal_fail(HAL_CORRUPT, "%s: %s number %" PRIu64 " does not exist", kind,
                            what[column->reference], number);
    }
    return HAL_OK;
}

/* Returns the bits of all values that the member has no room for. */
__attribute__((always_inline)) static inline uint64_t scatter(uint8_t *base,
                                                              const struct places *places,
                                                              size_t member, unsigned width,
                                                              const uint64_t *values)
{
    uint64_t any = 0;
    for (size_t i = 0; i < places->count; i++) {
        memcpy(base + places->at[i] + member, &values[i], width);
        any |= values[i];
    }
    return width == 8 ? 0 : any >> (8 * width);
}

static uint64_t scatter_column(uint8_t *base, const struct places *places,
                               const struct trace_column *column, const uint64_t *values)
{
    switch (column->width) {
    case 2: return scatter(base, places, column->member_at, 2, values);
    case 4: return scatter(base, places, column->member_at, 4, values);
    default: return scatter(base, places, column->member_at, 8, values);
    }
}

static enum hal_status decode_column(const struct decoding *decoding, const char *kind,
                                     const struct trace_column *column, const void *message,
                                     const struct places *places)
{
    const size_t count = message_count(column, message);
    uint64_t *values = message_values(column, message);
    if (count && count != places->count)
        return hal_fail(HAL_CORRUPT, "%s: column %s has %s, expected %zu", kind, column->name,
                        hal_count(count, "value", "values").text, places->count);
    if (column->coding == TRACE_CODING_SPAN) {
        for (size_t i = 0; i < places->count; i++) {
            uint8_t *member = decoding->base + places->at[i] + column->member_at;
            const uint64_t end = trace_load(member - 8, 8) + (count ? values[i] : 0);
            memcpy(member, &end, sizeof end);
        }
        return HAL_OK;
    }
    if (!count)
        return HAL_OK;
    if (column->coding == TRACE_CODING_DELTA)
        decode_delta(values, count);
    else if (column->coding == TRACE_CODING_TICKET)
        decode_ticket(values, count);
    if (column->reference >= TRACE_REFERENCE_STRING)
        HAL_TRY(resolve_values(decoding, kind, column, values, count));
    if (scatter_column(decoding->base, places, column, values))
        return hal_fail(HAL_CORRUPT, "%s: a value of column %s needs more than %u bits", kind,
                        column->name, 8u * column->width);
    return HAL_OK;
}

/* The values of the column that counts the elements of `part`; NULL: all are 0. */
static enum hal_status part_counts(const struct trace_layout *layout, const struct trace_part *part,
                                   const void *message, size_t record_count,
                                   const uint64_t **out_counts)
{
    *out_counts = NULL;
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct trace_column *column = &layout->columns[i];
        if (column->member_at != part->count_at)
            continue;
        const size_t count = message_count(column, message);
        if (count && count != record_count)
            return hal_fail(HAL_CORRUPT, "%s: column %s has %s, expected %zu", layout->name,
                            column->name, hal_count(count, "value", "values").text, record_count);
        if (count)
            *out_counts = message_values(column, message);
    }
    return HAL_OK;
}

/* Sizes of the records of a kind with parts. */
static enum hal_status record_sizes(const struct decoding *decoding,
                                    const struct trace_layout *layout, const void *message,
                                    size_t record_count, uint32_t **out_sizes)
{
    uint32_t *sizes = trace_arena_array(decoding->arena, record_count, sizeof *sizes);
    if (!sizes)
        return hal_fail(HAL_NO_MEMORY, "%s: %s too much memory", layout->name,
                        hal_count(record_count, "record takes", "records take").text);
    for (size_t i = 0; i < record_count; i++)
        sizes[i] = layout->record_bytes;
    for (uint32_t p = 0; p < layout->part_count; p++) {
        const struct trace_part *part = &layout->parts[p];
        const uint64_t *counts;
        HAL_TRY(part_counts(layout, part, message, record_count, &counts));
        for (size_t i = 0; counts && i < record_count; i++) {
            if (counts[i] > part->limit)
                return hal_fail(HAL_CORRUPT, "%s with %" PRIu64 " %s, the limit is %u",
                                layout->name, counts[i], part->name, part->limit);
            sizes[i] += (uint32_t)counts[i] * part->element_bytes;
        }
    }
    for (size_t i = 0; i < record_count; i++) {
        sizes[i] = (uint32_t)hal_align_up(sizes[i], 8);
        if (sizes[i] > TRACE_MAX_RECORD_BYTES)
            return hal_fail(HAL_CORRUPT, "%s of %s, the limit is %u", layout->name,
                            hal_count(sizes[i], "byte", "bytes").text, TRACE_MAX_RECORD_BYTES);
    }
    *out_sizes = sizes;
    return HAL_OK;
}

static enum hal_status decode_bytes(const struct decoding *decoding,
                                    const struct trace_layout *layout, uint32_t part_index,
                                    void *message, const struct places *records)
{
    const struct trace_part *part = &layout->parts[part_index];
    const ProtobufCBinaryData *bytes = message_bytes(part, message);
    size_t used = 0;
    for (size_t i = 0; i < records->count; i++) {
        const size_t count = (size_t)trace_part_count(part, decoding->base + records->at[i]);
        if (count > bytes->len - used)
            return hal_fail(HAL_CORRUPT, "%s: %s of %s are too few", layout->name,
                            hal_count(bytes->len, "byte", "bytes").text, part->name);
        if (count)
            memcpy(decoding->base + part_place(layout, part_index, decoding->base, records->at[i]),
                   bytes->data + used, count);
        used += count;
    }
    if (used != bytes->len)
        return hal_fail(HAL_CORRUPT, "%s: %s of %s, expected %zu", layout->name,
                        hal_count(bytes->len, "byte", "bytes").text, part->name, used);
    return HAL_OK;
}

static enum hal_status decode_part(const struct decoding *decoding,
                                   const struct trace_layout *layout, uint32_t part_index,
                                   void *message, const struct places *records)
{
    const struct trace_part *part = &layout->parts[part_index];
    if (!part->columns)
        return decode_bytes(decoding, layout, part_index, message, records);
    struct places elements;
    HAL_TRY(part_places(layout, part_index, decoding->base, records, decoding->arena, &elements));
    for (uint32_t i = 0; i < part->column_count; i++)
        HAL_TRY(decode_column(decoding, layout->name, &part->columns[i], message, &elements));
    return HAL_OK;
}

static bool is_skipped(const struct trace_family *family, uint32_t kind)
{
    return family->has_optional && kind >= TRACE_OPTIONAL_END && kind <= UINT16_MAX;
}

/* Kinds are known and their messages there exactly when needed; counts them. */
static enum hal_status count_kinds(const struct trace_family *family, void *message,
                                   const uint32_t *kinds, size_t record_count,
                                   struct places *by_kind)
{
    for (size_t i = 0; i < record_count; i++) {
        if (is_skipped(family, kinds[i]))
            continue;
        if (!trace_family_layout(family, kinds[i]))
            return hal_fail(HAL_VERSION, "%s of unknown kind %u: written by a newer version",
                            family->name, kinds[i]);
        by_kind[trace_kind_place(kinds[i])].count++;
    }
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        const struct trace_layout *layout = family->layouts[place];
        if (!layout || !layout->message_at)
            continue;
        const bool is_there = *kind_message(layout, message) != NULL;
        if (is_there != (by_kind[place].count > 0))
            return hal_fail(HAL_CORRUPT, "%s: %s, but %s", layout->name,
                            hal_count(by_kind[place].count, "record", "records").text,
                            is_there ? "there are columns" : "no columns");
    }
    return HAL_OK;
}

/* Lays the records out after what `records` holds: sizes, heads, places. */
static enum hal_status place_records(struct decoding *decoding, const uint32_t *kinds,
                                     struct places *all, struct places *by_kind,
                                     uint32_t *const *sizes, struct trace_bytes *records)
{
    const struct trace_family *family = decoding->family;
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->count; i++) {
        const uint32_t kind = kinds[i];
        all->at[i] = (uint32_t)bytes;
        if (is_skipped(family, kind)) {
            bytes += family->head_bytes;
        } else {
            const uint32_t place = trace_kind_place(kind);
            struct places *places = &by_kind[place];
            places->at[places->count] = (uint32_t)bytes;
            bytes +=
                sizes[place] ? sizes[place][places->count] : family->layouts[place]->record_bytes;
            places->count++;
        }
        if (bytes > TRACE_MAX_DECODE_BYTES)
            return hal_fail(HAL_CORRUPT, "%zu %ss take more than %u bytes", all->count,
                            family->name, TRACE_MAX_DECODE_BYTES);
    }
    if (!trace_bytes_reserve(records, (size_t)bytes + 1)) /* never NULL */
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of records", bytes);
    decoding->base = records->data + records->count;
    if (bytes)
        memset(decoding->base, 0, (size_t)bytes);
    for (size_t i = 0; i < all->count; i++) {
        struct trace_segment *head = (void *)(decoding->base + all->at[i]);
        head->kind = (uint16_t)kinds[i];
        head->bytes = (i + 1 < all->count ? all->at[i + 1] : (uint32_t)bytes) - all->at[i];
    }
    records->count += (size_t)bytes;
    return HAL_OK;
}

static enum hal_status decode_kind(const struct decoding *decoding,
                                   const struct trace_layout *layout, void *message,
                                   const struct places *places)
{
    for (uint32_t i = 0; i < layout->column_count; i++)
        HAL_TRY(decode_column(decoding, layout->name, &layout->columns[i], message, places));
    for (uint32_t i = 0; i < layout->part_count; i++)
        HAL_TRY(decode_part(decoding, layout, i, message, places));
    return HAL_OK;
}

/* Sizes and places of all records; their heads are made, their members are zero. */
static enum hal_status lay_out(struct decoding *decoding, void *message, struct places *all,
                               struct places *by_kind, struct trace_bytes *records)
{
    const struct trace_family *family = decoding->family;
    const uint32_t *kinds = *(uint32_t **)(void *)((uint8_t *)message + family->kinds_at);
    HAL_TRY(count_kinds(family, message, kinds, all->count, by_kind));
    uint32_t *sizes[TRACE_PLACES] = {0};
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        const struct trace_layout *layout = family->layouts[place];
        if (layout && layout->part_count && by_kind[place].count)
            HAL_TRY(record_sizes(decoding, layout, *kind_message(layout, message),
                                 by_kind[place].count, &sizes[place]));
    }
    all->at = trace_arena_array(decoding->arena, all->count, sizeof *all->at);
    if (!all->at || !share_places(by_kind, all->count, decoding->arena))
        return hal_fail(HAL_NO_MEMORY, "%s too much memory",
                        hal_count(all->count, "record takes", "records take").text);
    return place_records(decoding, kinds, all, by_kind, sizes, records);
}

enum hal_status trace_columns_decode(const struct trace_family *family, const void *message,
                                     struct trace_arena *scratch,
                                     const struct trace_resolver *resolver,
                                     struct trace_bytes *records, size_t *out_record_count)
{
    /* The columns are decoded in place: the message is the arena's and used once. */
    uint8_t *own = (uint8_t *)(uintptr_t)message;
    struct decoding decoding = {.family = family, .arena = scratch, .resolver = resolver};
    struct places all = {.count = *(const size_t *)(const void *)(own + family->kind_count_at)};
    struct places by_kind[TRACE_PLACES] = {{0}};
    HAL_TRY(lay_out(&decoding, own, &all, by_kind, records));
    for (uint32_t i = 0; i < family->common_count; i++)
        HAL_TRY(decode_column(&decoding, family->name, &family->common[i], own, &all));
    for (uint32_t place = 0; place < TRACE_PLACES; place++) {
        if (by_kind[place].count && family->layouts[place]->message_at)
            HAL_TRY(decode_kind(&decoding, family->layouts[place],
                                *kind_message(family->layouts[place], own), &by_kind[place]));
    }
    *out_record_count = all.count;
    return HAL_OK;
}

/* ---- Evolution ---------------------------------------------------------------------------- */

enum { FIRST_OPTIONAL_FIELD = 1000 };

enum hal_status trace_message_check(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        if (message->unknown_fields[i].tag < FIRST_OPTIONAL_FIELD)
            return hal_fail(HAL_VERSION, "unknown field %u of %s: written by a newer version",
                            message->unknown_fields[i].tag, descriptor->short_name);
    }
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        const uint8_t *member = (const uint8_t *)message + field->offset;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            const ProtobufCMessage *inner = *(ProtobufCMessage *const *)(const void *)member;
            if (inner)
                HAL_TRY(trace_message_check(inner));
            continue;
        }
        const size_t count =
            *(const size_t *)(const void *)((const uint8_t *)message + field->quantifier_offset);
        ProtobufCMessage *const *inner = *(ProtobufCMessage * *const *)(const void *)member;
        for (size_t k = 0; k < count; k++)
            HAL_TRY(trace_message_check(inner[k]));
    }
    return HAL_OK;
}
