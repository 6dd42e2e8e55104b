/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting the ranges that a command buffer may write or read. */
#include "capture/encode/access_ranges.h"

#include "format/record.h"
#include "hal/base/hash.h"
#include "hal/base/mem.h"

/* Few buffers are searched one by one, without allocating; many through a hash table. More ranges
 * of one buffer than `MOST_APART` grow together. */
enum { FEW_RANGES = 16, MOST_APART = 16 };

struct range {
    struct capture_access_range use;
    uint32_t next;  /* of the same key: index + 1 */
    uint32_t count; /* of the first one of a key: how many there are */
};

/* What a dispatch runs; `state` is an index. */
struct dispatched {
    const struct hal_executable *executable;
    uint32_t entry, state;
};

struct builder {
    struct range *ranges; /* `own`, or allocated */
    size_t count, capacity;
    uint32_t
        *slots; /* open addressing: index + 1 of a key's first range; NULL while there are few */
    size_t slot_count;
    size_t last; /* commands often use the range that the one before used */
    bool failed;
    struct dispatched run; /* the last dispatch */
    struct range own[FEW_RANGES];
};

static uint32_t *slot_of(const struct builder *builder, uint64_t key)
{
    size_t slot = (size_t)(hal_hash_u64(key) >> 32) & (builder->slot_count - 1);
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

/* The index of the key's first range, or the count if there is none yet. */
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

static bool append(struct builder *builder, const struct capture_access_range *use)
{
    if (!make_room(builder))
        return false;
    builder->last = builder->count++;
    builder->ranges[builder->last] = (struct range){.use = *use, .count = 1};
    return true;
}

/* Extends a range of the buffer that the new one touches, or adds one. */
static void insert(struct builder *builder, const struct capture_access_range *use)
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
    struct capture_access_range *known = &builder->ranges[at].use;
    const bool apart = use->begin > known->end || use->end < known->begin;
    if (apart && builder->ranges[first].count < MOST_APART) {
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

static inline void add(void *user, const struct trace_access *access)
{
    struct builder *builder = user;
    const struct hal_buffer *buffer = capture_accessed_buffer(access);
    if (!(buffer->memory & HAL_MEMORY_HOST_COHERENT) || builder->failed)
        return;
    const struct capture_access_range use = {
        capture_access_range_key(buffer->object.id, !trace_access_writes(access->mode)),
        access->begin, access->end};
    const struct capture_access_range *last = &builder->ranges[builder->last].use;
    if (builder->count && last->key == use.key && use.begin >= last->begin && use.end <= last->end)
        return;
    insert(builder, &use);
}

/* ---- Kernels ------------------------------------------------------------------------------ */

static enum trace_access_mode binding_mode(void *user, uint64_t executable, uint32_t entry,
                                           uint32_t set, uint32_t index)
{
    const struct hal_entry_info *info =
        ((const struct hal_executable *)user)->reflection
            ? &((const struct hal_executable *)user)->reflection[entry]
            : NULL;
    (void)executable;
    for (size_t i = 0; info && i < info->binding_count; i++) {
        const struct hal_entry_binding *binding = &info->bindings[i];
        if (binding->set == set && binding->index == index)
            return binding->access & HAL_ACCESS_WRITE ? TRACE_ACCESS_MAY_WRITE
                   : binding->access                  ? TRACE_ACCESS_MAY_READ
                                                      : TRACE_ACCESS_UNKNOWN;
    }
    return info ? TRACE_ACCESS_NONE : TRACE_ACCESS_UNKNOWN;
}

/* `executable` NULL: takes all bindings as accessed in an unknown way. */
static inline void kernel_accesses(const struct hal_dispatch_state *state,
                                   const struct hal_executable *executable, uint32_t entry,
                                   const struct trace_access_sink *sink)
{
    struct trace_bound_kernel kernel = {.entry = entry,
                                        .mode = executable ? binding_mode : NULL,
                                        .user = (void *)(uintptr_t)executable};
    for (uint32_t set = 0; set < HAL_MAX_SETS; set++) {
        kernel.bindings[set] = state->bindings[set];
        kernel.counts[set] = state->binding_count[set];
    }
    trace_kernel_accesses(&kernel, sink);
}

static inline struct dispatched dispatched_by(const struct hal_command *command)
{
    const struct hal_command_dispatch *direct = (const void *)command;
    const struct hal_command_dispatch_indirect *indirect = (const void *)command;
    return command->kind == HAL_COMMAND_DISPATCH
               ? (struct dispatched){direct->executable, direct->entry, direct->state}
               : (struct dispatched){indirect->executable, indirect->entry, indirect->state};
}

void capture_accesses(const struct hal_command_buffer *commands, const struct hal_command *command,
                      const struct trace_access_sink *sink)
{
    if (!trace_command_accesses((const void *)command, sink))
        return;
    const struct dispatched run = dispatched_by(command);
    kernel_accesses(&commands->states[run.state], run.executable, run.entry, sink);
}

/* Dispatches in a row often share kernel and state. */
static void add_dispatch(struct builder *builder, const struct hal_command_buffer *commands,
                         const struct hal_command *command)
{
    const struct dispatched run = dispatched_by(command);
    if (run.executable == builder->run.executable && run.entry == builder->run.entry &&
        run.state == builder->run.state)
        return;
    builder->run = run;
    kernel_accesses(&commands->states[run.state], run.executable, run.entry,
                    &(struct trace_access_sink){.visit = add, .user = builder});
}

/* Not inlined: what most commands pass stays in registers. */
static __attribute__((noinline)) void add_accesses(struct builder *builder,
                                                   const struct hal_command_buffer *commands,
                                                   const struct hal_command *command, bool exact)
{
    const struct trace_access_sink sink = {.visit = add, .user = builder};
    if (trace_command_accesses((const void *)command, &sink) && exact)
        add_dispatch(builder, commands, command);
}

/* ---- The survey --------------------------------------------------------------------------- */

/* No record of a fixed size is larger. */
enum { FIXED_BYTES = 64 };
_Static_assert(sizeof(struct trace_copy) <= FIXED_BYTES &&
                   sizeof(struct trace_dispatch_indirect) <= FIXED_BYTES &&
                   sizeof(struct trace_fill) <= FIXED_BYTES,
               "they fit");

static inline void survey_bytes(struct capture_survey *survey, const struct hal_command *command)
{
    if (command->bytes > survey->largest_bytes)
        survey->largest_bytes = command->bytes;
}

static inline void survey_list(struct capture_survey *survey, uint32_t count)
{
    if (count > survey->longest_list)
        survey->longest_list = count;
}

/* Records are as long as their commands, but for two kinds. True: the command may access memory;
 * the kinds that do not are most of a command buffer, and cost no more than this. */
static inline bool survey_command(struct capture_survey *survey, const struct hal_command *command,
                                  bool exact)
{
    const struct hal_command_barrier *barrier = (const void *)command;
    const struct hal_command_events_wait *wait = (const void *)command;
    switch ((enum hal_command_kind)command->kind) {
    case HAL_COMMAND_PUSH_CONSTANTS:
    case HAL_COMMAND_PUSH_DESCRIPTOR_SET: survey_bytes(survey, command); return false;
    case HAL_COMMAND_BARRIER:
        survey_bytes(survey, command);
        survey_list(survey, barrier->buffer_count);
        return false;
    case HAL_COMMAND_EVENTS_WAIT:
        survey_bytes(survey, command);
        survey_list(survey, wait->buffer_count);
        survey_list(survey, wait->event_count);
        return false;
    case HAL_COMMAND_DEBUG_BEGIN:
        survey->has_labels = true;
        survey->record_bytes += sizeof(struct trace_debug);
        survey->record_bytes -= command->bytes;
        return false;
    case HAL_COMMAND_DISPATCH:
        survey->record_bytes -= sizeof(struct hal_command_dispatch) - sizeof(struct trace_dispatch);
        return exact; /* else all states are taken once, at the end */
    case HAL_COMMAND_UPDATE: survey_bytes(survey, command); return true;
    case HAL_COMMAND_FILL:
    case HAL_COMMAND_COPY:
    case HAL_COMMAND_DISPATCH_INDIRECT: return true;
    case HAL_COMMAND_EVENT_SIGNAL:
    case HAL_COMMAND_EVENT_RESET:
    case HAL_COMMAND_DEBUG_END: break;
    }
    return false;
}

struct capture_access_ranges *capture_access_ranges_create(
    const struct hal_command_buffer *commands, bool exact, struct capture_survey *out_survey,
    bool *out_failed)
{
    struct capture_survey survey = {.record_bytes = commands->arena_bytes,
                                    .largest_bytes = FIXED_BYTES};
    const uint8_t *at = commands->arena, *end = at + commands->arena_bytes;
    struct builder builder;
    builder.ranges = builder.own;
    builder.capacity = FEW_RANGES;
    builder.count = builder.slot_count = builder.last = 0;
    builder.slots = NULL;
    builder.failed = false;
    builder.run = (struct dispatched){0};
    const struct trace_access_sink sink = {.visit = add, .user = &builder};
    struct capture_access_ranges *accesses = NULL;
    while (at < end) {
        const struct hal_command *command = (const void *)at;
        if (survey_command(&survey, command, exact))
            add_accesses(&builder, commands, command, exact);
        at += command->bytes;
    }
    *out_survey = survey;
    for (uint32_t i = 0; !exact && i < commands->state_count; i++)
        kernel_accesses(&commands->states[i], NULL, 0, &sink);
    const size_t bytes = builder.count * sizeof accesses->ranges[0];
    if (builder.count && !builder.failed) {
        accesses = malloc(sizeof *accesses + bytes);
        builder.failed = !accesses;
    }
    if (accesses) {
        atomic_init(&accesses->references, 1);
        accesses->count = (uint32_t)builder.count;
        for (size_t i = 0; i < builder.count; i++)
            accesses->ranges[i] = builder.ranges[i].use;
    }
    if (builder.ranges != builder.own)
        free(builder.ranges);
    free(builder.slots);
    *out_failed = builder.failed;
    return accesses;
}

struct capture_access_ranges *capture_access_ranges_of(const struct hal_buffer *buffer,
                                                       uint64_t offset, uint64_t bytes, bool reads)
{
    if (!(buffer->memory & HAL_MEMORY_HOST_COHERENT) || bytes == 0)
        return NULL;
    struct capture_access_ranges *accesses = malloc(sizeof *accesses + sizeof accesses->ranges[0]);
    if (!accesses)
        return NULL;
    atomic_init(&accesses->references, 1);
    accesses->count = 1;
    accesses->ranges[0] =
        (struct capture_access_range){.key = capture_access_range_key(buffer->object.id, reads),
                                      .begin = offset,
                                      .end = offset + bytes};
    return accesses;
}

struct capture_access_ranges *capture_access_ranges_retain(struct capture_access_ranges *accesses)
{
    if (accesses)
        atomic_fetch_add_explicit(&accesses->references, 1, memory_order_relaxed);
    return accesses;
}

void capture_access_ranges_release(struct capture_access_ranges *accesses)
{
    if (accesses && atomic_fetch_sub_explicit(&accesses->references, 1, memory_order_acq_rel) == 1)
        free(accesses);
}
