/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting the ranges that a command buffer may write or read. */
#include "capture/encode/uses.h"

#include "format/record.h"
#include "hal/base/mem.h"

/* Few buffers are searched one by one, without allocating; many through a hash table. More ranges
 * of one buffer than `most_apart` grow together. */
enum { few = 16, most_apart = 16 };

struct range {
    struct capture_use use;
    uint32_t next;  /* of the same key: index + 1 */
    uint32_t count; /* of the first one of a key: how many there are */
};

struct builder {
    struct range *ranges; /* `own`, or allocated */
    size_t count, capacity;
    uint32_t
        *slots; /* open addressing: index + 1 of a key's first range; NULL while there are few */
    size_t slot_count;
    size_t last; /* commands often use the range that the one before used */
    bool failed, exact;
    /* Of the last dispatch. */
    const struct hal_dispatch_state *state;
    const struct hal_executable *executable;
    uint32_t entry;
    struct range own[few];
};

static uint32_t *slot_of(const struct builder *builder, uint64_t key)
{
    size_t slot = (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & (builder->slot_count - 1);
    while (builder->slots[slot] && builder->ranges[builder->slots[slot] - 1].use.key != key)
        slot = (slot + 1) & (builder->slot_count - 1);
    return &builder->slots[slot];
}

static bool make_room(struct builder *builder)
{
    if (builder->count < builder->capacity)
        return true;
    const size_t capacity = 2 * builder->capacity;
    struct range *ranges = hal_alloc(capacity, sizeof *ranges);
    uint32_t *slots = hal_alloc(2 * capacity, sizeof *slots);
    if (!ranges || !slots) {
        free(ranges);
        free(slots);
        return false;
    }
    memcpy(ranges, builder->ranges, builder->count * sizeof *ranges);
    if (builder->ranges != builder->own)
        free(builder->ranges);
    free(builder->slots);
    builder->ranges = ranges;
    builder->capacity = capacity;
    builder->slots = slots;
    builder->slot_count = 2 * capacity;
    for (size_t i = 0; i < builder->count; i++) {
        uint32_t *slot = slot_of(builder, ranges[i].use.key);
        if (!*slot) /* the first of a key comes first */
            *slot = (uint32_t)i + 1;
    }
    return true;
}

/* The index of the key's first range, or the count when there is none yet. */
static size_t search(const struct builder *builder, uint64_t key)
{
    if (builder->slots) {
        const uint32_t found = *slot_of(builder, key);
        return found ? found - 1 : builder->count;
    }
    size_t i = 0;
    while (i < builder->count && builder->ranges[i].use.key != key)
        i++;
    return i;
}

static bool append(struct builder *builder, const struct capture_use *use)
{
    if (!make_room(builder))
        return false;
    builder->last = builder->count++;
    builder->ranges[builder->last] = (struct range){.use = *use, .count = 1};
    return true;
}

/* Extends a range of the buffer that the new one touches, or adds one. */
static void insert(struct builder *builder, const struct capture_use *use)
{
    const size_t first = search(builder, use->key);
    if (first == builder->count) {
        builder->failed |= !append(builder, use);
        if (!builder->failed && builder->slots)
            *slot_of(builder, use->key) = (uint32_t)first + 1;
        return;
    }
    size_t at = first;
    while (builder->ranges[at].next &&
           (use->begin > builder->ranges[at].use.end || use->end < builder->ranges[at].use.begin))
        at = builder->ranges[at].next - 1;
    struct capture_use *known = &builder->ranges[at].use;
    const bool apart = use->begin > known->end || use->end < known->begin;
    if (apart && builder->ranges[first].count < most_apart) {
        builder->failed |= !append(builder, use);
        if (builder->failed)
            return;
        builder->ranges[at].next = (uint32_t)builder->last + 1;
        builder->ranges[first].count++;
        return;
    }
    builder->last = at;
    if (use->begin < known->begin)
        known->begin = use->begin;
    if (use->end > known->end)
        known->end = use->end;
}

static inline void add(struct builder *builder, const struct hal_buffer *buffer, uint64_t offset,
                       uint64_t bytes, bool reads)
{
    if (!buffer || !(buffer->memory & HAL_MEMORY_HOST_COHERENT) || builder->failed)
        return;
    const struct capture_use use = {capture_use_key(buffer->object.id, reads), offset,
                                    offset + bytes};
    const struct capture_use *last = &builder->ranges[builder->last].use;
    if (builder->count && last->key == use.key && use.begin >= last->begin && use.end <= last->end)
        return;
    insert(builder, &use);
}

/* No record of a fixed size is larger. */
enum { fixed_bytes = 64 };
_Static_assert(sizeof(struct trace_copy) <= fixed_bytes &&
                   sizeof(struct trace_dispatch_indirect) <= fixed_bytes &&
                   sizeof(struct trace_fill) <= fixed_bytes,
               "they fit");

static void survey_bytes(struct capture_survey *survey, const struct hal_segment *segment)
{
    if (segment->bytes > survey->largest_bytes)
        survey->largest_bytes = segment->bytes;
}

static void survey_list(struct capture_survey *survey, uint32_t count)
{
    if (count > survey->longest_list)
        survey->longest_list = count;
}

bool capture_is_written(const struct hal_executable *executable, uint32_t entry, uint32_t set,
                        uint32_t index)
{
    const struct hal_entry_info *info =
        executable->reflection ? &executable->reflection[entry] : NULL;
    for (size_t i = 0; info && i < info->binding_count; i++) {
        const struct hal_entry_binding *binding = &info->bindings[i];
        if (binding->set == set && binding->index == index)
            return binding->access == 0 || binding->access & HAL_ACCESS_WRITE;
    }
    return !info; /* what is bound and no binding of the kernel is not touched */
}

static void add_state(struct builder *builder, const struct hal_dispatch_state *state,
                      const struct hal_executable *executable, uint32_t entry)
{
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++) {
        for (uint32_t k = 0; k < state->binding_count[set]; k++) {
            const struct hal_binding *binding = &state->bindings[set][k];
            const bool reads = executable && executable->reflection &&
                               !capture_is_written(executable, entry, set, k);
            add(builder, binding->buffer, binding->offset, binding->bytes, reads);
        }
    }
}

/* Dispatches in a row often share kernel and state. */
static __attribute__((noinline)) void add_dispatch(struct builder *builder,
                                                   const struct hal_command_buffer *commands,
                                                   const struct hal_executable *executable,
                                                   uint32_t entry, uint32_t index)
{
    const struct hal_dispatch_state *state = &commands->states[index];
    if (executable == builder->executable && entry == builder->entry && state == builder->state)
        return;
    builder->state = state;
    builder->executable = executable;
    builder->entry = entry;
    add_state(builder, state, executable, entry);
}

/* Records are as long as their segments, but for two kinds. */
static inline void add_segment(struct builder *builder, const struct hal_command_buffer *commands,
                               const struct hal_segment *segment, struct capture_survey *survey)
{
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_FILL: {
        const struct hal_segment_fill *fill = (const void *)segment;
        add(builder, fill->target, fill->offset, fill->bytes, false);
        break;
    }
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = (const void *)segment;
        add(builder, copy->target, copy->target_offset, copy->bytes, false);
        add(builder, copy->source, copy->source_offset, copy->bytes, true);
        break;
    }
    case HAL_SEGMENT_UPDATE: {
        const struct hal_segment_update *update = (const void *)segment;
        add(builder, update->target, update->offset, update->bytes, false);
        survey_bytes(survey, segment);
        break;
    }
    case HAL_SEGMENT_BARRIER:
        survey_bytes(survey, segment);
        survey_list(survey,
                    ((const struct hal_segment_barrier *)(const void *)segment)->buffer_count);
        break;
    case HAL_SEGMENT_EVENTS_WAIT: {
        const struct hal_segment_events_wait *wait = (const void *)segment;
        survey_bytes(survey, segment);
        survey_list(survey, wait->buffer_count);
        survey_list(survey, wait->event_count);
        break;
    }
    case HAL_SEGMENT_DISPATCH: {
        const struct hal_segment_dispatch *dispatch = (const void *)segment;
        if (builder->exact)
            add_dispatch(builder, commands, dispatch->executable, dispatch->entry, dispatch->state);
        survey->record_bytes -= sizeof(struct hal_segment_dispatch) - sizeof(struct trace_dispatch);
        break;
    }
    case HAL_SEGMENT_DEBUG_BEGIN:
        survey->has_labels = true;
        survey->record_bytes += sizeof(struct trace_debug);
        survey->record_bytes -= segment->bytes;
        break;
    case HAL_SEGMENT_PUSH_CONSTANTS:
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET: survey_bytes(survey, segment); break;
    case HAL_SEGMENT_DISPATCH_INDIRECT: {
        const struct hal_segment_dispatch_indirect *dispatch = (const void *)segment;
        add(builder, dispatch->counts, dispatch->offset, HAL_COUNTS_BYTES, true);
        if (builder->exact)
            add_dispatch(builder, commands, dispatch->executable, dispatch->entry, dispatch->state);
        break;
    }
    case HAL_SEGMENT_EVENT_SIGNAL:
    case HAL_SEGMENT_EVENT_RESET:
    case HAL_SEGMENT_DEBUG_END: break;
    }
}

struct capture_uses *capture_uses_create(const struct hal_command_buffer *commands, bool exact,
                                         struct capture_survey *out_survey, bool *out_failed)
{
    struct capture_survey survey = {.record_bytes = commands->arena_bytes,
                                    .largest_bytes = fixed_bytes};
    const uint8_t *at = commands->arena, *end = at + commands->arena_bytes;
    struct builder builder;
    builder.ranges = builder.own;
    builder.capacity = few;
    builder.count = builder.slot_count = builder.last = 0;
    builder.slots = NULL;
    builder.failed = false;
    builder.exact = exact;
    builder.state = NULL;
    builder.executable = NULL;
    builder.entry = 0;
    struct capture_uses *uses = NULL;
    while (at < end) {
        const struct hal_segment *segment = (const void *)at;
        add_segment(&builder, commands, segment, &survey);
        at += segment->bytes;
    }
    *out_survey = survey;
    for (uint32_t i = 0; !exact && i < commands->state_count; i++)
        add_state(&builder, &commands->states[i], NULL, 0);
    const size_t bytes = builder.count * sizeof uses->ranges[0];
    if (builder.count && !builder.failed) {
        uses = malloc(sizeof *uses + bytes);
        builder.failed = !uses;
    }
    if (uses) {
        atomic_init(&uses->references, 1);
        uses->count = (uint32_t)builder.count;
        for (size_t i = 0; i < builder.count; i++)
            uses->ranges[i] = builder.ranges[i].use;
    }
    if (builder.ranges != builder.own)
        free(builder.ranges);
    free(builder.slots);
    *out_failed = builder.failed;
    return uses;
}

struct capture_uses *capture_uses_of(const struct hal_buffer *buffer, uint64_t offset,
                                     uint64_t bytes, bool reads)
{
    if (!(buffer->memory & HAL_MEMORY_HOST_COHERENT) || bytes == 0)
        return NULL;
    struct capture_uses *uses = malloc(sizeof *uses + sizeof uses->ranges[0]);
    if (!uses)
        return NULL;
    atomic_init(&uses->references, 1);
    uses->count = 1;
    uses->ranges[0] = (struct capture_use){
        .key = capture_use_key(buffer->object.id, reads), .begin = offset, .end = offset + bytes};
    return uses;
}

struct capture_uses *capture_uses_retain(struct capture_uses *uses)
{
    if (uses)
        atomic_fetch_add_explicit(&uses->references, 1, memory_order_relaxed);
    return uses;
}

void capture_uses_release(struct capture_uses *uses)
{
    if (uses && atomic_fetch_sub_explicit(&uses->references, 1, memory_order_acq_rel) == 1)
        free(uses);
}
